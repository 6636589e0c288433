import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Outcomes } from "./run.ts"
import { suite } from "./suite.ts"

for (const server of ["memory", "http"] as const) {
  layer(Outcomes.layer(server), { excludeTestServices: true })(`conformance: ${server}`, (it) => {
    for (const statement of suite) {
      it.effect(`${statement.id} ${statement.title}`, () =>
        Effect.gen(function*() {
          const { note, status } = yield* (yield* Outcomes).of(statement)
          // The in-memory server stands for 1.35: nothing is newer.
          assert.strictEqual(status, "passed", note)
        }))
    }
  })
}
