/**
 * `Reflector`: keeps a store equal to one selection of one kind on the server, for as long as its scope is open.
 *
 * It lists in pages, swaps the list in whole, then watches from the list's resourceVersion with bookmarks. A watch that
 * ends is resumed at once from the last resourceVersion; one that fails is resumed after a delay of its own, or the
 * longer one that the server asked for; only `Gone` (410) and a resourceVersion that goes backwards lead to a new list.
 * A connection silent beyond the idle deadline is given up and resumed. It never ends by itself and never gives up: what
 * is wrong stands in `status`.
 *
 * A server that was restored from a backup, or another one at the same address, shows nothing to who resumes a watch at
 * a resourceVersion that it has not reached. So a watch that follows a broken one, and comes to its end without having
 * shown anything, is followed by a look at where the server is: one object is asked for.
 *
 * With `ListBy` set to `Stream` the list comes as the first events of the watch itself, which spares the server the
 * memory of a whole answer. A server that knows no streaming lists says so, or shows it by a bookmark of another kind:
 * it is asked for pages from then on. A streamed list that fails otherwise is followed by a paged one.
 *
 * The decisions are the pure `step` below; the shell only performs its commands.
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
import { compareResourceVersions, keyString, type KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import { isInitialEventsEnd, type WatchEvent } from "./WatchEvent.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** Delays after a failure of list or watch, in milliseconds; as in client-go. */
  backoff: { initial: 800, factor: 2, max: 30_000, jitter: 1 },
  /** A watch healthy for so long, in milliseconds, forgets earlier failures. */
  resetAfter: 120_000,
  /** The server ends a watch after a random time in this range, in seconds. */
  watchTimeout: { min: 300, max: 600 },
  /**
   * A watch without an event or bookmark for so long, in milliseconds, is given up and resumed. Bookmarks come about
   * once a minute; a server may send none for a kind that never changes, so silence alone is no failure.
   */
  idleTimeout: 120_000,
  /** A watch that ended sooner than this, in milliseconds, and without an event, counts as failed. */
  shortestWatch: 1_000,
  pageSize: 500,
  /** Pages that are not answered in time are asked for half as large, down to this. */
  smallestPage: 25,
  /** A page not answered for so long, in milliseconds, counts as failed: a server gives up after a minute itself. */
  listTimeout: 90_000,
  /** A server that asks to be left alone (`Retry-After`) is, but no longer than this, in milliseconds. */
  longestRetryAfter: 300_000
} as const

/**
 * How a reflector lists: in pages, which every server knows, or as the first events of a watch (`sendInitialEvents`,
 * Kubernetes 1.32 and later), with pages where that is not to be had.
 */
export const ListBy = Context.Reference<"Pages" | "Stream">("@effect-operator/core/Reflector/ListBy", {
  defaultValue: () => "Pages"
})

/** What a reflector is doing, for health checks. */
export type Status =
  | { readonly _tag: "Listing" }
  /** Times in milliseconds since the epoch. */
  | { readonly _tag: "Live"; readonly since: number }
  /** `since` the first failure of the row. */
  | { readonly _tag: "Degraded"; readonly since: number; readonly reason: KubeError.Reason; readonly failures: number }

// --- the state machine ----------------------------------------------------------------------------------------------

/** How the next list is to be had: `PagesOnce` after a stream that failed, `Pages` for good if there are no streams. */
export type Lists = "Pages" | "PagesOnce" | "Stream"

interface Common {
  readonly failures: number
  readonly lists: Lists
  /** Whether a watch was too old to resume and led to a list at once, since the last healthy period. */
  readonly relisted: boolean
  /** Of pages, where a server was too slow for what is usual. */
  readonly pageSize?: number
  /** A connection broke, and nothing has come since: the server may be another one, which is behind. */
  readonly doubted?: true
}

