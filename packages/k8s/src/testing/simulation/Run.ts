/**
 * One run of a scenario under a plan of faults, from an empty cluster to its rest.
 *
 * After the last step, when nothing moves any more, a quiet time passes in which nothing should happen.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Chance from "./Chance.ts"
import { guard, isLease, type Plan, type StepFault } from "./Fault.ts"
import type { Entry, Recording } from "./Recording.ts"
import type { Scenario, Step } from "./Scenario.ts"
import { Stage } from "./Stage.ts"
import { Restless } from "./World.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a cluster that has come to rest is watched. */
  quiet: 60 * 60_000,
  /** The same, of one run among many: longer than any delay between retries. */
  shortQuiet: 20 * 60_000,
  /** How long a process is away that does not see a step. */
  away: 5_000,
  /** Of several replicas, who renew a lease every other second: only so much of it. */
  replicas: 1 / 12
} as const

export interface Options {
  /** Seed of everything drawn by chance: uids, generated names, jitter. */
  readonly seed: number
  /** How long the cluster is watched after it has come to rest, in milliseconds. */
  readonly quiet?: number | undefined
}

/** Uses of real chance that are told of. */
const told = 20

/** An object as it is without the finalizer of somebody else, which a scenario knows nothing of. */
const unguarded = (object: KubeObject): KubeObject => {
  const { finalizers, ...metadata } = object.metadata
  if (finalizers?.includes(guard) !== true) return object
  const own = finalizers.filter((finalizer) => finalizer !== guard)
  return { ...object, metadata: own.length === 0 ? metadata : { ...metadata, finalizers: own } }
}

const live = (
  stage: Stage,
  plan: Plan,
  quiet: number
): Omit<Recording, "entries" | "calls" | "events" | "externals" | "met"> => {
  const { entries, scenario, wire, world } = stage
  const steps: Array<number> = []
  const hurried: Array<number> = []
  let quietAt: number | undefined
  let failure: string | undefined
  let restless: ReadonlyArray<Entry> = []
  const missed: Array<string> = []
  const unnoticed: Array<string> = []
  let abandoned = false
  let objects: ReadonlyArray<KubeObject> = []
  try {
    for (let replica = 0; replica < (scenario.replicas ?? 1); replica++) stage.start(replica)
    world.advance(1_000)
    if ((scenario.replicas ?? 1) > 1) stage.rest()
    let before: ReadonlyArray<KubeObject> = []
    const faultAt = (step: number, fault: StepFault) =>
      plan.points.find((point) => point._tag === "Step" && point.at === step && point.fault === fault)
    const take = ({ act, name }: Step) => {
      before = stage.objects().map(unguarded)
      stage.begin()
      steps.push(world.now)
      const fiber = world.fork(Effect.provideContext(act, stage.people))
      const told = () => {
        const exit = fiber.pollUnsafe()
        const failed = exit !== undefined && Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : undefined
        stage.note({ _tag: "Step", at: world.now, name, failed })
        return failed === undefined
      }
      return { fiber, told }
    }
    stage.hurry = Effect.gen(function*() {
      const step = scenario.steps[steps.length]
      if (step === undefined) return
      const { fiber, told } = take(step)
      yield* Effect.raceFirst(Effect.exit(Fiber.await(fiber)), Effect.sleep(1))
      // What cannot be done yet is done at its time.
      if (told()) hurried.push(steps.length - 1)
      else steps.pop()
    })
    for (const [index, step] of scenario.steps.entries()) {
      if (steps.length === index) {
        const away = faultAt(index + 1, "away")
        if (away !== undefined) {
          wire.happens(away)
          stage.restart(defaults.away)
          world.settle()
        }
        const guarded = faultAt(index + 1, "guarded")
        if (guarded !== undefined) wire.happens(guarded)
        const { told } = take(guarded === undefined ? step : { ...step, act: Effect.tap(step.act, () => stage.guard) })
        world.advance(1)
        told()
      }
      if (!stage.rest()) {
        failure = `the cluster does not come to rest after "${step.name}"`
        break
      }
      // Whoever could not wait does not look, either.
      const look = () => {
        const waited = steps.length === index + 1
        if (waited && step.desired?.(stage.objects().map(unguarded), before, wire.outside) === false) {
          missed.push(step.name)
        }
      }
      look()
      const gone = stage.remove()
      if (gone !== undefined) {
        wire.happens({ _tag: "Call", at: gone.n, fault: "removed" })
        const rested = stage.rest()
        // Who looks every few minutes has not looked yet.
        if (rested && !gone.again()) world.advance(defaults.shortQuiet)
        if (rested && !gone.again()) {
          stage.restart()
          if (stage.rest() && gone.again()) unnoticed.push(gone.name)
          else abandoned = true
        }
        if (!rested) {
          failure = `the cluster does not come to rest when ${gone.name} is removed after "${step.name}"`
          break
        }
        if (!abandoned) look()
      }
      const lost = faultAt(index + 1, "podFailed") ?? faultAt(index + 1, "podRemoved")
      if (lost?.fault === "podFailed" || lost?.fault === "podRemoved") {
        wire.happens(lost)
        world.fork(stage.mischief(lost.fault, undefined))
        if (!stage.rest()) {
          failure = `the cluster does not come to rest when a Pod is lost after "${step.name}"`
          break
        }
        look()
        continue
      }
      const restart = faultAt(index + 1, "restarted")
      if (restart === undefined) continue
      wire.happens(restart)
      stage.restart()
      if (!stage.rest()) {
        failure = `the cluster does not come to rest when the process starts again after "${step.name}"`
        break
      }
      look()
    }
    objects = stage.objects()
    if (failure === undefined) {
      const from = entries.length
      quietAt = world.now
      world.advance(quiet)
      restless = entries.slice(from).filter((entry) =>
        entry._tag === "Call" && entry.request.method !== "GET" && !isLease(entry.request.path)
      )
      objects = stage.objects()
      const last = scenario.steps.at(-1)
      if (missed.length === 0 && last?.desired?.(objects.map(unguarded), before, wire.outside) === false) {
        missed.push(`${last.name}, some time later`)
      }
    }
  } catch (defect) {
    failure = defect instanceof Restless ? `hot loop: ${defect.message}` : String(defect)
  }
  const kinds = scenario.resources.map(({ kind }) => kind)
  return {
    kinds,
    keeps: scenario.keeps ?? [],
    objects,
    outside: wire.outside,
    missed,
    unnoticed,
    abandoned,
    restless,
    failure,
    steps,
    hurried,
    quietAt
  }
}

/** Runs a scenario. Never throws: what goes wrong is in the recording. */
export const run = (scenario: Scenario, plan: Plan, options: Options): Recording => {
  // Nobody reads where in a program an effect was made, and finding out takes a tenth of a run.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const stage = new Stage(scenario, plan, options.seed)
  const { entries, wire, world } = stage
  let uses = 0
  const release = Chance.guard({
    now: () => world.now,
    random: () => world.random(),
    found: (what, where) => {
      if (++uses <= told) entries.push({ _tag: "Chance", at: world.now, what, where })
    }
  })
  try {
    const quiet = (options.quiet ?? defaults.quiet) * ((scenario.replicas ?? 1) > 1 ? defaults.replicas : 1)
    const outcome = live(stage, plan, quiet)
    const { calls, events, externals, met } = wire
    return { ...outcome, entries, calls, events, externals, met }
  } finally {
    stage.end()
    release()
    Error.stackTraceLimit = stackTraceLimit
  }
}
