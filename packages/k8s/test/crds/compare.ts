/** What may differ between what a server of release 1.20 and one of 1.35 make of a sample, and nothing else. */
import type { Outcome } from "./Outcome.ts"

interface Normalisation {
  readonly reason: string
  readonly pattern: RegExp
  readonly by: string
}

/** Of a cause. */
const wordings: ReadonlyArray<Normalisation> = [
  { reason: "paths go through lists with an index since 1.22", pattern: /\[\d+\]/g, by: "" },
  {
    reason: "the number of properties found is told, not the one allowed",
    pattern: /value: \d+(?=: \S+ in body should have at)/g,
    by: "value: N"
  },
  {
    reason: "too long and too many have their own words since 1.26",
    pattern: /^([^:]*): (?:Too (?:long|many): .*|Invalid value: .* should (?:be|have) at most .*)$/s,
    by: "$1: too much"
  },
  {
    reason: "values are JSON since 1.31, were Go before",
    pattern: /map\[string\]interface \{\}|(?<=["\d]),? (?=")/g,
    by: ""
  },
  { reason: "as above", pattern: /(?<=["\d]),(?=")/g, by: "" },
  {
    reason: "a missing type of an embedded object had a detail",
    pattern: /(Required value): must not be empty$/,
    by: "$1"
  }
]

/** Causes that one of the two does not have. */
const absent: ReadonlyArray<Omit<Normalisation, "by">> = [
  {
    reason: "rules came with 1.25, and with them that they were not checked",
    pattern: /^<nil>: Invalid value: null: some validation rules were not checked/
  },
  {
    reason: "the real server of these tests takes empty strings of custom objects for null",
    pattern: /must be of type string: "null"$/
  },
  {
    reason: "what is in an object of too many properties is judged, too, since the server has a validator of its own",
    pattern: /^spec\.provider\.aws\.(?:region: Invalid value: "integer"|service: Required value)/
  },
  // Without the index two items with one fault each are one.
  {
    reason: "paths go through lists with an index since 1.22",
    pattern: /spec\.hostnames(?:\[\d+\])? in body should match/
  }
]

const cause = (text: string): string => wordings.reduce((out, { by, pattern }) => out.replace(pattern, by), text)

const withoutRules = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutRules)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      key === "x-kubernetes-validations" ? [] : [[key, withoutRules(item)]]
    )
  )
}

/** The outcome without what may differ. */
export const comparable = (outcome: Outcome, refusals: number) => ({
  // Rules of schemas came with 1.25.
  spec: withoutRules(outcome.spec),
  // Each is another controller's; which comes first is chance.
  conditions: [...outcome.conditions].sort(),
  resources: outcome.resources,
  taken: outcome.taken,
  refused: outcome.refused.slice(0, refusals).map(({ causes, status }) => ({
    status,
    causes: [...new Set(causes.filter((text) => !absent.some(({ pattern }) => pattern.test(text))).map(cause))].sort()
  }))
})
