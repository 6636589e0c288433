/** `Numbers`: counts and percentages in workloads, and statuses as Go encodes them. */
import * as KubeSchema from "@effect-operator/core/KubeSchema"
import type { IntOrString } from "../../kinds/common.ts"

/** A count, or a percentage of a total; 0 if it is neither. */
export const scaled = (value: IntOrString | undefined, total: number, round: "up" | "down"): number => {
  if (value === undefined || (typeof value === "string" && !/^\d+%$/.test(value))) return 0
  return KubeSchema.scaled(value, total, round)
}

/** A status without counts of 0, which Go omits, except for those it always includes. */
export const withoutZeros = <A extends object>(status: A, kept: ReadonlyArray<keyof A & string>): A => {
  const entries = Object.entries(status).filter(([key, value]) =>
    value !== undefined && !(Array.isArray(value) && value.length === 0) &&
    (value !== 0 || kept.some((name) => name === key))
  )
  return Object.fromEntries(entries) as A
}
