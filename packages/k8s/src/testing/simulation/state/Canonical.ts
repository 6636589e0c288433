/**
 * The end state of a run in a form that two runs can be compared by.
 *
 * What a server draws (uids, versions, times) is left out; a generated name is that of its family; what else differs
 * between two runs without faults, but with other chance, is masked by its path. Source of the rule: Sieve (OSDI'22).
 */
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { decoded } from "../recording/Base64.ts"
import { guard, isElected, touched } from "../recording/Fault.ts"
import { isOver, type Recording } from "../recording/Recording.ts"
import { isTime, timeless } from "../recording/Times.ts"
import { untold } from "./Generations.ts"
import * as Names from "./Names.ts"
import type { Mask } from "./Names.ts"
import { differing, isEmpty, type Json } from "./Outside.ts"
import { familyOf, hashing, type Rename, renamerOf } from "./Renaming.ts"

export type { Mask } from "./Names.ts"
export type { Json } from "./Outside.ts"

type Fields = Readonly<Record<string, unknown>>

/** Objects in their canonical form, each with its family: kind, namespace, and name or the base of a generated one. */
export type State = ReadonlyMap<string, ReadonlyArray<string>>

/** Whether an object tells of the run, not of what it came to. */
const isAboutRun = (object: KubeObject): boolean => object.kind === "Event" || isElected(object)

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
  // Replicas are the same without their numbers.
  "Pod.metadata.labels.apps.kubernetes.io/pod-index",
  "Pod.status.hostIP",
  "Pod.status.hostIPs",
  "Pod.status.podIP",
  "Pod.status.podIPs",
  "Service.spec.clusterIP",
  "Service.spec.clusterIPs",
  "Endpoints.subsets[].addresses[].ip",
  "Endpoints.subsets[].addresses[].nodeName",
  "Endpoints.subsets[].notReadyAddresses[].ip",
  "Endpoints.subsets[].notReadyAddresses[].nodeName",
  "EndpointSlice.endpoints[].addresses",
  "EndpointSlice.endpoints[].nodeName",
  // How often its owner went back and forth, and how often a Pod of it was lost.
  "ControllerRevision.revision",
  "Job.status.failed",
  // Which of its Jobs are at work is a matter of the time.
  "CronJob.status.active",
  // What is left of a failed Pod is counted.
  "PodDisruptionBudget.status.expectedPods",
  // How often a name made of a hash was taken, such as by what is left of a former object of its name.
  "Deployment.status.collisionCount",
  "StatefulSet.status.collisionCount",
  "DaemonSet.status.collisionCount",
  // As of which version it was bound; and which ReplicaSet came last.
  "PersistentVolume.spec.claimRef.resourceVersion",
  "Deployment.status.conditions.Progressing.message"
])

/** What the cluster's own controllers write of an object's history, where they come by: not what it came to. */
const historic: ReadonlySet<string> = new Set([
  "deployment.kubernetes.io/revision",
  "deployment.kubernetes.io/revision-history",
  "deprecated.daemonset.template.generation",
  "endpoints.kubernetes.io/last-change-trigger-time"
])

/** Annotations that a fault has made, or that tell of the past, and no others. */
const isTouch = (annotations: unknown): boolean =>
  typeof annotations === "object" && annotations !== null && Object.keys(annotations).length > 0 &&
  Object.keys(annotations).every((key) => key === touched || historic.has(key))

/** Conditions by their type: the order they came in is history. */
const byType = (path: string, items: ReadonlyArray<unknown>): Fields | undefined => {
  if (!path.endsWith(".conditions")) return undefined
  const entries = items.flatMap((item): ReadonlyArray<readonly [string, unknown]> =>
    isObject(item) && typeof item["type"] === "string" ? [[item["type"], item]] : []
  )
  return new Map(entries).size === items.length ? Object.fromEntries(entries) : undefined
}

/** How often a spec was changed is history, and so is which of its states a status speaks of. */
const isCount = (path: string, key: string): boolean => key === "observedGeneration" && /^[^.]+\.status$/.test(path)

