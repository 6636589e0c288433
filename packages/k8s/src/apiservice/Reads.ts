/** `get`, `list` and `watch`, served from the log; see `Reading` for pages and versions. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { missing, nameFault, storageKey } from "../api/Identity.ts"
import * as Reading from "../api/Reading.ts"
import type * as Representation from "../api/Representation.ts"
import { flag, parameter } from "../api/Routing.ts"
import * as Selecting from "../api/Selecting.ts"
import * as StatusError from "../api/StatusError.ts"
import type { Exchange } from "./Exchange.ts"

/** GET of an object. */
export const get = Effect.fnUntraced(function*(exchange: Exchange) {
  const { core, resource, route } = exchange
  const refused = Reading.exportFault(exchange) ?? nameFault(route.name)
  if (refused !== undefined) return yield* Effect.fail(refused)
  const wanted = yield* Effect.fromResult(Reading.version(exchange))
  if (wanted !== undefined) yield* Reading.reached(core.storage, wanted)
  const object = core.storage.get(resource.collection, storageKey(route.namespace, route.name))
  if (object === undefined) return yield* Effect.fail(missing(resource, route.name))
  return { _tag: "Object", status: 200, object } as const satisfies Representation.Answer
})

/**
 * Why a watch or a further page cannot start at a version that this server has not reached. It is from another
 * replica, or from a process before this one whose clock was ahead. A watch that waited for it would be silent until
 * then, although there are changes.
 */
const foreign = ({ core }: Exchange, revision: number): StatusError.StatusError | undefined =>
  revision > core.storage.revision
    ? StatusError.expired(
      `resource version ${revision} is not one of this server, which is at ${core.storage.revision}`
    )
    : undefined

/** The selectors and the resourceVersion in the query. */
const asked = Effect.fnUntraced(function*(exchange: Exchange) {
  const parsed = yield* Effect.fromResult(Selecting.parse(exchange.request))
  const faults = Reading.optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const selecting = yield* Effect.fromResult(Selecting.read(exchange.resource.selectable, parsed))
  return { ...selecting, wanted: yield* Effect.fromResult(Reading.version(exchange)) }
})

/** GET of a collection. */
export const list = Effect.fnUntraced(function*(exchange: Exchange) {
  const { core, request } = exchange
  const { fields, matches, wanted } = yield* asked(exchange)
  if (wanted !== undefined && parameter(request, "continue") === undefined) yield* Reading.reached(core.storage, wanted)
  const single = Reading.isSingle(exchange, fields)
  const { from, listing: { get, keys }, revision } = yield* Effect.fromResult(Reading.plan(exchange, wanted, single))
  const unknown = foreign(exchange, revision)
  if (unknown !== undefined) return yield* Effect.fail(unknown)
  const whole = single || (parameter(request, "resourceVersion") === "0" && from === undefined)
  const limit = (whole ? 0 : Number(parameter(request, "limit") ?? 0)) || Number.POSITIVE_INFINITY
  const items: Array<KubeObject> = []
  let next = Reading.indexFrom(keys, from)
  for (; next < keys.length && items.length < limit; next++) {
    const object = get(keys[next]!)
    if (matches === undefined || matches(object)) items.push(object)
  }
  const left = keys.length - next
  return {
    _tag: "List",
    items,
    metadata: {
      resourceVersion: String(revision),
      ...(left === 0 ? { continue: "" } : {
        continue: Reading.tokenAfter(exchange, revision, keys[next - 1]!),
        ...(matches === undefined ? { remainingItemCount: left } : {})
      })
    }
  } as const satisfies Representation.Answer
})

/** `watch=true` on a collection, or the old path prefix. */
export const watch = Effect.fnUntraced(function*(exchange: Exchange) {
  const { core, random, request, resource, route } = exchange
  const { matches, wanted } = yield* asked(exchange)
  if (wanted !== undefined && flag(request, "sendInitialEvents")) yield* Reading.reached(core.storage, wanted)
  const watching = Reading.watching(exchange, wanted, random)
  const unknown = foreign(exchange, watching.since ?? 0)
  if (unknown !== undefined) {
    return { _tag: "Watch", events: Stream.succeed<WireEvent>({ type: "ERROR", object: unknown.body }) } as const
  }
  const selected = route.name === ""
    ? matches
    : (object: KubeObject) => object.metadata.name === route.name && (matches === undefined || matches(object))
  const events = core.hub.watch({
    collection: resource.collection,
    ...(selected === undefined ? {} : { matches: selected }),
    ...watching,
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind
  })
  return { _tag: "Watch", events } as const satisfies Representation.Answer
})
