/**
 * `TokenBucket`: on average `limit` per `interval`, evenly, and `limit` at once after a pause.
 *
 * Source: the generic cell rate algorithm (ITU-T I.371), which needs one number of state.
 */
export class TokenBucket {
  readonly #emission: number
  readonly #tolerance: number
  #arrival = -Infinity

  /** `interval` in milliseconds. */
  constructor(limit: number, interval: number) {
    this.#emission = interval / limit
    this.#tolerance = interval - this.#emission
  }

  /** When the next token can be taken. */
  get nextAt(): number {
    return this.#arrival - this.#tolerance
  }

  take(now: number): void {
    this.#arrival = Math.max(now, this.#arrival) + this.#emission
  }
}
