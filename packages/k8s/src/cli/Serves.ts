/**
 * `Serves`: called by a command that runs until it is stopped.
 *
 * A signal ends such a command as it should. Any other command is interrupted by it: its work is not done, so it must
 * not exit with 0, or a shell would go on with what follows (`effect-operator check && kubectl apply -k deploy`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** What is called; by default nothing. */
export const Serves: Context.Reference<() => void> = Context.Reference<() => void>(
  "@effect-operator/k8s/cli/Serves",
  { defaultValue: () => () => {} }
)

/** From now on a signal is the end of the command. */
export const serves: Effect.Effect<void> = Effect.map(Serves, (declare) => declare())
