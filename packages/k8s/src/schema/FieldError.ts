/**
 * `FieldError`: a fault in a field, in the words of an API server.
 *
 * A validation returns a list of them. `toCause` turns each into an entry of `status.details.causes`; `aggregate` joins
 * them for the `Status` message. Paths are in Kubernetes' form: `spec.containers[0].name`, `metadata.labels[a/b]`.
 *
 * Source: k8s.io/apimachinery/pkg/util/validation/field/errors.go and util/errors (NewAggregate), release 1.35.
 */
import type { StatusCause } from "@effect-operator/core/Status"
import * as GoInt64 from "./GoInt64.ts"

/** The type of fault. `TypeInvalid` prints as `Invalid value`, but has its own reason in a cause. */
export type Type =
  | "Required"
  | "Invalid"
  | "TypeInvalid"
  | "NotSupported"
  | "Duplicate"
  | "Forbidden"
  | "TooLong"
  | "TooMany"
  | "NotFound"
  | "InternalError"

/** A fault of one field. */
export interface FieldError {
  readonly type: Type
  /** The path; `<nil>` or `[]` if the server has none. */
  readonly field: string
  /** The refused value. Absent if the server does not print it. */
  readonly value?: unknown
  /** The value's text if it differs from that of `printValue` (for a Go type that is not JSON, such as `0x0`). */
  readonly printed?: string
  /** The explanation; `""` for none. */
  readonly detail: string
}

/** The value does not have the type in the schema. */
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: "TypeInvalid",
  field,
  value,
  detail
})

/** A value referred to does not exist. */
export const notFound = (field: string, value: unknown): FieldError => ({ type: "NotFound", field, value, detail: "" })

/** A value is missing. */
export const required = (field: string, detail: string): FieldError => ({ type: "Required", field, detail })

/** A value that must be unique is repeated. */
export const duplicate = (field: string, value: unknown): FieldError => ({
  type: "Duplicate",
  field,
  value,
  detail: ""
})

/** The value is malformed or out of bounds. */
export const invalid = (field: string, value: unknown, detail: string): FieldError => ({
  type: "Invalid",
  field,
  value,
  detail
})

/** As `duplicate`, for a value whose text is given. */
export const duplicatePrinted = (field: string, printed: string): FieldError => ({
  type: "Duplicate",
  field,
  printed,
  detail: ""
})

/** As `invalid`, for a value whose text is given. */
export const invalidPrinted = (field: string, printed: string, detail: string): FieldError => ({
  type: "Invalid",
  field,
  printed,
  detail
})

/** As `invalid`, without the value, which the server does not print either. */
export const invalidOmitted = (field: string, detail: string): FieldError => ({ type: "Invalid", field, detail })

/** The value is none of `supported`. */
export const notSupported = (field: string, value: unknown, supported: ReadonlyArray<string>): FieldError => ({
  type: "NotSupported",
  field,
  value,
  detail: supported.length === 0 ? "" : `supported values: ${supported.map(quote).join(", ")}`
})

/** The value must not be set under the present conditions. */
export const forbidden = (field: string, detail: string): FieldError => ({ type: "Forbidden", field, detail })

/** The value has more than `max` bytes; the value itself is not shown, and neither is a negative `max`. */
export const tooLong = (field: string, max: number): FieldError => ({
  type: "TooLong",
  field,
  detail: max < 0 ? "value is too long" : `may not be more than ${max} ${max === 1 ? "byte" : "bytes"}`
})

/** The list or map has `actual` entries, more than `max`. A negative `actual` is not shown. */
export const tooMany = (field: string, actual: number, max: number): FieldError => ({
  type: "TooMany",
  field,
  ...(actual < 0 ? {} : { value: actual }),
  detail: max < 0 ? "has too many items" : `must have at most ${max} ${max === 1 ? "item" : "items"}`
})

