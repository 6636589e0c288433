/** Admission webhooks: which requests they are asked about: statements 132 and 133. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import {
  allow,
  calls,
  dryRun,
  failed,
  group,
  type Json,
  mergePatch,
  messageOf,
  patching,
  scene
} from "../WebhookScene.ts"

export const webhookRules = [
  statement("132h", "rules about another version of a resource count unless matchPolicy is Exact", {
    note: "the webhook sees the object in the version it asked for; a patch is carried back"
  }, function*() {
    const { kind, until } = yield* Target
    const { answer, asked, hook, install, ns, request } = yield* scene
    const schema = {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    }
    const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema })
    const widgets = yield* kind({ definition: { versions: [version("v1", true), version("v2", false)] } })
    yield* until(request("GET", `/apis/${widgets.group}/v2/widgets`), ({ status }) => status === 200)
    const rules = [{ apiGroups: [widgets.group], apiVersions: ["v2"], operations: ["*"], resources: ["widgets"] }]
    yield* install("Mutating", [hook("equivalent", { rules }), hook("exact", { rules, matchPolicy: "Exact" })])
    answer(() => patching({ op: "add", path: "/spec/seen", value: true }))
    const posted = yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    assert.strictEqual(posted.object.apiVersion, `${widgets.group}/v1`)
    assert.deepStrictEqual(posted.object.spec, { x: 1, seen: true })
    assert.deepStrictEqual(asked.map(({ path }) => path), ["/equivalent"])
    const { kind: seen, object, requestKind, requestResource, resource } = asked[0]!
    assert.deepStrictEqual([seen.version, resource.version], ["v2", "v2"])
    assert.deepStrictEqual([requestKind.version, requestResource.version], ["v1", "v1"])
    assert.strictEqual(object.apiVersion, `${widgets.group}/v2`)
    asked.length = 0
    const path = widgets.path(ns).replace("/v1/", "/v2/")
    const second = { ...widgets.object("b"), apiVersion: `${widgets.group}/v2` }
    assert.strictEqual((yield* request("POST", path, { body: second })).status, 201)
    assert.deepStrictEqual(asked.map(({ path }) => path), ["/equivalent", "/exact"])
  }),

  statement("132i", "namespaces and objects are selected by their labels, of a Namespace its own, new or old", {
    note: "cluster-scoped objects other than Namespaces are in no namespace and always selected"
  }, function*() {
    const { unique } = yield* Target
    const { asked, configMaps, hook, install, ns, post, request } = yield* scene
    const labelled = { objectSelector: { matchLabels: { l: "1" } } }
    const everything = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"] }
    const rules = [{ ...everything, resources: ["configmaps", "namespaces", "clusterroles"] }]
    yield* install("Validating", [
      hook("labelled", labelled),
      hook("team", { namespaceSelector: { matchLabels: { team: ns } }, rules })
    ])
    yield* post("plain")
    // Controllers write cluster roles of their own.
    const plain = () => asked.filter((entry) => entry["name"] === "plain")
    assert.deepStrictEqual(calls(plain()), [])
    const label = (path: string, labels: Json) =>
      request("PATCH", path, { contentType: mergePatch, body: { metadata: { labels } } })
    yield* label(`${configMaps}/plain`, { l: "1" })
    yield* label(`${configMaps}/plain`, { l: null })
    yield* label(`${configMaps}/plain`, { other: "1" })
    assert.deepStrictEqual(calls(plain()), ["UPDATE /labelled", "UPDATE /labelled"], "it comes, it goes, it is gone")
    asked.length = 0
    const name = unique("role")
    yield* request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      query: dryRun,
      body: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules: [] }
    })
    assert.deepInclude(asked.find((entry) => entry["name"] === name), { path: "/team", operation: "CREATE" })
    assert.isUndefined(asked.find((entry) => entry["name"] === name)?.["namespace"])
    asked.length = 0
    const other = unique("ns")
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: other } }
    yield* request("POST", "/api/v1/namespaces", { body })
    assert.deepStrictEqual(asked.filter((entry) => entry["name"] === other), [])
    yield* label(`/api/v1/namespaces/${other}`, { team: ns })
    const about = asked.filter((entry) => entry["name"] === other)
    assert.deepInclude(about[0], { path: "/team", operation: "UPDATE", namespace: other })
    yield* request("DELETE", `/api/v1/namespaces/${other}`)
  }),

  statement(
    "132j",
    "scope, subresource and operation are part of a rule; configurations of webhooks are exempt",
    {},
    function*() {
      const { unique } = yield* Target
      const { asked, configMap, configMaps, hook, install, ns, post, request } = yield* scene
      const rule = { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }
      yield* install("Validating", [
        hook("cluster", { rules: [{ ...rule, scope: "Cluster" }] }),
        hook("namespaced", { rules: [{ ...rule, scope: "Namespaced" }] }),
        hook("status", { rules: [{ ...rule, resources: ["*/status"] }] }),
        hook("deletes", { rules: [{ ...rule, operations: ["DELETE"] }] }),
        hook("group", { rules: [{ ...rule, apiGroups: ["apps"] }] })
      ])
      const ours = (path: string) => asked.filter((entry) => entry["namespace"] === ns && entry["name"] === path)
      yield* post("a")
      assert.deepStrictEqual(calls(ours("a")), ["CREATE /namespaced"])
      asked.length = 0
      yield* request("DELETE", `${configMaps}/a`)
      assert.sameMembers(calls(ours("a")), ["DELETE /namespaced", "DELETE /deletes"])
      const services = `/api/v1/namespaces/${ns}/services`
      const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } }
      yield* request("POST", services, { body: service })
      asked.length = 0
      yield* request("PATCH", `${services}/s/status`, {
        contentType: mergePatch,
        body: { metadata: { labels: { x: "y" } } }
      })
      assert.deepStrictEqual(calls(ours("s")), ["UPDATE /status"])
      assert.deepInclude(ours("s")[0], { subResource: "status", requestSubResource: "status" })
      asked.length = 0
      const name = unique("exempt")
      const exempt = yield* request("POST", `/apis/${group}/v1/validatingwebhookconfigurations`, {
        query: dryRun,
        body: { apiVersion: `${group}/v1`, kind: "ValidatingWebhookConfiguration", metadata: { name } }
      })
      assert.strictEqual(exempt.status, 201)
      assert.isUndefined(asked.find((entry) => entry["name"] === name))
      assert.isObject(configMap("x"))
    }
  ),

  statement("132k", "timeoutSeconds ends a call; the webhook is told how long it has", {}, function*() {
    const { backend, minor } = yield* Target
    const { hook, install, post } = yield* scene
    const slow = yield* backend(() => Effect.never)
    const clientConfig = { url: `${slow.url}/slow`, caBundle: slow.caBundle }
    yield* install("Validating", [hook("v", { clientConfig, timeoutSeconds: 1 })])
    const refused = yield* post("x", {}, dryRun)
    const why = `Post "${slow.url}/slow?timeout=1s": context deadline exceeded`
    assert.strictEqual(refused.status, 500)
    assert.deepInclude(refused.error, { reason: "InternalError", message: failed(minor, "v", why) })
    assert.isTrue(slow.received.every(({ query }) => query[0]?.[1] === "1s"))
  }),

  statement(
    "132l",
    "matchConditions decide in CEL, after all else, whether a webhook is called",
    { since: 30 },
    function*() {
      const { unique } = yield* Target
      const { asked, hook, install, post, request } = yield* scene
      const conditions = (...expressions: ReadonlyArray<string>) => ({
        matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression }))
      })
      yield* install("Validating", [
        hook("yes", conditions("request.operation == 'CREATE'", "object.data.a == '1'")),
        hook("no", conditions("object.data.a == '1'", "object.metadata.name.startsWith('no')")),
        hook("masters", conditions("'system:masters' in request.userInfo.groups")),
        hook("ignored", { failurePolicy: "Ignore", ...conditions("object.data.missing == 'x'") })
      ])
      yield* post("x", {}, dryRun)
      assert.sameMembers(asked.map(({ path }) => path), ["/yes", "/masters"])
      yield* install("Validating", [hook("fails", conditions("!has(object.data.b) || object.data.missing == 'x'"))])
      const failing = yield* post("y", { data: { a: "1", b: "1" } }, dryRun)
      assert.deepInclude(failing.error, { code: 403, reason: "Forbidden" })
      assert.include(messageOf(failing), "configmaps \"y\" is forbidden: ")
      assert.include(messageOf(failing), "no such key: missing")
      const invalid = yield* request("POST", `/apis/${group}/v1/validatingwebhookconfigurations`, {
        body: {
          apiVersion: `${group}/v1`,
          kind: "ValidatingWebhookConfiguration",
          metadata: { name: unique("bad") },
          webhooks: [hook("bad", conditions("object.x +", "1"))]
        }
      })
      assert.strictEqual(invalid.status, 422)
      assert.deepStrictEqual(
        invalid.error.details?.causes?.map(({ field }) => field),
        ["webhooks[0].matchConditions[0].expression", "webhooks[0].matchConditions[1].expression"]
      )
      assert.include(messageOf(invalid), "must evaluate to bool")
    }
  ),

  statement("132m", "configurations have defaults and are validated", {
    note: "a mistake in the name of a service is told of its namespace, and the other way round"
  }, function*() {
    const { unique } = yield* Target
    const { hook, install, request } = yield* scene
    const { namespaceSelector: _, ...plain } = hook("a", { clientConfig: { service: { namespace: "n", name: "s" } } })
    const { object } = yield* install("Mutating", [plain, hook("off", { rules: [] })])
    assert.strictEqual(object.metadata.generation, 1)
    assert.deepStrictEqual(object.webhooks[1], {
      ...plain,
      clientConfig: { service: { namespace: "n", name: "s", port: 443 } },
      rules: [{ ...plain["rules"][0], scope: "*" }],
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      reinvocationPolicy: "Never"
    })
    const faults = Effect.fnUntraced(function*(fields: Json) {
      const { error, status } = yield* request("POST", `/apis/${group}/v1/mutatingwebhookconfigurations`, {
        query: dryRun,
        body: {
          apiVersion: `${group}/v1`,
          kind: "MutatingWebhookConfiguration",
          metadata: { name: unique("bad") },
          webhooks: [hook("a", fields)]
        }
      })
      assert.strictEqual(status, 422, JSON.stringify(fields))
      return error.details?.causes?.map(({ field, message }) => `${field}: ${message}`)
    })
    const at = "webhooks[0]"
    assert.deepStrictEqual(yield* faults({ name: "a.b" }), [
      `${at}.name: Invalid value: "a.b": should be a domain with at least three segments separated by dots`
    ])
    assert.deepStrictEqual(yield* faults({ clientConfig: {} }), [
      `${at}.clientConfig: Required value: exactly one of url or service is required`
    ])
    assert.deepStrictEqual(yield* faults({ clientConfig: { url: "http://u@h?x#y" } }), [
      `${at}.clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
      `${at}.clientConfig.url: Invalid value: "u": user information is not permitted in the URL`,
      `${at}.clientConfig.url: Invalid value: "y": fragments are not permitted in the URL`,
      `${at}.clientConfig.url: Invalid value: "x": query parameters are not permitted in the URL`
    ])
    assert.deepStrictEqual(
      yield* faults({
        failurePolicy: "X",
        matchPolicy: "Y",
        sideEffects: "Unknown",
        timeoutSeconds: 31,
        reinvocationPolicy: "Z",
        admissionReviewVersions: []
      }),
      [
        `${at}.failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"`,
        `${at}.matchPolicy: Unsupported value: "Y": supported values: "Equivalent", "Exact"`,
        `${at}.sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"`,
        `${at}.timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds`,
        `${at}.reinvocationPolicy: Unsupported value: "Z": supported values: "IfNeeded", "Never"`,
        `${at}.admissionReviewVersions: Required value: must specify one of v1, v1beta1`
      ]
    )
    assert.deepStrictEqual(yield* faults({ rules: [{}] }), [
      `${at}.rules[0].operations: Required value`,
      `${at}.rules[0].apiGroups: Required value`,
      `${at}.rules[0].apiVersions: Required value`,
      `${at}.rules[0].resources: Required value`
    ])
    const service = yield* faults({ clientConfig: { service: { namespace: "", name: "s", path: "x//" } } })
    assert.match(service![0]!, /clientConfig\.service\.name: Required value/)
    assert.deepStrictEqual(service!.slice(1, 3), [
      `${at}.clientConfig.service.path: Invalid value: "x//": must start with a '/'`,
      `${at}.clientConfig.service.path: Invalid value: "x//": segment[0] may not be empty`
    ])
  }),

  statement("133w-a", "deletions are admitted with the old object only, each object of a collection without its name", {
    note: "a patch of what is not there is an error; deletion of a collection stops at the first refusal"
  }, function*() {
    const { answer, asked, configMaps, hook, install, post, request } = yield* scene
    for (const name of ["a", "b", "c"]) yield* post(name)
    yield* install("Mutating", [hook("m")])
    yield* install("Validating", [hook("v")])
    answer(({ oldObject }) => ({ allowed: oldObject.metadata.name !== "b", status: { message: "not b", code: 403 } }))
    const refused = yield* request("DELETE", `${configMaps}/b`, { query: { propagationPolicy: "Background" } })
    assert.deepInclude(refused.error, {
      code: 403,
      message: "admission webhook \"m.example.com\" denied the request: not b"
    })
    assert.lengthOf(asked, 1)
    assert.deepInclude(asked[0], { operation: "DELETE", name: "b", object: null })
    assert.deepStrictEqual(asked[0]?.["options"], {
      kind: "DeleteOptions",
      apiVersion: "meta.k8s.io/v1",
      propagationPolicy: "Background"
    })
    assert.deepStrictEqual(asked[0]?.["oldObject"].data, { a: "1" })
    asked.length = 0
    const all = yield* request("DELETE", configMaps, { query: { fieldSelector: "metadata.name!=kube-root-ca.crt" } })
    assert.strictEqual(all.status, 403)
    assert.deepStrictEqual(
      asked.map(({ name, oldObject, path }) => [path, name, oldObject.metadata.name]),
      [["/m", undefined, "a"], ["/v", undefined, "a"], ["/m", undefined, "b"]]
    )
    assert.strictEqual((yield* request("GET", `${configMaps}/a`)).status, 404)
    assert.strictEqual((yield* request("GET", `${configMaps}/c`)).status, 200)
    answer(({ path }) => path === "/m" ? patching({ op: "add", path: "/x", value: 1 }) : allow)
    assert.deepInclude((yield* request("DELETE", `${configMaps}/c`)).error, {
      code: 500,
      message:
        "Internal error occurred: admission webhook \"m.example.com\" attempted to modify the object, which is " +
        "not supported for this operation"
    })
  }),

  statement("133w-b", "status and scale are admitted as what they are", {}, function*() {
    const { kind } = yield* Target
    const { answer, asked, hook, install, ns, request } = yield* scene
    const widgets = yield* kind({
      status: true,
      version: {
        subresources: { status: {}, scale: { specReplicasPath: ".spec.x", statusReplicasPath: ".status.r" } }
      }
    })
    const path = widgets.path(ns, "a")
    yield* request("POST", widgets.path(ns), { body: widgets.object("a") })
    const rules = [{ apiGroups: [widgets.group], apiVersions: ["v1"], operations: ["*"], resources: ["widgets/*"] }]
    yield* install("Mutating", [hook("m", { rules })])
    yield* install("Validating", [hook("v", { rules })])
    answer(() => allow)
    yield* request("PATCH", `${path}/status`, { contentType: mergePatch, body: { status: { r: 4 }, spec: { x: 2 } } })
    assert.deepStrictEqual(calls(asked), ["UPDATE /m", "UPDATE /v"])
    const [mutating, validating] = asked
    assert.deepInclude(mutating, { subResource: "status", requestSubResource: "status" })
    assert.deepStrictEqual(mutating?.["object"].spec.x, 2, "as it was sent")
    assert.deepStrictEqual(validating?.["object"].spec.x, 1, "as it will be stored")
    assert.deepStrictEqual(validating?.["object"].status, { r: 4 })
    assert.isUndefined(validating?.["oldObject"].status)
    answer(({ object, path }) =>
      path === "/m" && object.spec.replicas === 9
        ? patching({ op: "replace", path: "/spec/replicas", value: 3 })
        : allow
    )
    const scaled = yield* request("PATCH", `${path}/scale`, {
      contentType: mergePatch,
      body: { spec: { replicas: 9 } }
    })
    assert.strictEqual(scaled.status, 200)
    assert.strictEqual(scaled.object.spec.replicas, 3)
    assert.deepStrictEqual(
      asked.map(({ kind }) => `${kind.group}/${kind.version} ${kind.kind}`),
      ["autoscaling/v1 Scale", "autoscaling/v1 Scale"]
    )
    assert.deepStrictEqual(asked.map(({ resource }) => resource.resource), ["widgets", "widgets"])
    assert.deepStrictEqual(asked.map(({ object }) => object.spec.replicas), [9, 3])
    assert.deepStrictEqual(asked.map(({ oldObject }) => oldObject.spec.replicas), [1, 1])
    assert.strictEqual((yield* request("GET", path)).object.spec.x, 3)
  }),

  statement("133w-c", "what is done to a Pod through its subresources is admitted as CREATE or CONNECT", {
    note: "before anybody looks whether the Pod is there; an eviction is no DELETE"
  }, function*() {
    const { asked, hook, install, ns, request } = yield* scene
    const pods = `/api/v1/namespaces/${ns}/pods`
    const rules = [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["pods/*", "pods"] }]
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "i" }] }
    }
    yield* request("POST", pods, { body })
    yield* install("Validating", [hook("v", { rules })])
    const exec = yield* request("POST", `${pods}/none/exec`, {
      query: { command: "ls", container: "c", stdin: "true" }
    })
    assert.strictEqual(exec.status, 404)
    assert.deepInclude(asked[0], {
      operation: "CONNECT",
      subResource: "exec",
      name: "none",
      options: null,
      oldObject: null
    })
    assert.deepStrictEqual(asked[0]?.["object"], {
      kind: "PodExecOptions",
      apiVersion: "v1",
      stdin: true,
      container: "c",
      command: ["ls"]
    })
    asked.length = 0
    const target = { apiVersion: "v1", kind: "Node", name: "n" }
    yield* request("POST", `${pods}/p/binding`, {
      body: { apiVersion: "v1", kind: "Binding", metadata: { name: "p" }, target }
    })
    assert.deepInclude(asked[0], { operation: "CREATE", subResource: "binding", name: "p" })
    assert.deepStrictEqual(asked[0]?.["kind"], { group: "", version: "v1", kind: "Binding" })
    assert.strictEqual(asked[0]?.["object"].target.name, "n")
    asked.length = 0
    yield* request("DELETE", `${pods}/p`)
    assert.deepStrictEqual(calls(asked), ["DELETE /v"])
    assert.deepStrictEqual(asked[0]?.["options"].gracePeriodSeconds, 30, "filled in")
    asked.length = 0
    yield* request("DELETE", `${pods}/p`)
    assert.deepStrictEqual(calls(asked), [], "it is on its way already")
    yield* request("DELETE", `${pods}/p`, { query: { gracePeriodSeconds: "0" } })
    assert.deepStrictEqual(calls(asked), ["DELETE /v", "DELETE /v"], "marked, then removed")
  })
]
