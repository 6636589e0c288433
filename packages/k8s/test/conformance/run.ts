/** Runs statements against a server, one after the other, and says how each went. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Statement } from "./Statement.ts"
import { Target } from "./Target.ts"

export interface Outcome {
  readonly id: string
  readonly title: string
  readonly status: "passed" | "failed" | "skipped"
  /** Why it failed or was skipped, or what the statement has to say for itself. */
  readonly note: string
}

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
