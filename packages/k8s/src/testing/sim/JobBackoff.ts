/**
 * `JobBackoff`: how long a Job waits before it replaces a failed Pod: 10 s, doubled with each further failure up to 10
 * min; a success resets it. Pure.
 *
 * Source: k8s.io/kubernetes/pkg/controller/job/backoff_utils.go.
 */
import type { Pod } from "../../kinds/core.v1.ts"
import { finishedAt } from "./JobPods.ts"

export const defaults = {
  /** The first and the maximum delay, in milliseconds. */
  first: 10_000,
  longest: 600_000
} as const

/** The number of failures since the last success, and the time of the last one. */
export interface Record {
  readonly failures: number
  readonly last: number
}

export const none: Record = { failures: 0, last: -Infinity }

/** The record after more Pods have finished. */
export const after = (record: Record, succeeded: ReadonlyArray<Pod>, failed: ReadonlyArray<Pod>): Record => {
  const success = Math.max(-Infinity, ...succeeded.map(finishedAt))
  const failures = failed.map(finishedAt).filter((time) => time > success)
  const since = succeeded.length > 0 ? none : record
  return failures.length === 0
    ? since
    : { failures: since.failures + failures.length, last: Math.max(...failures) }
}

/** The milliseconds left to wait. */
export const remaining = ({ failures, last }: Record, now: number): number =>
  failures === 0 ? 0 : Math.max(0, last + Math.min(defaults.longest, defaults.first * 2 ** (failures - 1)) - now)
