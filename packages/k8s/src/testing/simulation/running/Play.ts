/**
 * `Play`: plays the story of a scenario on a stage, step by step, with the faults that a plan has for the time around
 * its steps.
 *
 * The next step is taken when the cluster has come to rest. After the last one, when nothing moves any more, a quiet
 * period passes in which nothing should happen.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Declared from "../../Declared.ts"
import type { Step } from "../Scenario.ts"
import { guard, isElection, isNone, isRead, type Plan, type Point, type StepFault } from "../recording/Fault.ts"
import type { Entry, Failure, Recording, Rest } from "../recording/Recording.ts"
import { copyOf } from "../state/Outside.ts"
import { Restless, Unsound } from "../world/World.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import type { Stage } from "./Stage.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a process is away that misses a step. */
  away: 5_000,
  /** Longer than any delay between retries, so whoever polls every few minutes has polled by then. */
  patience: 20 * 60_000
} as const

/** Disturbances at rest, at most one after each step: what they do, and how they read. */
const disturbances: Partial<Record<StepFault, { readonly act: (stage: Stage) => void; readonly what: string }>> = {
  podFailed: {
    act: ({ others, world }) => void world.fork(others.mischief("podFailed", undefined)),
    what: "a Pod is lost"
  },
  podRemoved: {
    act: ({ others, world }) => void world.fork(others.mischief("podRemoved", undefined)),
    what: "a Pod is lost"
  },
  annotated: {
    act: ({ others, world }) => void world.fork(others.annotate),
    what: "somebody annotates what people and the operator have made"
  },
  stranger: {
    act: (stage) => {
      stage.world.fork(stage.others.settle)
      stage.restart()
    },
    what: "somebody else has created objects"
  },
  restarted: { act: (stage) => stage.restart(), what: "the process starts again" }
}

/** What a recording says about the story, besides what the stage and the wire count. */
export type Played = Omit<Recording, "entries" | "begun" | "calls" | "events" | "externals" | "met">

/** An object without the finalizer of somebody else, which the scenario does not know. */
const unguarded = (object: KubeObject): KubeObject => {
  const { finalizers, ...metadata } = object.metadata
  if (finalizers?.includes(guard) !== true) return object
  const own = finalizers.filter((finalizer) => finalizer !== guard)
  return { ...object, metadata: own.length === 0 ? metadata : { ...metadata, finalizers: own } }
}

/** What was thrown, and where in the scenario: the frames below are always the same. */
const told = (defect: unknown): string => {
  if (!(defect instanceof Error)) return String(defect)
  const lines = (defect.stack ?? String(defect)).split("\n")
  const end = lines.findIndex((line) => /^\s+at .*running\/Play\.[jt]s/.test(line))
  return lines.slice(0, end < 0 ? undefined : end).join("\n")
}

export class Play {
  readonly #stage: Stage
  readonly #plan: Plan
  /** Number of steps that were taken before. */
  readonly #given: number
  /** When each step was taken. */
  readonly #steps: Array<number>
  readonly #hurried: Array<number> = []
  readonly #rested: Array<Rest | undefined>
  readonly #missed: Array<string> = []
  readonly #unnoticed: Array<string> = []
  #abandoned: string | undefined
  #failure: Failure | undefined
  #quietAt: number | undefined
  #restless: ReadonlyArray<Entry> = []
  #objects: ReadonlyArray<KubeObject> = []
  #outside: ReadonlyMap<string, unknown> = new Map()
  /** What people may still be doing: one step may begin within another. */
  #taken: ReadonlyArray<Fiber.Fiber<unknown, unknown>> = []
  /** The objects before the last step. */
  #before: ReadonlyArray<KubeObject> = []

  constructor(stage: Stage, plan: Plan, from?: Checkpoint) {
    this.#stage = stage
    this.#plan = plan
    this.#given = from?.steps.length ?? 0
    this.#steps = [...from?.steps ?? []]
    this.#rested = this.#steps.map(() => undefined)
    this.#failure = from?.failure
  }

  /** Takes the first `length` steps, and returns where they lead. */
  upTo(length: number): Checkpoint {
    this.#attempt(() => this.#all(length))
    return this.#stage.leave(this.#steps, this.#failure)
  }

