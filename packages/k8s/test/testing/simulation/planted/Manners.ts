/** What is wrong on the way, though it ends as it should, or as wrong with faults as without. */
import { Action, Cache, Controller, CustomResource, Manager, Watch } from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { ConfigMap, PersistentVolumeClaim, Pod, Service } from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { Clock, Effect, Layer, Schedule, Schema } from "effect"
import * as B from "./Box.ts"

const settings: B.Reconcile = (box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) }))

const annotation = "planted.example.com/of"

/** A Service without an address for a Box of size 1, made again when `isOther` says so: it cannot be changed. */
const serving = (isOther: (service: Service, isHeadless: boolean, box: B.Box) => boolean) =>
  B.boxes(
    (box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const isHeadless = box.spec.size === 1
        const found = yield* Cache.get(Service, B.named("box"))
        if (found !== undefined && isOther(found, isHeadless, box)) {
          return yield* B.done(B.unlessGone(it.delete(Service, found)))
        }
        if (found !== undefined) return Action.done
        return yield* B.done(B.unlessThere(it.create(Service, {
          metadata: { ...B.named("box"), ownerReferences: [controllerReference(box)] },
          spec: { ...(isHeadless ? { clusterIP: "None" } : {}), selector: { app: "box" }, ports: [{ port: 80 }] }
        })))
      }),
    { owns: [Service] }
  )

/** Replaces the settings; `metadata` is what becomes of what was there. */
const replacing = (
  metadata: (found: ConfigMap["metadata"], box: B.Box) => Partial<ConfigMap["metadata"]>
): B.Reconcile =>
(box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const data = { size: String(box.spec.size) }
    const found = yield* B.cached("settings")
    if (found === undefined) yield* B.unlessThere(it.create(ConfigMap, B.map("settings", data, box)))
    else if (found.data?.["size"] !== data.size) {
      const { name, namespace, resourceVersion, uid } = found.metadata
      const kept = metadata(found.metadata, box)
      yield* it.replace(ConfigMap, { ...found, metadata: { name, namespace, resourceVersion, uid, ...kept }, data })
    }
    return Action.done
  })

/** Settings that are the Box's, or people's, at each size as `theirs` has it; at first they are the Box's. */
const handing = (theirs: (size: number) => boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const { size } = box.spec
    const found = yield* B.cached("settings")
    const ownerReferences = theirs(size) && (found !== undefined || size === 2) ? [] : [controllerReference(box)]
    const map = { metadata: { ...B.named("settings"), ownerReferences }, data: { size: String(size) } }
    if (found === undefined) yield* B.unlessThere(it.create(ConfigMap, map))
    else if (found.data?.["size"] !== map.data.size) {
      yield* it.replace(ConfigMap, { ...found, ...map, metadata: { ...found.metadata, ownerReferences } })
    }
    return Action.done
  })

/** Settings that the Box makes for a part of each size, and that the part takes over. */
const handingDown = (partOf: (box: B.Box) => Partial<ConfigMap["metadata"]>) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const made = (name: string, metadata: Partial<ConfigMap["metadata"]>) =>
        Effect.flatMap(B.cached(name), (found) => {
          const { ownerReferences } = metadata
          if (found === undefined) return it.create(ConfigMap, { metadata: { ...metadata, ...B.named(name) } })
          return found.metadata.ownerReferences !== undefined || ownerReferences === undefined
            ? Effect.succeed(found)
            : it.patch(ConfigMap, found, B.merge({ metadata: { ownerReferences } }))
        })
      const settings = yield* made(`settings-${box.spec.size}`, { ownerReferences: [controllerReference(box)] })
      const part = yield* made(`part-${box.spec.size}`, partOf(box))
      if (settings.metadata.ownerReferences?.[0]?.uid !== part.metadata.uid) {
        const ownerReferences = [controllerReference(part)]
        yield* it.patch(ConfigMap, settings, B.merge({ metadata: { ownerReferences } }))
      }
      const old = yield* B.cached(`part-${box.spec.size - 1}`)
      if (old !== undefined) yield* B.unlessGone(it.delete(ConfigMap, old))
      return Action.done
    }), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

/** Says on people's notes, in a label, what the size is; `labels` is what becomes of what was there. */
const labelling = (labels: (found: ConfigMap["metadata"]) => ConfigMap["metadata"]["labels"]) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const size = String(box.spec.size)
      const notes = yield* B.cached("notes")
      if (notes === undefined || notes.metadata.labels?.["size"] === size) return Action.done
      const metadata = { ...notes.metadata, labels: { ...labels(notes.metadata), size } }
      return yield* B.done(it.replace(ConfigMap, { ...notes, metadata }))
    }), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

