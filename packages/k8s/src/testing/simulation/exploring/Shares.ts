/**
 * `Shares`: how much of the budget each of several stories gets.
 *
 * Each gets the same part of what is left. But every story is first run several times without faults, and if its share
 * is enough for little more than that, little is found. Then it gets longer, and the last stories are left out. In the
 * first story, faults get as long as what comes before them even if the budget is used up, as on a busy machine: a
 * story without faults tells next to nothing.
 */

export const defaults = {
  /** While there is time, faults get at least this many times as long as what comes before them, */
  faults: 3,
  /** and in the first story this many times when there is none. */
  late: 1
} as const

export interface Shares {
  /** For the next story: whether it may go on, asked before each run with a fault. Undefined if it must not begin. */
  readonly next: () => (() => boolean) | undefined
}

/** The shares of a number of stories; `now` and `until` are in milliseconds. */
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