/** What of an object's metadata says nothing of what the run came to. */
const isAside = (key: string, item: unknown): boolean =>
  dropped.has(key) || isTouch(item) || (key === "finalizers" && Array.isArray(item) && item.every((it) => it === guard))

/** Lists whose order says nothing: it is that of uids, or of addresses as they were handed out. */
const unordered =
  /\.ownerReferences$|^EndpointSlice\.endpoints$|^Endpoints\.subsets(\[\]\.(addresses|notReadyAddresses))?$/

const byText = (a: Json, b: Json): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

const canonical = (value: unknown, path: string, rename: Rename, mask: Mask): Json => {
  if (mask.has(path)) return "(masked)"
  if (isTime(value)) return "(time)"
  if (typeof value === "string") return timeless(rename(value))
  if (Array.isArray(value)) {
    const conditions = byType(path, value)
    if (conditions !== undefined) return canonical(conditions, path, rename, mask)
    const items = value.filter((item) => item !== guard).map((item) => canonical(item, `${path}[]`, rename, mask))
    // What was renamed may have been sorted by its name; owners are a set, and so is who is behind a Service.
    if (items.every((item) => typeof item === "string")) return items.toSorted()
    return unordered.test(path) ? items.toSorted(byText) : items
  }
  if (typeof value !== "object" || value === null) return value as Json
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) =>
        key !== touched && !historic.has(key) && !isCount(path, key) && !assigned.has(`${path}.${key}`) &&
        !(path.endsWith(".metadata") && isAside(key, item))
      )
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item, `${path}.${key}`, rename, mask)])
  )
}

/** What is compared of a run: what there was at its end, where names may speak of what was there before. */
export type Run = Pick<Recording, "entries" | "objects" | "outside">

/** Kinds whose controller has put another Pod in the place of one that failed. */
const replacing: ReadonlySet<string> = new Set([
  "ReplicaSet",
  "ReplicationController",
  "DaemonSet",
  "StatefulSet",
  "Job"
])

/** What is left of a Pod of the cluster's own that is over: it stays until the cluster, or somebody, sweeps it up. */
export const isRemains = (object: KubeObject): boolean =>
  object.kind === "Pod" && isOver(object) &&
  replacing.has(controllerOf(object)?.kind ?? "")

/** Whether it is of a former template: a ReplicaSet of which nothing runs, or a revision that another has come after. */
const past = (objects: ReadonlyArray<KubeObject>): (object: KubeObject) => boolean => {
  const last = new Map<string, number>()
  const revisionOf = (object: KubeObject) => (object as { readonly revision?: number }).revision ?? 0
  for (const object of objects) {
    const owner = object.kind === "ControllerRevision" ? controllerOf(object)?.uid : undefined
    if (owner !== undefined) last.set(owner, Math.max(last.get(owner) ?? 0, revisionOf(object)))
  }
  return (object) => {
    const owner = controllerOf(object)
    if (owner === undefined || hashing.get(object.kind)?.has(owner.kind) !== true) return false
    return object.kind === "ReplicaSet"
      ? (object as { readonly spec?: { readonly replicas?: number } }).spec?.replicas === 0
      : revisionOf(object) < (last.get(owner.uid) ?? 0)
  }
}

/** Whether a clock has had it made, a Job of a CronJob or its Pod: how many there are says how long the run took. */
const clocked = (objects: ReadonlyArray<KubeObject>): (object: KubeObject) => boolean => {
  const isTimed = (object: KubeObject) => object.kind === "Job" && controllerOf(object)?.kind === "CronJob"
  const jobs = new Set(objects.filter(isTimed).map(({ metadata }) => metadata.uid))
  return (object) => isTimed(object) || jobs.has(controllerOf(object)?.uid ?? "")
}

/** Texts of objects: most of what there is at one rest of a run is there at the next. */
const texts = new WeakMap<Rename, Map<Mask, WeakMap<KubeObject, string>>>()

const textsOf = (rename: Rename, mask: Mask): WeakMap<KubeObject, string> => {
  const masks = texts.get(rename) ?? new Map<Mask, WeakMap<KubeObject, string>>()
  const known = masks.get(mask) ?? new WeakMap<KubeObject, string>()
  texts.set(rename, masks.set(mask, known))
  return known
}

