/** `Coverage`: how much of the possible runs was explored. */

/** How much was explored, by kind of fault. */
export interface Coverage {
  /** Number of single faults that were found, and of those that were run. */
  readonly points: number
  readonly run: number
  /**
   * Number of steps that a run with a fault at a request, event or outside call lives through; undefined: the whole
   * story.
   */
  readonly window: number | undefined
  /** Every single fault was run. */
  readonly exhaustive: boolean
  /** Nothing that was asked for (of this part, if there are parts) was left out for lack of runs or time. */
  readonly complete: boolean
  readonly byFault: Readonly<Record<string, { readonly found: number; readonly run: number }>>
  /** Runs without a fault, in another order of tasks. */
  readonly interleavings: number
  /** Runs that single faults of different steps shared. */
  readonly pools: number
  /** Runs with several faults. */
  readonly deeper: number
  /** Of those, runs in which an earlier fault changed the course, so that a later one was not met. */
  readonly unmet: number
  /** Number of different histories of requests and answers. */
  readonly histories: number
  /**
   * Fields of custom resources that no step changes, such as `Autoscaler.spec.image`: the exploration says nothing
   * about changes there.
   */
  readonly unchanged: ReadonlyArray<string>
}

/** The combined coverage of several stories. */
export const joined = (parts: ReadonlyArray<Coverage>): Coverage => {
  const byFault: Record<string, { readonly found: number; readonly run: number }> = {}
  for (const part of parts) {
    for (const [kind, { found, run }] of Object.entries(part.byFault)) {
      const before = byFault[kind] ?? { found: 0, run: 0 }
      byFault[kind] = { found: before.found + found, run: before.run + run }
    }
  }
  const sum = (of: (part: Coverage) => number) => parts.reduce((total, part) => total + of(part), 0)
  return {
    points: sum(({ points }) => points),
    run: sum(({ run }) => run),
    window: parts[0]?.window,
    exhaustive: parts.every(({ exhaustive }) => exhaustive),
    complete: parts.every(({ complete }) => complete),
    byFault,
    interleavings: sum(({ interleavings }) => interleavings),
    pools: sum(({ pools }) => pools),
    deeper: sum(({ deeper }) => deeper),
    unmet: sum(({ unmet }) => unmet),
    histories: sum(({ histories }) => histories),
    unchanged: (parts[0]?.unchanged ?? []).filter((field) => parts.every(({ unchanged }) => unchanged.includes(field)))
  }
}

/** How often faults of a kind were run. */
export const timesRun = (parts: ReadonlyArray<Coverage>): (kind: string) => number => {
  const { byFault } = joined(parts)
  return (kind) => byFault[kind]?.run ?? 0
}

/**
 * The combined coverage of the parts of one exploration. For histories it takes the largest number of any part, because
 * parts may see the same ones.
 */
export const together = (parts: ReadonlyArray<Coverage>): Coverage => {
  const sum = joined(parts)
  const points = sum.points / parts.length
  const byFault = Object.fromEntries(
    Object.entries(sum.byFault).map(([kind, { found, run }]) => [kind, { found: found / parts.length, run }])
  )
  const histories = Math.max(0, ...parts.map(({ histories }) => histories))
  return { ...sum, points, byFault, histories, exhaustive: sum.run === points }
}
