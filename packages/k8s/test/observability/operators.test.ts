/** What an operator shows of itself when its cluster changes under it: whole operators in virtual time. */
import { Action, Cache, Controller, KubeClient, Manager, Watch } from "@effect-operator/core"
import { ClusterRoleBinding, ConfigMap, CustomResourceDefinition, Lease } from "@effect-operator/k8s/kinds"
import { Crd, Endpoints } from "@effect-operator/k8s"
import { ApiServer, TestClient } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { allow, asking, cluster, everything, Gadget, operate, Widget } from "./support.ts"

const definitionOf = (resource: { readonly plural: string; readonly group: string }) => ({
  name: `${resource.plural}.${resource.group}`
})

const widget = (name: string, size = 1) => ({ metadata: { namespace: "default", name }, spec: { size } })

/** Copies the size into the status, and writes a ConfigMap beside it. */
const widgets = Controller.make("widgets", {
  for: Widget,
  watches: [Watch.make(ConfigMap, { labels: { app: "widgets" }, map: ({ metadata }) => [metadata] })],
  reconcile: Effect.fnUntraced(function*({ metadata, spec, status }) {
    const client = yield* KubeClient.KubeClient
    const { name, namespace } = metadata
    if ((yield* Cache.get(ConfigMap, { namespace, name })) === undefined) {
      yield* client.create(ConfigMap, { metadata: { namespace, name, labels: { app: "widgets" } } })
    }
    if (status?.size !== spec.size) {
      yield* client.patch(Widget, { namespace, name }, KubeClient.Patch.merge({ status: { size: spec.size } }), {
        subresource: "status"
      })
    }
    return Action.done
  })
})

const gadgets = Controller.make("gadgets", { for: Gadget, reconcile: () => Effect.succeed(Action.done) })

describe("readyz", () => {
  it.effect("turns false when a definition is deleted, says which watch and why, and turns true by itself", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const { get, readyz } = yield* operate([widgets, gadgets])
      const client = yield* KubeClient.KubeClient
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
      yield* client.delete(CustomResourceDefinition, definitionOf(Gadget))
      yield* TestClock.adjust("1 minute")
      const { failures, status } = yield* readyz
      assert.strictEqual(status, 500)
      assert.strictEqual(failures.length, 1)
      assert.match(
        failures[0]!,
        /^\[-\]watch:gadgets\.observed\.example\.com failed: NotFound: .*CustomResourceDefinition/
      )
      assert.strictEqual((yield* get("/readyz/watch:widgets.observed.example.com")).status, 200)
      assert.strictEqual((yield* get("/readyz?exclude=watch:gadgets.observed.example.com")).status, 200)
      assert.strictEqual((yield* get("/livez")).status, 200, "a restart would not help")
      const metrics = (yield* get("/metrics")).body
      assert.match(metrics, /effect_operator_watch_degraded\{resource="Gadget\.v1\.observed\.example\.com"[^}]*\} 1/)
      yield* Crd.install(Gadget)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
    }).pipe(Effect.provide(cluster(Widget, Gadget))))

  it.effect("a permission that is withdrawn shows when the watch is due, and is gone when it is given back", () =>
    Effect.gen(function*() {
      yield* allow("rest", [
        { apiGroups: ["observed.example.com"], resources: ["*"], verbs: ["*"] },
        { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["*"] }
      ])
      yield* allow("configmaps", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }])
      const { readyz } = yield* operate([widgets, gadgets])
      const client = yield* KubeClient.KubeClient
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
      yield* client.delete(ClusterRoleBinding, { name: "configmaps" })
      yield* TestClock.adjust("11 minutes")
      const { failures, status } = yield* readyz
      assert.strictEqual(status, 500)
      assert.strictEqual(failures.length, 1)
      assert.match(failures[0]!, /^\[-\]watch:configmaps\[app=widgets\] failed: Forbidden: .*ops:operator.* \(does the/)
      yield* client.create(ClusterRoleBinding, {
        metadata: { name: "configmaps" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "configmaps" },
        subjects: [{ kind: "ServiceAccount", namespace: "ops", name: "operator" }]
      })
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
    }).pipe(Effect.provide(cluster(Widget, Gadget))))

  it.effect("a kind missing from the start holds up its own controller, and no other; it starts when it is there", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const { get, manager, readyz } = yield* operate([widgets, gadgets])
      const client = yield* KubeClient.KubeClient
      yield* client.create(Widget, widget("a"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* client.get(Widget, widget("a").metadata)).status?.size, 1, "the other one works")
      const { failures } = yield* readyz
      assert.deepStrictEqual(failures.map((line) => line.slice(3, line.indexOf(" "))), [
        "watch:gadgets.observed.example.com",
        "controller:gadgets"
      ])
      assert.match(
        (yield* get("/metrics")).body,
        /effect_operator_cache_sync_timeouts_total\{controller="gadgets"\} [1-9]/
      )
      yield* Crd.install(Gadget)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
      assert.deepStrictEqual((yield* manager.report).controllers.map(({ status }) => status._tag), [
        "Running",
        "Running"
      ])
    }).pipe(Effect.provide(cluster(Widget))))

  it.effect("a permission missing from the start does the same", () =>
    Effect.gen(function*() {
      yield* allow("operator", [
        { apiGroups: ["observed.example.com"], resources: ["widgets", "widgets/status"], verbs: ["*"] },
        { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }
      ])
      const { readyz } = yield* operate([widgets, gadgets])
      const client = yield* KubeClient.KubeClient
      yield* client.create(Widget, widget("a"))
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual((yield* client.get(Widget, widget("a").metadata)).status?.size, 1)
      const { failures } = yield* readyz
      assert.match(failures.join("\n"), /watch:gadgets\S+ failed: Forbidden/)
      yield* allow("more", everything)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
    }).pipe(Effect.provide(cluster(Widget, Gadget))))

  it.effect("a lease that may not be written shows; a standby is ready", () =>
    Effect.gen(function*() {
      const leaderElection = { namespace: "default", name: "op", identity: "me" }
      yield* allow("operator", [
        { apiGroups: ["observed.example.com"], resources: ["*"], verbs: ["*"] },
        { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch"] }
      ])
      const { readyz } = yield* operate([gadgets], { leaderElection })
      yield* TestClock.adjust("1 minute")
      const { failures } = yield* readyz
      assert.match(failures.join("\n"), /^\[-\]lease:default\/op failed: .*[Ff]orbidden/)
      const client = yield* KubeClient.KubeClient
      const now = "1970-01-01T00:01:00.000000Z"
      yield* client.create(Lease, {
        metadata: { namespace: "default", name: "op" },
        spec: {
          holderIdentity: "you",
          leaseDurationSeconds: 3600,
          acquireTime: now,
          renewTime: now,
          leaseTransitions: 0
        }
      })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
    }).pipe(Effect.provide(cluster(Gadget))))

  it.effect("says that it is stopping, from the signal to the last reconcile", () =>
    Effect.gen(function*() {
      yield* allow("operator", everything)
      const slow = Controller.make("slow", {
        for: Gadget,
        reconcile: () => Effect.as(Effect.sleep("10 seconds"), Action.done)
      })
      const client = yield* KubeClient.KubeClient
      yield* client.create(Gadget, widget("a"))
      const scope = yield* Scope.make()
      // As in a process: the endpoints are there before the manager, and after it.
      const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
      const { readyz } = asking(endpoints)
      assert.deepStrictEqual((yield* readyz).failures, ["[-]manager failed: no manager is running"])
      yield* Layer.buildWithScope(
        Manager.layer([slow], { drain: "25 seconds" }).pipe(
          Layer.provide(TestClient.layer),
          Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
        ),
        scope
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* readyz, {
        status: 500,
        failures: ["[-]shutdown failed: the process is stopping"]
      })
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual((yield* readyz).failures, ["[-]manager failed: no manager is running"])
    }).pipe(Effect.provide(cluster(Gadget))))
})

