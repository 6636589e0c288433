import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Scheme from "../../../src/testing/server/Scheme.ts"
import { layer, patch, post } from "../support/server.ts"

const deployments = "/apis/apps/v1/namespaces/default/deployments"

describe("Scheme", () => {
  it("knows kinds of old versions, and where they are now", () => {
    const [old, now] = [
      { apiVersion: "extensions/v1beta1", kind: "Ingress" },
      { apiVersion: "networking.k8s.io/v1", kind: "Ingress" }
    ]
    assert.isTrue(Scheme.knows("networking.k8s.io", old))
    assert.isTrue(Scheme.isSame(old, now))
    assert.isFalse(Scheme.isSame({ apiVersion: "apps/v1", kind: "Deployment" }, now))
    assert.isTrue(Scheme.isSame({ apiVersion: "v1", kind: "Event" }, { apiVersion: "events.k8s.io/v1", kind: "Event" }))
    assert.isFalse(Scheme.knows("apps", { apiVersion: "apps/v1beta9", kind: "Deployment" }))
    assert.isFalse(Scheme.knows("apps", { apiVersion: "apps/v1", kind: "Scale" }))
  })

  it("is one for definitions, one for API services and one for all others", () => {
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" }
    assert.isTrue(Scheme.knows("apiextensions.k8s.io", definition))
    assert.isFalse(Scheme.knows("apps", definition))
    assert.isFalse(Scheme.knows("apiextensions.k8s.io", { apiVersion: "apps/v1", kind: "Deployment" }))
    assert.isTrue(Scheme.knows("apiextensions.k8s.io", { apiVersion: "v1", kind: "Status" }))
    assert.isTrue(Scheme.knows("apps", { apiVersion: "apps/v1", kind: "DeleteOptions" }))
  })

  it.effect("refuses other versions of a kind as such, and other kinds as what they are", () =>
    Effect.gen(function*() {
      const said = (path: string, apiVersion: string, kind: string) =>
        Effect.map(post(path, { apiVersion, kind, metadata: { name: "a" } }), ({ body }) => body.message as string)
      assert.strictEqual(
        yield* said(deployments, "apps/v1beta1", "Deployment"),
        "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)"
      )
      assert.strictEqual(
        yield* said(deployments, "extensions/v1beta1", "DaemonSet"),
        "DaemonSet in version \"v1beta1\" cannot be handled as a Deployment: converting (v1beta1.DaemonSet) to " +
          "(apps.Deployment): unknown conversion"
      )
      const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
      assert.strictEqual(
        yield* said(definitions, "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
        "the API version in the data (apiextensions.k8s.io/v1beta1) does not match the expected API version " +
          "(apiextensions.k8s.io/v1)"
      )
      assert.include(
        yield* said(definitions, "apps/v1", "Deployment"),
        "no kind \"Deployment\" is registered for version \"apps/v1\" in scheme \"pkg/apiserver/apiserver.go:55\""
      )
      assert.include(
        yield* said(definitions, "", "CustomResourceDefinition"),
        "spec.versions: Invalid value: null: must have exactly one version marked as storage version"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what a patch makes of an object may be written as in an old version, and so may an eviction", () =>
    Effect.gen(function*() {
      const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
      yield* post(deployments, { metadata: { name: "a" }, spec: { selector: { matchLabels: { a: "b" } }, template } })
      const patched = yield* patch(`${deployments}/a`, "merge", { apiVersion: "apps/v1beta1", spec: { replicas: 2 } })
      assert.strictEqual(patched.status, 200)
      assert.deepInclude(patched.body, { apiVersion: "apps/v1", kind: "Deployment" })
      yield* post("/api/v1/namespaces/default/pods", { ...template, metadata: { name: "a" } })
      const evicted = yield* post("/api/v1/namespaces/default/pods/a/eviction", {
        apiVersion: "policy/v1beta1",
        kind: "Eviction",
        metadata: { name: "a" }
      })
      assert.strictEqual(evicted.status, 201)
    }).pipe(Effect.provide(layer)))
})
