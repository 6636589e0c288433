/**
 * `Kept`: what an operator must not delete: data, unless that is intended, and what people have created for themselves.
 *
 * Data that is to be deleted after work (a backup, a migration) is deleted after the work has succeeded.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { hasEnded, hasFailed, isComplete } from "../recording/Ends.ts"
import { blinds, isEvent } from "../recording/Fault.ts"
import { precious } from "../recording/Precious.ts"
import { type Call, cited, type Recording, seen } from "../recording/Recording.ts"
import { isWarning, keyOf, name, type Write, writes } from "../recording/Writes.ts"
import { type Rename, undrawn } from "../state/Renaming.ts"
import type { Oracle } from "./Oracle.ts"

interface Loss {
  /** How often the operator deleted it itself. */
  readonly count: number
  readonly call: Call
  readonly key: string
  /** Whether it only goes with an owner, and people are told that something is wrong. */
  readonly told: boolean
  /**
   * Jobs that had ended before it in the same step, by the name that every run gives them, and whether they succeeded.
   */
  readonly jobs: ReadonlyMap<string, boolean>
}

/** How the Jobs of a step had ended up to a given time. */
const endsOf = (
  { entries, steps }: Recording,
  until: number,
  commonOf: (object: KubeObject) => string
): Loss["jobs"] => {
  const since = steps.findLast((begin) => begin <= until) ?? 0
  const ended = new Set<string>()
  const jobs = new Map<string, boolean>()
  for (const entry of entries) {
    if (entry._tag !== "Change" || entry.at > until) continue
    const { object } = entry.change
    const { uid } = object.metadata
    const succeeds = isComplete(object)
    if (ended.has(uid) || !succeeds && !hasEnded(object, "Failed")) continue
    ended.add(uid)
    if (entry.at >= since) jobs.set(commonOf(object), succeeds)
  }
  return jobs
}

/** Whether the operator tells people, from a given time on, that something has failed. */
const saysSo = ({ entries }: Recording, since: number): boolean =>
  entries.some((entry) =>
    entry.at >= since && (entry._tag === "Log" || entry._tag === "Call" && (
          isEvent(entry.request.path)
            ? isWarning(entry)
            : entry.request.path.endsWith("/status") &&
              /fail|error|lost/i.test(JSON.stringify(entry.request.body) ?? "")
        ))
  )

/**
 * The data that a write of the operator deletes: the object itself, or what goes with an owner that people have deleted
 * and the operator lets go, by removing its last finalizer.
 */
const lostBy = ({ after, before, call, objects, type }: Write): ReadonlyArray<KubeObject> => {
  if (call.request.method === "DELETE") {
    return precious.has(after.kind) && !(before && isTerminating(before)) ? [after] : []
  }
  if (type !== "DELETED") return []
  const { uid } = after.metadata
  return [...objects.values()].filter(({ kind, metadata: { deletionTimestamp, ownerReferences = [] } }) =>
    precious.has(kind) && deletionTimestamp === undefined && ownerReferences.length > 0 &&
    ownerReferences.every((owner) => owner.uid === uid)
  )
}

/** The data that the operator deleted, by the name that every run gives it. */
const losses = (run: Recording): ReadonlyMap<string, Loss> => {
  const found = new Map<string, Loss>()
  const blinded = run.entries.find((entry) => entry._tag === "Fault" && blinds(entry.point))?.at ?? Infinity
  // An object that was created again while the operator was shown an old cluster is empty.
  const fresh = new Set(
    run.entries.flatMap((entry) =>
      entry._tag === "Change" && entry.change.type === "ADDED" && entry.at > blinded
        ? [entry.change.object.metadata.uid]
        : []
    )
  )
  let rename: Rename | undefined
  const commonOf = (object: KubeObject): string => {
    rename ??= undrawn(seen(run))
    return keyOf({ ...object, metadata: { ...object.metadata, name: rename(object.metadata.name) } })
  }
  for (const write of writes(run)) {
    const { at, call } = write
    const released = call.request.method !== "DELETE"
    for (const lost of lostBy(write)) {
      if (fresh.has(lost.metadata.uid)) continue
      const common = commonOf(lost)
      found.set(common, {
        count: (found.get(common)?.count ?? 0) + (released ? 0 : 1),
        call,
        key: keyOf(lost),
        // Who gives up and says so leaves it to people.
        told: released && saysSo(run, run.steps.findLast((begin) => begin <= at) ?? 0),
        jobs: endsOf(run, at, commonOf)
      })
    }
  }
  return found
}

/** Data is deleted only where it is deleted without faults, and not after work failed that succeeds without faults. */
export const dataKept: Oracle = {
  name: "no data loss",
  judge: (run, { recording }) => {
    const found = losses(run)
    if (found.size === 0) return undefined
    const expected = losses(recording)
    for (const [common, { call, count, jobs, key, told }] of found) {
      const wanted = expected.get(common)
      const [failed] = [...wanted?.jobs ?? []].find(([job, succeeds]) => succeeds && jobs.get(job) === false) ?? []
      if (failed !== undefined && !told) {
        return `${key} is deleted although ${failed} has failed; without faults, it is deleted after that has succeeded: ` +
          cited(call)
      }
      // What should have held the result of failed work is empty.
      if (count > (wanted?.count ?? 0) && !hasFailed(run)) {
        return `${key} is deleted; without faults it is kept: ${cited(call)}`
      }
    }
    return undefined
  }
}

