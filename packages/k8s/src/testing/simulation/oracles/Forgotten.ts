/**
 * `Forgotten`: what users no longer ask for is removed.
 *
 * A story is run again with all of its steps at once, so that the operator never sees the specs in between: what exists
 * at the end follows from the last spec alone. Source: Acto (SOSP'23).
 */
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { isObject } from "../../../schema/JsonValue.ts"
import { awaitsApproval, isPaused } from "../recording/Excuses.ts"
import { precious } from "../recording/Precious.ts"
import { calls, firstChanges, madeByPeople, type Recording } from "../recording/Recording.ts"
import { writes } from "../recording/Writes.ts"
import * as Canonical from "../state/Canonical.ts"
import { stillFails } from "../state/Failing.ts"
import { isLookedAfter, turnsWith } from "../state/Standby.ts"
import type { Reference } from "../running/Reference.ts"
import type { Oracle } from "./Oracle.ts"
import { derived, toldOfBefore } from "./Derived.ts"
import { notBack, notBackOutside, outdated, outdatedOutside, stillAnnotated } from "./Outdated.ts"
import { flagOfBefore } from "./Flags.ts"
import { isTold } from "./Refused.ts"

/** Kinds whose specs do not change after creation: they are history. */
export const fixed: ReadonlySet<string | undefined> = new Set([...precious, "Job", "Pod"])

/** Kinds that describe what is desired for as long as they exist, so that none is a record of something past. */
export const standing: ReadonlySet<string | undefined> = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "HorizontalPodAutoscaler",
  "Ingress",
  "NetworkPolicy",
  "PodDisruptionBudget",
  "Service",
  "StatefulSet"
])

/** Kinds that grant permissions or set limits: one that nobody asks for any more allows too much, or too little. */
const allowing: ReadonlySet<string | undefined> = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "LimitRange",
  "ResourceQuota",
  "Role",
  "RoleBinding"
])

/** Kinds that others read, or run as. */
const read: ReadonlySet<string | undefined> = new Set(["ConfigMap", "Secret", "ServiceAccount"])

/** Whether a Pod runs permanently: its containers are restarted whenever they end. */
const runs = (object: KubeObject): boolean =>
  object.kind === "Pod" &&
  (object as { readonly spec?: { readonly restartPolicy?: string } }).spec?.restartPolicy === "Always"

/** All numbers and words that the spec of the custom resource has ever had. */
const wordsOf = ({ entries }: Recording, { metadata: { uid } }: KubeObject): ReadonlyArray<string> => {
  const words = new Set<string>()
  const walk = (value: unknown): void => {
    if (typeof value === "object" && value !== null) Object.values(value).forEach(walk)
    else if (value !== undefined && value !== null) words.add(String(value))
  }
  for (const entry of entries) {
    if (entry._tag !== "Change" || entry.change.object.metadata.uid !== uid) continue
    walk((entry.change.object as { readonly spec?: unknown }).spec)
  }
  return [...words].filter((word) => word !== "")
}

/** When an object first existed. */
const firstOf = ({ entries }: Recording, uid: string): number | undefined =>
  entries.find((entry) => entry._tag === "Change" && entry.change.object.metadata.uid === uid)?.at

/**
 * Whether an object is a part of the custom resource, and no record of its past: it exists from the beginning, its name
 * contains no value of a spec, no number and nothing random, and its kind has no random values, which would be lost.
 */
const isPart = (object: KubeObject, run: Recording, own: KubeObject, mask: Canonical.Mask): boolean => {
  const { kind, metadata: { name, uid } } = object
  if (!read.has(kind) || controllerOf(object)?.uid !== own.metadata.uid) return false
  if ([...mask].some((path) => path.startsWith(kind))) return false
  const [since, from] = [own.metadata.uid, uid].map((of) => firstOf(run, of))
  if (from === undefined || since === undefined) return false
  if (from >= (run.steps.find((begin) => begin > since) ?? Infinity)) return false
  const rest = name.replace(own.metadata.name, "")
  return !/\d/.test(rest) && wordsOf(run, own).every((word) => !rest.includes(word))
}

/** The lists of strings in a value, by path. */
const listsOf = (value: unknown, path = ""): ReadonlyMap<string, ReadonlyArray<string>> => {
  if (Array.isArray(value)) return new Map(value.every((item) => typeof item === "string") ? [[path, value]] : [])
  if (!isObject(value)) return new Map()
  return new Map(Object.entries(value).flatMap(([key, item]) => [...listsOf(item, `${path}.${key}`)]))
}

