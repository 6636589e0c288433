import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outcomes } from "./run.ts"
import { suite } from "./suite.ts"

const minutes = (n: number) => n * 60_000

// The suite runs as a whole, and as fast as its controllers are: how long one of them takes says nothing.
layer(Outcomes.layer("real"), { excludeTestServices: true })("conformance: real", (it) => {
  for (const statement of suite) {
    it.effect(`${statement.id} ${statement.title}`, (context) =>
      Effect.gen(function*() {
        const { note, status } = yield* (yield* Outcomes).of(statement)
        if (status === "skipped") return context.skip(note)
        assert.strictEqual(status, "passed", note)
      }), minutes(10))
  }
})
