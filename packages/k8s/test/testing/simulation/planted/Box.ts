/**
 * What the planted bugs have in common: a `Box` that wants Pods and ConfigMaps, people who change it, and small parts of
 * reconcilers. A bug is told as a wrong operator and its corrected twin, which live through the same story.
 */
import {
  Action,
  Cache,
  Controller,
  CustomResource,
  KubeClient,
  type KubeError,
  Manager,
  type Resource,
  type Watch
} from "@effect-operator/core"
import { controllerReference, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap, type Job, Pod } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { Effect, identity, Layer, Schema } from "effect"

export const Box = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Box",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({
    count: Schema.optionalKey(Schema.Int),
    phase: Schema.optionalKey(Schema.String),
    observedGeneration: Schema.optionalKey(Schema.Int),
    deploymentGeneration: Schema.optionalKey(Schema.Int)
  })
})
export type Box = typeof Box.Type

export const resources = [Box]
export const client = KubeClient.KubeClient
export const key = { namespace: "default", name: "box" }
export const { merge } = KubeClient.Patch

/** What a reconciler of a Box may be; what it needs is given by the controller below. */
export type Reconcile = (box: Box) => Effect.Effect<Action.Action, unknown, any>
export type Steps = Simulation.Scenario["steps"]

export interface Planted {
  readonly name: string
  /** The oracle that should find it. */
  readonly oracle: string
  readonly wrong: Simulation.Scenario
  readonly right: Simulation.Scenario
  /** How many faults it takes at most: one, unless it says otherwise. */
  readonly faults?: number | undefined
  /** How it is looked for, where that is not as always. */
  readonly options?: Simulation.Options | undefined
}

interface More {
  readonly concurrency?: number
  readonly owns?: ReadonlyArray<Resource.Any>
  readonly watches?: ReadonlyArray<Watch.Watch>
  readonly finalize?: Reconcile
}

/** An operator with one controller of Boxes, which watches their Pods and ConfigMaps, or what is said. */
export const boxes = (reconcile: Reconcile, more: More = {}): Simulation.Operator =>
  Manager.layer([
    Controller.make("boxes", {
      for: Box,
      ...(more.watches === undefined ? { owns: [Pod, ConfigMap] } : {}),
      ...more,
      reconcile
    }) as Controller.Controller
  ])

/** An operator that keeps something in memory for as long as its process lives. */
export const remembering = <A>(initial: () => A, operator: (memory: A) => Simulation.Operator): Simulation.Operator =>
  Layer.unwrap(Effect.sync(() => operator(initial())))

export const write = (size: number, metadata = key) =>
  client.use((it) =>
    it.create(Box, { metadata, spec: { size } }).pipe(
      Effect.catchReason("KubeError", "AlreadyExists", () => it.patch(Box, metadata, merge({ spec: { size } })))
    )
  )

export const remove = client.use((it) => it.delete(Box, key))

export const sized = (...sizes: ReadonlyArray<number>): Steps =>
  sizes.map((size) => ({ name: `size ${size}`, act: write(size) }))

export const deleted: Steps = [{ name: "delete", act: remove }]

const slug = (name: string) => name.replace(/[^a-z0-9]+/gi, "-").toLowerCase()

/** A bug and its twin. */
export const bug = (
  name: string,
  oracle: string,
  story: Steps,
  wrong: Simulation.Scenario["operator"],
  right: Simulation.Scenario["operator"],
  { replicas, without, ...options }: Simulation.Options & Pick<Simulation.Scenario, "replicas" | "without"> = {}
): Planted => {
  const scenario = (kind: string, operator: Simulation.Scenario["operator"]): Simulation.Scenario => ({
    name: `${slug(name)}-${kind}`,
    resources,
    operator,
    replicas,
    without,
    steps: story
  })
  return { name, oracle, wrong: scenario("wrong", wrong), right: scenario("right", right), options }
}

type Tried<A, R> = Effect.Effect<A, KubeError.KubeError, R>

export const unlessThere = <A, R>(effect: Tried<A, R>) =>
  Effect.catchReason(effect, "KubeError", "AlreadyExists", () => Effect.void)

