import { Action, Controller, CustomResource, KubeClient, Watch } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Yaml from "yaml"
import { ConfigMap, Deployment, Secret } from "../src/kinds/index.ts"
import * as Manifests from "../src/Manifests.ts"

const Widget = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

const options = (finalize: boolean): Manifests.Options => ({
  name: "widgets",
  namespace: "widgets-system",
  image: "example.com/widgets:1",
  resources: [Widget],
  controllers: [
    Controller.make("widgets", {
      for: Widget,
      owns: [Deployment],
      watches: [Watch.cached(Secret)],
      reconcile: () => Effect.as(KubeClient.KubeClient, Action.done),
      ...(finalize ? { finalize: () => Effect.succeed(Action.done) } : {})
    })
  ],
  writes: [{ resource: Deployment, verbs: ["create", "patch"] }, { resource: ConfigMap, verbs: ["create"] }]
})

const granted = (finalize: boolean) =>
  Object.fromEntries(
    Manifests.rules(options(finalize)).map(({ apiGroups, resources, verbs }) => [
      `${resources[0]}.${apiGroups[0]}`,
      verbs.join()
    ])
  )

it("permissions are what is watched, what is written, and what the framework writes: no more", () => {
  assert.deepStrictEqual(granted(false), {
    "configmaps.": "create",
    "secrets.": "get,list,watch",
    "deployments.apps": "create,get,list,patch,watch",
    "events.events.k8s.io": "create,patch",
    "widgets.example.com": "get,list,watch",
    "widgets/finalizers.example.com": "update",
    "widgets/status.example.com": "patch,update"
  })
})

it("a controller that finalizes may patch its kind, for the finalizer", () => {
  assert.strictEqual(granted(true)["widgets.example.com"], "get,list,patch,watch")
})

it("the files hold everything a cluster needs, in an order in which it can be applied", () => {
  const files = Manifests.files(options(true))
  assert.deepStrictEqual(Object.keys(files), ["crd.yaml", "rbac.yaml", "deployment.yaml"])
  assert.deepStrictEqual(Object.values(files).flat().map(({ kind }) => kind), [
    "CustomResourceDefinition",
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Deployment"
  ])
  const documents = Yaml.parseAllDocuments(Manifests.format(files["rbac.yaml"]!)).map((document) => document.toJS())
  assert.deepStrictEqual(documents, JSON.parse(JSON.stringify(files["rbac.yaml"])))
})
