/**
 * `Benchmark`: a figure and its baseline, both measured in the same run.
 *
 * Machines are shared and noisy, so an absolute figure says little: every goal is a bound on a ratio. Contestants are
 * measured in turns, one round of each after the other, and the medians are compared.
 */
import * as Effect from "effect/Effect"

/** The result of a benchmark. `ratio` is `value / baseline`. */
export interface Result {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly baseline: number
  readonly ratio: number
  /** A bound on the ratio, such as `<= 1.3`, or on the value itself, with its unit: `<= 4 us`. */
  readonly goal: string
  readonly met: boolean
  /** Whether it is worse than noise explains. */
  readonly alarming: boolean
}

/** How thorough a run is: `quick` does a fraction of the work, for a machine that checks every change. */
export interface Effort {
  readonly quick: boolean
}

export interface Benchmark {
  readonly name: string
  /** Left out of a quick run, unless selected by name: it takes long, or a short run is meaningless. */
  readonly long?: true
  readonly run: (effort: Effort) => Effect.Effect<ReadonlyArray<Result>>
}

/** A bound on the ratio, or with `of` on the value, in its unit. */
export type Goal = ({ readonly atMost: number } | { readonly atLeast: number }) & { readonly of?: "value" }

/** A figure that exceeds its goal and the usual value by this factor is not noise. */
const noise = 1.6

export const result = (fields: {
  readonly name: string
  readonly unit: string
  readonly value: number
  readonly baseline: number
  readonly goal: Goal
  /** The ratio that is usually reached, if that misses the goal or the goal is not about the ratio. */
  readonly usual?: number
}): Result => {
  const { baseline, goal, name, unit, usual, value } = fields
  const ratio = value / baseline
  const judged = goal.of === "value" ? value : ratio
  const upper = "atMost" in goal
  const bound = upper ? goal.atMost : goal.atLeast
  return {
    name,
    value: round(value),
    unit,
    baseline: round(baseline),
    ratio: round(ratio),
    goal: `${upper ? "<=" : ">="} ${bound}${goal.of === "value" ? ` ${unit}` : ""}`,
    met: upper ? judged <= bound : judged >= bound,
    alarming: usual === undefined
      ? goal.of !== "value" && (upper ? ratio > bound * noise : ratio < bound / noise)
      : (upper ? ratio > usual * noise : ratio < usual / noise)
  }
}

const round = (value: number): number => Number(value.toPrecision(4))

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** For figures that random effects, such as how a process was compiled, can only increase. */
export const least = (values: ReadonlyArray<number>): number => Math.min(...values)

/** Runs the contestants in turns; returns the median of each one's results, or what `of` computes, in their order. */
export const inTurns = <const A extends ReadonlyArray<Effect.Effect<number>>>(
  rounds: number,
  contestants: A,
  of: (values: ReadonlyArray<number>) => number = median
): Effect.Effect<{ readonly [K in keyof A]: number }> =>
  Effect.gen(function*() {
    const found = contestants.map((): Array<number> => [])
    for (let round = 0; round < rounds; round++) {
      for (const [index, contestant] of contestants.entries()) found[index]!.push(yield* contestant)
    }
    return found.map(of) as unknown as { readonly [K in keyof A]: number }
  })

/** The CPU time of this process that an effect takes, in microseconds. */
export const cpuMicros = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    const before = process.cpuUsage()
    return Effect.map(effect, () => {
      const { system, user } = process.cpuUsage(before)
      return system + user
    })
  })

/** Used bytes on the heap, after a full garbage collection if the process was started with `--expose-gc`. */
export const heapBytes: Effect.Effect<number> = Effect.sync(() => {
  const { gc } = globalThis as { readonly gc?: () => void }
  gc?.()
  gc?.()
  return process.memoryUsage().heapUsed
})
