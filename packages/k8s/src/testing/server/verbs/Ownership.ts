/**
 * `Ownership`: metadata.managedFields of the objects that a request writes.
 *
 * Between the object that was read from the request and admission: what admission, the kind's rules and the server set
 * later belongs to nobody. `settled` comes after: a write that changes nothing but the time of an entry changes nothing.
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

/** The type of the objects of a resource. */
export const typeOf = ({ custom, group, kind, version }: Served): Types.Type =>
  custom === undefined
    ? BuiltinTypes.ofDefinition(definitionOf(group, version, kind) ?? "")
    : customType(custom.schema)

/** The resource in the version of an entry, which may not be served; undefined if there is none, or elsewhere. */
export const inVersion = ({ core, resource }: Exchange.Exchange, apiVersion: string): Served | undefined => {
  if (apiVersion === apiVersionOf(resource)) return resource
  if (resource.custom !== undefined) return resource.custom.versions.get(apiVersion)
  const slash = apiVersion.indexOf("/")
  const found = core.registry.builtin(
    apiVersion.slice(0, Math.max(slash, 0)),
    apiVersion.slice(slash + 1),
    resource.plural
  )
  return found?.collection === resource.collection ? found : undefined
}

/** What of an object does not fit the schema of its version. Built-in kinds fit all of theirs. */
const misfit = ({ custom }: Served, object: unknown): string | undefined => {
  if (custom === undefined) return undefined
  const problems = Checking.problems(customType(custom.schema), object, "allowed")
  return problems.length === 0 ? undefined : Problems.message(problems)
}

/**
 * In another version, and nothing else: what a custom resource's schema fills in would look like somebody's field. As
 * nothing is pruned, either, the object may not fit there.
 */
const convert = Effect.fnUntraced(function*(exchange: Exchange.Exchange, object: KubeObject, from: string, to: string) {
  const { custom } = exchange.resource
  const target = inVersion(exchange, to)
  if (custom === undefined) return yield* Versions.between(inVersion(exchange, from)!, target!, object)
  const converted = yield* custom.convert(object, to)
  const problem = target === undefined ? undefined : misfit(target, converted)
  return problem === undefined ? converted : yield* Effect.fail(StatusError.plain(problem))
})

/** Why the stored object is not one of its kind any more: its schema has changed. */
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
      // Only of a built-in kind is a version forgotten that is gone.
      return served === undefined ? resource.custom && Types.deduced : typeOf(served)
    },
    convert: (object, from, to) => convert(exchange, asObject(object as object), from, to),
    // The rules of a custom resource speak of their own version only.
    reach: (version, set) => resource.custom === undefined || version === own ? reach(set) : set
  }
}

/** Who the request writes as. */
export const writerOf = (
  exchange: Exchange.Exchange,
  { fieldManager }: Exchange.WriteOptions
): FieldManager.Writer => ({
  versions: versionsOf(exchange),
  manager: fieldManager,
  subresource: exchange.route.subresource,
  time: Exchange.timestamp(exchange.now)
})

/** The object with these managedFields instead of its own. */
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

/** The object as its body had it, to say whose is what: with empty lists that are stored as none. */
const sent = ({ emptied }: Exchange.Exchange, object: KubeObject): KubeObject =>
  emptied.reduce((whole, path) => withEmpty(whole, path.match(step) ?? []) as KubeObject, withoutManagedFields(object))

/** The part of an object that a request does not write, whatever it says. */
const unwritten = ({ route }: Exchange.Exchange, object: KubeObject): JsonValue.JsonObject => {
  const { metadata: _, status, ...rest } = object as KubeObject & { readonly status?: JsonValue.JsonObject }
  return route.subresource === "status" ? rest as JsonValue.JsonObject : status === undefined ? {} : { status }
}

/**
 * Whether something was sent that does not fit its type although nobody refuses it, as it is not written: that is a
 * fault of what is tracked. What is stored fits.
 */
const isUnreadable = (exchange: Exchange.Exchange, next: KubeObject, stored?: KubeObject): boolean => {
  if (!exchange.resource.strategy.statusSubresource) return false
  const part = unwritten(exchange, next)
  return !(stored !== undefined && JsonValue.equals(part, unwritten(exchange, stored))) &&
    misfit(exchange.resource, part) !== undefined
}

/** An object to be created. */
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

/** An object that is to replace the stored one. */
export const updated = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  stored: KubeObject,
  next: KubeObject
): Effect.Effect<KubeObject> => {
  // As any fault of what is tracked: nobody owns anything any more.
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

/** The stored object, or an empty one, with all that its type writes: an apply is merged into that. */
const liveOf = (resource: Served, stored: KubeObject | undefined): JsonValue.JsonObject => {
  const { custom, group, kind, version } = resource
  const live = stored === undefined ? { apiVersion: apiVersionOf(resource), kind } : { ...withoutManagedFields(stored) }
  const definition = custom === undefined ? definitionOf(group, version, kind) : undefined
  return definition === undefined ? live : GoZero.complete(definition, live)
}

/** The stored object, or none yet, with a configuration applied to it. */
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
 * The object with the entries of the stored one, if nothing but their times is different. After this, two objects with
 * other entries are different.
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

/** Who the server is to itself, where it writes through its own API. */
const server = "kube-apiserver"

/** A built-in object whose status the server itself has changed. */
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
