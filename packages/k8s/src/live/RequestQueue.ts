/**
 * `RequestQueue`: who may send next, where a client must not send everything at once.
 *
 * Three limits: requests under way at once, requests per second on average (none by default: the server's own priority
 * and fairness does better), and a pause that the server asked for. Who has to wait is served fairly: everybody with
 * something waiting gets a turn before anybody gets a second one, so that a controller with ten thousand requests holds
 * up one with a single request by a single request. Within a lane the order is that of arrival.
 *
 * A pause holds for one class of requests (see `Class`): a server that sheds load does not shed leader election, and a
 * lease that is not renewed in time would make things worse. When a pause ends, waiting requests go out at once, but
 * not more than the other limits allow.
 */
import * as Alarm from "@effect-operator/core/internal/Alarm"
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import { TokenBucket } from "@effect-operator/core/internal/TokenBucket"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Figures that hold unless `Options` say otherwise. */
export const defaults = {
  /** The longest pause, in milliseconds, whatever a server asks for. */
  maxPause: 60_000
} as const

export interface Options {
  /** Requests under way at once, watches not counted. */
  readonly concurrency: number
  /** Requests per second on average, watches counted; no limit if absent. */
  readonly qps?: number | undefined
  /** Requests that may go out at once after a quiet time; twice `qps` by default, as client-go's tools have it. */
  readonly burst?: number | undefined
}

/** What a pause is for: the leases of leader election have their own. */
export type Class = "leases" | "others"

export interface Ask {
  /** Whose request it is; lanes take turns. */
  readonly lane: string
  readonly class: Class
  /** A watch is under way for minutes: it takes a turn, but no place. */
  readonly isWatch: boolean
}

/** Called when the turn has come, with how long that took in milliseconds, and with what gives the place back. */
export type Run = (waited: number, leave: () => void) => void

/** Somebody who asked, from then on until they leave. */
interface Place {
  readonly ask: Ask
  readonly since: number
  readonly run: Run
  readonly leave: () => void
  state: "waiting" | "in" | "gone"
}

export interface RequestQueue {
  /**
   * Runs something when its turn has come, maybe at once. The answer gives the place back, or withdraws who still waits;
   * called again it does nothing.
   */
  readonly enter: (ask: Ask, run: Run) => () => void
  /** Nobody of this class is let in for so long, in milliseconds. */
  readonly pause: (of: Class, millis: number) => void
  /** How many are waiting and how many are under way. */
  readonly stats: () => { readonly waiting: number; readonly running: number }
}

/** A queue that lives as long as the scope. */
export const make = ({ burst, concurrency, qps }: Options): Effect.Effect<RequestQueue, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const bucket = qps === undefined ? undefined : makeBucket(qps, burst ?? Math.ceil(2 * qps))
    /** Who waits, in the order of their turns: what holds up the first of a lane holds up all of it. */
    const lanes = new Map<string, Array<Place>>()
    const pausedUntil: Record<Class, number> = { leases: 0, others: 0 }
    let running = 0
    const now = () => monotonicMillis(clock)

    const isAdmissible = (ask: Ask, now: number) =>
      now >= pausedUntil[ask.class] && (ask.isWatch || running < concurrency) &&
      (bucket === undefined || now >= bucket.nextAt)

    const admit = (place: Place, now: number) => {
      bucket?.take(now)
      if (!place.ask.isWatch) running += 1
      place.state = "in"
    }

    /** When time alone lets somebody in, at the earliest. */
    const earliest = (ask: Ask, now: number): number =>
      !ask.isWatch && running >= concurrency
        ? Infinity
        : Math.max(now, pausedUntil[ask.class], bucket?.nextAt ?? 0)

    /** Lets in whoever may go, a turn for each lane; says when to look again, if time alone changes anything. */
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
      // Who is told runs at once, and may come back here, or make another of them leave.
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
      if (state === "gone" || place.ask.isWatch) return
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

const laneOf = ({ class: of, isWatch, lane }: Ask): string => `${of} ${isWatch} ${lane}`

const makeBucket = (qps: number, burst: number) => new TokenBucket(Math.max(1, burst), Math.max(1, burst) / qps * 1000)
