/** One run of a scenario under a plan of faults, from an empty cluster to its rest. */
import * as Chance from "./Chance.ts"
import type { Plan } from "./Fault.ts"
import { defaults as played, Play } from "./Play.ts"
import type { Recording } from "./Recording.ts"
import type { Scenario } from "./Scenario.ts"
import { Stage } from "./Stage.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a cluster that has come to rest is watched. */
  quiet: 60 * 60_000,
  /** The same, of one run among many. */
  shortQuiet: played.patience,
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
    const outcome = new Play(stage, plan).play(quiet)
    const { calls, events, externals, met } = wire
    return { ...outcome, entries, calls, events, externals, met }
  } finally {
    stage.end()
    release()
    Error.stackTraceLimit = stackTraceLimit
  }
}