/** Where the reflector stands. */
export type State =
  /** The items of each page so far; `whole` if all is asked for in one. */
  | Common & {
    readonly _tag: "Listing"
    readonly pages: ReadonlyArray<ReadonlyArray<KubeObject>>
    readonly whole?: true
  }
  /** `since` the last failure or list: watches that end in time are one. */
  | Common & { readonly _tag: "Watching"; readonly resourceVersion: string; readonly since: number }
  /** Where the server is has been asked for. */
  | Common & { readonly _tag: "Looking"; readonly resourceVersion: string; readonly since: number }
  /** `resume` is what follows. */
  | Common & { readonly _tag: "Pausing"; readonly resume: { readonly resourceVersion: string } | "list" }

/** What happened; `at` in milliseconds. */
export type Input =
  /** `open` if the watch that brought the list goes on. */
  | { readonly _tag: "Page"; readonly page: Page<KubeObject>; readonly at: number; readonly open?: true }
  | { readonly _tag: "Events"; readonly events: ReadonlyArray<WatchEvent>; readonly at: number }
  /**
   * A watch came to its end after `lasted` milliseconds, and was quiet if it brought nothing. `idle` if it was given up,
   * and not ended by the server.
   */
  | {
    readonly _tag: "Ended"
    readonly at: number
    readonly lasted: number
    readonly quiet: boolean
    readonly idle?: true
  }
  /** The resourceVersion that the server is at. */
  | { readonly _tag: "Looked"; readonly at: number; readonly resourceVersion: string }
  /** `unanswered` if there was no watch at all: waiting for one is no health. `late` if a page was not waited for longer. */
  | {
    readonly _tag: "Failed"
    readonly at: number
    readonly reason: KubeError.Reason
    readonly unanswered?: true
    readonly late?: true
  }
  | { readonly _tag: "Resumed"; readonly at: number }

/** What to do next: exactly one of list, stream, watch, look, pause, or read on; and what to hand to the store first. */
export interface Output {
  readonly replace?: { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string }
  readonly apply?: ReadonlyArray<WatchEvent>
  readonly next:
    /** `limit` where pages are to be smaller than usual. */
    | { readonly _tag: "List"; readonly continue?: string; readonly limit?: number; readonly whole?: true }
    | { readonly _tag: "Stream" }
    | { readonly _tag: "Watch"; readonly resourceVersion: string }
    | { readonly _tag: "Look" }
    | { readonly _tag: "Pause"; readonly failures: number; readonly reason: KubeError.Reason }
    | { readonly _tag: "Read" }
}

/** What is known beyond a list or a watch. */
const lasting = ({ failures, lists, pageSize, relisted }: Common): Common =>
  pageSize === undefined ? { failures, lists, relisted } : { failures, lists, pageSize, relisted }

const limitOf = ({ pageSize }: Common) => pageSize === undefined ? {} : { limit: pageSize }

/** A list from its beginning. */
const list = (state: Common): readonly [State, Output] => [
  { ...lasting(state), _tag: "Listing", pages: [] },
  { next: state.lists === "Stream" ? { _tag: "Stream" } : { _tag: "List", ...limitOf(state) } }
]

/** Where a reflector begins, and with what. */
export const begin = (by: "Pages" | "Stream" = "Pages"): readonly [State, Output] =>
  list({ failures: 0, lists: by, relisted: false })