/** All texts in a value. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
    ? Object.values(value).flatMap(textsIn)
    : []

/** Whether a custom resource names an object, or one of its labels. */
const names = (resource: KubeObject, { metadata: { labels, name } }: KubeObject): boolean => {
  const spoken = new Set(textsIn((resource as { readonly spec?: unknown }).spec))
  return [name, ...Object.values(labels ?? {})].some((text) => spoken.has(text))
}

/** Whether an object is labelled or annotated in the words of a custom resource's group. */
const isMarked = ({ metadata: { annotations, labels } }: KubeObject, resource: KubeObject): boolean => {
  const group = resource.apiVersion.split("/")[0]!
  return Object.keys({ ...annotations, ...labels }).some((key) => key.split("/")[0]!.endsWith(group))
}

/**
 * Whether people have given an object to a living custom resource, by its name in a label; for example an order for it.
 */
const isGiven = (object: KubeObject, resource: KubeObject): boolean =>
  !precious.has(object.kind) && !isTerminating(resource) &&
  Object.values(object.metadata.labels ?? {}).includes(resource.metadata.name)

/**
 * Whether everything that names the data is being deleted, and none of it says that the data goes too: then it was
 * used, not given away.
 */
const isLent = (object: KubeObject, resources: ReadonlyArray<KubeObject>): boolean =>
  precious.has(object.kind) && resources.every((resource) => {
    const { spec } = resource as { readonly spec?: unknown }
    return isTerminating(resource) && !/delet|reclaim|prune|cascad|purge|destroy/i.test(JSON.stringify(spec ?? {}))
  })

/** An object as it was before its deletion. */
const lastOf = ({ entries }: Recording, of: string): KubeObject | undefined => {
  const last = entries.findLast((entry) =>
    entry._tag === "Change" && entry.change.type !== "DELETED" && entry.change.object.metadata.uid === of
  )
  return last?._tag === "Change" ? last.change.object : undefined
}

/**
 * What people created, and the operator gave an owner, so that the garbage collector deletes it with that. Left out is
 * what a custom resource names, or what has its name in a label, and what one named by labels that people have changed
 * since.
 */
const inherited = (run: Recording, people: ReadonlySet<string>): string | undefined => {
  const gone = new Map(
    run.entries.flatMap((entry) =>
      entry._tag === "Change" && entry.change.type === "DELETED"
        ? [[entry.change.object.metadata.uid, entry.change.revision] as const]
        : []
    )
  )
  for (const { after, before, call, objects } of writes(run)) {
    const { ownerReferences: [owner] = [], uid } = after.metadata
    if (before === undefined || owner === undefined || !people.has(uid) || run.kinds.includes(after.kind)) continue
    if ((before.metadata.ownerReferences ?? []).length > 0) continue
    const [went, wentWith] = [gone.get(uid) ?? 0, gone.get(owner.uid) ?? Infinity]
    if (went < wentWith) continue
    const resources = [...objects.values()].filter(({ kind }) => run.kinds.includes(kind))
    const isMeant = (object: KubeObject): boolean =>
      resources.some((resource) =>
        isMarked(object, resource) || names(resource, object) ||
        Object.values(object.metadata.labels ?? {}).includes(resource.metadata.name)
      )
    const was = isMeant(before)
    if (was && isMeant(lastOf(run, uid) ?? before)) continue
    return `${name(after)} was created by people, no custom resource refers to it${
      was ? " any more" : ""
    }, and it is deleted with ` +
      `${owner.kind} ${owner.name}, which the operator made its owner: ${cited(call)}`
  }
  return undefined
}

/** Without faults, an operator deletes nothing that people have created for themselves. */
export const peoplesKept: Oracle = {
  name: "objects made by people are kept",
  judge: (run) => {
    if (run.met > 0 || run.kinds.length === 0) return undefined
    const people = new Set(run.entries.flatMap((entry) => (entry._tag === "Step" ? entry.made : [])))
    for (const { after, before, call, objects } of writes(run)) {
      const { ownerReferences = [], uid } = after.metadata
      if (call.request.method !== "DELETE" || !people.has(uid) || (before !== undefined && isTerminating(before))) {
        continue
      }
      if (run.kinds.includes(after.kind) || ownerReferences.length > 0) continue
      const resources = [...objects.values()].filter(({ kind }) => run.kinds.includes(kind))
      const object = before ?? after
      if (resources.some((resource) => isMarked(object, resource) || isGiven(object, resource))) continue
      const naming = resources.filter((resource) => names(resource, object))
      if (naming.length > 0) {
        if (!isLent(object, naming)) continue
        return `${name(after)} was created by people, ${name(naming[0]!)} only names it, but it is deleted with that: ${
          cited(call)
        }`
      }
      return `${name(after)} was created by people, no custom resource refers to it, but the operator deletes it: ${
        cited(call)
      }`
    }
    return inherited(run, people)
  }
}