/** The server failed to check the value. */
export const internalError = (field: string, detail: string): FieldError => ({ type: "InternalError", field, detail })

const words: { readonly [T in Type]: string } = {
  Required: "Required value",
  Invalid: "Invalid value",
  TypeInvalid: "Invalid value",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  Forbidden: "Forbidden",
  TooLong: "Too long",
  TooMany: "Too many",
  NotFound: "Not found",
  InternalError: "Internal error"
}

/** What is wrong, without the field: the `message` of a cause. */
export const body = (error: FieldError): string => {
  const value = error.printed ?? ("value" in error ? printValue(error.value) : undefined)
  return words[error.type] + (value === undefined ? "" : `: ${value}`) +
    (error.detail === "" ? "" : `: ${error.detail}`)
}

/** The whole text: `spec.replicas: Invalid value: -1: must be greater than or equal to 0`. */
export const format = (error: FieldError): string => `${error.field}: ${body(error)}`

/** The entry in `status.details.causes`. */
export const toCause = (error: FieldError): StatusCause => ({
  reason: error.type === "InternalError" ? "InternalError" : `FieldValue${error.type}`,
  message: body(error),
  // Go omits an empty string from the JSON.
  ...(error.field === "" ? {} : { field: error.field })
})

/** Joins texts as Go's `NewAggregate` does: one unchanged, several in brackets, without duplicates. */
export const aggregateTexts = (texts: ReadonlyArray<string>): string => {
  const unique = [...new Set(texts)]
  return unique.length === 1 ? unique[0]! : `[${unique.join(", ")}]`
}

/** The errors joined for a `Status` message. `""` for none. */
export const aggregate = (errors: ReadonlyArray<FieldError>): string =>
  errors.length === 0 ? "" : aggregateTexts(errors.map(format))

/** A value as the server prints it: strings quoted, numbers and booleans bare, everything else as JSON. */
export const printValue = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return quote(value)
    case "number":
      return printNumber(value)
    default:
      return goJson(value)
  }
}

/** A string in Go's `%q`: printable characters as they are, everything else escaped. */
export const quote = (text: string): string => {
  let out = "\""
  for (const char of text) {
    out += char === "\"" || char === "\\" ? `\\${char}` : isPrintable(char) ? char : escape(char)
  }
  return `${out}"`
}

/** Go's `unicode.IsPrint`, of one character. */
export const isPrintable = (char: string): boolean => /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char)

const shortEscapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v"
}

const escape = (char: string): string => {
  const short = shortEscapes[char]
  if (short !== undefined) return short
  const code = char.codePointAt(0)!
  const hex = (width: number) => code.toString(16).padStart(width, "0")
  return code < 0x80 ? `\\x${hex(2)}` : code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`
}

/**
 * A number as Go prints an int64, or a float64 with `%v`: with an exponent below 1e-4 and, for fractions, from 1e6 up.
 */
const printNumber = (value: number): string => {
  if (GoInt64.is(value)) return BigInt(value).toString()
  const [mantissa, power] = value.toExponential().split("e") as [string, string]
  const exponent = Number(power)
  if (exponent >= -4 && exponent < 6) return String(value)
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}

/** JSON as Go's encoding/json writes a map: keys sorted, `<`, `>` and `&` escaped. */
export const goJson = (value: unknown): string => goText(value, true)

/** As `goJson`, with the keys in their own order. */
export const goJsonInOrder = (value: unknown): string => goText(value, false)

const goText = (value: unknown, sorts: boolean): string => {
  if (Array.isArray(value)) return `[${value.map((item) => goText(item, sorts)).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    if (sorts) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    return `{${entries.map(([name, item]) => `${goText(name, sorts)}:${goText(item, sorts)}`).join(",")}}`
  }
  if (typeof value === "string") {
    return JSON.stringify(value).replace(
      /[<>&\u2028\u2029]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
    )
  }
  return value === undefined ? "null" : JSON.stringify(value)
}
