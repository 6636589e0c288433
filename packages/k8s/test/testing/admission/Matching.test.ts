import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Matching from "../../../src/testing/admission/Matching.ts"
import type { Attributes } from "../../../src/testing/Admission.ts"
import { random } from "../support/random.ts"

const resource = (fields: object = {}) => ({
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  collection: "deployments.apps",
  subresources: [{ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: [] }],
  ...fields
})

const attributes = (fields: object = {}): Attributes =>
  ({ operation: "CREATE", resource: resource(), subresource: "", namespace: "ns", name: "n", ...fields }) as never

const rule = (fields: object = {}) =>
  Matching.rule({
    operations: ["CREATE"],
    apiGroups: ["apps"],
    apiVersions: ["v1"],
    resources: ["deployments"],
    ...fields
  })

describe("Matching", () => {
  it("a rule names operations, groups, versions, resources and scope", () => {
    const matches = (fields: object, about: object = {}) => Matching.ruleMatches(rule(fields), attributes(about))
    assert.isTrue(matches({}))
    assert.isFalse(matches({ operations: ["UPDATE"] }))
    assert.isFalse(matches({ apiGroups: [""] }))
    assert.isFalse(matches({ apiVersions: ["v2"] }))
    assert.isFalse(matches({ resources: ["pods"] }))
    assert.isTrue(matches({ resources: ["deployments/*"] }), "the object itself, too")
    assert.isTrue(matches({ resources: ["*/scale"] }, { subresource: "scale" }))
    assert.isFalse(matches({ resources: ["*"] }, { subresource: "scale" }))
    assert.isTrue(matches({ resources: ["*/*"] }, { subresource: "scale" }))
    assert.isTrue(matches({ scope: "Namespaced" }))
    assert.isFalse(matches({ scope: "Cluster" }))
    assert.isTrue(matches({ scope: "Cluster" }, { namespace: "" }))
    assert.isFalse(matches({ resourceNames: ["other"] }))
    const namespace = { resource: resource({ collection: "namespaces" }), namespace: "itself" }
    assert.isTrue(matches({ scope: "Cluster" }, namespace), "a Namespace is in the cluster, whatever its requests say")
  })

  it("stars only ever add: a rule with one matches whatever it matched without", () => {
    const parts = ["operations", "apiGroups", "apiVersions", "resources"] as const
    const values = {
      operations: ["CREATE", "UPDATE"],
      apiGroups: ["apps", ""],
      apiVersions: ["v1", "v2"],
      resources: ["deployments", "pods"]
    }
    const seed = 11
    const { pick } = random(seed)
    for (let run = 0; run < 500; run++) {
      const picked = Object.fromEntries(parts.map((part) => [part, [pick(values[part])]]))
      const part = pick(parts)
      const about = attributes({ operation: pick(values.operations) })
      const plain = Matching.ruleMatches(rule(picked), about)
      const starred = Matching.ruleMatches(rule({ ...picked, [part]: ["*"] }), about)
      assert.isTrue(!plain || starred, `seed ${seed}: ${JSON.stringify(picked)}, ${part}`)
    }
  })

  it("another version counts only where equivalents do, and is what is seen", () => {
    const [v1, v2] = [resource(), resource({ version: "v2" })]
    const server = { registry: { all: () => [v1, v2, resource({ plural: "other", collection: "other" })] } } as never
    const rules = [rule({ apiVersions: ["v2"] })]
    const about = attributes({ resource: v1, kind: v1 })
    assert.strictEqual(Matching.invocation(rules, true, about, server)?.resource, v2 as never)
    assert.isUndefined(Matching.invocation(rules, false, about, server))
    const own = Matching.invocation([rule()], true, about, server)
    assert.strictEqual(own?.resource, v1 as never)
  })

  it("selectors look at namespaces, new objects and old ones", () => {
    const labelled = (labels: object) => ({ metadata: { labels } }) as never
    const selector = Matching.selector({ matchLabels: { a: "b" } })
    const storage = { get: (_: string, name: string) => name === "ns" ? labelled({ a: "b" }) : undefined } as never
    const inNamespace = (about: object) => Matching.namespaceMatches(selector, attributes(about), { storage })
    assert.deepStrictEqual(inNamespace({}), Result.succeed(true))
    assert.deepStrictEqual(inNamespace({ namespace: "" }), Result.succeed(true))
    assert.isTrue(Result.isFailure(inNamespace({ namespace: "nowhere" })))
    const namespaces = { resource: resource({ collection: "namespaces" }), namespace: "ns", operation: "UPDATE" }
    assert.deepStrictEqual(
      inNamespace({ ...namespaces, object: labelled({}) }),
      Result.succeed(false),
      "what it is to be"
    )
    const objects = (about: object) => Matching.objectMatches(selector, attributes(about))
    assert.isFalse(objects({ object: labelled({}) }))
    assert.isTrue(objects({ object: labelled({}), oldObject: labelled({ a: "b" }) }))
    assert.isFalse(objects({}), "nothing to look at")
    assert.isUndefined(Matching.selector({}), "everything")
  })
})
