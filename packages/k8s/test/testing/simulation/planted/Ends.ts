/** What ends: objects deleted sooner than people think, fields nobody wants any more, work that is done, and what goes. */
import { Action, Cache, KubeClient, type KubeError, ServerSideApply } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Job, Pod, Service } from "@effect-operator/k8s/kinds"
import { External } from "@effect-operator/k8s/testing"
import { Clock, Effect } from "effect"
import * as B from "./Box.ts"

const refused = () => new Error("the cloud does not answer")
const disks = External.state("disks", () => new Map<string, "ordered" | "there">())
const disk = (box: B.Box) => box.metadata.uid

/** Orders a disk, which is there when somebody looks again. */
const attach = (box: B.Box) =>
  External.call(
    "attach",
    refused,
    Effect.map(disks, (all) => {
      const found = all.get(disk(box))
      all.set(disk(box), found === undefined ? "ordered" : "there")
      return found !== undefined
    })
  )

const detach = (box: B.Box) => External.call("detach", refused, Effect.map(disks, (all) => void all.delete(disk(box))))

const attached: B.Reconcile = (box) =>
  Effect.gen(function*() {
    if (box.status?.phase === "ready") return Action.done
    // Whoever is gone meanwhile gets no disk that nobody takes away again.
    const now = yield* B.unlessGone((yield* B.client).get(B.Box, box))
    if (now?.metadata.uid !== disk(box) || now.metadata.deletionTimestamp !== undefined) return Action.done
    if (!(yield* attach(box))) return Action.requeueAfter("5 seconds")
    return yield* B.done(B.status(box, { phase: "ready" }))
  })

/** As many Pods as the size says, of any name. */
const crowd = (areGone: (pod: Pod) => boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const counted = (yield* Cache.list(Pod, { owner: box })).filter((pod) => !areGone(pod) && !B.isFailed(pod))
    for (let i = counted.length; i < box.spec.size; i++) {
      yield* it.create(Pod, B.podOf(box, { generateName: "box-" }))
    }
    for (const pod of (yield* B.living(box)).slice(0, Math.max(0, counted.length - box.spec.size))) {
      yield* B.unlessGone(it.delete(Pod, pod))
    }
    for (const pod of (yield* B.living(box)).filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, pod))
    return Action.done
  })

const isGoing = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined

const settings = (box: B.Box) => ({
  metadata: { ...B.named("settings"), ownerReferences: [controllerReference(box)] },
  data: { [`size-${box.spec.size}`]: "yes" }
})

/** Applies at each look what is there already, and replaces what is its own, as it has read it. */
const both = (clears: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const size = String(box.spec.size)
    const ownerReferences = [controllerReference(box)]
    const one = { metadata: { ...B.named("one"), ownerReferences }, data: { size } }
    yield* it.apply(ConfigMap, one, { force: true })
    const two = yield* B.cached("two")
    const data = clears ? { size } : { ...two?.data, [size]: "yes" }
    if (two === undefined) yield* it.create(ConfigMap, { metadata: { ...B.named("two"), ownerReferences }, data })
    else if (JSON.stringify(two.data) !== JSON.stringify(data) || two.metadata.ownerReferences === undefined) {
      yield* it.replace(ConfigMap, { ...two, metadata: { ...two.metadata, ownerReferences }, data })
    }
    return Action.done
  })

const serviceOf = (box: B.Box) => ({
  metadata: { ...B.named("box"), ownerReferences: [controllerReference(box)] },
  spec: {
    clusterIP: "None",
    selector: { box: "box" },
    ports: [{ name: "box", port: 80 + box.spec.size, protocol: "TCP" as const }]
  }
})

const served = (reconcile: B.Reconcile) => B.boxes(reconcile, { owns: [Service] })

/** Has a Service where there is something to share; what becomes of it afterwards is in `none`. */
const sharing = (none: Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>): B.Reconcile => (box) =>
  box.spec.size > 1 ? B.done(ServerSideApply.apply(Service, serviceOf(box))) : B.done(none)

const note = B.client.use((it) => it.create(ConfigMap, B.map("purpose", {})))

/** A Job for each size, which goes when it is done. */
const migrates = (order: "told first" | "deleted first") =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      const name = `to-${box.spec.size}`
      const job = yield* Cache.get(Job, B.named(name))
      const discard = B.unlessGone(it.delete(Job, B.named(name), { propagationPolicy: "Background" }))
      const tell = B.status(box, { count: box.spec.size })
      if (box.status?.count === box.spec.size) return yield* B.done(job === undefined ? Effect.void : discard)
      if (job !== undefined && !B.ends(job, "Complete")) return Action.done
      if (job !== undefined) {
        return yield* B.done(order === "told first" ? Effect.andThen(tell, discard) : Effect.andThen(discard, tell))
      }
      // Whoever reads an old list asks whether it was done.
      if ((yield* it.get(B.Box, box)).status?.count === box.spec.size) return Action.done
      return yield* B.done(B.unlessThere(it.create(Job, {
        metadata: { ...B.named(name), ownerReferences: [controllerReference(box)] },
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } } }
      })))
    }), { owns: [Job] })

const ripeAge = 120_000

/** A Box is opened when it is two minutes old; `later` says what is done by who looks before, but for the first time. */
const ripe = (later: (left: number) => Action.Action): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const left = Date.parse(box.metadata.creationTimestamp) + ripeAge - (yield* Clock.currentTimeMillis)
    if (left <= 0) return yield* B.done(B.keep(box, "opened", {}))
    if (box.status?.phase !== undefined) return later(left)
    yield* B.status(box, { phase: "Ripening" })
    return Action.requeueAfter(left)
  })

