/**
 * `Reflector`: keeps a store equal to one selection of one kind on the server, for as long as its scope is open.
 *
 * It lists in pages, swaps the list in as a whole, then watches from the list's resourceVersion with bookmarks. A watch
 * that ends is resumed at once from the last resourceVersion. One that fails is resumed after a delay of its own, or
 * the longer one that the server asked for. Only `Gone` (410) and a resourceVersion that goes backwards lead to a new
 * list. A connection that is silent beyond the idle deadline is abandoned and resumed. The reflector never ends by
 * itself and never gives up; `status` says what is wrong.
 *
 * With `ListBy` set to `Stream` the list is the first events of the watch itself, which saves the server the memory of
 * a whole answer. A server that does not support streaming lists says so, or shows it by a bookmark of another kind:
 * from then on it is asked for pages. A streamed list that fails in another way is followed by a paged one.
 *
 * `ReflectorState` makes the decisions; this module only carries them out.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Ahead from "./internal/Ahead.ts"
import { monotonicMillis } from "./internal/monotonic.ts"
import * as Backoff from "./Backoff.ts"
import type { Client, ListOptions, Page, Selection, WatchOptions } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import { keyString, type KubeObject } from "./KubeObject.ts"
import { begin, defaults, type Input, type Output, step } from "./ReflectorState.ts"
import * as Resource from "./Resource.ts"
import { isInitialEventsEnd, type WatchEvent } from "./WatchEvent.ts"

export { defaults } from "./ReflectorState.ts"

/**
 * How a reflector lists: in pages, which every server supports, or as the first events of a watch (`sendInitialEvents`,
 * Kubernetes 1.32 and later), falling back to pages.
 */
export const ListBy = Context.Reference<"Pages" | "Stream">("@effect-operator/core/Reflector/ListBy", {
  defaultValue: () => "Pages"
})

/** What a reflector is doing, for health checks. */
export type Status =
  | { readonly _tag: "Listing" }
  /** Times in milliseconds since the epoch. */
  | { readonly _tag: "Live"; readonly since: number }
  /** `since` the first of the consecutive failures. */
  | { readonly _tag: "Degraded"; readonly since: number; readonly reason: KubeError.Reason; readonly failures: number }

/** What a reflector feeds. All calls are synchronous, one per list or chunk of events. */
export interface Sink {
  readonly replace: (items: ReadonlyArray<KubeObject>, resourceVersion: string) => void
  readonly apply: (events: ReadonlyArray<WatchEvent>) => void
}

export interface Reflector {
  readonly status: SubscriptionRef.SubscriptionRef<Status>
  /**
   * When the server last sent something, bookmarks included, in milliseconds since the epoch; undefined before that.
   */
  readonly lastEventAt: () => number | undefined
  /** How long ago that was, in milliseconds, by a monotonic clock. */
  readonly quietFor: () => number | undefined
  /** Completes when the first list is in the sink. */
  readonly synced: Effect.Effect<void>
  /** Runs forever and never fails. A defect is a bug and must be supervised. */
  readonly run: Effect.Effect<never>
}

