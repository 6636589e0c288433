/** `Excuses`: what has happened in a run that is not the operator's fault. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { hasFailed } from "./Ends.ts"
import { blinds, type Kind } from "./Fault.ts"
import type { Recording } from "./Recording.ts"

/** Whether a run has met a fault. */
export const met = (run: Recording, fault: Kind): boolean =>
  run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === fault)

/** The times from which the operator was shown an old cluster. */
export const blinded = (run: Recording): ReadonlyArray<number> =>
  run.entries.flatMap((entry) => (entry._tag === "Fault" && blinds(entry.point) ? [entry.at] : []))

/** Number of faults after which the operator was shown an old cluster. */
export const blindings = (run: Recording): number => blinded(run).length

/**
 * How long, in milliseconds, the operator is shown an old cluster: half a minute from the start of a process, which
 * takes a second.
 */
export const blindFor = 32_000

/**
 * Whether somebody took an object from its owner: what becomes of it is then no longer the operator's business. Nor are
 * the results of work that failed, because an operator that does not retry leaves them to people.
 */
export const taken = (run: Recording): boolean => run.abandoned !== undefined || met(run, "orphaned") || hasFailed(run)

/** Whether an object says in its status that it waits for somebody to approve what is wanted. */
export const awaitsApproval = (object: KubeObject): boolean => {
  const { conditions = [], ...status } =
    (object as { readonly status?: { readonly conditions?: ReadonlyArray<Readonly<Record<string, unknown>>> } })
      .status ?? {}
  const waiting = (value: unknown): boolean =>
    typeof value === "string"
      ? /(?:wait|need|requir|pending|not).*approv|approv.*(?:wait|need|requir|pending|missing)/i.test(value)
      : typeof value === "object" && value !== null && Object.values(value).some(waiting)
  return waiting(status) ||
    conditions.some(({ message, reason, status, type }) =>
      (status === "True" && waiting(type)) || (/^approved$/i.test(String(type)) && status !== "True") ||
      [reason, message].some(waiting)
    )
}

/** Whether people have asked for an object to be left alone, in its spec or its annotations. */
export const isPaused = (object: KubeObject): boolean => {
  const spec = (object as { readonly spec?: Readonly<Record<string, unknown>> }).spec
  return Object.entries({ ...object.metadata.annotations, ...spec }).some(([key, value]) =>
    /paus|suspend|unmanaged/i.test(key) && value !== false && value !== "false"
  )
}
