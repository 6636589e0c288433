/**
 * `Course`: what must hold for every single write, wherever the run ends.
 *
 * Two runs with the same end may differ in what was lost in between, and a run without faults may be wrong in a way
 * that every run with faults repeats. Comparing ends shows neither. Each rule here follows from Kubernetes' own
 * conventions (API conventions on conditions and metadata, owner references, garbage collection), and is only about the
 * operator's own writes.
 */
import { isTerminating, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import { isComplete } from "../recording/Ends.ts"
import { blindings, met } from "../recording/Excuses.ts"
import { blinds, guard, hastens, isElected, touched } from "../recording/Fault.ts"
import { precious } from "../recording/Precious.ts"
import { type Call, cited, isOver, type Recording } from "../recording/Recording.ts"
import { conditionsOf, each, keyOf, name, writes } from "../recording/Writes.ts"
import type { Reference } from "../running/Reference.ts"
import * as Canonical from "../state/Canonical.ts"
import { isName } from "../state/Names.ts"
import { peoplesKept } from "./Kept.ts"
import type { Oracle } from "./Oracle.ts"
import { spoken } from "./Spoken.ts"

const moved = each(({ after, before }) => {
  const now = conditionsOf(after)
  const { generation = 0 } = after.metadata
  for (const [index, { lastTransitionTime, observedGeneration = 0, status, type }] of now.entries()) {
    if (now.findIndex((other) => other.type === type) < index) return `${name(after)}: two conditions of type ${type}`
    if (observedGeneration > generation) {
      return `${name(after)}: condition ${type}: observedGeneration ${observedGeneration} is ahead of ${generation}`
    }
    const then = conditionsOf(before).find((other) => other.type === type)
    if (then === undefined) continue
    if (observedGeneration < (then.observedGeneration ?? 0)) {
      return `${name(after)}: condition ${type}: observedGeneration goes back to ${observedGeneration}`
    }
    if (then.status === status && then.lastTransitionTime !== lastTransitionTime) {
      return `${name(after)}: condition ${type} is still ${status}, but its lastTransitionTime changes`
    }
  }
  return undefined
})

/** Conditions have one entry for each type, a time that changes only with the status, and a generation that exists. */
const conditions: Oracle = {
  name: "conditions",
  judge: (run) => (blindings(run) > 0 ? undefined : moved(run))
}

/** An object without its ownership. */
const content = ({ metadata, ...rest }: KubeObject): string =>
  JSON.stringify({ ...rest, labels: metadata.labels, annotations: metadata.annotations })

/** An owner is in the namespace of its dependents, or cluster-scoped; the garbage collector takes others for absent. */
export const ownersOwn: Oracle = {
  name: "valid owner references",
  judge: each(({ after, objects, type }) => {
    if (type === "DELETED") return undefined
    const stranger = after.metadata.ownerReferences?.map(({ uid }) => objects.get(uid)).find((owner) =>
      owner?.metadata.namespace !== undefined && owner.metadata.namespace !== after.metadata.namespace
    )
    return stranger === undefined
      ? undefined
      : `${name(after)} has the owner ${name(stranger)} in namespace ${stranger.metadata.namespace}: ` +
        "owner references must not cross namespaces"
  })
}

/** Whether the object does not have that owner either if the spec after this many steps is applied at once. */
const isNeverOwned = (
  { hasty }: Reference,
  steps: number,
  { kind, metadata: { name, namespace } }: KubeObject,
  owner: OwnerReference
): boolean => {
  const { recording: other } = hasty(Array.from({ length: steps - 1 }, (_, step) => step + 1))
  const [moment] = [...other.rests, other]
  const same = moment?.objects.find((object) =>
    object.kind === kind && object.metadata.name === name && object.metadata.namespace === namespace
  )
  return same !== undefined &&
    !same.metadata.ownerReferences?.some((its) => its.kind === owner.kind && its.name === owner.name)
}

/**
 * Whether a new owner was made for the former one: what a set has made for its part, the part takes over. Whether the part
 * still has its own owner is another matter.
 */
const isHandedDown = (run: Recording, before: KubeObject, after: KubeObject, former: OwnerReference): boolean => {
  const had = new Set(before.metadata.ownerReferences?.map(({ uid }) => uid))
  const more = new Set(after.metadata.ownerReferences?.flatMap(({ uid }) => had.has(uid) ? [] : [uid]))
  return run.entries.some((entry) =>
    entry._tag === "Change" && entry.change.type === "ADDED" && more.has(entry.change.object.metadata.uid) &&
    entry.change.object.metadata.ownerReferences?.some(({ uid }) => uid === former.uid) === true
  )
}

/**
 * Owner references are not lost by a write about something else. Releasing an object is a write of its own, or users
 * have asked for it, so that the owner would not own the object if it was created now. An object that is handed down is
 * still deleted with its former owner.
 */
const ownersKept: Oracle = {
  name: "owner references are kept",
  judge: (run, reference) =>
    each(({ after, before, call, objects, type }) => {
      if (before === undefined || type === "DELETED") return undefined
      const left = new Set(after.metadata.ownerReferences?.map(({ uid }) => uid))
      const lost = before.metadata.ownerReferences?.find(({ uid }) => {
        const owner = objects.get(uid)
        return !left.has(uid) && owner !== undefined && !isTerminating(owner)
      })
      const had = new Set(before.metadata.ownerReferences?.map(({ uid }) => uid))
      const letsGo = [...left].every((uid) => had.has(uid)) && content(before) === content(after)
      if (lost === undefined || letsGo || isHandedDown(run, before, after, lost)) return undefined
      const steps = run.begun.step > 0 ? 0 : run.steps.filter((begin) => begin <= call.at).length
      return steps > 1 && isNeverOwned(reference, steps, after, lost)
        ? undefined
        : `${name(after)} loses the reference to its owner ${lost.kind} ${lost.name}`
    })(run)
}

/** What somebody else has written on an object stays. */
const othersKept: Oracle = {
  name: "others' annotations are kept",
  judge: each(({ after, before, type }) => {
    const lost = type === "DELETED" ? undefined : ([["annotations", "an annotation"], ["labels", "a label"]] as const)
      .find(([field]) =>
        before?.metadata[field]?.[touched] !== undefined && after.metadata[field]?.[touched] === undefined
      )
    return lost && `${name(after)} loses ${lost[1]} that somebody else has set`
  })
}

/** A finalizer is removed by whoever added it. */
const guardsKept: Oracle = {
  name: "others' finalizers are kept",
  judge: each(({ after, before, type }) =>
    before?.metadata.finalizers?.includes(guard) === true &&
      (type === "DELETED" || after.metadata.finalizers?.includes(guard) !== true)
      ? `${name(after)} loses a finalizer that somebody else has set`
      : undefined
  )
}

/** What a Job does, and for whom, which its labels say. */
const workOf = (object: KubeObject): string => {
  const { spec } = object as KubeObject & { readonly spec?: { readonly template?: { readonly spec?: unknown } } }
  return JSON.stringify([object.metadata.ownerReferences?.map(({ uid }) => uid), spec?.template?.spec])
}

/** Work that is done is not done again because a process died or an answer was lost. */
const doneOnce: Oracle = {
  name: "succeeded Jobs are not run again",
  judge: (run) => {
    // A process that is shown an old cluster, or whose Job somebody has removed, cannot know.
    const excused = run.entries.some((entry) =>
      entry._tag === "Fault" && (blinds(entry.point) || excusing.has(entry.point.fault))
    )
    if (excused) return undefined
    const done = new Map<string, { readonly step: number; readonly object: KubeObject }>()
    for (const { after, at, before, call, type } of writes(run)) {
      if (after.kind !== "Job") continue
      const step = run.steps.findLastIndex((begin) => begin <= at)
      const key = keyOf(after)
      if (call.request.method === "DELETE" && before !== undefined && isComplete(before)) {
        done.set(key, { step, object: before })
      }
      const gone = done.get(key)
      if (type === "ADDED" && gone?.step === step && workOf(gone.object) === workOf(after)) {
        return `${name(after)} succeeded, was deleted, and is created again: ${cited(call)}`
      }
    }
    return undefined
  }
}

const excusing: ReadonlySet<string> = new Set(["removed", "orphaned", "podFailed", "podRemoved", "guarded", "hurried"])

/** The desired state of an object, without what the cluster fills in after its creation. */
const wanted = (object: KubeObject): string => {
  const { spec = {}, status: _, ...rest } = object as KubeObject & { readonly status?: unknown; readonly spec?: object }
  const asked = Object.entries(spec).filter(([key, item]) =>
    key !== "volumeName" && !Canonical.isAssigned(`${object.kind}.spec.${key}`, item)
  )
  return content({ ...rest, spec: Object.fromEntries(asked) } as KubeObject)
}

/** The role of an object: its name, or its generateName and owner. */
const roleOf = (object: KubeObject): string => {
  const { generateName, ownerReferences = [] } = object.metadata
  if (generateName === undefined) return keyOf(object)
  return `${keyOf({ ...object, metadata: { ...object.metadata, name: generateName } })} ${
    ownerReferences.map(({ uid }) => uid).join()
  }`
}

/** A request in one line, with its selectors. */
const lineOf = (call: Call): string =>
  [cited(call), ...call.request.query.flatMap(([key, value]) => /selector/i.test(key) ? [`${key}=${value}`] : [])].join(
    " "
  )

/** Without faults, nothing is deleted and then created again as it was. */
const noChurn: Oracle = {
  name: "no needless deletion",
  judge: (run) => {
    if (run.met > 0) return undefined
    const deleted = new Map<string, { readonly step: number; readonly object: KubeObject; readonly call: Call }>()
    const names = run.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
    for (const { after, at, before, call, type } of writes(run)) {
      const step = run.steps.findLastIndex((begin) => begin <= at)
      const key = roleOf(after)
      if (call.request.method === "DELETE" && before !== undefined && !isTerminating(before) && !isOver(before)) {
        deleted.set(key, { step, object: before, call })
      }
      const gone = deleted.get(key)
      if (type === "ADDED" && gone?.step === step && wanted(gone.object) === wanted(after)) {
        const since = names[step] === undefined ? "" : ` after ${JSON.stringify(names[step])}`
        return `${name(after)} was deleted${since} (${lineOf(gone.call)}), and is created again unchanged: ${
          cited(call)
        }`
      }
    }
    return undefined
  }
}

/** Kinds that may be shared, unless the object is named after a custom resource that is gone. */
const shared: ReadonlySet<string> = new Set([
  "ServiceAccount",
  "Role",
  "RoleBinding",
  "ClusterRole",
  "ClusterRoleBinding"
])

/** Kinds that outlive their custom resource: data, and what all objects of a namespace or cluster may share. */
const lasting: ReadonlySet<string> = new Set([
  ...precious,
  ...shared,
  "Event",
  "Lease"
])

/** Names of custom resources, except for those named like their kind: what all of them share may be, too. */
const namesOf = ({ entries, kinds }: Recording): ReadonlySet<string> =>
  new Set(
    entries.flatMap((entry) => {
      if (entry._tag !== "Change" || !kinds.includes(entry.change.object.kind)) return []
      const { kind, metadata: { name } } = entry.change.object
      return kind.toLowerCase().startsWith(name.toLowerCase()) ? [] : [name]
    })
  )

/** Whether an object was created for one custom resource alone: its name contains the name of that. */
const isOfOne = (run: Recording, { kind, metadata }: KubeObject): boolean =>
  shared.has(kind) && [...namesOf(run)].some((name) => `-${metadata.name}-`.includes(`-${name}-`))

/** Whether the last custom resource is gone; not if something has lost its owner, as nobody can tell whose it was. */
const isOverAll = (run: Recording): boolean =>
  run.failure === undefined && !run.objects.some(({ kind }) => run.kinds.includes(kind)) &&
  !met(run, "orphaned")

/** The uids of these objects, and of all that belongs to them. */
const belowOf = (objects: ReadonlyArray<KubeObject>, tops: ReadonlyArray<KubeObject>): ReadonlySet<string> => {
  const found = new Set(tops.map(({ metadata }) => metadata.uid))
  for (let size = -1; size < found.size;) {
    size = found.size
    for (const { metadata: { ownerReferences = [], uid } } of objects) {
      if (ownerReferences.some((owner) => found.has(owner.uid))) found.add(uid)
    }
  }
  return found
}

/** Whether a spec says that something outlives its object: a deletion policy such as `Orphan` or `Retain`. */
const letsStay = (value: unknown): boolean =>
  typeof value === "string"
    ? /^(?:orphan|retain|keep)(?:ed)?$/i.test(value)
    : typeof value === "object" && value !== null && Object.values(value).some(letsStay)

/** Whether the custom resource that an object was created for said at its end that it stays. */
const isToStay = ({ entries, kinds }: Recording, { metadata: { uid } }: KubeObject): boolean => {
  const gone = entries.flatMap((entry) =>
    entry._tag === "Change" && entry.change.type === "DELETED" && kinds.includes(entry.change.object.kind) &&
      letsStay((entry.change.object as { readonly spec?: unknown }).spec)
      ? [entry.change.object.metadata.uid]
      : []
  )
  return gone.length > 0 &&
    entries.some((entry) =>
      entry._tag === "Change" && entry.change.object.metadata.uid === uid &&
      gone.some((owner) => JSON.stringify(entry.change.object.metadata).includes(owner))
    )
}

/**
 * When the last custom resource is gone, nothing is left of what the operator created while one existed, nor of what
 * the cluster created from that. What was created while all were being deleted (a last backup) is meant to stay, and so
 * are the kinds that the scenario's `keeps` names, what a deletion policy says stays, and what belongs to such objects.
 */
const nothingLeft: Oracle = {
  name: "nothing left behind",
  judge: (run) => {
    const { entries, keeps, kinds, objects } = run
    if (!isOverAll(run)) return undefined
    const made = new Map<string, Call>()
    for (const { after, call, objects: before, type } of writes(run)) {
      const lives = (object: KubeObject) => kinds.includes(object.kind) && !isTerminating(object)
      if (type === "ADDED" && [...before.values()].some(lives)) made.set(after.metadata.uid, call)
    }
    const own = new Set(made.keys())
    for (const entry of entries) {
      if (entry._tag !== "Change" || entry.change.type !== "ADDED") continue
      const { ownerReferences = [], uid } = entry.change.object.metadata
      const [above] = ownerReferences.flatMap((owner) => made.get(owner.uid) ?? [])
      if (above !== undefined && !made.has(uid)) made.set(uid, above)
    }
    const kept = belowOf(objects, objects.filter((object) => keeps.includes(object.kind) || isToStay(run, object)))
    const all = objects.filter((object) =>
      made.has(object.metadata.uid) && (!lasting.has(object.kind) || isOfOne(run, object)) &&
      !kept.has(object.metadata.uid)
    )
    // What the cluster created from it goes with it.
    const left = all.find(({ metadata }) => own.has(metadata.uid)) ?? all[0]
    return left === undefined
      ? undefined
      : `${name(left)} still exists, but the custom resource that it was created for is gone: ${
        cited(made.get(left.metadata.uid)!)
      } ` +
        `(if it is meant to stay, add its kind to "keeps" of the scenario)`
  }
}

/**
 * When the last custom resource is gone, no object of somebody else keeps a finalizer of the operator. Exempt are
 * stories without custom resources, in which the operator works on others' objects as long as they exist, and the kinds
 * that the scenario's `keeps` names.
 */
const letGo: Oracle = {
  name: "finalizers on others' objects are released",
  judge: (run) => {
    if (run.kinds.length === 0 || !isOverAll(run)) return undefined
    const given = new Map<string, Set<string>>()
    for (const { after, before } of writes(run)) {
      // The operator created it: it must be gone altogether.
      if (before === undefined) continue
      const { finalizers = [], uid } = after.metadata
      const held = given.get(uid) ?? new Set()
      for (const finalizer of finalizers) {
        if (before.metadata.finalizers?.includes(finalizer) !== true) held.add(finalizer)
      }
      given.set(uid, held)
    }
    for (const object of run.objects) {
      if (run.keeps.includes(object.kind)) continue
      const held = object.metadata.finalizers?.find((finalizer) => given.get(object.metadata.uid)?.has(finalizer))
      if (held !== undefined) {
        return `${
          name(object)
        } still has the finalizer ${held}, which the operator set, but the last custom resource is gone ` +
          `(if that is intended, add its kind to "keeps" of the scenario)`
      }
    }
    return undefined
  }
}

/** The value at a canonical path such as `ConfigMap.data.password`, as text. */
const valueAt = (object: KubeObject, path: string): string | undefined => {
  let value: unknown = object
  for (const part of path.split(".").slice(1)) value = (value as Record<string, unknown> | null | undefined)?.[part]
  return typeof value === "string" ? value : undefined
}

const address = /^\d+\.\d+\.\d+\.\d+$/

/** Whether a text is a resourceVersion that an object has had: it changes with every write. */
const isVersion = ({ entries }: Recording, text: string): boolean =>
  /^\d+$/.test(text) &&
  entries.some((entry) => entry._tag === "Change" && entry.change.object.metadata.resourceVersion === text)

/** The first write that replaces a random value by another. */
const redrawn = (run: Recording, paths: ReadonlyArray<string>): string | undefined =>
  each(({ after, before, type }) => {
    if (type !== "MODIFIED" || before === undefined) return undefined
    for (const path of paths.filter((path) => path.startsWith(`${after.kind}.`))) {
      const [then, now] = [valueAt(before, path), valueAt(after, path)]
      if (then === undefined || now === undefined || then === now || address.test(now) || isVersion(run, now)) continue
      return `${name(after)}: ${path} is a random value, and is drawn again`
    }
    return undefined
  })(run)

/** The paths of random values, at the end or at a rest, that never change without faults. */
const drawnOf = ({ mask, recording, rests }: Reference): ReadonlyArray<string> =>
  [...new Set([...mask, ...rests.flatMap((rest) => [...rest?.mask ?? []])])].filter((path) =>
    !isName(path) && !/^[^.]+\.(?:metadata|status)\b/.test(path) && redrawn(recording, [path]) === undefined
  )

const drawnPaths = new WeakMap<Reference, ReadonlyArray<string>>()

/** A random value (a password) stays the same, if it does without faults. */
const drawnOnce: Oracle = {
  name: "random values are kept",
  judge: (run, reference) => {
    // What somebody has removed gets another random value.
    if (run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === "removed")) return undefined
    const paths = drawnPaths.get(reference) ?? drawnOf(reference)
    drawnPaths.set(reference, paths)
    return paths.length === 0 ? undefined : redrawn(run, paths)
  }
}