/** A reflector of a selection, from a client into a sink. Nothing happens until `run`. */
export const make = Effect.fnUntraced(function*(
  client: Client,
  resource: Resource.Any,
  selection: Selection,
  sink: Sink
) {
  const status = yield* SubscriptionRef.make<Status>(listing)
  const synced = yield* Deferred.make<void>()
  const raw = Resource.unstructured(resource)
  const clock = yield* Clock.Clock
  let heard: { readonly at: number; readonly moment: number } | undefined
  const hear = (): number => {
    const at = clock.currentTimeMillisUnsafe()
    heard = { at, moment: monotonicMillis(clock) }
    return at
  }
  const reading = { without: [...unread, ...resource.without ?? []], lazily: resource.lazy }

  /** Requests one page of a list; `meaning` turns it into an input. */
  const ask = (options: ListOptions, meaning: (page: Page<KubeObject>, at: number) => Input): Effect.Effect<Input> =>
    client.listPage(raw, { ...selection, ...options }).pipe(
      Effect.timeoutOrElse({
        duration: defaults.listTimeout,
        orElse: () =>
          Effect.fail(KubeError.make({ verb: "list", resource: Resource.qualifiedName(resource) }, unanswered))
      }),
      Effect.result,
      Effect.flatMap((result) =>
        Effect.map(moment, (at): Input =>
          Result.isSuccess(result)
            ? meaning(result.success, at)
            : {
              _tag: "Failed",
              at,
              reason: result.failure.reason,
              ...(result.failure.reason === unanswered ? { late: true } : {})
            })
      )
    )

  /** The response to a page. The next page is requested as soon as its token is known. */
  const page = (token: string | undefined, limit: number, ahead: Ahead.Ahead<Input>): Effect.Effect<Input> =>
    ask({
      limit,
      continue: token,
      reading: { ...reading, onContinue: (next) => ahead.ask(next, page(next, limit, ahead)) }
    }, (page, at) =>
      page.resourceVersion === "" ? { _tag: "Failed", at, reason: unversioned } : { _tag: "Page", page, at })

  const look = ask({ limit: 1, reading }, ({ resourceVersion }, at) => ({ _tag: "Looked", at, resourceVersion }))

  /** One watch until it ends. Every chunk goes to `onEvents` as it arrives, until that returns false. */
  const watch = Effect.fnUntraced(
    function*(
      from: Pick<WatchOptions, "resourceVersion" | "resourceVersionMatch" | "sendInitialEvents">,
      onOpen: Effect.Effect<void>,
      onEvents: (events: ReadonlyArray<WatchEvent>) => Effect.Effect<boolean>
    ) {
      const { max, min } = defaults.watchTimeout
      const timeoutSeconds = yield* Random.nextIntBetween(min, max)
      const started = monotonicMillis(clock)
      let open = false
      let quiet = true
      const opened = Effect.suspend(() => {
        open = true
        return onOpen
      })
      const events = client.watch(raw, {
        ...selection,
        ...from,
        timeoutSeconds,
        onOpen: opened,
        reading
      })
      let heard = monotonicMillis(clock)
      /** Reads until the watch ends, or `onEvents` returns false. */
      const toTheEnd = Effect.scoped(Effect.flatMap(Stream.toPull(events), (pull) => {
        let goOn = true
        return Effect.whileLoop({
          while: () => goOn,
          body: () =>
            Effect.flatMap(pull, (events) => {
              heard = monotonicMillis(clock)
              // A bookmark at the starting point is no sign of life: a server might send it and hang up, again and
              // again.
              if (
                quiet && events.some(({ object, type }) =>
                  type !== "BOOKMARK" || object.metadata.resourceVersion !== from.resourceVersion
                )
              ) {
                quiet = false
              }
              return onEvents(events)
            }),
          step: (answer) => {
            goOn = answer
          }
        })
      })).pipe(Pull.catchDone(() => Effect.void))
      // One timer for the watch, not one for each event: it checks how long ago the last one came.
      const silent = Effect.whileLoop({
        while: () => monotonicMillis(clock) - heard < defaults.idleTimeout,
        body: () => Effect.sleep(heard + defaults.idleTimeout - monotonicMillis(clock)),
        step: () => {}
      })
      const result = yield* Effect.result(
        Effect.raceFirst(Effect.as(toTheEnd, {}), Effect.as(silent, { idle: true } as const))
      )
      const at = monotonicMillis(clock)
      const failed = (reason: KubeError.Reason): Input => ({
        _tag: "Failed",
        at,
        reason,
        ...(open ? {} : { unanswered: true })
      })
      if (Result.isFailure(result)) return failed(result.failure.reason)
      return open ? { _tag: "Ended", at, lasted: at - started, quiet, ...result.success } as const : failed(unanswered)
    }
  )

  const run = Effect.scoped(Effect.gen(function*() {
    const ahead = yield* Ahead.make<Input>()
    let [state, output] = begin(yield* ListBy)
    const take = (input: Input): Output => {
      ;[state, output] = step(state, input)
      if (output.replace !== undefined) {
        sink.replace(output.replace.items, output.replace.resourceVersion)
        Deferred.doneUnsafe(synced, Effect.void)
      }
      if (output.apply !== undefined) sink.apply(output.apply)
      return output
    }
    // A degraded reflector stays so until it is live.
    const showListing = Effect.flatMap(
      SubscriptionRef.get(status),
      (now) => now._tag === "Live" ? SubscriptionRef.set(status, listing) : Effect.void
    )
    const goLive = Effect.suspend(() => SubscriptionRef.set(status, { _tag: "Live", since: hear() }))
    const follow = (events: ReadonlyArray<WatchEvent>): Effect.Effect<boolean> => {
      hear()
      return Effect.succeed(take({ _tag: "Events", events }).next._tag === "Read")
    }
    while (true) {
      const { next }: Output = output
      switch (next._tag) {
        case "List": {
          yield* showListing
          const limit = next.whole ? 0 : next.limit ?? defaults.pageSize
          take(yield* ahead.answer(next.continue, page(next.continue, limit, ahead)))
          break
        }
        case "Stream": {
          yield* showListing
          const initial = new Map<string, KubeObject>()
          const from = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const
          const end = yield* watch(from, Effect.void, (events) => {
            if (state._tag === "Watching") return follow(events)
            const found = collect(initial, events)
            if (found === undefined) return Effect.succeed(true)
            const at = monotonicMillis(clock)
            if (found === "unmarked") {
              take({ _tag: "Failed", at, reason: unmarked })
              return Effect.succeed(false)
            }
            const items = [...initial.values()]
            take({ _tag: "Page", page: { items, resourceVersion: found.resourceVersion }, at, open: true })
            return Effect.andThen(goLive, found.rest.length === 0 ? Effect.succeed(true) : follow(found.rest))
          })
          if (output.next._tag === "Read" || output.next === next) take(end)
          break
        }
        case "Watch": {
          const end = yield* watch({ resourceVersion: next.resourceVersion }, goLive, follow)
          if (output.next._tag === "Read" || output.next === next) take(end)
          break
        }
        case "Look": {
          take(yield* look)
          break
        }
        case "Pause": {
          const at = yield* Clock.currentTimeMillis
          yield* SubscriptionRef.update(status, (now): Status => ({
            _tag: "Degraded",
            since: now._tag === "Degraded" ? now.since : at,
            reason: next.reason,
            failures: next.failures
          }))
          const { message, _tag } = next.reason
          const failure = `${Resource.qualifiedName(resource)}: ${_tag}: ${message}${
            hint(next.reason, Resource.qualifiedName(resource))
          }`
          yield* Effect.logWarning(`${failure}; retrying (failures in a row: ${next.failures})`)
          const delay = Backoff.delay(defaults.backoff, next.failures, yield* Random.next)
          yield* Effect.sleep(Math.max(delay, asked(next.reason)))
          take({ _tag: "Resumed", at: yield* moment })
          break
        }
        case "Read":
          return yield* Effect.die(new Error(`Reflector: nothing to read in state ${state._tag}`))
      }
    }
  })).pipe(Effect.annotateLogs({ resource: resource.id }))

  return {
    status,
    lastEventAt: () => heard?.at,
    quietFor: () => heard === undefined ? undefined : monotonicMillis(clock) - heard.moment,
    synced: Deferred.await(synced),
    run
  } satisfies Reflector
})

