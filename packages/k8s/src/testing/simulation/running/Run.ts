/** `Run`: one run of a scenario under a plan of faults, from an empty cluster to its rest. */
import type { Scenario } from "../Scenario.ts"
import { none, type Plan } from "../recording/Fault.ts"
import { nowhere, type Recording } from "../recording/Recording.ts"
import * as Chance from "../world/Chance.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import { defaults as played, Play } from "./Play.ts"
import { Stage } from "./Stage.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a cluster that has come to rest is watched. */
  quiet: 60 * 60_000,
  /** The same, for one run among many. */
  shortQuiet: played.patience,
  /** With several replicas, which renew a lease every other second, only this fraction of it. */
  replicas: 1 / 12
} as const

export interface Options {
  /** Seed of everything drawn by chance: uids, generated names, jitter. */
  readonly seed: number
  /** How long the cluster is watched after it has come to rest, in milliseconds. */
  readonly quiet?: number | undefined
  /** Where the run continues from; an empty cluster by default. */
  readonly from?: Checkpoint | undefined
}

/** How many uses of real chance are reported. */
const told = 20

/** Does something on a stage that exists only for that. */
const onStage = <A>(
  scenario: Scenario,
  plan: Plan,
  { from, seed }: Options,
  act: (stage: Stage, play: Play) => A
): A => {
  // Nobody reads where in a program an effect was made, and recording it takes a tenth of a run.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const stage = new Stage(scenario, plan, seed, from)
  const { entries, world } = stage
  let uses = 0
  const release = Chance.guard({
    now: () => world.now,
    random: () => world.random(),
    found: (what, where) => {
      if (++uses <= told) entries.push({ _tag: "Chance", at: world.now, what, where })
    }
  })
  try {
    return act(stage, new Play(stage, plan, from))
  } finally {
    stage.end()
    release()
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Runs a scenario. Never throws: what goes wrong is in the recording. */
export const run = (scenario: Scenario, plan: Plan, options: Options): Recording => {
  const share = (scenario.replicas ?? 1) > 1 ? defaults.replicas : 1
  const { quiet = defaults.quiet } = options
  return onStage(scenario, plan, options, ({ entries, wire }, play) => {
    const outcome = play.play(quiet * share, Math.min(quiet, defaults.shortQuiet) * share)
    const { calls, events, externals, met } = wire
    return { ...outcome, entries, begun: options.from?.reach ?? nowhere, calls, events, externals, met }
  })
}

/** The state after the first steps of a scenario without faults, to continue from; undefined if there are none. */
export const upTo = (scenario: Scenario, steps: number, seed: number): Checkpoint | undefined =>
  steps === 0 ? undefined : onStage(scenario, none, { seed }, (_, play) => play.upTo(steps))

/**
 * The longest time, in milliseconds, in which nothing happens without faults before something does; undefined if the
 * cluster does not come to rest.
 */
export const lull = (scenario: Scenario, seed: number): number | undefined =>
  onStage(scenario, none, { seed }, (stage, play) => (play.play(0, 0).failure === undefined ? stage.lull : undefined))
