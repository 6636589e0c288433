import { KubeClient, Manager } from "@effect-operator/core"
import { LiveClient, Webhook } from "@effect-operator/k8s"
import {
  ConfigMap,
  Event,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  Pod,
  StorageClass
} from "@effect-operator/k8s/kinds"
import { ApiServer, ConversionProof, HttpFacade, TestCluster, TestWebhooks } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Console, Effect, Fiber, Layer, Ref } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import { controller, EphemeralVolumeClaim, Registry, Temporary } from "./docs/claims.ts"
import * as Cron from "./docs/cronjob.ts"
import * as Docs from "./docs/documents.ts"
import * as Module from "./docs/module.ts"
import { program } from "./docs/watchPods.ts"

const read = (path: string) => Fs.readFileSync(new URL(path, import.meta.url), "utf8")

it("the program of docs/live-client.md is test/docs/watchPods.ts, word for word, in ten lines or so", () => {
  const [, block] = /<!-- watchPods -->\n```ts\n([^]*?)```/.exec(read("../../docs/live-client.md")) ?? []
  assert.strictEqual(block, read("./docs/watchPods.ts"))
  assert.isAtMost(block?.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import")).length ?? 0, 10)
})

it("the test of docs/simulation.md is test/docs/simulation.test.ts, word for word, and runs", () => {
  const [, block] = /<!-- simulation -->\n```ts\n([^]*?)```/.exec(read("../../docs/simulation.md")) ?? []
  assert.strictEqual(block, read("./docs/simulation.test.ts"))
})

it.each(["claims", "cronjob", "documents", "module"])(
  "the program %s of docs/coming-from.md is test/docs/%s.ts, word for word",
  (name) => {
    const page = read("../../docs/coming-from.md")
    const [, block] = new RegExp(`<!-- ${name} -->\n\`\`\`ts\n([^]*?)\`\`\``).exec(page) ?? []
    assert.strictEqual(block, read(`./docs/${name}.ts`))
  }
)

it.effect("the operator of docs/coming-from.md does what its remarks say", () => {
  const journal: Array<string> = []
  let tries = 0
  const registry = Layer.succeed(Registry, {
    register: (name) =>
      Effect.suspend(() => {
        journal.push(`register ${name}`)
        return ++tries < 3 ? new Temporary({ delay: "20 seconds" }) : Effect.void
      }),
    beat: (name) => Effect.sync(() => void journal.push(`beat ${name}`))
  })
  const key = { namespace: "default", name: "a" }
  const count = (word: string) => journal.filter((said) => said === word).length
  return Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const token = Effect.map(client.get(ConfigMap, { ...key, name: "a-token" }), ({ data }) => data?.["token"])
    yield* client.create(StorageClass, {
      metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "example.com/disk",
      allowVolumeExpansion: true
    })
    yield* client.create(EphemeralVolumeClaim, { metadata: key, spec: { size: "1Gi" } })
    yield* TestClock.adjust("39 seconds")
    assert.strictEqual(count("register a"), 2)
    yield* TestClock.adjust("9 minutes")
    assert.deepStrictEqual([count("register a"), count("beat a")], [3, 20])
    const drawn = yield* token
    yield* client.patch(EphemeralVolumeClaim, key, KubeClient.Patch.merge({ spec: { size: "2Gi" } }))
    yield* TestClock.adjust("1 minute")
    assert.strictEqual(yield* token, drawn)
    const volume = yield* client.get(PersistentVolumeClaim, key)
    assert.strictEqual(volume.spec?.resources?.requests?.["storage"], "2Gi")
    const { items } = yield* client.listPage(Event, { namespace: "default" })
    assert.deepStrictEqual(items.filter(({ reason }) => reason === "Resized").map(({ message }) => message), [
      "from 1Gi to 2Gi"
    ])
    yield* client.delete(EphemeralVolumeClaim, key)
    yield* TestClock.adjust("1 minute")
    const beats = count("beat a")
    yield* TestClock.adjust("10 minutes")
    assert.deepStrictEqual([count("register a"), count("beat a")], [3, beats])
  }).pipe(Effect.provide(
    Manager.layer([controller]).pipe(
      Layer.provide([registry, SecureRandom.layerWebCrypto]),
      Layer.provideMerge(TestCluster.layer({ resources: [EphemeralVolumeClaim], with: ["persistentVolumes"] }))
    )
  ))
})

const inBrief = { containers: [{ name: "c", image: "nginx" }] }

