/**
 * `Ownership`: metadata.managedFields of the objects that a request writes.
 *
 * They are computed between decoding the request and admission, so changes by admission, the kind's strategy and the
 * server have no manager. `settled` comes last: if only the time of an entry changed, nothing did.
 */
import { type KubeObject, withoutManagedFields } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { asObject } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Schema } from "../../../schema/Schema.ts"
import * as BuiltinTypes from "../../apply/BuiltinTypes.ts"
import * as Checking from "../../apply/Checking.ts"
import * as CustomTypes from "../../apply/CustomTypes.ts"
import * as FieldManager from "../../apply/FieldManager.ts"
import * as Managers from "../../apply/Managers.ts"
import * as Problems from "../../apply/Problems.ts"
import * as Reach from "../../apply/Reach.ts"
import * as Types from "../../apply/Types.ts"
import type { Versions as Converter } from "../../apply/Updater.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf, type Served } from "../Registry.ts"
import { definitionOf } from "../go/BuiltinSchema.ts"
import * as GoZero from "../go/GoZero.ts"
import * as Versions from "./Versions.ts"

const customTypes = new WeakMap<Schema, Types.Type>()

const customType = (schema: Schema): Types.Type => {
  let type = customTypes.get(schema)
  if (type === undefined) customTypes.set(schema, type = CustomTypes.ofSchema(schema))
  return type
}

/** The type of a resource's objects for server-side apply. */
export const typeOf = ({ custom, group, kind, version }: Served): Types.Type =>
  custom === undefined
    ? BuiltinTypes.ofDefinition(definitionOf(group, version, kind) ?? "")
    : customType(custom.schema)

/**
 * The resource in the version of an entry, which may not be served; undefined if it does not exist or is stored
 * elsewhere. The core group and the named groups are installed with types of their own: neither knows a version of the
 * other, although both may store in the same place (Events).
 */
export const inVersion = ({ core, resource }: Exchange.Exchange, apiVersion: string): Served | undefined => {
  if (apiVersion === apiVersionOf(resource)) return resource
  if (resource.custom !== undefined) return resource.custom.versions.get(apiVersion)
  const slash = apiVersion.indexOf("/")
  const group = apiVersion.slice(0, Math.max(slash, 0))
  if ((group === "") !== (resource.group === "")) return undefined
  const found = core.registry.builtin(group, apiVersion.slice(slash + 1), resource.plural)
  return found?.collection === resource.collection ? found : undefined
}

/** How a custom object violates the schema of its version; undefined for built-in kinds, which always match theirs. */
const misfit = ({ custom }: Served, object: unknown): string | undefined => {
  if (custom === undefined) return undefined
  const problems = Checking.problems(customType(custom.schema), object, "allowed")
  return problems.length === 0 ? undefined : Problems.message(problems)
}

/** Converts an object without pruning and defaulting: defaults of a schema would look like fields of a manager. */
const converted = (exchange: Exchange.Exchange, object: KubeObject, from: string, to: string) => {
  const { custom } = exchange.resource
  return custom === undefined
    ? Versions.between(inVersion(exchange, from)!, inVersion(exchange, to)!, object)
    : custom.convert(object, to)
}

/**
 * Converts an object to a version, whose type it must match. Without pruning it may not match, and unlike an object of
 * the request's version it may not contain duplicates either.
 */
const convert = Effect.fnUntraced(function*(exchange: Exchange.Exchange, object: KubeObject, from: string, to: string) {
  const made = yield* converted(exchange, object, from, to)
  const target = inVersion(exchange, to)
  const problems = target === undefined ? [] : Checking.problems(typeOf(target), made, "refused")
  return problems.length === 0 ? made : yield* Effect.fail(StatusError.plain(Problems.message(problems)))
})

/** How the stored object violates its schema, which may have changed. */
export const unfit = ({ resource }: Exchange.Exchange, stored: KubeObject | undefined): string | undefined =>
  stored === undefined ? undefined : misfit(resource, stored)

const versionsOf = (exchange: Exchange.Exchange): Converter => {
  const { resource, route } = exchange
  const own = apiVersionOf(resource)
  const type = typeOf(resource)
  const reach = Reach.of(resource.collection, route.subresource, resource.strategy.statusSubresource)
  return {
    own,
    typeOf: (version) => {
      if (version === own) return type
      const served = inVersion(exchange, version)
      // Entries of unknown versions are dropped for built-in kinds only.
      return served === undefined ? resource.custom && Types.deduced : typeOf(served)
    },
    convert: (object, from, to) => convert(exchange, asObject(object as object), from, to),
    // The rules of a custom resource apply only to its own version.
    reach: (version, set) => resource.custom === undefined || version === own ? reach(set) : set
  }
}

/** The manager as which the request writes. */
export const writerOf = (
  exchange: Exchange.Exchange,
  { fieldManager }: Exchange.WriteOptions
): FieldManager.Writer => ({
  versions: versionsOf(exchange),
  manager: fieldManager,
  subresource: exchange.route.subresource,
  time: Exchange.timestamp(exchange.now)
})

/** The object with other managedFields. */
export const withEntries = (object: KubeObject, managedFields: FieldManager.Entries): KubeObject =>
  managedFields === object.metadata.managedFields
    ? object
    : managedFields === undefined
    ? withoutManagedFields(object)
    : { ...object, metadata: { ...object.metadata, managedFields } }