/** One Pod, of a name for each kind of size; `former` says which of another name go. */
const named = (former: (pods: ReadonlyArray<Pod>) => ReadonlyArray<Pod>): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const name = box.spec.size > 1 ? "large" : "small"
    const all = yield* B.living(box)
    const others = former(all.filter(({ metadata }) => metadata.name !== name))
    for (const pod of [...all.filter(B.isFailed), ...others]) yield* B.unlessGone(it.delete(Pod, pod))
    if (!all.some(({ metadata }) => metadata.name === name)) {
      yield* B.unlessThere(it.create(Pod, B.podOf(box, { name })))
    }
    return Action.done
  })

/** Has settings for what is shared where there is something to share; what becomes of them afterwards is in `none`. */
const configured = (none: Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>): B.Reconcile => (box) =>
  box.spec.size > 1 ? B.done(B.keep(box, "sharing", { by: "all" })) : B.done(none)

/** Says whether it is large; `says` is what is said of one that is not any more. */
const sizes = (says: (found: ConfigMap | undefined) => string): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const large = box.spec.size > 2 ? "yes" : says(yield* B.cached("sizes"))
    return yield* B.done(B.keep(box, "sizes", { large }))
  })

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "ends: let go by what the status says, which was to be written",
    "same end state",
    [...B.sized(1, 2), ...B.deleted],
    B.boxes(attached, { finalize: (box) => B.done(box.status?.phase === undefined ? Effect.void : detach(box)) }),
    B.boxes(attached, { finalize: (box) => B.done(detach(box)) })
  ),
  B.bug(
    "ends: who is going already is counted, and others go in their place",
    "no needless deletion",
    [...B.sized(4, 2), ...B.deleted],
    B.boxes(crowd(() => false)),
    B.boxes(crowd(isGoing))
  ),
  B.bug(
    "ends: what another field manager has set stays, in a story that ends with nothing",
    "nothing left of an earlier spec",
    [...B.sized(1, 2), ...B.deleted],
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("settings")) === undefined) {
          return yield* B.done(B.unlessThere(it.create(ConfigMap, settings(box))))
        }
        return yield* B.done(ServerSideApply.apply(ConfigMap, settings(box)))
      })
    ),
    B.boxes((box) => B.done(ServerSideApply.apply(ConfigMap, settings(box))))
  ),
  B.bug(
    "ends: each size leaves its mark, and all go in the end",
    "nothing left of an earlier spec",
    [...B.sized(1, 2), ...B.deleted],
    B.boxes(both(false)),
    B.boxes(both(true)),
    { faults: ["hurried"] }
  ),
  B.bug(
    "ends: ready once, ready for ever",
    "removed objects are recreated",
    B.sized(1, 2),
    served((box) =>
      box.status?.count === box.spec.size
        ? Effect.succeed(Action.done)
        : B.done(
          Effect.andThen(ServerSideApply.apply(Service, serviceOf(box)), B.status(box, { count: box.spec.size }))
        )
    ),
    served((box) =>
      B.done(Effect.andThen(ServerSideApply.apply(Service, serviceOf(box)), B.status(box, { count: box.spec.size })))
    )
  ),
  B.bug(
    "ends: what a larger size needed is there still when nobody wants it",
    "nothing left of an earlier spec",
    [...B.sized(2), { name: "somebody writes down what it is for", act: note }, ...B.sized(1), ...B.deleted],
    served(sharing(Effect.void)),
    served(sharing(B.client.use((it) => B.unlessGone(it.delete(Service, B.named("box"))))))
  ),
  {
    name: "ends: done, thrown away, and done again",
    oracle: "succeeded Jobs are not run again",
    wrong: B.worked("ends-job-wrong", migrates("deleted first"), [...B.sized(1, 2), ...B.deleted]),
    right: B.worked("ends-job-right", migrates("told first"), [...B.sized(1, 2), ...B.deleted])
  },
  B.bug(
    "ends: what is there is never given what is wanted now",
    "nothing left of an earlier spec",
    B.sized(1, 2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        return yield* B.done(
          B.unlessThere(it.create(ConfigMap, B.map("settings", { size: String(box.spec.size) }, box)))
        )
      })
    ),
    B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) })))
  ),
  B.bug(
    "ends: what is due in two minutes is forgotten with the process",
    "same end state",
    B.sized(1),
    B.boxes(ripe(() => Action.done)),
    B.boxes(ripe(Action.requeueAfter))
  ),
  B.bug(
    "ends: a Pod of a former name runs on",
    "nothing left of an earlier spec",
    [...B.sized(1, 2), ...B.deleted],
    B.boxes(named(() => [])),
    B.boxes(named((pods) => pods))
  ),
  B.bug(
    "ends: settings of what is not shared any more stay",
    "nothing left of an earlier spec",
    [...B.sized(2, 1), ...B.deleted],
    B.boxes(configured(Effect.void)),
    B.boxes(configured(B.client.use((it) => B.unlessGone(it.delete(ConfigMap, B.named("sharing"))))))
  ),
  B.bug(
    "ends: large once, large for ever",
    "nothing left of an earlier spec",
    [...B.sized(1, 3, 1), ...B.deleted],
    B.boxes(sizes((found) => found?.data?.["large"] ?? "no")),
    B.boxes(sizes(() => "no"))
  ),
  B.bug(
    "ends: what a larger size needs is made only at the beginning",
    "nothing missing of the latest spec",
    B.sized(1, 2),
    served((box) =>
      box.status?.phase !== undefined
        ? Effect.succeed(Action.done)
        : Effect.andThen(sharing(Effect.void)(box), B.done(B.status(box, { phase: "ready" })))
    ),
    served((box) => Effect.andThen(sharing(Effect.void)(box), B.done(B.status(box, { phase: "ready" }))))
  )
]
