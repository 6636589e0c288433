/** The interface of the contestants in the ingest benchmarks, and what is measured. */
import type { Kind } from "../fixture/Objects.ts"

/** The fixture and its contents. */
export interface Task {
  readonly url: string
  readonly kind: Kind
  readonly objects: number
  readonly events: number
}

/** A client with its code loaded. It sends nothing before `list`. */
export interface Client {
  /** Completes when everything is in memory, and returns the number of objects. */
  readonly list: () => Promise<number>
  /** Completes when the last event is processed; `start`, called once the watch is open, makes the server send them. */
  readonly watch: (start: () => Promise<void>) => Promise<void>
}

export type Contestant = (task: Task) => Promise<Client>

/** The measurements of one contestant in its own process. */
export interface Measured {
  /** Seconds of CPU, user and system, excluding the loading of code. */
  readonly list: number
  readonly watch: number
  /** Bytes, of the whole process. */
  readonly peakRss: number
  /** Bytes per object, on the heap and outside it, after a garbage collection. */
  readonly retained: number
}
