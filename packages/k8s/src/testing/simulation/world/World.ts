/**
 * `World`: a scheduler, a clock and a source of randomness for programs that must run the same way each time.
 *
 * Everything happens on the stack of the caller. Tasks of fibers run one after the other until none is left; only then
 * does time move to the next sleeper. There is no event loop, so nothing from outside can intervene; a program that
 * waits for something real (a socket, a timer of the host) never continues. With an interleaving, the order of runnable
 * tasks is drawn at random: a different order for each number, the same order for the same one.
 */
import { DelayHeap, type Slot } from "@effect-operator/core/internal/DelayHeap"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"
import { WebCrypto } from "effect/crypto"

export const defaults = {
  /** 2026-01-01, so that timestamps look plausible. */
  start: 1_767_225_600_000,
  /** Steps of fibers without a move of the clock after which a program counts as a loop. */
  steps: 50_000,
  /** Steps that a fiber counts for which goes on until it is made to give way: some 2,000 operations. */
  tireless: 50,
  /** Sleeps that end in a row after which a program counts as a loop, */
  sleepless: 10_000,
  /** each so many milliseconds after the last at most. */
  breath: 20
} as const

/** Something that a scenario itself does or declares is impossible or meaningless. */
export class Unsound extends Error {}

/** The program does not come to rest: steps of fibers follow one another without a move of the clock. */
export class Restless extends Error {
  override readonly name = "Restless"
}

interface Task {
  readonly run: () => void
  readonly priority: number
}

/** A small generator of random numbers in [0, 1): SplitMix32, which is good enough to draw an order. */
export const generator = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return ((z ^ (z >>> 16)) >>> 0) / 4_294_967_296
  }
}

