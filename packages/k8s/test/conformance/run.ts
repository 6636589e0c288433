/** Runs statements against a server and says how each went. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { Statement } from "./Statement.ts"
import { parts, suite } from "./suite.ts"
import { layer, type Server, Target } from "./Target.ts"

export interface Outcome {
  readonly id: string
  readonly title: string
  readonly status: "passed" | "failed" | "skipped"
  /** Why it failed or was skipped, or what the statement has to say for itself. */
  readonly note: string
}

/** Among how many servers each part is dealt out: a real one is too much of a program to have several. */
const servers: Readonly<Record<Server, number>> = { memory: 3, http: 3, real: 1 }

/** Why a statement is not put to a server; undefined if it is. */
const skipReason = ({ since }: Statement, minor: number): string | undefined =>
  since !== undefined && since > minor ? `not in this version: since 1.${since}, the server is 1.${minor}` : undefined

/** One statement. Whatever happens to it is its outcome. */
const runOne = Effect.fnUntraced(function*(statement: Statement) {
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
 * Starts the suite, or what is asked of it, each part on servers of its own, which get their shares one statement after
 * the other: most of a statement is waiting. Gives how to await the outcome of one.
 */
const start = Effect.fnUntraced(function*(server: Server, asked: (statement: Statement) => boolean) {
  const outcomes = new Map<Statement, Deferred.Deferred<Outcome>>()
  for (const statement of suite.filter(asked)) outcomes.set(statement, yield* Deferred.make<Outcome>())
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
  const shares = parts.flatMap(({ statements }) =>
    Array.from(
      { length: servers[server] },
      (_, nth) => statements.filter(asked).filter((_, index) => index % servers[server] === nth)
    )
  ).filter((share) => share.length > 0)
  yield* Effect.forkScoped(Effect.forEach(shares, ask, { concurrency: "unbounded", discard: true }))
  return (statement: Statement): Effect.Effect<Outcome> => Deferred.await(outcomeOf(statement))
})

/** The outcomes of the suite on one server, or of those statements that are asked for. */
export class Outcomes extends Context.Service<Outcomes, {
  readonly of: (statement: Statement) => Effect.Effect<Outcome>
}>()("@effect-operator/k8s/test/conformance/run/Outcomes") {
  static readonly layer = (server: Server, asked: (statement: Statement) => boolean = () => true) =>
    Layer.effect(Outcomes, Effect.map(start(server, asked), (of) => ({ of })))
}
