/** A development loop on a cluster of somebody's kubeconfig, which is in memory here and asked over HTTP. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { CustomResource, CustomResourceVersions, KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Option, Schema, Stream } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Crd from "../../../src/Crd.ts"
import type { Description } from "../../../src/cli/Description.ts"
import * as Target from "../../../src/cli/dev/Target.ts"
import { ValidatingWebhookConfiguration } from "../../../src/kinds/admissionregistration.v1.ts"
import { CustomResourceDefinition } from "../../../src/kinds/apiextensions.v1.ts"
import * as KubeConfig from "../../../src/KubeConfig.ts"
import { ClusterRole, ClusterRoleBinding } from "../../../src/kinds/rbac.v1.ts"
import { ConfigMap, Namespace, Service } from "../../../src/kinds/core.v1.ts"
import * as LiveClient from "../../../src/LiveClient.ts"
import * as HttpFacade from "../../../src/testing/HttpFacade.ts"
import * as TestCluster from "../../../src/testing/TestCluster.ts"
import { eventually } from "../../support/eventually.ts"
import { folder } from "../../support/folder.ts"

const cluster = HttpFacade.layer().pipe(Layer.provideMerge(TestCluster.layer()), Layer.merge(NodeServices.layer))

const site = (version: string) =>
  CustomResource.make({ group: "example.com", version, kind: "Site", spec: Schema.Struct({ size: Schema.Int }) })

const V1 = site("v1")
const V2 = site("v2")
const versions = CustomResourceVersions.make({
  steps: [CustomResourceVersions.between(V1, V2, { up: ({ spec }) => ({ spec }), down: ({ spec }) => ({ spec }) })],
  storage: V1
})

const service = { namespace: "sites-system", name: "sites-webhook" }

const description: Description = {
  name: "sites",
  namespace: "sites-system",
  env: {},
  kinds: [],
  definitions: [Crd.make(versions, { conversion: { clientConfig: { service: { ...service, path: "/convert" } } } })],
  rbac: [],
  webhooks: [],
  files: {}
}

const name = "sites.example.com"

/** Installs it there, and tells what was said. */
const install = Effect.gen(function*() {
  const path = yield* folder({})
  const kubeconfig = Path.join(path, "kubeconfig")
  Fs.writeFileSync(kubeconfig, (yield* HttpFacade.HttpFacade).kubeconfig, { mode: 0o600 })
  const target = yield* Target.make({ context: Option.none(), kubeconfig: Option.some(kubeconfig), port: 0 })
  const said: Array<string> = []
  const say = (line: string) => Effect.sync(() => void said.push(line))
  yield* target.install(description, say)
  yield* target.install(description, say)
  return said
})

const client = Effect.map(KubeClient.KubeClient, (client) => client)
const strategy = Effect.flatMap(
  client,
  (client) => Effect.map(client.get(CustomResourceDefinition, { name }), ({ spec }) => spec.conversion?.strategy)
)

it.effect("a kubeconfig without a name is refused: a variable that is not set is none", () =>
  Effect.gen(function*() {
    const options = { context: Option.none(), kubeconfig: Option.some(""), port: 0 }
    const { message } = yield* Effect.flip(Effect.scoped(Target.make(options)))
    assert.strictEqual(message, `--kubeconfig "": must be a file; leave it out for an in-memory cluster`)
  }).pipe(Effect.provide(NodeServices.layer)))

it.live("what the operator's roles do not allow in memory is told once, with what to add", () =>
  Effect.gen(function*() {
    const target = yield* Target.make({ context: Option.none(), kubeconfig: Option.none(), port: 0 })
    const told: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(target.lacking, (line) => Effect.sync(() => void told.push(line))),
      { startImmediately: true }
    )
    const plain = { ...description, kinds: [V1], definitions: [] }
    yield* target.install(plain, () => Effect.void)
    const { KUBECONFIG: file } = yield* target.environment(plain)
    const operator = Context.get(yield* Layer.build(LiveClient.layerOptions({ file })), KubeClient.KubeClient)
    const made = (name: string) => Effect.flip(operator.create(ConfigMap, { metadata: { namespace: "default", name } }))
    assert.strictEqual((yield* made("a")).reason._tag, "Forbidden")
    yield* made("b")
    yield* Effect.flip(operator.get(V1, { namespace: "default", name: "a" }))
    yield* eventually(() => told.length === 2)
    assert.deepStrictEqual(told, [
      "the operator may not create configmaps in namespace \"default\": add { resource: ConfigMap, verbs: [\"create\"] } " +
      "to `writes`",
      "the operator may not get sites.example.com in namespace \"default\": add { resource: Site, verbs: [\"get\"] } to " +
      "`writes`"
    ])
  }).pipe(Effect.provide(NodeServices.layer)))

