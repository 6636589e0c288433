/**
 * The operator as an operating system process: killed half way, started again, stopped politely.
 */
import { KubeClient } from "@effect-operator/core"
import { isTerminating } from "@effect-operator/core/KubeObject"
import { Pod } from "@effect-operator/k8s/kinds"
import { ApiServer, HttpFacade, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Autoscaler } from "../src/autoscaler/resource.ts"
import { all } from "./support/Operator.ts"
import * as Processes from "./support/Processes.ts"

const key = { namespace: "default", name: "web" }

const cluster = HttpFacade.layer().pipe(Layer.provideMerge(TestCluster.layer({ resources: [Autoscaler] })))

it.live(
  "killed with SIGKILL half way and started again it converges with no surplus Pod; SIGTERM exits 0",
  () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const server = yield* ApiServer.ApiServer
      const kubeconfig = Path.join(yield* Processes.folder, "kubeconfig")
      Fs.writeFileSync(kubeconfig, (yield* HttpFacade.HttpFacade).kubeconfig, { mode: 0o600 })
      const desiredReplicas = 40
      yield* client.create(Autoscaler, {
        metadata: key,
        spec: { targetNamespace: "default", desiredReplicas, image: "nginx:1.27" }
      })
      const operator = Processes.start("examples/src/autoscaler/main.ts", { env: { KUBECONFIG: kubeconfig } })

      const first = yield* operator
      yield* Processes.until(Effect.map(all(Pod), (pods) => pods.length >= 3))
      yield* first.signal("SIGKILL")
      assert.deepStrictEqual(yield* first.exited, { code: null, signal: "SIGKILL" })
      assert.isBelow((yield* all(Pod)).length, desiredReplicas, "it died half way")

      const second = yield* operator
      yield* Processes.until(Effect.map(client.get(Autoscaler, key), ({ status }) => status?.ready === true))
      const pods = yield* all(Pod)
      assert.strictEqual(pods.length, desiredReplicas)
      assert.isFalse(pods.some(isTerminating))
      const { "create pods": created, "delete pods": deleted } = yield* server.requestCounts
      assert.strictEqual(created, desiredReplicas, "no Pod was made twice")
      assert.isUndefined(deleted, "none was made that had to go again")
      // Its Events come a moment after what they tell of.
      const rests = Effect.gen(function*() {
        const before = yield* server.revision
        yield* Effect.sleep("500 millis")
        return (yield* server.revision) === before
      })
      yield* Processes.until(rests)

      yield* second.signal("SIGTERM")
      assert.deepStrictEqual(yield* second.exited.pipe(Effect.timeout("25 seconds")), { code: 0, signal: null })
    }).pipe(Effect.provide(cluster)),
  180_000
)
