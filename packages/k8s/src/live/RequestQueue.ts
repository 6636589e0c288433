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
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { TokenBucket } from "@effect-operator/core/internal/TokenBucket"

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

/** Somebody who waits; who has been let in is told by `turn`. */
interface Waiter {
  readonly ask: Ask
  readonly turn: Deferred.Deferred<void>
  isIn: boolean
}

export interface RequestQueue {
  /** Runs an effect when its turn has come; it is told how long that took, in milliseconds. */
  readonly within: <A, E, R>(ask: Ask, run: (waited: number) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Nobody of this class is let in for so long, in milliseconds. */
  readonly pause: (of: Class, millis: number) => Effect.Effect<void>
  /** How many are waiting and how many are under way. */
  readonly stats: () => { readonly waiting: number; readonly running: number }
}

export const make = ({ burst, concurrency, qps }: Options): Effect.Effect<RequestQueue, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const bucket = qps === undefined ? undefined : makeBucket(qps, burst ?? Math.ceil(2 * qps))
    /** Who waits, in the order of their turns: what holds up the first of a lane holds up all of it. */
    const lanes = new Map<string, Array<Waiter>>()
    const pausedUntil: Record<Class, number> = { leases: 0, others: 0 }
    let running = 0
    let alarmAt = Infinity

    const isAdmissible = (ask: Ask, now: number) =>
      now >= pausedUntil[ask.class] && (ask.isWatch || running < concurrency) &&
      (bucket === undefined || now >= bucket.nextAt)

    const admit = (ask: Ask, now: number) => {
      bucket?.take(now)
      if (!ask.isWatch) running += 1
    }

    /** When time alone lets somebody in, at the earliest. */
    const earliest = (ask: Ask, now: number): number =>
      !ask.isWatch && running >= concurrency
        ? Infinity
        : Math.max(now, pausedUntil[ask.class], bucket?.nextAt ?? 0)

    /** Lets in whoever may go, a turn for each lane; says when to look again. */
    const serve = (now: number): number => {
      const admitted: Array<Waiter> = []
      let next = Infinity
      for (let served = true; served;) {
        served = false
        next = Infinity
        for (const [lane, waiters] of Array.from(lanes)) {
          const [first] = waiters
          if (first === undefined || !isAdmissible(first.ask, now)) {
            if (first !== undefined) next = Math.min(next, earliest(first.ask, now))
            continue
          }
          waiters.shift()
          lanes.delete(lane)
          if (waiters.length > 0) lanes.set(lane, waiters)
          admit(first.ask, now)
          first.isIn = true
          admitted.push(first)
          served = true
        }
      }
      // Who is told runs at once, and may come back here.
      for (const { turn } of admitted) Deferred.doneUnsafe(turn, Effect.void)
      return next
    }

    /** Serves, and again when time alone lets somebody in. */
    const pump: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const at = serve(now)
      if (at >= alarmAt) return Effect.void
      alarmAt = at
      const ring = Effect.andThen(
        Effect.sleep(Math.max(1, at - now)),
        Effect.suspend(() => {
          alarmAt = Infinity
          return pump
        })
      )
      return Effect.asVoid(Effect.forkIn(ring, scope))
    })

    const leave = (ask: Ask): Effect.Effect<void> => {
      if (ask.isWatch) return Effect.void
      running -= 1
      return lanes.size === 0 ? Effect.void : pump
    }

    /** Waits in a lane. Who is interrupted leaves it, and who was let in meanwhile gives the place back. */
    const wait = (ask: Ask, restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        const lane = `${ask.class} ${ask.isWatch} ${ask.lane}`
        const waiter: Waiter = { ask, turn: Deferred.makeUnsafe<void>(), isIn: false }
        const waiters = lanes.get(lane)
        if (waiters === undefined) lanes.set(lane, [waiter])
        else waiters.push(waiter)
        const withdraw = Effect.suspend(() => {
          if (waiter.isIn) return leave(ask)
          const left = (lanes.get(lane) ?? []).filter((other) => other !== waiter)
          if (left.length > 0) lanes.set(lane, left)
          else lanes.delete(lane)
          return Effect.void
        })
        return Effect.andThen(pump, Effect.onInterrupt(restore(Deferred.await(waiter.turn)), () => withdraw))
      })

    const within: RequestQueue["within"] = (ask, run) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Clock.currentTimeMillis, (before) => {
          const hold = (waited: number) => Effect.onExit(restore(run(waited)), () => leave(ask))
          if (lanes.size === 0 && isAdmissible(ask, before)) {
            admit(ask, before)
            return hold(0)
          }
          return Effect.flatMap(
            Effect.andThen(wait(ask, restore), Clock.currentTimeMillis),
            (now) => hold(now - before)
          )
        })
      )

    return {
      within,
      pause: (of, millis) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          pausedUntil[of] = Math.max(pausedUntil[of], now + Math.min(millis, defaults.maxPause))
        }),
      stats: () => ({ running, waiting: [...lanes.values()].reduce((sum, waiters) => sum + waiters.length, 0) })
    }
  })

const makeBucket = (qps: number, burst: number) => new TokenBucket(Math.max(1, burst), Math.max(1, burst) / qps * 1000)
