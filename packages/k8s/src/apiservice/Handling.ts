/**
 * `Handling`: calls the handlers of a kind around its writes, with objects of the kind's type. A refusal becomes 403, a
 * failure 500.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asObject, copy } from "../api/Plain.ts"
import * as StatusError from "../api/StatusError.ts"
import type { Exchange } from "./Exchange.ts"
import { type Handlers, Refused, type Write } from "./Kind.ts"

type Failed = StatusError.StatusError

const handlersOf = ({ resource: { source } }: Exchange): Handlers<KubeObject, unknown> =>
  source._tag === "Stored" ? source.handlers : {}

/**
 * The object as the kind's type. What only its Schema refuses has passed the rules of the definition; the error is
 * reported as it is.
 */
const typed = (exchange: Exchange, object: KubeObject): Effect.Effect<KubeObject, Failed> => {
  const decoded = exchange.resource.resource.decode(object)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(StatusError.badRequest(`${object.kind} is invalid: ${decoded.failure.issues.join("; ")}`))
}

/** The object in its stored form, with the metadata that it had. */
const untyped = (exchange: Exchange, made: KubeObject, object: KubeObject): Effect.Effect<KubeObject, Failed> => {
  const encoded = exchange.resource.resource.encode(made)
  return Result.isSuccess(encoded)
    ? Effect.succeed(asObject(copy({ ...(encoded.success as object), metadata: object.metadata })))
    : Effect.fail(
      StatusError.internal(`a handler made an invalid ${object.kind}: ${encoded.failure.issues.join("; ")}`)
    )
}

const guarded = <A>(
  exchange: Exchange,
  name: string,
  handled: Effect.Effect<A, Refused, unknown>
): Effect.Effect<A, Failed, unknown> =>
  Effect.catchCause(handled, (cause) => {
    const error: unknown = Cause.squash(cause)
    if (error instanceof Refused) return Effect.fail(StatusError.forbidden(exchange.resource, name, error.message))
    // A defect, or an interruption of its own: that of a request is not seen here.
    return Effect.andThen(
      Effect.logError(`the handler of ${exchange.resource.plural} failed`, cause),
      Effect.fail(StatusError.internal(error instanceof Error ? error.message : String(error)))
    )
  })

const writeOf = ({ user }: Exchange, dryRun: boolean): Write => ({ user, dryRun })

/** The object to store for a create. */
export const create = Effect.fnUntraced(function*(exchange: Exchange, object: KubeObject, dryRun: boolean) {
  const { create } = handlersOf(exchange)
  if (create === undefined) return object
  const made = create(yield* typed(exchange, object), writeOf(exchange, dryRun))
  return yield* untyped(exchange, yield* guarded(exchange, object.metadata.name, made), object)
})

/** The object to store for an update. */
export const update = Effect.fnUntraced(
  function*(exchange: Exchange, object: KubeObject, old: KubeObject, dryRun: boolean) {
    const { update } = handlersOf(exchange)
    if (update === undefined) return object
    const made = update(yield* typed(exchange, object), yield* typed(exchange, old), writeOf(exchange, dryRun))
    return yield* untyped(exchange, yield* guarded(exchange, object.metadata.name, made), object)
  }
)

/** Called before an object is removed. */
export const remove = Effect.fnUntraced(function*(exchange: Exchange, object: KubeObject, dryRun: boolean) {
  const { delete: remove } = handlersOf(exchange)
  if (remove === undefined) return
  yield* guarded(exchange, object.metadata.name, remove(yield* typed(exchange, object), writeOf(exchange, dryRun)))
})
