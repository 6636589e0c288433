import { KubeClient } from "@effect-operator/core"
import { LiveClient } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, HttpFacade } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Console, Effect, Fiber, Layer } from "effect"
import * as Fs from "node:fs"
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
