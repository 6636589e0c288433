/** An operator with this framework: `ours.ts ACCESS NAMESPACE`. Eight concurrent reconciles, each one status patch. */
import * as Action from "@effect-operator/core/Action"
import * as Controller from "@effect-operator/core/Controller"
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Manager from "@effect-operator/core/Manager"
import * as Resource from "@effect-operator/core/Resource"
import type { Emit } from "@effect-operator/core/Source"
import * as LiveClient from "@effect-operator/k8s/LiveClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Fs from "node:fs"
import { type Access, serve, statusOf } from "./Contestant.ts"

const [access = "{}", namespace = ""] = process.argv.slice(2)
const { caFile, token, url } = JSON.parse(access) as Access

interface Widget extends KubeObject {
  readonly status?: { readonly round?: number }
}

const Widget = Resource.make<Widget>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced",
  subresources: ["status"]
})

const known = new Set<string>()
let emit: Emit = () => {}
let round = 0
let left = 0
let finish = () => {}

const controller = Controller.make("widgets", {
  for: Widget,
  namespaces: [namespace],
  concurrency: 8,
  timeout: "1 minute",
  sources: [{
    name: "bench",
    run: (given) =>
      Effect.sync(() => {
        emit = given
      })
  }],
  reconcile: (widget) => {
    known.add(widget.metadata.name)
    if (widget.status?.round === round) return Effect.succeed(Action.done)
    return KubeClient.use((client) =>
      client.patch(Widget, widget, Patch.merge(statusOf(round)), { subresource: "status" })
    ).pipe(Effect.map(() => {
      left -= 1
      if (left === 0) finish()
      return Action.done
    }))
  }
})

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "bench",
  contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
  clusters: [{
    name: "bench",
    cluster: { server: url, "certificate-authority-data": Fs.readFileSync(caFile).toString("base64") }
  }],
  users: [{ name: "bench", user: { token } }]
})

Effect.runFork(
  Manager.layer([controller]).pipe(
    Layer.provide(LiveClient.layerOptions({ kubeconfig })),
    Layer.launch,
    // Standard output is for responses.
    Effect.provide(Logger.layer([]))
  )
)

serve({
  known: () => known.size,
  burst: (next) =>
    new Promise((resolve) => {
      round = next
      left = known.size
      finish = resolve
      emit(...Array.from(known, (name) => ({ namespace, name })))
    })
})
