/**
 * `ScaleOwnership`: managedFields of an object that is written through its Scale.
 *
 * The write is tracked on the Scale, in which only the number of replicas matters, and then transferred to the object
 * (see `ScaleEntries`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { asObject } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import * as BuiltinTypes from "../../apply/BuiltinTypes.ts"
import * as FieldManager from "../../apply/FieldManager.ts"
import * as Managers from "../../apply/Managers.ts"
import * as ScaleEntries from "../../apply/ScaleEntries.ts"
import type * as Exchange from "../Exchange.ts"
import { apiVersionOf } from "../Registry.ts"
import * as GoZero from "../go/GoZero.ts"
import * as ApplyPatch from "../verbs/ApplyPatch.ts"
import * as Ownership from "../verbs/Ownership.ts"

const definition = "io.k8s.api.autoscaling.v1.Scale"

const writerOf = (exchange: Exchange.Exchange, options: Exchange.WriteOptions): FieldManager.Writer => ({
  ...Ownership.writerOf(exchange, options),
  versions: {
    own: ScaleEntries.scaleVersion,
    typeOf: (version) => version === ScaleEntries.scaleVersion ? BuiltinTypes.ofDefinition(definition) : undefined,
    convert: (object) => Effect.succeed(object),
    reach: (_, set) => set
  }
})

const replicasPath = (exchange: Exchange.Exchange): ScaleEntries.ReplicasPath => (apiVersion) => {
  const served = Ownership.inVersion(exchange, apiVersion)
  return served === undefined
    ? undefined
    : served.custom === undefined
    ? ["spec", "replicas"]
    : served.custom.scale?.specReplicas ?? []
}

const managersOf = (entries: FieldManager.Entries): Managers.Managers =>
  Result.getOrElse(Managers.decode(entries), () => Managers.none)

/** The managedFields of the Scale of an object. */
const scaleEntries = (exchange: Exchange.Exchange, stored: KubeObject): FieldManager.Entries =>
  Managers.encode(ScaleEntries.toScale(managersOf(stored.metadata.managedFields), replicasPath(exchange)))

/** The object with managedFields computed from those of its Scale. */
const carried = (
  exchange: Exchange.Exchange,
  stored: KubeObject,
  object: KubeObject,
  entries: FieldManager.Entries
): KubeObject => {
  const parent = managersOf(stored.metadata.managedFields)
  const version = apiVersionOf(exchange.resource)
  const managers = ScaleEntries.toParent(parent, managersOf(entries), version, replicasPath(exchange))
  const written = Managers.encode(managers)
  // A copy, because it is parsed again: two of its entries may have the same identity.
  return Ownership.withEntries(object, written === undefined ? undefined : [...written])
}

/** A Scale and the object it is of. */
export interface Scaled {
  readonly stored: KubeObject
  /** The Scale of the stored object. */
  readonly scale: JsonValue.JsonObject
}

/** The Scale with managedFields, as patches see it. */
export const patchable = (exchange: Exchange.Exchange, { scale, stored }: Scaled): KubeObject =>
  Ownership.withEntries(asObject(scale), scaleEntries(exchange, stored))

/** The object after an update or patch of its Scale: `object` is the stored one with the new replicas. */
export const updated = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  { scale, stored }: Scaled,
  next: JsonValue.JsonObject,
  object: KubeObject
): Effect.Effect<KubeObject> =>
  Effect.map(
    FieldManager.updated(writerOf(exchange, options), {
      live: scale,
      liveEntries: scaleEntries(exchange, stored),
      creates: false,
      next,
      given: undefined
    }),
    (entries) => carried(exchange, stored, object, entries)
  )

/** A Scale after an apply, and how managedFields of the object are computed. */
export interface Applied {
  readonly scale: JsonValue.JsonObject
  readonly carry: (object: KubeObject) => KubeObject
}

/** Why the converter of a custom resource refuses its Scale. */
const inconvertible = "request to convert CR to an invalid group/version: autoscaling/v1"

/**
 * Applies a configuration to the Scale. Through the Scale of a custom resource only ownership can change: the result of
 * a merge is converted like a custom resource, which fails.
 */
export const applied = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  request: ApplyPatch.Request,
  { scale, stored }: Scaled
) {
  const { config, force, options } = request.apply
  const expected = { apiVersion: ScaleEntries.scaleVersion, kind: "Scale" }
  const refused = ApplyPatch.fault(expected, BuiltinTypes.ofDefinition(definition), config) ??
    ApplyPatch.repeatedKeys(exchange, request)
  if (refused !== undefined) return yield* Effect.fail(refused)
  const liveEntries = scaleEntries(exchange, stored)
  // Fields without an owner must first get one, for which the Scale would have to be converted to the custom resource.
  if (exchange.resource.custom !== undefined && (liveEntries ?? []).length === 0) {
    return yield* Effect.fail(StatusError.plain(
      "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) to " +
        `proper version: ${inconvertible}`
    ))
  }
  const { entries, object } = yield* FieldManager.applied(writerOf(exchange, options), {
    live: GoZero.complete(definition, scale),
    liveEntries,
    config,
    force
  })
  if (exchange.resource.custom !== undefined && object !== undefined) {
    return yield* Effect.fail(StatusError.plain(ApplyPatch.unconverted(config, inconvertible)))
  }
  return {
    scale: object ?? scale,
    carry: (next: KubeObject) => carried(exchange, stored, asObject(next), entries)
  } satisfies Applied
}) as (
  exchange: Exchange.Exchange,
  request: ApplyPatch.Request,
  scaled: Scaled
) => Effect.Effect<Applied, StatusError.StatusError>
