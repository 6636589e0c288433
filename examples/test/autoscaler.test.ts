import { KubeClient, Manager } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Namespace, Pod } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/autoscaler/example.ts"
import { controller, owner } from "../src/autoscaler/reconciler.ts"
import { Autoscaler } from "../src/autoscaler/resource.ts"
import { keepsPods } from "./support/KeepsPods.ts"
import { all, assertQuiet, operated, settle } from "./support/Operator.ts"

const key = { namespace: "default", name: "web" }

const create = (desiredReplicas: number, targetNamespace = "default") =>
  KubeClient.KubeClient.use((client) =>
    client.create(Autoscaler, { metadata: key, spec: { targetNamespace, desiredReplicas, image: "nginx:1.27" } })
  )

const change = (spec: Partial<Autoscaler["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(Autoscaler, key, KubeClient.Patch.merge({ spec })))

/** Exactly `count` Pods run, nothing else is left of any Pod, and the status says so. */
const assertSettled = Effect.fnUntraced(function*(count: number, namespace = "default") {
  const client = yield* KubeClient.KubeClient
  const pods = yield* all(Pod)
  assert.strictEqual(pods.length, count)
  for (const pod of pods) {
    assert.strictEqual(pod.metadata.namespace, namespace)
    assert.strictEqual(pod.status?.phase, "Running")
    assert.isFalse(isTerminating(pod))
  }
  const { status } = yield* client.get(Autoscaler, key)
  assert.deepStrictEqual(status, { availableReplicas: count, ready: true })
})

keepsPods({ example, create, scale: (desiredReplicas) => change({ desiredReplicas }), assertSettled, writesOfFour: 6 })

it.effect("moves its Pods when the target namespace changes", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name: "elsewhere" } })
    yield* create(3)
    yield* TestClock.adjust("10 seconds")
    yield* change({ targetNamespace: "elsewhere" })
    yield* TestClock.adjust("1 minute")
    yield* assertSettled(3, "elsewhere")
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("replaces Pods of another image, new ones first", () =>
  Effect.gen(function*() {
    yield* create(3)
    yield* TestClock.adjust("10 seconds")
    yield* change({ image: "nginx:1.28" })
    yield* TestClock.adjust("1 millis")
    assert.strictEqual((yield* all(Pod)).length, 6, "the old ones run until the new ones do")
    yield* TestClock.adjust("1 minute")
    yield* assertSettled(3)
    assert.isTrue((yield* all(Pod)).every(({ spec }) => spec.containers[0]?.image === "nginx:1.28"))
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("deletes its Pods before the Autoscaler goes, in whatever namespace", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name: "elsewhere" } })
    yield* create(3, "elsewhere")
    yield* TestClock.adjust("10 seconds")
    yield* client.delete(Autoscaler, key)
    assert.strictEqual((yield* all(Autoscaler)).length, 1, "the finalizer holds it")
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* all(Pod), [])
    assert.deepStrictEqual(yield* all(Autoscaler), [])
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("replaces a Pod that was set aside by taking its label, and leaves that Pod alone", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create(2)
    yield* TestClock.adjust("10 seconds")
    const [aside] = yield* all(Pod)
    yield* client.patch(Pod, aside!, KubeClient.Patch.merge({ metadata: { labels: { [owner.key]: null } } }))
    yield* TestClock.adjust("1 minute")
    const pods = yield* all(Pod)
    assert.strictEqual(pods.length, 3)
    assert.strictEqual(pods.filter(({ metadata }) => owner.key in (metadata.labels ?? {})).length, 2)
    assert.isTrue(pods.some(({ metadata }) => metadata.uid === aside!.metadata.uid))
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("works for every legal name of an Autoscaler", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const legal = ["a", `${"a".repeat(39)}.b`, `${"a".repeat(38)}.-b`.replace(".-", ".b-"), "9", "a".repeat(253)]
    for (const name of legal) {
      yield* client.create(Autoscaler, {
        metadata: { namespace: "default", name },
        spec: { targetNamespace: "default", desiredReplicas: 1, image: "nginx:1.27" }
      })
    }
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual((yield* all(Autoscaler)).map(({ status }) => status?.ready), legal.map(() => true))
  }).pipe(Effect.provide(operated(example))))

it.effect("records what it does as Events about the Autoscaler", () =>
  Effect.gen(function*() {
    yield* create(2)
    yield* TestClock.adjust("10 seconds")
    yield* change({ desiredReplicas: 1 })
    yield* TestClock.adjust("10 seconds")
    const events = yield* all(Event)
    const own = events.filter(({ reportingController }) => reportingController === controller.name)
    assert.deepStrictEqual(own.map(({ reason }) => reason).sort(), [
      "REPLICA_CREATED",
      "REPLICA_CREATED",
      "REPLICA_DELETED"
    ])
    for (const { regarding } of own) assert.deepInclude(regarding, { kind: "Autoscaler", ...key })
  }).pipe(Effect.provide(operated(example))))

it.effect("300 Autoscalers of 3 Pods converge, and nothing is left running behind", () => {
  let fibers = 0
  const count: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  }
  return Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const manager = yield* Manager.Manager
    const server = yield* ApiServer.ApiServer
    yield* settle
    const atStart = { report: yield* manager.report, watchers: yield* server.watchers, fibers }
    assert.isAbove(fibers, 5, "fibers are counted")

    for (let i = 0; i < 300; i++) {
      yield* client.create(Autoscaler, {
        metadata: { namespace: "default", name: `web-${i}` },
        spec: { targetNamespace: "default", desiredReplicas: 3, image: "nginx:1.27" }
      })
    }
    yield* settle
    assert.strictEqual((yield* all(Pod)).length, 900)
    assert.isTrue((yield* all(Autoscaler)).every(({ status }) => status?.ready === true))
    const settled = yield* manager.report
    assert.deepStrictEqual(settled.controllers.map(({ name, queue }) => ({ name, queue })), [{
      name: "autoscaler",
      queue: { ready: 0, waiting: 0, processing: 0 }
    }])
    assert.isTrue(settled.watches.every(({ unconfirmed }) => unconfirmed === 0))
    yield* assertQuiet

    for (const autoscaler of yield* all(Autoscaler)) yield* client.delete(Autoscaler, autoscaler)
    yield* settle
    assert.strictEqual((yield* all(Pod)).length, 0)
    assert.strictEqual((yield* all(Autoscaler)).length, 0)
    const atEnd = { report: yield* manager.report, watchers: yield* server.watchers, fibers }
    assert.deepStrictEqual(atEnd.report.controllers, atStart.report.controllers)
    assert.deepStrictEqual(atEnd.report.parts, atStart.report.parts)
    assert.deepStrictEqual(atEnd.report.watches.map(({ objects }) => objects), [0, 0])
    assert.strictEqual(atEnd.watchers, atStart.watchers)
    assert.strictEqual(atEnd.fibers, atStart.fibers)
  }).pipe(Effect.provide(operated(example)), Effect.provideService(Metric.FiberRuntimeMetrics, count))
}, 180_000)
