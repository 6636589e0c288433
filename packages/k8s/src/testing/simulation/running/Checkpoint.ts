/**
 * `Checkpoint`: a cluster at rest in the middle of a story, to go on from: what is stored, what there is outside, what
 * was recorded up to there. Whoever goes on from it does so as after a rest in which every process of the operator died
 * and started again: what a process remembers cannot be kept, only what it left in the cluster and outside.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Image } from "../../ApiServer.ts"
import type { Entry, Failure, Reach } from "../recording/Recording.ts"
import { hash } from "../world/Seed.ts"

export interface Checkpoint {
  /** The virtual time, in milliseconds. */
  readonly at: number
  readonly image: Image
  /** What is stored, by place, but for what the server had from its start. */
  readonly stored: ReadonlyMap<string, KubeObject>
  /** Changes in place: each run needs a copy. */
  readonly outside: ReadonlyMap<string, unknown>
  readonly entries: ReadonlyArray<Entry>
  readonly reach: Reach
  /** When each step was taken. */
  readonly steps: ReadonlyArray<number>
  /** Processes there were. */
  readonly lives: number
  /** Why nobody can go on. */
  readonly failure: Failure | undefined
}

/** What chance is drawn from after it: with the seed of before the names of before would be drawn again. */
export const seedOf = (seed: number, from: Checkpoint | undefined): number =>
  from === undefined ? seed : hash(`${seed} after ${from.steps.length}`)
