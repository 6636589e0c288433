/** What others do meanwhile: whoever holds the same object, was faster, or takes a Pod when nothing else happens. */
import { controllerReference } from "@effect-operator/core/KubeObject"
import {
  Action,
  Adoption,
  Cache,
  type KubeClient,
  KubeObject,
  type Predicate,
  ServerSideApply,
  Watch
} from "@effect-operator/core"
import { ConfigMap, Deployment, Pod } from "@effect-operator/k8s/kinds"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { Effect, Layer, Random, Schedule } from "effect"
import * as B from "./Box.ts"

const life: B.Steps = [...B.sized(1), ...B.deleted]

const cloud = (name: string, act: (machines: Set<string>) => void) =>
  External.call(
    name,
    () => "the cloud does not answer",
    Effect.map(External.state("cloud", () => new Set<string>()), act)
  )

const buy = (id: string) => cloud("buy", (machines) => void machines.add(id))
const sell = (id: string) => cloud("sell", (machines) => void machines.delete(id))

const finalizer = "planted.example.com/cloud"

interface Holding {
  readonly add: (finalizers: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly drop: (finalizers: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Whether what is being deleted, and is let go already, is worked on. */
  readonly zealous: boolean
}

const considerate: Holding = {
  add: (finalizers) => [...finalizers, finalizer],
  drop: (finalizers) => finalizers.filter((other) => other !== finalizer),
  zealous: false
}

/** A program without controllers: every 20 seconds a look at the Box. */
const holding = (how: Partial<Holding>): Simulation.Operator =>
  Layer.effectDiscard(Effect.gen(function*() {
    const it = yield* B.client
    const { add, drop, zealous } = { ...considerate, ...how }
    const turn = Effect.gen(function*() {
      const box = yield* it.get(B.Box, B.key)
      const { finalizers = [], resourceVersion } = box.metadata
      const hold = (names: ReadonlyArray<string>) =>
        it.patch(B.Box, box, B.merge({ metadata: { finalizers: names, resourceVersion } }))
      const held = finalizers.includes(finalizer)
      if (!KubeObject.isTerminating(box)) {
        if (!held) yield* hold(add(finalizers))
        yield* buy("box")
      } else if (held) {
        yield* sell("box")
        yield* hold(drop(finalizers))
      } else if (zealous) yield* buy("box")
    })
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(turn), Schedule.spaced("20 seconds")))
  }))

const password = (another: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    if ((yield* B.cached("password")) !== undefined) return Action.done
    const data = { password: String(yield* Random.nextInt) }
    const made = it.create(ConfigMap, B.map("password", data, box))
    yield* another
      ? Effect.catchReason(
        made,
        "KubeError",
        "AlreadyExists",
        () => it.patch(ConfigMap, B.named("password"), B.merge({ data }))
      )
      : B.unlessThere(made)
    return Action.done
  })

/** Replaces the settings, for as long as somebody else is faster. */
const insisting = (looks: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const data = { size: String(box.spec.size) }
    if ((yield* B.cached("settings")) === undefined) {
      return yield* B.done(B.unlessThere(it.create(ConfigMap, B.map("settings", data, box))))
    }
    const read = it.get(ConfigMap, B.named("settings"))
    const found = yield* read
    if (found.data?.["size"] === data.size) return Action.done
    const put = (settings: ConfigMap) => it.replace(ConfigMap, { ...settings, data })
    return yield* B.done(
      Effect.retry(looks ? Effect.flatMap(read, put) : put(found), {
        schedule: Schedule.spaced("1 second"),
        while: ({ reason }) => reason._tag === "Conflict"
      })
    )
  })

const waking = (predicate: Predicate.Predicate) =>
  B.boxes(B.pods, { watches: [Watch.owned(Pod, B.Box, { predicate })] })

