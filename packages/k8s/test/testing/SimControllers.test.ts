import { KubeClient } from "@effect-operator/core/KubeClient"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ConfigMap, Namespace, Pod } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const cluster = SimControllers.layer().pipe(Layer.provideMerge(TestClient.layer), Layer.provideMerge(ApiServer.layer))

const spec = { containers: [{ name: "main", image: "nginx" }] }

describe("SimControllers", () => {
  it.effect(
    "300 owners with 3 Pods each come and go, with no more requests than the work needs",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient
        const api = yield* ApiServer
        yield* client.create(Namespace, { metadata: { name: "load" } })
        for (let at = 0; at < 300; at++) {
          const owner = yield* client.create(ConfigMap, { metadata: { namespace: "load", name: `o${at}` } })
          for (let index = 0; index < 3; index++) {
            const metadata = {
              namespace: "load",
              name: `p${at}-${index}`,
              ownerReferences: [controllerReference(owner)]
            }
            yield* client.create(Pod, { metadata, spec })
          }
        }
        const running = Effect.map(
          Stream.runCollect(client.list(Pod)),
          (pods) => pods.filter((pod) => pod.status?.phase === "Running").length
        )
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* running, 900)
        yield* client.delete(ConfigMap, { namespace: "load", name: "o0" })
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* running, 897)
        yield* client.delete(Namespace, { name: "load" })
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* running, 0)
        const namespaces = yield* Stream.runCollect(client.list(Namespace))
        assert.notInclude(namespaces.map(({ metadata }) => metadata.name), "load")
        const counts = yield* api.requestCounts
        assert.strictEqual(counts["create pods/binding"], 900)
        assert.strictEqual(counts["patch pods/status"], 900)
        // One request of whoever deletes, one of the kubelet.
        assert.isAtMost(counts["delete pods"]!, 2 * 900 + 897)
      }).pipe(Effect.provide(cluster))
  )
})
