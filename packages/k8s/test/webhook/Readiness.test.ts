/** A Pod as the kubelet and the API server see it: ready by its probe, and reached, if it is, by the Service's endpoints. */
import { Action, Controller, CustomResource, CustomResourceVersions, KubeClient, Manager } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schedule, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Crd from "../../src/Crd.ts"
import * as Endpoints from "../../src/Endpoints.ts"
import { Endpoints as EndpointsKind, Namespace, Pod, Service } from "../../src/kinds/index.ts"
import * as Manifests from "../../src/Manifests.ts"
import { ApiServer, Backends, SimControllers, TestClient, TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import { allow, asking, Gadget, Widget } from "../observability/support.ts"

const website = (version: string) =>
  CustomResource.make({
    group: "sites.example.com",
    version,
    kind: "Website",
    spec: Schema.Struct({ replicas: Schema.Int })
  })
const [V1, V2] = [website("v1"), website("v2")]
const Websites = CustomResourceVersions.make({
  steps: [CustomResourceVersions.between(V1, V2, { up: ({ spec }) => ({ spec }), down: ({ spec }) => ({ spec }) })],
  storage: V1
})

const seen: Array<string> = []
const websites = Controller.make("websites", {
  for: V2,
  reconcile: ({ metadata }) => Effect.as(Effect.sync(() => seen.push(metadata.name)), Action.done)
})
const hooks = [Webhook.conversion(Websites)]

const manifests: Manifests.Options = {
  name: "sites",
  namespace: "sites-system",
  image: "sites:1",
  resources: [Websites],
  controllers: [websites],
  writes: [],
  webhooks: hooks
}
const service = Manifests.webhookService(manifests)
const [deployment] = Manifests.deployment(manifests) as unknown as [{ readonly spec: any }]
const { template } = deployment.spec
const [container] = template.spec.containers

const withoutKubelet = SimControllers.controlPlane().pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.ApiServer.layer),
  Layer.fresh
)

/** The kubelet's part: whether the Pod is ready is what the probe of the Deployment answers, once a second. */
const probing = Effect.fnUntraced(function*({ answer }: Pick<Endpoints.Endpoints, "answer">, path: string) {
  const client = yield* KubeClient.KubeClient
  const key = { namespace: service.namespace, name: "sites-0" }
  const { image, name, ports } = container
  yield* client.create(Pod, {
    metadata: { ...key, labels: template.metadata.labels },
    spec: { nodeName: "node-1", containers: [{ name, image, ports }] }
  })
  const [route, query] = path.split("?")
  const probe = answer({ method: "GET", path: route!, query: new URLSearchParams(query), headers: {} })
  const look = Effect.gen(function*() {
    const { status } = yield* probe
    const ready = { type: "Ready", status: status === 200 ? "True" : "False" }
    const running = { phase: "Running", podIPs: [{ ip: "10.0.0.7" }], podIP: "10.0.0.7", conditions: [ready] }
    yield* client.patch(Pod, key, KubeClient.Patch.merge({ status: running }), { subresource: "status" })
  })
  yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced("1 second")))
})

/** The API server's part: it calls the operator only where an address of its Service is ready. */
const byEndpoints = Effect.gen(function*() {
  const { reach } = yield* ApiServer.ApiServer
  const listeners = new Map<string, Backends.Handler>()
  const through = (call: Backends.Call, directory: Backends.Directory): Backends.Service => {
    if (!("service" in call.target)) return Backends.none
    const { name, namespace } = call.target.service
    const { subsets = [] } = (directory.endpoints(namespace, name) ?? {}) as { readonly subsets?: ReadonlyArray<any> }
    return subsets.some(({ addresses }) => addresses?.length > 0) ? Backends.handlers(listeners) : Backends.none
  }
  yield* reach({
    call: (call, directory) => through(call, directory).call(call, directory),
    stream: (call, directory) => through(call, directory).stream(call, directory)
  })
  return Layer.succeed(Webhook.Listener, {
    listen: (handler, { service: { name, namespace } }) =>
      Effect.sync(() => void listeners.set(`${namespace}/${name}`, TestWebhooks.backend(handler)))
  })
})

/** Whether an operator that starts alone on a cluster with stored objects gets to reconcile them. */
const coldStart = (path: string) =>
  Effect.gen(function*() {
    seen.length = 0
    const client = yield* KubeClient.KubeClient
    yield* client.create(Namespace, { metadata: { name: service.namespace } })
    for (const manifest of Manifests.stream(manifests)) {
      if (manifest.kind === "Service") yield* client.create(Service, manifest as never)
      if (manifest.kind === "CustomResourceDefinition") yield* Crd.installManifest(manifest as never)
    }
    yield* client.create(V1, { metadata: { namespace: "default", name: "old" }, spec: { replicas: 1 } })
    const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
    yield* probing(endpoints, path)
    yield* Layer.build(
      Manager.layer([websites]).pipe(
        Layer.provide(Webhook.layer(hooks, { name: "sites", service })),
        Layer.provide(yield* byEndpoints),
        Layer.provide(Layer.succeed(Manager.Board, endpoints.board))
      )
    )
    yield* TestClock.adjust("5 minutes")
    return seen.length > 0
  }).pipe(Effect.provide(withoutKubelet))

