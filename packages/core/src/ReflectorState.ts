/**
 * The state machine of a `Reflector`: what it knows and what it does next, as data. `step` is total; `Reflector` only
 * performs its output.
 *
 * A watch that ends is resumed at once from the last resourceVersion, one that fails after a delay. Only `Gone` (410)
 * and a resourceVersion that goes backwards lead to a new list.
 *
 * A server that was restored from a backup, or another one at the same address, sends nothing to a watch that resumes
 * at a resourceVersion it has not reached. So if the watch after a broken one ends without any event, one object is
 * listed to see where the server is.
 */
import type { Page } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import { compareResourceVersions, type KubeObject } from "./KubeObject.ts"
import type { WatchEvent } from "./WatchEvent.ts"

/** Default values. */
export const defaults = {
  /** Delays after a failed list or watch, in milliseconds, as in client-go. */
  backoff: { initial: 800, factor: 2, max: 30_000, jitter: 1 },
  /** A watch that is healthy for this long, in milliseconds, resets earlier failures. */
  resetAfter: 120_000,
  /** The server ends a watch after a random time in this range, in seconds. */
  watchTimeout: { min: 300, max: 600 },
  /**
   * A watch without an event or bookmark for this long, in milliseconds, is given up and resumed. Bookmarks come about
   * once a minute, but a server may send none for a kind that never changes: silence alone is not a failure.
   */
  idleTimeout: 120_000,
  /** A watch that ends sooner than this, in milliseconds, and without an event counts as failed. */
  shortestWatch: 1_000,
  pageSize: 500,
  /** Pages that time out are requested half as large, down to this size. */
  smallestPage: 25,
  /** A page that takes longer than this, in milliseconds, counts as failed. A server itself gives up after a minute. */
  listTimeout: 90_000,
  /** Upper limit of a `Retry-After`, in milliseconds. */
  longestRetryAfter: 300_000
} as const

/** How to get the next list: `PagesOnce` after a failed streaming list, `Pages` for good if there are none. */
export type Lists = "Pages" | "PagesOnce" | "Stream"

interface Common {
  readonly failures: number
  readonly lists: Lists
  /** Whether, since the last healthy period, a watch that was too old to resume has led to an immediate list. */
  readonly relisted: boolean
  /** Size of pages, if the server was too slow for the usual one. */
  readonly pageSize?: number
  /** A connection broke, and nothing has arrived since: this may be another server, which is behind. */
  readonly doubted?: true
}

/** The state of the reflector. */
export type State =
  /** `pages` has the items of each page so far; `whole` if everything was requested in one page. */
  | Common & {
    readonly _tag: "Listing"
    readonly pages: ReadonlyArray<ReadonlyArray<KubeObject>>
    readonly whole?: true
  }
  /** `since` the last failure or list: consecutive watches that end normally count as one. */
  | Common & { readonly _tag: "Watching"; readonly resourceVersion: string; readonly since: number }
  /** The server has been asked for its current resourceVersion. */
  | Common & { readonly _tag: "Looking"; readonly resourceVersion: string; readonly since: number }
  /** `resume` is what follows the pause. */
  | Common & { readonly _tag: "Pausing"; readonly resume: { readonly resourceVersion: string } | "list" }

/** What happened; `at` in milliseconds, by a monotonic clock (`monotonicMillis`). */
export type Input =
  /** `open` if the watch that delivered the list goes on. */
  | { readonly _tag: "Page"; readonly page: Page<KubeObject>; readonly at: number; readonly open?: true }
  | { readonly _tag: "Events"; readonly events: ReadonlyArray<WatchEvent> }
  /**
   * A watch ended after `lasted` milliseconds, `quiet` if without any event. `idle` if it was given up rather than
   * ended by the server.
   */
  | {
    readonly _tag: "Ended"
    readonly at: number
    readonly lasted: number
    readonly quiet: boolean
    readonly idle?: true
  }
  /** The current resourceVersion of the server. */
  | { readonly _tag: "Looked"; readonly at: number; readonly resourceVersion: string }
  /**
   * `unanswered` if the watch was never accepted: waiting for it does not count as healthy. `late` if a page timed out.
   */
  | {
    readonly _tag: "Failed"
    readonly at: number
    readonly reason: KubeError.Reason
    readonly unanswered?: true
    readonly late?: true
  }
  | { readonly _tag: "Resumed"; readonly at: number }

/** What to hand to the store first, and what to do next: exactly one of list, stream, watch, look, pause or read on. */
export interface Output {
  readonly replace?: { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string }
  readonly apply?: ReadonlyArray<WatchEvent>
  readonly next:
    /** `limit` if pages are to be smaller than usual. */
    | { readonly _tag: "List"; readonly continue?: string; readonly limit?: number; readonly whole?: true }
    | { readonly _tag: "Stream" }
    | { readonly _tag: "Watch"; readonly resourceVersion: string }
    | { readonly _tag: "Look" }
    | { readonly _tag: "Pause"; readonly failures: number; readonly reason: KubeError.Reason }
    | { readonly _tag: "Read" }
}

/** What outlives a list or a watch. */
const lasting = ({ failures, lists, pageSize, relisted }: Common): Common =>
  pageSize === undefined ? { failures, lists, relisted } : { failures, lists, pageSize, relisted }

const limitOf = ({ pageSize }: Common) => pageSize === undefined ? {} : { limit: pageSize }

/** Begins a list. */
const list = (state: Common): readonly [State, Output] => [
  { ...lasting(state), _tag: "Listing", pages: [] },
  { next: state.lists === "Stream" ? { _tag: "Stream" } : { _tag: "List", ...limitOf(state) } }
]

/** The initial state, and what to do first. */
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
      // A server that shuts down ends its watches normally, too.
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
        // A list that outlives its continue token would do so again: it is requested in one page, once.
        if (reason._tag === "Gone" && state.pages.length > 0) {
          return [{ ...state, pages: [], whole: true }, { next: { _tag: "List", whole: true } }]
        }
        const slow = input.late === true || reason._tag === "Timeout"
        const half = Math.max(defaults.smallestPage, Math.floor((state.pageSize ?? defaults.pageSize) / 2))
        return pause(slow ? { ...state, pageSize: half } : state, "list", reason)
      }
      const common = input.unanswered || state._tag === "Looking" ? state : { ...state, ...rested(state, input.at) }
      if (reason._tag !== "Gone") return pause(common, { resourceVersion: state.resourceVersion }, reason)
      // Being too old to resume is a normal end of a watch: list at once, unless it keeps happening.
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

/** How a server rejects parameters that it does not know, or does not allow together. */
const noStreams: ReadonlySet<KubeError.Reason["_tag"]> = new Set(["BadRequest", "Invalid"])

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

/** The state, once it is certain that the server is not behind. */
const certain = <S extends Common>(state: S): Omit<S, "doubted"> => {
  const { doubted: _, ...rest } = state
  return rest
}

/** A healthy period resets earlier failures. */
const rested = (state: Extract<State, { _tag: "Watching" }>, at: number): Pick<Common, "failures" | "relisted"> =>
  at - state.since >= defaults.resetAfter ? { failures: 0, relisted: false } : state

const regression = (got: string, had: string): KubeError.Reason =>
  new KubeError.Transport({
    message: `the server's resourceVersion went back from ${had} to ${got}: another server, or a restored backup`
  })

const tooShort: KubeError.Reason = new KubeError.Transport({
  message: "the watch ended at once and without an event"
})

const unfinished: KubeError.Reason = new KubeError.Transport({
  message: "the streamed list ended before it was complete"
})