/**
 * Whether an object belongs to one item of a list in the spec from which users have removed that item: at every rest
 * there is one such object, named after the item, for each item of the list.
 */
const isOfItem = (object: KubeObject, run: Recording, own: KubeObject, mask: Canonical.Mask): boolean => {
  const { kind, metadata: { name } } = object
  if (!read.has(kind) || controllerOf(object)?.uid !== own.metadata.uid) return false
  if ([...mask].some((path) => path.startsWith(kind))) return false
  const moments = [...run.rests, run].flatMap((moment) => {
    const then = moment?.objects.find(({ metadata }) => metadata.uid === own.metadata.uid)
    if (moment === undefined || then === undefined) return []
    const names = new Set(moment.objects.flatMap((one) => one.kind === kind ? [one.metadata.name] : []))
    return [{ names, lists: listsOf((then as { readonly spec?: unknown }).spec) }]
  })
  const paths = new Set(moments.flatMap(({ lists }) => [...lists.keys()]))
  return [...paths].some((path) => {
    const words = new Set(moments.flatMap(({ lists }) => lists.get(path) ?? []))
    const [word, ...more] = [...words].filter((one) => one !== "" && name.split(/[-.]/).includes(one))
    const named = (other: string) => name.split(/([-.])/).map((part) => part === word ? other : part).join("")
    return word !== undefined && more.length === 0 && words.size > 1 &&
      moments.at(-1)?.lists.get(path)?.includes(word) !== true &&
      moments.every(({ lists, names }) => (lists.get(path) ?? []).every((one) => names.has(named(one))))
  })
}

/** Whether a family exists in other namespaces under the same name: a copy, and no record of something past. */
const isCopy = (family: string, state: Canonical.State): boolean => {
  const [kind, place] = family.split(" ")
  const [namespace, name] = place?.split("/") ?? []
  return name !== undefined && [...state.keys()].some((other) => {
    const [itsKind, its = ""] = other.split(" ")
    return itsKind === kind && its.endsWith(`/${name}`) && its !== `${namespace}/${name}`
  })
}

/** What the operator has created, in order. */
const created = (run: Recording): ReadonlyArray<KubeObject> =>
  calls(run).filter(({ status }) => status === 201).flatMap(({ object }) => object ?? [])

/** What others have created and the operator has changed because a custom resource asked for it. */
const worked = (run: Recording, own: ReadonlySet<string>): ReadonlyArray<KubeObject> => {
  const uids = new Set<string>()
  if (run.kinds.length > 0) {
    for (const { after, before } of writes(run)) {
      const { uid } = after.metadata
      if (before !== undefined && !own.has(uid) && !run.kinds.includes(after.kind)) uids.add(uid)
    }
  }
  return run.objects.filter(({ metadata }) => uids.has(metadata.uid))
}

/** Whether users touch nothing that the operator has created: none of it exists when all steps come at once. */
const keepOff = (run: Recording, own: ReadonlySet<string>): boolean =>
  firstChanges(run).every((first) =>
    first !== undefined && !own.has(first.object.metadata.uid) && first.object.metadata.ownerReferences === undefined
  )

