/**
 * `Available`: clients are not kept waiting without need.
 *
 * Two runs with the same end may differ in how much was available meanwhile: a rollout replaces one Pod after the
 * other, and after a restart it takes the next one before the last is ready, so fewer serve for a while. For each step
 * and each object at the root of Pods, the smallest number of ready Pods from the step until the next one is compared.
 *
 * Even a run without faults may keep clients waiting without need: a Service is switched from Pods that are ready to
 * others that are not yet; or the Services of two owners send clients to each other's Pods, or to those of Jobs.
 *
 * Source: a Pod serves when it is ready and not terminating, as in EndpointSlices (KEP-752).
 */
import { controllerOf, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import type { Pod, Service } from "../../../kinds/core.v1.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import { isForeign, selects } from "../../sim/ServiceEndpoints.ts"
import { blinds, type Kind } from "../recording/Fault.ts"
import { calls, isOver, type Recording } from "../recording/Recording.ts"
import { conditionsOf, name, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

/** How many Pods of an object were ready: when a step was taken, and the minimum until the next one. */
interface Ready {
  readonly first: number
  least: number
}

/** By step, and by the root object. */
type Course = ReadonlyArray<ReadonlyMap<string, Ready>>

const isReady = (pod: KubeObject): boolean =>
  !isTerminating(pod) && !isOver(pod) &&
  conditionsOf(pod).some(({ status, type }) => type === "Ready" && status === "True")

const courseOf = (run: Recording): Course => {
  const objects = new Map<string, KubeObject>()
  const rootOf = (object: KubeObject): KubeObject | undefined => {
    const owner = controllerOf(object)
    const above = owner === undefined ? undefined : objects.get(owner.uid)
    return owner === undefined ? object : above === undefined ? undefined : rootOf(above)
  }
  /** Ready Pods by their root. */
  const ready = new Map<string, Set<string>>()
  const out: Array<Map<string, Ready>> = []
  let taken = 0
  const begin = (): void => {
    out.push(new Map([...ready].map(([root, { size }]) => [root, { first: size, least: size }])))
  }
  for (const entry of run.entries) {
    while (taken < run.steps.length && entry.at >= run.steps[taken]!) {
      begin()
      taken += 1
    }
    if (entry._tag !== "Change") continue
    const { object, type } = entry.change
    const { uid } = object.metadata
    if (object.kind === "Pod") {
      const root = rootOf(object)
      const name = root === undefined || root === object
        ? undefined
        : `${root.kind} ${root.metadata.namespace}/${root.metadata.name}`
      if (name !== undefined) {
        const pods = ready.get(name) ?? new Set()
        ready.set(name, pods)
        if (type !== "DELETED" && isReady(object)) pods.add(uid)
        else pods.delete(uid)
        const now = out.at(-1)?.get(name)
        if (now !== undefined) now.least = Math.min(now.least, pods.size)
      }
    }
    // An object that is gone still says whose its Pods are.
    objects.set(uid, object)
  }
  return out
}

const courses = new WeakMap<Recording["entries"], Course>()

const known = (run: Recording): Course => {
  const course = courses.get(run.entries) ?? courseOf(run)
  courses.set(run.entries, course)
  return course
}

/** Faults that themselves take away Pods or their owners. */
const taking: ReadonlySet<Kind> = new Set<Kind>([
  "podFailed",
  "podRemoved",
  "orphaned",
  "removed",
  "guarded",
  "workFails"
])

/** Whether Pods may be away, or seem to exist, for reasons other than the operator. */
const isTaken = (run: Recording): boolean =>
  run.entries.some((entry) => entry._tag === "Fault" && (blinds(entry.point) || taking.has(entry.point.fault)))

/** No more Pods of an object are unavailable at once than without faults. */
const asAvailable: Oracle = {
  name: "availability is kept",
  judge: (run, { recording }) => {
    if (run.hurried.length > 0 || run.failure !== undefined || isTaken(run)) return undefined
    const course = known(run)
    for (const [step, expected] of known(recording).entries()) {
      for (const [root, { first, least }] of expected) {
        const found = course[step]?.get(root)
        if (found !== undefined && found.first === first && found.least < least) {
          return `the ready Pods of ${root} go down to ${found.least} after step ${
            step + 1
          }; without faults they never go ` +
            `below ${least}`
        }
      }
    }
    return undefined
  }
}

/** A Service that was switched away from ready Pods, until there are Pods where it was switched to. */
interface Turned {
  readonly service: Service
  readonly ready: number
}

/**
 * A Service is switched to other Pods when they are ready, not before. Not one that was left by an owner that people have
 * deleted, and that the next one of its name has taken over: nobody expects it to serve.
 */
const served: Oracle = {
  name: "Services select only ready Pods",
  judge: (run) => {
    if (isTaken(run)) return undefined
    const turned = new Map<string, Turned>()
    const pods = new Map<string, Pod>()
    const readyFor = (service: Service): number =>
      isForeign(service) ? 0 : [...pods.values()].filter((pod) => selects(service, pod)).length
    const own = new Map([...writes(run)].map(({ after, before }) => [after.metadata.resourceVersion, before]))
    const gone = new Set<string>()
    const isLeft = ({ metadata: { ownerReferences = [] } }: Service): boolean =>
      ownerReferences.length > 0 && ownerReferences.every((owner) => gone.has(owner.uid))
    for (const entry of run.entries) {
      if (entry._tag !== "Change") continue
      const { object, type } = entry.change
      const { resourceVersion, uid } = object.metadata
      if (type === "DELETED") gone.add(uid)
      if (object.kind === "Pod") {
        if (type !== "DELETED" && isReady(object)) pods.set(uid, object as Pod)
        else pods.delete(uid)
        for (const { ready, service } of turned.values()) {
          if (readyFor(service) > 0) {
            return `${name(service)} is switched from ready Pods (${ready}) to Pods that are not ready yet`
          }
        }
      } else if (object.kind === "Service") {
        const service = object as Service
        if (type === "DELETED" || !JsonValue.equals(turned.get(uid)?.service.spec?.selector, service.spec?.selector)) {
          turned.delete(uid)
        }
        const before = type === "MODIFIED" ? own.get(resourceVersion) as Service | undefined : undefined
        const ready = before === undefined || isLeft(before) ? 0 : readyFor(before)
        if (ready > 0 && readyFor(service) === 0) turned.set(uid, { service, ready })
      }
    }
    return undefined
  }
}

/** The custom resource at the root of an object. */
const rootIn = (objects: ReadonlyMap<string, KubeObject>, { metadata: { ownerReferences = [] } }: KubeObject) => {
  let [above] = ownerReferences.flatMap(({ uid }) => objects.get(uid) ?? [])
  for (let depth = 0; depth < objects.size && above !== undefined; depth++) {
    const [next]: ReadonlyArray<KubeObject> = above.metadata.ownerReferences?.flatMap(({ uid }) =>
      objects.get(uid) ?? []
    ) ?? []
    if (next === undefined) return above
    above = next
  }
  return above
}

/** Two custom resources of a kind do not each have a Service that sends its clients to the Pods of the other. */
const apart: Oracle = {
  name: "Services select only their own Pods",
  judge: (run) => {
    if (run.met > 0) return undefined
    for (const { objects } of [...run.rests.flatMap((rest) => rest ?? []), run]) {
      const all = new Map(objects.map((object) => [object.metadata.uid, object]))
      const crossed = new Map<string, Service>()
      for (const service of objects.filter((object): object is Service => object.kind === "Service")) {
        const own = rootIn(all, service)
        if (own === undefined || !run.kinds.includes(own.kind) || isForeign(service)) continue
        for (const pod of objects.filter((object): object is Pod => object.kind === "Pod")) {
          const other = rootIn(all, pod)
          if (other === undefined || other === own || other.kind !== own.kind || !selects(service, pod)) continue
          const back = crossed.get(`${other.metadata.uid} ${own.metadata.uid}`)
          if (back !== undefined) {
            return `${name(service)} of ${name(own)} also selects Pods of ${name(other)}, and ${
              name(back)
            } the other way round: ` +
              "select by a label that tells them apart"
          }
          crossed.set(`${own.metadata.uid} ${other.metadata.uid}`, service)
        }
      }
    }
    return undefined
  }
}

/** Whether a Pod does work that ends. */
const isOfJob = (pod: KubeObject): boolean => controllerOf(pod)?.kind === "Job"

/** A Service that has Pods which serve does not also send clients to those that do work of the operator. */
const unbothered: Oracle = {
  name: "Services select no Pods of Jobs",
  judge: (run) => {
    if (run.met > 0) return undefined
    const made = new Set(
      calls(run).flatMap(({ object, status }) => status === 201 && object !== undefined ? [object.metadata.uid] : [])
    )
    const [pods, services] = [new Map<string, Pod>(), new Map<string, Service>()]
    for (const entry of run.entries) {
      if (entry._tag !== "Change") continue
      const { object, type } = entry.change
      const { uid } = object.metadata
      const isThere = type !== "DELETED" && !isTerminating(object)
      if (object.kind === "Service" && made.has(uid)) {
        if (isThere) services.set(uid, object as Service)
        else services.delete(uid)
      }
      if (object.kind !== "Pod") continue
      if (isThere && !isOver(object)) pods.set(uid, object as Pod)
      else pods.delete(uid)
      const job = controllerOf(object)
      if (!pods.has(uid) || !isReady(object) || !isOfJob(object) || !made.has(job?.uid ?? "")) continue
      const service = [...services.values()].find((service) => !isForeign(service) && selects(service, object as Pod))
      const server = service && [...pods.values()].find((pod) => !isOfJob(pod) && selects(service, pod))
      if (service !== undefined && server !== undefined) {
        return `${name(service)} selects ${name(server)}, and also ${
          name(object)
        } of Job ${job?.name}, which serves nobody`
      }
    }
    return undefined
  }
}

export const available: ReadonlyArray<Oracle> = [asAvailable, served, apart, unbothered]
