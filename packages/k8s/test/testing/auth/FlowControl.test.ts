import type { KubeObject } from "@effect-operator/core/KubeObject"
import { assert, describe, it } from "@effect/vitest"
import { type Attributes, resource } from "../../../src/api/Attributes.ts"
import * as Bootstrap from "../../../src/testing/auth/Bootstrap.ts"
import * as BootstrapFlows from "../../../src/testing/auth/BootstrapFlows.ts"
import * as FlowControl from "../../../src/testing/auth/FlowControl.ts"
import { Storage } from "../../../src/api/Storage.ts"
import { administrator, anonymous, serviceAccount, type UserInfo } from "../../../src/api/UserInfo.ts"

const setup = () => {
  const storage = new Storage(1000)
  Bootstrap.install(storage, [], 0, () => 0.5)
  const headers = FlowControl.make(storage)
  const nameOf = (uid: string | undefined) =>
    storage.snapshot().find(({ kind, metadata }) => kind === "FlowSchema" && metadata.uid === uid)?.metadata.name
  return {
    storage,
    schema: (user: UserInfo, attributes: Attributes) =>
      nameOf(headers(user, attributes)["x-kubernetes-pf-flowschema-uid"])
  }
}

const list = resource({ verb: "list", resource: "pods" })
const health: Attributes = { _tag: "Path", verb: "get", path: "/healthz/ping" }
const user = (username: string, ...groups: ReadonlyArray<string>): UserInfo => ({
  username,
  groups: [...groups, "system:authenticated"]
})

describe("FlowControl", () => {
  it("knows by which schema a request comes in", () => {
    const { schema } = setup()
    assert.strictEqual(schema(administrator, list), "exempt")
    assert.strictEqual(schema(anonymous, list), "global-default")
    assert.strictEqual(schema(anonymous, health), "probes")
    assert.strictEqual(schema(anonymous, { ...health, path: "/healthzz" }), "global-default")
    assert.strictEqual(schema(serviceAccount("n", "a"), list), "service-accounts")
    assert.strictEqual(schema(serviceAccount("kube-system", "a"), list), "kube-system-service-accounts")
    const lease = resource({ verb: "update", group: "coordination.k8s.io", resource: "leases", namespace: "n" })
    assert.strictEqual(schema(serviceAccount("kube-system", "a"), lease), "system-leader-election")
    assert.strictEqual(
      schema(serviceAccount("kube-system", "a"), { ...lease, verb: "list" }),
      "kube-system-service-accounts"
    )
    const node = user("system:node:n", "system:nodes")
    assert.strictEqual(schema(node, list), "system-nodes")
    assert.strictEqual(
      schema(node, resource({ verb: "patch", resource: "nodes", subresource: "status" })),
      "system-node-high"
    )
    assert.strictEqual(schema(node, lease), "system-node-high")
    assert.strictEqual(schema(node, { ...lease, namespace: "" }), "system-nodes", "leases lie in namespaces")
    assert.strictEqual(schema(user("system:kube-scheduler"), list), "kube-scheduler")
  })

  it("goes by what is stored at that moment", () => {
    const { schema, storage } = setup()
    const jane = user("jane")
    const mine = (matchingPrecedence: number) =>
      storage.put(BootstrapFlows.schemas, "mine", "", {
        apiVersion: "flowcontrol.apiserver.k8s.io/v1",
        kind: "FlowSchema",
        metadata: { name: "mine", uid: "mine" },
        spec: {
          priorityLevelConfiguration: { name: "none" },
          matchingPrecedence,
          rules: [{
            subjects: [{ kind: "User", user: { name: "*" } }],
            resourceRules: [{
              verbs: ["list"],
              apiGroups: [""],
              resources: ["pods"],
              clusterScope: true,
              namespaces: ["*"]
            }]
          }]
        }
      } as unknown as KubeObject)
    mine(20_000)
    assert.strictEqual(schema(jane, list), "global-default")
    mine(50)
    assert.strictEqual(schema(jane, list), "mine")
    assert.strictEqual(schema(jane, { ...list, verb: "watch" }), "global-default")
    assert.strictEqual(schema(administrator, list), "exempt")
    storage.remove(BootstrapFlows.schemas, "mine", "")
    assert.strictEqual(schema(jane, list), "global-default")
  })
})