/** The objects that the users' steps create. */
const uidsOfPeople = (run: Recording, own: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(
    run.entries.flatMap((entry) =>
      entry._tag === "Change" && run.steps.includes(entry.at) && !own.has(entry.change.object.metadata.uid)
        ? [entry.change.object.metadata.uid]
        : []
    )
  )

/** These objects at the end, as text, if none of them is gone or being deleted. */
const ofPeople = (run: Recording, own: ReadonlySet<string>, mask: Canonical.Mask): string | undefined => {
  const uids = uidsOfPeople(run, own)
  const objects = run.objects.filter(({ metadata }) => uids.has(metadata.uid))
  if (objects.length < uids.size || objects.some(isTerminating)) return undefined
  const bare = objects.map((object) => ({ ...object, status: undefined }))
  const state = Canonical.state({ entries: run.entries, objects: bare, outside: new Map() }, mask)
  return JSON.stringify([...state].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const specOf = (object: KubeObject): string => JSON.stringify((object as { readonly spec?: unknown }).spec)

/** What users ask for with an object, as text; false and absent are the same. */
const wantedBy = (object: KubeObject): string => {
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : isObject(value)
      ? Object.entries(value).filter(([, item]) => item !== false).map(([key, item]) => [key, sorted(item)])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      : value
  return JSON.stringify(sorted((object as { readonly spec?: unknown }).spec ?? null))
}

/**
 * The only custom resource of a story, as it is at the end, if people never made another. Those that the operator makes
 * are its children.
 */
export const onlyOne = ({ entries, kinds, objects }: Recording): KubeObject | undefined => {
  const made = new Set(madeByPeople(entries))
  const uids = new Set(
    entries.flatMap((entry) =>
      entry._tag === "Change" && kinds.includes(entry.change.object.kind) && made.has(entry.change.object.metadata.uid)
        ? [entry.change.object.metadata.uid]
        : []
    )
  )
  return uids.size === 1 ? objects.find(({ metadata }) => uids.has(metadata.uid)) : undefined
}

/** The custom resources that people have made and not deleted, if there is more than one. */
const several = ({ entries, kinds, objects }: Recording): ReadonlyArray<KubeObject> => {
  const made = new Set(madeByPeople(entries))
  const all = objects.filter((object) =>
    kinds.includes(object.kind) && made.has(object.metadata.uid) && !isTerminating(object)
  )
  return all.length > 1 ? all : []
}

const uidsOf = (objects: ReadonlyArray<KubeObject>): ReadonlySet<string> =>
  new Set(objects.map(({ metadata }) => metadata.uid))

/** Whether users ask for the same at the end if all steps come at once. */
const wantTheSame = (run: Recording, other: Recording, mask: Canonical.Mask): boolean => {
  if (run.kinds.length > 0) {
    const object = onlyOne(run)
    const same = other.objects.find(({ kind, metadata }) =>
      kind === object?.kind && metadata.name === object.metadata.name
    )
    return object !== undefined && same !== undefined && specOf(same) === specOf(object)
  }
  const wanted = ofPeople(run, uidsOf(created(run)), mask)
  return wanted !== undefined && wanted === ofPeople(other, uidsOf(created(other)), mask)
}

/** What describes the desired state: the only custom resource, or without any, what the users' steps create. */
const peoples = (run: Recording, own: ReadonlySet<string>): ReadonlyArray<KubeObject> => {
  if (run.kinds.length > 0) return [onlyOne(run)].filter((object) => object !== undefined)
  const uids = uidsOfPeople(run, own)
  return run.objects.filter(({ metadata }) => uids.has(metadata.uid))
}

/**
 * The run in which all steps come at once. Undefined if there is none that can be compared: a precondition cannot come
 * at once with what follows, objects of the operator that users touch do not exist yet, and what is paused stays as it
 * was.
 */
const atOnceOf = (run: Recording, { hasty, mask, recording }: Reference): Recording | undefined => {
  if (run !== recording || run.steps.length < 2 || run.begun.step > 0) return undefined
  const own = uidsOf(created(run))
  if (!keepOff(run, own) || (run.kinds.length > 0 && onlyOne(run) === undefined)) return undefined
  // What has been approved remains until something else is.
  if (peoples(run, own).some((object) => isPaused(object) || awaitsApproval(object))) return undefined
  const { recording: other } = hasty(run.steps.map((_, index) => index).slice(1))
  const failed = other.entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)
  // A run that is wrong itself is no measure: what it lacks, an operator that still fails has not come to.
  const isWrong = failed || other.missed.length > 0 || other.failure !== undefined || stillFails(other) !== undefined
  return isWrong || !wantTheSame(run, other, mask)
    ? undefined
    : other
}

/** What the statuses of several custom resources have kept, of each what follows from its own spec. */
const keptByEach = (run: Recording, { hasty, mask, recording, state }: Reference): string | undefined => {
  const all = run === recording && run.steps.length > 1 && run.begun.step === 0 ? several(run) : []
  if (all.length === 0 || !keepOff(run, uidsOf(created(run)))) return undefined
  const { recording: other } = hasty(run.steps.map((_, index) => index).slice(1))
  const failed = other.entries.some((entry) => entry._tag === "Step" && entry.failed !== undefined)
  if (failed || other.missed.length > 0 || other.failure !== undefined) return undefined
  const families = Canonical.families(run, mask)
  const atOnce = Canonical.state(other, mask)
  const rests = run.rests.flatMap((rest) =>
    rest === undefined ? [] : [Canonical.state({ entries: run.entries, ...rest }, mask)]
  )
  for (const own of all) {
    const same = other.objects.find(({ kind, metadata: { name, namespace } }) =>
      kind === own.kind && name === own.metadata.name && namespace === own.metadata.namespace
    )
    if (same === undefined || specOf(same) !== specOf(own) || isPaused(own)) continue
    const found = flagOfBefore(run, own, families.get(own.metadata.uid), rests, state, atOnce, false)
    if (found !== undefined) return `${own.metadata.name}: ${found}`
  }
  return undefined
}

/**
 * Objects that the operator has created or changed have only the fields that they have when all steps come at once, and
 * there are no additional objects of kinds that describe what is desired; in a story without custom resources, which
 * could keep a history, no additional objects of any kind.
 */
export const forgotten: Oracle = {
  name: "nothing left of an earlier spec",
  judge: (run, reference) => {
    const { faulty, mask, state } = reference
    const other = atOnceOf(run, reference)
    if (other === undefined) {
      const kept = keptByEach(run, reference)
      return kept && `left of what was wanted before: ${kept}`
    }
    const made = created(run)
    const people = peoples(run, uidsOf(made))
    const families = Canonical.families(run, mask)
    const atOnce = Canonical.state(other, mask)
    const only = onlyOne(run)
    const told = isTold(run)
    const lookedAt = (object: KubeObject, family: string): Canonical.Looked | undefined => {
      const { kind } = object
      if (runs(object)) return { number: !told, fields: false }
      // Those of the operator's own kinds may be revisions.
      if (fixed.has(kind) || run.kinds.includes(kind)) return undefined
      const isPartOf = allowing.has(kind) ||
        only !== undefined && (isPart(object, run, only, mask) || isOfItem(object, run, only, mask))
      const number = standing.has(kind) || run.kinds.length === 0 || isCopy(family, atOnce) || isPartOf && !told
      return { number, fields: true }
    }
    const asked = new Map([
      ...worked(run, uidsOf(made)).flatMap(({ metadata }) => {
        const family = families.get(metadata.uid)
        return family === undefined ? [] : [[family, { number: false, fields: true }] as const]
      }),
      ...made.flatMap((object) => {
        const family = families.get(object.metadata.uid)
        const looked = family === undefined ? undefined : lookedAt(object, family)
        return family === undefined || looked === undefined ? [] : [[family, looked] as const]
      })
    ])
    const withFields = [...asked].flatMap(([family, { fields }]) => fields ? [family] : [])
    const rests = run.rests.flatMap((rest) => {
      if (rest === undefined) return []
      const own = rest.objects.find(({ metadata }) => metadata.uid === only?.metadata.uid)
      return [{
        state: Canonical.state({ entries: run.entries, ...rest }, mask),
        outside: rest.outside,
        wanted: own === undefined ? "" : wantedBy(own),
        paused: own !== undefined && isPaused(own)
      }]
    })
    const isWanted = (family: string): boolean =>
      [...families].every(([uid, its]) => its !== family || isLookedAfter(uid, run, faulty))
    const standsBy = (family: string): boolean =>
      turnsWith(family, state, atOnce).some((other) => isWanted(family) && isWanted(other))
    const found = Canonical.leftover(state, atOnce, asked, standsBy, rests.map((rest) => rest.state)) ??
      // While the custom resource is paused, nothing is expected to follow.
      outdated(run, people, withFields, state, atOnce, rests.flatMap((rest) => rest.paused ? [] : [rest.state])) ??
      stillAnnotated(run, people, withFields, state, atOnce) ??
      (only === undefined || told
        ? undefined
        : notBack(rests, { state, wanted: wantedBy(only) }, withFields, atOnce) ??
          notBackOutside(run, rests, only, wantedBy(only), other, mask)) ??
      outdatedOutside(run, people, other, mask) ??
      (only === undefined || told
        ? undefined
        : derived(run, reference, only, withFields, state, atOnce) ??
          [toldOfBefore, flagOfBefore].reduce<string | undefined>(
            (found, told) =>
              found ?? told(run, only, families.get(only.metadata.uid), rests.map((rest) => rest.state), state, atOnce),
            undefined
          ))
    return found === undefined ? undefined : `left of what was wanted before: ${found}`
  }
}

/** Whether an object is meant to exist for as long as the spec asks for it. */
const lasts = (object: KubeObject): boolean => standing.has(object.kind) || allowing.has(object.kind) || runs(object)

/**
 * What is created when all steps come at once is also created when they come one after the other. An operator that
 * creates something only for a new object does not do so if users ask for it later.
 */
export const followed: Oracle = {
  name: "nothing missing of the latest spec",
  judge: (run, reference) => {
    const { mask, state } = reference
    const other = atOnceOf(run, reference)
    if (other === undefined || isTold(run)) return undefined
    const families = Canonical.families(other, mask)
    const wanted = created(other).filter(lasts).flatMap(({ metadata }) => families.get(metadata.uid) ?? [])
    const found = Canonical.missing(state, Canonical.state(other, mask), new Set(wanted))
    return found && `${found}, and it is not paused, and nothing reports that`
  }
}
