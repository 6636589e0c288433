/** Runs statements against a server and says how each went. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Statement } from "./Statement.ts"
import { layer, type Server, Target } from "./Target.ts"

export interface Outcome {
  readonly id: string
  readonly title: string
  readonly status: "passed" | "failed" | "skipped"
  /** Why it failed or was skipped, or what the statement has to say for itself. */
  readonly note: string
}

/** Among how many servers the statements are dealt out: a real one is too much of a program to have several. */
export const servers: Readonly<Record<Server, number>> = { memory: 4, http: 4, real: 1 }

/** Why a statement is not put to a server; undefined if it is. */
export const skipReason = ({ since }: Statement, minor: number): string | undefined =>
  since !== undefined && since > minor ? `not in this version: since 1.${since}, the server is 1.${minor}` : undefined

/** One statement. Whatever happens to it is its outcome. */
export const runOne = Effect.fnUntraced(function*(statement: Statement) {
  const { minor } = yield* Target
  const { id, title } = statement
  const skipped = skipReason(statement, minor)
  if (skipped !== undefined) return { id, title, status: "skipped", note: skipped } satisfies Outcome
  const exit = yield* Effect.exit(Effect.scoped(statement.run))
  return Exit.isSuccess(exit)
    ? { id, title, status: "passed", note: statement.note ?? "" } satisfies Outcome
    : { id, title, status: "failed", note: String(Cause.squash(exit.cause)) } satisfies Outcome
})

/**
 * Starts all statements, dealt out to so many servers of their own, each of which gets its share one after the other;
 * most of a statement is waiting. Gives how to await the outcome of one.
 */
export const start = Effect.fnUntraced(function*(
  server: Server,
  statements: ReadonlyArray<Statement>,
  servers: number
) {
  const outcomes = new Map<Statement, Deferred.Deferred<Outcome>>()
  for (const statement of statements) outcomes.set(statement, yield* Deferred.make<Outcome>())
  const outcomeOf = (statement: Statement) => outcomes.get(statement)!
  const ask = (share: ReadonlyArray<Statement>) =>
    Effect.forEach(share, (statement) => Deferred.complete(outcomeOf(statement), runOne(statement)), {
      discard: true
    }).pipe(
      Effect.provide(layer(server)),
      // A server that does not start is the outcome of its whole share.
      Effect.onError((cause) =>
        Effect.forEach(share, (statement) => Deferred.failCause(outcomeOf(statement), cause), { discard: true })
      )
    )
  const shares = Array.from({ length: servers }, (_, nth) => statements.filter((_, index) => index % servers === nth))
  yield* Effect.forkScoped(Effect.forEach(shares, ask, { concurrency: "unbounded", discard: true }))
  return (statement: Statement): Effect.Effect<Outcome> => Deferred.await(outcomeOf(statement))
})
