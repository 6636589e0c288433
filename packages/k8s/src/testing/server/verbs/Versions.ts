/**
 * `Versions`: converts stored objects to the version of a request, and objects of a request to the storage version.
 *
 * Verbs convert only with this module. A conversion is a plain function, unless the definition of the resource names a
 * conversion webhook: then it is a call that takes time and may fail. Code that converts before a write must therefore
 * check afterwards that the stored object is unchanged.
 *
 * The result of a webhook is cached with the stored object, as a watch cache does for each version. Watches, updates
 * and reads at resourceVersion 0 use the cached result. All other reads convert again, like a real server that reads
 * from etcd.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { freeze } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import type { Listing } from "../../../api/Storage.ts"
import { type Selection, visible } from "../../../api/WatchHub.ts"
import { apiVersionOf, type Conversion, type Served } from "../Registry.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"
import * as GoZero from "../go/GoZero.ts"

type Refused = StatusError.StatusError

/** A stored object in the version of `Served`; with `fresh` false, a cached result is used. */
export const show = ({ conversion }: Served, stored: KubeObject, fresh = true): Effect.Effect<KubeObject, Refused> =>
  conversion._tag === "Local"
    ? Effect.succeed(conversion.fromStorage(stored))
    : Effect.map(conversion.fromStorage([stored], fresh), ([shown]) => shown!)

/** An object of a version in its stored form. */
export const store = ({ conversion }: Served, object: KubeObject): Effect.Effect<KubeObject, Refused> =>
  conversion._tag === "Local" ? Effect.succeed(conversion.toStorage(object)) : conversion.toStorage(object)

/**
 * The stored object that an update starts from. A real server takes it from its watch cache, and converts it back to
 * compare it with etcd.
 */
export const current = (resource: Served, stored: KubeObject): Effect.Effect<KubeObject, Refused> => {
  const { conversion } = resource
  const known = conversion._tag === "Local" ? undefined : conversion.remembered(stored)
  return known === undefined ? show(resource, stored) : Effect.as(store(resource, known), known)
}

/** The response to a dry run: the object as it would be read from the store. */
export const rehearse = (
  resource: Served,
  object: KubeObject,
  encoded: KubeObject
): Effect.Effect<KubeObject, Refused> =>
  resource.custom === undefined ? Effect.succeed(object) : show(resource, encoded)

/** Converts an object from one version of a resource to another, without pruning and defaulting. */
export const between = (from: Served, to: Served, object: KubeObject): Effect.Effect<KubeObject, Refused> =>
  from === to
    ? Effect.succeed(object)
    : from.custom !== undefined
    ? from.custom.convert(object, apiVersionOf(to))
    : Effect.flatMap(store(from, object), (stored) => show(to, stored))

type Matches = (object: KubeObject) => boolean

/**
 * A selector for stored objects. Selectors apply to the served form; for built-in kinds the stored form is equivalent.
 */
const onStored = (
  { custom }: Served,
  conversion: Extract<Conversion, { readonly _tag: "Local" }>,
  matches: Matches | undefined
): Matches | undefined =>
  matches === undefined || custom === undefined ? matches : (stored) => matches(conversion.fromStorage(stored))

/** A page of a list. */
export interface Page {
  readonly items: ReadonlyArray<KubeObject>
  /** The index in the listing at which the next page starts. */
  readonly next: number
}

/** At most `limit` objects of a listing that match, from an index on. The listing is read at once. */
export const page = (
  resource: Served,
  { get, keys }: Listing,
  from: number,
  limit: number,
  matches: Matches | undefined,
  fresh = true
): Effect.Effect<Page, Refused> => {
  const { conversion } = resource
  const items: Array<KubeObject> = []
  let next = from
  if (conversion._tag === "Local") {
    const selected = onStored(resource, conversion, matches)
    for (; next < keys.length && items.length < limit; next++) {
      const stored = get(keys[next]!)
      if (selected === undefined || selected(stored)) items.push(conversion.fromStorage(stored))
    }
    return Effect.succeed({ items, next })
  }
  const stored = keys.map(get)
  return Effect.gen(function*() {
    while (next < stored.length && items.length < limit) {
      const shown = yield* conversion.fromStorage(stored.slice(next, next + limit - items.length), fresh)
      next += shown.length
      items.push(...(matches === undefined ? shown : shown.filter(matches)))
    }
    return { items, next }
  })
}

/** The selection for a watch of stored objects, whose events `showEvents` converts. */
export const selection = (resource: Served, matches: Matches | undefined): Pick<Selection, "matches" | "whole"> => {
  const { conversion } = resource
  if (conversion._tag === "Effectful") return { whole: true }
  const selected = onStored(resource, conversion, matches)
  return selected === undefined ? {} : { matches: selected }
}

/** A watch is refused if the watch cache cannot be filled. */
export const watchable = (resource: Served, { get, keys }: Listing): Effect.Effect<void, Refused> => {
  const { conversion, kind } = resource
  if (conversion._tag === "Local") return Effect.void
  const listed = `${apiVersionOf(resource)}, Kind=${kind}`
  return Effect.mapError(
    conversion.fromStorage(keys.map(get), false),
    ({ body }) =>
      StatusError.tooManyRequests(`storage is (re)initializing: failed to list ${listed}: ${body.message}`, 1)
  )
}

/** The object of a bookmark of a built-in kind has its Go type, with all fields that are never omitted. */
const typed = (
  { custom, group, kind, version }: Served,
  event: Extract<WireEvent, { type: "BOOKMARK" }>
): WireEvent => {
  const definition = custom === undefined ? BuiltinSchema.definitionOf(group, version, kind) : undefined
  return definition === undefined
    ? event
    : freeze({ type: event.type, object: GoZero.complete(definition, event.object as never) as never })
}

/**
 * The events of a watch in a version. With a webhook, `events` must contain all objects, because selectors apply after
 * the conversion. The first failed conversion ends the watch, and its client lists again.
 */
export const showEvents = (
  served: Served,
  events: Stream.Stream<WireEvent>,
  matches: Matches | undefined
): Stream.Stream<WireEvent> => {
  const { conversion } = served
  if (conversion._tag === "Local") {
    return Stream.map(events, (event) => {
      if (event.type === "BOOKMARK") return typed(served, event)
      if (event.type === "ERROR") return event
      const object = conversion.fromStorage(event.object)
      return object === event.object ? event : { type: event.type, object }
    })
  }
  const shown = Effect.fnUntraced(function*(event: WireEvent & { readonly previous?: KubeObject }) {
    if (event.type === "BOOKMARK" || event.type === "ERROR") return event
    const { previous, type } = event
    const stored = previous === undefined ? [event.object] : [event.object, previous]
    const [object, before] = yield* conversion.fromStorage(stored, false)
    return visible({
      type,
      object: object!,
      ...(before === undefined ? {} : { previous: before }),
      revision: Number(object!.metadata.resourceVersion),
      event: { type, object: object! }
    }, matches)
  })
  return events.pipe(
    Stream.mapEffect((event) => Effect.result(shown(event))),
    Stream.takeWhile(Result.isSuccess),
    Stream.map((result) => Result.getOrUndefined(result)),
    Stream.filter((event) => event !== undefined)
  )
}
