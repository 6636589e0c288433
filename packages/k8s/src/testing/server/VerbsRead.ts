/**
 * `get`, `list` and `watch`.
 *
 * A list is always consistent: there is no cache that could lag. Pages after the first show the state at the revision
 * of the first, which their `continue` token carries together with the key to go on from.
 *
 * Source: k8s.io/apiserver/pkg/storage/etcd3/store.go, pkg/storage/continue.go, and for the rules on
 * resourceVersionMatch and sendInitialEvents k8s.io/apimachinery/pkg/apis/meta/internalversion/validation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Exchange from "./Exchange.ts"
import { notFound, storageKey } from "./Exchange.ts"
import * as FieldError from "../schema/FieldError.ts"
import { apiVersionOf, selectable } from "./Registry.ts"
import { flag, parameter } from "../../api/Routing.ts"
import * as Selecting from "../../api/Selecting.ts"
import * as StatusError from "../../api/StatusError.ts"
import type { Listing, Storage } from "../../api/Storage.ts"
import * as Versions from "./Versions.ts"

type Refused = StatusError.StatusError

export const defaults = {
  /** How long a read waits for a resourceVersion that is not reached yet. */
  futureVersion: "3 seconds",
  /** A watch without timeoutSeconds ends after a random time between this and its double. */
  watchMillis: 1_800_000
} as const

/** A resourceVersion parameter: none, or a number. */
const version = (exchange: Exchange.Exchange): Result.Result<number | undefined, Refused> => {
  const text = parameter(exchange.request, "resourceVersion") ?? ""
  if (text === "") return Result.succeed(undefined)
  if (/^\d+$/.test(text)) return Result.succeed(Number(text))
  const { resource, route } = exchange
  const error = `strconv.ParseUint: parsing ${FieldError.quote(text)}: invalid syntax`
  const fault = FieldError.invalid("resourceVersion", text, error)
  // Pages and exact versions do not come from the cache, which has words of its own, nor do Events.
  const paged = Number(parameter(exchange.request, "limit") ?? 0) > 0 ||
    parameter(exchange.request, "resourceVersionMatch") === "Exact"
  const uncached = resource.collection === "events" && route.verb !== "watch"
  if (uncached || (route.verb === "list" && paged)) {
    return Result.fail(StatusError.badRequest(`invalid resource version: ${FieldError.format(fault)}`))
  }
  return Result.fail(
    route.verb === "watch" || route.verb === "get" || route.verb === "list"
      ? StatusError.plain(FieldError.format(fault))
      : StatusError.badRequest(`invalid resource version of ${resource.plural}`)
  )
}

/** Waits until the store has reached a revision, and gives up with 504. */
const reached = (storage: Storage, revision: number): Effect.Effect<void, Refused> =>
  storage.revision >= revision ? Effect.void : Effect.scoped(Effect.gen(function*() {
    const done = yield* Deferred.make<void>()
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        storage.listen((change) => {
          if (change.revision >= revision) Deferred.doneUnsafe(done, Effect.void)
        })
      ),
      (end) => Effect.sync(end)
    )
    const result = yield* Effect.timeoutOption(Deferred.await(done), defaults.futureVersion)
    if (Option.isNone(result)) {
      return yield* Effect.fail(StatusError.tooLargeResourceVersion(String(revision), String(storage.revision)))
    }
  }))

/** GET of an object. */
export const get: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource, route } = exchange
  const wanted = yield* Effect.fromResult(version(exchange))
  if (wanted !== undefined) yield* reached(core.storage, wanted)
  const found = core.storage.get(resource.collection, storageKey(route.namespace, route.name))
  if (found === undefined) return yield* Effect.fail(notFound(exchange))
  return { _tag: "Object", status: 200, object: yield* Versions.show(resource, found, wanted === undefined) } as const
})

/** Where a page goes on: the revision of all pages, and the last key of the page before. */
interface Position {
  readonly revision: number
  readonly after: string
}

const encodeToken = (position: Position): string =>
  btoa(JSON.stringify({ v: "meta.k8s.io/v1", rv: position.revision, start: `${position.after}\u0000` }))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

