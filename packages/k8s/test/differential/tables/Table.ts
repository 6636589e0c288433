/**
 * `Table`: requests that are written down rather than drawn: paths, parameters and headers have few interesting values,
 * each of which is worth a request in every run.
 *
 * A table is run like a sequence, in a namespace of its own, but told in full: no row waits for those before it to be
 * equal. Rows may use `{{ns}}`, `{{id}}` and references to the answers of earlier rows by their numbers, from 1.
 */
import type { Body, Method, Step } from "../Step.ts"

export interface Table {
  readonly name: string
  readonly steps: ReadonlyArray<Step>
}

/** A request; what is absent is as a plain client has it. */
export interface Row {
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  readonly until?: number
}

const json = { accept: "application/json" }

export const of = (name: string, rows: ReadonlyArray<Row>): Table => ({
  name,
  steps: rows.map(({ body, headers, method, path, until }, index) => ({
    id: index + 1,
    method,
    path,
    query: [],
    headers: { ...json, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body }),
    ...(until === undefined ? {} : { until }),
    // A path that asks for one in any way.
    ...(/\bwatch\b/.test(path) ? { watch: true } : {})
  }))
})

type Headers = Row["headers"]

/** A request without a body. */
export const ask = (method: Method, path: string, headers: Headers = {}): Row => ({ method, path, headers })

export const get = (path: string, headers: Headers = {}): Row => ask("GET", path, headers)

/** A request with a JSON body. */
export const send = (method: Method, path: string, value: unknown, headers: Headers = {}): Row => ({
  method,
  path,
  headers,
  body: { _tag: "Json", value }
})

/** A request with any text as its body. */
export const text = (method: Method, path: string, text: string, headers: Headers = {}): Row => ({
  method,
  path,
  headers,
  body: { _tag: "Text", text }
})
