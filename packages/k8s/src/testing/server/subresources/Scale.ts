/**
 * `Scale`: the scale subresource, a window on an object that shows only its replicas.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go (`ScaleREST`) and
 * k8s.io/kubernetes/pkg/registry/apps/deployment/storage.
 */
import { type KubeObject, withoutManagedFields } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Bodies from "../../../api/Bodies.ts"
import { asObject, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as Reading from "../../../api/Reading.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Admission from "../../Admission.ts"
import * as Exchange from "../Exchange.ts"
import type { ScalePaths } from "../Registry.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as GoZero from "../go/GoZero.ts"
import * as ScaleColumns from "../tables/ScaleColumns.ts"
import * as ApplyPatch from "../verbs/ApplyPatch.ts"
import * as Patching from "../verbs/Patching.ts"
import { change, readPatch, type Update } from "../verbs/VerbsUpdate.ts"
import * as Versions from "../verbs/Versions.ts"
import * as ScaleOwnership from "./ScaleOwnership.ts"

type Refused = StatusError.StatusError

/** A Scale as the server gives it. `spec.replicas` is left out where it is 0, as Go does. */
export interface Scale {
  readonly kind: "Scale"
  readonly apiVersion: "autoscaling/v1"
  readonly metadata: JsonValue.JsonObject
  readonly spec: { readonly replicas?: number }
  readonly status: { readonly replicas: number; readonly selector?: string }
}

const builtin: ScalePaths = {
  specReplicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  labelSelector: undefined
}

const count = (value: unknown): number => typeof value === "number" ? value : 0

/** The selector in the form a list takes it; a ReplicationController's is a plain map. */
const selectorOf = (object: KubeObject, paths: ScalePaths): string => {
  if (paths.labelSelector !== undefined) return stringAt(object, ...paths.labelSelector)
  const own = objectAt(object, "spec", "selector")
  const plain = object.kind === "ReplicationController"
  const selector = plain ? { matchLabels: own as Record<string, string> } : own as Selector.LabelSelectorObject
  return Selector.formatLabels(Selector.fromObject(selector) ?? [])
}

/** Where an object keeps its replicas. */
const pathsOf = ({ resource: { custom } }: Exchange.Exchange): ScalePaths => custom?.scale ?? builtin

/** The field of the replicas, as it is named in refusals. */
const fieldOf = (exchange: Exchange.Exchange): string =>
  FieldError.quote(`.${pathsOf(exchange).specReplicas.join(".")}`)

/** What stands for replicas that an object does not have: who writes them says how many there are to be. */
const unset = -(2 ** 31)

/** The Scale of an object, which need not have any replicas. */
const scaleOf = (exchange: Exchange.Exchange, object: KubeObject, missing = 0): Scale => {
  const { custom } = exchange.resource
  const paths = pathsOf(exchange)
  const replicas = count(at(object, ...paths.specReplicas) ?? (custom === undefined ? 0 : missing))
  const { creationTimestamp, name, namespace, resourceVersion, uid } = object.metadata
  const selector = custom === undefined || paths.labelSelector !== undefined ? selectorOf(object, paths) : ""
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: count(at(object, ...paths.statusReplicas)),
      ...(selector === "" ? {} : { selector })
    }
  }
}

/** The way to what is there and no object, though the path goes on. */
const obstacle = (object: KubeObject, path: ReadonlyArray<string>): ReadonlyArray<string> | undefined =>
  path.slice(1).map((_, index) => path.slice(0, index + 1)).find((way) => {
    const value = at(object, ...way)
    return value !== undefined && !JsonValue.isObject(value)
  })

/** A value set at a path; objects on the way are made. */
const setAt = (object: JsonValue.JsonObject, path: ReadonlyArray<string>, value: unknown): JsonValue.JsonObject => {
  const [key, ...rest] = path
  if (key === undefined) return object
  return JsonValue.set(object, key, rest.length === 0 ? value : setAt(objectAt(object, key), rest, value))
}

const isStored = ({ core, resource, route }: Exchange.Exchange): boolean =>
  core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name)) !== undefined

