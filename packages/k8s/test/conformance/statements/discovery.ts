import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { indexWith } from "../OpenApiIndex.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

const version = (name: string, storage = false) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: "object" } }
})

/** A path nobody serves. */
const isNoPage = ({ body, headers, status }: Answer, path: string) => {
  assert.deepStrictEqual([status, body], [404, "404 page not found\n"], path)
  assert.strictEqual(headers["content-type"], "text/plain; charset=utf-8", path)
  assert.strictEqual(headers["x-content-type-options"], "nosniff", path)
}

/** Nothing there, in a group that is. */
const isGenericNotFound = ({ error, headers, status }: Answer, path: string) => {
  assert.deepStrictEqual([status, error.reason, error.code], [404, "NotFound", 404], path)
  assert.strictEqual(error.message, "the server could not find the requested resource", path)
  assert.deepStrictEqual(error.details, {}, path)
  assert.strictEqual(headers["content-type"], "application/json", path)
}

const isMethodNotAllowed = ({ error, status }: Answer, what: string) => {
  assert.deepStrictEqual([status, error.reason, error.code], [405, "MethodNotAllowed", 405], what)
  assert.strictEqual(error.message, "the server does not allow this method on the requested resource", what)
  assert.deepStrictEqual(error.details, {}, what)
}

const aggregatedForm = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

