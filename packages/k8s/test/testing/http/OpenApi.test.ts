import { KubeClient } from "@effect-operator/core/KubeClient"
import type { Request } from "@effect-operator/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CustomResourceDefinition } from "../../../src/kinds/apiextensions.v1.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as OpenApiDocument from "../../../src/api/OpenApiDocument.ts"
import * as OpenApiEndpoint from "../../../src/testing/http/OpenApiEndpoint.ts"
import * as OpenApiProtobuf from "../../../src/testing/http/OpenApiProtobuf.ts"
import * as TestClient from "../../../src/testing/TestClient.ts"

const spec = {
  type: "object",
  required: ["size"],
  properties: {
    size: { type: "integer", minimum: 1, nullable: true },
    port: { "x-kubernetes-int-or-string": true },
    any: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "string" } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    either: { type: "string", anyOf: [{ minLength: 1 }], default: "a" },
    quantity: { type: "string", "x-kubernetes-int-or-string": true }
  }
}

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: "object", properties: { spec } } }
    }]
  }
}

const source: OpenApiDocument.Source = {
  groupVersions: ["v1", "apps/v1", "example.com/v1"],
  customs: [definition],
  remotes: ["metrics.example.com/v1"]
}

// The shape of the documents is what the tests are about.
type Json = any

/** A protobuf message as its fields, numbers to values. */
const fields = (bytes: Uint8Array): ReadonlyArray<readonly [number, number | Uint8Array]> => {
  const result: Array<readonly [number, number | Uint8Array]> = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0;; shift += 7) {
      const byte = bytes[at++]!
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Math.floor(tag / 8)
    if (tag % 8 === 0) result.push([number, varint()])
    else {
      const size = tag % 8 === 1 ? 8 : varint()
      result.push([number, bytes.subarray(at, at += size)])
    }
  }
  return result
}

const all = (bytes: Uint8Array, number: number) =>
  fields(bytes).filter(([n]) => n === number).map(([, value]) => value as Uint8Array)
const one = (bytes: Uint8Array, ...path: ReadonlyArray<number>) =>
  path.reduce((inner, number) => all(inner, number)[0]!, bytes)
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8")
const named = (bytes: Uint8Array, name: string) => one(all(bytes, 1).find((entry) => text(one(entry, 1)) === name)!, 2)

