/**
 * `RequestQueue`: decides which request of a client may be sent next.
 *
 * There are three limits: concurrent requests, requests per second on average (none by default: the server's API
 * Priority and Fairness is better at it), and a pause that the server asked for. Waiting is fair: every lane with
 * waiting requests gets a turn before any gets a second one, so a controller with ten thousand requests delays one with
 * a single request by a single request. Within a lane, requests are sent in order of arrival.
 *
 * A pause applies to one class of requests (see `Class`): a server that sheds load exempts leader election, and a lease
 * that is not renewed in time would make things worse. When a pause ends, waiting requests are sent at once, within the
 * other limits. For the same reason only a pause of their own holds leases up: if all other requests hang, for instance
 * because of somebody's slow webhook, or wait for a low rate, the leader stays the leader.
 */
import * as Alarm from "@effect-operator/core/internal/Alarm"
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import { TokenBucket } from "@effect-operator/core/internal/TokenBucket"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Defaults, unless `Options` override them. */
export const defaults = {
  /** The longest pause, in milliseconds, whatever a server asks for. */
  maxPause: 60_000
} as const

export interface Options {
  /** Concurrent requests, not counting leases and those that last. */
  readonly concurrency: number
  /** Requests per second on average, including watches but not leases; no limit if absent. */
  readonly qps?: number | undefined
  /** Requests that may be sent at once after an idle period; twice `qps` by default, as in client-go's tools. */
  readonly burst?: number | undefined
}

/** The leases of leader election are a class of their own: see the top of this file. */
export type Class = "leases" | "others"

export interface Ask {
  /** The lane of the request; lanes take turns. */
  readonly lane: string
  readonly class: Class
  /** A watch or a process lasts for minutes: it takes a turn, but does not count as concurrent. */
  readonly isLasting: boolean
}

/**
 * Called when it is the request's turn, with the time it waited in milliseconds, and a function that frees its place.
 */
export type Run = (waited: number, leave: () => void) => void

/** A request from when it enters until it leaves. */
interface Place {
  readonly ask: Ask
  readonly since: number
  readonly run: Run
  readonly leave: () => void
  state: "waiting" | "in" | "gone"
}

export interface RequestQueue {
  /**
   * Calls `run` when it is the request's turn, possibly synchronously. The returned function frees its place, or
   * withdraws a request that still waits; it is idempotent.
   */
  readonly enter: (ask: Ask, run: Run) => () => void
  /** Admits no request of this class for this many milliseconds. */
  readonly pause: (of: Class, millis: number) => void
  /** The number of waiting requests, and of requests in flight that count. */
  readonly stats: () => { readonly waiting: number; readonly running: number }
}

/** A queue that lives as long as the scope. */
export const make = ({ burst, concurrency, qps }: Options): Effect.Effect<RequestQueue, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const bucket = qps === undefined ? undefined : makeBucket(qps, burst ?? Math.ceil(2 * qps))
    /** Waiting requests in the order of their turns. What blocks the first request of a lane blocks the whole lane. */
    const lanes = new Map<string, Array<Place>>()
    const pausedUntil: Record<Class, number> = { leases: 0, others: 0 }
    let running = 0
    const now = () => monotonicMillis(clock)

    const counts = (ask: Ask): boolean => !ask.isLasting && ask.class !== "leases"

    const isAdmissible = (ask: Ask, now: number) =>
      now >= pausedUntil[ask.class] && (!counts(ask) || running < concurrency) &&
      (bucket === undefined || ask.class === "leases" || now >= bucket.nextAt)

    const admit = (place: Place, now: number) => {
      if (place.ask.class !== "leases") bucket?.take(now)
      if (counts(place.ask)) running += 1
      place.state = "in"
    }

    /** The earliest time at which a request can be admitted if only time passes. */
    const earliest = (ask: Ask, now: number): number =>
      counts(ask) && running >= concurrency
        ? Infinity
        : Math.max(now, pausedUntil[ask.class], ask.class === "leases" ? 0 : bucket?.nextAt ?? 0)

    /**
     * Admits all requests that may be sent, one turn per lane. Returns when to check again, if the passing of time can
     * admit more.
     */
    const serve = (now: number): number | undefined => {
      const admitted: Array<Place> = []
      let next = Infinity
      for (let served = true; served;) {
        served = false
        next = Infinity
        for (const [lane, places] of Array.from(lanes)) {
          const [first] = places
          if (first === undefined || !isAdmissible(first.ask, now)) {
            if (first !== undefined) next = Math.min(next, earliest(first.ask, now))
            continue
          }
          places.shift()
          lanes.delete(lane)
          if (places.length > 0) lanes.set(lane, places)
          admit(first, now)
          admitted.push(first)
          served = true
        }
      }
      // `run` executes synchronously, and may enter the queue again or withdraw another request.
      for (const place of admitted) if (place.state === "in") place.run(now - place.since, place.leave)
      return next === Infinity ? undefined : next
    }

    const alarm = yield* Alarm.make(serve)
    const look = (now: number) => alarm.set(serve(now))

    const wait = (place: Place): void => {
      const lane = laneOf(place.ask)
      const places = lanes.get(lane)
      if (places === undefined) lanes.set(lane, [place])
      else places.push(place)
      look(place.since)
    }

    const withdraw = (place: Place): void => {
      const lane = laneOf(place.ask)
      const left = (lanes.get(lane) ?? []).filter((other) => other !== place)
      if (left.length > 0) lanes.set(lane, left)
      else lanes.delete(lane)
    }

    const leave = (place: Place): void => {
      const { state } = place
      place.state = "gone"
      if (state === "waiting") return withdraw(place)
      if (state === "gone" || !counts(place.ask)) return
      running -= 1
      if (lanes.size > 0) look(now())
    }

    return {
      enter: (ask, run) => {
        const since = now()
        const place: Place = { ask, since, run, leave: () => leave(place), state: "waiting" }
        if (lanes.size === 0 && isAdmissible(ask, since)) {
          admit(place, since)
          run(0, place.leave)
        } else wait(place)
        return place.leave
      },
      pause: (of, millis) => {
        pausedUntil[of] = Math.max(pausedUntil[of], now() + Math.min(millis, defaults.maxPause))
      },
      stats: () => ({ running, waiting: [...lanes.values()].reduce((sum, places) => sum + places.length, 0) })
    }
  })

const laneOf = ({ class: of, isLasting, lane }: Ask): string => `${of} ${isLasting} ${lane}`

const makeBucket = (qps: number, burst: number) => new TokenBucket(Math.max(1, burst), Math.max(1, burst) / qps * 1000)