it.live("there is a namespace for its certificates, and no conversion that nobody could answer", () =>
  Effect.gen(function*() {
    const said = yield* install
    assert.deepStrictEqual(said, [
      "sites.example.com is installed without its conversion, since the cluster could not call this machine: objects " +
      "are stored as v1, and reads as v2 return the fields of v1, unconverted",
      "installed the definition sites.example.com",
      "created the namespace sites-system, where the operator keeps its serving certificates"
    ])
    const kube = yield* client
    assert.strictEqual((yield* kube.get(Namespace, { name: "sites-system" })).metadata.name, "sites-system")
    yield* kube.create(V1, { metadata: { namespace: "default", name: "a" }, spec: { size: 1 } })
    assert.strictEqual((yield* kube.get(V2, { namespace: "default", name: "a" })).spec.size, 1)
  }).pipe(Effect.provide(cluster)))

it.live("a conversion that was there before goes as well", () =>
  Effect.gen(function*() {
    yield* Crd.installManifest(description.definitions[0]!)
    assert.strictEqual(yield* strategy, "Webhook")
    yield* install
    assert.strictEqual(yield* strategy, "None")
  }).pipe(Effect.provide(cluster)))

it.live("it stays where the operator is deployed, or objects are stored in several versions, and says what fails", () =>
  Effect.gen(function*() {
    const kube = yield* client
    yield* Crd.installManifest(description.definitions[0]!)
    yield* kube.patch(
      CustomResourceDefinition,
      { name },
      KubeClient.Patch.merge({ status: { storedVersions: ["v2", "v1"] } }),
      { subresource: "status" }
    )
    assert.include((yield* install)[0], "objects may be stored as v2, v1 and cannot be converted")
    assert.strictEqual(yield* strategy, "Webhook")
    yield* kube.create(Service, { metadata: service, spec: { ports: [{ port: 443, protocol: "TCP" }] } })
    assert.include((yield* install)[0], "while that is stopped, reads as v2 fail")
    assert.strictEqual(yield* strategy, "Webhook")
  }).pipe(Effect.provide(cluster)))

const twoContexts = (url: string) =>
  JSON.stringify({
    clusters: [
      { name: "here", cluster: { server: url } },
      { name: "elsewhere", cluster: { server: "http://127.0.0.1:1" } }
    ],
    contexts: [
      { name: "chosen", context: { cluster: "here", namespace: "team-a" } },
      { name: "current", context: { cluster: "elsewhere" } }
    ],
    "current-context": "current"
  })

it.live("the operator gets to the cluster of --context, however it finds its own", () =>
  Effect.gen(function*() {
    const { url } = yield* HttpFacade.HttpFacade
    const path = yield* folder({ kubeconfig: twoContexts(url), "home/.kube/config": twoContexts(url) })
    const file = Path.join(path, "kubeconfig")
    const environments: ReadonlyArray<Readonly<Record<string, string>>> = [
      { KUBECONFIG: `${Path.join(path, "absent")}:${file}`, HOME: path },
      { HOME: Path.join(path, "home") },
      { HOME: path, KUBE_CONTEXT: "current" }
    ]
    for (const [n, environment] of environments.entries()) {
      const inIt = Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
      const kubeconfig = n < 2 ? Option.none() : Option.some(file)
      const target = yield* inIt(Target.make({ context: Option.some("chosen"), kubeconfig, port: 0 }))
      assert.strictEqual(target.namespace, "team-a")
      const own = { ...environment, ...yield* target.environment(description) }
      const { context, server } = yield* KubeConfig.load().pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(own)))
      )
      assert.deepStrictEqual([context, server], ["chosen", url], JSON.stringify(environment))
    }
    const target = yield* Target.make({ context: Option.none(), kubeconfig: Option.some(file), port: 0 })
    assert.deepStrictEqual(yield* target.environment(description), { KUBECONFIG: file, KUBE_CONTEXT: "" })
  }).pipe(
    Effect.provide(
      HttpFacade.layer({ http: true }).pipe(Layer.provideMerge(TestCluster.layer()), Layer.merge(NodeServices.layer))
    )
  ))