describe("OpenApiDocument", () => {
  it("version 2 has every built-in kind with what kubectl needs to validate and to merge", () => {
    const { definitions, paths }: Json = OpenApiDocument.version2(source, [])
    const podSpec = definitions["io.k8s.api.core.v1.PodSpec"]
    assert.deepStrictEqual(podSpec.required, ["containers"])
    assert.strictEqual(podSpec.properties.containers.items.$ref, "#/definitions/io.k8s.api.core.v1.Container")
    assert.strictEqual(podSpec.properties.containers["x-kubernetes-patch-merge-key"], "name")
    assert.strictEqual(podSpec.properties.containers["x-kubernetes-patch-strategy"], "merge")
    assert.deepStrictEqual(definitions["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"], [
      { group: "apps", version: "v1", kind: "Deployment" }
    ])
    const { patch } = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert.deepStrictEqual(patch["x-kubernetes-group-version-kind"], {
      group: "apps",
      version: "v1",
      kind: "Deployment"
    })
    assert.include(patch.parameters.map(({ name }: Json) => name), "dryRun")
    assert.isUndefined(paths["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"])
  })

  it("tells which words a field takes, and of what is required in the order of the Go type", () => {
    const words = ["Always", "IfNotPresent", "Never"]
    const { definitions }: Json = OpenApiDocument.version2(source, [])
    const { Container, PersistentVolumeClaimStatus, RoleRef, VolumeMountStatus } = Object.fromEntries(
      ["core.v1.Container", "core.v1.PersistentVolumeClaimStatus", "rbac.v1.RoleRef", "core.v1.VolumeMountStatus"].map(
        (name) => [name.split(".").at(-1), definitions[`io.k8s.api.${name}`]]
      )
    )
    assert.deepStrictEqual(Container.properties.imagePullPolicy, { type: "string", enum: words })
    assert.include(PersistentVolumeClaimStatus.properties.accessModes.items.enum, "ReadWriteOnce")
    assert.include(
      PersistentVolumeClaimStatus.properties.allocatedResourceStatuses.additionalProperties.enum,
      "NodeResizePending"
    )
    assert.deepStrictEqual(VolumeMountStatus.required, ["name", "mountPath"])
    assert.isUndefined(RoleRef, "of a version that is not served")
    const core: Json = OpenApiDocument.version3(source, "api/v1")
    assert.deepStrictEqual(core.components.schemas["io.k8s.api.core.v1.Container"].properties.imagePullPolicy, {
      type: "string",
      enum: words
    })
  })

  it("version 3 fills in what is no pointer, and takes numbers for texts", () => {
    const { components: { schemas } }: Json = OpenApiDocument.version3(source, "api/v1")
    const reference = (name: string) => ({ $ref: `#/components/schemas/io.k8s.${name}` })
    const pod = schemas["io.k8s.api.core.v1.Pod"].properties
    assert.deepStrictEqual(pod.spec, { allOf: [reference("api.core.v1.PodSpec")], default: {} })
    const { properties: { containers, securityContext } } = schemas["io.k8s.api.core.v1.PodSpec"]
    assert.deepStrictEqual(containers.items, { allOf: [reference("api.core.v1.Container")], default: {} })
    assert.deepStrictEqual(securityContext, reference("api.core.v1.PodSecurityContext"))
    const { command, name, ports } = schemas["io.k8s.api.core.v1.Container"].properties
    assert.deepStrictEqual(name, { type: "string", default: "" })
    assert.deepStrictEqual(command.items, { type: "string", default: "" })
    assert.notProperty(ports, "default")
    assert.deepStrictEqual(schemas["io.k8s.api.core.v1.ContainerPort"].properties.protocol.default, "TCP")
    assert.deepStrictEqual(schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"], {
      oneOf: [{ type: "integer" }, { type: "string" }],
      format: "int-or-string"
    })
    const { definitions }: Json = OpenApiDocument.version2(source, [])
    assert.notProperty(definitions["io.k8s.api.core.v1.ContainerPort"].properties.protocol, "default")
  })

  it("has no kinds and fields that came later", () => {
    const names = { groupVersions: ["v1", "admissionregistration.k8s.io/v1"], customs: [], remotes: [] }
    const { definitions, paths }: Json = OpenApiDocument.version2(names, [])
    assert.notProperty(definitions["io.k8s.api.core.v1.PodSpec"].properties, "schedulingGroup")
    assert.property(definitions["io.k8s.api.core.v1.PodSpec"].properties, "workloadRef")
    assert.notProperty(definitions, "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy")
    assert.notProperty(paths, "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies")
  })

  it("version 2 says of a custom kind what that version can say", () => {
    const { definitions, paths }: Json = OpenApiDocument.version2(source, [])
    const widget = definitions["com.example.v1.Widget"]
    assert.deepStrictEqual(widget["x-kubernetes-group-version-kind"], [{
      group: "example.com",
      version: "v1",
      kind: "Widget"
    }])
    assert.strictEqual(widget.properties.metadata.$ref, "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert.deepStrictEqual(widget.properties.spec, {
      type: "object",
      properties: {
        size: { minimum: 1 },
        port: { "x-kubernetes-int-or-string": true },
        any: { "x-kubernetes-preserve-unknown-fields": true },
        labels: { type: "object", additionalProperties: { type: "string" } },
        either: { type: "string" },
        quantity: { type: "string", "x-kubernetes-int-or-string": true }
      }
    })
    assert.isDefined(paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"].patch)
  })

  it("tells of the paths of discovery, of each in a document and in those of built-in versions", () => {
    const index: Json = OpenApiDocument.version3Root(source, () => "H")
    const roots = Object.keys(index.paths)
    assert.includeMembers(roots, ["api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version", "openid/v1/jwks"])
    assert.notInclude(roots, "apis/example.com")
    const group: Json = OpenApiDocument.version3(source, "apis/apps")
    assert.deepStrictEqual(group.info, { title: "Kubernetes", version: "1.35" })
    assert.strictEqual(group.paths["/apis/apps/"].get.operationId, "getAppsAPIGroup")
    assert.deepStrictEqual(Object.keys(group.components.schemas).map((name) => name.split(".").at(-1)).sort(), [
      "APIGroup",
      "GroupVersionForDiscovery",
      "ServerAddressByClientCIDR"
    ])
    const apps: Json = OpenApiDocument.version3(source, "apis/apps/v1")
    assert.strictEqual(apps.paths["/apis/apps/v1/"].get.operationId, "getAppsV1APIResources")
    const custom: Json = OpenApiDocument.version3(source, "apis/example.com/v1")
    assert.deepStrictEqual(custom.info, { title: "Kubernetes CRD Swagger", version: "v0.1.0" })
    const { paths }: Json = OpenApiDocument.version2(source, [])
    assert.strictEqual(
      paths["/version/"].get.responses[200].schema.$ref,
      "#/definitions/io.k8s.apimachinery.pkg.version.Info"
    )
    assert.deepStrictEqual(paths["/.well-known/openid-configuration/"].get.tags, ["WellKnown"])
  })

  it("version 3 documents hold everything they refer to", () => {
    for (const groupVersion of source.groupVersions) {
      const document: Json = OpenApiDocument.version3(source, groupVersion === "v1" ? "api/v1" : `apis/${groupVersion}`)
      const { schemas } = document.components
      for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
        assert.isDefined(schemas[name!], `${groupVersion}: ${name}`)
      }
    }
    const widgets: Json = OpenApiDocument.version3(source, "apis/example.com/v1")
    assert.deepStrictEqual(widgets.components.schemas["com.example.v1.Widget"].properties.spec, {
      ...spec,
      properties: {
        ...spec.properties,
        port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
        quantity: { ...spec.properties.quantity, anyOf: [{ type: "integer" }, { type: "string" }] }
      }
    })
    assert.deepStrictEqual(widgets.components.schemas["com.example.v1.WidgetList"].properties.items, {
      type: "array",
      description:
        "List of widgets. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
      items: { $ref: "#/components/schemas/com.example.v1.Widget" }
    })
    const { apiVersion, kind, metadata } = widgets.components.schemas["com.example.v1.Widget"].properties
    assert.match(apiVersion.description, /^APIVersion defines the versioned schema .*#resources$/)
    assert.match(kind.description, /^Kind is a string value .*#types-kinds$/)
    assert.match(metadata.description, /^Standard object's metadata\. .*#metadata$/)
    assert.isUndefined(OpenApiDocument.version3(source, "apis/example.com/v2"))
  })

  it("the protobuf form carries the same under gnostic's field numbers", () => {
    const bytes = OpenApiProtobuf.encode(OpenApiDocument.version2(source, []))
    assert.strictEqual(text(one(bytes, 1)), "2.0")
    const podSpec = named(one(bytes, 9), "io.k8s.api.core.v1.PodSpec")
    assert.deepStrictEqual(all(podSpec, 19).map(text), ["containers"])
    const containers = named(one(podSpec, 25), "containers")
    assert.strictEqual(text(one(containers, 22, 1)), "array")
    assert.strictEqual(text(one(containers, 23, 1, 1)), "#/definitions/io.k8s.api.core.v1.Container")
    const widget = named(one(bytes, 9), "com.example.v1.Widget")
    const [extension] = all(widget, 31)
    assert.strictEqual(text(one(extension!, 1)), "x-kubernetes-group-version-kind")
    assert.strictEqual(text(one(extension!, 2, 2)), "- group: example.com\n  kind: Widget\n  version: v1\n")
    const labels = named(one(named(one(widget, 25), "spec"), 25), "labels")
    assert.strictEqual(text(one(labels, 21, 1, 22, 1)), "string")
    const path = all(one(bytes, 8), 2).find((entry) => text(one(entry, 1)).endsWith("/widgets/{name}"))!
    const parameters = all(one(path, 2, 8), 8).map((parameter) => text(one(parameter, 1, 2, 3, 4)))
    assert.deepStrictEqual(parameters, ["dryRun", "fieldManager", "fieldValidation", "force"])
    // kubectl looks here for how it may merge.
    const deployment = all(one(bytes, 8), 2).find((entry) => text(one(entry, 1)).endsWith("/deployments/{name}"))!
    assert.include(all(one(deployment, 2, 8), 7).map(text), "application/strategic-merge-patch+json")
  })
})

describe("OpenApiEndpoint", () => {
  it.effect("follows the definitions, and answers 304 to who has the document", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      const answer = OpenApiEndpoint.make(yield* ApiServer)
      const get = (path: string, headers: Readonly<Record<string, string>> = {}, query: Request["query"] = []) =>
        answer({ method: "GET", path, query, headers })
      const before = yield* get("/openapi/v2")
      const same = yield* get("/openapi/v2", { "if-none-match": before!.headers["etag"]! })
      assert.strictEqual(same?.status, 304)
      assert.strictEqual((yield* get("/openapi/v3/apis/example.com/v1")).status, 404)
      const pods = yield* get("/openapi/v3/api/v1")
      yield* client.create(CustomResourceDefinition, definition)
      const after = yield* get("/openapi/v2", { "if-none-match": before!.headers["etag"]! })
      assert.strictEqual(after?.status, 200)
      assert.isDefined((after!.body as Json).definitions["com.example.v1.Widget"])
      // What has nothing to do with the definition keeps its tag.
      assert.strictEqual((yield* get("/openapi/v3/api/v1"))!.headers["etag"], pods!.headers["etag"])
      const root: Json = (yield* get("/openapi/v3"))?.body
      assert.isDefined(root.paths["api/v1"])
      assert.isDefined(root.paths["apis/apps/v1"])
      const { serverRelativeURL } = root.paths["apis/example.com/v1"]
      const [path, hash] = serverRelativeURL.split("?hash=")
      assert.strictEqual(path, "/openapi/v3/apis/example.com/v1")
      const document = yield* get(path, {}, [["hash", hash]])
      assert.strictEqual(document!.headers["etag"], `"${hash}"`)
      assert.strictEqual(document!.headers["cache-control"], "public, immutable")
      const moved = yield* get(path, {}, [["hash", "OLD"]])
      assert.deepStrictEqual([moved!.status, moved!.headers["location"]], [301, serverRelativeURL])
      assert.strictEqual((yield* get(path))?.status, 200)
      const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
      assert.instanceOf((yield* get("/openapi/v2", { accept }))?.body, Uint8Array)
    }).pipe(Effect.provide(TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer)))))
})
