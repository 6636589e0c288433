/**
 * `Canonical`: the end state of a run in a form by which two runs can be compared.
 *
 * What a server draws (uids, versions, times) is left out. A generated name becomes that of its family. Whatever else
 * differs between two runs without faults but with different randomness is masked by its path. Source of the rule:
 * Sieve (OSDI'22).
 */
import { controllerOf, type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { decoded } from "../recording/Base64.ts"
import { guard, isElected, touched } from "../recording/Fault.ts"
import { isOver, phaseOf, type Recording } from "../recording/Recording.ts"
import { isTime, timeless } from "../recording/Times.ts"
import { untold } from "./Generations.ts"
import * as Names from "./Names.ts"
import type { Mask } from "./Names.ts"
import { differing, isEmpty, type Json } from "./Outside.ts"
import { familyOf, hashing, type Rename, renamerOf } from "./Renaming.ts"

export type { Mask } from "./Names.ts"
export type { Json } from "./Outside.ts"

type Fields = Readonly<Record<string, unknown>>

/** Objects in canonical form by family: kind, namespace, and name or the base of a generated name. */
export type State = ReadonlyMap<string, ReadonlyArray<string>>

/** Whether an object describes the run rather than its result. */
const isAboutRun = (object: KubeObject): boolean => object.kind === "Event" || isElected(object)

const dropped: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "generation",
  "selfLink"
])

/** What a cluster assigns in the order of requests: which object gets which is chance. */
const assigned: Mask = new Set([
  "Pod.spec.nodeName",
  // Replicas are equivalent, whatever their numbers.
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
  // How often its owner changed back and forth, and how often one of its Pods was lost.
  "ControllerRevision.revision",
  "Job.status.failed",
  // Which of its Jobs are running depends on the time.
  "CronJob.status.active",
  // The remains of a failed Pod are counted.
  "PodDisruptionBudget.status.expectedPods",
  // How often a name with a hash was taken, for example by the remains of a former object of its name.
  "Deployment.status.collisionCount",
  "StatefulSet.status.collisionCount",
  "DaemonSet.status.collisionCount",
  // The version at which it was bound; and which ReplicaSet came last.
  "PersistentVolume.spec.claimRef.resourceVersion",
  "Deployment.status.conditions.Progressing.message"
])

/** Whether it is what a Service asks for that is to have no address of its own. */
const isHeadless = (item: unknown): boolean => (Array.isArray(item) ? item[0] : item) === "None"

/** Whether the cluster assigned it, so that it is chance which object got it. */
export const isAssigned = (path: string, item: unknown): boolean => assigned.has(path) && !isHeadless(item)

/** What the cluster's own controllers record about an object's history: not part of its result. */
const historic: ReadonlySet<string> = new Set([
  "deployment.kubernetes.io/revision",
  "deployment.kubernetes.io/revision-history",
  "deprecated.daemonset.template.generation",
  "endpoints.kubernetes.io/last-change-trigger-time"
])

/** Whether all annotations were made by a fault or describe the past. */
const isTouch = (annotations: unknown): boolean =>
  typeof annotations === "object" && annotations !== null && Object.keys(annotations).length > 0 &&
  Object.keys(annotations).every((key) => key === touched || historic.has(key))

/** Conditions by type: their order is history. */
const byType = (path: string, items: ReadonlyArray<unknown>): Fields | undefined => {
  if (!path.endsWith(".conditions")) return undefined
  const entries = items.flatMap((item): ReadonlyArray<readonly [string, unknown]> =>
    isObject(item) && typeof item["type"] === "string" ? [[item["type"], item]] : []
  )
  return new Map(entries).size === items.length ? Object.fromEntries(entries) : undefined
}

/** How often a spec was changed is history, and so is the generation that a status names. */
const isCount = (path: string, key: string): boolean => key === "observedGeneration" && /^[^.]+\.status$/.test(path)

/** A list of nothing in a status says as much as none: that something was in it once is history. */
const isNothing = (path: string, item: unknown): boolean =>
  Array.isArray(item) && item.length === 0 && /^[^.]+\.status(?:\.|$)/.test(path)