/** The current monotonic time, for the state. */
const moment = Effect.map(Clock.Clock, monotonicMillis)

/** No cache holds these: see `Store`. */
const unread = ["metadata.managedFields"]

/**
 * Collects events of a streamed list. Undefined until its end, then the list's resourceVersion and the events after it;
 * `unmarked` if a bookmark shows that the end will not be marked.
 */
const collect = (
  initial: Map<string, KubeObject>,
  events: ReadonlyArray<WatchEvent>
): { readonly resourceVersion: string; readonly rest: ReadonlyArray<WatchEvent> } | "unmarked" | undefined => {
  for (const [index, event] of events.entries()) {
    if (event.type === "BOOKMARK") {
      if (!isInitialEventsEnd(event)) return "unmarked"
      return { resourceVersion: event.object.metadata.resourceVersion, rest: events.slice(index + 1) }
    }
    if (event.type === "DELETED") initial.delete(keyString(event.object))
    else initial.set(keyString(event.object), event.object)
  }
  return undefined
}

/** How long the server asked to wait, in milliseconds. */
const asked = (reason: KubeError.Reason): number =>
  "retryAfter" in reason && reason.retryAfter !== undefined
    ? Math.min(reason.retryAfter, defaults.longestRetryAfter)
    : 0

/** The most likely remedy for a failure with a kind, given by plural and group. */
export const hint = ({ _tag }: KubeError.Reason, kind: string): string => {
  switch (_tag) {
    case "NotFound":
      return isBuiltIn(kind)
        ? " (is the server address that of an API server, and does it serve this version?)"
        : " (is its CustomResourceDefinition installed?)"
    case "Forbidden":
      return " (does the operator's role allow list and watch?)"
    case "Unauthorized":
      return " (have the operator's credentials expired, or are they for another cluster?)"
    default:
      return ""
  }
}

/** Whether the group is of Kubernetes itself: `pods`, `deployments.apps`, `leases.coordination.k8s.io`. */
const isBuiltIn = (kind: string): boolean => /^[^.]+(\.[^.]+)?$/.test(kind) || builtIn.test(kind)

/** Enumerated, as custom kinds have such groups, too: `gateway.networking.k8s.io`, `snapshot.storage.k8s.io`. */
const builtIn = new RegExp(
  "^[^.]+\\.(admissionregistration|apiextensions|apiregistration|authentication|authorization|certificates|coordination|" +
    "discovery|events|(flowcontrol|internal)\\.apiserver|networking|node|rbac\\.authorization|resource|scheduling|storage|" +
    "storagemigration)\\.k8s\\.io$"
)

const listing: Status = { _tag: "Listing" }

const unanswered: KubeError.Reason = new KubeError.Transport({
  message: "the server did not answer the request in time"
})

const unversioned: KubeError.Reason = new KubeError.Decode({
  message: "the server lists objects without a resourceVersion, so they cannot be watched: read them with the client",
  issues: []
})

/** A server that does not know the parameter sends the objects all the same, but never marks the end. */
const unmarked: KubeError.Reason = new KubeError.BadRequest({
  message: "the server does not mark the end of a streamed list",
  code: 400
})
