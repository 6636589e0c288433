/** Logs a failure of the user's code, even if its error throws when it is read: a getter `message`, for example. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

export const logFailure = (
  log: (...message: ReadonlyArray<unknown>) => Effect.Effect<void>,
  note: string,
  cause: Cause.Cause<unknown>
): Effect.Effect<void> =>
  Effect.catchDefect(
    log(note, cause),
    (defect) => log(`${note} (with an error that cannot be shown: reading it throws the following)`, Cause.die(defect))
  )
