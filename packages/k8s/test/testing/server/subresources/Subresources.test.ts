import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type Answer,
  call,
  crds,
  del,
  get,
  layer,
  patch,
  pod,
  pods,
  post,
  put,
  widget,
  widgetDefinition,
  widgets
} from "../../support/server.ts"

const message = ({ body, status }: Answer) => `${status} ${body.message}`

const deployments = "/apis/apps/v1/namespaces/default/deployments"

const deployment = {
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { app: "x" } },
    template: { metadata: { labels: { app: "x" } }, spec: { containers: [{ name: "c", image: "i:1" }] } }
  }
}

describe("scale", () => {
  it.effect("is a window on a Deployment's replicas", () =>
    Effect.gen(function*() {
      const { body: { metadata: { creationTimestamp, resourceVersion, uid } } } = yield* post(deployments, deployment)
      assert.deepStrictEqual((yield* get(`${deployments}/d/scale`)).body, {
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name: "d", namespace: "default", uid, resourceVersion, creationTimestamp },
        spec: { replicas: 1 },
        status: { replicas: 0, selector: "app=x" }
      })
      const unknown = yield* patch(`${deployments}/d/scale?dryRun=All`, "merge", { foo: 1, spec: { b: 1, a: 2 } })
      assert.strictEqual(
        unknown.headers["warning"],
        ["foo", "spec.a", "spec.b"].map((field) => `299 - "unknown field \\"${field}\\""`).join(", ")
      )
      const scaled = yield* patch(`${deployments}/d/scale`, "merge", { spec: { replicas: 3 } })
      assert.deepStrictEqual(scaled.body.spec, { replicas: 3 })
      const { body } = yield* get(`${deployments}/d`)
      assert.deepStrictEqual([body.spec.replicas, body.metadata.generation], [3, 2])
      const none = yield* put(`${deployments}/d/scale`, { metadata: { name: "d" }, spec: {} })
      assert.deepStrictEqual(none.body.spec, {})
      assert.strictEqual(
        message(yield* patch(`${deployments}/d/scale`, "merge", { spec: { replicas: -1 } })),
        "422 Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0"
      )
      const stale = { metadata: { name: "d", resourceVersion }, spec: { replicas: 5 } }
      assert.strictEqual((yield* put(`${deployments}/d/scale`, stale)).status, 409)
      const other = { metadata: { name: "d", uid: "other" }, spec: { replicas: 5 } }
      assert.strictEqual((yield* put(`${deployments}/d/scale`, other)).status, 409)
      assert.match(message(yield* put(`${deployments}/x/scale`, {})), /^400 the name of the object \(x based on URL\)/)
      assert.match(
        message(yield* put(`${deployments}/d/scale`, { apiVersion: "v1", kind: "Pod", metadata: { name: "d" } })),
        /^400 Pod in version "v1" cannot be handled as a Scale: /
      )
      assert.strictEqual(message(yield* get(`${deployments}/x/scale`)), "404 deployments.apps \"x\" not found")
      const controllers = "/api/v1/namespaces/default/replicationcontrollers"
      assert.strictEqual(message(yield* get(`${controllers}/x/scale`)), "404 replicationcontrollers \"x\" not found")
    }).pipe(Effect.provide(layer)))

  it.effect("what a patch makes of a Scale is one, of the same object", () =>
    Effect.gen(function*() {
      const { body: { metadata: { uid } } } = yield* post(deployments, deployment)
      const url = `${deployments}/d/scale`
      const said = (kind: "json" | "merge" | "strategic", body: unknown) => Effect.map(patch(url, kind, body), message)
      for (const kind of ["merge", "strategic"] as const) {
        assert.strictEqual(
          yield* said(kind, { metadata: { uid: "x" } }),
          "409 Operation cannot be fulfilled on deployments/scale.apps \"d\": Precondition failed: " +
            `UID in precondition: x, UID in object meta: ${uid}`
        )
      }
      const unknown = (apiVersion: string, kind: string) =>
        new RegExp(
          `^422  "" is invalid: patch: Invalid value: ".*": no kind "${kind}" is registered for version "${apiVersion}" in`
        )
      assert.match(yield* said("merge", { apiVersion: "apps/v1" }), unknown("apps/v1", "Scale"))
      assert.match(
        yield* said("json", [{ op: "replace", path: "/kind", value: "x" }]),
        unknown("autoscaling/v1", "x")
      )
      assert.match(yield* said("merge", { spec: { replicas: "a" } }), /"{\\"apiVersion.*managedFields.*of type int32$/)
      assert.strictEqual(
        yield* said("strategic", { spec: { replicas: 1.5 } }),
        "422  \"\" is invalid: patch: Invalid value: \"map[spec:map[replicas:1.5]]\": cannot convert float64 to int32"
      )
      // A strategic merge patch is read as a Scale, whatever it says to be.
      assert.strictEqual((yield* patch(url, "strategic", { apiVersion: "apps/v1", spec: { replicas: 2 } })).status, 200)
      const applied = yield* patch(`${url}?fieldManager=m&force=true`, "apply", {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "d", namespace: "default" },
        spec: { replicas: 1.5 }
      })
      assert.strictEqual(
        message(applied),
        "500 failed to convert new object (default/d; autoscaling/v1, Kind=Scale) to proper version: unable to convert " +
          "unstructured object to autoscaling/v1, Kind=Scale: cannot convert float64 to int32"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("the options of a write are judged before its body", () =>
    Effect.gen(function*() {
      yield* post(deployments, deployment)
      for (const body of [{ kind: "Nope" }, { spec: { replicas: "x" } }, { metadata: { name: "other" } }]) {
        assert.match(
          message(yield* put(`${deployments}/d/scale?dryRun=bogus`, body)),
          /^422 UpdateOptions.meta.k8s.io "" is invalid: dryRun: /
        )
      }
    }).pipe(Effect.provide(layer)))

  it.effect("of a custom resource follows the paths of its definition", () =>
    Effect.gen(function*() {
      yield* post(crds, widgetDefinition())
      yield* post(widgets, widget("a", { spec: { replicas: 2 } }))
      const first = yield* get(`${widgets}/a/scale`)
      assert.deepStrictEqual([first.body.spec, first.body.status], [{ replicas: 2 }, { replicas: 0 }])
      yield* patch(`${widgets}/a/status`, "merge", { status: { replicas: 1, selector: "app=x" } })
      const scaled = yield* patch(`${widgets}/a/scale`, "merge", { spec: { replicas: 4 } })
      assert.deepStrictEqual([scaled.body.spec, scaled.body.status], [{ replicas: 4 }, {
        replicas: 1,
        selector: "app=x"
      }])
      assert.strictEqual((yield* get(`${widgets}/a`)).body.metadata.generation, 2)
      assert.include(
        message(yield* patch(`${widgets}/a/scale`, "merge", { spec: { replicas: -4 } })),
        ".spec.replicas: Invalid value: -4: should be a non-negative integer"
      )
      yield* patch(`${widgets}/a`, "merge", { metadata: { managedFields: [{}] } })
      const config = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a" }, spec: { replicas: 1 } }
      assert.strictEqual(
        message(yield* patch(`${widgets}/a/scale?fieldManager=m`, "apply", config)),
        "500 failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, " +
          "Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
      )
      yield* post(widgets, widget("b"))
      assert.strictEqual(
        message(yield* get(`${widgets}/b/scale`)),
        "500 Internal error occurred: the spec replicas field \".spec.replicas\" does not exist"
      )
      // Who writes it says how many there are to be.
      const empty = "400 the spec replicas field \".spec.replicas\" cannot be empty"
      for (const sent of [{}, { spec: {} }]) {
        assert.strictEqual(message(yield* patch(`${widgets}/b/scale`, "merge", sent)), empty)
      }
      assert.deepStrictEqual((yield* patch(`${widgets}/b/scale`, "merge", { spec: { replicas: 3 } })).body.spec, {
        replicas: 3
      })
      assert.strictEqual(message(yield* get(`${widgets}/a/nope`)), "404 widgets.example.com \"a\" not found")
    }).pipe(Effect.provide(layer)))

  it.effect("of a custom resource that prunes its replicas shows none after a write", () =>
    Effect.gen(function*() {
      const definition = widgetDefinition()
      const [version] = (definition["spec"] as any).versions
      const openAPIV3Schema = { type: "object", properties: { spec: { type: "object" } } }
      const versions = [{ ...version, schema: { openAPIV3Schema } }]
      yield* post(crds, { ...definition, spec: { ...(definition["spec"] as object), versions } })
      yield* post(widgets, widget("a"))
      const { body, status } = yield* patch(`${widgets}/a/scale`, "merge", { spec: { replicas: 3 } })
      assert.deepStrictEqual([status, body.spec], [200, {}])
    }).pipe(Effect.provide(layer)))
})

describe("pods", () => {
  const binding = (node: string) => ({ metadata: { name: "a" }, target: { kind: "Node", name: node } })

  it.effect("are bound once", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const bound = yield* post(`${pods}/a/binding`, binding("n"))
      assert.deepStrictEqual([bound.status, bound.body.status], [201, "Success"])
      const { body } = yield* get(`${pods}/a`)
      assert.strictEqual(body.spec.nodeName, "n")
      assert.strictEqual(body.status.conditions[0].type, "PodScheduled")
      assert.strictEqual(
        message(yield* post(`${pods}/a/binding`, binding("m"))),
        "409 Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n\""
      )
      yield* post(pods, pod("b"))
      const meant = { name: "b", uid: "of what is created" }
      yield* post("/api/v1/namespaces/default/bindings", { metadata: meant, target: { name: "n" } })
      assert.strictEqual((yield* get(`${pods}/b`)).body.spec.nodeName, "n")
    }).pipe(Effect.provide(layer)))

  it.effect("are bound as the Pod that was meant, with the Binding's labels and annotations", () =>
    Effect.gen(function*() {
      const { body: { metadata: { resourceVersion, uid } } } = yield* post(
        pods,
        pod("a", { metadata: { labels: { app: "x", zone: "1" } } })
      )
      const bind = (metadata: object, query = "") =>
        post(`${pods}/a/binding${query}`, { metadata: { name: "a", ...metadata }, target: { name: "n" } })
      const failed = (key: string, what: string) =>
        `409 Operation cannot be fulfilled on pods "a": StorageError: invalid object, Code: 4, Key: ${key}, ` +
        `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${what}`
      assert.strictEqual(
        message(yield* bind({ uid: "x" }, "?dryRun=All")),
        failed("/pods/default/a", `UID in precondition: x, UID in object meta: ${uid}`)
      )
      assert.strictEqual(
        message(yield* bind({ uid, resourceVersion: "1" })),
        failed(
          "/registry/pods/default/a",
          `ResourceVersion in precondition: 1, ResourceVersion in object meta: ${resourceVersion}`
        )
      )
      const sent = { uid, resourceVersion, labels: { zone: "2" }, annotations: { by: "s" } }
      assert.strictEqual((yield* bind(sent)).status, 201)
      const { body: { metadata } } = yield* get(`${pods}/a`)
      assert.deepStrictEqual([metadata.labels, metadata.annotations], [{ app: "x", zone: "2" }, { by: "s" }])
      yield* post(pods, pod("b", { spec: { schedulingGates: [{ name: "g" }] } }))
      assert.strictEqual(
        message(yield* post(`${pods}/b/binding`, { metadata: { name: "b" }, target: { name: "n" } })),
        "409 Operation cannot be fulfilled on pods/binding \"b\": pod b has non-empty .spec.schedulingGates"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("what is sent to a subresource is of its type, and of the namespace", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const bindings = "/api/v1/namespaces/default/bindings"
      const evict = (body: object, query = "") => post(`${pods}/a/eviction${query}`, body)
      const strange = yield* evict({ metadata: { name: "a" }, foo: 1 }, "?dryRun=All")
      assert.deepStrictEqual([strange.status, strange.headers["warning"]], [201, "299 - \"unknown field \\\"foo\\\"\""])
      assert.strictEqual(
        message(yield* evict({ foo: 1 }, "?fieldValidation=Strict")),
        "400 Eviction in version \"v1\" cannot be handled as a Eviction: strict decoding error: unknown field \"foo\""
      )
      const elsewhere = "400 the namespace of the provided object does not match the namespace sent on the request"
      const body = { metadata: { name: "a", namespace: "other" }, target: { name: "n" } }
      for (const url of [`${pods}/a/binding`, bindings, `${pods}/a/eviction`, `${pods}/none/eviction`]) {
        assert.strictEqual(message(yield* post(url, body)), elsewhere, url)
      }
      assert.strictEqual(
        message(yield* post(bindings, { target: "x" })),
        "400 Binding in version \"v1\" cannot be handled as a Binding: json: cannot unmarshal string into Go struct " +
          "field Binding.target of type v1.ObjectReference"
      )
      assert.strictEqual(
        message(yield* post(bindings, { kind: "Pod", metadata: { name: "a" }, target: { name: "n" } })),
        "400 Pod in version \"v1\" cannot be handled as a Binding: converting (v1.Pod) to (core.Binding): unknown conversion"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("tell the zone and the region of the node that they get", () =>
    Effect.gen(function*() {
      const [zone, region] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"]
      yield* post("/api/v1/nodes", { metadata: { name: "n", labels: { [zone]: "z", [region]: "r", other: "o" } } })
      const labelsOf = Effect.fnUntraced(function*(name: string) {
        return (yield* get(`${pods}/${name}`)).body.metadata.labels
      })
      const bind = (name: string, target: object) => post(`${pods}/${name}/binding`, { metadata: { name }, target })
      for (const name of ["bound", "unspoken", "lost"]) {
        yield* post(pods, pod(name, { metadata: { labels: { a: "b", [zone]: "wrong" } } }))
      }
      yield* post(pods, pod("placed", { spec: { nodeName: "n" } }))
      assert.deepStrictEqual(yield* labelsOf("placed"), { [zone]: "z", [region]: "r" })
      assert.strictEqual((yield* bind("bound", { kind: "Node", name: "n" })).status, 201)
      assert.deepStrictEqual(yield* labelsOf("bound"), { a: "b", [zone]: "z", [region]: "r" })
      // As on a real server, a target that does not say what it is is a node, but not to this plugin.
      assert.strictEqual((yield* bind("unspoken", { name: "n" })).status, 201)
      assert.strictEqual((yield* bind("lost", { kind: "Node", name: "none" })).status, 201)
      for (const name of ["unspoken", "lost"]) {
        assert.deepStrictEqual(yield* labelsOf(name), { a: "b", [zone]: "wrong" })
      }
    }).pipe(Effect.provide(layer)))

  it.effect("are evicted as their budget allows", () =>
    Effect.gen(function*() {
      const budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
      for (const name of ["a", "b"]) {
        yield* post(pods, pod(name, { metadata: { labels: { app: "x" } }, spec: { nodeName: "n" } }))
        const conditions = [{ type: "Ready", status: "True" }]
        yield* patch(`${pods}/${name}/status`, "merge", { status: { phase: "Running", conditions } })
      }
      yield* post(budgets, {
        metadata: { name: "p" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "x" } } }
      })
      const eviction = (name: string) =>
        post(`${pods}/${name}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } })
      yield* patch(`${budgets}/p/status`, "merge", {
        status: { observedGeneration: 1, disruptionsAllowed: 1, desiredHealthy: 1, currentHealthy: 2 }
      })
      assert.strictEqual((yield* eviction("a")).status, 201)
      assert.strictEqual((yield* get(`${pods}/a`)).body.metadata.deletionGracePeriodSeconds, 30)
      const refused = yield* eviction("b")
      assert.strictEqual(message(refused), "429 Cannot evict pod as it would violate the pod's disruption budget.")
      assert.isUndefined(refused.headers["retry-after"])
      assert.deepStrictEqual(Object.keys((yield* get(`${budgets}/p`)).body.status.disruptedPods), ["a"])
    }).pipe(Effect.provide(layer)))

  it.effect("are evicted by their own name, and in a rehearsal not at all", () =>
    Effect.gen(function*() {
      yield* post(pods, pod("a"))
      const eviction = (name: string, more: object = {}) => ({ kind: "Eviction", metadata: { name }, ...more })
      assert.strictEqual(
        message(yield* post(`${pods}/a/eviction`, {})),
        "400 name in URL does not match name in Eviction object"
      )
      assert.strictEqual(
        message(yield* post(`${pods}/a/eviction`, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } })),
        "400 Pod in version \"v1\" cannot be handled as a Eviction: converting (v1.Pod) to (policy.Eviction): unknown conversion"
      )
      const unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential"
      assert.strictEqual(
        message(yield* post(`${pods}/a/eviction`, eviction("a", { deleteOptions: { [unsafe]: true } }))),
        `422 Eviction.policy "a" is invalid: deleteOptions.${unsafe}: Invalid value: true: can not be set for pod ` +
          "eviction, try after removing the option"
      )
      assert.strictEqual(
        message(yield* post(`${pods}/a/eviction`, eviction("a", { deleteOptions: { propagationPolicy: "Foo" } }))),
        `422 DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Foo": supported values: ` +
          `"Foreground", "Background", "Orphan", "nil"`
      )
      yield* post(`${pods}/a/eviction?dryRun=All`, eviction("a"))
      yield* post(`${pods}/a/eviction`, eviction("a", { deleteOptions: { dryRun: ["All"] } }))
      assert.strictEqual((yield* get(`${pods}/a`)).status, 200)
    }).pipe(Effect.provide(layer)))

  it.effect("are bound by their name", () =>
    Effect.gen(function*() {
      const target = { kind: "Node", name: "n" }
      const bindings = "/api/v1/namespaces/default/bindings"
      assert.strictEqual(message(yield* post(bindings, { target })), "400 Name parameter required.")
      assert.strictEqual(message(yield* post(bindings, {})), "500 target.name: Required value")
      assert.strictEqual((yield* get(bindings)).status, 405)
      assert.strictEqual((yield* get(`${bindings}/a`)).body.message, "the server could not find the requested resource")
    }).pipe(Effect.provide(layer)))
})

describe("questions", () => {
  it.effect("are answered and not stored", () =>
    Effect.gen(function*() {
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
      const review = yield* post(path, { spec: { resourceAttributes: { verb: "get", resource: "pods" } } })
      assert.deepStrictEqual([review.status, review.body.status], [201, { allowed: true }])
      assert.strictEqual((yield* get(path)).status, 405)
      const me = yield* post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
      assert.strictEqual(me.body.status.userInfo.username, "kubernetes-admin")
    }).pipe(Effect.provide(layer)))

  it.effect("are refused with their metadata in the order of its type, and selectors as others", () =>
    Effect.gen(function*() {
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
      const resourceAttributes = { verb: "get", resource: "pods" }
      const named = yield* post(path, { metadata: { labels: { b: "c" }, name: "x" }, spec: { resourceAttributes } })
      assert.match(
        message(named),
        /^422 .authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x","labels":{"b":"c"},"managedFields":\[{"manager":/
      )
      const labelSelector = { requirements: [{ key: "-", operator: "Newer" }] }
      const selecting = yield* post(path, { spec: { resourceAttributes: { ...resourceAttributes, labelSelector } } })
      const [cause, ...others] = selecting.body.details.causes
      assert.strictEqual(cause.field, "spec.resourceAttributes.labelSelector.requirements[0].key")
      assert.match(cause.message, /^Invalid value: "-": name part must consist of/)
      assert.deepStrictEqual(others, [])
    }).pipe(Effect.provide(layer)))

  it.effect("are answered in the form that is asked for", () =>
    Effect.gen(function*() {
      const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
      const review = yield* call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, { accept })
      assert.deepStrictEqual([review.status, Object.keys(review.body), review.body.kind], [
        201,
        ["kind", "apiVersion", "metadata"],
        "PartialObjectMetadata"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("a service account is issued a token", () =>
    Effect.gen(function*() {
      const accounts = "/api/v1/namespaces/default/serviceaccounts"
      yield* post(accounts, { metadata: { name: "s" } })
      const token = yield* post(`${accounts}/s/token`, { spec: { expirationSeconds: 600 } })
      assert.strictEqual(token.body.status.expirationTimestamp, "1970-01-01T00:10:00Z")
      assert.strictEqual((yield* del(`${accounts}/s`)).body.kind, "ServiceAccount")
    }).pipe(Effect.provide(layer)))
})

describe("what is not served", () => {
  it.effect.each<["GET" | "POST" | "PATCH", string, number, string | undefined]>([
    ["GET", "/apis/none/v1/things", 404, undefined],
    ["GET", "/apis/apps/v9/things", 404, "NotFound"],
    ["GET", "/apis/apps/v1/things", 404, "NotFound"],
    ["GET", "/api/v1/namespaces/default/nodes", 404, "NotFound"],
    ["GET", "/api/v1/pods/a", 404, "NotFound"],
    ["POST", "/api/v1/pods", 405, "MethodNotAllowed"],
    ["PATCH", "/api/v1/namespaces/default/pods", 405, "MethodNotAllowed"],
    ["GET", "/nothing", 404, undefined]
  ])("%s %s", ([method, path, status, reason]) =>
    Effect.gen(function*() {
      const answer = yield* call(method, path, method === "GET" ? undefined : {})
      assert.deepStrictEqual([answer.status, answer.body.reason], [status, reason])
    }).pipe(Effect.provide(layer)))
})
