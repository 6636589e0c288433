/** Who does not wait: people who take several steps at once; and what is left, or crossed, when all of it is over. */
import { Action, Cache, Watch } from "@effect-operator/core"
import { controllerReference, isTerminating } from "@effect-operator/core/KubeObject"
import { ClusterRole, ConfigMap, Deployment, NetworkPolicy, Pod, Service } from "@effect-operator/k8s/kinds"
import { External } from "@effect-operator/k8s/testing"
import { Effect, Schedule } from "effect"
import * as B from "./Box.ts"

const refused = () => new Error("the cloud does not answer")

const register = (box: B.Box) =>
  External.call(
    "register",
    refused,
    Effect.map(
      External.state("register", () => new Map<string, number>()),
      (all) => void all.set(box.metadata.uid, box.spec.size)
    )
  )

/** Tells somebody elsewhere of its size. */
const registered = (registers: (box: B.Box) => Effect.Effect<void, unknown>) =>
  B.boxes((box) =>
    box.status?.count === box.spec.size
      ? Effect.succeed(Action.done)
      : B.done(Effect.andThen(registers(box), B.status(box, { count: box.spec.size }))), { owns: [] })

/** Notes on the Box that it has seen it, and has a ConfigMap that says its size. */
const noting = (written: (box: B.Box) => object) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const annotations = { seen: "yes" }
      if (box.metadata.annotations?.["seen"] === undefined) {
        return yield* B.done(
          B.unlessGone(it.patch(B.Box, box, B.merge({ metadata: { annotations }, ...written(box) })))
        )
      }
      return yield* B.done(B.keep(box, "settings", { size: String(box.spec.size) }))
    })
  )

const broker = {
  name: "a broker",
  act: B.client.use((it) =>
    it.create(Pod, { metadata: B.named("broker"), spec: { containers: [{ name: "c", image: "broker" }] } })
  )
}

/** Is connected as soon as the broker runs, which it looks up. */
const connecting = (watch: Watch.Watch) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const runs = (yield* Cache.get(Pod, B.named("broker")))?.status?.phase === "Running"
      return yield* B.done(B.status(box, { phase: runs ? "Connected" : "Waiting" }))
    }), { watches: [watch] })

const connected = B.sized(1).map((step): B.Steps[number] => ({
  ...step,
  desired: (objects) =>
    objects.every((object) => object.kind !== "Box" || (object as B.Box).status?.phase === "Connected")
}))

const notes = { name: "notes", act: B.client.use((it) => it.create(ConfigMap, B.map("notes", { of: "people" }))) }

const inUse = "planted.example.com/in-use"

/** Holds people's notes for as long as there is a Box. */
const holding = (lets: boolean) => {
  const held = (wanted: boolean) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const { metadata } = yield* it.get(ConfigMap, B.named("notes"))
      const { finalizers = [], resourceVersion } = metadata
      if (finalizers.includes(inUse) === wanted) return
      yield* it.patch(
        ConfigMap,
        B.named("notes"),
        B.merge({ metadata: { resourceVersion, finalizers: wanted ? [inUse] : null } })
      )
    })
  return B.boxes(() => B.done(held(true)), { owns: [], finalize: () => B.done(lets ? held(false) : Effect.void) })
}

const labelled = (box: B.Box, labels: Readonly<Record<string, string>>) => ({
  metadata: { ...B.named(box.metadata.name), ownerReferences: [controllerReference(box)] },
  labels
})

/** A Deployment that goes with its Box. */
const deployed = (propagationPolicy: "Orphan" | "Background") =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      if ((yield* Cache.get(Deployment, B.named(box.metadata.name))) !== undefined) return Action.done
      const { labels, metadata } = labelled(box, { box: box.metadata.name })
      const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } }
      const spec = { replicas: box.spec.size, selector: { matchLabels: labels }, template }
      return yield* B.done(B.unlessThere(it.create(Deployment, { metadata, spec })))
    }), {
    owns: [Deployment],
    finalize: (box) =>
      B.done(
        B.client.use((it) => B.unlessGone(it.delete(Deployment, B.named(box.metadata.name), { propagationPolicy })))
      )
  })

const boxNamed = (name: string) => ({
  name,
  act: B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size: 1 } }))
})

