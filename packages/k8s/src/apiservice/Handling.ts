/**
 * `Handling`: the handlers of a kind around its writes: objects in the type of the kind, refusals as 403, failures as 500.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asObject, copy } from "../api/Plain.ts"
import * as StatusError from "../api/StatusError.ts"
import type { Exchange } from "./Exchange.ts"
import type { Handlers, Refused, Write } from "./Kind.ts"

type Failed = StatusError.StatusError

const handlersOf = ({ resource: { source } }: Exchange): Handlers<KubeObject, unknown> =>
  source._tag === "Stored" ? source.handlers : {}

/** In the type of the kind; what its Schema refuses has passed the rules of the definition, and is told as it is. */
const typed = (exchange: Exchange, object: KubeObject): Effect.Effect<KubeObject, Failed> => {
  const decoded = exchange.resource.resource.decode(object)
  return Result.isSuccess(decoded)
    ? Effect.succeed(decoded.success)
    : Effect.fail(StatusError.badRequest(`${object.kind} is invalid: ${decoded.failure.issues.join("; ")}`))
}

/** As it is stored, with the metadata that it had. */
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
  handled.pipe(
    Effect.mapError(({ message }) => StatusError.forbidden(exchange.resource, name, message)),
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError(`the handler of ${exchange.resource.plural} failed`, defect),
        Effect.fail(StatusError.internal(defect instanceof Error ? defect.message : String(defect)))
      )
    )
  )

const writeOf = ({ user }: Exchange, dryRun: boolean): Write => ({ user, dryRun })

/** What is stored of a new object. */
export const create = Effect.fnUntraced(function*(exchange: Exchange, object: KubeObject, dryRun: boolean) {
  const { create } = handlersOf(exchange)
  if (create === undefined) return object
  const made = create(yield* typed(exchange, object), writeOf(exchange, dryRun))
  return yield* untyped(exchange, yield* guarded(exchange, object.metadata.name, made), object)
})

/** What is stored of a changed object. */
export const update = Effect.fnUntraced(
  function*(exchange: Exchange, object: KubeObject, old: KubeObject, dryRun: boolean) {
    const { update } = handlersOf(exchange)
    if (update === undefined) return object
    const made = update(yield* typed(exchange, object), yield* typed(exchange, old), writeOf(exchange, dryRun))
    return yield* untyped(exchange, yield* guarded(exchange, object.metadata.name, made), object)
  }
)

/** Before an object goes for good. */
export const remove = Effect.fnUntraced(function*(exchange: Exchange, object: KubeObject, dryRun: boolean) {
  const { delete: remove } = handlersOf(exchange)
  if (remove === undefined) return
  yield* guarded(exchange, object.metadata.name, remove(yield* typed(exchange, object), writeOf(exchange, dryRun)))
})
