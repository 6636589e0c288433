/**
 * The end state of a run in a form that two runs can be compared by.
 *
 * What a server draws (uids, versions, times) is left out; a generated name is that of its family; what else differs
 * between two runs without faults, but with other chance, is masked by its path. Source of the rule: Sieve (OSDI'22).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { touched } from "./Fault.ts"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** Objects in their canonical form, each with its family: kind, namespace, and name or the base of a generated one. */
export type State = ReadonlyMap<string, ReadonlyArray<string>>

/** Kinds that tell of the run, not of what it came to. */
const left: ReadonlySet<string> = new Set(["Event", "Lease"])

const dropped: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "generation",
  "selfLink"
])

/** What a cluster hands out as it comes: to whom which, is chance. */
const assigned: Mask = new Set([
  "Pod.spec.nodeName",
  "Pod.status.hostIP",
  "Pod.status.hostIPs",
  "Pod.status.podIP",
  "Pod.status.podIPs",
  "Service.spec.clusterIP",
  "Service.spec.clusterIPs"
])

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** Puts what every run calls an object in the place of what this one does: its uid, a part of it, a generated name. */
const renamer = (objects: ReadonlyArray<KubeObject>): (text: string) => string => {
  const known = new Map<string, string>()
  for (const { kind, metadata } of objects) {
    const { generateName = "", name, uid } = metadata
    known.set(uid, `(uid of ${kind})`)
    known.set(uid.slice(0, 8), "(uid)")
    if (generateName !== "" && name.startsWith(generateName)) known.set(name, `${generateName}*`)
    // Which number a replica has depends on which were taken when it was made.
    else if (ordinal.test(name)) known.set(name, name.replace(ordinal, "-#"))
  }
  return (text) =>
    (known.get(text) ?? text)
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}/g, (part) => known.get(part) ?? part)
}

const ordinal = /-\d+$/

type Rename = (text: string) => string

const familyOf = ({ kind, metadata }: KubeObject, rename: Rename): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${rename(metadata.name)}`

/** Annotations of which a fault has made the only one. */
const isTouch = (annotations: unknown): boolean =>
  typeof annotations === "object" && annotations !== null && touched in annotations &&
  Object.keys(annotations).length === 1

const canonical = (value: unknown, path: string, rename: Rename, mask: Mask): Json => {
  if (mask.has(path) || assigned.has(path)) return "(masked)"
  if (typeof value === "string") return time.test(value) ? "(time)" : rename(value)
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(item, `${path}[]`, rename, mask))
    // What was renamed may have been sorted by its name.
    return items.every((item) => typeof item === "string") ? items.toSorted() : items
  }
  if (typeof value !== "object" || value === null) return value as Json
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => key !== touched && !(path.endsWith(".metadata") && (dropped.has(key) || isTouch(item))))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item, `${path}.${key}`, rename, mask)])
  )
}

/** Paths, such as `Pod.status.podIP`, that chance decides. */
export type Mask = ReadonlySet<string>

/** The objects by family, those of one family sorted. */
export const state = (objects: ReadonlyArray<KubeObject>, mask: Mask): State => {
  const rename = renamer(objects)
  const families = new Map<string, Array<string>>()
  for (const object of objects) {
    if (left.has(object.kind)) continue
    const family = familyOf(object, rename)
    const members = families.get(family) ?? []
    members.push(JSON.stringify(canonical(object, object.kind, rename, mask)))
    families.set(family, members)
  }
  for (const members of families.values()) members.sort()
  return families
}

type Fields = Readonly<Record<string, unknown>>

/** Where two values differ, as paths of the kind. */
const differences = (a: unknown, b: unknown, path: string, found: Set<string>): void => {
  if (JSON.stringify(a) === JSON.stringify(b)) return
  const objects = typeof a === "object" && typeof b === "object" && a !== null && b !== null &&
    Array.isArray(a) === Array.isArray(b)
  if (!objects) {
    found.add(path)
    return
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) found.add(path)
    else for (const [index, item] of a.entries()) differences(item, b[index], `${path}[]`, found)
    return
  }
  const [one, two] = [a as Fields, b as Fields]
  for (const key of new Set([...Object.keys(one), ...Object.keys(two)])) {
    differences(one[key], two[key], `${path}.${key}`, found)
  }
}

/** What differs between two runs of the same story: nothing a fault could be blamed for. */
export const mask = (a: ReadonlyArray<KubeObject>, b: ReadonlyArray<KubeObject>): Mask => {
  const [one, two] = [state(a, new Set()), state(b, new Set())]
  const found = new Set<string>()
  for (const [family, members] of one) {
    const others = two.get(family) ?? []
    for (const [index, member] of members.entries()) {
      const other = others[index]
      if (other === undefined) continue
      const kind = family.split(" ")[0]!
      differences(JSON.parse(member), JSON.parse(other), kind, found)
    }
  }
  return found
}

/** How one state differs from another, a line for each family that does; nothing if it does not. */
export const compare = (expected: State, actual: State): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const family of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(family) ?? [], actual.get(family) ?? []]
    if (wanted.length !== found.length) {
      lines.push(`${family}: ${found.length} instead of ${wanted.length}`)
      continue
    }
    for (const [index, member] of wanted.entries()) {
      if (member === found[index]) continue
      const paths = new Set<string>()
      const kind = family.split(" ")[0]!
      differences(JSON.parse(member), JSON.parse(found[index]!), kind, paths)
      for (const path of paths) {
        lines.push(`${family}: ${path}: ${at(found[index]!, path)} instead of ${at(member, path)}`)
      }
    }
  }
  return lines
}

/** The value at a path, for a person. */
const at = (json: string, path: string): string => {
  let value: unknown = JSON.parse(json)
  let key = ""
  for (const part of path.split(".").slice(1)) {
    key += part.endsWith("[]") ? part.slice(0, -2) : part
    const next = (value as Fields | null | undefined)?.[key]
    // A key may have dots itself: that of a label or an annotation.
    if (next === undefined) key += "."
    else [value, key] = [next, ""]
  }
  if (key !== "") value = undefined
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