/** A Service in front of a Pod for each Box. */
const serving = (labelsOf: (box: B.Box) => Readonly<Record<string, string>>) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const { labels, metadata } = labelled(box, labelsOf(box))
      const { name } = metadata
      const pod = yield* Cache.get(Pod, B.named(name))
      if (pod !== undefined && B.isFailed(pod)) yield* B.unlessGone(it.delete(Pod, pod))
      if (pod === undefined) {
        const spec = { containers: [{ name: "c", image: "busybox" }] }
        yield* B.unlessThere(it.create(Pod, { metadata: { ...metadata, labels }, spec }))
      }
      if ((yield* Cache.get(Service, B.named(name))) !== undefined) return Action.done
      return yield* B.done(
        B.unlessThere(it.create(Service, { metadata, spec: { selector: labels, ports: [{ port: 80 }] } }))
      )
    }), { owns: [Pod, Service] })

/** A Box is ready after the one before it in the alphabet, if there is one; which it finds out by `waiting` for it. */
const inTurn = (waiting: Action.Action) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const before = (yield* Cache.list(B.Box)).find(({ metadata: { name } }) => name < box.metadata.name)
      if (before !== undefined && before.status?.phase === undefined) return waiting
      // The first one takes its time.
      if (before === undefined && box.status?.count === undefined) {
        yield* B.status(box, { count: 1 })
        return Action.requeueAfter("10 seconds")
      }
      return yield* B.done(B.status(box, { phase: "Ready" }))
    }), { owns: [] })

/** Runs what the size says, which is in a selector, too, that cannot be changed: the Deployment makes room for another. */
const reselected = (propagationPolicy: "Orphan" | "Foreground") =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const found = yield* Cache.get(Deployment, B.named("box"))
      const { labels, metadata } = labelled(box, { size: String(box.spec.size) })
      if (found?.spec.selector.matchLabels?.["size"] === labels.size) return Action.done
      if (found !== undefined) {
        if (!isTerminating(found)) yield* B.unlessGone(it.delete(Deployment, found, { propagationPolicy }))
        return Action.requeueAfter("5 seconds")
      }
      const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } }
      return yield* B.done(
        B.unlessThere(it.create(Deployment, { metadata, spec: { selector: { matchLabels: labels }, template } }))
      )
    }), { owns: [Deployment] })

const gone = (name: string) => ({
  name: `${name} goes`,
  act: B.client.use((it) => it.delete(B.Box, B.named(name)))
})

/** A role for who reads a Box, of which a cluster has one under a name. */
const reading = (nameOf: (box: B.Box) => string) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const rules = [{ apiGroups: ["planted.example.com"], resources: ["boxes"], verbs: ["get"] }]
      return yield* B.done(B.unlessThere(it.create(ClusterRole, { metadata: { name: nameOf(box) }, rules })))
    }), {
    owns: [],
    finalize: (box) => B.done(B.client.use((it) => B.unlessGone(it.delete(ClusterRole, { name: nameOf(box) }))))
  })

/** Lets clients in at the port that the size says, by a policy that is named after it. */
const letting = (tidies: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const { size: port } = box.spec
      const wanted = `box-allow-${port}`
      const policies = yield* Cache.list(NetworkPolicy, { owner: box })
      if (!policies.some(({ metadata }) => metadata.name === wanted)) {
        yield* B.unlessThere(it.create(NetworkPolicy, {
          metadata: { ...B.named(wanted), ownerReferences: [controllerReference(box)] },
          spec: { podSelector: { matchLabels: { box: "box" } }, ingress: [{ ports: [{ port, protocol: "TCP" }] }] }
        }))
      }
      for (const policy of policies) {
        if (tidies && policy.metadata.name !== wanted) yield* B.unlessGone(it.delete(NetworkPolicy, policy))
      }
      return Action.done
    }), { owns: [NetworkPolicy] })

const paused = (value: string | null) => ({
  name: value === null ? "go on" : "pause",
  act: B.client.use((it) => it.patch(B.Box, B.key, B.merge({ metadata: { annotations: { paused: value } } })))
})

/** Observes nothing of a Box that is paused. */
const pausing = (unpaused: (box: B.Box) => boolean) =>
  B.boxes((box) =>
    box.metadata.annotations?.["paused"] !== undefined || !unpaused(box)
      ? Effect.succeed(Action.done)
      : B.done(B.status(box, { count: box.spec.size, observedGeneration: box.metadata.generation! })), { owns: [] })

/** Tells somebody elsewhere, once, and counts what went wrong: the calls that failed, or those that it begins. */
const counting = (counts: "failures" | "calls") =>
  B.boxes((box) =>
    Effect.gen(function*() {
      if (box.status?.phase === "Done") return Action.done
      const count = (box.status?.count ?? 0) + 1
      if (counts === "calls") yield* B.status(box, { count })
      const failed = yield* Effect.isFailure(register(box))
      if (failed && counts === "failures") yield* B.status(box, { count })
      if (failed) return Action.requeueAfter("5 seconds")
      yield* B.status(box, { phase: "Done" })
      return Action.done
    }), { owns: [] })

