/**
 * What of an answer two servers of different versions must agree on, for writes that keep managedFields.
 *
 * Each normalisation is a difference between Kubernetes 1.20 and what the in-memory server stands for; none of them
 * hides a field's owner. Where 1.20 differs and goes on from there, a sequence ends: see the functions at the end.
 */
import type { Json } from "./ApplyScenario.ts"

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** Keys sorted; nulls, empty and zero values left out (1.20 writes more of them); lists unordered (merges order anew). */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain).map((item) => JSON.stringify(item)).sort()
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, plain(item)] as const).filter(
      ([, item]) =>
        item !== null && item !== "" && item !== 0 &&
        !(typeof item === "object" && Object.keys(item as object).length === 0)
    )
  )
}

const unite = (a: Json, b: Json): Json => {
  const out = { ...a }
  for (const key of Object.keys(b)) out[key] = unite(out[key] ?? {}, b[key])
  return out
}

/** Fields that 1.20 does not have, or does not reset: the status belongs to whoever wrote the object it came in. */
const newer = new Set([
  "f:internalTrafficPolicy",
  "f:clusterIP",
  "f:clusterIPs",
  "f:ipFamilies",
  "f:ipFamilyPolicy",
  "f:status"
])

const fieldsOf = (fields: Json): Json =>
  Object.fromEntries(
    Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)).filter(([key]) => !newer.has(key))
      .map(([key, inner]) => [key, fieldsOf(inner)] as const)
      .filter(([key, inner]) => Object.keys(inner).length > 0 || Object.keys(fields[key]).length === 0)
  )

/** By manager, operation and version: 1.20 does not tell subresources apart. Times are not compared. */
const entriesOf = (entries: ReadonlyArray<Json>): Json => {
  const out: Json = {}
  for (const { apiVersion, fieldsV1, manager, operation } of entries) {
    const fields = fieldsOf(fieldsV1)
    const id = `${manager} ${operation} ${apiVersion}`
    if (Object.keys(fields).length > 0) out[id] = unite(out[id] ?? {}, fields)
  }
  return Object.fromEntries(Object.entries(out).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const defaulted = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]
const server = ["managedFields", "uid", "resourceVersion", "creationTimestamp", "selfLink", "namespace", "generation"]

const without = (object: Json, keys: ReadonlyArray<string>): Json =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))

/** The comparable part of an answer. */
export const mask = (status: number, body: Json): Json => {
  if (body["kind"] === "Status") {
    // What a kind's validation says is compared elsewhere, and is worded anew now and then.
    if (status === 422) return { status }
    // 1.20 may name one path for another, and does not tell subresources apart.
    const causes: ReadonlyArray<Json> = body["details"]?.causes ?? []
    // 1.20 does not say which object it was.
    const said = String(body["message"]).replace(/ \([^()]*; [^()]*, Kind=\w+\)/, "")
    const [head] = said.split(status === 409 ? ":" : "\n")
    return {
      status,
      head,
      causes: causes.map(({ message }) => message.split(" with subresource ")[0].split(" using ")[0]).sort()
    }
  }
  const { kind, metadata, spec = {}, status: current, ...rest } = body
  return {
    status,
    kind,
    rest: plain(rest),
    metadata: plain(without(metadata, server)),
    spec: plain(without(spec, defaulted)),
    // Only what clients write there is alike.
    current: kind === "Widget" ? plain(current) : undefined,
    entries: entriesOf(metadata["managedFields"] ?? [])
  }
}

const at = (value: unknown, element: string): unknown => {
  const rest = element.slice(2)
  if (element.startsWith("f:")) return isObject(value) ? value[rest] : undefined
  if (!Array.isArray(value)) return undefined
  const key: unknown = JSON.parse(rest)
  return element.startsWith("v:")
    ? value.find((item) => item === key)
    : value.find((item) => Object.entries(key as Json).every(([name, part]) => (item as Json)[name] === part))
}

const atomic = new Set(["f:atomic", "f:list", "f:selector", "f:args", "f:tolerations"])

const hollow = (fields: Json, value: unknown): boolean =>
  Object.entries(fields).some(([element, inner]) => {
    const part = element === "." ? undefined : at(value, element)
    if (typeof part !== "object" || part === null || Object.keys(part).length === 0 || atomic.has(element)) return false
    return Object.keys(inner).every((key) => key === ".") || hollow(inner, part)
  })

const entriesIn = (body: Json): ReadonlyArray<Json> => body["metadata"]?.managedFields ?? []

/** A write from which 1.20 goes on differently: who owns a map or list and nothing in it owns all of it from then on. */
export const goesApart = (body: Json): boolean => entriesIn(body).some(({ fieldsV1 }) => hollow(fieldsV1, body))

/** A write that 1.20 does differently: a first apply that comes through the status makes nobody own the spec. */
export const beginsApart = (body: Json, path: string): boolean =>
  path.endsWith("/status") && entriesIn(body).some(({ manager }) => manager === "before-first-apply")

/** A refusal of 1.20 that nobody else makes: of a whole object that is applied no more it leaves a null. */
export const leavesNull = (body: Json): boolean => String(body["message"]).includes(`Invalid value: "null"`)