/** Metadata that says nothing about the result of the run. */
const isAside = (key: string, item: unknown): boolean =>
  dropped.has(key) || isTouch(item) || (key === "finalizers" && Array.isArray(item) && item.every((it) => it === guard))

/** Lists whose order means nothing: it is that of uids, or of addresses as they were assigned. */
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
    // Renamed items may have been sorted by name; owners are a set, and so are the endpoints of a Service.
    if (items.every((item) => typeof item === "string")) return items.toSorted()
    return unordered.test(path) ? items.toSorted(byText) : items
  }
  if (typeof value !== "object" || value === null) return value as Json
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) =>
        key !== touched && !historic.has(key) && !isCount(path, key) && !isAssigned(`${path}.${key}`, item) &&
        !isNothing(path, item) &&
        !(path.endsWith(".metadata") && isAside(key, item))
      )
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, canonical(item, `${path}.${key}`, rename, mask)] as const)
      .filter(([key, item]) => key !== "status" || path.includes(".") || JSON.stringify(item) !== "{}")
  )
}

/** What is compared of a run: its end state, in which names may refer to what existed before. */
export type Run = Pick<Recording, "entries" | "objects" | "outside">

/** Kinds whose controllers replace a failed Pod. */
const replacing: ReadonlySet<string> = new Set([
  "ReplicaSet",
  "ReplicationController",
  "DaemonSet",
  "StatefulSet",
  "Job"
])

/**
 * The remains of a finished Pod of the cluster's own controllers: they stay until somebody or the cluster removes them.
 */
export const isRemains = (object: KubeObject): boolean =>
  object.kind === "Pod" && isOver(object) &&
  replacing.has(controllerOf(object)?.kind ?? "")

/** Whether it belongs to a former template: a ReplicaSet without running Pods, or a revision that is not the last. */
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

/** Whether a clock had it created (a Job of a CronJob, or its Pod): their number depends on how long the run took. */
const clocked = (objects: ReadonlyArray<KubeObject>): (object: KubeObject) => boolean => {
  const isTimed = (object: KubeObject) => object.kind === "Job" && controllerOf(object)?.kind === "CronJob"
  const jobs = new Set(objects.filter(isTimed).map(({ metadata }) => metadata.uid))
  return (object) => isTimed(object) || jobs.has(controllerOf(object)?.uid ?? "")
}

/** Texts of objects; most objects at one rest of a run are the same at the next. */
const texts = new WeakMap<Rename, Map<Mask, WeakMap<KubeObject, string>>>()

const textsOf = (rename: Rename, mask: Mask): WeakMap<KubeObject, string> => {
  const masks = texts.get(rename) ?? new Map<Mask, WeakMap<KubeObject, string>>()
  const known = masks.get(mask) ?? new WeakMap<KubeObject, string>()
  texts.set(rename, masks.set(mask, known))
  return known
}

/** The objects by family, sorted within each family. */
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

/** Where two values differ, by path of the kind, with the first pair of values. */
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

/** A mask that masks nothing. */
const nowhere: Mask = new Set()

/** What differs between two runs of the same story, so that no fault can be blamed for it. `known`: existing masks. */
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
 * Whether a field holds what a sibling field held before and no longer holds (`current`, now `previous`): a forgotten
 * value would have stayed where it was.
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
 * Where a value has something that another lacks: keys of maps, items of lists; without annotations, and without what
 * was elsewhere `before`.
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

/** Whether an object is kept for later: it exists, but does nothing. */
const isIdle = (member: string): boolean => {
  const { spec } = JSON.parse(member) as { readonly spec?: { readonly replicas?: number; readonly suspend?: boolean } }
  return spec?.replicas === 0 || spec?.suspend === true
}

/** The number of objects of a kind. */
const countOf = (state: State, kind: string): number =>
  [...state].reduce((sum, [family, { length }]) => family.startsWith(`${kind} `) ? sum + length : sum, 0)

