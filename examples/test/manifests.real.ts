/**
 * Every example on a real kube-apiserver, from its manifests alone: applied with kubectl, then run as its own service
 * account with the rules that it was given there.
 */
import { type KubeClient, Manager } from "@effect-operator/core"
import { ApiService, LiveClient, Manifests } from "@effect-operator/k8s"
import * as Credentials from "@effect-operator/k8s/Credentials"
import { Kubelet } from "@effect-operator/k8s/testing"
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { type Example, manifests } from "../src/Example.ts"
import { examples } from "../src/examples.ts"
import * as Serving from "../src/Serving.ts"
import * as Steps from "../src/Steps.ts"
import * as Processes from "./support/Processes.ts"

const cluster = Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer))

const kubectl = Effect.fnUntraced(function*(...args: ReadonlyArray<string>) {
  const { kubeconfigPath } = yield* Envtest.Envtest
  const program = Path.join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl")
  // Warnings go to standard error.
  return yield* Processes.run("sh", ["-c", "exec \"$0\" \"$@\" 2>&1", program, ...args], { KUBECONFIG: kubeconfigPath })
})

/** What a user may do in a namespace: verbs by kind, `autoscalers.test.skuber.io`. */
const allowed = (user: string, namespace: string) =>
  Effect.map(
    kubectl("auth", "can-i", "--list", "--namespace", namespace, "--as", user),
    (said) =>
      new Map(said.split("\n").map((row) => [row.split(/\s/)[0]!, /\[([a-z ]*)\]$/.exec(row.trim())?.[1] ?? ""]))
  )

/**
 * Serves an API of the operator's own as this account. The manifests register it with a Service of Pods; here the
 * administrator leads that to this host. Certificate, caBundle and whom to believe are the operator's to see to.
 */
const served = Effect.fnUntraced(function*(
  { api, server }: NonNullable<Example["serves"]>,
  account: Layer.Layer<KubeClient.KubeClient>
) {
  const options = { ...server, address: "127.0.0.1:0", closeGrace: "1 second" } as const
  const context = yield* Layer.build(Layer.fresh(ApiService.layer(api, options).pipe(Layer.provide(account))))
  const serving = Context.get(context, ApiService.ApiServiceServer)
  const { port } = yield* Effect.timeout(serving.ready, "30 seconds")
  yield* ApiService.install(api, { service: { ...server.service, port }, localhost: true })
  yield* Serving.reached(api, serving)
  assert.strictEqual((yield* serving.status).trouble, undefined)
})

/** kubectl of 1.20 takes rules in CEL for a mistake, and a server of 1.20 leaves them out. */
const withoutRules = (manifests: ReadonlyArray<Manifests.Manifest>): ReadonlyArray<Manifests.Manifest> =>
  JSON.parse(JSON.stringify(manifests, (key, value: unknown) => key === "x-kubernetes-validations" ? undefined : value))

layer(cluster, { excludeTestServices: true, timeout: "120 seconds" })("from its manifests", (it) => {
  // All of them first: the garbage collector learns of new kinds every half minute.
  for (const example of examples) {
    it.effect(`${example.name} is applied without a warning`, () =>
      Effect.gen(function*() {
        const options = manifests(example)
        const file = Path.join(yield* Processes.folder, "all.yaml")
        Fs.writeFileSync(file, Manifests.format(withoutRules(Manifests.stream(options))))
        // What lies in a namespace can be tried only once it is there.
        yield* kubectl("create", "namespace", options.namespace, "--save-config")
        for (const dry of [["--dry-run=server"], []]) {
          assert.notMatch(yield* kubectl("apply", ...dry, "-f", file), /warn|deprecat/i)
        }
      }))
  }

  it.effect("who may edit or view a namespace may do so with the custom objects in it", () =>
    Effect.gen(function*() {
      yield* kubectl("create", "namespace", "people")
      for (const role of ["view", "edit"]) {
        yield* kubectl("create", "rolebinding", role, "--namespace", "people", "--clusterrole", role, "--user", role)
      }
      const plurals = examples.flatMap(({ resources }) => resources.map(({ group, plural }) => `${plural}.${group}`))
      // The cluster puts its roles together in its own time.
      const [edit, view] = yield* Effect.all([allowed("edit", "people"), allowed("view", "people")]).pipe(
        Effect.filterOrFail((both) => both.every((may) => plurals.every((plural) => may.has(plural))), () => "not yet"),
        Effect.retry({ times: 60, schedule: Schedule.spaced("500 millis") })
      )
      for (const plural of plurals) {
        assert.strictEqual(edit.get(plural), "get list watch create update patch delete deletecollection", plural)
        assert.strictEqual(view.get(plural), "get list watch", plural)
      }
    }))

  for (const example of examples) {
    it.effect(
      `${example.name} converges as its own service account, with the rules of its manifests`,
      () =>
        Effect.gen(function*() {
          const { clusterConfig } = yield* Envtest.Envtest
          const options = manifests(example)
          const request = Path.join(yield* Processes.folder, "token.json")
          const spec = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: [] } }
          Fs.writeFileSync(request, JSON.stringify(spec))
          const path = `/api/v1/namespaces/${options.namespace}/serviceaccounts/${options.name}/token`
          const { status } = JSON.parse(yield* kubectl("create", "--raw", path, "-f", request)) as {
            readonly status: { readonly token: string }
          }
          const account = LiveClient.layerCluster({
            ...clusterConfig,
            credentials: Credentials.token(Redacted.make(status.token))
          })
          if (example.serves !== undefined) yield* served(example.serves, account)
          const leaderElection = options.leaderElection === false
            ? {}
            : { leaderElection: { namespace: options.namespace, name: options.name } }
          const operator = Manager.layer(example.controllers, leaderElection).pipe(
            Layer.provide(account),
            Layer.fresh
          )
          // The Pods run on nodes that are there: otherwise kube-controller-manager would clear them away.
          yield* Layer.build(Kubelet.layer({ ...example.kubelet, registerNodes: true }))
          const manager = Context.get(yield* Layer.build(operator), Manager.Manager)
          yield* Effect.timeout(manager.ready, "30 seconds")
          yield* Steps.perform(example.story, {
            look: Steps.listed(example.follows),
            every: "100 millis",
            within: "60 seconds"
          })
        }),
      240_000
    )
  }
})
