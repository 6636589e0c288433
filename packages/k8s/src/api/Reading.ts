/**
 * `Reading`: the parameters of `list` and `watch`: which version, which page, and which options exclude each other.
 *
 * All pages show the state at the revision of the first. The `continue` token carries that revision together with the
 * key to continue from.
 *
 * Source: k8s.io/apiserver/pkg/storage/etcd3/store.go, and for the rules on resourceVersionMatch and sendInitialEvents
 * k8s.io/apimachinery/pkg/apis/meta/internalversion/validation.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as ContinueToken from "./ContinueToken.ts"
import * as FieldError from "../schema/FieldError.ts"
import { flag, parameter, type ResourceRoute } from "./Routing.ts"
import type * as Selecting from "./Selecting.ts"
import * as StatusError from "./StatusError.ts"
import type { Listing, Storage } from "./Storage.ts"
import type { WatchOptions } from "./WatchHub.ts"

type Refused = StatusError.StatusError

/** A read request. */
export interface Asked {
  readonly core: { readonly storage: Storage }
  readonly request: Request
  readonly route: ResourceRoute
  readonly resource: {
    readonly collection: string
    readonly plural: string
    readonly scope: "Namespaced" | "Cluster"
  }
}

export const defaults = {
  /** How long a read waits for a resourceVersion that is not reached yet. */
  futureVersion: "3 seconds",
  /** A watch without timeoutSeconds ends after a random time between this and twice this, in milliseconds. */
  watchMillis: 1_800_000
} as const

/** Refuses `export`, a removed option that left out what the server fills in. */
export const exportFault = ({ request }: Pick<Asked, "request">): Refused | undefined =>
  flag(request, "export")
    ? StatusError.badRequest("the export parameter, deprecated since v1.14, is no longer supported")
    : undefined

const versionWithToken = StatusError.badRequest("specifying resource version is not allowed when using continue")

/** The resourceVersion parameter: absent, or a number. */
export const version = (exchange: Asked): Result.Result<number | undefined, Refused> => {
  const text = parameter(exchange.request, "resourceVersion") ?? ""
  if (text === "") return Result.succeed(undefined)
  const number = /^\d+$/.test(text)
  if (number && BigInt(text) < 2n ** 64n) return Result.succeed(Number(text))
  const { request, resource, route } = exchange
  const token = parameter(request, "continue") ?? ""
  // The token is checked first. It excludes a resourceVersion, whether or not that is valid.
  if (token !== "" && (route.verb === "list" || route.verb === "deletecollection")) {
    return Result.flatMap(ContinueToken.decode(token), () => Result.fail(versionWithToken))
  }
  const error = `strconv.ParseUint: parsing ${FieldError.quote(text)}: ${
    number ? "value out of range" : "invalid syntax"
  }`
  const fault = FieldError.invalid("resourceVersion", text, error)
  // A watch, and a get of anything but Events, is answered by the watch cache, which words this differently. Lists are
  // checked before.
  const cached = route.verb === "watch" || (route.verb === "get" && resource.collection !== "events")
  return Result.fail(
    cached
      ? StatusError.plain(FieldError.format(fault))
      : StatusError.badRequest(`invalid resource version: ${FieldError.format(fault)}`)
  )
}

/** Waits until the store has reached a revision; fails with 504 after a while. */
export const reached = (storage: Storage, revision: number): Effect.Effect<void, Refused> =>
  storage.revision >= revision ? Effect.void : Effect.scoped(Effect.gen(function*() {
    const done = yield* Deferred.make<void>()
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const look = () => {
          if (storage.revision >= revision) Deferred.doneUnsafe(done, Effect.void)
        }
        const end = storage.listen(look)
        // The revision may have been reached in the meantime.
        look()
        return end
      }),
      (end) => Effect.sync(end)
    )
    const result = yield* Effect.timeoutOption(Deferred.await(done), defaults.futureVersion)
    if (Option.isNone(result)) {
      return yield* Effect.fail(StatusError.tooLargeResourceVersion(String(revision), String(storage.revision)))
    }
  }))

const continuedFaults = (request: Request): ReadonlyArray<FieldError.FieldError> =>
  (parameter(request, "continue") ?? "") === ""
    ? []
    : [FieldError.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")]

/**
 * Whether a watch starts with the existing objects and marks their end. Without `sendInitialEvents` it depends on where
 * the watch starts.
 */
const isToldAll = (request: Request): boolean =>
  parameter(request, "sendInitialEvents") === undefined
    ? (parameter(request, "resourceVersionMatch") ?? "") === "" &&
      ["", "0"].includes(parameter(request, "resourceVersion") ?? "")
    : flag(request, "sendInitialEvents")

/** The rules on options that exclude each other. */
export const optionFaults = (exchange: Asked): ReadonlyArray<FieldError.FieldError> => {
  const { request, route } = exchange
  const match = parameter(request, "resourceVersionMatch") ?? ""
  const watch = route.verb === "watch"
  const initial = parameter(request, "sendInitialEvents") !== undefined
  const faults: Array<FieldError.FieldError> = []
  const forbid = (field: string, why: string) => faults.push(FieldError.forbidden(field, why))
  if (watch) {
    if (initial && match !== "NotOlderThan") {
      forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    }
    if (match !== "" && !initial) {
      forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
      )
    }
    if (match !== "" && match !== "NotOlderThan") {
      faults.push(FieldError.notSupported("resourceVersionMatch", match, ["NotOlderThan"]))
    }
    return match === "" && !isToldAll(request) ? faults : [...faults, ...continuedFaults(request)]
  }
  if (match !== "") faults.push(...matchFaults(exchange, match))
  if (initial) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list")
  return faults
}

