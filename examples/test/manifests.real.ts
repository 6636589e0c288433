/**
 * Every example on a real kube-apiserver, from its manifests alone: applied with kubectl, then run as its own service
 * account with the rules that it was given there.
 */
import { Manager } from "@effect-operator/core"
import { LiveClient, Manifests } from "@effect-operator/k8s"
import * as Credentials from "@effect-operator/k8s/Credentials"
import { Kubelet } from "@effect-operator/k8s/testing"
import * as Envtest from "@effect-operator/k8s/testing/Envtest"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { manifests } from "../src/Example.ts"
import { examples } from "../src/examples.ts"
import * as Steps from "../src/Steps.ts"
import * as Processes from "./support/Processes.ts"

const cluster = Envtest.clientLayer.pipe(Layer.provideMerge(Envtest.layer))

const kubectl = Effect.fnUntraced(function*(...args: ReadonlyArray<string>) {
  const { kubeconfigPath } = yield* Envtest.Envtest
  const program = Path.join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl")
  // Warnings go to standard error.
  return yield* Processes.run("sh", ["-c", "exec \"$0\" \"$@\" 2>&1", program, ...args], { KUBECONFIG: kubeconfigPath })
})

layer(cluster, { excludeTestServices: true, timeout: "120 seconds" })("from its manifests", (it) => {
  // All of them first: the garbage collector learns of new kinds every half minute.
  for (const example of examples) {
    it.effect(`${example.name} is applied without a warning`, () =>
      Effect.gen(function*() {
        const options = manifests(example)
        const file = Path.join(yield* Processes.folder, "all.yaml")
        Fs.writeFileSync(file, Manifests.format(Manifests.stream(options)))
        // What lies in a namespace can be tried only once it is there.
        yield* kubectl("create", "namespace", options.namespace, "--save-config")
        for (const dry of [["--dry-run=server"], []]) {
          assert.notMatch(yield* kubectl("apply", ...dry, "-f", file), /warn|deprecat/i)
        }
      }), 120_000)
  }

  // An API that the operator serves itself would have to be reached in the cluster.
  for (const example of examples.filter(({ serves }) => serves === undefined)) {
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
          const leaderElection = { namespace: options.namespace, name: options.name }
          const operator = Manager.layer(example.controllers, { leaderElection }).pipe(
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
