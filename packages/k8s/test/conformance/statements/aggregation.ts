/** APIServices and the API servers behind them: statement 136. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Backends from "../../../src/testing/Backends.ts"
import type { Received } from "../Backend.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"
const mergePatch = "application/merge-patch+json"
const asTable = { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } }

type Json = { readonly [key: string]: any }

const apiService = (group: string, spec: Json, version = "v1") => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${version}.${group}` },
  spec: { ...(group === "" ? {} : { group }), version, groupPriorityMinimum: 10, versionPriority: 10, ...spec }
})

const available = ({ object }: Answer): Json | undefined =>
  object["status"]?.conditions?.find((condition: Json) => condition["type"] === "Available")

const causes = (answer: Answer) => {
  assert.strictEqual(answer.status, 422, JSON.stringify(answer.body))
  return answer.error.details?.causes?.map(({ field, message }) => `${field}: ${message}`)
}

/** Waits until a path is no 404: an old server takes its time over every APIService, one after the other. */
const registered = Effect.fnUntraced(function*(path: string) {
  const { request, sleep } = yield* Target
  for (let tries = 0;; tries++) {
    const answer = yield* request("GET", path)
    if (answer.status !== 404 || tries === 300) return answer
    yield* sleep(200)
  }
})

/** A backend for a group version of its own, and the APIService that leads to it. */
const aggregated = Effect.fnUntraced(
  function*(handler?: (received: Received, group: string) => ReturnType<Backends.Handler>) {
    const { backend, namespace, request, unique, until } = yield* Target
    const group = `${unique("g")}.example.com`
    const service = unique("backend")
    const ns = yield* namespace
    const list = {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: `${group}/v1`,
      resources: [
        {
          name: "foos",
          singularName: "foo",
          namespaced: true,
          kind: "Foo",
          verbs: ["get", "list"],
          shortNames: ["fo"]
        },
        { name: "foos/status", singularName: "", namespaced: true, kind: "Foo", verbs: ["get"] }
      ]
    }
    const json = { "content-type": "application/json" }
    const behind = yield* backend((received) => {
      if (received.path === `/apis/${group}/v1`) return Effect.succeed({ status: 200, headers: json, body: list })
      if (!received.path.startsWith(`/apis/${group}/v1/`)) return Effect.succeed({ status: 404, body: "no\n" })
      if (handler !== undefined) return handler(received, group)
      const { body, headers, method, path, peer, query } = received
      return Effect.succeed({
        status: 418,
        headers: { ...json, "x-backend": "yes" },
        body: { method, path, query, headers, peer: peer ?? "", body: body ?? null }
      })
    }, { hosts: [`${service}.${ns}.svc`] })
    const name = `v1.${group}`
    const created = yield* request("POST", apiServices, {
      body: apiService(group, {
        service: { namespace: ns, name: service, port: behind.port },
        caBundle: behind.caBundle
      })
    })
    assert.strictEqual(created.status, 201, JSON.stringify(created.body))
    // While it stays, and its backend is gone, no namespace can be deleted.
    yield* Effect.addFinalizer(() => Effect.ignore(request("DELETE", `${apiServices}/${name}`)))
    const root = `/apis/${group}/v1`
    return {
      behind,
      created,
      group,
      name,
      ns,
      root,
      service,
      condition: (wanted: (condition: Json) => boolean) =>
        Effect.map(
          until(request("GET", `${apiServices}/${name}`), (answer) => {
            const found = available(answer)
            return found !== undefined && wanted(found)
          }),
          (answer) => available(answer)!
        ),
      /** The Service is there, and its backend can be asked. */
      serve: Effect.gen(function*() {
        const made = yield* request("POST", `/api/v1/namespaces/${ns}/services`, {
          body: {
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: service },
            spec: { type: "ExternalName", externalName: "localhost" }
          }
        })
        assert.strictEqual(made.status, 201, JSON.stringify(made.body))
        yield* until(request("GET", `${apiServices}/${name}`), (answer) => available(answer)?.["status"] === "True")
        yield* registered(`${root}/foos`)
        yield* until(request("GET", `${root}/foos`), ({ status }) => status !== 503)
      })
    }
  }
)

