/** `Rewrite`: how an answer is brought to another form, in all places or in some. */
import type { Answer, Step } from "./Step.ts"

export type Rewrite = (answer: Answer, step: Step) => Answer

export type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value with every object in it changed, from the inside out. */
export const objects = (value: unknown, f: (object: Json) => Json): unknown =>
  Array.isArray(value)
    ? value.map((item) => objects(item, f))
    : isObject(value)
    ? f(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, objects(item, f)])))
    : value

export const everywhere = (f: (object: Json) => Json): Rewrite => (answer) => ({
  ...answer,
  body: objects(answer.body, f),
  ...(answer.events === undefined ? {} : { events: answer.events.map((event) => objects(event, f)) })
})

export const without = (object: Json, ...keys: ReadonlyArray<string>): Json =>
  keys.some((key) => key in object)
    ? Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
    : object

/** Every `message`, of a Status or a cause, rewritten. */
export const messages = (pattern: RegExp, replacement: string): Rewrite =>
  everywhere((object) =>
    typeof object["message"] === "string"
      ? { ...object, message: object["message"].replace(pattern, replacement) }
      : object
  )

/** Drops fields wherever a path of keys ends in one of the given ones, which are written with spaces between. */
export const fields = (...paths: ReadonlyArray<string>): Rewrite => {
  const wanted = paths.map((path) => path.split(" "))
  const drop = (value: unknown, at: ReadonlyArray<string>): unknown => {
    if (Array.isArray(value)) return value.map((item) => drop(item, at))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, item]) => {
        const here = [...at, key]
        const tail = (path: ReadonlyArray<string>) =>
          path.length <= here.length && path.every((part, index) => part === here[here.length - path.length + index])
        return wanted.some(tail) ? [] : [[key, drop(item, here)]]
      })
    )
  }
  return (answer) => ({
    ...answer,
    body: drop(answer.body, []),
    ...(answer.events === undefined ? {} : { events: answer.events.map((event) => drop(event, [])) })
  })
}

/** Without the causes that are chosen. */
export const withoutCauses = (chosen: (field: string, message: string) => boolean): Rewrite =>
  everywhere((object) =>
    Array.isArray(object["causes"])
      ? {
        ...object,
        causes: object["causes"].filter(({ field, message }: Json) => !chosen(String(field), String(message)))
      }
      : object
  )

/** Only for paths of requests that match. */
export const forPath = (pattern: RegExp, apply: Rewrite): Rewrite => (answer, step) =>
  pattern.test(step.path) ? apply(answer, step) : answer

/** Every cell of the tables in an answer, changed. */
export const cells = (change: (cell: unknown) => unknown): Rewrite =>
  everywhere((object) => Array.isArray(object["cells"]) ? { ...object, cells: object["cells"].map(change) } : object)

export const reasons = (from: string, to: string): Rewrite =>
  everywhere((object) => object["reason"] === from ? { ...object, reason: to } : object)

export const isStatus = (answer: Answer): boolean => isObject(answer.body) && answer.body["kind"] === "Status"

export const withoutIndices = (text: string): string => text.replace(/(?<=[\w\]])\[\d+\]/g, "")

/** A table without the columns that came later, or went, and with restarts as text. */
export const tables = (object: Json): Json => {
  const { columnDefinitions, rows } = object
  if (!Array.isArray(rows) || !Array.isArray(columnDefinitions)) return object
  const names = columnDefinitions.map((column: Json) => column["name"])
  const newer = new Set(
    names.includes("Completions") ? ["Status", "Selector"] : ["VolumeAttributesClass", "RequestedDuration", "Secrets"]
  )
  const restarts = names.indexOf("Restarts")
  const kept = <A>(list: ReadonlyArray<A>): ReadonlyArray<A> =>
    list.filter((_, index) => !newer.has(names[index] as string))
  return {
    ...object,
    columnDefinitions: kept(
      columnDefinitions.map((column: Json, index) => index === restarts ? { ...column, type: "string" } : column)
    ),
    rows: rows.map((row: Json) => ({
      ...row,
      cells: kept(
        (row["cells"] as ReadonlyArray<unknown>).map((cell, index) => index === restarts ? String(cell) : cell)
      )
    }))
  }
}
