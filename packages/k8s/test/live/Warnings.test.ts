import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Schema } from "effect"
import * as Warnings from "../../src/live/Warnings.ts"

describe("Warnings", () => {
  it("are read as the header has them", () => {
    assert.deepStrictEqual(Warnings.parse("299 - \"batch/v1beta1 CronJob is deprecated\""), [
      "batch/v1beta1 CronJob is deprecated"
    ])
    assert.deepStrictEqual(
      Warnings.parse(
        "299 - \"a, \\\"b\\\" \\\\ c\" \"Wed, 21 Oct 2015 07:28:00 GMT\", 199 - \"not ours\",299 agent \"d\""
      ),
      ["a, \"b\" \\ c", "d"]
    )
    for (const none of ["", "x", "299", "299 -", "299 - \"open", "2999 - \"a\""]) {
      assert.deepStrictEqual(Warnings.parse(none), [], none)
    }
  })

  it.prop("come back as they were written", { texts: Schema.Array(Schema.String) }, ({ texts }) => {
    const header = texts.map((text) => `299 - "${text.replace(/["\\]/g, "\\$&")}"`).join(", ")
    // A line end cannot be in a header.
    if (!/[\r\n\u2028\u2029]/.test(header)) assert.deepStrictEqual(Warnings.parse(header), texts)
  }, { arbitrary: { runs: 300 } })

  it.effect("are logged once for each text", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => {
        logged.push(String(message))
      })
      const warn = Warnings.make()
      yield* Effect.gen(function*() {
        yield* warn("299 - \"a\", 299 - \"b\"")
        yield* warn("299 - \"b\", 299 - \"c\"")
        yield* warn(undefined)
        for (let at = 0; at < Warnings.defaults.remembered; at++) yield* warn(`299 - "n${at}"`)
        yield* warn("299 - \"a\"")
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(logged.slice(0, 3), ["a", "b", "c"].map((text) => `the API server warns: ${text}`))
      assert.strictEqual(logged.length, 4 + Warnings.defaults.remembered)
      assert.strictEqual(logged.at(-1), "the API server warns: a")
    }))
})
