import { KubeClient, type KubeObject, Resource } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Deferred, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as KubeConfig from "../../src/KubeConfig.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import * as Envtest from "../../src/testing/Envtest.ts"

const Namespace = Resource.make()({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  scope: "Cluster"
})
const ReplicaSet = Resource.make()({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  scope: "Namespaced"
})
const Deployment = Resource.make<KubeObject.KubeObject & { readonly spec: unknown }>()({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  scope: "Namespaced"
})

const listening = (url: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = Net.connect(Number(new URL(url).port), "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })

it.effect(
  "is there for the length of its scope, for any client, whatever the test's clock",
  () =>
    Effect.gen(function*() {
      const plane = yield* Effect.scoped(Effect.gen(function*() {
        const context = yield* Layer.build(Layer.provideMerge(Envtest.clientLayer, Envtest.layer))
        const plane = Context.get(context, Envtest.Envtest)
        const client = Context.get(context, KubeClient.KubeClient)
        assert.strictEqual((yield* client.get(Namespace, { name: "default" })).metadata.name, "default")

        const fromFile = yield* KubeConfig.load({ file: plane.kubeconfigPath })
        assert.strictEqual(fromFile.ca, Fs.readFileSync(plane.caFile, "utf8"))
        const other = yield* Layer.build(LiveClient.layerOptions({ file: plane.kubeconfigPath }))
        const names = yield* Stream.runCollect(Context.get(other, KubeClient.KubeClient).list(Namespace))
        assert.include(names.map(({ metadata }) => metadata.name), "kube-system")
        const stranger = yield* Layer.build(LiveClient.layerCluster({ ...plane.clusterConfig, ...(yield* anonymous) }))
        const refused = yield* Effect.flip(
          Context.get(stranger, KubeClient.KubeClient).get(Namespace, { name: "default" })
        )
        assert.strictEqual(refused.reason._tag, "Forbidden")

        // The controller manager works: a Deployment gets its ReplicaSet.
        const labels = { app: "a" }
        const started = yield* Deferred.make<string>()
        yield* Effect.forkScoped(
          client.watch(ReplicaSet, { namespace: "default" }).pipe(
            Stream.runForEach((event) =>
              event.type === "ADDED" ? Deferred.succeed(started, event.object.metadata.name) : Effect.void
            )
          )
        )
        yield* client.create(Deployment, {
          metadata: { namespace: "default", name: "web" },
          spec: {
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } }
          }
        })
        assert.match(yield* Deferred.await(started), /^web-/)
        assert.notInclude(String(plane.token), Redacted.value(plane.token))
        return plane
      }))
      assert.isFalse(yield* listening(plane.url))
      assert.isFalse(yield* listening(plane.etcdUrl))
      assert.isFalse(Fs.existsSync(Path.dirname(plane.kubeconfigPath)))
    })
)

const anonymous = Effect.map(
  KubeConfig.load({
    kubeconfig: JSON.stringify({
      "clusters": [{ name: "a", cluster: { server: "https://a" } }],
      "contexts": [{ name: "a", context: { cluster: "a" } }],
      "current-context": "a"
    })
  }),
  ({ credentials }) => ({ credentials })
)

/** A folder for what is temporary: in the usual one there may be that of others. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const before = process.env["TMPDIR"]
    const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "temporary-"))
    process.env["TMPDIR"] = folder
    return { before, folder }
  }),
  ({ before, folder }) =>
    Effect.sync(() => {
      if (before === undefined) delete process.env["TMPDIR"]
      else process.env["TMPDIR"] = before
      Fs.rmSync(folder, { recursive: true })
    })
)

it.live("leaves nothing behind when it is interrupted while it starts", () =>
  Effect.gen(function*() {
    const { folder } = yield* temporary
    const fiber = yield* Effect.forkChild(Effect.scoped(Layer.build(Envtest.layer)))
    yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => Fs.readdirSync(folder).length > 0 })
    yield* Effect.sleep("500 millis")
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(Fs.readdirSync(folder), [])
  }))

it.live("ends with the process that started it, even if that is killed", () =>
  Effect.gen(function*() {
    const program = `
      import { Effect } from "effect"
      import * as Envtest from ${JSON.stringify(new URL("../../src/testing/Envtest.ts", import.meta.url).href)}
      Effect.runFork(Effect.provide(
        Effect.flatMap(Envtest.Envtest, ({ url, etcdUrl, caFile }) => {
          console.log(JSON.stringify({ url, etcdUrl, caFile }))
          return Effect.never
        }),
        Envtest.layerOptions({ controllerManager: false })
      ))`
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        ChildProcess.spawn(
          process.execPath,
          ["--conditions=op-source", "--input-type=module", "--eval", program],
          { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] }
        )
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const text = yield* Effect.callback<string>((resume) => {
      child.stdout.once("data", (data: Buffer) => resume(Effect.succeed(data.toString())))
    })
    const { caFile, etcdUrl, url } = JSON.parse(text)
    yield* Effect.addFinalizer(() => Effect.sync(() => Fs.rmSync(Path.dirname(caFile), { recursive: true })))
    assert.isTrue(yield* listening(url))
    child.kill("SIGKILL")
    for (const server of [url, etcdUrl]) {
      while (yield* listening(server)) yield* Effect.sleep("20 millis")
    }
  }))

it.live("fails with what the program said if one ends, or if it takes too long", () =>
  Effect.gen(function*() {
    const start = (options: Envtest.Options) => Effect.flip(Effect.scoped(Layer.build(Envtest.layerOptions(options))))
    const ended = yield* start({ apiServerFlags: ["--no-such-flag"] })
    assert.match(ended.message, /^kube-apiserver exited \(exit code 1\)\n/)
    assert.include(ended.message, "unknown flag: --no-such-flag")
    const late = yield* start({ startTimeout: "300 millis" })
    assert.include(late.message, "the control plane did not become ready within 300ms\n--- etcd\n")
  }))

it.effect("says how to set KUBEBUILDER_ASSETS", () =>
  Effect.gen(function*() {
    const start = (env: Record<string, string>) =>
      Effect.flip(Effect.scoped(Layer.build(Envtest.layer))).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
      )
    assert.match((yield* start({})).message, /^KUBEBUILDER_ASSETS is not set; set it to a folder with etcd and/)
    assert.match(
      (yield* start({ KUBEBUILDER_ASSETS: "/nonexistent" })).message,
      /^KUBEBUILDER_ASSETS: \/nonexistent is missing etcd and kube-apiserver; set it to/
    )
  }))
