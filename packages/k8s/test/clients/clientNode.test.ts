/**
 * `@kubernetes/client-node`, a client we did not write, against the in-memory server over sockets: its typed API, its
 * generic object API, patches of every type, watches and informers.
 */
import { assert, describe, it } from "@effect/vitest"
import * as K8s from "@kubernetes/client-node"
import { Effect, Layer } from "effect"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as SimControllers from "../../src/testing/SimControllers.ts"
import * as TestClient from "../../src/testing/TestClient.ts"

const cluster = Layer.mergeAll(HttpFacade.layer(), SimControllers.controlPlane()).pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.layer)
)

const namespace = "default"

/** Runs a test with the kubeconfig of a fresh server. */
const withConfig = (test: (config: K8s.KubeConfig, server: ApiServer["Service"]) => Promise<void>) =>
  Effect.gen(function*() {
    const { kubeconfig } = yield* HttpFacade.HttpFacade
    const server = yield* ApiServer
    const config = new K8s.KubeConfig()
    config.loadFromString(kubeconfig)
    yield* Effect.promise(() => test(config, server))
  }).pipe(Effect.provide(cluster))

const codeOf = async (promise: Promise<unknown>): Promise<number> => {
  try {
    await promise
    return 0
  } catch (error) {
    return (error as K8s.ApiException<unknown>).code
  }
}

/** Waits until a look succeeds. */
const eventually = async (what: string, look: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    if (look()) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  assert.fail(`${what} did not come`)
}

const definition: K8s.V1CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.node.example.com" },
  spec: {
    group: "node.example.com",
    scope: "Namespaced",
    names: { plural: "gadgets", kind: "Gadget" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: { type: "object", required: ["size"], properties: { size: { type: "integer", minimum: 1 } } },
            status: { type: "object", properties: { phase: { type: "string" } } }
          }
        }
      }
    }]
  }
}

const deployment: K8s.V1Deployment = {
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "main", image: "nginx:1", resources: { requests: { cpu: "0.5" } } }] }
    }
  }
}

