import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { skipReason } from "./run.ts"
import { parts } from "./suite.ts"
import * as Target from "./Target.ts"

for (const { name, statements } of parts) {
  layer(Target.layer("real"), { excludeTestServices: true, timeout: "120 seconds" })(
    `conformance: real ${name}`,
    (it) => {
      for (const statement of statements) {
        it.effect(`${statement.id} ${statement.title}`, (context) =>
          Effect.gen(function*() {
            const skipped = skipReason(statement, (yield* Target.Target).minor)
            if (skipped !== undefined) return context.skip(skipped)
            yield* Effect.scoped(statement.run)
          }), 60_000)
      }
    }
  )
}
