/**
 * `Incoming`: a response whose body is read as it arrives.
 *
 * The connection is read only while the reader of the body wants more, so that a slow reader slows the server down
 * instead of filling the memory. Interrupting the request aborts it, and so does closing the scope, body included.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Body } from "./Body.ts"
import type { Connections, Outgoing } from "./Connections.ts"
import type { Head } from "./HttpResponse.ts"

/** A response whose headers have arrived. */
export interface Incoming extends Head {
  /** For one reader, once. */
  readonly body: Body
}

/** Sends a request; errors are those of the connection. */
export const open = (
  connections: Connections,
  outgoing: Outgoing
): Effect.Effect<Incoming, unknown, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => ({ abort: () => {} })),
      (exchange) => Effect.sync(() => exchange.abort())
    ),
    (exchange) =>
      Effect.callback<Incoming, unknown>((resume) => {
        exchange.abort = connections.request(outgoing, {
          answered: (head, body) => resume(Effect.succeed({ ...head, body })),
          failed: (cause) => resume(Effect.fail(cause))
        })
        return Effect.sync(() => exchange.abort())
      })
  )
