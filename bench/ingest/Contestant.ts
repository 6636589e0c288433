/** What every contestant of the ingest benchmarks is asked for, and what is measured of it. */
import type { Kind } from "../fixture/Objects.ts"

/** The fixture, and what it holds. */
export interface Task {
  readonly url: string
  readonly kind: Kind
  readonly objects: number
  readonly events: number
}

/** A client whose code is loaded. Nothing is sent before `list`. */
export interface Client {
  /** Completes when everything is in memory, and answers how many objects that is. */
  readonly list: () => Promise<number>
  /** Completes when the last event is taken in; `start` makes the server send them, once the watch is open. */
  readonly watch: (start: () => Promise<void>) => Promise<void>
}

export type Contestant = (task: Task) => Promise<Client>

/** Of one contestant in a process of its own. */
export interface Measured {
  /** Seconds of CPU, user and system, code loaded before. */
  readonly list: number
  readonly watch: number
  /** Bytes, of the whole process. */
  readonly peakRss: number
  /** Bytes on the heap and beside it for each object after a collection. */
  readonly retained: number
}
