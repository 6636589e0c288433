import { assert, describe, it } from "@effect/vitest"
import { dataOf, hashOf } from "../../../src/testing/sim/Revisions.ts"
import { fnv1, fnv1a, safe, utf8 } from "../../../src/testing/sim/Hash.ts"
import { templateHash } from "../../../src/testing/sim/TemplateHash.ts"

// What Go printed and hashed, with the structs of k8s.io/api v0.35.0.
const plain = {
  metadata: { labels: { app: "web", b: "c" } },
  spec: {
    nodeSelector: { x: "y" },
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [{
      name: "c",
      image: "nginx:1",
      args: ["a", "b"],
      ports: [{ containerPort: 80, protocol: "TCP" }],
      readinessProbe: { httpGet: { path: "/", port: "http", scheme: "HTTP" } },
      livenessProbe: { tcpSocket: { port: 80 } },
      resources: { requests: { cpu: "100m", memory: "1Gi" }, limits: { cpu: "2", memory: "1500Mi" } },
      securityContext: { runAsUser: 5, privileged: false }
    }],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    tolerations: [{ key: "a", operator: "Exists", tolerationSeconds: 3 }]
  }
}

describe("TemplateHash", () => {
  it("is the hash of Go's", () => {
    assert.strictEqual(templateHash(plain, undefined), "7c49f9c475")
  })

  it("does not depend on the order of keys, nor on what is empty anyway", () => {
    const { metadata, spec } = plain
    assert.strictEqual(
      templateHash({
        spec: { ...spec, initContainers: [] },
        metadata: { ...metadata, annotations: {}, labels: { b: "c", app: "web" } }
      }, undefined),
      "7c49f9c475"
    )
  })

  it("is another one after a collision, and for another template", () => {
    const hashes = new Set([
      templateHash(plain, undefined),
      templateHash(plain, 0),
      templateHash(plain, 1),
      templateHash({ ...plain, spec: { ...plain.spec, hostNetwork: true } }, undefined)
    ])
    assert.strictEqual(hashes.size, 4)
    for (const hash of hashes) assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/)
  })
})

describe("Hash", () => {
  it("is FNV, spelt in safe letters", () => {
    // The test vectors of the FNV reference.
    assert.strictEqual(fnv1a(utf8("foobar")), 0xbf9cf968)
    assert.strictEqual(fnv1(utf8("foobar")), 0x31f0b262)
    assert.strictEqual(fnv1a([]), 0x811c9dc5)
    assert.strictEqual(safe(0), "4")
  })
})

describe("Revisions", () => {
  it("hashes what it holds, and how often that collided", () => {
    const data = dataOf(plain)
    assert.strictEqual(hashOf(data, 0), hashOf(dataOf(JSON.parse(JSON.stringify(plain))), 0))
    assert.notStrictEqual(hashOf(data, 0), hashOf(data, 1))
  })
})
