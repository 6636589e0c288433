/**
 * `get`, `list` and `watch`.
 *
 * Lists are always consistent: no cache can lag behind. All pages of a list show the state at the revision of the first
 * one. The `continue` token contains that revision and the key at which to continue.
 *
 * Source: k8s.io/apiserver/pkg/storage/etcd3/store.go, pkg/storage/continue.go, and for the rules on
 * resourceVersionMatch and sendInitialEvents k8s.io/apimachinery/pkg/apis/meta/internalversion/validation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Reading from "../../../api/Reading.ts"
import { flag, parameter } from "../../../api/Routing.ts"
import * as Selecting from "../../../api/Selecting.ts"
import * as StatusError from "../../../api/StatusError.ts"
import type { Listing } from "../../../api/Storage.ts"
import type * as Exchange from "../Exchange.ts"
import { nameFault, notFound, storageKey } from "../Exchange.ts"
import { apiVersionOf, selectable } from "../Registry.ts"
import * as Respond from "../Respond.ts"
import * as Versions from "./Versions.ts"

/** GET of an object. */
export const get: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource, route } = exchange
  const refused = Reading.exportFault(exchange) ?? nameFault(route.name)
  if (refused !== undefined) return yield* Effect.fail(refused)
  const wanted = yield* Effect.fromResult(Reading.version(exchange))
  if (wanted !== undefined) yield* Reading.reached(core.storage, wanted)
  const found = core.storage.get(resource.collection, storageKey(route.namespace, route.name))
  if (found === undefined) return yield* Effect.fail(notFound(exchange))
  return { _tag: "Object", status: 200, object: yield* Versions.show(resource, found, wanted === undefined) } as const
})

/** Whether a real server would answer this list from its cache rather than from etcd. */
const cached = ({ request }: Exchange.Exchange): boolean => {
  const version = parameter(request, "resourceVersion") ?? ""
  if ((parameter(request, "continue") ?? "") !== "") return false
  return version === "0" || (version !== "" && (parameter(request, "resourceVersionMatch") ?? "") !== "Exact" &&
    Number(parameter(request, "limit") ?? 0) === 0)
}

/** Only the object whose name the selector says: a real server reads no other from etcd, and converts none. */
const named = ({ get, keys }: Listing, fields: Selecting.Selecting["fields"]): Listing => {
  const name = fields.find(({ field, operator }) => field === "metadata.name" && operator === "=")?.value
  return { get, keys: keys.filter((key) => get(key).metadata.name === name) }
}

/** GET of a collection. */
export const list: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { request, resource } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const faults = Reading.optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const unacceptable = Respond.unacceptable(exchange)
  if (unacceptable !== undefined) return yield* Effect.fail(unacceptable)
  const { fields, matches } = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const wanted = yield* Effect.fromResult(Reading.version(exchange))
  if (wanted !== undefined && parameter(request, "continue") === undefined) {
    yield* Reading.reached(exchange.core.storage, wanted)
  }
  const single = Reading.isSingle(exchange, fields)
  const planned = Reading.plan(exchange, wanted, single)
  if (Result.isFailure(planned)) return yield* Effect.fail(planned.failure)
  const { from, revision } = planned.success
  const isFresh = !cached(exchange)
  const listing = single && isFresh ? named(planned.success.listing, fields) : planned.success.listing
  const asked = Number(parameter(request, "limit") ?? 0)
  // The watch cache ignores limits at version 0; Events have no watch cache.
  const pages = asked > 0 && !single &&
    (parameter(request, "resourceVersion") !== "0" || resource.collection === "events")
  const limit = pages ? asked : Number.POSITIVE_INFINITY
  const { keys } = listing
  const start = Reading.indexFrom(keys, from)
  const { items, next } = yield* Versions.page(resource, listing, start, limit, matches, isFresh)
  const [custom, selected] = [resource.custom !== undefined, matches !== undefined]
  const metadata = Reading.pageMetadata(exchange, { custom, revision, keys, next, selected })
  return { _tag: "List", items, metadata } as const
})

/** `watch=true` on a collection, or the deprecated watch path. */
export const watch: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, random, request, resource, route } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const faults = Reading.optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const unacceptable = Respond.unacceptable(exchange)
  if (unacceptable !== undefined) return yield* Effect.fail(unacceptable)
  const selecting = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const since = yield* Effect.fromResult(Reading.version(exchange))
  const { fields, matches } = selecting
  const named = fields.find(({ field, operator }) => field === "metadata.name" && operator === "=")?.value
  if (route.name !== "" && fields.length > 0 && named !== route.name) {
    return yield* Effect.fail(
      StatusError.badRequest("fieldSelector metadata.name doesn't match requested name")
    )
  }
  const byName = (object: KubeObject) =>
    object.metadata.name === route.name && (matches === undefined || matches(object))
  const selected = route.name === "" ? matches : byName
  yield* Versions.watchable(resource, core.storage.list(resource.collection))
  const unwatchable = Respond.unwatchable(exchange)
  if (unwatchable !== undefined) return yield* Effect.fail(unwatchable)
  const late = since !== undefined && flag(request, "sendInitialEvents")
    ? yield* Effect.option(Effect.flip(Reading.reached(core.storage, since)))
    : Option.none()
  // A version that is not reached yet is reported as an event of the watch, not as its response.
  if (Option.isSome(late)) {
    return { _tag: "Watch", events: Stream.make({ type: "ERROR" as const, object: late.value.body }) } as const
  }
  const events = core.hub.watch({
    collection: resource.collection,
    ...Versions.selection(resource, selected),
    ...Reading.watching(exchange, since, random),
    apiVersion: apiVersionOf(resource),
    kind: resource.kind
  })
  return { _tag: "Watch", events: Versions.showEvents(resource, events, selected) } as const
})
