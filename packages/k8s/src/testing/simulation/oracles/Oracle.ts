/**
 * `Oracle`: what a run with faults must have in common with the run without.
 *
 * Each looks at a whole recording, and says in one sentence what is wrong, or nothing. Your own oracles are made with
 * `Temporal`, or are any function of a recording.
 */
import type { Recording } from "../recording/Recording.ts"
import type { Reference } from "../running/Reference.ts"

export interface Oracle {
  readonly name: string
  readonly judge: (run: Recording, reference: Reference) => string | undefined
}
