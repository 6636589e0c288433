import { assert, describe, it } from "@effect/vitest"
import type { Pod } from "../../../src/kinds/core.v1.ts"
import * as PodSources from "../../../src/testing/sim/PodSources.ts"

const pod = (spec: Partial<Pod["spec"]>): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", namespace: "default", uid: "1", resourceVersion: "1", creationTimestamp: "" },
  spec: { containers: [{ name: "main" }], ...spec }
})

const brief = (sources: ReadonlyArray<PodSources.Source>) =>
  sources.map(({ by, keys, kind, name }) => `${by}: ${kind} ${name} ${keys.join()}`)

describe("PodSources", () => {
  it("are what volumes take, projected ones too, but not what is optional, and not the cluster's CA", () => {
    const found = PodSources.mounted(pod({
      volumes: [
        { name: "keys", secret: { secretName: "tls" } },
        { name: "perhaps", secret: { secretName: "other", optional: true } },
        { name: "settings", configMap: { name: "conf", items: [{ key: "a", path: "b" }] } },
        { name: "empty", emptyDir: {} },
        {
          name: "all",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token" } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { secret: { name: "one" } },
              { configMap: { name: "two", optional: true } }
            ]
          }
        }
      ]
    }))
    assert.deepStrictEqual(brief(found), ["keys: Secret tls ", "settings: ConfigMap conf a", "all: Secret one "])
  })

  it("are what the environment of each container takes", () => {
    const found = PodSources.environment(pod({
      initContainers: [{ name: "first", envFrom: [{ configMapRef: { name: "conf" } }, { secretRef: { name: "" } }] }],
      containers: [{
        name: "main",
        env: [
          { name: "A", value: "1" },
          { name: "B", valueFrom: { secretKeyRef: { name: "tls", key: "crt" } } },
          { name: "C", valueFrom: { secretKeyRef: { name: "tls", key: "key", optional: true } } },
          { name: "D", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }
        ]
      }]
    }))
    assert.deepStrictEqual(brief(found), ["first: ConfigMap conf ", "main: Secret tls crt"])
  })

  it("are missed by name or by key", () => {
    const source = { kind: "ConfigMap", name: "conf", keys: ["a"], by: "settings" } as const
    const failed = "MountVolume.SetUp failed for volume \"settings\" : "
    assert.strictEqual(PodSources.mountError(source, undefined), `${failed}configmap "conf" not found`)
    assert.strictEqual(PodSources.mountError(source, new Set("b")), `${failed}references non-existent config key: a`)
    assert.isUndefined(PodSources.mountError(source, new Set("a")))
    assert.strictEqual(PodSources.environmentError(source, undefined, "x"), "configmap \"conf\" not found")
    assert.strictEqual(PodSources.environmentError(source, new Set(), "x"), "couldn't find key a in ConfigMap x/conf")
    assert.isUndefined(PodSources.environmentError(source, new Set("a"), "x"))
  })
})
