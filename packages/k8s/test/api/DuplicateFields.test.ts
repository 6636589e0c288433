import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as DuplicateFields from "../../src/api/DuplicateFields.ts"
import * as RequestBody from "../../src/api/RequestBody.ts"
import { forAll } from "../testing/support/RandomJson.ts"

describe("DuplicateFields", () => {
  it("finds repeated keys at every depth, and tells each once", () => {
    assert.deepStrictEqual(DuplicateFields.find(`{"a":1,"b":{"a":1},"a":2,"a":3}`), ["a"])
    assert.deepStrictEqual(DuplicateFields.find(`{"spec":{"x":1,"x":2,"list":[{"y":1},{"y":1,"z":{},"y":2}]}}`), [
      "spec.x",
      "spec.list[1].y"
    ])
    assert.deepStrictEqual(DuplicateFields.find(`{"a\\"b":"a\\\\","\\u0061":1,"a":[{"a":"{\\"a\\":1,\\"a\\":2}"}]}`), [
      "a"
    ])
    assert.deepStrictEqual(DuplicateFields.find(`["a","a",{"a":"a"}]`), [])
  })

  it("finds none in what was written from a value", () =>
    forAll(300, (random) => {
      const value = random.object(4)
      assert.deepStrictEqual(DuplicateFields.find(JSON.stringify(value)), [])
    }))

  it.effect("fieldValidation warns of them, refuses them, or is silent", () =>
    Effect.gen(function*() {
      const { handle } = yield* ApiServer
      const text = `{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}`
      const post = Effect.fnUntraced(function*(fieldValidation: string) {
        const bytes = new TextEncoder().encode(text)
        const body = Result.getOrThrow(
          yield* RequestBody.decode({
            method: "POST",
            contentType: undefined,
            bytes,
            kind: Effect.succeed("ConfigMap")
          })
        )
        const { body: answer, headers, status } = yield* handle({
          method: "POST",
          path: "/api/v1/namespaces/default/configmaps",
          query: [["fieldValidation", fieldValidation], ["dryRun", "All"]],
          headers: {},
          body
        })
        return [status, headers["warning"], (answer as { readonly message?: string }).message]
      })
      assert.deepStrictEqual(yield* post("Warn"), [201, "299 - \"duplicate field \\\"data.k\\\"\"", undefined])
      assert.deepStrictEqual(yield* post("Ignore"), [201, undefined, undefined])
      assert.deepStrictEqual(yield* post("Strict"), [
        400,
        undefined,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \"data.k\""
      ])
    }).pipe(Effect.provide(ApiServer.layer)))
})
