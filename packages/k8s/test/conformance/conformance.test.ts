import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { skipReason } from "./run.ts"
import { suite } from "./suite.ts"
import * as Target from "./Target.ts"

// The in-memory server stands for 1.35: nothing is newer.
for (const server of ["memory", "http"] as const) {
  layer(Target.layer(server), { excludeTestServices: true, timeout: "30 seconds" })(`conformance: ${server}`, (it) => {
    for (const statement of suite.filter((statement) => skipReason(statement, 35) === undefined)) {
      it.effect(`${statement.id} ${statement.title}`, () => Effect.scoped(statement.run), 60_000)
    }
  })
}
