/** What the server tells of custom kinds and of itself: statements 2, 3 and 5. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Crypto from "node:crypto"
import { indexWith } from "../OpenApiIndex.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

type Json = { readonly [key: string]: any }

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const spec = {
  type: "object",
  description: "What is wanted.",
  required: ["size", "maybe"],
  properties: {
    size: { type: "integer", format: "int32", minimum: 1, description: "How many." },
    port: { "x-kubernetes-int-or-string": true },
    any: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "string" } } },
    maybe: { type: "object", nullable: true, properties: { a: { type: "string" } } },
    list: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", required: ["k"], properties: { k: { type: "string" } } }
    },
    choice: {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }]
    }
  }
}

/** A kind with everything that discovery tells of one, in two versions. */
const told = Effect.gen(function*() {
  const { request, unique, until } = yield* Target
  const group = `${unique("g")}.example.com`
  const version = (name: string, storage: boolean, more: object = {}) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: "object", description: "A thing.", properties: { spec } } },
    ...more
  })
  const made = yield* request("POST", definitions, {
    body: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "things", kind: "Thing", shortNames: ["th", "tg"], categories: ["mine", "all"] },
        versions: [
          version("v1beta1", false),
          version("v1", true, {
            subresources: { status: {}, scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" } }
          })
        ]
      }
    }
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  yield* until(request("GET", `/apis/${group}/v1/things`), ({ status }) => status === 200)
  yield* until(request("GET", `/apis/${group}/v1`), ({ object }) => object["resources"]?.length === 3)
  return group
})

/** Old servers call the document text. */
const document = ({ body }: Answer): Json => typeof body === "string" ? JSON.parse(body) : body as Json

/** The name of a group in names of definitions. */
const reversed = (group: string): string => group.split(".").toReversed().join(".")