it.effect("the CronJob of docs/coming-from.md is written in either version, with defaults, and judged", () => {
  const service = { namespace: "cron-system", name: "webhook" }
  const jobTemplate = { spec: { template: { spec: { ...inBrief, restartPolicy: "Never" } } } }
  const common = { jobTemplate, concurrencyPolicy: "Forbid" as const }
  const at = (name: string) => ({ namespace: "default", name })
  return Effect.gen(function*() {
    yield* Webhook.install(Cron.webhooks, { name: "cron", reachable: { service } })
    const client = yield* KubeClient.KubeClient
    yield* client.create(Cron.CronJobV2, { metadata: at("a"), spec: { schedule: { minute: "*/5" }, ...common } })
    const { spec } = yield* client.get(Cron.CronJob, at("a"))
    assert.deepStrictEqual(spec, {
      schedule: "*/5 * * * *",
      failedJobsHistoryLimit: 1,
      ...common
    })
    const wrong = client.create(Cron.CronJobV2, { metadata: at("b"), spec: { schedule: { hour: "x" }, ...common } })
    assert.include((yield* Effect.flip(wrong)).message, "\" is invalid: spec.schedule: Invalid value: ")
    yield* ConversionProof.prove(Cron.CronJobs)
  }).pipe(Effect.provide(
    Webhook.layer(Cron.webhooks, { name: "cron", service }).pipe(
      Layer.provide(TestWebhooks.layer),
      Layer.provideMerge(TestCluster.layer({ resources: [Cron.CronJobs] }))
    )
  ))
})

it.effect("the Documents of docs/coming-from.md are hidden, told of, and tried again", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const last = yield* Docs.Diagnostics
    const make = (name: string, title: string) =>
      client.create(Docs.Document, {
        metadata: { namespace: "default", name },
        spec: { title, hide: true, content: "" }
      })
    const reasons = Effect.map(
      client.listPage(Event, { namespace: "default" }),
      ({ items }) => items.map(({ involvedObject, reason }) => `${reason} ${involvedObject.name}`)
    )
    yield* make("a", "legal")
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* client.get(Docs.Document, { namespace: "default", name: "a" })).status?.hidden, true)
    yield* client.delete(Docs.Document, { namespace: "default", name: "a" })
    yield* make("b", "illegal")
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* reasons, ["HideRequested a", "DeleteRequested a"])
    assert.strictEqual(yield* Ref.getAndSet(last, ""), "b")
    yield* TestClock.adjust("298 seconds")
    assert.strictEqual(yield* Ref.get(last), "")
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual(yield* Ref.get(last), "b")
  }).pipe(Effect.provide(
    Manager.layer([Docs.controller]).pipe(
      Layer.provideMerge(Layer.effect(Docs.Diagnostics, Ref.make(""))),
      Layer.provideMerge(TestCluster.layer({ resources: [Docs.Document] }))
    )
  )))

it.effect("the module of docs/coming-from.md changes, refuses, reconciles, and counts nights", () => {
  const service = { namespace: "hello-system", name: "webhook" }
  const labels = { "hello.example.com": "yes" }
  return Effect.gen(function*() {
    yield* Webhook.install(Module.hooks, { name: "hello", reachable: { service } })
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name: "apps", labels } })
    const pod = yield* client.create(Pod, { metadata: { namespace: "apps", name: "a", labels }, spec: inBrief })
    assert.strictEqual(pod.metadata.annotations?.["hello.example.com"], "yes")
    const bare = yield* client.create(Pod, { metadata: { namespace: "default", name: "a", labels }, spec: inBrief })
    assert.isUndefined(bare.metadata.annotations)
    const wrong = client.create(Pod, {
      metadata: { namespace: "apps", name: "web-a" },
      spec: { ...inBrief, hostNetwork: true }
    })
    assert.include((yield* Effect.flip(wrong)).message, "a web server has no need of it")
    yield* TestClock.adjust("4 hours")
    yield* client.get(NetworkPolicy, { namespace: "apps", name: "deny" })
    const nights = yield* client.get(ConfigMap, { namespace: "apps", name: "nights" })
    assert.deepStrictEqual(nights.data, { count: "1" })
  }).pipe(Effect.provide(
    Manager.layer([Module.controller]).pipe(
      Layer.provide(Webhook.layer(Module.hooks, { name: "hello", service })),
      Layer.provide(TestWebhooks.layer),
      Layer.provideMerge(TestCluster.layer())
    )
  ))
})

it.live("the program of docs/live-client.md prints what happens, over HTTPS and over plain http", () =>
  Effect.gen(function*() {
    for (const http of [false, true]) {
      const lines: Array<string> = []
      const printed = {
        ...globalThis.console,
        log: (...words: ReadonlyArray<unknown>) => void lines.push(words.join(" "))
      }
      const run = Effect.gen(function*() {
        const { kubeconfig } = yield* HttpFacade.HttpFacade
        const live = LiveClient.layerOptions({ kubeconfig })
        yield* Effect.gen(function*() {
          const watching = yield* Effect.forkChild(Effect.provideService(program, Console.Console, printed))
          const client = yield* KubeClient.KubeClient
          const metadata = { namespace: "default", name: "web" }
          yield* client.create(Pod, { metadata, spec: { containers: [{ name: "c", image: "nginx" }] } })
          yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => lines.length > 0 })
          yield* Fiber.interrupt(watching)
        }).pipe(Effect.provide(live))
      })
      yield* Effect.provide(run, HttpFacade.layer({ http }).pipe(Layer.provideMerge(ApiServer.ApiServer.layer)))
      assert.deepStrictEqual(lines, ["ADDED web"])
    }
  }))
