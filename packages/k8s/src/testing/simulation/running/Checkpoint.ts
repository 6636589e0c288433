/**
 * `Checkpoint`: a cluster at rest in the middle of a story, from which a run can continue: what is stored, the state
 * outside, and the recording so far. A run that continues from it does so as if every process of the operator had died
 * and restarted: only what a process left in the cluster and outside is kept, not what it remembers.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Image } from "../../ApiServer.ts"
import type { Entry, Failure, Reach } from "../recording/Recording.ts"
import { hash } from "../world/Seed.ts"

export interface Checkpoint {
  /** The virtual time, in milliseconds. */
  readonly at: number
  readonly image: Image
  /** What is stored, by place, without what the server had from its start. */
  readonly stored: ReadonlyMap<string, KubeObject>
  /** It is changed in place, so each run needs a copy. */
  readonly outside: ReadonlyMap<string, unknown>
  readonly untouched: ReadonlyMap<string, unknown>
  readonly entries: ReadonlyArray<Entry>
  readonly reach: Reach
  /** When each step was taken. */
  readonly steps: ReadonlyArray<number>
  /** Number of processes so far. */
  readonly lives: number
  /** Why no run can continue from here. */
  readonly failure: Failure | undefined
}

/** The seed for randomness after a checkpoint: the previous seed would draw the previous names again. */
export const seedOf = (seed: number, from: Checkpoint | undefined): number =>
  from === undefined ? seed : hash(`${seed} after ${from.steps.length}`)
