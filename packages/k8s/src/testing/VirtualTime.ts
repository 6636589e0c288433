/**
 * `VirtualTime`: a test clock that never runs ahead of the program.
 *
 * `TestClock.adjust` wakes sleepers in order and waits for those it woke, for at most a second of real time. It does
 * not wait for fibers that something else has made ready: a test that creates an object and then lets a minute pass may
 * see the minute pass before the operator has seen the object. Under this layer, time moves only when nothing else can
 * run: before a sleeper wakes, and after the last, every fiber has come to rest, however busy the machine is. So a test
 * in virtual time means what it says.
 *
 * Randomness is drawn from a seed: jitter, names and uids are the same in every run, so a test either always passes or
 * always fails. `Random.withSeed(test, seed)` around it uses another sequence.
 *
 * A test calls `TestClock.adjust` and `TestClock.setTime` as always. Outside a test (where the clock is not a
 * `TestClock`) the layer does nothing.
 */
import { DelayHeap } from "@effect-operator/core/internal/DelayHeap"
import * as Manager from "@effect-operator/core/Manager"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import * as Semaphore from "effect/Semaphore"
import type * as TestClock from "effect/testing/TestClock"

export const defaults = {
  /**
   * Turns of fibers, all together, without the clock moving, after which a program counts as a loop: some ten times what
   * a thousand objects that come at once take.
   */
  turns: 50_000,
  /** The same of operations: a loop may take few turns. Twice what those objects take. */
  operations: 3_000_000,
  /** Changes of one and the same thing, beyond two for each thing that changes, after which they count as a loop. */
  changes: 1_000,
  /** Of what is drawn by chance, where the test has no seed of its own. */
  seed: "virtual time"
} as const

const restless = (what: string) =>
  new Error(
    `the program does not come to rest: ${what}, and the clock has not moved. Most ` +
      "likely a controller reconciles in a loop, woken by its own writes: write only what differs, or filter with Predicate.generationChanged"
  )

/** A moment: what happens while the clock does not move. */
export interface Service {
  /** Whatever changes says so; `tell` is asked for the change that was one too many. */
  readonly changed: (thing: string, tell: () => string) => void
}

/** By default nobody counts. */
export const Moment = Context.Reference<Service>("@effect-operator/k8s/testing/VirtualTime/Moment", {
  defaultValue: () => ({ changed: () => {} })
})

/** Counts what is scheduled and has not run yet; tells when there is nothing, or when there is no end of it. */
class Tally implements Service {
  private pending = 0
  private turns = 0
  private operations = 0
  private readonly changes = new Map<string, number>()
  private waiting: Array<(outcome: Effect.Effect<void>) => void> = []

  /** The scheduler, every task of it counted. */
  counting(scheduler: Scheduler.Scheduler): Scheduler.Scheduler {
    return {
      executionMode: scheduler.executionMode,
      shouldYield: (fiber) => {
        this.operations += 1
        return scheduler.shouldYield(fiber)
      },
      makeDispatcher: () => {
        const dispatcher = scheduler.makeDispatcher()
        return {
          scheduleTask: (task, priority) => {
            this.pending += 1
            dispatcher.scheduleTask(() => {
              try {
                task()
              } finally {
                this.pending -= 1
                this.turns += 1
                if (this.pending === 0) this.settle(Effect.void)
                else if (this.turns > defaults.turns || this.operations > defaults.operations) {
                  this.settle(Effect.die(restless(`${this.turns} turns, ${this.operations} operations`)))
                }
              }
            }, priority)
          },
          flush: () => dispatcher.flush()
        }
      }
    }
  }

  readonly changed: Service["changed"] = (thing, tell) => {
    const times = (this.changes.get(thing) ?? 0) + 1
    this.changes.set(thing, times)
    if (times <= defaults.changes + 2 * this.changes.size) return
    this.settle(Effect.die(restless(`${thing} has changed ${times} times, the last time ${tell()}`)))
  }

  private restart(): void {
    this.turns = 0
    this.operations = 0
    this.changes.clear()
  }

  private settle(outcome: Effect.Effect<void>): void {
    const { waiting } = this
    this.waiting = []
    this.restart()
    for (const resume of waiting) resume(outcome)
  }

  /** Completes when no fiber can run but the one that asks. */
  readonly idle: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.pending === 0) return resume(Effect.void)
    this.restart()
    this.waiting.push(resume)
  })
}

const isTestClock = (clock: Clock.Clock): clock is TestClock.TestClock => "adjust" in clock && "setTime" in clock

/** What the test was given, or else a new sequence of `defaults.seed`. */
const chance = Effect.contextWith((context: Context.Context<never>) => {
  const given = Context.getOrUndefined(context, Random.Random)
  return given === undefined ? Random.withSeed(Random.Random, defaults.seed) : Effect.succeed(given)
})

/** The clock and the scheduler of the test, made to wait for each other; and its chance, made the same each time. */
export const layer: Layer.Layer<never> = Layer.effectContext(
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    if (!isTestClock(clock)) return Context.empty()
    // A fiber gives way after so many operations: what it did before must not decide where in the test that is.
    yield* Effect.yieldNow
    const tally = new Tally()
    const sleepers = new DelayHeap<Latch.Latch>()
    const moving = yield* Semaphore.make(1)
    let hasSlept = false
    const now = () => clock.currentTimeMillisUnsafe()
    const moveTo = Effect.fnUntraced(function*(end: () => number) {
      yield* tally.idle
      const by = end()
      for (let next = sleepers.peek(); next !== undefined && next.at <= by; next = sleepers.peek()) {
        sleepers.pop()
        if (next.at > now()) yield* clock.setTime(next.at)
        next.value.openUnsafe()
        yield* tally.idle
      }
      yield* clock.setTime(by)
      yield* tally.idle
    }, moving.withPermits(1))
    const patient: TestClock.TestClock = {
      ...clock,
      sleep: (duration) =>
        Effect.suspend(() => {
          const at = now() + Duration.toMillis(duration)
          if (at <= now()) return Effect.void
          const latch = Latch.makeUnsafe()
          const slot = sleepers.push(at, latch)
          // The first one is the test clock's, too: it says so where nobody moves it.
          const asleep = hasSlept ? latch.await : clock.sleep(duration)
          hasSlept = true
          return Effect.ensuring(asleep, Effect.sync(() => sleepers.remove(slot)))
        }),
      adjust: (duration) => moveTo(() => now() + Duration.toMillis(Duration.fromInputUnsafe(duration))),
      setTime: (timestamp) => moveTo(() => timestamp)
    }
    return Context.empty().pipe(
      Context.add(Clock.Clock, patient),
      // Nobody moves the clock while a test is being taken down: waiting for it would be for ever.
      Context.add(Manager.Drain, 0),
      Context.add(Random.Random, yield* chance),
      Context.add(Moment, tally),
      Context.add(Scheduler.Scheduler, tally.counting(yield* Scheduler.Scheduler))
    )
  })
)