export const unlessGone = <A, R>(effect: Tried<A, R>) =>
  Effect.catchReason(effect, "KubeError", "NotFound", () => Effect.void)

export const done = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.as(effect, Action.done)

export const podOf = (box: Box, name: { readonly name: string } | { readonly generateName: string }) => ({
  metadata: {
    ...name,
    namespace: "default",
    labels: { box: box.metadata.name },
    ownerReferences: [controllerReference(box)]
  },
  spec: { containers: [{ name: "c", image: "busybox" }] }
})

/** The Box's Pods that are not on their way out, by name. */
export const living = (box: Box) =>
  Effect.map(
    Cache.list(Pod, { owner: box }),
    (pods) => pods.filter((pod) => !isTerminating(pod)).sort((a, b) => a.metadata.name.localeCompare(b.metadata.name))
  )

export const isFailed = (pod: Pod) => pod.status?.phase === "Failed"

/** Pods under generated names: as many as the size says, of those that are `there`; dead ones go. */
export const asMany = (
  box: Box,
  there: ReadonlyArray<Pod>,
  creating: <A, E, R>(create: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = identity
) =>
  Effect.gen(function*() {
    const it = yield* client
    const alive = there.filter((pod) => !isTerminating(pod))
    const good = alive.filter((pod) => !isFailed(pod))
    for (let i = good.length; i < box.spec.size; i++) {
      yield* creating(it.create(Pod, podOf(box, { generateName: "box-" })))
    }
    for (const pod of [...alive.filter(isFailed), ...good.slice(box.spec.size)]) yield* unlessGone(it.delete(Pod, pod))
    return Action.done
  })

/** Pods by ordinal: as many as the size says; dead ones are replaced. */
export const pods = (box: Box) =>
  Effect.gen(function*() {
    const it = yield* client
    const existing = yield* living(box)
    for (const dead of existing.filter(isFailed)) yield* unlessGone(it.delete(Pod, dead))
    const names = new Set(existing.map(({ metadata }) => metadata.name))
    for (let i = 0; i < box.spec.size; i++) {
      if (!names.has(`box-${i}`)) yield* unlessThere(it.create(Pod, podOf(box, { name: `box-${i}` })))
    }
    for (const extra of existing.filter(({ metadata }) => Number(metadata.name.slice(4)) >= box.spec.size)) {
      yield* unlessGone(it.delete(Pod, extra))
    }
    return Action.done
  })

export const status = (box: Box, fields: NonNullable<Box["status"]>) =>
  Effect.gen(function*() {
    const it = yield* client
    const same = Object.entries(fields).every(([name, value]) => (box.status as any)?.[name] === value)
    if (!same) yield* it.patch(Box, box, merge({ status: fields }), { subresource: "status" })
  })

export const map = (name: string, data: Readonly<Record<string, string>>, box?: Box) => ({
  metadata: {
    namespace: "default",
    name,
    ...(box === undefined ? {} : { ownerReferences: [controllerReference(box)] })
  },
  data
})

export const named = (name: string) => ({ namespace: "default", name })

export const cached = (name: string) => Cache.get(ConfigMap, named(name))

/** The ConfigMap is there, and says so. */
export const keep = (box: Box, name: string, data: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const it = yield* client
    const found = yield* cached(name)
    if (found === undefined) yield* unlessThere(it.create(ConfigMap, map(name, data, box)))
    else if (JSON.stringify(found.data ?? {}) !== JSON.stringify(data)) {
      yield* it.patch(ConfigMap, named(name), merge({ data }))
    }
  })

export const count = (kind: string, objects: ReadonlyArray<KubeObject>): number =>
  objects.filter((object) => object.kind === kind && !isTerminating(object)).length

/** Whether a Job has come to such an end. */
export const ends = (job: Job, how: "Complete" | "Failed"): boolean =>
  job.status?.conditions?.some(({ status, type }) => type === how && status === "True") === true

/** A story in a cluster whose containers end well after a second. */
export const worked = (name: string, operator: Simulation.Operator, steps: Steps): Simulation.Scenario => ({
  name,
  resources,
  operator,
  cluster: { kubelet: { ending: () => ({ after: "1 second", exitCode: 0 }) } },
  steps
})
