import * as NodeServices from "@effect/platform-node/NodeServices"
import { KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Path from "node:path"
import * as Objects from "../../../src/cli/dev/Objects.ts"
import { ConfigMap } from "../../../src/kinds/core.v1.ts"
import * as TestCluster from "../../../src/testing/TestCluster.ts"
import { Website } from "../../../templates/src/website/resource.ts"
import { folder } from "../../support/folder.ts"

const kinds = [Website]
const [sample] = [{
  apiVersion: "example.com/v1",
  kind: "Website",
  metadata: { name: "a" },
  spec: { image: "nginx", replicas: 2 }
}]

it("knows the kinds of Kubernetes and those that are declared", () => {
  const path = (apiVersion: string, kind: string) => {
    const resource = Objects.resourceOf({ apiVersion, kind }, kinds)
    return resource === undefined ? undefined : `${resource.apiVersion} ${resource.plural} ${resource.scope}`
  }
  assert.strictEqual(path("v1", "Namespace"), "v1 namespaces Cluster")
  assert.strictEqual(path("apps/v1", "Deployment"), "apps/v1 deployments Namespaced")
  assert.strictEqual(path("example.com/v1", "Website"), "example.com/v1 websites Namespaced")
  assert.isUndefined(path("apps/v1beta1", "Deployment"))
  assert.isUndefined(path("example.com/v1", "Shop"))
})

it.effect("applies objects, again too, and says which one was refused", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    for (const replicas of [2, 3]) {
      yield* Objects.apply({ ...sample, spec: { image: "a", replicas } } as never, kinds, "x")
    }
    assert.strictEqual((yield* client.get(Website, { namespace: "default", name: "a" })).spec.replicas, 3)
    yield* Objects.apply(
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "kube-system" } },
      [],
      "x"
    )
    yield* client.get(ConfigMap, { namespace: "kube-system", name: "c" })
    yield* Objects.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "d" } }, [], "x", "kube-public")
    yield* client.get(ConfigMap, { namespace: "kube-public", name: "d" })
    const refused = yield* Effect.flip(Objects.apply({ ...sample, spec: {} } as never, kinds, "samples/a.yaml"))
    assert.match(
      refused.message,
      /^samples\/a\.yaml: apply websites\.example\.com default\/a: Invalid: .*spec: Invalid value: "null"/
    )
    const unknown = yield* Effect.flip(Objects.apply({ ...sample, kind: "Shop" }, kinds, "a.yaml"))
    assert.include(unknown.message, "a.yaml: Shop of example.com/v1 is neither a built-in kind nor one that")
  }).pipe(Effect.provide(TestCluster.layer({ resources: [Website] }))))

it.effect("reads the files of a folder in order, and refuses what is no object", () =>
  Effect.gen(function*() {
    const path = yield* folder({
      "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: b }\n",
      "a.yml": "{}",
      "notes.md": "no"
    })
    assert.deepStrictEqual(yield* Objects.filesOf(path), [Path.join(path, "a.yml"), Path.join(path, "b.yaml")])
    assert.deepStrictEqual((yield* Objects.inFile(Path.join(path, "b.yaml"))).map(({ metadata }) => metadata.name), [
      "b"
    ])
    const { message } = yield* Effect.flip(Objects.inFile(Path.join(path, "a.yml")))
    assert.include(message, "a.yml: an object needs apiVersion, kind and metadata.name: {}")
  }).pipe(Effect.provide(NodeServices.layer)))
