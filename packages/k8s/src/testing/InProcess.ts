/**
 * `InProcess`: what an operator serves, as backends of the in-memory server, without sockets.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Backends from "./Backends.ts"

/** An `ApiServer`. */
export interface Reachable {
  readonly reach: (backends: Backends.Service) => Effect.Effect<void>
}

/** One map per server: whoever comes later adds to what is there. */
const known = new WeakMap<object, Map<string, Backends.Handler>>()

/** Serves a handler under a key until the scope closes. */
export type Serve = (key: string, handler: Backends.Handler) => Effect.Effect<void, never, Scope.Scope>

/** Puts handlers behind Services or URLs of a server. Only for one that was not built with backends of its own. */
export const make = Effect.fnUntraced(function*(server: Reachable): Effect.fn.Return<Serve> {
  const handlers = known.get(server) ?? new Map<string, Backends.Handler>()
  if (!known.has(server)) {
    known.set(server, handlers)
    yield* server.reach(Backends.handlers(handlers))
  }
  return (key, handler) =>
    Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => handlers.set(key, handler)),
      () => Effect.sync(() => handlers.get(key) === handler && handlers.delete(key))
    ))
})

/** The key of a Service. */
export const keyOf = (
  { name, namespace, port }: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
): string => port === undefined ? `${namespace}/${name}` : `${namespace}/${name}:${port}`
