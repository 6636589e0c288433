/**
 * Functions of a program that read and write objects, made total: what one throws is a fault of the value it was given. A
 * stored object on which it throws is one that does not decode, rather than the end of the process that watches it.
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"

/** Why a JSON value is not an object of the resource: one line per fault, each with its field path. */
export interface Invalid {
  readonly issues: ReadonlyArray<string>
}

/** What `run` answers, or the fault: `issue` makes a line of what was thrown. */
export const total = <A>(
  run: () => Result.Result<A, Invalid>,
  issue: (thrown: string) => string
): Result.Result<A, Invalid> => {
  try {
    return run()
  } catch (thrown) {
    return Result.fail({ issues: [issue(String(defectOf(thrown)).replaceAll("\n", " "))] })
  }
}

/** A parser of Schema throws an error of its own, with what the transformation threw in its cause. */
const defectOf = (thrown: unknown): unknown =>
  thrown instanceof Error && Cause.isCause(thrown.cause) ? Cause.squash(thrown.cause) : thrown