/** A Box of size 0 is a group, which goes after its last member; a member goes when the group does not count it any more. */
const grouped = (counts: boolean) => {
  const members = Effect.map(Cache.list(B.Box), (boxes) => boxes.filter(({ spec }) => spec.size > 0))
  const counting = (group: B.Box) =>
    Effect.gen(function*() {
      const count = (yield* members).filter((member) => !isTerminating(member)).length
      if (group.status?.count !== count) yield* B.status(group, { count })
    })
  const isLast = (box: B.Box) =>
    Effect.gen(function*() {
      if (box.spec.size > 0) return ((yield* Cache.get(B.Box, B.named("group")))?.status?.count ?? 0) === 0
      if (counts) yield* counting(box)
      return (yield* members).length === 0
    })
  return B.boxes((box) => B.done(box.spec.size > 0 ? Effect.void : counting(box)), {
    watches: [Watch.make(B.Box, { map: () => [B.named("group"), B.named("member")] })],
    finalize: (box) => Effect.map(isLast(box), (last) => (last ? Action.done : Action.requeueAfter("5 seconds")))
  })
}

const members: B.Steps = [
  ...["group", "member"].map((name, size) => ({
    name,
    act: B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size } }))
  })),
  gone("member"),
  gone("group")
]

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "haste: lets in at a port that nobody wants any more",
    "nothing left of an earlier spec",
    B.sized(80, 443),
    letting(false),
    letting(true)
  ),
  B.bug(
    "haste: what was changed while it was paused is never seen",
    "observed generation",
    [...B.sized(1), paused("yes"), ...B.sized(2), paused(null)],
    pausing(({ metadata: { generation }, status }) => status === undefined || generation === status.observedGeneration),
    pausing(() => true)
  ),
  B.bug(
    "haste: counts what it began, not what went wrong",
    "same end state",
    B.sized(1),
    counting("calls"),
    counting("failures"),
    { faults: ["crashAfter", "externalFails", "externalOutage", "externalLost"] }
  ),
  B.bug(
    "haste: asks outside ten times a second for as long as nobody answers",
    "bounded retries",
    B.sized(1),
    registered((box) => Effect.retry(register(box), Schedule.spaced("100 millis"))),
    registered(register),
    { faults: ["externalOutage", "externalFails"] }
  ),
  B.bug(
    "haste: puts back what people have changed meanwhile, and the end hides it",
    "same end state",
    [...B.sized(1, 2), ...B.deleted],
    noting(({ spec }) => ({ spec })),
    noting(() => ({})),
    { faults: ["crashAfter", "forestalled"] }
  ),
  B.bug(
    "haste: waits for what does not wake it, where people do not wait",
    "desired state",
    [broker, ...connected],
    connecting(Watch.cached(Pod)),
    connecting(Watch.make(Pod, { map: () => [B.key] })),
    { faults: ["crashAfter", "together"] }
  ),
  B.bug(
    "haste: two wait for one another to go",
    "finalizers released",
    members,
    grouped(false),
    grouped(true),
    { faults: ["crashAfter", "absent"] }
  ),
  B.bug(
    "haste: what people have is held for ever",
    "finalizers on others' objects are released",
    [notes, ...B.sized(1), ...B.deleted],
    holding(false),
    holding(true)
  ),
  B.bug(
    "haste: what the cluster has made of it is left behind",
    "nothing left behind",
    [...B.sized(2), ...B.deleted],
    deployed("Orphan"),
    deployed("Background"),
    { faults: ["crashAfter", "serverError"] }
  ),
  B.bug(
    "haste: one sends its clients to the other",
    "Services select only their own Pods",
    [boxNamed("a"), boxNamed("b")],
    serving(() => ({ app: "box" })),
    serving(({ metadata }) => ({ app: "box", box: metadata.name }))
  ),
  B.bug(
    "haste: who goes takes with it what another has under the same name",
    "other custom resources are unaffected",
    [boxNamed("a"), boxNamed("b"), gone("a")],
    reading(() => "box-reader"),
    reading(({ metadata }) => `box-reader-${metadata.name}`)
  ),
  {
    ...B.bug(
      "haste: waits for another of its kind, which does not wake it",
      "a restart changes nothing",
      [boxNamed("a"), boxNamed("b")],
      inTurn(Action.done),
      inTurn(Action.requeueAfter("5 seconds"))
    ),
    faults: 2
  },
  B.bug(
    "haste: what it has replaced goes on for nobody",
    "no orphans",
    B.sized(1, 2),
    reselected("Orphan"),
    reselected("Foreground")
  )
]