/** The next state and what to do. Total: an input that does not fit the state changes nothing. */
export const step = (state: State, input: Input): readonly [State, Output] => {
  switch (input._tag) {
    case "Page": {
      if (state._tag !== "Listing") return [state, read]
      const { page } = input
      const pages = [...state.pages, page.items]
      if (page.continue !== undefined) {
        return [{ ...state, pages }, { next: { _tag: "List", continue: page.continue, ...limitOf(state) } }]
      }
      const { resourceVersion } = page
      const lists = state.lists === "PagesOnce" ? "Stream" : state.lists
      return [
        { ...lasting({ ...state, lists }), _tag: "Watching", resourceVersion, since: input.at },
        {
          replace: { items: pages.flat(), resourceVersion },
          next: input.open ? read.next : { _tag: "Watch", resourceVersion }
        }
      ]
    }
    case "Events": {
      if (state._tag !== "Watching") return [state, read]
      let resourceVersion = state.resourceVersion
      for (const { object: { metadata } } of input.events) {
        if (compareResourceVersions(metadata.resourceVersion, resourceVersion) < 0) {
          return pause(state, "list", regression(metadata.resourceVersion, resourceVersion))
        }
        resourceVersion = metadata.resourceVersion
      }
      return [{ ...certain(state), resourceVersion }, { apply: input.events, next: { _tag: "Read" } }]
    }
    case "Ended": {
      if (state._tag === "Listing") return step(state, { _tag: "Failed", at: input.at, reason: unfinished })
      if (state._tag !== "Watching") return [state, read]
      const { resourceVersion } = state
      if (input.quiet && input.lasted < defaults.shortestWatch) {
        return pause(state, { resourceVersion }, tooShort)
      }
      const common = { ...state, ...rested(state, input.at) }
      if (state.doubted) return [{ ...common, _tag: "Looking" }, { next: { _tag: "Look" } }]
      // A server that stops ends its watches in good order, too.
      const early = !input.idle && input.lasted < defaults.watchTimeout.min * 1_000
      return [early ? { ...common, doubted: true } : common, { next: { _tag: "Watch", resourceVersion } }]
    }
    case "Looked": {
      if (state._tag !== "Looking") return [state, read]
      const { resourceVersion } = state
      return compareResourceVersions(input.resourceVersion, resourceVersion) < 0
        ? pause(state, "list", regression(input.resourceVersion, resourceVersion))
        : [{ ...certain(state), _tag: "Watching" }, { next: { _tag: "Watch", resourceVersion } }]
    }
    case "Failed": {
      if (state._tag === "Pausing") return [state, read]
      const { reason } = input
      if (state._tag === "Listing") {
        if (state.lists === "Stream") {
          return noStreams.has(reason._tag)
            ? list({ ...state, lists: "Pages" })
            : pause({ ...state, lists: "PagesOnce" }, "list", reason)
        }
        // A list that outlives its continue token would do so again: it is asked for in one piece, once.
        if (reason._tag === "Gone" && state.pages.length > 0) {
          return [{ ...state, pages: [], whole: true }, { next: { _tag: "List", whole: true } }]
        }
        const slow = input.late === true || reason._tag === "Timeout"
        const half = Math.max(defaults.smallestPage, Math.floor((state.pageSize ?? defaults.pageSize) / 2))
        return pause(slow ? { ...state, pageSize: half } : state, "list", reason)
      }
      const common = input.unanswered || state._tag === "Looking" ? state : { ...state, ...rested(state, input.at) }
      if (reason._tag !== "Gone") return pause(common, { resourceVersion: state.resourceVersion }, reason)
      // Too old to resume is an ordinary end of a watch: list at once, unless it keeps happening.
      return common.relisted ? pause(common, "list", reason) : list({ ...common, relisted: true })
    }
    case "Resumed": {
      if (state._tag !== "Pausing") return [state, read]
      if (state.resume === "list") return list(state)
      const { resume: { resourceVersion } } = state
      return [
        { ...lasting(state), _tag: "Watching", resourceVersion, since: input.at, doubted: true },
        { next: { _tag: "Watch", resourceVersion } }
      ]
    }
  }
}

/** How a server refuses parameters that it does not know, or will not have together. */
const noStreams: ReadonlySet<KubeError.Reason["_tag"]> = new Set(["BadRequest", "Invalid"])

/** What is most likely to be done about a failure. */
export const hints: Partial<Record<KubeError.Reason["_tag"], string>> = {
  NotFound: " (is its CustomResourceDefinition installed?)",
  Forbidden: " (does the operator's role allow list and watch?)"
}

const listing: Status = { _tag: "Listing" }

const read: Output = { next: { _tag: "Read" } }

const pause = (
  state: Common,
  resume: { readonly resourceVersion: string } | "list",
  reason: KubeError.Reason
): readonly [State, Output] => {
  const failures = state.failures + 1
  return [
    { ...lasting({ ...state, failures }), _tag: "Pausing", resume },
    { next: { _tag: "Pause", failures, reason } }
  ]
}

