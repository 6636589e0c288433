/**
 * `Backoff`: delays between attempts, as data. The figures are here, the arithmetic is below, and the waiting is
 * elsewhere.
 */
export interface Backoff {
  /** First delay, in milliseconds. */
  readonly initial: number
  /** Each delay is the previous one times this. */
  readonly factor: number
  /** Upper limit of a delay, in milliseconds, before jitter. */
  readonly max: number
  /** Share of the delay that is added at random, at most: 1 means up to double. */
  readonly jitter: number
}

/** The delay before attempt `attempt` (1 for the first retry), in whole milliseconds; `random` is in [0, 1). */
export const delay = (backoff: Backoff, attempt: number, random: number): number =>
  Math.round(
    Math.min(backoff.max, backoff.initial * backoff.factor ** Math.max(0, attempt - 1)) * (1 + backoff.jitter * random)
  )
