/** Many plans, some at a time, and what came of them all. */
import { Effect } from "effect"
import * as Fault from "./Fault.ts"
import * as Plan from "./Plan.ts"
import * as Run from "./Run.ts"

export interface Report {
  readonly plans: number
  readonly requests: number
  readonly changes: number
  readonly relists: number
  /** In how many plans each kind struck. */
  readonly struck: ReadonlyMap<Fault.Kind, number>
  /** Those with something wrong. */
  readonly divergent: ReadonlyArray<Run.Outcome>
}

export interface Options {
  readonly seeds: Iterable<number>
  /** Plans at a time. */
  readonly concurrency: number
  /** No further plan is begun once it is true. */
  readonly isOver?: (() => boolean) | undefined
  readonly onOutcome?: ((outcome: Run.Outcome) => void) | undefined
}

export const run = Effect.fnUntraced(function*({ concurrency, isOver, onOutcome, seeds }: Options) {
  const outcomes: Array<Run.Outcome> = []
  yield* Effect.forEach(
    seeds,
    (seed) =>
      Effect.suspend(() =>
        isOver?.() === true ? Effect.void : Effect.map(Run.run(Plan.make(seed)), (outcome) => {
          outcomes.push(outcome)
          onOutcome?.(outcome)
        })
      ),
    { concurrency, discard: true }
  )
  const sum = (of: (outcome: Run.Outcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0)
  return {
    plans: outcomes.length,
    requests: sum(({ requests }) => requests),
    changes: sum(({ changes }) => changes),
    relists: sum(({ relists }) => relists),
    struck: new Map(Fault.kinds.map((kind) => [kind, sum(({ struck }) => struck.has(kind) ? 1 : 0)] as const)),
    divergent: outcomes.filter(({ divergences }) => divergences.length > 0)
  } satisfies Report
})

/** A report for people. */
export const format = (report: Report): string =>
  [
    `${report.plans} plans, ${report.changes} changes, ${report.requests} requests, ${report.relists} relists`,
    `plans in which each fault struck: ${[...report.struck].map(([kind, count]) => `${kind} ${count}`).join(", ")}`,
    ...report.divergent.flatMap((
      { divergences, seed }
    ) => [`seed ${seed}:`, ...divergences.map((text) => `  ${text}`)]),
    `${report.divergent.length} divergences`
  ].join("\n")
