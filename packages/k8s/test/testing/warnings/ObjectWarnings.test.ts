import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as DeprecatedVersions from "../../../src/testing/warnings/DeprecatedVersions.ts"
import * as ObjectWarnings from "../../../src/testing/warnings/ObjectWarnings.ts"
import { type Answer, get, layer, post, put } from "../support/server.ts"

const object = (fields: object, metadata: object = {}) => ({ metadata: { name: "a", ...metadata }, ...fields }) as never

const cases: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
  ["configmaps", {}, []],
  ["services", { spec: { type: "ClusterIP", clusterIP: "None", sessionAffinity: "ClientIP", externalName: "x" } }, [
    "spec.SessionAffinity is ignored for headless services",
    `spec.externalName is ignored when spec.type is not "ExternalName"`
  ]],
  ["endpoints", { subsets: [{ notReadyAddresses: [{ ip: "01.2.3.4" }] }] }, [
    `subsets[0].notReadyAddresses[0].ip: non-standard IP address "01.2.3.4" will be considered invalid in a future Kubernetes release: use "1.2.3.4"`
  ]],
  ["endpointslices.discovery.k8s.io", { addressType: "FQDN" }, ["spec.addressType: FQDN endpoints are deprecated"]],
  ["networkpolicies.networking.k8s.io", { spec: { egress: [{ to: [{ ipBlock: { cidr: "10.0.0.1/8" } }] }] } }, [
    `spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" ` +
    `or "10.0.0.1/32"?)`
  ]],
  ["persistentvolumes", { spec: { persistentVolumeReclaimPolicy: "Recycle", rbd: {} } }, [
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach " +
    "is to use dynamic provisioning.",
    "spec.rbd: deprecated in v1.28, non-functional in v1.31+"
  ]],
  ["persistentvolumeclaims", { spec: { resources: { requests: { storage: "1500m" } } } }, [
    `spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`
  ]],
  ["resourcequotas", { spec: { hard: { "cpu": "2", "limits.cpu": "1" } } }, [
    "ResourceQuota cpu (2) should be less than limits.cpu (1)"
  ]],
  ["secrets", { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } }, [
    "tls: failed to find any PEM data in certificate input"
  ]],
  ["statefulsets.apps", { spec: { revisionHistoryLimit: -1 } }, [
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
  ]]
]

describe("a new object of", () => {
  for (const [collection, fields, warnings] of cases) {
    it(
      collection,
      () => assert.deepStrictEqual(ObjectWarnings.ofObject(collection)(object(fields), undefined), warnings)
    )
  }
})

const template = { spec: { template: { spec: { terminationGracePeriodSeconds: -1 } } } }

it("a template is judged again only if something else is wanted", () => {
  const set = (generation: number) => object(template, { generation })
  const of = ObjectWarnings.ofObject("deployments.apps")
  assert.lengthOf(of(set(1), undefined), 1)
  assert.lengthOf(of(set(1), set(1)), 0)
  assert.lengthOf(of(set(2), set(1)), 1)
})

it("the template of a DaemonSet is judged again only if it has changed, which the DaemonSet counts", () => {
  const set = (generation: number, count: string) =>
    object(template, { generation, annotations: { "deprecated.daemonset.template.generation": count } })
  const of = ObjectWarnings.ofObject("daemonsets.apps")
  assert.lengthOf(of(object(template), undefined), 1)
  assert.lengthOf(of(set(2, "1"), set(1, "1")), 0)
  assert.lengthOf(of(set(3, "2"), set(2, "1")), 1)
})

it("a deprecated kind says since when, until when, and what to use", () => {
  assert.strictEqual(
    DeprecatedVersions.warning("v1", "Endpoints"),
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
  )
  assert.strictEqual(
    DeprecatedVersions.warning("resource.k8s.io/v1beta1", "DeviceClass"),
    "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+"
  )
  assert.isUndefined(DeprecatedVersions.warning("v1", "Pod"))
})

describe("a server", () => {
  const told = ({ headers }: Answer) => headers["warning"]
  const pods = "/api/v1/namespaces/default/pods"

  it.effect("says it of an object that it takes, and of one that is not new only if it should", () =>
    Effect.gen(function*() {
      const pod = { metadata: { name: "a.b" }, spec: { containers: [{ name: "c", image: "i" }] } }
      const created = yield* post(pods, pod)
      assert.strictEqual(created.status, 201)
      assert.match(told(created)!, /^299 - "metadata\.name: this is used in the Pod's hostname, which can result/)
      const again = yield* put(`${pods}/a.b`, {
        ...created.body,
        metadata: { ...created.body.metadata, labels: { a: "b" } }
      })
      assert.strictEqual(again.status, 200)
      assert.isUndefined(told(again))
    }).pipe(Effect.provide(layer)))

  it.effect("says it of every answer about a deprecated kind, and of no other", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        told(yield* get("/api/v1/endpoints")),
        `299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"`
      )
      assert.isUndefined(told(yield* get(pods)))
    }).pipe(Effect.provide(layer)))
})
