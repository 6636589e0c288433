/**
 * Expressions and what becomes of them, as tables.
 *
 * An outcome is written as a literal of the language where there is a value; `refused:` with place and words of every
 * issue, `no program:` or `fault:` with the words otherwise. The tables' outcomes and costs are those of the server.
 */
import { assert, it } from "@effect/vitest"
import { formatDouble } from "../../../src/cel/Conversions.ts"
import * as Environment from "../../../src/cel/Environment.ts"
import { fromJson } from "../../../src/cel/JsonValues.ts"
import { formatDuration, formatTimestamp } from "../../../src/cel/Time.ts"
import * as Types from "../../../src/cel/Types.ts"
import * as Values from "../../../src/cel/Values.ts"

export const self = { a: 1, b: { c: "x" }, l: [1, 2, 3], m: { k: "v" }, s: "hello" }

const environment = Environment.make({ self: Types.dyn })
const input = { self: fromJson(self) }

/** A value as a literal. */
export const literal = (value: Values.Value): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "number") return formatDouble(value).replace(/^(-?\d+)$/, "$1.0")
  if (value instanceof Values.Uint) return `${value.value}u`
  if (value instanceof Uint8Array) {
    return `b"${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join(" ")}"`
  }
  if (value instanceof Values.ListValue) return `[${value.toArray().map(literal).join(", ")}]`
  if (value instanceof Values.MapValue) {
    return `{${value.keys().map((key) => `${literal(key)}: ${literal(value.find(key)!)}`).sort().join(", ")}}`
  }
  if (value instanceof Values.Timestamp) return `timestamp(${formatTimestamp(value)})`
  if (value instanceof Values.Duration) return `duration(${formatDuration(value)})`
  if (value instanceof Values.TypeValue) return `type(${value.name})`
  if (value instanceof Values.Optional) return value.value === undefined ? "none" : `some(${literal(value.value)})`
  if (value instanceof Values.Opaque) return `${Values.typeName(value)}(${value.text})`
  return String(value)
}

/** Place and words of every issue, without the lines that show the place. */
const issues = (text: string): string =>
  [...text.matchAll(/ERROR: (?:<input>:)?(.*)/g)].map(([, words]) => words).join("; ") || text

export interface Outcome {
  readonly outcome: string
  readonly cost: number | undefined
}

export const outcome = (text: string): Outcome => {
  const made = Environment.compile(environment, text)
  if (made._tag === "Refused") return { outcome: `refused: ${issues(made.issues)}`, cost: undefined }
  const program = Environment.program(made.compiled)
  if (program instanceof Values.Fault) return { outcome: `no program: ${program.message}`, cost: undefined }
  const { cost, value } = program.run(input, 1_000_000)
  return value instanceof Values.Fault
    ? { outcome: `fault: ${value.message}`, cost: undefined }
    : { outcome: literal(value), cost }
}

/** Expression, outcome, and what a value cost. */
export type Row = readonly [expression: string, outcome: string, cost?: number]

/** One test for each row. */
export const table = (rows: ReadonlyArray<Row>): void => {
  for (const [expression, wanted, cost] of rows) {
    it(expression.length > 90 ? `${expression.slice(0, 90)}…` : expression, () => {
      assert.deepStrictEqual(outcome(expression), { outcome: wanted, cost })
    })
  }
}
