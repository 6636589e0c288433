/**
 * An operator as a pod of Kubernetes: configured by its environment, probed and scraped over HTTP, and asked to stop.
 */
import { KubeClient } from "@effect-operator/core"
import { HttpFacade, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Autoscaler } from "../src/autoscaler/resource.ts"
import * as Processes from "./support/Processes.ts"

const cluster = HttpFacade.layer().pipe(Layer.provideMerge(TestCluster.layer({ resources: [Autoscaler] })))

const get = (url: string) =>
  Effect.promise(async () => {
    try {
      const answer = await fetch(url)
      return { status: answer.status, body: await answer.text() }
    } catch {
      return { status: 0, body: "" }
    }
  })

/** The port that a line of the log says something is served on. */
const portOf = (output: string, what: string): string | undefined =>
  new RegExp(`"message":"${what}: serving on 127.0.0.1:(\\d+)"`).exec(output)?.[1]

it.live(
  "becomes ready, shows its metrics, fails readyz from SIGTERM on while it drains, and exits 0",
  () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const kubeconfig = Path.join(yield* Processes.folder, "kubeconfig")
      Fs.writeFileSync(kubeconfig, (yield* HttpFacade.HttpFacade).kubeconfig, { mode: 0o600 })
      const operator = yield* Processes.start("examples/test/support/slow-operator.ts", {
        env: {
          KUBECONFIG: kubeconfig,
          EFFECT_OPERATOR_METRICS_ADDRESS: "127.0.0.1:0",
          EFFECT_OPERATOR_PROBES_ADDRESS: "127.0.0.1:0",
          EFFECT_OPERATOR_DRAIN: "10s",
          EFFECT_OPERATOR_LOG_LEVEL: "info"
        }
      })
      yield* Processes.until(Effect.sync(() => portOf(operator.output(), "metrics") !== undefined))
      const probes = `http://127.0.0.1:${portOf(operator.output(), "probes")}`
      const metrics = `http://127.0.0.1:${portOf(operator.output(), "metrics")}`
      yield* Processes.until(Effect.map(get(`${probes}/readyz`), ({ status }) => status === 200))
      assert.strictEqual((yield* get(`${probes}/healthz`)).body, "ok")

      const key = { namespace: "default", name: "web" }
      yield* client.create(Autoscaler, {
        metadata: key,
        spec: { targetNamespace: "default", desiredReplicas: 1, image: "nginx" }
      })
      yield* Processes.until(
        Effect.map(get(`${metrics}/metrics`), ({ body }) =>
          body.includes(`controller_runtime_active_workers{controller="slow"} 1`))
      )
      const debug = JSON.parse((yield* get(`${metrics}/debug/operator`)).body)
      assert.strictEqual(debug.managers[0].controllers[0].inFlight[0].key, "default/web")

      yield* operator.signal("SIGTERM")
      yield* Processes.until(Effect.map(get(`${probes}/readyz`), ({ status }) =>
        status === 500))
      const stopping = yield* get(`${probes}/readyz`)
      assert.include(stopping.body, "[-]shutdown failed: the process is stopping")
      assert.strictEqual((yield* get(`${probes}/livez`)).status, 200)
      yield* client.patch(Autoscaler, key, KubeClient.Patch.merge({ spec: { desiredReplicas: 2 } }))
      assert.deepStrictEqual(yield* operator.exited.pipe(Effect.timeout("25 seconds")), { code: 0, signal: null })
      const lines = operator.output().trim().split("\n").map((line) => JSON.parse(line))
      const finished = lines.find(({ message }) => message === "finished")
      assert.deepInclude(finished, {
        controller: "slow",
        controllerKind: "Autoscaler",
        namespace: "default",
        name: "web"
      })
      assert.match(finished.reconcileID, /^[0-9a-f]{12}-[0-9a-f]{8}$/)
    }).pipe(Effect.provide(cluster))
)

it.live("a setting that is none ends it at once, and the log says which", () =>
  Effect.gen(function*() {
    const operator = yield* Processes.start("examples/test/support/slow-operator.ts", {
      env: { EFFECT_OPERATOR_CONCURRENCY: "none" }
    })
    const { code } = yield* operator.exited.pipe(Effect.timeout("20 seconds"))
    assert.strictEqual(code, 1)
    assert.include(operator.output(), "EFFECT_OPERATOR_CONCURRENCY")
  }))
