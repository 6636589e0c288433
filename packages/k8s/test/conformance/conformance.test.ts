import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Outcome, servers, start } from "./run.ts"
import type { Statement } from "./Statement.ts"
import { suite } from "./suite.ts"
import type { Server } from "./Target.ts"

/** The outcomes of all statements, which run while the first is awaited. */
class Outcomes extends Context.Service<Outcomes, {
  readonly of: (statement: Statement) => Effect.Effect<Outcome>
}>()("@effect-operator/k8s/test/conformance/Outcomes") {}

const outcomes = (server: Server) =>
  Layer.effect(Outcomes, Effect.map(start(server, suite, servers[server]), (of) => ({ of })))

for (const server of ["memory", "http"] as const) {
  layer(outcomes(server), { excludeTestServices: true })(`conformance: ${server}`, (it) => {
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
