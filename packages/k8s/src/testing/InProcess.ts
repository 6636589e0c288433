/** `InProcess`: the servers of an operator as backends of the in-memory API server, without sockets. */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { type Handler, rejected } from "../webhook/Handler.ts"
import * as Backends from "./Backends.ts"

/** The part of an `ApiServer` that is needed here. */
export interface Reachable {
  readonly host: (find: Backends.Find) => Effect.Effect<void, never, Scope.Scope>
}

/** The handlers of a server. */
class Handlers {
  /** All that serve a key, as the replicas of an operator do. */
  private readonly replicas = new Map<string, ReadonlyArray<Backends.Handler>>()
  /** The one that is called: the latest. */
  readonly called = new Map<string, Backends.Handler>()

  add(key: string, handler: Backends.Handler): void {
    this.set(key, [...this.others(key, handler), handler])
  }

  remove(key: string, handler: Backends.Handler): void {
    this.set(key, this.others(key, handler))
  }

  private others(key: string, handler: Backends.Handler): ReadonlyArray<Backends.Handler> {
    return (this.replicas.get(key) ?? []).filter((other) => other !== handler)
  }

  private set(key: string, replicas: ReadonlyArray<Backends.Handler>): void {
    const latest = replicas.at(-1)
    this.replicas.set(key, replicas)
    if (latest === undefined) this.called.delete(key)
    else this.called.set(key, latest)
  }
}

/** The same for every `make` of a server. */
const known = new WeakMap<object, Handlers>()

/** Serves a handler under a key until the scope closes. */
export type Serve = (key: string, handler: Backends.Handler) => Effect.Effect<void, never, Scope.Scope>

/** Registers handlers for Services or URLs of a server, whatever other backends it has. */
export const make = Effect.fnUntraced(function*(server: Reachable): Effect.fn.Return<Serve> {
  const handlers = known.get(server) ?? new Handlers()
  if (!known.has(server)) {
    known.set(server, handlers)
    // For as long as the server lives: others may serve when the one that comes first has left.
    yield* Scope.provide(server.host(Backends.among(handlers.called)), yield* Scope.make())
  }
  return (key, handler) =>
    Effect.acquireRelease(
      Effect.sync(() => handlers.add(key, handler)),
      () => Effect.sync(() => handlers.remove(key, handler))
    )
})

/** A webhook server as a backend, for use with `Backends.handlers`. */
export const backend = (handler: Handler): Backends.Handler => (request) =>
  handler({
    ...request,
    body: request.body === undefined
      ? Effect.fail(rejected(400, "the body is incomplete"))
      : Effect.succeed(request.body)
  })

/** The key of a Service for `Backends.handlers`. */
export const keyOf = (
  { name, namespace, port }: { readonly namespace: string; readonly name: string; readonly port?: number | undefined }
): string => port === undefined ? `${namespace}/${name}` : `${namespace}/${name}:${port}`