/** A Deployment that is written whenever it is not as it was asked for. */
const deploying = (same: (found: unknown, wanted: { readonly replicas: number }) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const spec = {
        replicas: box.spec.size,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "c", image: "busybox" }] }
        }
      }
      const found = yield* Cache.get(Deployment, B.named("web"))
      const ownerReferences = [KubeObject.controllerReference(box)]
      if (found === undefined) {
        yield* B.unlessThere(it.create(Deployment, { metadata: { ...B.named("web"), ownerReferences }, spec }))
      } else if (!same(found.spec, spec)) yield* it.patch(Deployment, found, B.merge({ spec }))
      return Action.done
    }), { owns: [Deployment] })

/** A Deployment is told another size with the status; `first`: once that says so. */
const scaling = (first: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const count = box.spec.size
      const labels = { app: "web" }
      if ((yield* Cache.get(Deployment, B.named("web"))) === undefined) {
        const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } }
        yield* B.unlessThere(it.create(Deployment, {
          metadata: { ...B.named("web"), ownerReferences: [KubeObject.controllerReference(box)] },
          spec: { replicas: count, selector: { matchLabels: labels }, template }
        }))
      }
      if (box.status?.count === count) return Action.done
      const scale = it.patch(Deployment, B.named("web"), B.merge({ spec: { replicas: count } }))
      const said = B.status(box, { count })
      return yield* B.done(first ? Effect.andThen(said, scale) : Effect.andThen(scale, said))
    }), { owns: [Deployment] })

/** That many Pods, whatever their state. */
const counted: B.Steps = B.sized(1, 2).map((step, index) => ({
  ...step,
  desired: (objects) => B.count("Pod", objects) === index + 1
}))

const boxNamed = (name: string) =>
  B.client.use((it) => it.create(B.Box, { metadata: { namespace: "default", name }, spec: { size: 1 } }))

const tenants: B.Steps = [
  { name: "a comes", act: boxNamed("a") },
  { name: "b and c come", act: Effect.andThen(boxNamed("b"), boxNamed("c")) },
  { name: "a goes", act: B.client.use((it) => it.delete(B.Box, B.named("a"))) }
]

/** One ConfigMap that all Boxes own together; whoever is missing among its owners adds itself. */
const together = (locked: boolean) =>
  B.boxes(
    Effect.fnUntraced(function*({ apiVersion, kind, metadata: { name, uid } }) {
      const it = yield* B.client
      const me = { apiVersion, kind, name, uid }
      const shared = yield* B.cached("shared")
      if (shared === undefined) {
        const { data, metadata } = B.map("shared", {})
        return yield* B.done(it.create(ConfigMap, { metadata: { ...metadata, ownerReferences: [me] }, data }))
      }
      const { ownerReferences = [], resourceVersion } = shared.metadata
      if (ownerReferences.some((owner) => owner.uid === uid)) return Action.done
      const metadata = { ...(locked ? { resourceVersion } : {}), ownerReferences: [...ownerReferences, me] }
      return yield* B.done(it.patch(ConfigMap, shared, B.merge({ metadata })))
    }),
    {
      concurrency: 4,
      watches: [Watch.make(ConfigMap, {
        map: ({ metadata: { namespace, ownerReferences = [] } }) =>
          ownerReferences.map(({ name }) => ({ namespace, name }))
      })]
    }
  )

const labelled = (name: string, box?: B.Box) => {
  const { data, metadata } = B.map(name, { of: name }, box)
  return { data, metadata: { ...metadata, labels: { app: "box" } } }
}

/** Has settings, and clears up by a label when it goes. */
const clearing = (isOwn: (map: ConfigMap, box: B.Box) => boolean) =>
  B.boxes((box) => B.done(B.client.use((it) => B.unlessThere(it.create(ConfigMap, labelled("settings", box))))), {
    finalize: (box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const { items } = yield* it.listPage(ConfigMap, { namespace: "default", labels: { app: "box" }, limit: 0 })
        const own = items.filter((map) => isOwn(map, box))
        return yield* B.done(Effect.forEach(own, (map) => B.unlessGone(it.delete(ConfigMap, map)), { discard: true }))
      })
  })