it.live("after a change there is what the program needs by then, and what somebody has deleted", () =>
  Effect.gen(function*() {
    const path = yield* folder({})
    const kubeconfig = Path.join(path, "kubeconfig")
    Fs.writeFileSync(kubeconfig, (yield* HttpFacade.HttpFacade).kubeconfig, { mode: 0o600 })
    const target = yield* Target.make({ context: Option.none(), kubeconfig: Option.some(kubeconfig), port: 0 })
    const plain = { ...description, definitions: [Crd.make(V1)] }
    yield* target.install(plain, () => Effect.void)
    const kube = yield* client
    yield* kube.delete(CustomResourceDefinition, { name })
    yield* target.install(plain, () => Effect.void)
    yield* kube.get(CustomResourceDefinition, { name })
    yield* target.install(description, () => Effect.void)
    assert.strictEqual((yield* kube.get(Namespace, { name: "sites-system" })).metadata.name, "sites-system")
  }).pipe(Effect.provide(cluster)))

it.live("in memory, what the manifests no longer have goes: its hooks would refuse every write", () =>
  Effect.gen(function*() {
    const target = yield* Target.make({ context: Option.none(), kubeconfig: Option.none(), port: 0 })
    const said: Array<string> = []
    const install = (files: Readonly<Record<string, unknown>>) =>
      target.install({
        ...description,
        definitions: [],
        files: Object.fromEntries(Object.entries(files).map(([name, object]) => [name, JSON.stringify(object)]))
      }, (line) => Effect.sync(() => void said.push(line)))
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "sites-system" } }
    const hooks = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "sites" },
      webhooks: [{
        name: "validate.maps.core",
        clientConfig: { service: { ...service, path: "/validate" } },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"]
      }]
    }
    const kube = Context.get(target.client, KubeClient.KubeClient)
    const make = kube.create(ConfigMap, { metadata: { namespace: "default", name: "a" } })
    yield* install({ "rbac.yaml": namespace, "webhooks.yaml": hooks })
    assert.include((yield* Effect.flip(make)).message, "failed calling webhook")
    yield* install({ "webhooks.yaml": { ...hooks, metadata: { name: "other" } } })
    assert.deepStrictEqual(
      (yield* kube.listPage(ValidatingWebhookConfiguration)).items.map(({ metadata }) => metadata.name),
      ["other"]
    )
    yield* install({})
    yield* make
    yield* kube.get(Namespace, { name: "sites-system" })
    assert.deepStrictEqual(said.filter((line) => line.startsWith("deleted")), [
      "deleted ValidatingWebhookConfiguration sites, which the manifests no longer have",
      "deleted ValidatingWebhookConfiguration other, which the manifests no longer have"
    ])
    yield* install({ "webhooks.yaml": { ...hooks, metadata: { name: "other" } } })
    yield* kube.get(ValidatingWebhookConfiguration, { name: "other" })
  }).pipe(Effect.provide(NodeServices.layer)))

it.live("a conversion stays where it cannot be found out whether somebody serves it", () =>
  Effect.gen(function*() {
    const kube = yield* client
    yield* Crd.installManifest(description.definitions[0]!)
    yield* kube.create(ClusterRole, {
      metadata: { name: "defines" },
      rules: [{ apiGroups: ["apiextensions.k8s.io", "example.com"], resources: ["*"], verbs: ["*"] }]
    })
    yield* kube.create(ClusterRoleBinding, {
      metadata: { name: "defines" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "defines" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "jane" }]
    })
    const facade = yield* HttpFacade.HttpFacade
    const path = yield* folder({ kubeconfig: yield* facade.kubeconfigFor({ username: "jane", groups: [] }) })
    const kubeconfig = Option.some(Path.join(path, "kubeconfig"))
    const target = yield* Target.make({ context: Option.none(), kubeconfig, port: 0 })
    const { message } = yield* Effect.flip(target.install(description, () => Effect.void))
    assert.include(message, "cannot find out whether sites.example.com is converted in the cluster, by service")
    assert.include(message, "Forbidden")
    assert.strictEqual(yield* strategy, "Webhook")
  }).pipe(Effect.provide(cluster)))