/** The objects by family, those of one family sorted. */
export const state = (run: Run, mask: Mask): State => {
  const rename = renamerOf(run, mask)
  const known = textsOf(rename, mask)
  const families = new Map<string, Array<string>>()
  const isPast = past(run.objects)
  const isClocked = clocked(run.objects)
  for (const one of run.objects) {
    if (isAboutRun(one) || isRemains(one) || isPast(one) || isClocked(one)) continue
    const object = untold(one, run.objects)
    const family = familyOf(object, rename)
    const members = families.get(family) ?? []
    const text = known.get(object) ?? JSON.stringify(canonical(object, object.kind, rename, mask))
    known.set(object, text)
    members.push(text)
    families.set(family, members)
  }
  for (const members of families.values()) members.sort()
  return families
}

/** Where two values differ, as paths of the kind, and the first values there. */
type Differences = Map<string, readonly [unknown, unknown]>

const differences = (a: unknown, b: unknown, path: string, found: Differences): void => {
  if (JSON.stringify(a) === JSON.stringify(b)) return
  const objects = typeof a === "object" && typeof b === "object" && a !== null && b !== null &&
    Array.isArray(a) === Array.isArray(b)
  if (!objects) {
    if (!found.has(path)) found.set(path, [a, b])
    return
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) found.set(path, [a, b])
    else for (const [index, item] of a.entries()) differences(item, b[index], `${path}[]`, found)
    return
  }
  const [one, two] = [a as Fields, b as Fields]
  for (const key of new Set([...Object.keys(one), ...Object.keys(two)])) {
    differences(one[key], two[key], `${path}.${key}`, found)
  }
}

/** Nothing that chance decides. */
const nowhere: Mask = new Set()

/** What differs between two runs of the same story: nothing a fault could be blamed for. `known`: masks there are. */
export const mask = (a: Run, b: Run, known: ReadonlyArray<Mask> = []): Mask => {
  const names: Mask = new Set(Names.differing(state(a, nowhere).keys(), state(b, nowhere).keys()))
  const [one, two] = [state(a, names), state(b, names)]
  const found: Differences = new Map()
  const apart = [...a.outside.keys()].flatMap((name) => [...differing(a, b, name)])
  for (const [family, members] of one) {
    const others = two.get(family) ?? []
    for (const [index, member] of members.entries()) {
      const other = others[index]
      if (other === undefined) continue
      const kind = family.split(" ")[0]!
      differences(JSON.parse(member), JSON.parse(other), kind, found)
    }
  }
  const paths: Mask = new Set([...names, ...found.keys(), ...apart])
  return [nowhere, ...known].find((mask) => mask.size === paths.size && [...mask].every((path) => paths.has(path))) ??
    paths
}

/**
 * Whether a field holds what another one beside it held before, and holds no more (`current`, and now `previous`): what is
 * forgotten stays where it was.
 */
const isFormer = (fields: Fields, key: string, before: ReadonlyArray<unknown>): boolean => {
  const value = fields[key]
  return (typeof value === "string" || typeof value === "number") &&
    before.some((then) =>
      isObject(then) &&
      Object.keys(fields).some((other) => other !== key && then[other] === value && fields[other] !== value)
    )
}

/**
 * Where a value has what another has not: keys of maps, items of lists; notes aside, and what was elsewhere `before`.
 */
