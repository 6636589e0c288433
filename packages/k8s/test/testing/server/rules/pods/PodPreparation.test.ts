import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as PodPreparation from "../../../../../src/testing/server/rules/pods/PodPreparation.ts"
import { layer, post } from "../../../support/server.ts"

const path = "/api/v1/namespaces/default/pods"

const pod = (name: string, spec: object, metadata: object = {}, container: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i", ...container }], ...spec }
})

const annotation = "container.apparmor.security.beta.kubernetes.io/c"
const deprecated = `299 - "metadata.annotations[${annotation}]: deprecated since v1.30; use the ` +
  `\\"appArmorProfile\\" field instead"`

describe("PodPreparation", () => {
  it.effect("keys of a Pod's own labels become requirements", () =>
    Effect.gen(function*() {
      const term = { topologyKey: "zone", labelSelector: { matchLabels: { q: "r" } } }
      const spec = {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { ...term, matchLabelKeys: ["a"], mismatchLabelKeys: ["c", "gone"] }
            ],
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { ...term, matchLabelKeys: ["a"] } }
            ]
          }
        },
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "zone",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: {},
            matchLabelKeys: ["a"]
          }
        ]
      }
      const [a, c] = [
        { key: "a", operator: "In", values: ["b"] },
        { key: "c", operator: "NotIn", values: ["d"] }
      ]
      const { body } = yield* post(path, pod("a", spec, { labels: { a: "b", c: "d" } }))
      const { podAffinity } = body.spec.affinity
      const [required] = podAffinity.requiredDuringSchedulingIgnoredDuringExecution
      assert.deepStrictEqual(required.labelSelector, { ...term.labelSelector, matchExpressions: [a, c] })
      const [preferred] = podAffinity.preferredDuringSchedulingIgnoredDuringExecution
      assert.deepStrictEqual(preferred.podAffinityTerm.labelSelector.matchExpressions, [a])
      assert.deepStrictEqual(body.spec.topologySpreadConstraints[0].labelSelector, { matchExpressions: [a] })
      const template = { metadata: { labels: { a: "b" } }, spec: pod("", spec).spec }
      const made = yield* post("/api/v1/namespaces/default/podtemplates", { metadata: { name: "a" }, template })
      assert.deepStrictEqual(made.body.template.spec.topologySpreadConstraints[0].labelSelector, {})
      const twice = [{ ...spec.topologySpreadConstraints[0], labelSelector: { matchLabels: { a: "b" } } }]
      const refused = yield* post(path, pod("b", { topologySpreadConstraints: twice }, { labels: { a: "b" } }))
      assert.include(refused.body.message, "exists in both matchLabelKeys and labelSelector")
    }).pipe(Effect.provide(layer)))

  it.effect("an annotation of AppArmor becomes the container's profile, with a warning", () =>
    Effect.gen(function*() {
      const annotated = (name: string, value: string, spec: object = {}, container: object = {}) =>
        post(path, pod(name, spec, { annotations: { [annotation]: value } }, container))
      const [named, odd, equal, own, windows] = yield* Effect.all([
        annotated("a", "localhost/p"),
        annotated("b", "localhost/"),
        annotated("c", "unconfined", { securityContext: { appArmorProfile: { type: "Unconfined" } } }),
        annotated("d", "runtime/default", {}, { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } }),
        annotated("e", "unconfined", { os: { name: "windows" } })
      ])
      const profile = { type: "Localhost", localhostProfile: "p" }
      assert.deepStrictEqual(named.body.spec.containers[0].securityContext, { appArmorProfile: profile })
      for (const { body } of [odd, equal, windows]) assert.notProperty(body.spec.containers[0], "securityContext")
      for (const { headers } of [named, odd]) assert.deepStrictEqual(headers["warning"], deprecated)
      for (const { headers } of [equal, own, windows]) assert.notProperty(headers, "warning")
      const bad = yield* annotated("f", "bad")
      assert.strictEqual(bad.status, 422)
      assert.deepStrictEqual(bad.headers["warning"], deprecated)
    }).pipe(Effect.provide(layer)))

  it("leaves a Pod that asks for nothing of this the same object", () => {
    const term = { topologyKey: "zone", labelSelector: {} }
    const plain = pod("a", {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
      topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule" }]
    })
    assert.strictEqual(PodPreparation.prepareCreate(plain as never), plain as never)
  })
})