/** The same, known to have come from a server that is not behind. */
const certain = <S extends Common>(state: S): Omit<S, "doubted"> => {
  const { doubted: _, ...rest } = state
  return rest
}

/** What a healthy period makes of earlier failures: nothing. */
const rested = (state: Extract<State, { _tag: "Watching" }>, at: number): Pick<Common, "failures" | "relisted"> =>
  at - state.since >= defaults.resetAfter ? { failures: 0, relisted: false } : state

const regression = (got: string, had: string): KubeError.Reason =>
  new KubeError.Transport({
    message: `the server's resourceVersion went back from ${had} to ${got}: another server, or a restored backup`
  })

const unanswered: KubeError.Reason = new KubeError.Transport({
  message: "the server did not answer the request in time"
})

const tooShort: KubeError.Reason = new KubeError.Transport({
  message: "the watch ended at once and without an event"
})

const unfinished: KubeError.Reason = new KubeError.Transport({
  message: "the streamed list ended before it was complete"
})

/** A server that does not know what it was asked sends the objects all the same, but never marks the last of them. */
const unmarked: KubeError.Reason = new KubeError.BadRequest({
  message: "the server does not mark the end of a streamed list",
  code: 400
})

// --- the shell ------------------------------------------------------------------------------------------------------

/** What a reflector feeds: everything synchronous, one call per list or chunk of events. */
export interface Sink {
  readonly replace: (items: ReadonlyArray<KubeObject>, resourceVersion: string) => void
  readonly apply: (events: ReadonlyArray<WatchEvent>) => void
}

export interface Reflector {
  readonly status: SubscriptionRef.SubscriptionRef<Status>
  /** When the server sent something last, be it a bookmark, in milliseconds since the epoch; undefined before. */
  readonly lastEventAt: () => number | undefined
  /** Completes when the first list is in the sink. */
  readonly synced: Effect.Effect<void>
  /** Runs for ever; fails never. A defect is a bug and must be supervised. */
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
  let lastEventAt: number | undefined
  const reading = { without: [...unread, ...resource.without ?? []], lazily: resource.lazy }

