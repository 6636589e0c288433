import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Protobuf from "../../src/api/Protobuf.ts"
import * as RequestBody from "../../src/api/RequestBody.ts"

const decode = (text: string, more: Partial<RequestBody.Body> = {}) =>
  RequestBody.decode({
    method: "POST",
    contentType: "application/json",
    bytes: new TextEncoder().encode(text),
    kind: Effect.succeed("ConfigMap"),
    ...more
  })

/** The refusal's code and message. */
const refused = (text: string, more?: Partial<RequestBody.Body>) =>
  Effect.map(decode(text, more), (result) => {
    const { body } = Result.getOrThrow(Result.flip(result))
    return [body.code, body.message]
  })

const yaml = { contentType: "application/yaml" }
const noKind = { kind: Effect.void as Effect.Effect<undefined> }

describe("RequestBody", () => {
  it.effect("reads JSON, also where no content type is given, and YAML", () =>
    Effect.gen(function*() {
      const object = Result.succeed({ a: 1 })
      assert.deepStrictEqual(yield* decode("{\"a\":1}"), object)
      assert.deepStrictEqual(yield* decode("{\"a\":1}", { contentType: undefined }), object)
      assert.deepStrictEqual(yield* decode("a: 1", yaml), object)
    }))

  it.effect("a deletion needs no body", () =>
    Effect.gen(function*() {
      const nothing = Result.succeed(undefined)
      assert.deepStrictEqual(yield* decode("", { method: "DELETE" }), nothing)
      assert.deepStrictEqual(yield* decode("", { method: "DELETE", contentType: "text/plain" }), nothing)
    }))

  it.effect("a patch may be any value, and its content type is the server's to judge", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* decode("[1]", { method: "PATCH" }), Result.succeed([1]))
      assert.deepStrictEqual(
        yield* decode("x", { method: "PATCH", contentType: "text/plain" }),
        Result.succeed(undefined)
      )
    }))

  it.effect("refuses a content type it does not read, and names those it does", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* refused("x", { contentType: "text/plain" }), [
        415,
        "the body of the request was in an unknown format - accepted media types include: " +
        `application/json, application/yaml, ${Protobuf.mediaType}`
      ])
    }))

  it.effect("refuses what does not parse, in the words of each verb", () =>
    Effect.gen(function*() {
      const parse = "couldn't get version/kind; json parse error: unexpected end of JSON input"
      assert.deepStrictEqual(yield* refused("{"), [
        400,
        `the object provided is unrecognized (must be of type ConfigMap): ${parse} ({)`
      ])
      assert.deepStrictEqual(yield* refused("{", noKind), [400, parse])
      assert.deepStrictEqual(yield* refused("{", { method: "DELETE" }), [400, parse])
    }))

  it.effect("hands on a patch that does not parse: whether there is anything to patch matters first", () =>
    Effect.gen(function*() {
      const patch = Result.getOrThrow(yield* decode("{", { method: "PATCH" }))
      assert.instanceOf(patch, RequestBody.Unreadable)
      assert.strictEqual((patch as RequestBody.Unreadable).said, "unexpected end of JSON input")
    }))

  it.effect("refuses what is no object", () =>
    Effect.gen(function*() {
      const [code, message] = yield* refused("[]", noKind)
      assert.strictEqual(code, 400)
      assert.match(String(message), /json parse error: json: cannot unmarshal array into Go value of type struct/)
      const [, plain] = yield* refused("text", { ...yaml, ...noKind })
      assert.match(String(plain), /json parse error: json: cannot unmarshal string into/)
    }))

  it.effect("reads protobuf, but not in a patch", () =>
    Effect.gen(function*() {
      const type = "\x0a\x02v1\x12\x09ConfigMap"
      const object = "\x0a\x07\x0a\x01a\x1a\x02ns"
      const envelope = `k8s\0\x0a\x0f${type}\x12\x09${object}`
      const decoded = yield* decode(envelope, { contentType: Protobuf.mediaType })
      assert.deepNestedInclude(Result.getOrThrow(decoded), {
        apiVersion: "v1",
        kind: "ConfigMap",
        "metadata.name": "a",
        "metadata.namespace": "ns"
      })
      const patch = yield* decode(envelope, { method: "PATCH", contentType: Protobuf.mediaType })
      assert.deepStrictEqual(patch, Result.succeed(undefined))
      const [code] = yield* refused("junk", { contentType: Protobuf.mediaType })
      assert.strictEqual(code, 400)
    }))
})
