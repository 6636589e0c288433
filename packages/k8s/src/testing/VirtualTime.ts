/**
 * `VirtualTime`: a test clock that never runs ahead of the program.
 *
 * `TestClock.adjust` wakes sleepers in order and waits for those it woke, for at most one second of real time. It does
 * not wait for fibers that became ready for another reason: in a test that creates an object and then lets a minute
 * pass, that minute may be over before the operator has seen the object. Under this layer, time moves only when nothing
 * else can run: before a sleeper wakes and after the last one, every fiber has come to rest, however busy the machine
 * is.
 *
 * Randomness comes from a seed, so jitter, names and uids are the same in every run, and a test either always passes or
 * always fails. `Random.withSeed(test, seed)` around the test uses another sequence.
 *
 * All layers of a test share one clock, so several clusters in a test live in the same time.
 *
 * Tests call `TestClock.adjust` and `TestClock.setTime` as usual. Outside a test (if the clock is not a `TestClock`)
 * the layer does nothing.
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
   * How many turns all fibers together may take without the clock moving before the program counts as looping: about
   * ten times what a thousand objects that are created at once take.
   */
  turns: 50_000,
  /** The same limit in operations, since a loop may take few turns: twice what those objects take. */
  operations: 3_000_000,
  /** How often the same thing may change before it counts as a loop, in addition to two for each thing that changes. */
  changes: 1_000,
  /** The seed of randomness, unless the test sets its own. */
  seed: "virtual time"
} as const

const restless = (what: string) =>
  new Error(
    `the program does not come to rest: ${what} while the clock stood still. Most ` +
      "likely a controller reconciles in a loop, triggered by its own writes: write only what differs, or filter with " +
      "Predicate.generationChanged"
  )

/** A moment: everything that happens while the clock stands still. */
export interface Service {
  /**
   * Called at each change of `thing`. `tell` describes the change, and is called only for the one that exceeds the
   * limit.
   */
  readonly changed: (thing: string, tell: () => string) => void
}

/** By default nothing is counted. */
export const Moment = Context.Reference<Service>("@effect-operator/k8s/testing/VirtualTime/Moment", {
  defaultValue: () => ({ changed: () => {} })
})

/** Counts the tasks that are scheduled and have not run yet. Reports when none are left, or when they seem endless. */
class Tally implements Service {
  private pending = 0
  private turns = 0
  private operations = 0
  private readonly changes = new Map<string, number>()
  private waiting: Array<(outcome: Effect.Effect<void>) => void> = []

  /** The same scheduler, with every task counted. */
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

  /** Completes when no fiber can run except the one that waits for this. */
  readonly idle: Effect.Effect<void> = Effect.callback<void>((resume) => {
    if (this.pending === 0) return resume(Effect.void)
    this.restart()
    this.waiting.push(resume)
  })
}

const isTestClock = (clock: Clock.Clock): clock is TestClock.TestClock => "adjust" in clock && "setTime" in clock

/** The randomness of the test if it has its own, or else a new sequence from `defaults.seed`. */
const chance = Effect.contextWith((context: Context.Context<never>) => {
  const given = Context.getOrUndefined(context, Random.Random)
  return given === undefined ? Random.withSeed(Random.Random, defaults.seed) : Effect.succeed(given)
})

/** A test clock that waits for the fibers in its tally. */
interface Patience {
  readonly clock: TestClock.TestClock
  readonly tally: Tally
}

/** The patience of each test clock, also under the clock that it became. */
const known = new WeakMap<Clock.Clock, Patience>()

/** One for all layers of a test: each wakes only its own sleepers, so a second one would keep its program asleep. */
const patienceOf = (clock: TestClock.TestClock): Effect.Effect<Patience> =>
  Effect.suspend(() => {
    const found = known.get(clock)
    return found === undefined
      ? Effect.tap(make(clock), (made) => {
        known.set(clock, made).set(made.clock, made)
        return Effect.void
      })
      : Effect.succeed(found)
  })

const make = Effect.fnUntraced(function*(clock: TestClock.TestClock): Effect.fn.Return<Patience> {
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
        // The first sleep also uses the test clock, which then warns if nobody moves it.
        const asleep = hasSlept ? latch.await : clock.sleep(duration)
        hasSlept = true
        return Effect.ensuring(asleep, Effect.sync(() => sleepers.remove(slot)))
      }),
    adjust: (duration) => moveTo(() => now() + Duration.toMillis(Duration.fromInputUnsafe(duration))),
    setTime: (timestamp) => moveTo(() => timestamp)
  }
  return { clock: patient, tally }
})

/** The test's clock and scheduler, made to wait for each other, and its seeded randomness. */
export const layer: Layer.Layer<never> = Layer.effectContext(
  Effect.gen(function*() {
    const given = yield* Clock.Clock
    if (!isTestClock(given)) return Context.empty()
    // A fiber yields after a number of operations: those before this point must not decide where the test yields.
    yield* Effect.yieldNow
    const { clock, tally } = yield* patienceOf(given)
    const scheduler = yield* Scheduler.Scheduler
    return Context.empty().pipe(
      Context.add(Clock.Clock, clock),
      // Nobody moves the clock while a test is torn down, so draining would wait forever.
      Context.add(Manager.Drain, 0),
      Context.add(Random.Random, yield* chance),
      Context.add(Moment, tally),
      // Within another of these layers, tasks are counted already.
      Context.add(Scheduler.Scheduler, given === clock ? scheduler : tally.counting(scheduler))
    )
  })
)