/** How long a process works on what it found at its start, in milliseconds. */
const awake = 5_000

/**
 * A process that restarts when everything is as desired changes nothing, nor when everything has come to rest after
 * steps that did not wait: what it finds to do is what the one before it had not noticed. What follows from a step that
 * is taken then does not count.
 */
export const calmStart: Oracle = {
  name: "a restart changes nothing",
  judge: (run) => {
    const faults = run.entries.filter((entry) => entry._tag === "Fault")
    const start = faults.find(({ point }) => point.fault === "restarted")
    const hasty = faults.filter(({ point }) => hastens(point)).length
    if (start === undefined || run.met > 1 + hasty) return undefined
    const { at } = start
    const step = run.entries.slice(run.entries.indexOf(start)).find(({ _tag }) => _tag === "Step")?.at ?? Infinity
    for (const { after, at: then, call, type } of writes(run)) {
      if (
        then < at || then > at + awake || then >= step || call.life === 1 || after.kind === "Event" || isElected(after)
      ) {
        continue
      }
      const what = `${name(after)} is ${type === "ADDED" ? "created" : type === "DELETED" ? "deleted" : "changed"}`
      return hasty > 0
        ? `all was at rest, and only after a restart of the process ${what}: before, nothing showed that this was ` +
          `due (nothing triggers a reconcile when what it waits for is there): ${cited(call)}`
        : `there was nothing to do, but after a restart of the process ${what}: ${cited(call)}`
    }
    return undefined
  }
}

export const course: ReadonlyArray<Oracle> = [
  conditions,
  ownersKept,
  othersKept,
  guardsKept,
  spoken,
  peoplesKept,
  doneOnce,
  noChurn,
  nothingLeft,
  letGo,
  drawnOnce,
  calmStart
]