export const aggregation = [
  statement("136a", "every group version has an APIService, and discovery goes by their priorities", {}, function*() {
    const { kind, request, until } = yield* Target
    const { object: apps } = yield* request("GET", `${apiServices}/v1.apps`)
    assert.deepStrictEqual(apps.metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "onstart" })
    assert.deepStrictEqual(apps["spec"], {
      group: "apps",
      version: "v1",
      groupPriorityMinimum: 17800,
      versionPriority: 15
    })
    assert.deepInclude(apps["status"].conditions[0], {
      type: "Available",
      status: "True",
      reason: "Local",
      message: "Local APIServices are always available"
    })
    const { object: core } = yield* request("GET", `${apiServices}/v1.`)
    assert.deepStrictEqual(core["spec"], { version: "v1", groupPriorityMinimum: 18000, versionPriority: 1 })
    const order = Effect.map(request("GET", apiServices), ({ object }) => {
      const services: ReadonlyArray<Json> = object["items"]
      const ordered = services.filter(({ spec }) => spec.group !== undefined)
        .sort((a, b) =>
          b["spec"].groupPriorityMinimum - a["spec"].groupPriorityMinimum ||
          (a["metadata"].name < b["metadata"].name ? -1 : 1)
        ).map(({ spec }): string => spec.group)
      return ["apiregistration.k8s.io", ...new Set(ordered)]
    })
    const named = ({ object }: Answer): ReadonlyArray<string> => object["groups"].map(({ name }: Json) => name)
    let wanted: ReadonlyArray<string> = []
    // What others have removed may be on its way out of one and not of the other.
    const groups = yield* until(
      Effect.andThen(Effect.map(order, (found) => void (wanted = found)), request("GET", "/apis")),
      (answer) => named(answer).join() === wanted.join()
    )
    assert.deepStrictEqual(named(groups), wanted)
    const widgets = yield* kind()
    const own = yield* until(request("GET", `${apiServices}/v1.${widgets.group}`), ({ status }) => status === 200)
    assert.deepStrictEqual(own.object.metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "true" })
    assert.deepStrictEqual(own.object["spec"], {
      group: widgets.group,
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 100
    })
    // It comes back as long as there is a definition, and goes with it.
    yield* request("DELETE", `${apiServices}/v1.${widgets.group}`)
    yield* until(
      request("GET", `${apiServices}/v1.${widgets.group}`),
      ({ object, status }) => status === 200 && object.metadata.uid !== own.object.metadata.uid
    )
    yield* request("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${widgets.group}`)
    yield* until(request("GET", `${apiServices}/v1.${widgets.group}`), ({ status }) => status === 404)
  }),

  statement("136b", "an APIService is completed and judged", {}, function*() {
    const { request, unique, until } = yield* Target
    const create = (body: Json) => request("POST", apiServices, { body })
    const group = `${unique("g")}.example.com`
    assert.deepStrictEqual(causes(yield* create({ ...apiService(group, {}), metadata: { name: "x" } })), [
      `metadata.name: Invalid value: "x": must be \`spec.version+"."+spec.group\`: "v1.${group}"`
    ])
    assert.deepStrictEqual(causes(yield* create(apiService("", {}, "v2"))), [
      "spec.group: Required value: only v1 may have an empty group and it better be legacy kube"
    ])
    assert.deepStrictEqual(
      causes(yield* create(apiService(group, { groupPriorityMinimum: 20001, versionPriority: 0 }))),
      [
        "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
        "spec.versionPriority: Invalid value: 0: must be positive and less than 1000"
      ]
    )
    assert.deepStrictEqual(
      causes(yield* create(apiService(group, { caBundle: "Zm9v", insecureSkipTLSVerify: true }))),
      [
        "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle",
        "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify"
      ]
    )
    assert.deepStrictEqual(causes(yield* create(apiService(group, { service: {} }))), [
      "spec.service.namespace: Required value",
      "spec.service.name: Required value"
    ])
    const service = { namespace: "a", name: "b" }
    assert.deepStrictEqual(
      causes(yield* create(apiService(group, { service, caBundle: "Zm9v", insecureSkipTLSVerify: true }))),
      ["spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"]
    )
    const { object } = yield* create(apiService(group, { service, insecureSkipTLSVerify: true }))
    assert.deepStrictEqual(object["spec"].service, { ...service, port: 443 })
    assert.deepStrictEqual(object["status"], {})
    yield* request("DELETE", `${apiServices}/v1.${group}`)
    const { object: local, status } = yield* create(apiService(group, {}))
    assert.strictEqual(status, 201)
    assert.strictEqual(local["status"].conditions[0].reason, "Local")
    // Discovery tells of it, though nobody serves it.
    const named = yield* until(request("GET", `/apis/${group}`), ({ status }) => status === 200)
    assert.deepStrictEqual(named.object["versions"], [{ groupVersion: `${group}/v1`, version: "v1" }])
    // What is behind a version is taken notice of apart from its group: a busy server still asks the former Service.
    const nobody = yield* until(request("GET", `/apis/${group}/v1`), ({ status }) => status !== 503)
    assert.deepInclude(nobody, { status: 404, body: "404 page not found\n" })
    yield* request("DELETE", `${apiServices}/v1.${group}`)
  }),

  statement("136c", "a backend that cannot be asked is said to be so, and its requests are 503", {}, function*() {
    const { request, until } = yield* Target
    const { condition, group, name, ns, root, service } = yield* aggregated()
    const gone = yield* condition(({ status }) => status === "False")
    assert.deepInclude(gone, { reason: "ServiceNotFound", message: `service/${service} in "${ns}" is not present` })
    const refused = yield* registered(`${root}/foos`)
    assert.deepInclude(refused, { status: 503, body: "service unavailable\n" })
    assert.strictEqual(refused.headers["content-type"], "text/plain; charset=utf-8")
    assert.strictEqual((yield* request("GET", root)).status, 503)
    assert.strictEqual((yield* request("DELETE", `${root}/namespaces/x/foos/y`)).status, 503)
    assert.strictEqual((yield* request("GET", `/apis/${group}`)).status, 200)
    // A Service of the cluster must listen on the port, and have endpoints.
    const services = `/api/v1/namespaces/${ns}/services`
    const made = yield* request("POST", services, {
      body: {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: service },
        spec: { ports: [{ name: "a", port: 443 }] }
      }
    })
    assert.strictEqual(made.status, 201)
    const port = (yield* request("GET", `${apiServices}/${name}`)).object["spec"].service.port
    const deaf = yield* condition(({ reason }) => reason === "ServicePortError")
    assert.strictEqual(deaf["message"], `service/${service} in "${ns}" is not listening on port ${port}`)
    yield* request("PATCH", `${apiServices}/${name}`, {
      contentType: mergePatch,
      body: { spec: { service: { port: 443 } } }
    })
    const empty = yield* condition(({ reason }) => reason === "EndpointsNotFound")
    assert.match(empty["message"], new RegExp(`^cannot find endpoint\\w+ for service/${service} in "${ns}"$`))
    const { object: row } = yield* request("GET", `${apiServices}/${name}`, asTable)
    assert.deepStrictEqual(row["rows"][0].cells.slice(0, 3), [name, `${ns}/${service}`, "False (EndpointsNotFound)"])
    // Nobody listens there.
    yield* request("DELETE", `${services}/${service}`)
    yield* request("PATCH", `${apiServices}/${name}`, {
      contentType: mergePatch,
      body: { spec: { service: { port: 1 } } }
    })
    yield* request("POST", services, {
      body: {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: service },
        spec: { type: "ExternalName", externalName: "localhost" }
      }
    })
    const failed = yield* condition(({ reason }) => reason === "FailedDiscoveryCheck")
    const url = `https://localhost:1${root}`
    assert.include(failed["message"], `failing or missing response from ${url}: Get "${url}": dial tcp`)
    yield* request("DELETE", `${apiServices}/${name}`)
    yield* until(request("GET", `${root}/foos`), ({ status }) => status === 404)
  }),

  statement(
    "136d",
    "a request is passed on with who asks in its headers, and the answer back as it is",
    {},
    function*() {
      const { request } = yield* Target
      const { condition, group, root, serve } = yield* aggregated()
      yield* serve
      assert.deepInclude(yield* condition(({ status }) => status === "True"), {
        reason: "Passed",
        message: "all checks passed"
      })
      const path = `${root}/namespaces/x/foos/y`
      const { headers, object, status } = yield* request("PUT", path, {
        query: { a: "b c" },
        body: { kind: "Foo" },
        headers: { "x-remote-user": "evil", "x-remote-extra-a": "evil", "x-own": "kept" }
      })
      assert.strictEqual(status, 418)
      assert.strictEqual(headers["x-backend"], "yes")
      assert.deepInclude(object, { method: "PUT", path, query: [["a", "b c"]], body: { kind: "Foo" } })
      const received = object["headers"]
      assert.include(received["x-remote-group"].split(", "), "system:masters")
      assert.notStrictEqual(received["x-remote-user"], "evil")
      assert.deepInclude(received, { "x-own": "kept", "x-forwarded-uri": path, "content-type": "application/json" })
      assert.doesNotHaveAnyKeys(received, ["authorization", "x-remote-extra-a"])
      const { object: other } = yield* request("GET", path, {
        headers: {
          "impersonate-user": "jane",
          "impersonate-group": "system:masters",
          "impersonate-extra-scopes": "some"
        }
      })
      assert.deepInclude(other["headers"], { "x-remote-user": "jane", "x-remote-extra-scopes": "some" })
      assert.doesNotHaveAnyKeys(other["headers"], ["impersonate-user", "impersonate-group"])
      // Whether somebody may ask is still decided here.
      const refused = yield* request("GET", path, { headers: { "impersonate-user": "nobody" } })
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(
        refused.error.message,
        `foos.${group} "y" is forbidden: User "nobody" cannot get resource "foos" in API group "${group}" in the namespace "x"`
      )
      const { object: list } = yield* request("GET", root)
      assert.deepStrictEqual(list["resources"].map(({ name }: Json) => name), ["foos", "foos/status"])
      assert.strictEqual((yield* request("GET", `/apis/${group}/v2`)).status, 404)
    }
  ),

  statement("136e", "a watch is passed on while it lasts", {}, function*() {
    const { watch } = yield* Target
    const event = (group: string, name: string) => ({
      type: "ADDED",
      object: { kind: "Foo", apiVersion: `${group}/v1`, metadata: { name } }
    })
    const { group, root, serve } = yield* aggregated((received, group) =>
      Effect.succeed(
        received.query.some(([name]) => name === "watch")
          ? {
            status: 200,
            headers: { "content-type": "application/json" },
            events: Stream.concat(
              Stream.fromArray([event(group, "a"), event(group, "b")]),
              received.query.some(([name]) => name === "timeoutSeconds") ? Stream.empty : Stream.never
            )
          }
          : { status: 200, headers: { "content-type": "application/json" }, body: { kind: "FooList" } }
      )
    )
    yield* serve
    const open = yield* watch(`${root}/foos`)
    assert.strictEqual(open.response.status, 200)
    assert.deepStrictEqual<unknown>(yield* open.take(2), [event(group, "a"), event(group, "b")])
    const short = yield* watch(`${root}/foos`, { timeoutSeconds: "1" })
    yield* short.take(2)
    yield* short.ended
  }),

  statement("136f", "a certificate that is not trusted is 503, unless it need not be", {}, function*() {
    const { request, until } = yield* Target
    const { name, root, serve } = yield* aggregated()
    yield* serve
    const spec = (fields: Json) =>
      request("PATCH", `${apiServices}/${name}`, { contentType: mergePatch, body: { spec: fields } })
    yield* spec({ caBundle: null })
    const refused = yield* until(request("GET", `${root}/foos`), ({ status }) => status === 503)
    assert.match(
      String(refused.body),
      /^error trying to reach service: (tls: failed to verify certificate: )?x509: certificate signed by unknown authority\n$/
    )
    yield* spec({ insecureSkipTLSVerify: true })
    const answered = yield* until(request("GET", `${root}/foos`), ({ status }) => status !== 503)
    assert.strictEqual(answered.status, 418)
    assert.strictEqual(answered.object["method"], "GET")
  }),

  statement(
    "136g",
    "aggregated discovery has what the backend has, and nothing once it is gone",
    { since: 27 },
    function*() {
      const { request, until } = yield* Target
      const { condition, group, ns, root, serve, service } = yield* aggregated()
      yield* condition(({ status }) => status === "False")
      const read = request("GET", "/apis", {
        headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" }
      })
      const found = ({ object }: Answer): Json | undefined =>
        object["items"].find((item: Json) => item["metadata"].name === group)?.versions[0]
      assert.deepStrictEqual(found(yield* read), { version: "v1", freshness: "Stale" })
      yield* serve
      const current = yield* until(read, (answer) => found(answer)?.["freshness"] === "Current")
      assert.deepStrictEqual(found(current), {
        version: "v1",
        resources: [{
          resource: "foos",
          responseKind: { group: "", version: "", kind: "Foo" },
          scope: "Namespaced",
          singularResource: "foo",
          verbs: ["get", "list"],
          shortNames: ["fo"],
          subresources: [{
            subresource: "status",
            responseKind: { group: "", version: "", kind: "Foo" },
            verbs: ["get"]
          }]
        }],
        freshness: "Current"
      })
      yield* request("DELETE", `/api/v1/namespaces/${ns}/services/${service}`)
      yield* condition(({ reason }) => reason === "ServiceNotFound")
      const stale = yield* until(read, (answer) => found(answer)?.["freshness"] === "Stale")
      assert.deepStrictEqual(found(stale), { version: "v1", freshness: "Stale" })
      assert.strictEqual((yield* request("GET", root)).status, 503)
    }
  ),

  statement("136h", "a namespace stays while what it may hold elsewhere cannot be discovered", {
    controllers: true
  }, function*() {
    const { namespace, request, until } = yield* Target
    const { condition, group, name } = yield* aggregated()
    yield* condition(({ status }) => status === "False")
    assert.strictEqual((yield* registered(`/apis/${group}/v1/foos`)).status, 503)
    const ns = yield* namespace
    yield* request("DELETE", `/api/v1/namespaces/${ns}`)
    const failure = ({ object }: Answer): Json | undefined =>
      object["status"]?.conditions?.find((entry: Json) => entry["type"] === "NamespaceDeletionDiscoveryFailure")
    const held = yield* until(
      request("GET", `/api/v1/namespaces/${ns}`),
      (answer) => failure(answer)?.["status"] === "True"
    )
    assert.strictEqual(failure(held)!["reason"], "DiscoveryFailed")
    assert.match(
      failure(held)!["message"],
      new RegExp(
        "^Discovery failed for some groups, \\d+ failing: unable to retrieve the complete list of server APIs: " +
          `(.*, )?${
            group.replaceAll(".", "\\.")
          }/v1: (stale GroupVersion discovery|the server is currently unable to handle)`
      )
    )
    assert.strictEqual(held.object["status"].phase, "Terminating")
    yield* request("DELETE", `${apiServices}/${name}`)
    yield* until(request("GET", `/api/v1/namespaces/${ns}`), ({ status }) => status === 404)
  })
]