/** Pods of whatever is in a group. */
const podsOf = (group: (box: B.Box) => Readonly<Record<string, string>>): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const all = yield* Cache.list(Pod, { namespace: "default", labels: group(box) })
    const existing = all.filter((pod) => !isTerminating(pod))
    for (const dead of existing.filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, dead))
    for (let i = 0; i < box.spec.size; i++) {
      const name = `${box.metadata.name}-${i}`
      if (existing.some(({ metadata }) => metadata.name === name)) continue
      const pod = B.podOf(box, { name })
      const labels = { app: "boxes", box: box.metadata.name }
      yield* B.unlessThere(it.create(Pod, { ...pod, metadata: { ...pod.metadata, labels } }))
    }
    for (const extra of existing.filter(({ metadata }) => Number(metadata.name.split("-")[1]) >= box.spec.size)) {
      yield* B.unlessGone(it.delete(Pod, extra))
    }
    return Action.done
  })

const boxNamed = (name: string, size: number) =>
  B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size } }))

/** Volumes by ordinal; those that are too many are deleted, after another look if it is careful. */
const volumes = (careful: boolean): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const have = yield* Cache.list(PersistentVolumeClaim, { namespace: "default" })
      for (let i = 0; i < box.spec.size; i++) {
        if (have.some(({ metadata }) => metadata.name === `data-${i}`)) continue
        yield* B.unlessThere(it.create(PersistentVolumeClaim, {
          metadata: B.named(`data-${i}`),
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }))
      }
      for (const volume of have.filter(({ metadata }) => Number(metadata.name.slice(5)) >= box.spec.size)) {
        const { metadata } = careful ? yield* it.get(B.Box, box.metadata) : box
        if (metadata.generation !== box.metadata.generation) return Action.requeueAfter("10 seconds")
        yield* B.unlessGone(it.delete(PersistentVolumeClaim, volume))
      }
      return Action.done
    }), { watches: [Watch.cached(PersistentVolumeClaim)] })

const finalizer = "planted.example.com/cloud"

const cloud = (name: string, act: (machines: Set<string>) => void) =>
  External.call(
    name,
    () => "the cloud does not answer",
    Effect.map(External.state("cloud", () => new Set<string>()), act)
  )

/** A program without controllers: every 20 seconds a look at the Box. */
const polling = (heldFirst: boolean): Simulation.Operator =>
  Layer.effectDiscard(Effect.gen(function*() {
    const it = yield* B.client
    const turn = Effect.gen(function*() {
      const box = yield* it.get(B.Box, B.key)
      const { finalizers = [], name, resourceVersion } = box.metadata
      const hold = (names: ReadonlyArray<string>) =>
        it.patch(B.Box, box, B.merge({ metadata: { finalizers: names, resourceVersion } }))
      if (isTerminating(box)) {
        if (!finalizers.includes(finalizer)) return
        yield* cloud("sell", (machines) => void machines.delete(name))
        yield* hold(finalizers.filter((other) => other !== finalizer))
        return
      }
      const held = finalizers.includes(finalizer) ? Effect.void : hold([...finalizers, finalizer])
      const bought = cloud("buy", (machines) => void machines.add(name))
      yield* heldFirst ? Effect.andThen(held, bought) : Effect.andThen(bought, held)
    })
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(turn), Schedule.spaced("20 seconds")))
  }))

const Crate = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Crate",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({
    count: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Schema.Array(Schema.Struct({
      type: Schema.String,
      status: Schema.Literals(["True", "False"]),
      lastTransitionTime: Schema.String,
      observedGeneration: Schema.Int
    })))
  })
})
type Crate = typeof Crate.Type
type Condition = NonNullable<NonNullable<Crate["status"]>["conditions"]>[number]

/** A condition whose time and generation are as `next` has it. */
const crates = (next: (now: Condition, before: Condition | undefined) => Condition): Simulation.Operator =>
  Manager.layer([
    Controller.make("crates", {
      for: Crate,
      reconcile: (crate) =>
        Effect.gen(function*() {
          const it = yield* B.client
          const before = crate.status?.conditions?.[0]
          const now = yield* Clock.currentTimeMillis
          const condition = next({
            type: "Ready",
            status: "True",
            lastTransitionTime: `${new Date(now).toISOString().slice(0, 19)}Z`,
            observedGeneration: crate.metadata.generation ?? 0
          }, before)
          const status = { count: crate.spec.size, conditions: [condition] }
          if (crate.status?.count === status.count) return Action.done
          yield* it.patch(Crate, crate, B.merge({ status }), { subresource: "status" })
          return Action.done
        })
    }) as Controller.Controller
  ])

const steadyCondition = crates((now, before) =>
  before?.status === now.status ? { ...now, lastTransitionTime: before.lastTransitionTime } : now
)

const crateResources = [Crate]

const ofCrates = ({ right, wrong, ...bug }: B.Planted): B.Planted => ({
  ...bug,
  wrong: { ...wrong, resources: crateResources },
  right: { ...right, resources: crateResources }
})