export const openapi = [
  statement("2a", "a custom kind is discovered as its definition says", {}, function*() {
    const { request, until } = yield* Target
    const group = yield* told
    const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    const hash = Crypto.createHash("sha256").update(`${group}/v1/Thing`).digest().subarray(0, 8).toString("base64")
    const thing = {
      name: "things",
      singularName: "thing",
      namespaced: true,
      kind: "Thing",
      verbs,
      shortNames: ["th", "tg"],
      categories: ["mine", "all"],
      storageVersionHash: hash
    }
    const write = { singularName: "", namespaced: true, verbs: ["get", "patch", "update"] }
    const { object } = yield* request("GET", `/apis/${group}/v1`)
    assert.deepStrictEqual(object as unknown, {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: `${group}/v1`,
      resources: [
        thing,
        { ...write, name: "things/status", kind: "Thing" },
        { ...write, name: "things/scale", kind: "Scale", group: "autoscaling", version: "v1" }
      ]
    })
    // The hash is that of the version that is stored.
    const { object: older } = yield* until(request("GET", `/apis/${group}/v1beta1`), ({ status }) => status === 200)
    assert.deepStrictEqual(older["resources"], [thing])
    const named = yield* until(request("GET", `/apis/${group}`), ({ object }) => object["versions"]?.length === 2)
    assert.deepStrictEqual(named.object["versions"].map(({ version }: Json) => version), ["v1", "v1beta1"])
    assert.strictEqual(named.object["preferredVersion"].version, "v1")
    assert.strictEqual((yield* request("GET", `/apis/${group}/v2`)).status, 404)
    const { object: core } = yield* request("GET", "/api/v1")
    const resources: ReadonlyArray<Json> = core["resources"]
    const hashOf = (name: string) => resources.find((resource) => resource["name"] === name)!["storageVersionHash"]
    assert.deepStrictEqual(["configmaps", "events"].map(hashOf), ["qFsyl6wFWjQ=", "r2yiGXH7wu8="])
    // Definitions are stored as v1beta1, whichever version there is.
    const { object: extensions } = yield* request("GET", "/apis/apiextensions.k8s.io/v1")
    assert.strictEqual(extensions["resources"][0].storageVersionHash, "jfWCUB31mvA=")
    assert.isUndefined(hashOf("componentstatuses"))
  }),

  statement("3b", "aggregated discovery tells the same of a custom kind", { since: 27 }, function*() {
    const { request, until } = yield* Target
    const group = yield* told
    const read = (version: string) =>
      request("GET", "/apis", {
        headers: { accept: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList` }
      })
    const found = ({ object }: Answer): Json | undefined =>
      object["items"].find((item: Json) => item["metadata"].name === group)
    const answer = yield* until(read("v2"), (answer) => found(answer)?.["versions"].length === 2)
    assert.strictEqual(
      answer.headers["content-type"],
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    const [current, older] = found(answer)!["versions"]
    const responseKind = { group, version: "v1", kind: "Thing" }
    assert.deepStrictEqual(current, {
      version: "v1",
      resources: [{
        resource: "things",
        responseKind,
        scope: "Namespaced",
        singularResource: "thing",
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        shortNames: ["th", "tg"],
        categories: ["mine", "all"],
        subresources: [
          { subresource: "status", responseKind, verbs: ["get", "patch", "update"] },
          {
            subresource: "scale",
            responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
            verbs: ["get", "patch", "update"]
          }
        ]
      }],
      freshness: "Current"
    })
    assert.deepStrictEqual([older.version, older.freshness, older.resources.length], ["v1beta1", "Current", 1])
    const same = yield* request("GET", "/apis", {
      headers: {
        accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "if-none-match": answer.headers["etag"]!
      }
    })
    assert.strictEqual(same.status, 304)
  }),

  statement("5c", "OpenAPI v2 says of a custom kind what that version can say", {
    note: "the in-memory server called directly has no documents: they are its HTTP side's"
  }, function*() {
    const { request, server, until } = yield* Target
    if (server === "memory") return
    const group = yield* told
    const name = `${reversed(group)}.v1.Thing`
    const answer = yield* until(request("GET", "/openapi/v2"), ({ body }) => JSON.stringify(body).includes(name))
    const { definitions: schemas, parameters: shared, paths } = document(answer)
    const schema = schemas[name]
    assert.strictEqual(schema.description, "A thing.")
    assert.deepStrictEqual(Object.keys(schema.properties).sort(), ["apiVersion", "kind", "metadata", "spec"])
    assert.deepStrictEqual(schema.properties.spec, {
      type: "object",
      description: "What is wanted.",
      required: ["size"],
      properties: {
        size: { type: "integer", format: "int32", minimum: 1, description: "How many." },
        port: { "x-kubernetes-int-or-string": true },
        any: { "x-kubernetes-preserve-unknown-fields": true },
        maybe: {},
        list: spec.properties.list,
        choice: { type: "object", properties: spec.properties.choice.properties }
      }
    })
    assert.deepStrictEqual(schema["x-kubernetes-group-version-kind"], [{ group, kind: "Thing", version: "v1" }])
    const list = schemas[`${name}List`]
    assert.deepStrictEqual(list.required, ["items"])
    assert.deepInclude(list.properties.items, { type: "array", items: { $ref: `#/definitions/${name}` } })
    const base = `/apis/${group}/v1/namespaces/{namespace}/things`
    const camel = group.split(/[.-]/).map((part) => part[0]!.toUpperCase() + part.slice(1)).join("")
    assert.deepStrictEqual(
      Object.keys(paths).filter((path) => path.startsWith(`/apis/${group}/v1/`)).sort(),
      [base, `${base}/{name}`, `${base}/{name}/scale`, `${base}/{name}/status`, `/apis/${group}/v1/things`].sort()
    )
    const { delete: remove, get, parameters, patch, put } = paths[`${base}/{name}`]
    assert.strictEqual(get.operationId, `read${camel}V1NamespacedThing`)
    assert.strictEqual(remove["x-kubernetes-action"], "delete")
    assert.deepStrictEqual(put.responses["200"].schema, { $ref: `#/definitions/${name}` })
    assert.includeMembers(patch.consumes, ["application/merge-patch+json", "application/apply-patch+yaml"])
    // Since 1.27 parameters that are told often are told once, and referred to.
    const names = parameters.map(({ $ref, name }: Json) =>
      name ?? shared[String($ref).replace("#/parameters/", "")].name
    )
    assert.includeMembers(names, ["name", "namespace", "pretty"])
    assert.strictEqual(paths[base].get["x-kubernetes-action"], "list")
    assert.strictEqual(paths[base].post.operationId, `create${camel}V1NamespacedThing`)
    assert.strictEqual(
      paths[`/apis/${group}/v1/things`].get.operationId,
      `list${camel}V1ThingForAllNamespaces`
    )
    // Built-in kinds have theirs, too.
    assert.strictEqual(
      paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"].put.operationId,
      "replaceAppsV1NamespacedDeploymentScale"
    )
    assert.strictEqual(paths["/api/v1/pods"].get.operationId, "listCoreV1PodForAllNamespaces")
  }),

  statement("5d", "OpenAPI v3 says all that a schema says; a document that is asked for by its hash never changes", {
    since: 27,
    note: "the in-memory server called directly has no documents: they are its HTTP side's"
  }, function*() {
    const { request, server } = yield* Target
    if (server === "memory") return
    const group = yield* told
    const key = `apis/${group}/v1`
    const url = (yield* indexWith(key))[key]!.serverRelativeURL
    const [path, hash] = url.split("?hash=")
    const found = yield* request("GET", path!, { query: { hash: hash! } })
    assert.deepInclude(found.headers, { etag: `"${hash}"`, "cache-control": "public, immutable" })
    const { schemas } = found.object["components"]
    const schema = schemas[`${reversed(group)}.v1.Thing`]
    assert.deepInclude(schema.properties.spec.properties.choice, { oneOf: spec.properties.choice.oneOf })
    assert.deepStrictEqual(schema.properties.spec.properties.maybe, spec.properties.maybe)
    assert.deepStrictEqual(schema.properties.spec.properties.port, {
      "x-kubernetes-int-or-string": true,
      anyOf: [{ type: "integer" }, { type: "string" }]
    })
    assert.property(schemas, "io.k8s.api.autoscaling.v1.Scale")
    assert.property(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
    const operations = found.object["paths"][`/apis/${group}/v1/namespaces/{namespace}/things/{name}`]
    assert.deepStrictEqual(operations.get["x-kubernetes-group-version-kind"], { group, kind: "Thing", version: "v1" })
    assert.property(operations.patch.requestBody.content, "application/apply-patch+yaml")
    const moved = yield* request("GET", path!, { query: { hash: "OLD" } })
    assert.deepStrictEqual([moved.status, moved.headers["location"]], [301, url])
    const same = yield* request("GET", path!, { query: { hash: hash! }, headers: { "if-none-match": `"${hash}"` } })
    assert.strictEqual(same.status, 304)
    assert.strictEqual((yield* request("GET", `/openapi/v3/apis/${group}/v9`)).status, 404)
  }),

  statement("5e", "health is told check by check, without those that are excluded", {}, function*() {
    const { request } = yield* Target
    for (
      const path of ["/healthz", "/livez", "/readyz", "/livez/ping", "/healthz/poststarthook/rbac/bootstrap-roles"]
    ) {
      const { body, headers, status } = yield* request("GET", path)
      assert.deepStrictEqual([path, status, body], [path, 200, "ok"])
      assert.strictEqual(headers["content-type"], "text/plain; charset=utf-8")
    }
    const { body } = yield* request("GET", "/readyz", { query: { verbose: "", exclude: "etcd" } })
    const lines = String(body).split("\n")
    assert.deepStrictEqual(lines.slice(0, 3), ["[+]ping ok", "[+]log ok", "[+]etcd excluded: ok"])
    assert.includeMembers(lines, [
      "[+]informer-sync ok",
      "[+]poststarthook/crd-informer-synced ok",
      "[+]autoregister-completion ok"
    ])
    assert.deepStrictEqual(lines.slice(-3), ["[+]shutdown ok", "readyz check passed", ""])
    const strange = yield* request("GET", "/livez", { query: { verbose: "true", exclude: "nonsense" } })
    assert.deepStrictEqual(String(strange.body).split("\n").slice(-3), [
      "warn: some health checks cannot be excluded: no matches for \"nonsense\"",
      "livez check passed",
      ""
    ])
    assert.strictEqual((yield* request("GET", "/healthz/nonsense")).status, 404)
    const metrics = yield* request("GET", "/metrics")
    assert.strictEqual(metrics.headers["content-type"]?.split(";")[0], "text/plain")
    assert.include(String(metrics.body), "kubernetes_build_info{")
  }),

  statement(
    "5f",
    "the root tells every path; a path nobody knows is no page",
    {},
    function*() {
      const { minor, request } = yield* Target
      const { object: root } = yield* request("GET", "/")
      assert.includeMembers(root["paths"], ["/api/v1", "/apis/apps/v1", "/healthz/ping", "/openapi/v2", "/version"])
      for (const path of ["/nonsense", "/healthz/", "/openapi/v9", "/.well-known"]) {
        const { headers, object, status } = yield* request("GET", path)
        assert.strictEqual(status, 404, path)
        if (minor >= 30) {
          assert.strictEqual(headers["content-type"], "text/plain; charset=utf-8", path)
          continue
        }
        assert.strictEqual(headers["content-type"], "application/json")
        assert.includeMembers(object["paths"], ["/apis/apiextensions.k8s.io/v1", "/livez/ping", "/version"])
        assert.notInclude(object["paths"], "/apis/apps/v1")
      }
      // Lists of groups do not look at the method.
      assert.strictEqual((yield* request("POST", "/apis", { body: {} })).status, 200)
      assert.strictEqual((yield* request("POST", "/apis/apps/v1", { body: {} })).status, 405)
    }
  )
]
