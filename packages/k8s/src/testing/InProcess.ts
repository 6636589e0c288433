/** `InProcess`: the servers of an operator as backends of the in-memory API server, without sockets. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Backends from "./Backends.ts"

/** The part of an `ApiServer` that is needed here. */
export interface Reachable {
  readonly reach: (backends: Backends.Service) => Effect.Effect<void>
}

/** One map per server, so that every `make` adds to the same handlers. */
const known = new WeakMap<object, Map<string, Backends.Handler>>()

/** Serves a handler under a key until the scope closes. */
export type Serve = (key: string, handler: Backends.Handler) => Effect.Effect<void, never, Scope.Scope>

/** Registers handlers for the Services or URLs of a server that was built without backends of its own. */
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

/** The key of a Service for `Backends.handlers`. */
export const keyOf = (
  { name, namespace, port }: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
): string => port === undefined ? `${namespace}/${name}` : `${namespace}/${name}:${port}`