  /** One page of a list, and what it means. */
  const ask = (options: ListOptions, meaning: (page: Page<KubeObject>, at: number) => Input): Effect.Effect<Input> =>
    client.listPage(raw, { ...selection, ...options }).pipe(
      Effect.timeoutOrElse({
        duration: defaults.listTimeout,
        orElse: () =>
          Effect.fail(KubeError.make({ verb: "list", resource: Resource.qualifiedName(resource) }, unanswered))
      }),
      Effect.result,
      Effect.flatMap((result) =>
        Effect.map(Clock.currentTimeMillis, (at): Input =>
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

  /** The answer to a page; the one after it is asked for as soon as its token is known. */
  const page = (token: string | undefined, limit: number, ahead: Ahead.Ahead<Input>): Effect.Effect<Input> =>
    ask({
      limit,
      continue: token,
      reading: { ...reading, onContinue: (next) => ahead.ask(next, page(next, limit, ahead)) }
    }, (page, at) => ({ _tag: "Page", page, at }))

  const look = ask({ limit: 1, reading }, ({ resourceVersion }, at) => ({ _tag: "Looked", at, resourceVersion }))

  /** One watch, to its end; every chunk goes to `onEvents` as it comes, until that says no. */
  const watch = Effect.fnUntraced(
    function*(
      from: Pick<WatchOptions, "resourceVersion" | "resourceVersionMatch" | "sendInitialEvents">,
      onOpen: Effect.Effect<void>,
      onEvents: (events: ReadonlyArray<WatchEvent>, at: number) => Effect.Effect<boolean>
    ) {
      const { max, min } = defaults.watchTimeout
      const timeoutSeconds = yield* Random.nextIntBetween(min, max)
      const clock = yield* Clock.Clock
      const started = clock.currentTimeMillisUnsafe()
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
      /** Reads on until the watch ends, or `onEvents` says no. */
      const toTheEnd = Effect.scoped(Effect.flatMap(Stream.toPull(events), (pull) => {
        let goOn = true
        return Effect.whileLoop({
          while: () => goOn,
          body: () =>
            Effect.flatMap(pull, (events) => {
              heard = monotonicMillis(clock)
              // A bookmark of where the watch began is no sign of life: a server might send it and hang up, for ever.
              if (
                quiet && events.some(({ object, type }) =>
                  type !== "BOOKMARK" || object.metadata.resourceVersion !== from.resourceVersion
                )
              ) {
                quiet = false
              }
              return onEvents(events, clock.currentTimeMillisUnsafe())
            }),
          step: (answer) => {
            goOn = answer
          }
        })
      })).pipe(Pull.catchDone(() => Effect.void))
      // One timer for the watch, not one for each event: it looks how long ago the last one came.
      const silent = Effect.whileLoop({
        while: () => monotonicMillis(clock) - heard < defaults.idleTimeout,
        body: () => Effect.sleep(heard + defaults.idleTimeout - monotonicMillis(clock)),
        step: () => {}
      })
      const result = yield* Effect.result(
        Effect.raceFirst(Effect.as(toTheEnd, {}), Effect.as(silent, { idle: true } as const))
      )
      const at = yield* Clock.currentTimeMillis
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
    // What is degraded stays so until it is live.
    const showListing = Effect.flatMap(
      SubscriptionRef.get(status),
      (now) => now._tag === "Live" ? SubscriptionRef.set(status, listing) : Effect.void
    )
    const goLive = (at: number) => {
      lastEventAt = at
      return SubscriptionRef.set(status, { _tag: "Live", since: at })
    }
    const follow = (events: ReadonlyArray<WatchEvent>, at: number): Effect.Effect<boolean> => {
      lastEventAt = at
      return Effect.succeed(take({ _tag: "Events", events, at }).next._tag === "Read")
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
          const end = yield* watch(from, Effect.void, (events, at) => {
            if (state._tag === "Watching") return follow(events, at)
            const found = collect(initial, events)
            if (found === undefined) return Effect.succeed(true)
            if (found === "unmarked") {
              take({ _tag: "Failed", at, reason: unmarked })
              return Effect.succeed(false)
            }
            const items = [...initial.values()]
            take({ _tag: "Page", page: { items, resourceVersion: found.resourceVersion }, at, open: true })
            return Effect.andThen(goLive(at), found.rest.length === 0 ? Effect.succeed(true) : follow(found.rest, at))
          })
          if (output.next._tag === "Read" || output.next === next) take(end)
          break
        }
        case "Watch": {
          const onOpen = Effect.flatMap(Clock.currentTimeMillis, goLive)
          const end = yield* watch({ resourceVersion: next.resourceVersion }, onOpen, follow)
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
          const failure = `${Resource.qualifiedName(resource)}: ${_tag}: ${message}${hints[_tag] ?? ""}`
          yield* Effect.logWarning(`${failure}; trying again (${next.failures})`)
          const delay = Backoff.delay(defaults.backoff, next.failures, yield* Random.next)
          yield* Effect.sleep(Math.max(delay, asked(next.reason)))
          take({ _tag: "Resumed", at: yield* Clock.currentTimeMillis })
          break
        }
        case "Read":
          return yield* Effect.die(new Error(`Reflector: nothing to read in state ${state._tag}`))
      }
    }
  })).pipe(Effect.annotateLogs({ resource: resource.id }))

  return { status, lastEventAt: () => lastEventAt, synced: Deferred.await(synced), run } satisfies Reflector
})

/** No cache holds them, see `Store`. */
const unread = ["metadata.managedFields"]

/**
 * Takes events of a streamed list. Undefined until its end, then the list's resourceVersion and the events after it;
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

/** How long the server wants to be left alone, in milliseconds. */
const asked = (reason: KubeError.Reason): number =>
  "retryAfter" in reason && reason.retryAfter !== undefined
    ? Math.min(reason.retryAfter, defaults.longestRetryAfter)
    : 0