const decodeToken = (token: string): Result.Result<Position, Refused> => {
  const bad = (why: string) =>
    Result.fail(StatusError.badRequest(`invalid continue token: continue key is not valid: ${why}`))
  const decoded = Result.try(() =>
    JSON.parse(atob(token.replaceAll("-", "+").replaceAll("_", "/"))) as Partial<Record<"v" | "rv" | "start", unknown>>
  )
  if (Result.isFailure(decoded)) return bad("illegal base64 data or malformed JSON")
  const { rv, start, v } = decoded.success ?? {}
  if (v !== "meta.k8s.io/v1") return bad(`server does not recognize this encoded version ${JSON.stringify(v ?? "")}`)
  if (typeof rv !== "number" || rv === 0) return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  return typeof start === "string" && start !== ""
    ? Result.succeed({ revision: rv, after: start.endsWith("\u0000") ? start.slice(0, -1) : start })
    : bad("encoded start key empty (version meta.k8s.io/v1)")
}

/** Rules on options that exclude each other. */
const optionFaults = (exchange: Exchange.Exchange): ReadonlyArray<FieldError.FieldError> => {
  const { request, route } = exchange
  const match = parameter(request, "resourceVersionMatch") ?? ""
  const watch = route.verb === "watch"
  const initial = parameter(request, "sendInitialEvents") !== undefined
  const faults: Array<FieldError.FieldError> = []
  const forbid = (field: string, why: string) => faults.push(FieldError.forbidden(field, why))
  if (watch && initial) {
    if (match === "") {
      forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    } else if (match !== "NotOlderThan") {
      faults.push(FieldError.notSupported("resourceVersionMatch", match, ["NotOlderThan"]))
    }
    return faults
  }
  if (watch) {
    if (match !== "") {
      forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
      )
    }
    return faults
  }
  if (match !== "") faults.push(...matchFaults(exchange, match))
  if (initial) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list")
  return faults
}

