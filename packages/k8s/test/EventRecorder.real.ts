/** Events as people see them: written by the recorder, read by kubectl, of a real API server and of the one in memory. */
import { EventRecorder, KubeClient, Supervisor } from "@effect-operator/core"
import { ConfigMap, Namespace } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as LiveClient from "../src/LiveClient.ts"
import { ApiServer } from "../src/testing/ApiServer.ts"
import * as Envtest from "../src/testing/Envtest.ts"
import * as HttpFacade from "../src/testing/HttpFacade.ts"
import * as Shell from "./clients/kubectl/Shell.ts"

const program = Path.join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl")

const real = Layer.build(Envtest.layerOptions({ controllerManager: false })).pipe(
  Effect.map((context) => Fs.readFileSync(Context.get(context, Envtest.Envtest).kubeconfigPath, "utf8"))
)
const inMemory = Layer.build(Layer.provide(HttpFacade.layer(), ApiServer.layer)).pipe(
  Effect.map((context) => Context.get(context, HttpFacade.HttpFacade).kubeconfig)
)

/** What there is to see, without what differs from run to run. */
const story = Effect.fnUntraced(function*(kubeconfig: string, clusterScoped: boolean) {
  const namespace = "shop"
  const shell = yield* Shell.open(program, kubeconfig, yield* Shell.cacheDirectory, { name: namespace, files: {} })
  const client = yield* Effect.provide(
    KubeClient.KubeClient,
    yield* Layer.build(LiveClient.layerOptions({ kubeconfig }))
  )
  const sink = yield* EventRecorder.makeSink(yield* Supervisor.make, "pod-1").pipe(
    Effect.provideService(KubeClient.KubeClient, client)
  )
  const shop = yield* client.create(Namespace, { metadata: { name: namespace } })
  const config = yield* client.create(ConfigMap, { metadata: { namespace, name: "web" } })
  const { normal, warning } = sink.recorder("webs", config)
  yield* normal({ reason: "Created", action: "Create", note: "made a thing", related: shop })
  for (let i = 0; i < 40; i++) yield* warning({ reason: "Failed", note: "no room ü" })
  // Cut, at the server's measure: it refuses a byte more.
  yield* normal({ reason: "R".repeat(300), action: "é".repeat(200), note: "😀".repeat(600) })
  if (clusterScoped) yield* sink.recorder("webs", shop).normal({ reason: "Opened", note: "the shop" })
  yield* sink.flush
  const written = yield* Stream.runCollect(client.list(Event, { namespace }))
  const failed = written.find(({ reason }) => reason === "Failed")!
  assert.strictEqual(failed.series?.count, 40)
  // The server expires an Event: the next repetition makes another.
  yield* client.delete(Event, failed)
  yield* sink.recorder("others", config).warning({ reason: "Failed", note: "no room ü" })
  yield* sink.flush
  const inDefault = yield* Stream.runCollect(client.list(Event, { namespace: "default" }))
  assert.deepStrictEqual(
    inDefault.filter(({ reportingController }) => reportingController === "webs").map(({ reason, regarding }) => [
      reason,
      regarding?.kind,
      regarding?.namespace
    ]),
    clusterScoped ? [["Opened", "Namespace", undefined]] : []
  )
  const [described, cluster, listed] = yield* Effect.forEach(
    ["kubectl describe configmap web", "kubectl describe namespace shop", "kubectl get events"],
    (line) => shell.run(line.slice("kubectl ".length))
  )
  assert.match(described!.stdout, /Normal\s+Created\s.*\smade a thing/)
  assert.match(described!.stdout, /Warning\s+Failed\s.*\sno room ü/)
  assert.match(listed!.stdout, /Warning\s+Failed\s+configmap\/web\s+no room ü/)
  assert.strictEqual(cluster!.code, 0)
  return [described!.stdout, listed!.stdout].map((text) =>
    text.replace(/\b(?:\d+[hms])+\b/g, "<age>").replace(/ +/g, " ")
  )
})

it.live(
  "kubectl shows the recorder's events, of a real API server and of the one in memory alike",
  () =>
    Effect.gen(function*() {
      const ours = yield* story(yield* inMemory, true)
      // 1.20 wants those about cluster-scoped objects in kube-system; later servers take them in default, too.
      assert.deepStrictEqual(ours, yield* story(yield* real, false))
    })
)