/** Whether a Scale that was sent is of what the path names. */
const placeFault = (exchange: Exchange.Exchange, scale: JsonValue.JsonObject): Refused | undefined => {
  const { name, namespace } = exchange.route
  const sent = stringAt(scale, "metadata", "name")
  const sentNamespace = stringAt(scale, "metadata", "namespace")
  if (sentNamespace !== "" && sentNamespace !== namespace) return Bodies.misplaced
  if (sent !== name) {
    return StatusError.badRequest(
      sent === ""
        ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
        : `the name of the object (${sent}) does not match the name on the URL (${name})`
    )
  }
  return undefined
}

/** The faults of a Scale that is to be written. */
const judge = (exchange: Exchange.Exchange, scale: JsonValue.JsonObject): Refused | undefined => {
  const { resource: { custom }, route: { name } } = exchange
  const misplaced = placeFault(exchange, scale)
  if (misplaced !== undefined) return misplaced
  const replicas = at(scale, "spec", "replicas")
  // Custom resources judge the number where they keep it.
  return custom === undefined && count(replicas) < 0
    ? StatusError.invalid("Scale", "autoscaling", name, [
      FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    ])
    : undefined
}

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" } as const

const definition = "io.k8s.api.autoscaling.v1.Scale"

/** A Scale that was sent, as its type reads it. What it has too much of was told when it came. */
const readScale = (scale: JsonValue.JsonObject): Effect.Effect<JsonValue.JsonObject, Refused> => {
  const read = BuiltinSchema.decode(definition, scale)
  return Result.isFailure(read)
    ? Effect.fail(StatusError.badRequest(`Scale in version "v1" cannot be handled as a Scale: ${read.failure}`))
    : Effect.succeed(GoZero.complete(definition, read.success.object))
}

/** The same request, as one for a resource whose objects are Scales. */
const asScale = (exchange: Exchange.Exchange): Exchange.Exchange => ({
  ...exchange,
  resource: {
    ...exchange.resource,
    ...scaleKind,
    custom: undefined,
    decode: (body) => Result.mapError(BuiltinSchema.decode(definition, body), StatusError.badRequest)
  }
})

/** A Scale to be written, and how the object behind it gets its managedFields. */
interface Made {
  readonly scale: JsonValue.JsonObject
  readonly carry: (object: KubeObject) => Effect.Effect<KubeObject>
}

/** What a request makes of a Scale. */
interface Making {
  readonly options: Exchange.WriteOptions
  readonly make: (scaled: ScaleOwnership.Scaled) => Effect.Effect<Made, Refused>
}

const replacing = Effect.fnUntraced(function*(exchange: Exchange.Exchange, patch: boolean) {
  const options = yield* Exchange.writeOptions(exchange, patch ? "PatchOptions" : "UpdateOptions")
  const sent = patch ? undefined : yield* readScale(yield* Exchange.bodyObject(exchange))
  const misplaced = sent === undefined ? undefined : placeFault(exchange, sent)
  if (misplaced !== undefined) return yield* Effect.fail(misplaced)
  const patched = patch ? yield* Patching.reader(exchange, scaleKind) : undefined
  const patching = Effect.fnUntraced(function*(scaled: ScaleOwnership.Scaled) {
    const stored = ScaleOwnership.patchable(exchange, scaled)
    const read = yield* readPatch(asScale(exchange), options, yield* patched!(stored), stored)
    return GoZero.complete(definition, { ...withoutManagedFields(read) })
  })
  const make = Effect.fnUntraced(function*(scaled: ScaleOwnership.Scaled) {
    const scale = sent ?? (yield* patching(scaled))
    return {
      scale,
      carry: (object) => ScaleOwnership.updated(exchange, options, scaled, scale, object)
    } satisfies Made
  })
  return { options, make } satisfies Making
})

/** The Scale that an apply has made. */
const readApplied = (request: ApplyPatch.Request, scale: JsonValue.JsonObject) => {
  const read = BuiltinSchema.decode(definition, scale)
  return Result.isFailure(read)
    ? Effect.fail(StatusError.plain(ApplyPatch.unconverted(request.apply.config, read.failure)))
    : Effect.succeed(GoZero.complete(definition, read.success.object))
}

