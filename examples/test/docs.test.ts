import { KubeClient, Manager } from "@effect-operator/core"
import { LiveClient } from "@effect-operator/k8s"
import { ConfigMap, Event, PersistentVolumeClaim, Pod, StorageClass } from "@effect-operator/k8s/kinds"
import { ApiServer, HttpFacade, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Console, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import { controller, EphemeralVolumeClaim, Registry, Temporary } from "./docs/claims.ts"
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

it("the operator of docs/coming-from.md is test/docs/claims.ts, word for word", () => {
  const [, block] = /<!-- claims -->\n```ts\n([^]*?)```/.exec(read("../../docs/coming-from.md")) ?? []
  assert.strictEqual(block, read("./docs/claims.ts"))
})

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
      Layer.provide(registry),
      Layer.provideMerge(TestCluster.layer({ resources: [EphemeralVolumeClaim], with: ["persistentVolumes"] }))
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
