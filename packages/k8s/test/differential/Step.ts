/**
 * `Step`: one request of a sequence, written so that it makes sense on any server.
 *
 * What a server makes up (uids, resourceVersions, generated names, continue tokens) is named by reference:
 * `{{7,3:metadata.uid}}` in any text stands for that field in the answer to step 7, or to step 3 if step 7 failed;
 * `{{ns}}` is the sequence's namespace and `{{id}}` a word nobody else uses. Steps keep their ids when others are
 * dropped, so that a sequence can be shrunk; a reference to nothing is an empty text, on every server alike.
 */
import { at, isIndex } from "./Path.ts"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS"

/** A change of a JSON document; without `value` the field is removed. */
export interface Edit {
  readonly path: ReadonlyArray<string>
  readonly value?: unknown
}

export type Body =
  /** A JSON value; its strings may hold references. */
  | { readonly _tag: "Json"; readonly value: unknown }
  /** The object that the first of some earlier steps to succeed was answered with, changed: read, write back. */
  | { readonly _tag: "Edited"; readonly of: ReadonlyArray<number>; readonly edits: ReadonlyArray<Edit> }
  /** Any text; it may hold references. */
  | { readonly _tag: "Text"; readonly text: string }

export interface Step {
  readonly id: number
  readonly method: Method
  readonly path: string
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Body
  /** The answer is a stream of events, which the server ends. */
  readonly watch?: boolean
  /**
   * Asked again until the answer has this status: what was written before counts once a server has noticed. Or until
   * the path is served: a server that learns of other kinds makes its routes anew, and knows none of them meanwhile.
   */
  readonly until?: number | "served"
  /** Read this path consistently first: the answer may come from a cache that lags behind. */
  readonly settle?: string
}

export interface Sequence {
  readonly seed: number
  readonly steps: ReadonlyArray<Step>
}

/** An answer as it came, with its body parsed where it is JSON. */
export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Of a watch that began. */
  readonly events?: ReadonlyArray<unknown>
}

/** A request with all references resolved. */
export interface Wire {
  readonly method: Method
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly watch: boolean
}

/** What references are resolved with. */
export interface Context {
  readonly id: string
  readonly namespace: string
  readonly answers: ReadonlyMap<number, Answer>
}

/** The text of a reference to a field of the first of some answers to have succeeded. */
export const reference = (steps: ReadonlyArray<number>, ...path: ReadonlyArray<string>): string =>
  steps.length === 0 ? "" : `{{${steps.join(",")}:${path.join(".")}}}`

const pattern = /\{\{(?:(ns)|(id)|(-?\d+(?:,\d+)*):([^}]*))\}\}/g

/** The body of the first of the answers that is a success and more than a Status. */
const firstBody = (steps: ReadonlyArray<number>, { answers }: Context): unknown =>
  steps.map((step) => answers.get(step)).find((answer) =>
    answer !== undefined && answer.status >= 200 && answer.status < 300 && at(answer.body, ["kind"]) !== "Status"
  )?.body

const resolveText = (text: string, context: Context): string =>
  text.includes("{{")
    ? text.replace(pattern, (_, ns, id, steps, path) => {
      if (ns !== undefined) return context.namespace
      if (id !== undefined) return context.id
      const value = at(firstBody((steps as string).split(",").map(Number), context), (path as string).split("."))
      // An empty name would make another path of a path.
      if (value === undefined || value === null || typeof value === "object") {
        return path === "metadata.name"
          ? "none"
          : ""
      }
      return String(value)
    })
    : text

const resolveValue = (value: unknown, context: Context): unknown => {
  if (typeof value === "string") return resolveText(value, context)
  if (Array.isArray(value)) return value.map((item) => resolveValue(item, context))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [resolveText(key, context), resolveValue(item, context)])
  )
}

/** The document with one field changed; whatever is in the way is replaced by an object. */
const edited = (document: unknown, path: ReadonlyArray<string>, value: unknown): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (Array.isArray(document) && isIndex(key)) {
    const copy: Array<unknown> = [...document]
    const next = edited(copy[Number(key)], rest, value)
    if (next === undefined) copy.splice(Number(key), 1)
    else copy[Math.min(Number(key), copy.length)] = next
    return copy
  }
  const object = typeof document === "object" && document !== null && !Array.isArray(document) ? document : {}
  // Nothing is made of what is to be removed.
  if (value === undefined && !Object.hasOwn(object, key)) return document
  const next = edited((object as Readonly<Record<string, unknown>>)[key], rest, value)
  const { [key]: _, ...others } = object as Readonly<Record<string, unknown>>
  return next === undefined ? others : { ...object, [key]: next }
}

/** The document after all edits. */
export const edit = (document: unknown, edits: ReadonlyArray<Edit>): unknown =>
  edits.reduce((current, { path, value }) => edited(current, path, value), document)

const bodyText = (body: Body, context: Context): string => {
  switch (body._tag) {
    case "Json":
      return JSON.stringify(resolveValue(body.value, context))
    case "Text":
      return resolveText(body.text, context)
    case "Edited": {
      // A client that reads and writes back leaves the owners of fields to the server.
      const read = edit(firstBody(body.of, context) ?? {}, [{ path: ["metadata", "managedFields"] }])
      const edits = body.edits.map((change) => resolveValue(change, context) as Edit)
      return JSON.stringify(edit(read, edits) ?? null)
    }
  }
}

/** The request that a step is, after the answers so far. */
export const resolve = (step: Step, context: Context): Wire => {
  const query = new URLSearchParams(
    step.query.map(([name, value]) => [name, resolveText(value, context)] as [string, string])
  ).toString()
  const path = resolveText(step.path, context)
  return {
    method: step.method,
    path: query === "" ? path : `${path}?${query}`,
    headers: resolveValue(step.headers, context) as Wire["headers"],
    body: step.body === undefined ? undefined : bodyText(step.body, context),
    watch: step.watch === true
  }
}

/** The steps whose answers a step needs. */
export const needs = (step: Step): ReadonlyArray<number> => {
  const found = new Set<number>(
    [...JSON.stringify(step).matchAll(pattern)].flatMap((match) =>
      match[3] === undefined ? [] : match[3].split(",").map(Number)
    )
  )
  return [...found, ...(step.body?._tag === "Edited" ? step.body.of : [])]
}
