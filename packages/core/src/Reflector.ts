/**
 * `Reflector`: keeps a store equal to one selection of one kind on the server, for as long as its scope is open.
 *
 * It lists in pages, swaps the list in whole, then watches from the list's resourceVersion with bookmarks. A watch that
 * ends is resumed at once from the last resourceVersion; one that fails is resumed after a delay of its own; only
 * `Gone` (410) and a resourceVersion that goes backwards lead to a new list. A connection silent beyond the idle
 * deadline is given up and resumed. It never ends by itself and never gives up: what is wrong stands in `status`.
 *
 * The decisions are the pure `step` below; the shell only performs its commands.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Backoff from "./Backoff.ts"
import type { Client, Page, Selection } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import { compareResourceVersions, type KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"
import type { WatchEvent } from "./WatchEvent.ts"

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
  /** A page not answered for so long, in milliseconds, counts as failed: a server gives up after a minute itself. */
  listTimeout: 90_000
} as const

/** What a reflector is doing, for health checks. */
export type Status =
  | { readonly _tag: "Listing" }
  /** Times in milliseconds since the epoch. */
  | { readonly _tag: "Live"; readonly since: number; readonly lastEventAt: number }
  /** `since` the first failure of the row. */
  | { readonly _tag: "Degraded"; readonly since: number; readonly reason: KubeError.Reason; readonly failures: number }

// --- the state machine ----------------------------------------------------------------------------------------------

/** Where the reflector stands. */
export type State =
  /** `items` of the pages so far; `whole` if all is asked for in one. */
  | {
    readonly _tag: "Listing"
    readonly failures: number
    readonly items: ReadonlyArray<KubeObject>
    readonly whole?: true
  }
  /** `since` the last failure or list: watches that end in time are one. */
  | { readonly _tag: "Watching"; readonly failures: number; readonly resourceVersion: string; readonly since: number }
  /** `resume` is what follows. */
  | {
    readonly _tag: "Pausing"
    readonly failures: number
    readonly resume: { readonly resourceVersion: string } | "list"
  }

/** What happened; `at` in milliseconds. */
export type Input =
  | { readonly _tag: "Page"; readonly page: Page<KubeObject>; readonly at: number }
  | { readonly _tag: "Events"; readonly events: ReadonlyArray<WatchEvent>; readonly at: number }
  /** A watch came to its end after `lasted` milliseconds, and was quiet if it brought nothing. */
  | { readonly _tag: "Ended"; readonly at: number; readonly lasted: number; readonly quiet: boolean }
  | { readonly _tag: "Failed"; readonly at: number; readonly reason: KubeError.Reason }
  | { readonly _tag: "Resumed"; readonly at: number }

/** What to do next: exactly one of list, watch, pause, or go on reading; and what to hand to the store first. */
export interface Output {
  readonly replace?: { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string }
  readonly apply?: ReadonlyArray<WatchEvent>
  readonly next:
    | { readonly _tag: "List"; readonly continue?: string; readonly whole?: true }
    | { readonly _tag: "Watch"; readonly resourceVersion: string }
    | { readonly _tag: "Pause"; readonly failures: number; readonly reason: KubeError.Reason }
    | { readonly _tag: "Read" }
}

export const initial: State = { _tag: "Listing", failures: 0, items: [] }

/** The next state and what to do. Total: an input that does not fit the state changes nothing. */
export const step = (state: State, input: Input): readonly [State, Output] => {
  switch (input._tag) {
    case "Page": {
      if (state._tag !== "Listing") return [state, read]
      const { page } = input
      const items = state.items.length === 0 ? page.items : state.items.concat(page.items)
      if (page.continue !== undefined) {
        return [{ ...state, items }, { next: { _tag: "List", continue: page.continue } }]
      }
      const { resourceVersion } = page
      return [
        { _tag: "Watching", failures: state.failures, resourceVersion, since: input.at },
        { replace: { items, resourceVersion }, next: { _tag: "Watch", resourceVersion } }
      ]
    }
    case "Events": {
      if (state._tag !== "Watching") return [state, read]
      let resourceVersion = state.resourceVersion
      for (const { object: { metadata } } of input.events) {
        if (compareResourceVersions(metadata.resourceVersion, resourceVersion) < 0) {
          return pause(state.failures, "list", regression(metadata.resourceVersion, resourceVersion))
        }
        resourceVersion = metadata.resourceVersion
      }
      return [{ ...state, resourceVersion }, { apply: input.events, next: { _tag: "Read" } }]
    }
    case "Ended": {
      if (state._tag !== "Watching") return [state, read]
      const { resourceVersion } = state
      if (input.quiet && input.lasted < defaults.shortestWatch) {
        return pause(state.failures, { resourceVersion }, tooShort)
      }
      const failures = healthy(state, input.at) ? 0 : state.failures
      return [{ ...state, failures }, { next: { _tag: "Watch", resourceVersion } }]
    }
    case "Failed": {
      if (state._tag === "Pausing") return [state, read]
      const failures = state._tag === "Watching" && healthy(state, input.at) ? 0 : state.failures
      if (state._tag === "Listing") {
        // A list that outlives its continue token would do so again: it is asked for in one piece, once.
        return input.reason._tag === "Gone" && state.items.length > 0
          ? [{ _tag: "Listing", failures, items: [], whole: true }, { next: { _tag: "List", whole: true } }]
          : pause(failures, "list", input.reason)
      }
      if (input.reason._tag !== "Gone") return pause(failures, { resourceVersion: state.resourceVersion }, input.reason)
      // Too old to resume is an ordinary end of a watch: list at once, unless it keeps happening.
      return failures === 0
        ? [{ _tag: "Listing", failures: 1, items: [] }, { next: { _tag: "List" } }]
        : pause(failures, "list", input.reason)
    }
    case "Resumed": {
      if (state._tag !== "Pausing") return [state, read]
      if (state.resume === "list") {
        return [{ _tag: "Listing", failures: state.failures, items: [] }, { next: { _tag: "List" } }]
      }
      const { resourceVersion } = state.resume
      return [
        { _tag: "Watching", failures: state.failures, resourceVersion, since: input.at },
        { next: { _tag: "Watch", resourceVersion } }
      ]
    }
  }
}

