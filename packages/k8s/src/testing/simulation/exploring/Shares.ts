/**
 * `Shares`: how long each of several stories is explored, of the time there is for all.
 *
 * Each has the same of what is left. But a story is told without faults before there are any, several times, and where its
 * share does for little more than that, little is found out by it: then it has longer, and the last ones are not told. In the
 * first one faults have as long as what comes before them also where no time is left, as on a machine that has much else to
 * do: a story that is told without faults alone says next to nothing.
 */

export const defaults = {
  /** Faults have so many times as long, at least, as what comes before them, as long as there is time, */
  faults: 3,
  /** and so many times where there is none, in the first story. */
  late: 1
} as const

export interface Shares {
  /** Whether the next story may go on, asked before each of its runs with a fault; nothing if it is not to begin. */
  readonly next: () => (() => boolean) | undefined
}

/** The shares of so many stories, in milliseconds of a clock. */
export const make = (now: () => number, until: number, stories: number): Shares => {
  let left = stories
  return {
    next: () => {
      const begun = now()
      if (left === 0 || (left < stories && begun >= until)) return undefined
      const share = begun + (until - begun) / left
      const isFirst = left === stories
      left -= 1
      let ready: number | undefined
      return () => {
        const at = now()
        ready ??= at
        const before = ready - begun
        const longer = Math.min(until, ready + defaults.faults * before)
        return at < Math.max(share, longer, isFirst ? ready + defaults.late * before : 0)
      }
    }
  }
}
