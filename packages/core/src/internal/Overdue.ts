/**
 * `Overdue`: reports reconciles that do not end.
 *
 * A reconcile without a timeout that waits for what never comes holds a worker and its object forever, and logs
 * nothing: to everybody else the operator is up, ready and idle. So a reconcile that runs longer than `first` is
 * reported, and again each time its age has doubled, until it ends: a handful of lines, however long it takes.
 */
import * as Duration from "effect/Duration"

export const defaults = {
  /** How long a reconcile may run before it is reported, and how often that is checked, in milliseconds. */
  first: 120_000
} as const

export class Overdue {
  /** When the run of a key started, and the age in milliseconds at which it is reported next. */
  readonly #told = new Map<string, { readonly since: number; readonly next: number }>()

  /** The keys to report now, with their ages in milliseconds. `processing` has the start of each key. */
  due(processing: ReadonlyMap<string, number>, now: number): ReadonlyArray<readonly [key: string, age: number]> {
    for (const [key, { since }] of this.#told) if (processing.get(key) !== since) this.#told.delete(key)
    const due: Array<readonly [string, number]> = []
    for (const [key, since] of processing) {
      const age = now - since
      if (age < (this.#told.get(key)?.next ?? defaults.first)) continue
      this.#told.set(key, { since, next: age * 2 })
      due.push([key, age])
    }
    return due
  }
}

/** The log line about a key. */
export const line = (key: string, age: number, workers: number, timeout: Duration.Duration | undefined): string =>
  `${key}: its reconcile has been running for ${
    Duration.format(Duration.seconds(Math.floor(age / 1000)))
  } and occupies ` +
  `one of ${workers} ${workers === 1 ? "worker" : "workers"}; the object is not reconciled again until it ends. ` + (
    timeout === undefined
      ? "Give the controller a `timeout`, or look for an Effect that never completes"
      : `Its timeout is ${Duration.format(timeout)}: lower that, or look for an Effect that cannot be interrupted`
  )