/** What is most likely to be done about a failure. */
export const hints: Partial<Record<KubeError.Reason["_tag"], string>> = {
  NotFound: " (is its CustomResourceDefinition installed?)",
  Forbidden: " (does the operator's role allow list and watch?)"
}

const listing: Status = { _tag: "Listing" }

const read: Output = { next: { _tag: "Read" } }

const pause = (
  failures: number,
  resume: { readonly resourceVersion: string } | "list",
  reason: KubeError.Reason
): readonly [State, Output] => [
  { _tag: "Pausing", failures: failures + 1, resume },
  { next: { _tag: "Pause", failures: failures + 1, reason } }
]

const healthy = (state: { readonly since: number }, at: number): boolean => at - state.since >= defaults.resetAfter

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

// --- the shell ------------------------------------------------------------------------------------------------------

/** What a reflector feeds: everything synchronous, one call per list or chunk of events. */
export interface Sink {
  readonly replace: (items: ReadonlyArray<KubeObject>, resourceVersion: string) => void
  readonly apply: (events: ReadonlyArray<WatchEvent>) => void
}

export interface Reflector {
  readonly status: SubscriptionRef.SubscriptionRef<Status>
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

  const list = (token: string | undefined, limit: number): Effect.Effect<Input> =>
    client.listPage(raw, { ...selection, limit, continue: token }).pipe(
      Effect.timeoutOrElse({
        duration: defaults.listTimeout,
        orElse: () =>
          Effect.fail(KubeError.make({ verb: "list", resource: Resource.qualifiedName(resource) }, unanswered))
      }),
      Effect.result,
      Effect.flatMap((result) =>
        Effect.map(Clock.currentTimeMillis, (at): Input =>
          Result.isSuccess(result)
            ? { _tag: "Page", page: result.success, at }
            : { _tag: "Failed", at, reason: result.failure.reason })
      )
    )

  /** One watch, to its end; every chunk goes through `step` as it comes. */
  const watch = Effect.fnUntraced(
    function*(
      resourceVersion: string,
      onOpen: Effect.Effect<void>,
      onEvents: (input: Input) => Effect.Effect<boolean>
    ) {
      const { max, min } = defaults.watchTimeout
      const timeoutSeconds = yield* Random.nextIntBetween(min, max)
      const started = yield* Clock.currentTimeMillis
      let open = false
      let quiet = true
      const opened = Effect.suspend(() => {
        open = true
        return onOpen
      })
      const pull = client.watch(raw, { ...selection, resourceVersion, timeoutSeconds, onOpen: opened }).pipe(
        Stream.timeout(defaults.idleTimeout),
        Stream.chunks,
        Stream.mapEffect((events) => {
          // A bookmark of where the watch began is no sign of life: a server might send it and hang up, for ever.
          if (
            events.some(({ object, type }) =>
              type !== "BOOKMARK" || object.metadata.resourceVersion !== resourceVersion
            )
          ) {
            quiet = false
          }
          return Effect.flatMap(Clock.currentTimeMillis, (at) => onEvents({ _tag: "Events", events, at }))
        }),
        Stream.takeWhile((goOn) => goOn),
        Stream.runDrain
      )
      const result = yield* Effect.result(pull)
      const at = yield* Clock.currentTimeMillis
      if (Result.isFailure(result)) return { _tag: "Failed", at, reason: result.failure.reason } as const
      return open
        ? { _tag: "Ended", at, lasted: at - started, quiet } as const
        : { _tag: "Failed", at, reason: unanswered } as const
    }
  )

  const run = Effect.gen(function*() {
    let state: State = initial
    let output: Output = { next: { _tag: "List" } }
    const take = (input: Input): Output => {
      ;[state, output] = step(state, input)
      if (output.replace !== undefined) sink.replace(output.replace.items, output.replace.resourceVersion)
      if (output.apply !== undefined) sink.apply(output.apply)
      return output
    }
    while (true) {
      const { next }: Output = output
      switch (next._tag) {
        case "List": {
          yield* SubscriptionRef.update(status, (now) => now._tag === "Live" ? listing : now)
          take(yield* list(next.continue, next.whole ? 0 : defaults.pageSize))
          if (output.replace !== undefined) yield* Deferred.succeed(synced, undefined)
          break
        }
        case "Watch": {
          let since = 0
          const live = (lastEventAt: number) => SubscriptionRef.set(status, { _tag: "Live", since, lastEventAt })
          const onOpen = Effect.flatMap(Clock.currentTimeMillis, (at) => {
            since = at
            return live(at)
          })
          const end = yield* watch(next.resourceVersion, onOpen, (input) => {
            const { next } = take(input)
            return Effect.as(live(input.at), next._tag === "Read")
          })
          if (output.next._tag === "Read" || output.next === next) take(end)
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
          yield* Effect.sleep(Backoff.delay(defaults.backoff, next.failures, yield* Random.next))
          take({ _tag: "Resumed", at: yield* Clock.currentTimeMillis })
          break
        }
        case "Read":
          return yield* Effect.die(new Error(`Reflector: nothing to read in state ${state._tag}`))
      }
    }
  }).pipe(Effect.annotateLogs({ resource: resource.id }))

  return { status, synced: Deferred.await(synced), run } satisfies Reflector
})
