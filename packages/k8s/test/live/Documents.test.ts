import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as Documents from "../../src/live/Documents.ts"
import { defaults, intern } from "../../src/live/Interning.ts"

const without = ["metadata.managedFields"]
const read = (text: string) => Documents.line({ without })(Buffer.from(text), 0, Buffer.byteLength(text))

describe("Documents", () => {
  it("reads a line without what nobody reads, and anything else as it is", () => {
    assert.deepStrictEqual(read(`{"type":"ADDED","object":{"metadata":{"managedFields":[{}],"name":"a"}}}`), {
      type: "ADDED",
      object: { metadata: { name: "a" } }
    })
    for (const text of ["null", "3", `"x"`, "[1]", `{"object":{"spec":{"metadata":{"managedFields":[1]}}}}`]) {
      assert.deepStrictEqual(read(text), JSON.parse(text))
    }
    assert.throws(() => read(`{"object":{"metadata":{"managedFields":[],"name":}}}`))
  })

  it.effect("tells which page follows before the objects are there", () =>
    Effect.gen(function*() {
      const page = (metadata: string) =>
        Buffer.from(`{"items":[{"metadata":{"name":"a","managedFields":[1]}}],"metadata":${metadata}}`)
      const asked: Array<string> = []
      const reading = { without, onContinue: (token: string) => Effect.sync(() => void asked.push(token)) }
      const body = yield* Documents.page(reading, page(`{"continue":"next","resourceVersion":"1"}`), () => "refused")
      assert.deepStrictEqual(body, {
        items: [{ metadata: { name: "a" } }],
        metadata: { continue: "next", resourceVersion: "1" }
      })
      yield* Documents.page(reading, page(`{"continue":""}`), () => "refused")
      assert.deepStrictEqual(asked, ["next"])
      const refused = yield* Effect.exit(Documents.page(reading, Buffer.from(`{"items":[}`), () => "refused"))
      assert.deepStrictEqual(refused, Exit.fail("refused"))
    }))
})

describe("Interning", () => {
  const object = (n: number) => ({
    image: `registry.example.com/${n % 3}/web:1.2.3`,
    uid: `0000-${n}-0000-0000`,
    list: [`a long element ${n % 2}`, { path: ["/var/run/secrets"] }, null, 3],
    long: "x".repeat(defaults.longest + 1 + n)
  })

  it("changes nothing that can be seen", () => {
    for (let n = 0; n < 5_000; n++) {
      const value = object(n)
      intern(value)
      assert.deepStrictEqual(value, object(n))
    }
  })
})