const crateSteps: B.Steps = [
  { name: "size 1", act: B.client.use((it) => it.create(Crate, { metadata: B.key, spec: { size: 1 } })) },
  { name: "size 2", act: B.client.use((it) => it.patch(Crate, B.key, B.merge({ spec: { size: 2 } }))) }
]

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "manners: an update that forgets whose it is",
    "owner references are kept",
    B.sized(1, 2),
    B.boxes(replacing(() => ({}))),
    B.boxes(replacing((found) => found))
  ),
  B.bug(
    "manners: lets go of what it is to keep, and not of what people want to have for themselves alone",
    "owner references are kept",
    B.sized(1, 3, 2),
    B.boxes(handing(() => true), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] }),
    B.boxes(handing((size) => size === 2), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })
  ),
  B.bug(
    "manners: hands what it has made to a part that is not its own",
    "owner references are kept",
    B.sized(1, 2),
    handingDown(() => ({})),
    handingDown((box) => ({ ownerReferences: [controllerReference(box)] })),
    { faults: ["orphaned", "crashAfter", "removed"] }
  ),
  B.bug(
    "manners: labels that people have given their own object are written over",
    "others' annotations are kept",
    [
      { name: "notes", act: B.client.use((it) => it.create(ConfigMap, B.map("notes", {}))) },
      ...B.sized(1, 2)
    ],
    labelling(() => ({})),
    labelling(({ labels }) => labels)
  ),
  B.bug(
    "manners: an update that forgets what others have written",
    "others' annotations are kept",
    B.sized(1, 2),
    B.boxes(replacing((_, box) => ({
      ownerReferences: [controllerReference(box)],
      annotations: { [annotation]: "box" }
    }))),
    B.boxes(replacing((found) => ({ ...found, annotations: { ...found.annotations, [annotation]: "box" } }))),
    { faults: ["annotated"] }
  ),
  B.bug(
    "manners: deletes by a label that others have, too",
    "no needless deletion",
    [{ name: "a", act: boxNamed("a", 2) }, { name: "b", act: boxNamed("b", 1) }],
    B.boxes(podsOf(() => ({ app: "boxes" }))),
    B.boxes(podsOf(({ metadata }) => ({ box: metadata.name })))
  ),
  B.bug(
    "manners: what cannot be changed is made again whenever anything changes",
    "no needless deletion",
    B.sized(1, 2, 3),
    B.remembering(() => ({ size: 0 }), (last) =>
      serving((_, __, { spec: { size } }) => {
        const isOther = last.size !== size
        last.size = size
        return isOther
      })),
    serving(({ spec }, isHeadless) => (spec?.clusterIP === "None") !== isHeadless)
  ),
  B.bug(
    "manners: data deleted for what the Box once wanted",
    "no data loss",
    B.sized(1, 2),
    volumes(false),
    volumes(true),
    { faults: ["travelRestart"] }
  ),
  B.bug(
    "manners: held by a finalizer only after it was bought",
    "same end state",
    [...B.sized(1), ...B.deleted],
    polling(false),
    polling(true),
    { faults: ["externalHurried"] }
  ),
  B.bug(
    "manners: asks again at once, for as long as nobody answers",
    "comes to rest",
    B.sized(1),
    B.boxes((box) => Effect.retry(settings(box), { while: () => true })),
    B.boxes(settings),
    { faults: ["outage"] }
  ),
  B.bug(
    "manners: writes down when it has looked",
    "a restart changes nothing",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const now = new Date(yield* Clock.currentTimeMillis).toISOString()
        const annotations = { "planted.example.com/looked": now }
        yield* it.patch(B.Box, box, B.merge({ metadata: { annotations } }))
        return yield* settings(box)
      })
    ),
    B.boxes(settings),
    { faults: ["restarted"] }
  ),
  B.bug(
    "manners: knows by heart what it has done for a name",
    "other custom resources are unaffected",
    [...B.sized(1), ...B.deleted, { name: "again", act: B.write(1) }],
    B.remembering(() => new Set<string>(), (known) =>
      B.boxes((box) =>
        known.has(box.metadata.name)
          ? Effect.succeed(Action.done)
          : Effect.tap(settings(box), () => Effect.sync(() => known.add(box.metadata.name)))
      )),
    B.boxes(settings),
    { faults: ["restarted"] }
  ),
  B.bug(
    "manners: changes what the cache holds",
    "reconciles succeed",
    B.sized(1, 2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const found = yield* B.cached("settings")
        if (found === undefined) return yield* settings(box)
        if (found.data?.["size"] === String(box.spec.size)) return Action.done
        Object.assign(found.data ?? {}, { size: String(box.spec.size) })
        return yield* B.done(it.replace(ConfigMap, found))
      })
    ),
    B.boxes(settings)
  ),
  B.bug(
    "manners: leaves behind what it made",
    "nothing left behind",
    [...B.sized(1), ...B.deleted],
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("settings")) !== undefined) return Action.done
        return yield* B.done(B.unlessThere(it.create(ConfigMap, B.map("settings", { of: box.metadata.name }))))
      })
    ),
    B.boxes(settings)
  ),
  ofCrates(B.bug(
    "manners: a condition whose time moves, and its status does not",
    "conditions",
    crateSteps,
    crates((now) => now),
    steadyCondition
  )),
  ofCrates(B.bug(
    "manners: a condition that speaks of an older spec",
    "observed generation",
    crateSteps,
    crates((now, before) => before ?? now),
    steadyCondition
  ))
]
