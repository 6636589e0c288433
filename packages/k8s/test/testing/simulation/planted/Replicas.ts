/** Several processes, of which one may write. */
import { Action, Controller, type LeaderElection, Manager, Resource } from "@effect-operator/core"
import { controllerReference, type KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { Clock, Effect, Layer, Random, Schedule } from "effect"
import * as B from "./Box.ts"

interface Lease extends KubeObject {
  readonly spec: {
    readonly holderIdentity: string
    readonly leaseDurationSeconds?: number
    readonly renewTime?: string
    readonly acquireTime?: string
  }
}

const Lease = Resource.make<Lease>()({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  scope: "Namespaced"
})

const elected = (reconcile: B.Reconcile) => ({ identity }: Simulation.Replica) =>
  Manager.layer(
    [Controller.make("boxes", { for: B.Box, owns: [Pod, ConfigMap], reconcile }) as Controller.Controller],
    { identity, leaderElection: { namespace: "default", name: "boxes", identity: `box-operator_${identity}` } }
  )

const everyone: B.Reconcile = (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const good = (yield* B.living(box)).filter((pod) => !B.isFailed(pod))
    for (const pod of (yield* B.living(box)).filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, pod))
    for (let i = good.length; i < box.spec.size; i++) {
      yield* it.create(Pod, B.podOf(box, { generateName: "box-" }))
      yield* Effect.sleep("1 second")
    }
    return Action.done
  })

/** An election by hand, as many a program has it: every two seconds a look at the lease. */
const byHand = (
  { identity }: Simulation.Replica
): Simulation.Operator =>
  Layer.effectDiscard(Effect.gen(function*() {
    const it = yield* B.client
    const key = B.named("by-hand")
    let leads = false
    const lead = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const renewTime = new Date(now).toISOString().replace("Z", "000Z")
      const spec = { holderIdentity: identity, leaseDurationSeconds: 15, renewTime }
      const found = yield* Effect.result(it.get(Lease, key))
      if (found._tag === "Failure") {
        if (found.failure.reason._tag !== "NotFound") return yield* found.failure
        yield* it.create(Lease, { metadata: key, spec })
        return true
      }
      const lease = found.success
      const age = now - Date.parse(lease.spec.renewTime ?? "")
      if (lease.spec.holderIdentity !== identity && age < 15_000) return false
      yield* it.replace(Lease, { ...lease, spec })
      return true
    })
    const work = Effect.gen(function*() {
      const found = yield* Effect.result(it.get(B.Box, B.key))
      if (found._tag === "Failure") return
      const name = `by-hand-${found.success.spec.size}`
      const map = yield* Effect.result(it.get(ConfigMap, B.named(name)))
      if (map._tag === "Failure") yield* B.unlessThere(it.create(ConfigMap, B.map(name, {}, found.success)))
    })
    const turn = Effect.gen(function*() {
      const answer = yield* Effect.result(lead)
      // Whoever has led once goes on, whatever becomes of the lease.
      if (answer._tag === "Success") leads = leads || answer.success
      if (leads) yield* Effect.ignore(work)
    })
    yield* Effect.forkScoped(Effect.repeat(turn, Schedule.spaced("2 seconds")))
  }))

const good = elected((box) => B.done(B.keep(box, "by-hand", { size: String(box.spec.size) })))

/** Each of a Box's settings says who leads. */
const signed = (keep: (box: B.Box, name: string, leader: string) => Effect.Effect<unknown, unknown, any>) =>
(
  replica: Simulation.Replica
) =>
  elected((box) =>
    B.done(
      Effect.forEach(
        Array.from({ length: box.spec.size }, (_, index) => `settings-${"abc"[index]}`),
        (name) => keep(box, name, replica.identity)
      )
    )
  )(replica)

/** Makes what all need when its process starts, elected or not. */
const eager = (replica: Simulation.Replica) =>
  Layer.merge(
    Layer.effectDiscard(Effect.orDie(B.client.use((it) => B.unlessThere(it.create(ConfigMap, B.map("defaults", {})))))),
    good(replica)
  )

/** What is one lease for all work on a Box, held while that goes on; not renewed, and no election. */
const locked = (holderOf: (box: B.Box, life: string) => string) =>
  B.remembering(() => ({ life: "" }), (process) =>
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        process.life ||= String(yield* Random.nextInt)
        const holderIdentity = holderOf(box, process.life)
        const metadata = { ...B.named("lock"), ownerReferences: [controllerReference(box)] }
        const size = String(box.spec.size)
        const said = B.status(box, { count: box.spec.size })
        const isDone = (yield* B.cached("settings"))?.data?.["size"] === size
        const lock = yield* B.unlessGone(it.get(Lease, metadata))
        if (lock !== undefined && lock.spec.holderIdentity !== holderIdentity) {
          return isDone ? yield* B.done(said) : Action.requeueAfter("10 seconds")
        }
        if (!isDone) {
          if (lock === undefined) yield* it.create(Lease, { metadata, spec: { holderIdentity } })
          yield* B.keep(box, "settings", { size })
        }
        if (!isDone || lock !== undefined) yield* B.unlessGone(it.delete(Lease, metadata))
        return yield* B.done(said)
      })
    ))

/** Two controllers, each with a lease of its own. */
const apart = (operator: (replica: Simulation.Replica, election: LeaderElection.Options) => Simulation.Operator) =>
(
  replica: Simulation.Replica
) => operator(replica, { namespace: "default", name: "boxes", identity: replica.identity })

const keeping = (name: string) =>
  Controller.make(name, {
    for: B.Box,
    owns: [ConfigMap],
    reconcile: (box) => B.done(B.keep(box, name, { size: String(box.spec.size) }))
  })

const both = [keeping("left"), keeping("right")]

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "replicas: nobody leads, everybody creates",
    "desired state",
    B.sized(2).map((step) => ({ ...step, desired: (objects) => B.count("Pod", objects) === 2 })),
    () => B.boxes(everyone),
    elected(B.pods),
    { replicas: 2 }
  ),
  B.bug(
    "replicas: once a leader, always a leader",
    "single writer",
    B.sized(1, 2, 3),
    byHand,
    good,
    { replicas: 2, faults: ["cutOff"] }
  ),
  B.bug(
    "replicas: writes before anybody is elected",
    "single writer",
    B.sized(1),
    eager,
    good,
    { replicas: 2 }
  ),
  B.bug(
    "replicas: of two controllers one has no lease",
    "single writer",
    B.sized(1, 2),
    apart(({ identity }, leaderElection) =>
      Layer.merge(
        Manager.layer([keeping("left")], { identity, leaderElection, name: "left" }),
        Manager.layer([keeping("right")], { identity, name: "right" })
      )
    ),
    apart(({ identity }, leaderElection) =>
      Manager.layer(both, { identity, leaderElection: { ...leaderElection, per: "controller" } })
    ),
    { replicas: 2 }
  ),
  B.bug(
    "replicas: a lease is a lock, and whose it is is forgotten with the process",
    "same end state",
    B.sized(1, 2),
    locked((_, life) => life),
    locked(({ metadata }) => metadata.uid),
    { faults: ["crashAfter", "cutOff", "lostAnswer"] }
  ),
  B.bug(
    "replicas: what is there keeps the name of who led before",
    "same end state",
    B.sized(1, 2),
    signed((box, name, leader) =>
      Effect.flatMap(B.cached(name), (found) => (found === undefined ? B.keep(box, name, { leader }) : Effect.void))
    ),
    signed((box, name, leader) => B.keep(box, name, { leader })),
    { replicas: 2, faults: ["crashAway", "cutOff"] }
  )
]
