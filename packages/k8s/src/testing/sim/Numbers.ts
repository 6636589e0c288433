/** `Numbers`: amounts as workloads write them, and counts as Go writes them. */
import type { IntOrString } from "../../kinds/common.ts"

/** An amount, or a percentage of a total; 0 where it is neither. */
export const scaled = (value: IntOrString | undefined, total: number, round: "up" | "down"): number => {
  if (value === undefined) return 0
  if (typeof value === "number") return value
  const percent = /^(\d+)%$/.exec(value)
  if (percent === null) return 0
  const exact = Number(percent[1]) * total / 100
  return round === "up" ? Math.ceil(exact) : Math.floor(exact)
}

/** A status without the counts that are 0, which Go leaves out, but for those it always writes. */
export const withoutZeros = <A extends object>(status: A, kept: ReadonlyArray<keyof A & string>): A => {
  const entries = Object.entries(status).filter(([key, value]) =>
    value !== undefined && !(Array.isArray(value) && value.length === 0) &&
    (value !== 0 || kept.some((name) => name === key))
  )
  return Object.fromEntries(entries) as A
}