const notes = { name: "notes of somebody", act: B.client.use((it) => it.create(ConfigMap, labelled("notes"))) }

/** Settings under the name of the Box; what people have under it is theirs. */
const named = (looks: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const { metadata, data } = B.map(box.metadata.name, { size: String(box.spec.size) }, box)
      const found = yield* Cache.get(ConfigMap, metadata)
      const isOwn = found?.metadata.ownerReferences?.some(({ uid }) => uid === box.metadata.uid) === true
      if (looks && found !== undefined && !isOwn) return yield* B.done(B.status(box, { phase: "NameIsTaken" }))
      return yield* B.done(it.apply(ConfigMap, { metadata, data }, { force: true }))
    })
  )

const lettered = (whose: string) => ({
  metadata: { ...B.named("notes"), labels: { for: whose } },
  data: { my: "notes" }
})

/** What is labelled with its name is a Box's own; `releases` what is not any more. */
const adopting = (releases: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      for (const notes of yield* Cache.list(ConfigMap, { namespace: "default" })) {
        const { labels, ownerReferences = [], resourceVersion, uid } = notes.metadata
        const [isMeant, isOwn] = [
          labels?.["for"] === box.metadata.name,
          ownerReferences.some((owner) => owner.uid === box.metadata.uid)
        ]
        const give = (owners: ReadonlyArray<object> | null) =>
          it.patch(ConfigMap, notes, B.merge({ metadata: { uid, resourceVersion, ownerReferences: owners } }))
        if (isMeant && ownerReferences.length === 0) yield* give([controllerReference(box)])
        if (isOwn && !isMeant && releases) yield* give(null)
      }
      return Action.done
    }), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

const same = {
  name: "notes of that name",
  act: B.client.use((it) => it.create(ConfigMap, B.map("box", { my: "notes" })))
}

type Listed = (box: B.Box) => Parameters<typeof Cache.list>[1]

const everyPod: Listed = () => ({ namespace: "default" })
const ownPods: Listed = (box) => ({ owner: box })

/** As many Pods as the size says: what is too much goes, the newest first. */
const fitting = (listed: Listed): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const pods = yield* Cache.list(Pod, listed(box))
    const living = pods.filter((pod) => !KubeObject.isTerminating(pod) && !B.isFailed(pod))
    const names = new Set(living.map(({ metadata }) => metadata.name))
    const missing = Array.from({ length: box.spec.size }, (_, i) => `box-${i}`).filter((name) => !names.has(name))
    for (const name of missing.slice(0, Math.max(0, box.spec.size - living.length))) {
      yield* B.unlessThere(it.create(Pod, B.podOf(box, { name })))
    }
    const surplus = living.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name)).slice(box.spec.size)
    for (const pod of [...surplus, ...pods.filter(B.isFailed)]) yield* B.unlessGone(it.delete(Pod, pod))
    return Action.done
  })

/** Says how many Pods there are. */
const telling = (listed: Listed): B.Reconcile => (box) =>
  Effect.gen(function*() {
    yield* B.pods(box)
    return yield* B.done(B.status(box, { count: (yield* Cache.list(Pod, listed(box))).length }))
  })

const ofBox = { box: "box" }

