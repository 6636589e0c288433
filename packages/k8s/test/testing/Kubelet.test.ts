import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { Transport } from "@effect-operator/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap, Event, PersistentVolumeClaim, Pod, Secret } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Kubelet from "../../src/testing/Kubelet.ts"
import * as NodeLifecycle from "../../src/testing/NodeLifecycle.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const cluster = (options?: Kubelet.Options) =>
  Kubelet.layer(options).pipe(Layer.provideMerge(TestClient.layer), Layer.provideMerge(ApiServer.layer))

const spec = (more: Partial<Pod["spec"]> = {}): Pod["spec"] => ({
  containers: [{ name: "main", image: "nginx:1" }],
  ...more
})

const create = (name: string, more?: Partial<Pod["spec"]>) =>
  KubeClient.use((client) => client.create(Pod, { metadata: { namespace: "default", name }, spec: spec(more) }))

const get = (name: string) => KubeClient.use((client) => client.get(Pod, { namespace: "default", name }))

const phase = (name: string) => Effect.map(get(name), (pod) => pod.status?.phase)

const exists = (name: string) =>
  get(name).pipe(Effect.as(true), Effect.catchReason("KubeError", "NotFound", () => Effect.succeed(false)))

const conditions = (pod: Pod) =>
  Object.fromEntries((pod.status?.conditions ?? []).map(({ status, type }) => [type, status]))

