/**
 * Makes functions of a program that read and write objects total: what one throws is an issue of its argument. A stored
 * object on which it throws does not decode, instead of ending the process that watches it.
 */
import * as Cause from "effect/Cause"
import * as Result from "effect/Result"

/** Why a JSON value is not an object of the resource: one line per issue, each with its field path. */
export interface Invalid {
  readonly issues: ReadonlyArray<string>
}

/** The result of `run`, or an issue: `issue` makes a line of what was thrown. */
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

/** A parser of Schema throws its own error, with what the transformation threw in its cause. */
const defectOf = (thrown: unknown): unknown =>
  thrown instanceof Error && Cause.isCause(thrown.cause) ? Cause.squash(thrown.cause) : thrown
