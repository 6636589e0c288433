/**
 * `Scale`: the scale subresource, a view of an object that contains only its replicas.
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

/** A Scale as the server returns it. As in Go, `spec.replicas` is omitted if it is 0. */
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

/** The selector in the form of a query parameter; a ReplicationController's selector is a plain map. */
const selectorOf = (object: KubeObject, paths: ScalePaths): string => {
  if (paths.labelSelector !== undefined) return stringAt(object, ...paths.labelSelector)
  const own = objectAt(object, "spec", "selector")
  const plain = object.kind === "ReplicationController"
  const selector = plain ? { matchLabels: own as Record<string, string> } : own as Selector.LabelSelectorObject
  return Selector.formatLabels(Selector.fromObject(selector) ?? [])
}

/** The paths of an object's replicas. */
const pathsOf = ({ resource: { custom } }: Exchange.Exchange): ScalePaths => custom?.scale ?? builtin

/** The field of the replicas in refusals. */
const fieldOf = (exchange: Exchange.Exchange): string =>
  FieldError.quote(`.${pathsOf(exchange).specReplicas.join(".")}`)

/** The placeholder for replicas that an object does not have, so that a write can be recognised. */
const unset = -(2 ** 31)

/** The Scale of an object, which may have no replicas. */
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

/** The path up to a value that is not an object although the path continues. */
const obstacle = (object: KubeObject, path: ReadonlyArray<string>): ReadonlyArray<string> | undefined =>
  path.slice(1).map((_, index) => path.slice(0, index + 1)).find((way) => {
    const value = at(object, ...way)
    return value !== undefined && !JsonValue.isObject(value)
  })

/** Sets a value at a path, creating objects on the way. */
const setAt = (object: JsonValue.JsonObject, path: ReadonlyArray<string>, value: unknown): JsonValue.JsonObject => {
  const [key, ...rest] = path
  if (key === undefined) return object
  return JsonValue.set(object, key, rest.length === 0 ? value : setAt(objectAt(object, key), rest, value))
}

const isStored = ({ core, resource, route }: Exchange.Exchange): boolean =>
  core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name)) !== undefined

/** The fault of a Scale whose name or namespace differs from the URL. */
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

/** Validates a Scale that is to be written. */
const judge = (exchange: Exchange.Exchange, scale: JsonValue.JsonObject): Refused | undefined => {
  const { resource: { custom }, route: { name } } = exchange
  const misplaced = placeFault(exchange, scale)
  if (misplaced !== undefined) return misplaced
  const replicas = at(scale, "spec", "replicas")
  // Custom resources validate the number at its own path.
  return custom === undefined && count(replicas) < 0
    ? StatusError.invalid("Scale", "autoscaling", name, [
      FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    ])
    : undefined
}

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" } as const

const definition = "io.k8s.api.autoscaling.v1.Scale"

/** Decodes a Scale. Unknown fields were reported when the request arrived. */
const readScale = (scale: JsonValue.JsonObject): Effect.Effect<JsonValue.JsonObject, Refused> => {
  const read = BuiltinSchema.decode(definition, scale)
  return Result.isFailure(read)
    ? Effect.fail(StatusError.badRequest(`Scale in version "v1" cannot be handled as a Scale: ${read.failure}`))
    : Effect.succeed(GoZero.complete(definition, read.success.object))
}

/** The same request for a resource whose objects are Scales. */
const asScale = (exchange: Exchange.Exchange): Exchange.Exchange => ({
  ...exchange,
  resource: {
    ...exchange.resource,
    ...scaleKind,
    custom: undefined,
    decode: (body) => Result.mapError(BuiltinSchema.decode(definition, body), StatusError.badRequest)
  }
})

/** A Scale to be written, and how managedFields of the object are computed. */
interface Made {
  readonly scale: JsonValue.JsonObject
  readonly carry: (object: KubeObject) => Effect.Effect<KubeObject>
}

/** Computes the new Scale of a request. */
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

/** Decodes the result of an apply to a Scale. */
const readApplied = (request: ApplyPatch.Request, scale: JsonValue.JsonObject) => {
  const read = BuiltinSchema.decode(definition, scale)
  return Result.isFailure(read)
    ? Effect.fail(StatusError.plain(ApplyPatch.undecodable(request.apply.config, read.failure)))
    : Effect.succeed(GoZero.complete(definition, read.success.object))
}

const applying = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const options = yield* Exchange.writeOptions(exchange, "ApplyOptions")
  // The patch is not read if the object does not exist.
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
      // Setting the replicas keeps the kind of an object.
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