/** Has settings that nobody owns, and takes away what is selected when it goes. */
const sweeping = (selection: KubeClient.Selection): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      if (!(yield* Adoption.isAlive(B.Box, box))) return Action.done
      const metadata = { ...B.named("settings"), labels: ofBox }
      return yield* B.done(ServerSideApply.apply(ConfigMap, { metadata, data: { size: String(box.spec.size) } }))
    }), {
    watches: [Watch.make(ConfigMap, { map: ({ metadata }) => metadata.labels?.["box"] === "box" ? [B.key] : [] })],
    finalize: () => B.done(B.client.use((it) => it.deleteCollection(ConfigMap, { namespace: "default", ...selection })))
  })

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "others: held by a list of finalizers with its own alone",
    "others' finalizers are kept",
    life,
    holding({ add: () => [finalizer] }),
    holding({})
  ),
  B.bug(
    "others: let go by an empty list of finalizers",
    "others' finalizers are kept",
    life,
    holding({ drop: () => [] }),
    holding({})
  ),
  B.bug(
    "others: bought anew for what somebody else still holds",
    "same end state",
    life,
    holding({ zealous: true }),
    holding({})
  ),
  B.bug(
    "others: a conflict is answered with the same old object",
    "comes to rest",
    B.sized(1, 2),
    B.boxes(insisting(false)),
    B.boxes(insisting(true)),
    { faults: ["overtaken"] }
  ),
  B.bug(
    "others: a password put in the place of one that was not seen",
    "random values are kept",
    B.sized(1),
    B.boxes(password(true)),
    B.boxes(password(false)),
    { faults: ["staleRestart"] }
  ),
  B.bug(
    "others: the same, where nothing is left of it in the end",
    "random values are kept",
    life,
    B.boxes(password(true)),
    B.boxes(password(false)),
    { faults: ["staleRestart"] }
  ),
  B.bug(
    "others: woken by what comes, not by what goes",
    "same end state",
    B.sized(1),
    waking(({ _tag }) => _tag === "Added"),
    waking(() => true),
    { faults: ["podFailed", "podRemoved"] }
  ),
  B.bug(
    "others: what the server has filled in is taken for a difference",
    "no ping-pong",
    B.sized(1),
    deploying((found, wanted) => JSON.stringify(found) === JSON.stringify(wanted)),
    deploying((found, { replicas }) => (found as { readonly replicas: number }).replicas === replicas),
    { faults: ["staleRestart", "podFailed"] }
  ),
  B.bug(
    "others: a Deployment is told its size after the status is, and a Pod of it fails",
    "desired state",
    counted,
    scaling(true),
    scaling(false),
    { faults: ["podFailed", "crashAfter"] }
  ),
  B.bug(
    "others: who owns it together is written down as it was seen",
    "owner references are kept",
    tenants,
    together(false),
    together(true),
    { faults: ["lostAnswer"] }
  ),
  B.bug(
    "others: what people have made goes by a label that is not its own",
    "objects made by people are kept",
    [notes, ...B.sized(1), ...B.deleted],
    clearing(() => true),
    clearing(({ metadata }, box) => metadata.ownerReferences?.some(({ uid }) => uid === box.metadata.uid) === true)
  ),
  B.bug(
    "others: what people have under its name is taken for a child, and goes with it",
    "objects made by people are kept",
    [same, ...B.sized(1), ...B.deleted],
    named(false),
    named(true)
  ),
  B.bug(
    "others: what it has adopted is not let go when people say that it is not meant any more",
    "objects made by people are kept",
    [{ name: "notes", act: B.client.use((it) => it.create(ConfigMap, lettered("box"))) }, ...B.sized(1), {
      name: "they are for something else",
      act: B.client.use((it) => it.patch(ConfigMap, B.named("notes"), B.merge({ metadata: { labels: { for: "me" } } })))
    }, ...B.deleted],
    adopting(false),
    adopting(true)
  ),
  B.bug(
    "others: all Pods of a namespace are taken for its own, and there are too many",
    "others' objects are untouched",
    B.sized(1),
    B.boxes(fitting(everyPod)),
    B.boxes(fitting(ownPods))
  ),
  B.bug(
    "others: all Pods of a namespace are counted as its own",
    "same end state",
    B.sized(1),
    B.boxes(telling(everyPod)),
    B.boxes(telling(ownPods))
  ),
  B.bug(
    "others: when it goes, all of a kind goes",
    "others' objects are untouched",
    life,
    sweeping({}),
    sweeping({ labels: ofBox })
  )
]
