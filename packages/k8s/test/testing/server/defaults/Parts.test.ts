import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { freeze } from "../../../../src/api/Plain.ts"
import { definitions } from "../../../../src/kinds/definitions.ts"
import type { JsonObject } from "../../../../src/schema/JsonValue.ts"
import * as Defaults from "../../../../src/testing/server/defaults/Defaults.ts"
import * as Parts from "../../../../src/testing/server/defaults/Parts.ts"
import * as BuiltinSchema from "../../../../src/testing/server/go/BuiltinSchema.ts"
import * as GoZero from "../../../../src/testing/server/go/GoZero.ts"
import { forAll, type RandomJson } from "../../support/RandomJson.ts"

const kinds = [
  ["", "v1", "Pod"],
  ["apps", "v1", "Deployment"],
  ["apps", "v1", "StatefulSet"],
  ["batch", "v1", "CronJob"],
  ["", "v1", "Event"],
  ["events.k8s.io", "v1", "Event"],
  ["", "v1", "ConfigMap"],
  ["coordination.k8s.io", "v1", "Lease"]
] as const

const readers = kinds.map(([group, version, kind]) => {
  const definition = BuiltinSchema.definitionOf(group, version, kind)!
  const byParts = Parts.make(definition, Defaults.partsOf(group, kind)!)
  /** The whole at once; undefined for what is refused or not known throughout. */
  const whole = (body: JsonObject): JsonObject | undefined => {
    const read = BuiltinSchema.decode(definition, body)
    if (Result.isFailure(read) || read.success.unknown.length > 0) return undefined
    return GoZero.complete(definition, Defaults.apply(group, kind, read.success.object))
  }
  return { definition, kind, byParts, whole }
})

const time = "2026-01-01T00:00:00Z"

/** Values that fields of these kinds have, right ones and wrong ones. */
const values: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  metadata: [
    { name: "a" },
    { name: "a", labels: { a: "b" }, ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a", uid: "" }] },
    { name: "", annotations: {}, creationTimestamp: null, finalizers: ["a/b"] },
    { name: "a", colour: "red" },
    { name: 1 }
  ],
  spec: [
    null,
    {},
    { containers: [{ name: "a", image: "b", ports: [{ containerPort: 80 }], env: [] }], nodeName: "" },
    { containers: [{ name: "a", image: "b:1", resources: { limits: { cpu: "1000m" } } }], hostNetwork: true },
    { replicas: 0, template: { metadata: { creationTimestamp: null }, spec: { containers: [{ name: "a" }] } } },
    { selector: { matchLabels: { a: "b" } }, template: {} },
    { schedule: "* * * * *", jobTemplate: { spec: { template: { spec: {} } } } },
    { holderIdentity: "a", renewTime: "2026-01-01T00:00:00.000001Z", leaseTransitions: 0 },
    { colour: "red" },
    []
  ],
  status: [
    null,
    {},
    { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True", lastTransitionTime: time }] },
    { replicas: 0, readyReplicas: 0 },
    { podIPs: [{ ip: "10.0.0.2" }], startTime: "2026-01-01T01:00:00.5+01:00" },
    "text"
  ],
  data: [{ a: "b" }, {}, null, { a: 1 }],
  reason: ["Made", "", null, 1],
  involvedObject: [{ kind: "Pod", name: "a" }, {}],
  regarding: [{ kind: "Pod", name: "a" }, null],
  eventTime: ["2026-01-01T00:00:00.000000Z", null, "never"],
  source: [{ component: "a" }, {}]
}

/** A body of a kind, its fields in any order; at times with one that the kind does not have. */
const drawn = (random: RandomJson, { definition, kind }: (typeof readers)[number]): JsonObject => {
  const known = definitions[definition]!.properties!
  const keys = Object.keys(values).filter((key) =>
    key === "metadata" || random.chance(Object.hasOwn(known, key) ? 0.5 : 0.02)
  )
  const order = keys.map((key) => [random.next(), key] as const).sort(([a], [b]) => a - b)
  const fields = order.map(([, key]) => [key, random.pick(values[key]!)])
  return structuredClone({ kind, apiVersion: "v1", ...Object.fromEntries(fields) })
}

describe("Parts", () => {
  it("reads as the whole is read, the first time and every other", () => {
    let read = 0
    forAll(2_000, (random) => {
      const reader = random.pick(readers)
      const { byParts, whole } = reader
      const body = drawn(random, reader)
      const found = byParts(body)
      assert.strictEqual(JSON.stringify(found), JSON.stringify(whole(body)), JSON.stringify(body))
      if (found === undefined) return
      read += 1
      // What was read, as it comes from the store, and changed in some parts.
      const stored = freeze({ ...found })
      for (const next of [stored, { ...stored, ...drawn(random, reader) }]) {
        assert.strictEqual(JSON.stringify(byParts(next)), JSON.stringify(whole(next)), JSON.stringify(next))
      }
    })
    assert.isAbove(read, 300)
  })

  it("tells the same part again, whichever body it comes in, and leaves a stored one as it is", () => {
    const { byParts } = readers[0]!
    const body = (name: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "a" } },
      spec: { containers: [{ name: "a", image: "b" }] }
    })
    const [first, second] = [byParts(body("a"))!, byParts(body("b"))!]
    assert.strictEqual(first["spec"], second["spec"])
    assert.isTrue(Object.isFrozen(first["spec"]))
    assert.strictEqual(byParts(first)!["spec"], first["spec"])
    const bound = freeze({ ...first, spec: { ...first["spec"] as JsonObject, nodeName: "n" } })
    assert.strictEqual(byParts(bound)!["spec"], bound.spec)
    assert.strictEqual(byParts(bound)!["spec"], bound.spec)
  })

  it("kinds whose parts depend on one another are read as a whole", () => {
    for (const [group, kind] of [["", "Service"], ["", "Secret"], ["", "Namespace"]] as const) {
      assert.isUndefined(Defaults.partsOf(group, kind))
    }
    assert.isUndefined(Defaults.partsOf("autoscaling", "HorizontalPodAutoscaler"))
  })
})
