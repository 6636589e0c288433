import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post, put } from "../../support/server.ts"

const url = "/apis/node.k8s.io/v1/runtimeclasses"

const runtimeClass = (handler: string, fields: object = {}) => ({ metadata: { name: "a" }, handler, ...fields })

const toleration = { key: "k", operator: "Exists" }

describe("RuntimeClassRules", () => {
  it.effect("judges handlers, costs and places", () =>
    refuses(
      url,
      [runtimeClass("runc", { overhead: { podFixed: { cpu: "1" } }, scheduling: { tolerations: [toleration] } })],
      [runtimeClass("a.b"), "handler: Invalid value: \"a.b\": must not contain dots"],
      [
        runtimeClass("a", { overhead: { podFixed: { cpu: "-1" } } }),
        "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"
      ],
      [
        runtimeClass("a", { scheduling: { tolerations: [toleration, toleration, {}] } }),
        "scheduling.tolerations[2].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which " +
        "means \"match all values and all keys\"",
        "scheduling.tolerations[1]: Duplicate value: {\"Key\":\"k\",\"Operator\":\"Exists\",\"Value\":\"\"," +
        "\"Effect\":\"\",\"TolerationSeconds\":null}"
      ]
    ).pipe(Effect.provide(layer)))

  it.effect("a PUT creates one, and its handler stays", () =>
    Effect.gen(function*() {
      const { body, status } = yield* put(`${url}/a`, runtimeClass("runc"))
      assert.strictEqual(status, 201)
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, handler: "kata" }), "handler: Invalid value: \"kata\": field is immutable"],
        [() => runtimeClass("runc"), "metadata.resourceVersion: Invalid value: 0: must be specified for an update"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("finalizers without a domain are nobody's business", () =>
    Effect.gen(function*() {
      const { status } = yield* post(url, { ...runtimeClass("a"), metadata: { name: "a", finalizers: ["x"] } })
      assert.strictEqual(status, 201)
    }).pipe(Effect.provide(layer)))
})