describe("quiet", () => {
  const requests = ApiServer.ApiServer.use(({ requestCounts }) => requestCounts)

  it.effect(
    "1,000 custom resources, stable: 0 writes and 0 reads beyond watches in one virtual hour",
    () =>
      Effect.gen(function*() {
        yield* allow("operator", everything)
        const { get, readyz } = yield* operate([widgets])
        const client = yield* KubeClient.KubeClient
        for (let i = 0; i < 1000; i++) yield* client.create(Widget, widget(`w-${i}`, i))
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual((yield* client.get(Widget, widget("w-999").metadata)).status?.size, 999)
        assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
        const before = yield* requests
        const { revision } = yield* ApiServer.ApiServer
        const written = yield* revision
        yield* TestClock.adjust("1 hour")
        const after = yield* requests
        const others = Object.keys(after).filter((request) =>
          after[request] !== before[request] && !request.startsWith("watch ")
        )
        assert.deepStrictEqual(others, [])
        assert.strictEqual(yield* revision, written)
        assert.match((yield* get("/metrics")).body, /effect_operator_cache_objects\{resource="Widget[^}]*\} 1000/)
      }).pipe(Effect.provide(cluster(Widget)))
  )

  it.effect(
    "24 hours with 100 custom resources, churn and two resyncs, in less than 30 s",
    () =>
      Effect.gen(function*() {
        // Of this process alone: how busy the machine is with others is not the question.
        const began = process.cpuUsage()
        yield* allow("operator", everything)
        let reconciles = 0
        const counting = {
          ...widgets,
          reconcile: (...args: Parameters<typeof widgets.reconcile>) => {
            reconciles += 1
            return widgets.reconcile(...args)
          }
        }
        const { get, readyz } = yield* operate([counting])
        const client = yield* KubeClient.KubeClient
        for (let i = 0; i < 100; i++) yield* client.create(Widget, widget(`w-${i}`, i))
        for (let hour = 0; hour < 24; hour++) {
          yield* TestClock.adjust("1 hour")
          // An hour's churn: ten change, one goes and comes back.
          for (let i = 0; i < 10; i++) {
            const { name, namespace } = widget(`w-${(hour * 10 + i) % 100}`).metadata
            yield* client.patch(Widget, { namespace, name }, KubeClient.Patch.merge({ spec: { size: hour } }))
          }
          const gone = widget(`w-${(hour * 7) % 100}`, hour)
          yield* client.delete(Widget, gone.metadata)
          yield* client.create(Widget, gone)
        }
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* readyz, { status: 200, failures: [] })
        for (let i = 0; i < 100; i++) {
          const { spec, status } = yield* client.get(Widget, widget(`w-${i}`).metadata)
          assert.strictEqual(status?.size, spec.size)
        }
        assert.isAtLeast(reconciles, 100 + 2 * 100 + 24 * 11, "first, two resyncs, churn")
        const metrics = (yield* get("/metrics")).body
        assert.match(metrics, /effect_operator_watch_relists_total\{resource="Widget[^}]*\} 0/)
        const { system, user } = process.cpuUsage(began)
        assert.isBelow((system + user) / 1e6, 30, "seconds")
      }).pipe(Effect.provide(cluster(Widget)))
  )
})