describe("@kubernetes/client-node", () => {
  it.live("reads and writes core objects by its typed API", () =>
    withConfig(async (config) => {
      const core = config.makeApiClient(K8s.CoreV1Api)
      const created = await core.createNamespacedConfigMap({
        namespace,
        body: { metadata: { name: "cm", labels: { a: "b" } }, data: { x: "1" }, binaryData: { y: "AAEC" } }
      })
      assert.instanceOf(created.metadata!.creationTimestamp, Date)
      const read = await core.readNamespacedConfigMap({ name: "cm", namespace })
      assert.deepStrictEqual(read, created)
      const replaced = await core.replaceNamespacedConfigMap({
        name: "cm",
        namespace,
        body: { ...read, data: { x: "2" } }
      })
      assert.notStrictEqual(replaced.metadata!.resourceVersion, read.metadata!.resourceVersion)
      assert.strictEqual(await codeOf(core.replaceNamespacedConfigMap({ name: "cm", namespace, body: read })), 409)
      assert.strictEqual(await codeOf(core.readNamespacedConfigMap({ name: "none", namespace })), 404)
      assert.strictEqual(
        await codeOf(core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "Bad" } } })),
        422
      )
      const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: "a in (b)", limit: 1 })
      assert.deepStrictEqual(items.map(({ metadata }) => metadata?.name), ["cm"])
      const { status } = await core.deleteNamespacedConfigMap({ name: "cm", namespace })
      assert.strictEqual(status, "Success")
    }))

  it.live("patches in every way", () =>
    withConfig(async (config) => {
      const core = config.makeApiClient(K8s.CoreV1Api)
      const as = (type: K8s.PatchStrategy) => K8s.setHeaderOptions("Content-Type", type)
      await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "cm" }, data: { a: "1" } } })
      const of = { name: "cm", namespace }
      await core.patchNamespacedConfigMap(
        { ...of, body: [{ op: "add", path: "/data/b", value: "2" }] },
        as(K8s.PatchStrategy.JsonPatch)
      )
      await core.patchNamespacedConfigMap(
        { ...of, body: { data: { a: null, c: "3" } } },
        as(K8s.PatchStrategy.MergePatch)
      )
      await core.patchNamespacedConfigMap(
        { ...of, body: { data: { d: "4" } } },
        as(K8s.PatchStrategy.StrategicMergePatch)
      )
      const applied = await core.patchNamespacedConfigMap(
        {
          ...of,
          fieldManager: "node",
          body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "cm" }, data: { e: "5" } }
        },
        as(K8s.PatchStrategy.ServerSideApply)
      )
      assert.deepStrictEqual(applied.data, { b: "2", c: "3", d: "4", e: "5" })
      assert.deepInclude(
        applied.metadata!.managedFields!.map(({ manager, operation }) => ({ manager, operation })),
        { manager: "node", operation: "Apply" }
      )
    }))

  it.live("scales Deployments, whose quantities are the server's", () =>
    withConfig(async (config) => {
      const apps = config.makeApiClient(K8s.AppsV1Api)
      const created = await apps.createNamespacedDeployment({ namespace, body: deployment })
      const [container] = created.spec!.template.spec!.containers
      assert.strictEqual(container?.resources?.requests?.["cpu"], "500m")
      assert.strictEqual(container?.imagePullPolicy, "IfNotPresent")
      const scale = await apps.readNamespacedDeploymentScale({ name: "web", namespace })
      assert.strictEqual(scale.spec?.replicas, 2)
      await apps.replaceNamespacedDeploymentScale({ name: "web", namespace, body: { ...scale, spec: { replicas: 5 } } })
      const scaled = await apps.readNamespacedDeployment({ name: "web", namespace })
      assert.strictEqual(scaled.spec?.replicas, 5)
      const objects = K8s.KubernetesObjectApi.makeApiClient(config)
      const found = await objects.read<K8s.V1Deployment>({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace }
      })
      assert.strictEqual(found.metadata?.uid, created.metadata?.uid)
      await objects.delete(found as K8s.KubernetesObject, undefined, undefined, undefined, undefined, "Background")
      assert.strictEqual(await codeOf(apps.readNamespacedDeployment({ name: "web", namespace })), 404)
    }))

  it.live("defines a kind, and uses it with its status", () =>
    withConfig(async (config) => {
      const definitions = config.makeApiClient(K8s.ApiextensionsV1Api)
      const made = await definitions.createCustomResourceDefinition({ body: definition })
      assert.strictEqual(made.spec.names.singular, "gadget")
      const custom = config.makeApiClient(K8s.CustomObjectsApi)
      const of = { group: "node.example.com", version: "v1", namespace, plural: "gadgets" }
      const body = (size: number) => ({
        apiVersion: "node.example.com/v1",
        kind: "Gadget",
        metadata: { name: "g" },
        spec: { size, unknown: true },
        status: { phase: "ignored" }
      })
      assert.strictEqual(await codeOf(custom.createNamespacedCustomObject({ ...of, body: body(0) })), 422)
      const created = await custom.createNamespacedCustomObject({ ...of, body: body(2) })
      assert.deepStrictEqual(created.spec, { size: 2 })
      assert.notProperty(created, "status")
      const status = await custom.patchNamespacedCustomObjectStatus(
        { ...of, name: "g", body: { status: { phase: "Ready" } } },
        K8s.setHeaderOptions("Content-Type", K8s.PatchStrategy.MergePatch)
      )
      assert.deepStrictEqual(status.status, { phase: "Ready" })
      const list = await custom.listClusterCustomObject({ group: of.group, version: "v1", plural: "gadgets" })
      assert.lengthOf(list.items, 1)
    }))

  it.live("keeps an informer's cache through changes, the end of its watch and compaction", () =>
    withConfig(async (config, server) => {
      const core = config.makeApiClient(K8s.CoreV1Api)
      const seen: Array<string> = []
      const informer = K8s.makeInformer(
        config,
        `/api/v1/namespaces/${namespace}/configmaps`,
        () => core.listNamespacedConfigMap({ namespace, labelSelector: "kept=yes" }),
        "kept=yes"
      )
      const note = (what: string) => (object: K8s.V1ConfigMap) =>
        seen.push(`${what} ${object.metadata?.name} ${object.data?.["n"]}`)
      informer.on("add", note("add"))
      informer.on("update", note("update"))
      informer.on("delete", note("delete"))
      const again = () => void informer.start()
      informer.on("error", again)
      const labels = { kept: "yes" }
      const create = (name: string, n: string) =>
        core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels }, data: { n } } })
      const set = (name: string, n: string) =>
        core.patchNamespacedConfigMap(
          { name, namespace, body: { data: { n } } },
          K8s.setHeaderOptions("Content-Type", K8s.PatchStrategy.MergePatch)
        )
      await create("a", "1")
      await informer.start()
      await eventually("a", () => seen.includes("add a 1"))
      await create("b", "1")
      await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "other" } } })
      await set("a", "2")
      await eventually("the update", () => seen.includes("update a 2"))
      await Effect.runPromise(server.endWatches("configmaps"))
      await set("a", "3")
      await eventually("what was missed", () => seen.includes("update a 3"))
      await Effect.runPromise(Effect.andThen(server.compact(), server.endWatches("configmaps")))
      await set("b", "2")
      await core.deleteNamespacedConfigMap({ name: "a", namespace })
      await eventually("the deletion", () => seen.some((line) => line.startsWith("delete a")))
      await eventually("b", () => informer.get("b", namespace)?.data?.["n"] === "2")
      assert.deepStrictEqual(informer.list(namespace).map(({ metadata }) => metadata?.name), ["b"])
      assert.isFalse(seen.some((line) => line.includes("other")))
      // What stops it is an error to it.
      informer.off("error", again)
      await informer.stop()
    }))

  it.live("watches from a revision, and is told when that is too old", () =>
    withConfig(async (config, server) => {
      const core = config.makeApiClient(K8s.CoreV1Api)
      const { metadata } = await core.listNamespacedSecret({ namespace })
      await core.createNamespacedSecret({ namespace, body: { metadata: { name: "s" }, stringData: { a: "b" } } })
      const watch = (resourceVersion: string) =>
        new Promise<ReadonlyArray<string>>((resolve, reject) => {
          const events: Array<string> = []
          void new K8s.Watch(config).watch(
            `/api/v1/namespaces/${namespace}/secrets`,
            { resourceVersion, timeoutSeconds: 1 },
            (type, object) => {
              events.push(`${type} ${object.metadata?.name ?? object.code}`)
            },
            (error) =>
              error === undefined || error === null || error === K8s.Watch.SERVER_SIDE_CLOSE
                ? resolve(events)
                : reject(error)
          )
        })
      assert.deepStrictEqual(await watch(metadata!.resourceVersion!), ["ADDED s"])
      await core.deleteNamespacedSecret({ name: "s", namespace })
      await Effect.runPromise(server.compact())
      assert.deepStrictEqual(await watch(metadata!.resourceVersion!), ["ERROR 410"])
    }))
})
