import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { crds, layer, post, put } from "../../support/server.ts"

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Cluster",
    names: { plural: "things", kind: "Thing" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      subresources: { scale: { specReplicasPath: ".spec.a.n", statusReplicasPath: ".status.a.n" } },
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    }]
  }
}

const cases: ReadonlyArray<readonly [spec: unknown, fault: string | undefined]> = [
  [5, ".spec.a accessor error: 5 is of the type int64, expected map[string]interface{}"],
  [{ a: [] }, ".spec.a.n accessor error: [] is of the type []interface {}, expected map[string]interface{}"],
  [{ a: { n: "x" } }, ".spec.a.n accessor error: x is of the type string, expected int64"],
  [{ a: { n: null } }, ".spec.a.n accessor error: <nil> is of the type <nil>, expected int64"],
  [{ a: null }, undefined],
  [null, undefined]
]

describe("the replicas of a custom object", () => {
  it.effect("are told where they cannot be read, by the key that was looked for", () =>
    Effect.gen(function*() {
      yield* post(crds, definition)
      for (const [index, [spec, fault]] of cases.entries()) {
        const object = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: `t${index}` }, spec }
        const { body, status } = yield* post("/apis/example.com/v1/things", object)
        const message = status === 201 ? undefined : body.message
        const wanted = fault && `Thing.example.com "t${index}" is invalid: .spec.a.n: Invalid value: 0: ${fault}`
        assert.strictEqual(message, wanted)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("are not written into what is no object", () =>
    Effect.gen(function*() {
      yield* post(crds, definition)
      const metadata = { name: "t" }
      const things = "/apis/example.com/v1/things"
      yield* post(things, { apiVersion: "example.com/v1", kind: "Thing", metadata, spec: { a: null } })
      const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata, spec: { replicas: 1 } }
      const { body, status } = yield* put(`${things}/t/scale`, scale)
      assert.strictEqual(status, 500)
      assert.include(body, { message: "value cannot be set because .spec.a is not a map[string]interface{}" })
    }).pipe(Effect.provide(layer)))
})
