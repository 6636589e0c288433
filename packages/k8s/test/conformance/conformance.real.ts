import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outcomes } from "./run.ts"
import { suite } from "./suite.ts"

layer(Outcomes.layer("real"), { excludeTestServices: true })("conformance: real", (it) => {
  for (const statement of suite) {
    it.effect(`${statement.id} ${statement.title}`, (context) =>
      Effect.gen(function*() {
        const { note, status } = yield* (yield* Outcomes).of(statement)
        if (status === "skipped") return context.skip(note)
        assert.strictEqual(status, "passed", note)
      }))
  }
})