/** Rules on what a list may match a resourceVersion by. */
const matchFaults = ({ request }: Exchange.Exchange, match: string): ReadonlyArray<FieldError.FieldError> => {
  const revision = parameter(request, "resourceVersion") ?? ""
  const faults: Array<FieldError.FieldError> = []
  const forbid = (field: string, why: string) => faults.push(FieldError.forbidden(field, why))
  if (revision === "") {
    forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
  }
  if ((parameter(request, "continue") ?? "") !== "") {
    forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    faults.push(FieldError.notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
  } else if (match === "Exact" && revision === "0") {
    forbid("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
  }
  return faults
}

interface Plan {
  readonly listing: Listing
  readonly revision: number
  readonly after: string | undefined
}

const inconsistent =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list."

/**
 * Which snapshot a list shows. The listing must be used before anything else happens. Where the selector leaves but one
 * object, the server reads that one: there are no pages to go on from, and no version but the latest.
 */
const plan = (
  exchange: Exchange.Exchange,
  wanted: number | undefined,
  single: boolean
): Result.Result<Plan, Refused> => {
  const { core: { storage }, request, resource, route } = exchange
  const now = (after?: string): Plan => ({
    listing: storage.list(resource.collection, route.namespace),
    revision: storage.revision,
    after
  })
  const past = (revision: number, after?: string): Plan => ({
    listing: storage.listAt(resource.collection, revision, route.namespace),
    revision,
    after
  })
  const token = parameter(request, "continue") ?? ""
  if (token !== "") {
    if (wanted !== undefined && wanted !== 0) {
      return Result.fail(StatusError.badRequest("specifying resource version is not allowed when using continue"))
    }
    return Result.flatMap(decodeToken(token), ({ after, revision }) =>
      revision < 0
        ? Result.succeed(now(after))
        : revision < storage.compacted
        ? Result.fail(StatusError.expired(inconsistent, encodeToken({ revision: -1, after })))
        : Result.succeed(past(revision, after)))
  }
  const match = parameter(request, "resourceVersionMatch") ?? ""
  // A resourceVersion with a limit has meant exactly that version since before there was a match to say so.
  const exact = match === "Exact" || (match === "" && !single && Number(parameter(request, "limit") ?? 0) > 0)
  if (!exact || wanted === undefined || wanted === 0) return Result.succeed(now())
  return wanted < storage.compacted
    ? Result.fail(StatusError.expired("The resourceVersion for the provided list is too old."))
    : Result.succeed(past(wanted))
}

/** The index of the first key after one, in sorted keys. */
const indexAfter = (keys: ReadonlyArray<string>, after: string | undefined): number => {
  if (after === undefined) return 0
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! <= after) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a list comes from the cache of a real server rather than from etcd. */
const cached = ({ request }: Exchange.Exchange): boolean => {
  const version = parameter(request, "resourceVersion") ?? ""
  return version === "0" || (version !== "" && (parameter(request, "resourceVersionMatch") ?? "") !== "Exact" &&
    Number(parameter(request, "limit") ?? 0) === 0)
}

/** Whether the selector leaves but one object, whose key is known. */
const isSingle = ({ request, resource, route }: Exchange.Exchange, fields: Selecting.Selecting["fields"]): boolean => {
  const exactly = (name: string) =>
    fields.find(({ field, operator }) => field === name && operator === "=")?.value ?? ""
  return exactly("metadata.name") !== "" && (parameter(request, "continue") ?? "") === "" &&
    (resource.scope === "Cluster" || route.namespace !== "" || exactly("metadata.namespace") !== "")
}

/** GET of a collection. */
export const list: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { request, resource } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const faults = optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const { fields, matches } = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const wanted = yield* Effect.fromResult(version(exchange))
  if (wanted !== undefined && parameter(request, "continue") === undefined) {
    yield* reached(exchange.core.storage, wanted)
  }
  const single = isSingle(exchange, fields)
  const planned = plan(exchange, wanted, single)
  if (Result.isFailure(planned)) return yield* Effect.fail(planned.failure)
  const { after, listing, revision } = planned.success
  const asked = Number(parameter(request, "limit") ?? 0)
  // The cache ignores limits from version 0. Events have none.
  const pages = asked > 0 && !single &&
    (parameter(request, "resourceVersion") !== "0" || resource.collection === "events")
  const limit = pages ? asked : Number.POSITIVE_INFINITY
  const { keys } = listing
  const start = indexAfter(keys, after)
  const { items, next } = yield* Versions.page(resource, listing, start, limit, matches, !cached(exchange))
  const left = keys.length - next
  return {
    _tag: "List",
    items,
    metadata: {
      resourceVersion: String(revision),
      ...(left > 0
        ? {
          continue: encodeToken({ revision, after: keys[next - 1]! }),
          ...(matches === undefined ? { remainingItemCount: left } : {})
        }
        : resource.custom === undefined
        ? {}
        : { continue: "" })
    }
  } as const
})

/** `watch=true` on a collection, or the old path prefix. */
export const watch: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, random, request, resource, route } = exchange
  const parsed = yield* Effect.fromResult(Selecting.parse(request))
  const faults = optionFaults(exchange)
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalidOptions("ListOptions", faults))
  const selecting = yield* Effect.fromResult(Selecting.read(selectable(resource), parsed))
  const since = yield* Effect.fromResult(version(exchange))
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
  const initial = flag(request, "sendInitialEvents")
  if (initial && since !== undefined) yield* reached(core.storage, since)
  const seconds = Number(parameter(request, "timeoutSeconds") ?? 0)
  const events = core.hub.watch({
    collection: resource.collection,
    namespace: route.namespace,
    ...Versions.selection(resource, selected),
    // `sendInitialEvents=false` from 0 or nothing means: from now.
    since: initial
      ? undefined
      : since === undefined || since === 0
      ? parameter(request, "sendInitialEvents") === undefined ? undefined : core.storage.revision
      : since,
    markInitialEnd: initial && flag(request, "allowWatchBookmarks"),
    bookmarks: flag(request, "allowWatchBookmarks"),
    timeoutMillis: seconds > 0 ? seconds * 1000 : defaults.watchMillis * (1 + random()),
    apiVersion: apiVersionOf(resource),
    kind: resource.kind
  })
  return { _tag: "Watch", events: Versions.showEvents(resource, events, selected) } as const
})
