/**
 * `Mask`: what two servers cannot have in common is made comparable, nothing else.
 *
 * Made-up values are named by the order in which they appear: the third uid a sequence sees is `<uid 3>` on both
 * servers. A resourceVersion becomes its rank among the versions of the objects seen so far: writes of other sequences,
 * which move the revision on, do not show, but order and equality do, and what differs does not reach back. The version
 * of a list is the rank of the newest object it can know. Times of the day of the run are `<now>`; those a client gave stay.
 */
import { at } from "./Path.ts"
import type { Answer } from "./Step.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g
const age = /^(?:\d+[smhdy]){1,2}$|^<invalid>$/
const poolAddress = /^10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+$/

/** Where a message has a resourceVersion or a revision. */
const versionTexts = [
  /(resource version: )(\d+)/g,
  /(current: )(\d+)/g,
  /(ResourceVersion in (?:the precondition|record) \()(\d+)/g,
  /(too old resource version: \d+ \()(\d+)/g
]

/** Every value in a document with the keys to it, in the order of sorted keys. */
const walk = (
  value: unknown,
  path: ReadonlyArray<string>,
  visit: (value: unknown, path: ReadonlyArray<string>) => void
): void => {
  visit(value, path)
  if (Array.isArray(value)) value.forEach((item, index) => walk(item, [...path, String(index)], visit))
  else if (isObject(value)) { for (const key of Object.keys(value).sort()) walk(value[key], [...path, key], visit) }
}

interface Seen {
  readonly uids: Map<string, string>
  readonly names: Map<string, string>
  readonly versions: Set<number>
}

const isList = (document: unknown): boolean =>
  isObject(document) && ("items" in document || "rows" in document) && isObject(document["metadata"])

const suffix = /[bcdfghjklmnpqrstvwxz2456789]{5}$/

/** A name that a server made of a prefix (58 characters of it at most) and five characters. */
const generatedName = (name: unknown, seen: Seen, of: (prefix: string) => boolean): void => {
  if (typeof name !== "string" || !suffix.test(name) || seen.names.has(name)) return
  const prefix = name.slice(0, -5)
  if (of(prefix)) seen.names.set(name, `${prefix}<name ${seen.names.size + 1}>`)
}

const ofPrefix = (generateName: unknown) => (prefix: string): boolean =>
  typeof generateName === "string" &&
  (prefix === generateName || (prefix.length >= 58 && generateName.startsWith(prefix)))

/** `naming`: this answers a request for a made-up name; one that was refused shows it in its details only. */
const collect = (document: unknown, seen: Seen, naming: boolean, versions = true): void =>
  walk(document, [], (value, path) => {
    // Messages of decoders quote what they please.
    if (typeof value === "string" && path.at(-1) !== "message") {
      for (const [found] of value.matchAll(uuid)) {
        if (!seen.uids.has(found)) seen.uids.set(found, `<uid ${seen.uids.size + 1}>`)
      }
    }
    if (naming && path.at(-1) === "details" && isObject(value)) generatedName(value["name"], seen, () => true)
    if (path.at(-1) !== "metadata" || !isObject(value)) {
      return
    }
    const { resourceVersion } = value
    const ofList = path.length === 1 && isList(document)
    if (typeof resourceVersion === "string" && /^\d+$/.test(resourceVersion) && !ofList && versions) {
      seen.versions.add(Number(resourceVersion))
    }
    generatedName(value["name"], seen, ofPrefix(value["generateName"]))
  })

/** Where a list has its items, or a table its rows. */
const partOf = (document: Json): "items" | "rows" | undefined =>
  (["items", "rows"] as const).find((key) => key in document)

/** The name of an item, or of what a row tells of. */
const nameOf = (item: unknown): string =>
  String(at(item, ["metadata", "name"]) ?? at(item, ["object", "metadata", "name"]) ?? at(item, ["cells", "0"]) ?? "")

const byName = (a: unknown, b: unknown): number => (nameOf(a) < nameOf(b) ? -1 : 1)

/** Items of a list in the order of their names, without a version: a cache may have no order, and may lag behind. */
const sortItems = (document: unknown): unknown => {
  if (!isObject(document) || !isObject(document["metadata"])) return document
  const part = partOf(document)
  if (part === undefined) return document
  const { resourceVersion: _, ...metadata } = document["metadata"] as Json
  // Of metadata, a list of nothing is null.
  const items = document[part] as ReadonlyArray<unknown> | null
  return { ...document, metadata, [part]: items?.toSorted(byName) ?? null }
}

/** Where several made-up names begin alike, what a list has of them comes in an order that is made up, too. */
const sortMadeUp = (document: unknown): unknown => {
  const part = isList(document) ? partOf(document as Json) : undefined
  const items = part === undefined ? undefined : (document as Json)[part]
  return Array.isArray(items) && items.filter((item) => /<name \d+>$/.test(nameOf(item))).length > 1
    ? { ...(document as Json), [part!]: items.toSorted(byName) }
    : document
}

/** The same of what is there when a watch begins. */
const sortMadeUpEvents = (events: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const [first, rest] = initialOf(events)
  return first.filter((event) => /<name \d+>$/.test(eventName(event))).length > 1
    ? [...first.toSorted(byEventName), ...rest]
    : events
}

/** What is there when a watch begins, and what comes after it. */
const initialOf = (events: ReadonlyArray<unknown>): readonly [ReadonlyArray<unknown>, ReadonlyArray<unknown>] => {
  const end = events.findIndex((event) => at(event, ["type"]) !== "ADDED")
  return end < 0 ? [events, []] : [events.slice(0, end), events.slice(end)]
}

const eventName = (event: unknown): string => nameOf(at(event, ["object", "rows", "0"]) ?? at(event, ["object"]))

const byEventName = (a: unknown, b: unknown): number => (eventName(a) < eventName(b) ? -1 : 1)

/** Columns come with whatever table is the first. */
const withColumnsFirst = (events: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const columns = events.map((event) => at(event, ["object", "columnDefinitions"])).find(Array.isArray)
  return columns === undefined ? events : events.map((event, index) => {
    const { object, ...rest } = event as { readonly object: Json }
    return { ...rest, object: { ...object, columnDefinitions: index === 0 ? columns : null } }
  })
}

/**
 * What is there when a watch starts from no version comes in no order;
 * changes come after it.
 */
const sortEvents = (events: Answer["events"]): Pick<Answer, "events"> => {
  if (events === undefined) return {}
  const [first, rest] = initialOf(events)
  return { events: [...withColumnsFirst(first.toSorted(byEventName)), ...rest] }
}

/** Masks the answers of one server to one sequence. */
export const mask = (
  answers: ReadonlyMap<number, Answer>,
  today: number,
  /** Steps whose lists, or first events, have no order. */
  unordered: ReadonlySet<number>,
  /** Steps that deleted: releases differ in the version they answer with. */
  deletions: ReadonlySet<number>,
  /** Steps that asked for a made-up name. */
  naming: ReadonlySet<number>
): ReadonlyMap<number, Answer> => {
  const ordered = new Map([...answers].map(([id, answer]) => [
    id,
    unordered.has(id) ? { ...answer, body: sortItems(answer.body), ...sortEvents(answer.events) } : answer
  ]))
  const seen: Seen = { uids: new Map(), names: new Map(), versions: new Set() }
  /** The versions seen by the end of each step. */
  const known = new Map<number, ReadonlyArray<number>>()
  for (const [id, { body, events }] of ordered) {
    collect(body, seen, naming.has(id), !deletions.has(id))
    for (const event of events ?? []) collect(at(event, ["object"]), seen, false)
    known.set(id, [...seen.versions])
  }
  let versions: ReadonlyArray<number> = []
  const rank = (version: number): string => `<version ${versions.filter((other) => other <= version).length}>`
  const generated = [...seen.names]

  const text = (value: string, path: ReadonlyArray<string>): string => {
    const key = path.at(-1)!
    if (key === "resourceVersion" && /^\d+$/.test(value) && value !== "0") return rank(Number(value))
    if (key === "continue" && value !== "") return "<token>"
    if (age.test(value) && path.includes("cells")) return "<age>"
    if (poolAddress.test(value) && path.some((part) => part.startsWith("clusterIP") || part === "cells")) {
      return "<address>"
    }
    let out = value.replace(uuid, (found) => seen.uids.get(found) ?? found).replace(
      time,
      (found) => Math.abs(Date.parse(found) - today) < 86_400_000 * 2 ? "<now>" : found
    )
    for (const [name, masked] of generated) if (out.includes(name)) out = out.replaceAll(name, masked)
    if (key === "message") {
      for (const pattern of versionTexts) out = out.replace(pattern, (_, head) => `${head}<version>`)
    }
    return out
  }
  const masked = (value: unknown, path: ReadonlyArray<string>): unknown => {
    if (typeof value === "string") return text(value, path)
    if (path.at(-1) === "nodePort" && typeof value === "number") return "<port>"
    if (Array.isArray(value)) return value.map((item, index) => masked(item, [...path, String(index)]))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [text(key, ["", ""]), masked(item, [...path, key])])
    )
  }
  return new Map([...ordered].map(([id, answer]) => {
    versions = known.get(id)!
    const events = answer.events?.map((event) => masked(event, []))
    return [id, {
      ...answer,
      headers: Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, text(value, ["", name])])
      ),
      body: sortMadeUp(masked(answer.body, [])),
      ...(events === undefined ? {} : { events: sortMadeUpEvents(events) })
    }]
  }))
}