describe("Kubelet", () => {
  it.effect("binds a Pod at once and runs it after the start delay", () =>
    Effect.gen(function*() {
      yield* create("a", { initContainers: [{ name: "init", image: "busybox" }] })
      yield* TestClock.adjust("999 millis")
      const pending = yield* get("a")
      assert.match(pending.spec.nodeName!, /^sim-node-/)
      assert.strictEqual(pending.status?.phase, "Pending")
      yield* TestClock.adjust("1 millis")
      const pod = yield* get("a")
      assert.strictEqual(pod.status?.phase, "Running")
      assert.match(pod.status?.podIP ?? "", /^10\./)
      assert.strictEqual(pod.status?.startTime, "1970-01-01T00:00:00Z")
      assert.deepStrictEqual(conditions(pod), {
        PodReadyToStartContainers: "True",
        Initialized: "True",
        ContainersReady: "True",
        Ready: "True",
        PodScheduled: "True"
      })
      assert.deepStrictEqual(
        pod.status?.containerStatuses?.map(({ name, ready, restartCount }) => [name, ready, restartCount]),
        [
          ["main", true, 0]
        ]
      )
      assert.strictEqual(pod.status?.initContainerStatuses?.[0]?.state?.terminated?.reason, "Completed")
    }).pipe(Effect.provide(cluster())))

  it.effect("finds Pods that were there before it", () =>
    Effect.gen(function*() {
      yield* create("a")
      yield* Effect.gen(function*() {
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* phase("a"), "Running")
      }).pipe(Effect.provide(Kubelet.layer()))
    }).pipe(Effect.provide(TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer)))))

  it.effect("a change of the Pod meanwhile does not start the wait anew", () =>
    Effect.gen(function*() {
      yield* create("a")
      yield* TestClock.adjust("600 millis")
      yield* KubeClient.use((client) =>
        client.patch(Pod, { namespace: "default", name: "a" }, Patch.merge({ metadata: { labels: { x: "y" } } }))
      )
      yield* TestClock.adjust("400 millis")
      const pod = yield* get("a")
      assert.strictEqual(pod.status?.phase, "Running")
      assert.deepStrictEqual(pod.metadata.labels, { x: "y" })
    }).pipe(Effect.provide(cluster())))

  it.effect("a deleted Pod goes after the termination delay, or its grace period if that is shorter", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* Effect.forEach(["a", "b"], (name) => create(name))
      yield* TestClock.adjust("1 second")
      const terminating = yield* client.delete(Pod, { namespace: "default", name: "a" })
      assert.strictEqual(terminating._tag, "Terminating")
      yield* client.delete(Pod, { namespace: "default", name: "b" }, { gracePeriodSeconds: 2 })
      yield* TestClock.adjust("1999 millis")
      assert.deepStrictEqual([yield* exists("a"), yield* exists("b")], [true, true])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([yield* exists("a"), yield* exists("b")], [true, false])
      yield* TestClock.adjust("3 seconds")
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster({ terminationDelay: "5 seconds" }))))

  it.effect("a deleted Pod with a finalizer stays until the finalizer is gone", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "a" }
      yield* client.create(Pod, { metadata: { ...key, finalizers: ["example.com/hold"] }, spec: spec() })
      yield* TestClock.adjust("1 second")
      yield* client.delete(Pod, key)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* get("a")).metadata.deletionGracePeriodSeconds, 0)
      assert.strictEqual((yield* (yield* ApiServer).requestCounts)["delete pods"], 2)
      yield* client.patch(Pod, key, Patch.merge({ metadata: { finalizers: null } }))
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster())))

  it.effect("told of ordinary life, the end of a deleted Pod's containers is seen before the Pod goes", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "a" }
      const started = yield* create("a")
      const seen = yield* Effect.forkChild(
        client.watch(Pod, { namespace: "default", resourceVersion: started.metadata.resourceVersion! }).pipe(
          Stream.takeUntil(({ type }) => type === "DELETED"),
          Stream.runCollect
        )
      )
      yield* TestClock.adjust("1 second")
      yield* client.delete(Pod, key)
      yield* TestClock.adjust("1 second")
      const [ended, gone] = (yield* Fiber.join(seen)).slice(-2)
      if (ended?.type !== "MODIFIED" || gone?.type !== "DELETED") return assert.fail("another end")
      assert.strictEqual(ended.object.status?.phase, "Succeeded")
      assert.include(conditions(ended.object), { Ready: "False", ContainersReady: "False" })
      assert.strictEqual(ended.object.status?.containerStatuses?.[0]?.state?.terminated?.reason, "Completed")
      assert.isFalse(yield* exists("a"))
    }).pipe(Effect.provide(cluster({ verbose: true }))))

  it.effect("an ephemeral container runs as soon as it is added to a Pod that runs, and ends with it", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "a" }
      yield* create("a")
      yield* TestClock.adjust("1 minute")
      const ephemeralContainers = [{ name: "debug", image: "busybox", targetContainerName: "main" }]
      yield* client.patch(Pod, key, Patch.strategic({ spec: { ephemeralContainers } }), {
        subresource: "ephemeralcontainers"
      })
      const states = Effect.map(
        get("a"),
        ({ status }) =>
          status?.ephemeralContainerStatuses?.map(({ image, name, ready, state }) => ({ image, name, ready, state }))
      )
      const running = { running: { startedAt: "1970-01-01T00:01:00Z" } }
      const debug = { image: "busybox", name: "debug", ready: false }
      yield* TestClock.adjust("0 seconds")
      assert.deepStrictEqual(yield* states, [{ ...debug, state: running }])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* states, [{ ...debug, state: running }])
      assert.strictEqual(conditions(yield* get("a"))["Ready"], "True")
      yield* Kubelet.fail(key)
      const [ended] = (yield* states) ?? []
      assert.strictEqual(ended?.state?.terminated?.exitCode, 137)
      assert.strictEqual(ended?.state?.terminated?.startedAt, "1970-01-01T00:01:00Z")
    }).pipe(Effect.provide(cluster())))

  it.effect("never touches a Pod that took the name of a deleted one", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "a" }
      const replaceIt = Effect.andThen(client.delete(Pod, key, { gracePeriodSeconds: 0 }), create("a"))
      yield* create("a")
      yield* TestClock.adjust("1 second")
      yield* client.delete(Pod, key)
      yield* replaceIt
      yield* TestClock.adjust("600 millis")
      // The second one waits to be started, and so does the third, which is 400 ms late.
      const second = yield* replaceIt
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(yield* phase("a"), "Pending")
      yield* TestClock.adjust("1 minute")
      const now = yield* get("a")
      assert.strictEqual(now.metadata.uid, second.metadata.uid)
      assert.strictEqual(now.status?.phase, "Running")
    }).pipe(Effect.provide(cluster())))

  it.effect("a failed Pod stays failed, whatever its restart policy", () =>
    Effect.gen(function*() {
      yield* create("never", { restartPolicy: "Never" })
      yield* create("always", { restartPolicy: "Always" })
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(["never", "always"], (name) =>
        Kubelet.fail({ namespace: "default", name }, { reason: "Evicted", message: "the node was low on memory" }))
      yield* TestClock.adjust("1 hour")
      for (const name of ["never", "always"]) {
        const pod = yield* get(name)
        assert.strictEqual(pod.status?.phase, "Failed")
        assert.strictEqual(pod.status?.reason, "Evicted")
        assert.strictEqual(conditions(pod)["Ready"], "False")
        assert.strictEqual(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 1)
      }
    }).pipe(Effect.provide(cluster())))

  it.effect("containers that end are restarted or not, by the restart policy", () =>
    Effect.gen(function*() {
      const policies = ["Always", "OnFailure", "Never"]
      yield* Effect.forEach(policies, (restartPolicy) => create(restartPolicy.toLowerCase(), { restartPolicy }))
      const exit = (code: number) =>
        Effect.forEach(policies, (policy) => Kubelet.exit({ namespace: "default", name: policy.toLowerCase() }, code))
      const phases = Effect.forEach(policies, (policy) => phase(policy.toLowerCase()))
      yield* TestClock.adjust("1 second")
      yield* exit(3)
      const crashed = yield* get("always")
      assert.strictEqual(crashed.status?.phase, "Running")
      assert.strictEqual(conditions(crashed)["Ready"], "False")
      assert.strictEqual(crashed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3)
      assert.deepStrictEqual(yield* phases, ["Running", "Running", "Failed"])
      yield* TestClock.adjust("10 seconds")
      const again = yield* get("always")
      assert.strictEqual(conditions(again)["Ready"], "True")
      assert.strictEqual(again.status?.containerStatuses?.[0]?.restartCount, 1)
      yield* exit(0)
      assert.deepStrictEqual(yield* phases, ["Running", "Succeeded", "Failed"])
    }).pipe(Effect.provide(cluster())))

  it.effect("programs may end by themselves", () =>
    Effect.gen(function*() {
      yield* create("job", { restartPolicy: "Never" })
      yield* TestClock.adjust("30999 millis")
      assert.strictEqual(yield* phase("job"), "Running")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* phase("job"), "Succeeded")
    }).pipe(Effect.provide(cluster({
      ending: (pod) => pod.spec.restartPolicy === "Never" ? { after: "30 seconds", exitCode: 0 } : undefined
    }))))

  it.effect("an ending holds for a Pod that is read anew, as it is over HTTP", () => {
    const anew = Layer.effect(
      Transport,
      Effect.map(Transport, (transport) => ({
        request: (request) => Effect.map(transport.request(request), (response) => structuredClone(response)),
        stream: (request) =>
          Effect.map(transport.stream(request), (response) => ({
            ...response,
            values: Stream.map(response.values, (value) => structuredClone(value))
          }))
      }))
    ).pipe(Layer.provide(TestClient.transportLayer))
    const kubelet = Kubelet.layer({ ending: () => ({ after: "30 seconds", exitCode: 1 }) })
    return Effect.gen(function*() {
      yield* create("job", { restartPolicy: "Never" })
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* phase("job"), "Failed")
    }).pipe(
      Effect.provide(kubelet.pipe(
        Layer.provideMerge(Layer.provide(KubeClient.layer, anew)),
        Layer.provideMerge(ApiServer.layer)
      ))
    )
  })

  it.effect("a readiness gate holds readiness back until its condition is true", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const key = { namespace: "default", name: "a" }
      yield* create("a", { readinessGates: [{ conditionType: "example.com/lb" }] })
      yield* TestClock.adjust("1 second")
      const before = yield* get("a")
      assert.deepStrictEqual([conditions(before)["Ready"], conditions(before)["ContainersReady"]], ["False", "True"])
      const gate = { type: "example.com/lb", status: "True" }
      const status = { conditions: [...before.status?.conditions ?? [], gate] }
      yield* client.patch(Pod, key, Patch.merge({ status }), { subresource: "status" })
      yield* TestClock.adjust("1 millis")
      const after = yield* get("a")
      assert.strictEqual(conditions(after)["Ready"], "True")
      assert.strictEqual(conditions(after)["example.com/lb"], "True")
    }).pipe(Effect.provide(cluster())))

  it.effect("leaves Pods with scheduling gates or another scheduler alone", () =>
    Effect.gen(function*() {
      yield* create("gated", { schedulingGates: [{ name: "example.com/wait" }] })
      yield* create("foreign", { schedulerName: "my-scheduler" })
      yield* TestClock.adjust("1 minute")
      for (const name of ["gated", "foreign"]) assert.isUndefined((yield* get(name)).spec.nodeName)
    }).pipe(Effect.provide(cluster())))

  it.effect("3,000 Pods run after one start delay, with two writes each", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* Effect.forEach(Array.from({ length: 3000 }, (_, at) => `p${at}`), (name) => create(name))
      yield* TestClock.adjust("1 second")
      const pods = yield* Stream.runCollect(client.list(Pod, { namespace: "default" }))
      assert.strictEqual(pods.filter((pod) => pod.status?.phase === "Running").length, 3000)
      assert.strictEqual(new Set(pods.map((pod) => pod.status?.podIP)).size, 3000)
    }).pipe(Effect.provide(cluster())))

  it.effect("a container crashes, is killed for its memory, and backs off", () =>
    Effect.gen(function*() {
      const key = { namespace: "default", name: "a" }
      yield* create("a", { containers: [{ name: "main", image: "x" }, { name: "other", image: "y" }] })
      yield* TestClock.adjust("1 second")
      yield* Kubelet.crash(key, { container: "main", exitCode: 137, reason: "OOMKilled" })
      const killed = (yield* get("a")).status?.containerStatuses
      assert.strictEqual(killed?.[0]?.state?.terminated?.reason, "OOMKilled")
      assert.isDefined(killed?.[1]?.state?.running)
      yield* TestClock.adjust("1 second")
      const [again] = (yield* get("a")).status?.containerStatuses ?? []
      assert.deepStrictEqual([again?.restartCount, again?.ready], [1, true])
      yield* Kubelet.crash(key, { container: "main" })
      const pod = yield* get("a")
      const waiting = pod.status?.containerStatuses?.[0]?.state?.waiting
      assert.strictEqual(waiting?.reason, "CrashLoopBackOff")
      assert.strictEqual(
        waiting?.message,
        `back-off 10s restarting failed container=main pod=a_default(${pod.metadata.uid})`
      )
      assert.strictEqual(pod.status?.phase, "Running")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* get("a")).status?.containerStatuses?.[0]?.restartCount, 2)
    }).pipe(Effect.provide(cluster())))

  it.effect("an evicted Pod has failed, and says why", () =>
    Effect.gen(function*() {
      yield* create("a")
      yield* TestClock.adjust("1 second")
      yield* Kubelet.evict({ namespace: "default", name: "a" })
      const { status } = yield* get("a")
      assert.deepStrictEqual(
        [status?.phase, status?.reason, status?.message],
        ["Failed", "Evicted", "The node was low on resource: memory."]
      )
      const events = yield* KubeClient.use((client) => Stream.runCollect(client.list(Event)))
      assert.deepStrictEqual(events.map(({ reason, type }) => [reason, type]), [["Evicted", "Warning"]])
      assert.strictEqual(events[0]!.source?.component, "kubelet")
      assert.match(events[0]!.source!.host!, /^sim-node-/)
    }).pipe(Effect.provide(cluster())))

  it.effect("a Pod that may not run longer than its deadline is ended", () =>
    Effect.gen(function*() {
      yield* create("a", { activeDeadlineSeconds: 30 })
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(yield* phase("a"), "Running")
      yield* TestClock.adjust("1 second")
      const { status } = yield* get("a")
      assert.deepStrictEqual([status?.phase, status?.reason], ["Failed", "DeadlineExceeded"])
    }).pipe(Effect.provide(cluster())))

  it.effect("scripts decide how long a container takes to start, to be ready and to stop", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("slow")
      const ready = Effect.map(get("slow"), (pod) => conditions(pod)["Ready"])
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual([yield* phase("slow"), yield* ready], ["Running", "False"])
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* ready, "True")
      yield* client.delete(Pod, { namespace: "default", name: "slow" })
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(yield* exists("slow"))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* exists("slow"), "killed at the end of its grace period")
    }).pipe(Effect.provide(cluster({
      script: () => ({ start: "20 seconds", ready: "5 seconds", stop: "1 hour" })
    }))))

  const named = (name: string) => ({ namespace: "default", name })
  const told = Effect.map(
    KubeClient.use((client) => Stream.runCollect(client.list(Event))),
    (events) => events.map(({ count, message, reason }) => ({ count, message, reason }))
  )
  const waiting = Effect.map(get("a"), (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting)

  it.effect("a Pod waits for the Secret that it mounts, and says so; each time twice as long", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const volumes = [{ name: "keys", secret: { secretName: "tls", items: [{ key: "crt", path: "crt" }] } }]
      yield* create("a", { volumes })
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(yield* phase("a"), "Pending")
      const message = "MountVolume.SetUp failed for volume \"keys\" : secret \"tls\" not found"
      assert.deepStrictEqual(yield* told, [{ count: 4, message, reason: "FailedMount" }], "at 0, 0.5, 1.5 and 3.5 s")
      yield* Kubelet.exit(named("a"), 0)
      assert.strictEqual(yield* phase("a"), "Pending", "nothing runs that could end")
      yield* client.create(Secret, { metadata: named("tls"), stringData: { key: "" } })
      yield* TestClock.adjust("3500 millis")
      assert.strictEqual(
        (yield* told).find(({ count }) => count === 1)?.message,
        message.replace(/: secret.*/, ": references non-existent secret key: crt")
      )
      yield* client.patch(Secret, named("tls"), Patch.merge({ stringData: { crt: "" } }))
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual(yield* phase("a"), "Pending", "it was there at 15.5 s, and takes a second to start")
      yield* TestClock.adjust("1 second")
      const { status } = yield* get("a")
      assert.deepStrictEqual([status?.phase, status?.startTime], ["Running", "1970-01-01T00:00:00Z"])
    }).pipe(Effect.provide(cluster())))

  it.effect("a container whose environment names what is missing is not made, and is tried again every ten seconds", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const env = [{ name: "SIZE", valueFrom: { configMapKeyRef: { name: "settings", key: "size" } } }]
      yield* create("a", {
        initContainers: [{ name: "first", image: "busybox" }],
        containers: [{ name: "main", image: "nginx:1", env }]
      })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* waiting, {
        reason: "CreateContainerConfigError",
        message: "configmap \"settings\" not found"
      })
      yield* client.create(ConfigMap, { metadata: named("settings"), data: { colour: "red" } })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* waiting)?.message, "couldn't find key size in ConfigMap default/settings")
      yield* client.patch(ConfigMap, named("settings"), Patch.merge({ data: { size: "1" } }))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(yield* phase("a"), "Pending")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* phase("a"), "Running")
      yield* client.delete(ConfigMap, named("settings"))
      yield* Kubelet.crash(named("a"))
      yield* TestClock.adjust("1 second")
      const [main] = (yield* get("a")).status?.containerStatuses ?? []
      assert.deepStrictEqual(
        [main?.state?.waiting?.reason, main?.lastState?.terminated?.exitCode, main?.restartCount],
        ["CreateContainerConfigError", 1, 0]
      )
    }).pipe(Effect.provide(cluster())))

  it.effect("a Pod waits for its volume claim", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* create("a", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] })
      yield* TestClock.adjust("1 minute")
      const pod = yield* get("a")
      assert.isUndefined(pod.spec.nodeName)
      const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled")
      const message = "0/3 nodes are available: persistentvolumeclaim \"data\" not found."
      assert.deepStrictEqual([condition?.reason, condition?.message], ["Unschedulable", message])
      const storage = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
      yield* client.create(PersistentVolumeClaim, { metadata: named("data"), spec: storage })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* phase("a"), "Running")
    }).pipe(Effect.provide(cluster())))

  it.effect("kubelets of registered nodes are asked for logs: what the runs of a container print", () => {
    const options: Kubelet.Options = {
      nodes: ["n"],
      registerNodes: true,
      script: (_, { image }, restarts) => {
        if (image === "none") return { pullError: "not found" }
        const output = `run ${restarts}\nworks\n`
        return restarts === 2 ? { output } : { output, exit: { after: "10 seconds", exitCode: 1 } }
      }
    }
    return Effect.gen(function*() {
      const server = yield* ApiServer
      const log = (name: string, query: Readonly<Record<string, string>> = {}) =>
        Effect.map(
          server.handle({
            method: "GET",
            path: `/api/v1/namespaces/default/pods/${name}/log`,
            query: Object.entries(query),
            headers: {}
          }),
          (
            { body, status }
          ) => [status, typeof body === "string" ? body : (body as { message?: string } | undefined)?.message ?? "none"]
        )
      yield* create("a")
      yield* create("b", { containers: [{ name: "main", image: "none" }] })
      yield* TestClock.adjust("500 millis")
      const waiting = (
        name: string,
        why: string
      ) => [400, `container "main" in pod "${name}" is waiting to start: ${why}`]
      assert.deepStrictEqual(yield* log("a"), waiting("a", "ContainerCreating"))
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* log("a"), [200, "run 0\nworks\n"])
      assert.deepStrictEqual(yield* log("b"), waiting("b", "image can't be pulled"))
      assert.deepStrictEqual(
        yield* log("a", { previous: "true" }),
        [400, `previous terminated container "main" in pod "a" not found`]
      )
      assert.deepStrictEqual(yield* log("a", { tailLines: "1", timestamps: "true" }), [
        200,
        "1970-01-01T00:00:01.000000000Z works\n"
      ])
      assert.deepStrictEqual(yield* log("a", { limitBytes: "3" }), [200, "run"])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* log("a", { sinceSeconds: "3" }), [200, ""])
      assert.deepStrictEqual(yield* log("a", { sinceTime: "1970-01-01T00:00:01Z", follow: "true" }), [
        200,
        "run 0\nworks\n"
      ])
      yield* TestClock.adjust("7 seconds")
      assert.deepStrictEqual(yield* log("a"), [200, "run 1\nworks\n"])
      assert.deepStrictEqual(yield* log("a", { previous: "true" }), [200, "run 0\nworks\n"])
      // In back-off: the last run is what there is.
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* log("a"), [200, "run 1\nworks\n"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* log("a"), [200, "run 2\nworks\n"])
      assert.deepStrictEqual(yield* log("a", { previous: "true" }), [200, "run 1\nworks\n"])
      assert.deepStrictEqual(yield* log("b"), waiting("b", "trying and failing to pull image"))
      yield* Kubelet.loseNode("n")
      assert.deepStrictEqual(yield* log("a"), [
        500,
        `Get "https://n:10250/containerLogs/default/a/main": dial tcp n:10250: connect: connection refused`
      ])
    }).pipe(Effect.provide(Layer.provideMerge(NodeLifecycle.layer, cluster(options))))
  })

  it.effect("Pods wait for nothing where nobody wants them to", () =>
    Effect.gen(function*() {
      yield* create("a", {
        volumes: [{ name: "keys", secret: { secretName: "tls" } }],
        containers: [{ name: "main", image: "nginx:1", envFrom: [{ secretRef: { name: "tls" } }] }]
      })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* phase("a"), "Running")
    }).pipe(Effect.provide(cluster({ sources: false }))))
})
