/** `Excuses`: what has happened in a run that nobody can blame its operator for. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { hasFailed } from "./Ends.ts"
import { blinds, type Kind } from "./Fault.ts"
import type { Recording } from "./Recording.ts"

/** Whether a run has met a fault. */
export const met = (run: Recording, fault: Kind): boolean =>
  run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === fault)

/** When the operator began to be shown an old cluster. */
export const blinded = (run: Recording): ReadonlyArray<number> =>
  run.entries.flatMap((entry) => (entry._tag === "Fault" && blinds(entry.point) ? [entry.at] : []))

/** Faults after which the operator was shown an old cluster. */
export const blindings = (run: Recording): number => blinded(run).length

/** For how long it is shown that, in milliseconds: half a minute from the start of a process, which takes a second. */
export const blindFor = 32_000

/**
 * Somebody took an object from its owner: what becomes of it is not the operator's business any more. Nor is what failed
 * work was to come to: whoever does not try again leaves it to people.
 */
export const taken = (run: Recording): boolean => run.abandoned !== undefined || met(run, "orphaned") || hasFailed(run)

/** Whether people have asked for an object to be left alone: it says so in its spec or its annotations. */
export const isPaused = (object: KubeObject): boolean => {
  const spec = (object as { readonly spec?: Readonly<Record<string, unknown>> }).spec
  return Object.entries({ ...object.metadata.annotations, ...spec }).some(([key, value]) =>
    /paus|suspend|unmanaged/i.test(key) && value !== false && value !== "false"
  )
}