export const discovery = [
  statement("1", "/api and /apis name versions and groups, each with its preferred version", {
    note: "/api and /api/v1 have no apiVersion"
  }, function*() {
    const { request } = yield* Target
    const core = yield* request("GET", "/api")
    assert.strictEqual(core.status, 200)
    assert.deepInclude(core.object, { kind: "APIVersions", versions: ["v1"] })
    assert.notProperty(core.object, "apiVersion")
    assert.strictEqual(core.object["serverAddressByClientCIDRs"][0].clientCIDR, "0.0.0.0/0")

    const groups = yield* request("GET", "/apis")
    assert.deepInclude(groups.object, { kind: "APIGroupList", apiVersion: "v1" })
    const apps = { groupVersion: "apps/v1", version: "v1" }
    const entry = { name: "apps", versions: [apps], preferredVersion: apps }
    assert.deepStrictEqual(groups.object["groups"].find(({ name }: any) => name === "apps"), entry)
    assert.notInclude(groups.object["groups"].map(({ name }: any) => name), "", "the core group is not in it")
    const group = yield* request("GET", "/apis/apps")
    assert.deepStrictEqual(group.object, { kind: "APIGroup", apiVersion: "v1", ...entry } as never)

    const resources = yield* request("GET", "/api/v1")
    assert.deepInclude(resources.object, { kind: "APIResourceList", groupVersion: "v1" })
    assert.notProperty(resources.object, "apiVersion")
    const named = yield* request("GET", "/apis/apps/v1")
    assert.deepInclude(named.object, { kind: "APIResourceList", apiVersion: "v1", groupVersion: "apps/v1" })
  }),

  statement("1a", "versions of a group stand in order of their maturity, the first preferred", {
    note: "versions that are no Kubernetes versions come last, in the order of the alphabet"
  }, function*() {
    const { kind, request, until } = yield* Target
    const versions = ["v1alpha1", "foo", "v2beta1", "v10", "v1", "v2"].map((name) => version(name, name === "v1"))
    const { group } = yield* kind({ definition: { versions } })
    // A real server learns of them one after the other.
    const { object } = yield* until(
      request("GET", `/apis/${group}`),
      ({ object }) => object["versions"]?.length === versions.length
    )
    const names = ["v10", "v2", "v1", "v2beta1", "v1alpha1", "foo"]
    assert.deepStrictEqual(object["versions"].map(({ version }: any) => version), names)
    assert.deepStrictEqual(object["preferredVersion"], { groupVersion: `${group}/v10`, version: "v10" })
    assert.deepStrictEqual(object["versions"].at(-1), { groupVersion: `${group}/foo`, version: "foo" })
  }),

  statement(
    "1b",
    "alpha and beta versions of built-in groups are not served unless asked for",
    { since: 34 },
    function*() {
      const { request } = yield* Target
      const { object } = yield* request("GET", "/apis")
      for (const name of ["certificates.k8s.io", "coordination.k8s.io", "networking.k8s.io", "resource.k8s.io"]) {
        const group = object["groups"].find((group: any) => group.name === name)
        assert.deepStrictEqual(group.versions.map(({ version }: any) => version), ["v1"], name)
      }
      assert.notInclude(object["groups"].map(({ name }: any) => name), "storagemigration.k8s.io")
      for (const path of ["/coordination.k8s.io/v1beta1/leasecandidates", "/resource.k8s.io/v1beta1/deviceclasses"]) {
        isGenericNotFound(yield* request("GET", `/apis${path}`), path)
      }
      isNoPage(yield* request("GET", "/apis/storagemigration.k8s.io/v1beta1"), "a group that is not served")
      const service = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.coordination.k8s.io"
      assert.strictEqual((yield* request("GET", service)).status, 404)
    }
  ),

  statement("2", "a version lists its resources and, by path, their subresources", {
    note: "singularName of built-ins is empty before 1.27"
  }, function*() {
    const { kind, minor, request, until } = yield* Target
    const find = (answer: Answer, wanted: string) => answer.object["resources"].find(({ name }: any) => name === wanted)
    const core = yield* request("GET", "/api/v1")
    const { storageVersionHash, ...pods } = find(core, "pods")
    assert.deepStrictEqual(pods, {
      name: "pods",
      singularName: minor < 27 ? "" : "pod",
      namespaced: true,
      kind: "Pod",
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      shortNames: ["po"],
      categories: ["all"]
    })
    assert.match(storageVersionHash, /^[A-Za-z0-9+/]{11}=$/)
    assert.deepInclude(find(core, "pods/status"), { kind: "Pod", verbs: ["get", "patch", "update"], singularName: "" })
    assert.deepInclude(find(core, "pods/eviction"), { group: "policy", kind: "Eviction", verbs: ["create"] })
    assert.strictEqual(find(core, "namespaces").namespaced, false)
    const apps = yield* request("GET", "/apis/apps/v1")
    assert.deepInclude(find(apps, "deployments/scale"), { group: "autoscaling", version: "v1", kind: "Scale" })

    const { group } = yield* kind({
      status: true,
      version: {
        subresources: { status: {}, scale: { specReplicasPath: ".spec.x", statusReplicasPath: ".status.x" } }
      },
      definition: {
        names: { plural: "widgets", singular: "widget", kind: "Widget", shortNames: ["wd"], categories: ["all"] }
      }
    })
    const custom = yield* until(request("GET", `/apis/${group}/v1`), ({ status }) => status === 200)
    const names = custom.object["resources"].map(({ name }: any) => name)
    assert.deepStrictEqual(names, ["widgets", "widgets/status", "widgets/scale"])
    assert.deepInclude(find(custom, "widgets"), {
      singularName: "widget",
      namespaced: true,
      kind: "Widget",
      verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
      shortNames: ["wd"],
      categories: ["all"]
    })
    assert.match(find(custom, "widgets").storageVersionHash, /^[A-Za-z0-9+/]{11}=$/)
    assert.deepInclude(find(custom, "widgets/scale"), {
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
      verbs: ["get", "patch", "update"]
    })
  }),

  statement("3", "the aggregated form of discovery has an ETag, and is not sent again to who has it", {
    since: 30,
    note: "v2beta1 from 1.26 to 1.32"
  }, function*() {
    const { kind, request } = yield* Target
    const { group } = yield* kind({ status: true })
    const first = yield* request("GET", "/apis", { headers: { accept: `${aggregatedForm},application/json` } })
    assert.strictEqual(first.status, 200)
    assert.deepInclude(first.object, { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" })
    assert.strictEqual(first.headers["content-type"], aggregatedForm)
    assert.match(first.headers["etag"]!, /^"[0-9A-F]+"$/)
    const { versions } = first.object["items"].find(({ metadata }: any) => metadata.name === group)
    assert.deepStrictEqual([versions[0].version, versions[0].freshness], ["v1", "Current"])
    const [{ subresources, ...resource }] = versions[0].resources
    assert.deepInclude(resource, {
      resource: "widgets",
      responseKind: { group, version: "v1", kind: "Widget" },
      scope: "Namespaced",
      singularResource: "widget"
    })
    assert.strictEqual(subresources[0].subresource, "status")

    const headers = { accept: aggregatedForm, "if-none-match": first.headers["etag"]! }
    const again = yield* request("GET", "/apis", { headers })
    assert.deepStrictEqual([again.status, again.body], [304, undefined])
    assert.strictEqual(again.headers["etag"], first.headers["etag"])
    yield* kind()
    const changed = yield* request("GET", "/apis", { headers })
    assert.strictEqual(changed.status, 200)
    assert.notStrictEqual(changed.headers["etag"], first.headers["etag"])

    const core = yield* request("GET", "/api", { headers: { accept: aggregatedForm } })
    assert.deepStrictEqual(core.object["items"].map(({ versions }: any) => versions[0].version), ["v1"])
  }),

  statement("3a", "a client that takes both forms of discovery gets the one the server has", {}, function*() {
    const { minor, request } = yield* Target
    const accept = `${aggregatedForm},application/json`
    const { object, status } = yield* request("GET", "/apis", { headers: { accept } })
    assert.strictEqual(status, 200)
    assert.strictEqual(object.kind, minor < 30 ? "APIGroupList" : "APIGroupDiscoveryList")
    const last = yield* request("GET", "/apis", {
      headers: { accept: `application/json;q=0.9,${aggregatedForm};q=0.1` }
    })
    assert.strictEqual(last.object.kind, minor < 30 ? "APIGroupList" : "APIGroupDiscoveryList")
    const classic = yield* request("GET", "/apis", { headers: { accept: "application/json" } })
    assert.strictEqual(classic.object.kind, "APIGroupList")
    assert.match(classic.headers["content-type"]!, /^application\/json(?!;g=)/)
    if (minor < 35) return
    const older = aggregatedForm.replace("v=v2", "v=v2beta1")
    const both = yield* request("GET", "/apis", { headers: { accept: `${older},application/json` } })
    assert.strictEqual(both.object.kind, "APIGroupList")
    for (const [path, accept] of [["/apis", older], ["/api", older], ["/apis/apps", aggregatedForm]] as const) {
      const { error, status } = yield* request("GET", path, { headers: { accept } })
      assert.deepStrictEqual([status, error.reason], [406, "NotAcceptable"], path)
    }
  }),

  statement("4", "what no group serves is plain text, what a built-in group lacks a Status", {
    note: "in a CRD's group everything unserved is plain text, but an unknown subresource is the object not found"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { group, path } = yield* kind()
    const cluster = yield* kind({ scope: "Cluster" })
    const nobodys = [
      "/apis/nosuch.example.com",
      "/apis/nosuch.example.com/v1",
      "/apis/nosuch.example.com/v1/widgets",
      `/apis/${group}/v9`,
      `/apis/${group}/v9/namespaces/${ns}/widgets`,
      `/apis/${group}/v1/namespaces/${ns}/gadgets`,
      `/apis/${group}/v1/widgets/a`,
      `/apis/${cluster.group}/v1/namespaces/${ns}/widgets/a`
    ]
    for (const path of nobodys) isNoPage(yield* request("GET", path), path)
    const builtin = [
      "/api/v2",
      "/api/v1/things",
      "/apis/apps/v9",
      "/apis/apps/v1/things",
      `/apis/apps/v1/namespaces/${ns}/deployments/a/things`,
      `/api/v1/namespaces/${ns}/nodes/a`,
      "/api/v1/configmaps/a"
    ]
    for (const path of builtin) isGenericNotFound(yield* request("GET", path), path)
    const { error, status } = yield* request("GET", `${path(ns, "a")}/things`)
    assert.deepStrictEqual([status, error.reason], [404, "NotFound"])
    assert.strictEqual(error.message, `widgets.${group} "a" not found`)
    assert.deepStrictEqual(error.details, { name: "a", group, kind: "widgets" })
  }),

  statement("4a", "a path outside of the API is no page; the root tells the paths there are", {
    note: "older servers told paths in a 404, too"
  }, function*() {
    const { minor, request } = yield* Target
    for (const path of ["/nothing", "/readyz/nosuch"]) {
      const answer = yield* request("GET", path)
      if (minor < 30) {
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(answer.headers["content-type"], "application/json", path)
        assert.deepStrictEqual(Object.keys(answer.object), ["paths"], path)
      } else isNoPage(answer, path)
    }
    const { object, status } = yield* request("GET", "/")
    assert.strictEqual(status, 200)
    assert.includeMembers(object["paths"], [
      "/api",
      "/api/v1",
      "/apis",
      "/apis/apps",
      "/apis/apps/v1",
      "/healthz",
      "/livez",
      "/openapi/v2",
      "/readyz",
      "/version"
    ])
    assert.deepStrictEqual(object["paths"], object["paths"].toSorted())
  }),

  statement("5", "version and health are there, check by check", {}, function*() {
    const { request } = yield* Target
    const version = yield* request("GET", "/version")
    assert.strictEqual(version.object["major"], "1")
    assert.match(version.object["minor"], /^\d+\+?$/)
    assert.include(version.object["gitVersion"], `v1.${Number.parseInt(version.object["minor"], 10)}.`)
    for (const name of ["healthz", "livez", "readyz"]) {
      const { body, headers, status } = yield* request("GET", `/${name}`)
      assert.deepStrictEqual([status, body], [200, "ok"], name)
      assert.strictEqual(headers["content-type"], "text/plain; charset=utf-8", name)
      const verbose = yield* request("GET", `/${name}`, { query: { verbose: "" } })
      assert.match(String(verbose.body), new RegExp(`^\\[\\+\\]ping ok\n(\\[\\+\\].* ok\n)+${name} check passed\n$`))
      assert.include(String(verbose.body), "[+]etcd ok\n", name)
      assert.strictEqual((yield* request("GET", `/${name}/ping`)).body, "ok", name)
    }
    isMethodNotAllowed(yield* request("POST", "/version", { body: {} }), "POST /version")
  }),

  statement("5a", "the OpenAPI v2 document tells every kind, and which requests are about it", {
    note: "the in-memory server called directly has no documents: they are its HTTP side's"
  }, function*() {
    const { request, server, until } = yield* Target
    const read = (headers = {}) => request("GET", "/openapi/v2", { headers })
    const { body, status } = yield* read()
    if (server === "memory") {
      assert.strictEqual(status, 404)
      return
    }
    // Old servers call it text.
    const object = typeof body === "string" ? JSON.parse(body) : body
    assert.deepStrictEqual([status, object["swagger"]], [200, "2.0"])
    const type = { group: "apps", version: "v1", kind: "Deployment" }
    const { patch } = object["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert.deepStrictEqual(patch["x-kubernetes-group-version-kind"], type)
    assert.strictEqual(patch["x-kubernetes-action"], "patch")
    const definition = object["definitions"]["io.k8s.api.apps.v1.Deployment"]
    assert.deepStrictEqual(definition["x-kubernetes-group-version-kind"], [type])
    assert.deepInclude(definition.properties.spec, { $ref: "#/definitions/io.k8s.api.apps.v1.DeploymentSpec" })
    const ports = object["definitions"]["io.k8s.api.core.v1.ServiceSpec"].properties.ports
    assert.deepInclude(ports, { "x-kubernetes-patch-merge-key": "port", "x-kubernetes-patch-strategy": "merge" })
    // Kinds that others have defined may still be on their way into it.
    const again = yield* until(
      Effect.flatMap(read(), ({ headers }) => read({ "if-none-match": headers["etag"]! })),
      ({ status }) => status === 304
    )
    assert.deepStrictEqual([again.status, again.body], [304, undefined])
  }),

  statement("5b", "OpenAPI v3 is one document per group version, named by its hash", {
    since: 24,
    note: "the in-memory server called directly has no documents: they are its HTTP side's"
  }, function*() {
    const { kind, request, server } = yield* Target
    const { group } = yield* kind()
    if (server === "memory") {
      assert.strictEqual((yield* request("GET", "/openapi/v3")).status, 404)
      return
    }
    const name = `apis/${group}/v1`
    const paths = yield* indexWith(name)
    assert.includeMembers(Object.keys(paths), ["api/v1", "apis/apps/v1"])
    const url = paths[name]!.serverRelativeURL
    assert.match(url, /^\/openapi\/v3\/apis\/.*\/v1\?hash=[0-9A-F]+$/)
    const [path, hash] = url.split("?hash=")
    const document = yield* request("GET", path!, { query: { hash: hash! } })
    assert.strictEqual(document.status, 200)
    assert.match(document.object["openapi"], /^3\.0\./)
    const schemas = Object.values<any>(document.object["components"].schemas)
    assert.deepInclude(
      schemas.flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []),
      { group, version: "v1", kind: "Widget" }
    )
    const etag = document.headers["etag"]!
    const again = yield* request("GET", path!, { query: { hash: hash! }, headers: { "if-none-match": etag } })
    assert.deepStrictEqual([again.status, again.body], [304, undefined])
  }),

  statement("6", "a kind is in discovery while it is established, and not once it is deleted", {}, function*() {
    const { kind, request, until } = yield* Target
    const { group } = yield* kind()
    const names = ({ object }: Answer): ReadonlyArray<string> => object["groups"].map(({ name }: any): string => name)
    // A kind is served a moment before, and after, discovery says so.
    const told = yield* until(request("GET", "/apis"), (answer) => names(answer).includes(group))
    assert.include(names(told), group)
    const definition = `${definitions}/widgets.${group}`
    const { object: { status } } = yield* request("GET", definition)
    const accepted = status.conditions.filter(({ status }: any) => status === "True").map(({ type }: any) => type)
    assert.includeMembers(accepted, ["NamesAccepted", "Established"])

    const deleted = yield* request("DELETE", definition)
    assert.strictEqual(deleted.status, 200)
    const gone = yield* until(request("GET", `/apis/${group}`), ({ status }) => status === 404)
    isNoPage(gone, "group")
    isNoPage(yield* until(request("GET", `/apis/${group}/v1/widgets`), ({ status }) => status === 404), "resource")
    isNoPage(yield* until(request("GET", `/apis/${group}/v1`), ({ status }) => status === 404), "version")
    const left = yield* until(request("GET", "/apis"), (answer) => !names(answer).includes(group))
    assert.notInclude(names(left), group)
  }),

  statement("6a", "a kind whose names are taken is not in discovery until they are free", {}, function*() {
    const { kind, request, until } = yield* Target
    const { group } = yield* kind()
    const name = `gadgets.${group}`
    const created = yield* request("POST", definitions, {
      body: {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: "gadgets", singular: "gadget", kind: "Widget", listKind: "GadgetList" },
          versions: [version("v1", true)]
        }
      }
    })
    assert.strictEqual(created.status, 201)
    const condition = ({ object }: Answer, wanted: string): string | undefined =>
      object["status"]?.conditions?.find(({ type }: any) => type === wanted)?.status
    const definition = request("GET", `${definitions}/${name}`)
    const refused = yield* until(definition, (answer) => condition(answer, "NamesAccepted") === "False")
    assert.notStrictEqual(condition(refused, "Established"), "True")
    const served = yield* until(request("GET", `/apis/${group}/v1`), ({ status }) => status === 200)
    assert.deepStrictEqual(served.object["resources"].map(({ name }: any): string => name), ["widgets"])
    isNoPage(yield* request("GET", `/apis/${group}/v1/gadgets`), "not established")

    yield* request("DELETE", `${definitions}/widgets.${group}`)
    yield* until(definition, (answer) => condition(answer, "Established") === "True")
    yield* until(request("GET", `/apis/${group}/v1/gadgets`), ({ status }) => status === 200)
    yield* until(
      request("GET", `/apis/${group}/v1`),
      ({ object }) => object["resources"]?.map(({ name }: any) => name).join() === "gadgets"
    )
  }),

  statement("7", "a verb that a resource does not have is 405 MethodNotAllowed", {
    note: "PUT and PATCH of a CR collection are 400, and what writes a namespaced CR without a namespace is no path"
  }, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const { group, object, path } = yield* kind()
    const configMaps = `/api/v1/namespaces/${ns}/configmaps`
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }
    const refused = [
      ["PUT", configMaps],
      ["PATCH", configMaps],
      ["POST", "/api/v1/configmaps"],
      ["DELETE", "/api/v1/configmaps"],
      ["DELETE", "/api/v1/namespaces"],
      ["POST", `/api/v1/namespaces/${ns}/pods/a/status`],
      ["GET", `/api/v1/namespaces/${ns}/pods/a/binding`],
      ["DELETE", `/apis/apps/v1/namespaces/${ns}/deployments/a/scale`]
    ] as const
    for (const [method, path] of refused) {
      isMethodNotAllowed(yield* request(method, path, method === "GET" ? {} : { body }), `${method} ${path}`)
    }
    const widget = object("a")
    const contentType = "application/merge-patch+json"
    for (
      const { error, status } of [
        yield* request("PUT", path(ns), { body: widget }),
        yield* request("PATCH", path(ns), { body: {}, contentType })
      ]
    ) {
      assert.deepStrictEqual([status, error.reason, error.message], [400, "BadRequest", "name must be provided"])
      assert.isUndefined(error.details)
    }
    isNoPage(yield* request("POST", `/apis/${group}/v1/widgets`, { body: widget }), "POST")
    isNoPage(yield* request("DELETE", `/apis/${group}/v1/widgets`), "DELETE")
    const left = yield* request("GET", path(ns))
    assert.deepStrictEqual(left.object["items"], [])
  })
]
