/**
 * Leader election between operating system processes, by Leases of a real kube-apiserver: one is killed, and one stops.
 */
import { KubeClient, type LeaderElection } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Crd } from "@effect-operator/k8s"
import { Lease, Pod } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Layer, Option } from "effect"
import { Autoscaler } from "../src/autoscaler/resource.ts"
import { all } from "./support/Operator.ts"
import * as Processes from "./support/Processes.ts"

const cluster = Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer))

const key = { namespace: "default", name: "web" }
const lease = { namespace: "default", name: "autoscaler" }
const spec = { targetNamespace: "default", desiredReplicas: 3, image: "nginx:1.27" }

const holder = KubeClient.KubeClient.use((client) => client.get(Lease, lease)).pipe(
  Effect.map((found) => found.spec?.holderIdentity),
  Effect.option,
  Effect.map(Option.getOrUndefined)
)

const leads = (identity: string) => Processes.until(Effect.map(holder, (found) => found === identity))

/** A process of the operator. */
const replicaOf = (identity: string, per: LeaderElection.Per) =>
  Effect.flatMap(Envtest.Envtest, ({ kubeconfigPath }) =>
    Processes.start("examples/src/autoscaler/main.ts", {
      env: {
        KUBECONFIG: kubeconfigPath,
        EFFECT_OPERATOR_IDENTITY: identity,
        EFFECT_OPERATOR_LEADER_ELECTION: "true",
        EFFECT_OPERATOR_LEASE_NAMESPACE: lease.namespace,
        EFFECT_OPERATOR_LEASE_NAME: lease.name,
        EFFECT_OPERATOR_LEASE_PER: per
      }
    }))

/** As many Pods are there, and are to stay. */
const reaches = (count: number) =>
  Processes.until(
    Effect.map(all(Pod), (found) => found.filter((pod) => !isTerminating(pod)).length === count)
  )

/** How many milliseconds it takes. */
const measured = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (began) => Effect.andThen(effect, Effect.map(Clock.currentTimeMillis, (now) => now - began))
  )

it.live(
  "of two processes one is killed: the other takes over within 17 s; a stop hands over at once",
  () =>
    Effect.gen(function*() {
      yield* Crd.install(Autoscaler)
      const client = yield* KubeClient.KubeClient
      const replica = (identity: string) => replicaOf(identity, "manager")
      const scale = (desiredReplicas: number) =>
        client.patch(Autoscaler, key, KubeClient.Patch.merge({ spec: { desiredReplicas } }))
      const standsBy = ({ output }: { readonly output: () => string }) =>
        Processes.until(Effect.sync(() => output().includes("standing by: ")))

      const first = yield* replica("first")
      yield* leads("first")
      const second = yield* replica("second")
      yield* client.create(Autoscaler, { metadata: key, spec })
      yield* reaches(3)
      // It counts from what it has seen itself: a replica that has seen no renewal has longer to wait.
      yield* standsBy(second)

      yield* first.signal("SIGKILL")
      assert.deepStrictEqual(yield* first.exited, { code: null, signal: "SIGKILL" })
      yield* scale(5)
      const takeover = yield* measured(leads("second"))
      assert.isAtMost(takeover, 17_000)
      yield* reaches(5)

      const third = yield* replica("third")
      yield* standsBy(third)
      yield* second.signal("SIGTERM")
      const handover = yield* measured(leads("third"))
      // A second by the clock of a test; a busy machine may take one more for the process to hear of the signal.
      assert.isAtMost(handover, 2_000)
      assert.deepStrictEqual(yield* second.exited, { code: 0, signal: null })
      yield* scale(2)
      yield* reaches(2)
      yield* third.signal("SIGTERM")
      assert.deepStrictEqual(yield* third.exited, { code: 0, signal: null })
      assert.include(["", undefined], yield* holder)
    }).pipe(Effect.provide(cluster)),
  300_000
)

it.live(
  "of three processes that share the objects one is killed, and one stops: the others have them",
  () =>
    Effect.gen(function*() {
      yield* Crd.install(Autoscaler)
      const client = yield* KubeClient.KubeClient
      const names = Array.from({ length: 12 }, (_, i) => `web-${i}`)
      const replica = (identity: string) => replicaOf(identity, "object")
      /** Under whom the replicas say that they work; nothing where they do not agree. */
      const members = Effect.map(client.listPage(Lease, { namespace: lease.namespace }), ({ items }) => {
        const said = items.map(({ metadata }) => metadata.annotations?.["effect-operator.dev/members"])
        return new Set(said).size === 1 ? said[0] : undefined
      })
      const agree = (expected: string) => Processes.until(Effect.map(members, (found) => found === expected))
      const scale = (desiredReplicas: number) =>
        Effect.forEach(names, (name) =>
          client.patch(Autoscaler, { ...key, name }, KubeClient.Patch.merge({ spec: { desiredReplicas } })), {
          discard: true
        })
      const first = yield* replica("first")
      const second = yield* replica("second")
      const third = yield* replica("third")
      yield* agree("first,second,third")
      for (const name of names) {
        yield* client.create(Autoscaler, { metadata: { ...key, name }, spec: { ...spec, desiredReplicas: 1 } })
      }
      yield* reaches(12)
      const { items: events } = yield* client.listPage(Event, { namespace: key.namespace })
      const makers = new Set(
        events.flatMap(({ reason, reportingInstance }) =>
          reason === "REPLICA_CREATED" ? reportingInstance : []
        )
      )
      assert.isAbove(makers.size, 1, "each has its part")

      yield* first.signal("SIGKILL")
      yield* scale(2)
      yield* reaches(24)
      yield* second.signal("SIGTERM")
      assert.deepStrictEqual(yield* second.exited, { code: 0, signal: null })
      yield* scale(1)
      yield* reaches(12)
      yield* third.signal("SIGTERM")
      assert.deepStrictEqual(yield* third.exited, { code: 0, signal: null })
      const left = yield* client.listPage(Lease, { namespace: lease.namespace })
      assert.deepStrictEqual(
        left.items.map(({ spec }) => spec?.holderIdentity),
        ["first"],
        "of the one that was killed"
      )
    }).pipe(Effect.provide(cluster)),
  300_000
)