/** Whether a state has another family in place of one: for example, the one of two colours whose turn it is. */
const isInPlace = (family: string, one: State, two: State): boolean => {
  const kind = family.slice(0, family.indexOf(" "))
  return countOf(one, kind) <= countOf(two, kind)
}

/** What is checked about a family: whether there are too many objects, and whether one has too many fields. */
export interface Looked {
  readonly number: boolean
  readonly fields: boolean
}

/**
 * What an object has in one state beyond the same object in another, of what its owner asks for: not its status or
 * annotations. Families that are checked for their number have no reason to exist: there may not be more of them than
 * in the other state, unless one of them stands by.
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

/** What a state has less of than another, unless that is idle or something else of its kind is in its place. */
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
 * A state without the families of which it has more than one of two other states and less than the other: something
 * that was stopped halfway, where one state has all of it and in the other it never began.
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

/** A state in which families of which it has less than another are filled up from that other. */
export const excused = (found: State, wanted: State, families: ReadonlySet<string>): State => {
  const less = [...families].flatMap((family) => {
    const members = wanted.get(family) ?? []
    return (found.get(family) ?? []).length < members.length ? [[family, members] as const] : []
  })
  return less.length === 0 ? found : new Map([...found, ...less])
}

/** Whether the cluster's own controllers created an object, for something that was requested. */
const isClusters = (member: string): boolean => {
  const { metadata } = JSON.parse(member) as { readonly metadata: KubeObject["metadata"] }
  return metadata.ownerReferences?.some(({ kind }) =>
    kind === "Deployment" || kind === "Service" || kind === "Endpoints" || replacing.has(kind)
  ) === true
}

/**
 * How one state differs from another; empty if it does not. The most telling differences come first: objects that exist
 * or not, then what was asked for, then what is reported of it, and what is nearest to the object (the phase of a Pod
 * before the reason of a condition). Consequences that the cluster produces are listed only if there is nothing else
 * that was asked for.
 */
export const compare = (expected: State, actual: State): ReadonlyArray<string> => {
  const lines: Array<{ readonly rank: readonly [number, number]; readonly text: string }> = []
  for (const family of new Set([...expected.keys(), ...actual.keys()])) {
    const [wanted, found] = [expected.get(family) ?? [], actual.get(family) ?? []]
    if (wanted.length !== found.length) {
      const rank = isClusters(wanted[0] ?? found[0]!) ? 3 : 0
      const failed = failedIn(found) - failedIn(wanted)
      const remains = failed > 0 && found.length > wanted.length ? `, and ${failed} of them failed` : ""
      lines.push({ rank: [rank, 0], text: `${family}: ${found.length} instead of ${wanted.length}${remains}` })
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
  // What the cluster produces from the differences adds nothing.
  const cause = lines.some(({ rank: [first] }) => first < 2)
  const told = lines.filter(({ rank: [first] }) => first < 3 || !cause)
    .sort(({ rank: [a, x] }, { rank: [b, y] }) => a - b || x - y).map(({ text }) => text)
  return [...new Set(told)]
}

/** How many of some objects are Pods that have failed: nobody has removed what is left of them. */
const failedIn = (members: ReadonlyArray<string>): number =>
  members.filter((member) => phaseOf(JSON.parse(member) as KubeObject) === "Failed").length

/** The note on two texts with the same parts. */
export const shuffled =
  "which is the same in another order: lists from the cache or the server have no guaranteed order"

/** Whether two texts have the same parts in another order. */
const areShuffled = (one: unknown, other: unknown): boolean => {
  if (typeof one !== "string" || typeof other !== "string") return false
  const [a, b] = [one, other].map((text) => text.split(/[\s,;]+/).toSorted().join("\n"))
  return a === b && a!.includes("\n")
}

/** The text in a Secret: people do not read base64. */
const worded = (value: unknown): unknown => typeof value === "string" ? decoded(value) : value

/** Two values for a person, each from shortly before the place where they begin to differ. */
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