/** The Web Crypto API over a generator; only its randomness is simulated. */
export const cryptoOf = (random: () => number): typeof globalThis.crypto => {
  const hex = (digits: number) => Math.floor(random() * 16 ** digits).toString(16).padStart(digits, "0")
  return {
    getRandomValues: (into) => {
      if (into === null) return into
      const { buffer, byteLength, byteOffset } = into
      const bytes = new Uint8Array(buffer, byteOffset, byteLength)
      for (let at = 0; at < byteLength; at++) bytes[at] = Math.floor(random() * 256)
      return into
    },
    randomUUID: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`,
    subtle: globalThis.crypto.subtle
  }
}

/** The `Random` service over a generator. */
export const randomOf = (random: () => number): typeof Random.Random.Service => ({
  nextDoubleUnsafe: random,
  nextIntUnsafe: () => Math.floor(random() * 2 ** 53) - 2 ** 52
})

export class World {
  readonly #sleepers = new DelayHeap<() => void>()
  readonly #draw: (() => number) | undefined
  readonly #context: Context.Context<never>
  readonly clock: Clock.Clock
  /** A number in [0, 1). */
  readonly random: () => number
  #tasks: Array<Task> = []
  #head = 0
  #now: number
  /** Steps at the current time. */
  #steps = 0
  #moment = 0
  /** When a sleep ended last, how many have in a row, and since when. */
  #woken = 0
  #wakes = 0
  #since = 0
  #stopped: string | undefined

  /** `interleaving` 0 runs tasks in the order in which they arrived. */
  constructor(options: { readonly seed: number; readonly interleaving: number; readonly start?: number | undefined }) {
    this.#now = options.start ?? defaults.start
    this.#draw = options.interleaving === 0 ? undefined : generator(options.interleaving)
    const random = generator(options.seed)
    this.random = random
    this.clock = this.#clock()
    this.#context = Context.empty().pipe(
      Context.add(Clock.Clock, this.clock),
      Context.add(Scheduler.Scheduler, this.#scheduler()),
      // Nobody reads the spans.
      Context.add(References.TracerEnabled, false),
      Context.add(Random.Random, randomOf(random)),
      // `SecureRandom.layerWebCrypto` draws from it.
      Context.add(WebCrypto.WebCrypto, cryptoOf(random))
    )
  }

  /** Milliseconds. */
  get now(): number {
    return this.#now
  }

  /** Starts a program; it takes its first step with the next `settle`. */
  fork<A, E>(program: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.#context)(program)
  }

  /** Runs a program that needs no time to pass, to its end. */
  run<A, E>(program: Effect.Effect<A, E>): A {
    const fiber = this.fork(program)
    this.settle()
    const exit = fiber.pollUnsafe()
    if (exit === undefined) {
      throw new Error("the program waits for time to pass, or for something outside the simulation")
    }
    return Effect.runSync(exit)
  }

  /** Ends the run: the next step throws `Restless`. */
  stop(why: string): void {
    this.#stopped = why
  }

  /** Runs tasks until none can run. */
  settle(): void {
    for (let task = this.#take(); task !== undefined; task = this.#take()) {
      this.#step()
      task.run()
    }
  }

  /** Counts a task or the end of a sleep; sleeps of zero length do not move the clock. */
  #step(): void {
    if (this.#stopped !== undefined) throw new Restless(this.#stopped)
    if (this.#moment !== this.#now) this.#steps = 0
    this.#moment = this.#now
    if (++this.#steps > defaults.steps) throw new Restless(`${defaults.steps} steps while the clock stood still`)
  }

  /** A sleep ends. */
  #wake(): void {
    if (this.#now - this.#woken > defaults.breath) {
      this.#wakes = 0
      this.#since = this.#now
    }
    this.#woken = this.#now
    if (++this.#wakes <= defaults.sleepless) return
    const seconds = ((this.#now - this.#since) / 1_000).toFixed(1)
    throw new Restless(
      `something wakes ${defaults.sleepless} times in ${seconds} s, and never sleeps for longer than ${defaults.breath} ms`
    )
  }

  /** Lets time pass, sleeper by sleeper, each with all that follows from it. */
  advance(millis: number): void {
    const until = this.#now + millis
    this.settle()
    for (let next = this.#sleepers.peek(); next !== undefined && next.at <= until; next = this.#sleepers.peek()) {
      this.#now = Math.max(this.#now, next.at)
      this.#wake()
      this.#step()
      this.#sleepers.pop()!()
      this.settle()
    }
    this.#now = until
  }

  /** When the next sleeper wakes up. */
  get nextAt(): number | undefined {
    return this.#sleepers.peek()?.at
  }

  #take(): Task | undefined {
    const left = this.#tasks.length - this.#head
    if (left === 0) {
      this.#tasks.length = 0
      this.#head = 0
      return undefined
    }
    if (this.#draw === undefined || left === 1) return this.#tasks[this.#head++]
    // Picks one of the tasks that have the same priority as the first.
    let same = 1
    const { priority } = this.#tasks[this.#head]!
    while (same < left && this.#tasks[this.#head + same]!.priority === priority) same += 1
    const index = this.#head + Math.floor(this.#draw() * same)
    const task = this.#tasks[index]!
    this.#tasks[index] = this.#tasks[this.#head]!
    this.#head += 1
    return task
  }

  #push(task: Task): void {
    let at = this.#tasks.length
    while (at > this.#head && this.#tasks[at - 1]!.priority > task.priority) at -= 1
    if (at === this.#tasks.length) this.#tasks.push(task)
    else this.#tasks.splice(at, 0, task)
  }

  #scheduler(): Scheduler.Scheduler {
    return {
      executionMode: "async",
      shouldYield: (fiber) => {
        if (fiber.currentOpCount < fiber.cache.maxOpsBeforeYield) return false
        // A fiber that has run for this long without a pause has done the work of many steps.
        this.#steps += defaults.tireless
        return true
      },
      makeDispatcher: () => ({
        scheduleTask: (run, priority) => this.#push({ run, priority }),
        flush: () => this.settle()
      })
    }
  }

  #clock(): Clock.Clock {
    const millis = () => this.#now
    const nanos = () => BigInt(Math.floor(this.#now)) * 1_000_000n
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback<void>((resume) => {
          const wait = Math.max(0, Math.ceil(Duration.toMillis(duration)))
          const slot: Slot<() => void> = this.#sleepers.push(this.#now + wait, () => resume(Effect.void))
          return Effect.sync(() => this.#sleepers.remove(slot))
        })
    }
  }
}