const surplus = (a: unknown, b: unknown, path: string, before: ReadonlyArray<unknown>): string | undefined => {
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length > b.length) return `${path}: ${shown(a)} instead of ${shown(b)}`
    for (const [index, item] of a.entries()) {
      const found = surplus(
        item,
        b[index],
        `${path}[]`,
        before.map((then) => Array.isArray(then) ? then[index] : undefined)
      )
      if (found !== undefined) return found
    }
  } else if (isObject(a) && isObject(b)) {
    for (const [key, item] of Object.entries(a)) {
      if (key === "annotations") continue
      if (b[key] === undefined && isFormer(a, key, before)) continue
      const found = b[key] === undefined && !isEmpty(item)
        ? `${path}.${key}: ${shown(item)}`
        : surplus(item, b[key], `${path}.${key}`, before.map((then) => isObject(then) ? then[key] : undefined))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Whether an object is kept for another day: it is there, and does nothing. */
const isIdle = (member: string): boolean => {
  const { spec } = JSON.parse(member) as { readonly spec?: { readonly replicas?: number; readonly suspend?: boolean } }
  return spec?.replicas === 0 || spec?.suspend === true
}

/** How many objects of a kind there are. */
const countOf = (state: State, kind: string): number =>
  [...state].reduce((sum, [family, { length }]) => family.startsWith(`${kind} `) ? sum + length : sum, 0)

/** Whether a state has something else in place of a family: the one of two colours whose turn it is. */
const isInPlace = (family: string, one: State, two: State): boolean => {
  const kind = family.slice(0, family.indexOf(" "))
  return countOf(one, kind) <= countOf(two, kind)
}

/** What a family is looked at for: whether there are more of it than there should be, and whether one says too much. */
export interface Looked {
  readonly number: boolean
  readonly fields: boolean
}

/**
 * What a state has in an object that is in another state, too, of what its owner asks for: not its status, nor notes.
 * Families that are looked at for their number have nothing to be there for: there are no more of them than there, unless
 * one of them stands by.
 */
export const leftover = (
  a: State,
  b: State,
  families: ReadonlyMap<string, Looked>,
  standsBy: (family: string) => boolean = () => false,
  rests: ReadonlyArray<State> = []
): string | undefined => {
  for (const [family, { fields, number }] of families) {
    const [one, two] = [a.get(family) ?? [], b.get(family) ?? []]
    const isMore = number && one.length > two.length && !one.some(isIdle) && !isInPlace(family, a, b)
    if (isMore && !standsBy(family)) {
      return two.length === 0
        ? `${family} exists, but does not if all steps are taken at once`
        : `${one.length} of ${family} exist, but ${two.length} if all steps are taken at once`
    }
    if (!fields || one.length !== 1 || two.length !== 1) continue
    const [first, second, ...before] = [
      one[0]!,
      two[0]!,
      ...rests.flatMap((rest) => rest.get(family) ?? [])
    ].map((member) => {
      const { metadata, status: _, ...rest } = JSON.parse(member) as Fields
      return { ...rest, labels: (metadata as Fields)["labels"] ?? {} }
    })
    const found = surplus(first, second, family, before)
    if (found !== undefined) return found
  }
  return undefined
}

/** What a state has less of than another, unless that rests, or something else of its kind is in its place. */
export const missing = (a: State, b: State, families: Iterable<string>): string | undefined => {
  for (const family of families) {
    const [one, two] = [a.get(family) ?? [], b.get(family) ?? []]
    if (one.length >= two.length || two.some(isIdle) || isInPlace(family, b, a)) continue
    return `${one.length} of ${family} exist, but ${two.length} if all steps are taken at once`
  }
  return undefined
}

/** The family of each object of a run. */
export const families = (run: Pick<Run, "entries" | "objects">, mask: Mask): ReadonlyMap<string, string> => {
  const rename = renamerOf(run, mask)
  return new Map(run.objects.map((object) => [object.metadata.uid, familyOf(object, rename)]))
}

/**
 * A state without the families of which there is more than in one of two others, and less than in the other: what was
 * stopped half way, where one of them has all of it and the other never began.
 */
export const settled = (found: State, one: State, other: State): State => {
  const out = new Map(found)
  for (const family of new Set([...one.keys(), ...other.keys()])) {
    const [members, left, right] = [found, one, other].map((state) => state.get(family) ?? [])
    const [least, most] = [left!.length, right!.length].toSorted((a, b) => a - b)
    const known = members!.every((member) => left!.includes(member) || right!.includes(member))
    if (least! < most! && members!.length >= least! && members!.length <= most! && known) {
      if (left!.length === 0) out.delete(family)
      else out.set(family, left!)
    }
  }
  return out
}

/** A state in which there is as much of some families as in another, where there is less. */
export const excused = (found: State, wanted: State, families: ReadonlySet<string>): State => {
  const less = [...families].flatMap((family) => {
    const members = wanted.get(family) ?? []
    return (found.get(family) ?? []).length < members.length ? [[family, members] as const] : []
  })
  return less.length === 0 ? found : new Map([...found, ...less])
}

/** Whether the cluster's own controllers have made an object, of what somebody has asked them for. */
const isClusters = (member: string): boolean => {
  const { metadata } = JSON.parse(member) as { readonly metadata: KubeObject["metadata"] }
  return metadata.ownerReferences?.some(({ kind }) =>
    kind === "Deployment" || kind === "Service" || kind === "Endpoints" || replacing.has(kind)
  ) === true
}

/**
 * How one state differs from another; nothing if it does not. What tells most comes first: objects that are there or not,
 * what was asked for before what is said of it, what is nearest to the object (the phase of a Pod before the reason of a
 * condition); what the cluster makes of what differs only where there is nothing else that was asked for.
 */
export const compare = (expected: State, actual: State): ReadonlyArray<string> => {
  const lines: Array<{ readonly rank: readonly [number, number]; readonly text: string }> = []
  for (const family of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(family) ?? [], actual.get(family) ?? []]
    if (wanted.length !== found.length) {
      const rank = isClusters(wanted[0] ?? found[0]!) ? 3 : 0
      lines.push({ rank: [rank, 0], text: `${family}: ${found.length} instead of ${wanted.length}` })
      continue
    }
    for (const [index, member] of wanted.entries()) {
      if (member === found[index]) continue
      const paths: Differences = new Map()
      const kind = family.split(" ")[0]!
      differences(JSON.parse(member), JSON.parse(found[index]!), kind, paths)
      const told = kind === "Endpoints" || kind === "EndpointSlice" || isClusters(member) ? 3 : undefined
      for (const [path, [expected, actual]] of paths) {
        const inSecret = path.startsWith("Secret.data.")
        const [wanted, found] = inSecret ? contrast(worded(expected), worded(actual)) : contrast(expected, actual)
        lines.push({
          rank: [told ?? (path.startsWith(`${kind}.status`) ? 2 : 1), path.split(".").length],
          text: `${family}: ${path}: ${found} instead of ${wanted}${
            areShuffled(expected, actual) ? `, ${shuffled}` : ""
          }`
        })
      }
    }
  }
  // What the cluster makes of what differs says nothing that is not said.
  const cause = lines.some(({ rank: [first] }) => first < 2)
  const told = lines.filter(({ rank: [first] }) => first < 3 || !cause)
    .sort(({ rank: [a, x] }, { rank: [b, y] }) => a - b || x - y).map(({ text }) => text)
  return [...new Set(told)]
}

/** What is said of two texts of the same parts. */
export const shuffled =
  "which is the same in another order: lists from the cache or the server have no guaranteed order"

/** Whether two texts have the same parts in another order. */
const areShuffled = (one: unknown, other: unknown): boolean => {
  if (typeof one !== "string" || typeof other !== "string") return false
  const [a, b] = [one, other].map((text) => text.split(/[\s,;]+/).toSorted().join("\n"))
  return a === b && a!.includes("\n")
}

/** What is in a Secret: people read no base64. */
const worded = (value: unknown): unknown => typeof value === "string" ? decoded(value) : value

/** Two values for a person, each from a little before where they begin to differ. */
const contrast = (one: unknown, two: unknown): readonly [string, string] => {
  const texts = [one, two].map((value) => JSON.stringify(value) ?? "nothing")
  const [a, b] = texts as [string, string]
  if (a.length <= 80 && b.length <= 80) return [a, b]
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  const from = Math.max(0, same - 20)
  const part = (text: string) =>
    `${from > 0 ? "..." : ""}${text.slice(from, from + 74)}${text.length > from + 74 ? "..." : ""}`
  return [part(a), part(b)]
}

/** A value for a person. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}