  /** Plays the whole story and the `quiet` milliseconds after it; the end state is taken after `ending` of these. */
  play(quiet: number, ending: number): Played {
    this.#attempt(() => {
      this.#all(this.#stage.scenario.steps.length)
      this.#end()
      if (this.#failure === undefined) this.#watch(quiet, ending)
    })
    const { scenario } = this.#stage
    return {
      kinds: Declared.stored(scenario.resources).map(({ kind }) => kind),
      keeps: scenario.keeps ?? [],
      objects: this.#objects,
      outside: this.#outside,
      untouched: this.#stage.wire.outside.untouched,
      rests: this.#rested,
      missed: this.#missed,
      unnoticed: this.#unnoticed,
      abandoned: this.#abandoned,
      restless: this.#restless,
      failure: this.#failure,
      steps: this.#steps,
      hurried: this.#hurried,
      quietAt: this.#quietAt
    }
  }

  #attempt(act: () => void): void {
    if (this.#failure !== undefined) return
    try {
      act()
    } catch (defect) {
      this.#failure = defect instanceof Unsound
        ? { _tag: "Unsound", message: defect.message }
        : { _tag: "Restless", message: defect instanceof Restless ? `hot loop: ${defect.message}` : String(defect) }
    }
  }

  /** Takes the steps before that number, except the given ones. */
  #all(end: number): void {
    this.#begin()
    for (const [index, step] of this.#stage.scenario.steps.slice(0, end).entries()) {
      if (index < this.#given) continue
      if (this.#failure === undefined) this.#step(index, step)
      if (this.#failure !== undefined) return
      this.#remember(index)
    }
  }

  #begin(): void {
    const stage = this.#stage
    const { replicas = 1 } = stage.scenario
    this.#turn(-1)
    for (let replica = 0; replica < replicas; replica++) stage.start(replica)
    stage.world.advance(1_000)
    if (this.#given > 0) this.#rests("where the story begins, after the process has started again")
    else if (replicas > 1) stage.rest()
    stage.hurry = Effect.suspend(() => this.#hurry())
  }

  /** From here on it is this step's turn, with its faults from the plan. */
  #turn(index: number): void {
    const { pooled } = this.#plan
    if (pooled !== undefined) this.#stage.wire.arm(pooled.get(index) ?? [])
  }

  /** Takes a step, unless it was already taken early, and waits for its consequences. */
  #step(index: number, step: Step): void {
    const told = this.#steps.length === index ? this.#act(index, step) : () => true
    if (!this.#finishes(step)) return
    if (!this.#rests(`after "${step.name}"`)) return
    told()
    this.#look(index, step)
    this.#remove(index, step)
    if (this.#failure === undefined) this.#disturb(index, step)
  }

  /** Begins a step. Returns a function that records whether it could be done. */
  #act(index: number, step: Step): () => boolean {
    const stage = this.#stage
    const { wire, world } = stage
    this.#turn(index)
    const absent = this.#faultAt(index, "absent")
    const away = absent ?? this.#faultAt(index, "away")
    if (away !== undefined) {
      wire.happens(away)
      stage.restart(defaults.away)
      world.settle()
    }
    const guarded = this.#faultAt(index, "guarded")
    if (guarded !== undefined) wire.happens(guarded)
    const together = this.#faultAt(index, "together")
    if (together !== undefined) wire.happens(together)
    const then = guarded !== undefined
      ? stage.others.guard
      : (together ?? absent) === undefined
      ? Effect.void
      : stage.hurry
    const { told } = this.#take({ ...step, act: Effect.tap(step.act, () => then) })
    world.advance(1)
    told()
    return told
  }

  /** People begin a step; `told` says whether they succeeded, and records if not. */
  #take({ act, name }: Step): { readonly fiber: Fiber.Fiber<unknown, unknown>; readonly told: () => boolean } {
    const stage = this.#stage
    const { world } = stage
    this.#before = this.#shown(stage.objects())
    stage.begin()
    this.#steps.push(world.now)
    const place = stage.entries.length
    const made: Array<string> = []
    const said = { _tag: "Step", at: world.now, name, failed: undefined, made } as const
    stage.note(said)
    const fiber = world.fork(Effect.provideContext(act, stage.making((uid) => made.push(uid))))
    this.#taken = [...this.#taken, fiber]
    const told = () => {
      const exit = fiber.pollUnsafe()
      if (exit === undefined || Exit.isSuccess(exit)) return true
      stage.entries[place] = { ...said, failed: String(Cause.squash(exit.cause)) }
      return false
    }
    return { fiber, told }
  }

  /** What people do may take time, also if nothing else happens meanwhile; if it does not end, the story ends here. */
  #finishes({ name }: Step): boolean {
    const ended = () => {
      this.#taken = this.#taken.filter((fiber) => fiber.pollUnsafe() === undefined)
      return this.#taken.length === 0
    }
    if (this.#stage.passes(ended)) return true
    // Without faults, nothing but the step itself keeps it from ending.
    this.#failure = {
      _tag: isNone(this.#plan) ? "Unsound" : "Restless",
      message: `step ${JSON.stringify(name)} does not end: what people do is waited for`
    }
    return false
  }

  /** Takes the next step at once; a step that cannot be done yet is done at its own time. */
  #hurry(): Effect.Effect<void> {
    const step = this.#stage.scenario.steps[this.#steps.length]
    if (step === undefined) return Effect.void
    const { fiber, told } = this.#take(step)
    return Effect.andThen(
      Effect.raceFirst(Effect.exit(Fiber.await(fiber)), Effect.sleep(1)),
      Effect.sync(() => {
        if (told()) this.#hurried.push(this.#steps.length - 1)
        else this.#steps.pop()
      })
    )
  }

  /** Lets the cluster come to rest; if it does not, the story ends here. */
  #rests(when: string): boolean {
    if (this.#stage.rest()) return true
    this.#failure = { _tag: "Restless", message: `the cluster does not come to rest ${when}` }
    return false
  }

  /** Remembers the state before the next step, if that waits. */
  #remember(index: number): void {
    const { scenario, wire } = this.#stage
    if (index + 1 === scenario.steps.length) return
    const outside = copyOf(wire.outside) as ReadonlyMap<string, unknown>
    this.#rested.push(this.#steps.length === index + 1 ? { objects: this.#stage.objects(), outside } : undefined)
  }

  /**
   * Checks whether the cluster is as it should be, in the scenario's words. If the next step did not wait, nothing is
   * checked.
   */
  #look(index: number, step: Step): void {
    const waited = this.#steps.length === index + 1
    if (waited && this.#isAstray(step, this.#stage.objects())) this.#missed.push(step.name)
  }

  /** The objects without what the scenario does not know: traces of other parties. */
  #shown(objects: ReadonlyArray<KubeObject>): ReadonlyArray<KubeObject> {
    const { others } = this.#stage
    return objects.filter((object) => !others.isLeft(object)).map(unguarded)
  }

  #isAstray({ desired, name }: Step, objects: ReadonlyArray<KubeObject>): boolean {
    if (desired === undefined) return false
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 10
    let is: unknown
    try {
      is = desired(this.#shown(objects), this.#before, this.#stage.wire.outside)
    } catch (defect) {
      throw new Unsound(`\`desired\` of step ${JSON.stringify(name)} threw ${told(defect)}`)
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
    // With a wrong operator, a chain of optional fields may result in undefined.
    if (is === undefined && isNone(this.#plan)) {
      throw new Unsound(`\`desired\` of step ${JSON.stringify(name)} returned undefined: it must return true or false`)
    }
    return !is
  }

  /** Somebody removes by hand what the operator created; it must come again. */
  #remove(index: number, step: Step): void {
    const stage = this.#stage
    // The next step may have removed what the object was for.
    if (this.#steps.length > index + 1) return
    const gone = stage.others.remove()
    if (gone === undefined) return
    stage.wire.happens({ _tag: "Call", at: gone.n, fault: "removed" })
    if (!this.#rests(`when ${gone.name} is removed after "${step.name}"`)) return
    if (!gone.again()) stage.world.advance(defaults.patience)
    if (!gone.again()) {
      stage.restart()
      if (stage.rest() && gone.again()) this.#unnoticed.push(gone.name)
      else this.#abandoned = gone.name
    }
    this.#look(index, step)
  }

  /** Applies the plan's faults for the time after a step. */
  #disturb(index: number, step: Step): void {
    for (const fault of Object.keys(disturbances) as ReadonlyArray<StepFault>) {
      const point = this.#faultAt(index, fault)
      if (point === undefined) continue
      const { act, what } = disturbances[fault]!
      this.#stage.wire.happens(point)
      act(this.#stage)
      if (this.#rests(`when ${what} after "${step.name}"`)) this.#look(index, step)
      return
    }
  }

  /** Records the end state. */
  #end(): void {
    this.#objects = this.#stage.objects()
    this.#outside = copyOf(this.#stage.wire.outside) as ReadonlyMap<string, unknown>
  }

  /**
   * The quiet period. What happens every hour is not part of the end state: few of the compared runs are watched for
   * that long.
   */
  #watch(quiet: number, ending: number): void {
    const { entries, scenario, world } = this.#stage
    const from = entries.length
    this.#quietAt = world.now
    world.advance(ending)
    this.#end()
    world.advance(quiet - ending)
    this.#restless = entries.slice(from).filter((entry) =>
      entry._tag === "Call" && !isRead(entry.request) && !isElection(entry.request)
    )
    const last = scenario.steps.at(-1)
    if (last !== undefined && this.#missed.length === 0 && this.#isAstray(last, this.#stage.objects())) {
      this.#missed.push(`${last.name}, some time later`)
    }
  }

  #faultAt(index: number, fault: StepFault): Point | undefined {
    return this.#plan.points.find((point) => point._tag === "Step" && point.at === index + 1 && point.fault === fault)
  }
}