/** The rules on `resourceVersionMatch` of a list. */
const matchFaults = ({ request }: Asked, match: string): ReadonlyArray<FieldError.FieldError> => {
  const revision = parameter(request, "resourceVersion") ?? ""
  const faults: Array<FieldError.FieldError> = []
  const forbid = (field: string, why: string) => faults.push(FieldError.forbidden(field, why))
  if (revision === "") {
    forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
  }
  faults.push(...continuedFaults(request))
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
  /** The key that the page starts at, if any. */
  readonly from: string | undefined
}

const inconsistent =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
  "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. " +
  "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or " +
  "deleted between the time the first chunk was returned and now may show up in the list."

/**
 * The snapshot that a list shows. The listing must be used synchronously. If the selector leaves only one object, the
 * server reads that object: without pages, and only in the latest version. A list with a limit is read in pages.
 */
export const plan = (
  exchange: Asked,
  wanted: number | undefined,
  single: boolean,
  paged = Number(parameter(exchange.request, "limit") ?? 0) > 0
): Result.Result<Plan, Refused> => {
  const { core: { storage }, request, resource, route } = exchange
  const now = (from?: string): Plan => ({
    listing: storage.list(resource.collection, route.namespace),
    revision: storage.revision,
    from
  })
  const past = (revision: number, from?: string): Plan => ({
    listing: storage.listAt(resource.collection, revision, route.namespace),
    revision,
    from
  })
  const token = parameter(request, "continue") ?? ""
  if (token !== "") {
    return Result.flatMap(ContinueToken.decode(token), ({ revision, start }) => {
      const from = prefixOf(route) + start
      return wanted !== undefined && wanted !== 0
        ? Result.fail(versionWithToken)
        : revision < 0
        ? Result.succeed(now(from))
        : revision < storage.compacted
        ? Result.fail(StatusError.expired(inconsistent, ContinueToken.encode({ revision: -1, start })))
        : Result.succeed(past(revision, from))
    })
  }
  const match = parameter(request, "resourceVersionMatch") ?? ""
  // A resourceVersion with a limit has meant that exact version since before resourceVersionMatch existed.
  const exact = match === "Exact" || (match === "" && !single && paged)
  if (!exact || wanted === undefined || wanted === 0) return Result.succeed(now())
  return wanted < storage.compacted
    ? Result.fail(StatusError.expired("The resourceVersion for the provided list is too old."))
    : Result.succeed(past(wanted))
}

/** The prefix of a list's keys: for a namespace its name, which tokens do not contain. */
const prefixOf = ({ namespace }: ResourceRoute): string => namespace === "" ? "" : `${namespace}/`

/** The token for the pages after a key. */
export const tokenAfter = ({ route }: Pick<Asked, "route">, revision: number, key: string): string =>
  ContinueToken.encode(ContinueToken.after(revision, key.slice(prefixOf(route).length)))

/**
 * The metadata of a page that ends before the key at an index. The number of remaining items is known only without
 * selectors.
 */
export const pageMetadata = (
  asked: Asked,
  { custom, keys, next, revision, selected }: {
    /** The metadata of lists of custom objects always has `continue`, even if empty. */
    readonly custom: boolean
    readonly revision: number
    readonly keys: ReadonlyArray<string>
    readonly next: number
    readonly selected: boolean
  }
) => {
  const left = keys.length - next
  return {
    resourceVersion: String(revision),
    ...(left > 0
      ? { continue: tokenAfter(asked, revision, keys[next - 1]!), ...(selected ? {} : { remainingItemCount: left }) }
      : custom
      ? { continue: "" }
      : {})
  }
}

/** The index of the first key that is not less than `from`, in sorted keys. */
export const indexFrom = (keys: ReadonlyArray<string>, from: string | undefined): number => {
  if (from === undefined) return 0
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < from) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether the selector leaves only one object, whose key is known. */
export const isSingle = ({ request, resource, route }: Asked, fields: Selecting.Selecting["fields"]): boolean => {
  const exactly = (name: string) =>
    fields.find(({ field, operator }) => field === name && operator === "=")?.value ?? ""
  return exactly("metadata.name") !== "" && (parameter(request, "continue") ?? "") === "" &&
    (resource.scope === "Cluster" || route.namespace !== "" || exactly("metadata.namespace") !== "")
}

/** Where a watch starts, how long it lasts, and which bookmarks it gets. */
export const watching = (
  { core, request, route }: Asked,
  since: number | undefined,
  random: () => number
): Pick<WatchOptions, "namespace" | "since" | "markInitialEnd" | "bookmarks" | "timeoutMillis"> => {
  const initial = isToldAll(request)
  const bookmarks = flag(request, "allowWatchBookmarks")
  const seconds = Number(parameter(request, "timeoutSeconds") ?? 0)
  return {
    namespace: route.namespace,
    // `sendInitialEvents=false` from 0 or without a version means: from now on.
    since: initial
      ? undefined
      : since === undefined || since === 0
      ? parameter(request, "sendInitialEvents") === undefined ? undefined : core.storage.revision
      : since,
    markInitialEnd: initial && bookmarks,
    bookmarks,
    // A negative timeout ends the watch at once.
    timeoutMillis: seconds === 0 ? defaults.watchMillis * (1 + random()) : Math.max(0, seconds * 1000)
  }
}