describe("readiness of an operator with webhooks", () => {
  it.effect("a cold start converts what it lists: its Pod is ready before its caches are full", () =>
    Effect.gen(function*() {
      assert.isTrue(yield* coldStart(container.readinessProbe.httpGet.path))
      assert.isFalse(yield* coldStart("/readyz"), "with full caches first nothing would ever be listed")
    }))

  it.effect("what it may not list is no reason not to be called; serving nothing is one, and so is being stopped", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* allow("operator", [
        { apiGroups: ["observed.example.com"], resources: ["widgets"], verbs: ["list", "watch"] }
      ])
      yield* client.create(Widget, { metadata: { namespace: "default", name: "a" }, spec: { size: 1 } })
      const endpoints = yield* Endpoints.make({ metrics: "0", probes: "0" })
      const serving = Effect.map(asking(endpoints).get("/readyz/serving?verbose"), ({ body, status }) => ({
        status,
        lines: body.split("\n").filter((line) => line.startsWith("["))
      }))
      const forbidden = Controller.make("gadgets", { for: Gadget, reconcile: () => Effect.succeed(Action.done) })
      const slow = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.as(Effect.sleep("1 hour"), Action.done)
      })
      const operate = Effect.fnUntraced(function*(served: Layer.Layer<never, never, KubeClient.KubeClient>) {
        const scope = yield* Scope.make()
        yield* Manager.layer([forbidden, slow], { drain: "25 seconds" }).pipe(
          Layer.provide(served),
          Layer.provide(TestClient.layerAs(TestClient.serviceAccount("ops", "operator"))),
          Layer.provide(Layer.succeed(Manager.Board, endpoints.board)),
          Layer.buildWithScope(scope)
        )
        yield* TestClock.adjust("1 minute")
        return scope
      })
      const nothing = yield* operate(Layer.empty)
      assert.deepStrictEqual(yield* serving, {
        status: 500,
        lines: [
          "[+]ping ok",
          "[+]shutdown ok",
          "[-]serving failed: no webhooks and no API are served: " +
          "provide Webhook.layer or ApiService.layer to the manager"
        ]
      })
      yield* Scope.close(nothing, Exit.void).pipe(Effect.forkChild)
      yield* TestClock.adjust("1 minute")

      const hooked = yield* operate(
        Layer.effectDiscard(Webhook.WebhookServer).pipe(
          Layer.provide(Webhook.layer(hooks, { name: "sites", service })),
          Layer.provide(Layer.succeed(Webhook.Listener, { listen: () => Effect.void }))
        )
      )
      assert.strictEqual((yield* asking(endpoints).readyz).status, 500, "the Gadgets")
      const well = ["[+]ping ok", "[+]shutdown ok", "[+]webhooks ok"]
      assert.deepStrictEqual(yield* serving, { status: 200, lines: well })
      const closing = yield* Effect.forkChild(Scope.close(hooked, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* serving, {
        status: 500,
        lines: ["[+]ping ok", "[-]shutdown failed: the process is stopping", "[+]webhooks ok"]
      })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(closing)
    }).pipe(Effect.provide(TestCluster.layer({ resources: [Gadget, Widget] }))))

  it.effect("a Pod that ends is called no more, whatever it answers", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      yield* client.create(Namespace, { metadata: { name: service.namespace } })
      const [created] = Manifests.stream(manifests).filter(({ metadata }) => metadata.name === service.name)
      yield* client.create(Service, created as never)
      const ready = { status: 200, contentType: "text/plain", body: "ok" }
      yield* probing({ answer: () => Effect.succeed(ready) }, "/readyz/serving")
      yield* TestClock.adjust("5 seconds")
      const addresses = Effect.map(client.get(EndpointsKind, service), ({ subsets = [] }) =>
        subsets.map(({ addresses }) => addresses?.map(({ ip }) => ip)))
      assert.deepStrictEqual(yield* addresses, [["10.0.0.7"]])
      yield* client.delete(Pod, { namespace: service.namespace, name: "sites-0" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* addresses, [])
      const { items: [ending] } = yield* client.listPage(Pod, { namespace: service.namespace })
      assert.isDefined(ending?.metadata.deletionTimestamp, "it is still there")
    }).pipe(Effect.provide(withoutKubelet)))
})