const applying = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const options = yield* Exchange.writeOptions(exchange, "ApplyOptions")
  // The patch of what is not there is not looked at.
  if (!isStored(exchange)) return yield* Effect.fail(Exchange.notFound(exchange))
  const request = yield* ApplyPatch.read(exchange, options)
  const make = Effect.fnUntraced(function*(scaled: ScaleOwnership.Scaled) {
    const { carry, scale } = yield* ScaleOwnership.applied(exchange, request, scaled)
    return {
      scale: yield* readApplied(request, scale),
      carry: (object) => Effect.succeed(carry(object))
    } satisfies Made
  })
  return { options, make } satisfies Making
})

const shown = ({ resource }: Exchange.Exchange, scale: Scale): Exchange.Answer => ({
  _tag: "Object",
  status: 200,
  object: asObject({ ...scale }),
  window: ScaleColumns.of(resource)
})

const write = (patch: boolean): Exchange.Verb =>
  Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
    const { core, resource } = exchange
    const { make, options } = patch && ApplyPatch.isApply(exchange)
      ? yield* applying(exchange)
      : yield* replacing(exchange, patch)
    if (!isStored(exchange)) return yield* Effect.fail(Exchange.notFound(exchange))
    const paths = pathsOf(exchange)
    const view: Update["view"] = (attributes, next, stored) =>
      Effect.succeed({
        ...attributes,
        kind: scaleKind,
        object: asObject({ ...scaleOf(exchange, next) }),
        oldObject: asObject({ ...scaleOf(exchange, stored) })
      })
    const next = Effect.fnUntraced(function*(stored: KubeObject) {
      const before: JsonValue.JsonObject = { ...scaleOf(exchange, stored, unset) }
      const { carry, scale } = yield* make({ stored, scale: before })
      const fault = judge(exchange, scale)
      if (fault !== undefined) return yield* Effect.fail(fault)
      const admitted = yield* Admission.admit(
        core,
        Admission.attributes(exchange, "UPDATE", {
          kind: scaleKind,
          object: asObject(scale),
          oldObject: asObject(before),
          dryRun: options.dryRun
        }),
        asObject(scale)
      )
      const replicas = count(at(admitted, "spec", "replicas"))
      if (resource.custom !== undefined && replicas === unset) {
        return yield* Effect.fail(
          StatusError.badRequest(`the spec replicas field ${fieldOf(exchange)} cannot be empty`)
        )
      }
      const version = stringAt(admitted, "metadata", "resourceVersion")
      const uid = stringAt(admitted, "metadata", "uid")
      const { custom, group, plural } = resource
      if (patch && custom === undefined && uid !== "" && uid !== stored.metadata.uid) {
        return yield* Effect.fail(StatusError.conflict(
          { group, plural: `${plural}/scale` },
          stored.metadata.name,
          `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored.metadata.uid}`
        ))
      }
      const named: KubeObject = {
        ...stored,
        metadata: {
          ...stored.metadata,
          ...(version === "" ? {} : { resourceVersion: version }),
          ...(uid === "" ? {} : { uid })
        }
      }
      const way = obstacle(named, paths.specReplicas)
      if (way !== undefined) {
        return yield* Effect.fail(
          StatusError.plain(`value cannot be set because .${way.join(".")} is not a map[string]interface{}`)
        )
      }
      // An object with its replicas set is an object of the same kind.
      const scaled = asObject(setAt(named as never, paths.specReplicas, replicas))
      return yield* carry(scaled)
    })
    const object = yield* change({ exchange, options, part: "object", patch, view }, next)
    return shown(exchange, scaleOf(exchange, object))
  })

const get: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource, route } = exchange
  const refused = Reading.exportFault(exchange)
  if (refused !== undefined) return yield* Effect.fail(refused)
  const stored = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (stored === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const object = yield* Versions.show(resource, stored)
  return resource.custom !== undefined && at(object, ...pathsOf(exchange).specReplicas) === undefined
    ? yield* Effect.fail(StatusError.internal(`the spec replicas field ${fieldOf(exchange)} does not exist`))
    : shown(exchange, scaleOf(exchange, object))
})

/** The verbs of the subresource. */
export const verbs = { get, update: write(false), patch: write(true) } as const