const step = /([^.[\]]+)/g

const withEmpty = (value: unknown, [key, ...rest]: ReadonlyArray<string>): unknown => {
  if (key === undefined) return []
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => String(index) === key ? withEmpty(item, rest) : item)
  }
  const object = JsonValue.isObject(value) ? value : {}
  return { ...object, [key]: withEmpty(object[key], rest) }
}

/** The object with the empty lists that its body contained, although they are not stored; they count for ownership. */
const sent = ({ emptied }: Exchange.Exchange, object: KubeObject): KubeObject =>
  emptied.reduce((whole, path) => withEmpty(whole, path.match(step) ?? []) as KubeObject, withoutManagedFields(object))

/** The part of an object that the request does not write. */
const unwritten = ({ route }: Exchange.Exchange, object: KubeObject): JsonValue.JsonObject => {
  const { metadata: _, status, ...rest } = object as KubeObject & { readonly status?: JsonValue.JsonObject }
  return route.subresource === "status" ? rest as JsonValue.JsonObject : status === undefined ? {} : { status }
}

/**
 * Whether the part of the body that is not written violates its schema. Validation does not refuse it, but tracking
 * fails. A part that equals the stored one is always valid.
 */
const isUnreadable = (exchange: Exchange.Exchange, next: KubeObject, stored?: KubeObject): boolean => {
  if (!exchange.resource.strategy.statusSubresource) return false
  const part = unwritten(exchange, next)
  return !(stored !== undefined && JsonValue.equals(part, unwritten(exchange, stored))) &&
    misfit(exchange.resource, part) !== undefined
}

/** A new object with managedFields. */
export const created = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  object: KubeObject
): Effect.Effect<KubeObject> => {
  if (isUnreadable(exchange, object)) return Effect.succeed(withEntries(object, undefined))
  const { apiVersion, kind } = object
  const update: FieldManager.Update = {
    live: { apiVersion, kind },
    liveEntries: undefined,
    creates: true,
    next: sent(exchange, object),
    given: object.metadata.managedFields
  }
  return Effect.map(
    FieldManager.updated(writerOf(exchange, options), update),
    (entries) => withEntries(object, entries)
  )
}

/** The replacement of a stored object, with managedFields. */
export const updated = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  stored: KubeObject,
  next: KubeObject
): Effect.Effect<KubeObject> => {
  // As with every failure of tracking, the object loses its managedFields.
  if (unfit(exchange, stored) !== undefined || isUnreadable(exchange, next, stored)) {
    return Effect.succeed(withEntries(next, undefined))
  }
  const update: FieldManager.Update = {
    live: stored,
    liveEntries: stored.metadata.managedFields,
    creates: false,
    next: sent(exchange, next),
    given: next.metadata.managedFields
  }
  return Effect.map(
    FieldManager.updated(writerOf(exchange, options), update),
    (entries) => withEntries(next, entries)
  )
}

/** The live object for an apply: the stored one, or an empty one, with all fields that its type always contains. */
const liveOf = (resource: Served, stored: KubeObject | undefined): JsonValue.JsonObject => {
  const { custom, group, kind, version } = resource
  const live = stored === undefined ? { apiVersion: apiVersionOf(resource), kind } : { ...withoutManagedFields(stored) }
  const definition = custom === undefined ? definitionOf(group, version, kind) : undefined
  return definition === undefined ? live : GoZero.complete(definition, live)
}

/** Applies a configuration to the stored object, or to none. */
export const applied = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  stored: KubeObject | undefined,
  config: JsonValue.JsonObject,
  force: boolean
): Effect.Effect<FieldManager.Applied, StatusError.StatusError> => {
  return FieldManager.applied(writerOf(exchange, options), {
    live: liveOf(exchange.resource, stored),
    liveEntries: stored?.metadata.managedFields,
    config,
    force
  })
}

/**
 * The object with the stored managedFields if only their times differ. So if managedFields differ afterwards, the
 * object has changed.
 */
export const settled = (next: KubeObject, stored: KubeObject): KubeObject => {
  const entries = next.metadata.managedFields
  const before = stored.metadata.managedFields
  if (entries === before || entries === undefined || before === undefined) return next
  return Managers.sameButTimes(entries, before) &&
      JsonValue.equals(withoutManagedFields(next), withoutManagedFields(stored))
    ? withEntries(next, before)
    : next
}

/** The manager of the server's own writes. */
const server = "kube-apiserver"

/** A built-in object whose status was changed by the server itself. */
export const statusTouched = (
  { collection, definition, now }: { readonly collection: string; readonly definition: string; readonly now: number },
  stored: KubeObject,
  next: KubeObject
): KubeObject => {
  const own = stored.apiVersion
  const type = BuiltinTypes.ofDefinition(definition)
  const writer: FieldManager.Writer = {
    versions: {
      own,
      typeOf: (version) => version === own ? type : undefined,
      convert: (object) => Effect.succeed(object),
      reach: (_, set) => Reach.of(collection, "status", true)(set)
    },
    manager: server,
    subresource: "status",
    time: Exchange.timestamp(now)
  }
  return withEntries(
    next,
    FieldManager.touched(writer, stored, withoutManagedFields(next), stored.metadata.managedFields)
  )
}
