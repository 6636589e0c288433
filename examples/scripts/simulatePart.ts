/**
 * Explores an example, or a part of the exploration, in the calling thread or in one thread per part.
 *
 * The number of threads does not change what is explored: a seed always has the same parts, and a divergence is
 * replayed by its token.
 */
import { Simulation } from "@effect-operator/k8s/testing"
import { Effect } from "effect"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { scenarios } from "../test/support/Scenarios.ts"

/** The whole exploration as a single part. */
export const undivided: Simulation.Part = { index: 0, of: 1 }

/** Parses a part: "3/4" is the third of four. Undefined if the text is not a part. */
export const partOf = (text: string): Simulation.Part | undefined => {
  const [, nth, of] = /^(\d{1,4})\/(\d{1,4})$/.exec(text)?.map(Number) ?? []
  return nth === undefined || of === undefined || nth < 1 || nth > of ? undefined : { index: nth - 1, of }
}

/** The share of thread `i` in a part. */
export const shareOf = (part: Simulation.Part, i: number, threads: number): Simulation.Part => ({
  index: part.index + i * part.of,
  of: part.of * threads
})

export interface Asked {
  readonly example: string
  readonly options: Simulation.Options
}

/** The outcome, as plain data. */
export type Outcome =
  | { readonly _tag: "Converges"; readonly report: Simulation.ConvergenceReport }
  | {
    readonly _tag: "Diverges"
    readonly message: string
    readonly oracle: string
    readonly replay: string
    readonly html: string
    readonly runs: number
    readonly coverage: Simulation.Coverage | undefined
  }

export const explore = ({ example, options }: Asked): Effect.Effect<Outcome> =>
  Effect.suspend(() => {
    const scenario = scenarios.find(({ name }) => name === example)!
    return Simulation.checkConvergence(scenario, options)
  }).pipe(
    Effect.match({
      onSuccess: (report): Outcome => ({ _tag: "Converges", report }),
      onFailure: ({ coverage, html, message, oracle, replay, runs }): Outcome => ({
        _tag: "Diverges",
        message,
        oracle,
        replay,
        html: html(),
        runs,
        coverage
      })
    })
  )

const inThread = (asked: Asked): Effect.Effect<Outcome> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: asked })
    worker.once("message", (outcome: Outcome) => resume(Effect.succeed(outcome)))
    worker.once("error", (error) => resume(Effect.die(error)))
    return Effect.promise(() => worker.terminate())
  })

/** Explores in this many threads, and stops at the first part that diverges. */
export const exploreInThreads = (asked: Asked, threads: number): Effect.Effect<Outcome> => {
  if (threads === 1) return explore(asked)
  const parts = Array.from({ length: threads }, (_, index) => {
    const runs = Math.ceil((asked.options.runs ?? Simulation.defaults.runs) / threads)
    const part = shareOf(asked.options.part ?? undivided, index, threads)
    return inThread({ ...asked, options: { ...asked.options, runs, part } })
  })
  const converging = (it: Outcome) => it._tag === "Converges"
  return Effect.forEach(parts, Effect.filterOrFail(converging, (it) => it), { concurrency: "unbounded" }).pipe(
    Effect.map((all): Outcome => ({
      _tag: "Converges",
      report: Simulation.together(all.map(({ report }) => report))
    })),
    Effect.catch((diverges) => Effect.succeed(diverges))
  )
}

/** The figures of an exploration, for programs: every name is there, and null where there is nothing to tell. */
export const figuresOf = ({ example, options }: Asked, outcome: Outcome, seconds: number) => {
  const diverges = outcome._tag === "Diverges" ? outcome : undefined
  const coverage = outcome._tag === "Converges" ? outcome.report : outcome.coverage
  const runs = outcome._tag === "Converges" ? outcome.report.runs : outcome.runs
  return {
    example,
    seed: options.seed ?? null,
    runs,
    runsPerSecond: Math.round(runs / seconds),
    points: coverage?.points ?? null,
    exhaustive: coverage?.exhaustive ?? null,
    complete: coverage?.complete ?? null,
    coverage: coverage ?? null,
    divergent: diverges !== undefined,
    replay: diverges?.replay ?? null
  }
}

if (!isMainThread) parentPort?.postMessage(await Effect.runPromise(explore(workerData as Asked)), [])
