import { assert } from "@effect/vitest"
import { configMaps, contentType, merge, owned, owners, widgets } from "../Applying.ts"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

export const managedFields = [
  statement("8e", "a create says who owns what was written, and nothing of what the server sets", {}, function*() {
    const { create } = yield* configMaps
    const created = yield* create("a", { k: "v" }, "agent", { labels: { l: "x" } })
    assert.strictEqual(created.status, 201)
    const [entry, ...others] = created.object.metadata.managedFields!
    assert.deepStrictEqual(others, [])
    assert.match(entry!.time!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.deepStrictEqual({ ...entry, time: "" }, {
      manager: "agent",
      operation: "Update",
      apiVersion: "v1",
      time: "",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { ".": {}, "f:k": {} }, "f:metadata": { "f:labels": { ".": {}, "f:l": {} } } }
    })
    // An object in which nothing is owned has no managedFields.
    const bare = yield* create("b", undefined, "agent")
    assert.notProperty(bare.object.metadata, "managedFields")
  }),

  statement("35c", "a write that changes nothing keeps entries and their times, whoever sends it", {}, function*() {
    const { create, get, patch } = yield* configMaps
    const { sleep } = yield* Target
    const before = yield* create("a", { k: "v" }, "one")
    yield* sleep(1100)
    const same = yield* patch("a", { data: { k: "v" } }, "two")
    assert.strictEqual(same.status, 200)
    assert.deepStrictEqual(same.object.metadata, before.object.metadata)
    assert.deepStrictEqual((yield* get("a")).object, before.object)
  }),

  statement("89a", "updates and applies of one manager are two entries, applies first", {}, function*() {
    const { apply, create, patch } = yield* configMaps
    yield* create("a", { k: "v" }, "same")
    yield* apply("a", { l: "v" }, "same")
    const both = yield* patch("a", { data: { n: "v" } }, "same")
    assert.deepStrictEqual(owners(both), [
      ["same", "Apply", { "f:data": { "f:l": {} } }],
      ["same", "Update", { "f:data": { ".": {}, "f:k": {}, "f:n": {} } }]
    ])
    assert.deepStrictEqual(
      both.object.metadata.managedFields!.map(({ apiVersion, fieldsType }) => [apiVersion, fieldsType]),
      [
        ["v1", "FieldsV1"],
        ["v1", "FieldsV1"]
      ]
    )
  }),

  statement("89j", "entries of one operation stand in the order of their times", {}, function*() {
    const { apply } = yield* configMaps
    const { sleep } = yield* Target
    yield* apply("a", { k: "v" }, "z")
    yield* sleep(1100)
    const second = yield* apply("a", { l: "v" }, "a")
    assert.deepStrictEqual(owners(second).map(([manager]) => manager), ["z", "a"])
    yield* sleep(1100)
    const third = yield* apply("a", { k: "w" }, "z")
    assert.deepStrictEqual(owners(third).map(([manager]) => manager), ["a", "z"])
  }),

  statement(
    "89b",
    "what is written through a subresource is an entry of its own, and owns only that",
    { since: 22 },
    function*() {
      const { apply, ns, object, path } = yield* widgets()
      const { request } = yield* Target
      const headers = { "user-agent": "agent/1" }
      const created = yield* request("POST", path(ns), { body: object("a", { status: { p: "lost" } }), headers })
      assert.deepStrictEqual(owned(created, "agent", "Update"), { "f:spec": { ".": {}, "f:x": {} } })
      const put = yield* request("PUT", `${path(ns, "a")}/status`, {
        body: { ...created.object, spec: { x: 5 }, status: { p: "set" } },
        headers
      })
      assert.deepStrictEqual(put.object["spec"], { x: 1 })
      const entry = put.object.metadata.managedFields!.find(({ subresource }) => subresource === "status")
      assert.deepStrictEqual(entry?.fieldsV1, { "f:status": { ".": {}, "f:p": {} } })
      const applied = yield* apply("m", { spec: { x: 9 }, status: { q: "set" } }, {}, "/status")
      assert.strictEqual(applied.status, 200)
      assert.deepStrictEqual(applied.object["spec"], { x: 1 })
      assert.deepStrictEqual(applied.object["status"], { p: "set", q: "set" })
      assert.deepStrictEqual(owned(applied, "m"), { "f:status": { "f:q": {} } })
    }
  ),

  statement(
    "89c",
    "managers through Scale own the replicas, and those who lose them there lose them",
    { since: 22 },
    function*() {
      const { minor: _, namespace, request } = yield* Target
      const path = `/apis/apps/v1/namespaces/${yield* namespace}/deployments`
      const labels = { app: "a" }
      const deployment = (replicas: number) => ({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "a" },
        spec: {
          replicas,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } }
        }
      })
      const send = (url: string, body: object, manager: string, query: object = {}) =>
        request("PATCH", url, { body, contentType, query: { fieldManager: manager, ...query } })
      const created = yield* send(`${path}/a`, deployment(1), "m")
      assert.property((owned(created, "m") as any)["f:spec"], "f:replicas")
      yield* request("PATCH", `${path}/a/scale`, {
        body: { spec: { replicas: 3 } },
        contentType: merge,
        headers: { "user-agent": "scaler/1" }
      })
      const scaled = yield* request("GET", `${path}/a`)
      assert.strictEqual(scaled.object["spec"].replicas, 3)
      assert.notProperty((owned(scaled, "m") as any)["f:spec"], "f:replicas")
      const entry = scaled.object.metadata.managedFields!.find(({ manager }) => manager === "scaler")!
      assert.deepStrictEqual(
        [entry.operation, entry.apiVersion, entry.subresource, entry.fieldsV1],
        ["Update", "apps/v1", "scale", { "f:spec": { "f:replicas": {} } }]
      )
      const refused = yield* send(`${path}/a`, deployment(1), "m")
      assert.strictEqual(
        refused.error.message,
        `Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas`
      )
      const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "a" }, spec: { replicas: 5 } }
      assert.strictEqual((yield* send(`${path}/a/scale`, scale, "n")).status, 409)
      const forced = yield* send(`${path}/a/scale`, scale, "n", { force: "true" })
      assert.deepStrictEqual([forced.status, forced.object.kind, forced.object["spec"]], [200, "Scale", {
        replicas: 5
      }])
      assert.deepStrictEqual(owned(yield* request("GET", `${path}/a`), "n"), { "f:spec": { "f:replicas": {} } })
    }
  ),

  statement(
    "92a",
    "an empty entry clears managedFields; then updates are not tracked, and an apply begins anew",
    {},
    function*() {
      const { apply, create, patch } = yield* configMaps
      yield* create("a", { k: "v" }, "agent")
      const cleared = yield* patch("a", { metadata: { managedFields: [{}] } }, "other")
      assert.strictEqual(cleared.status, 200)
      assert.notProperty(cleared.object.metadata, "managedFields")
      const untracked = yield* patch("a", { data: { l: "v" } }, "agent")
      assert.notProperty(untracked.object.metadata, "managedFields")
      const applied = yield* apply("a", { n: "v" }, "m")
      assert.deepStrictEqual(owners(applied), [
        ["m", "Apply", { "f:data": { "f:n": {} } }],
        ["before-first-apply", "Update", { "f:data": { ".": {}, "f:k": {}, "f:l": {} } }]
      ])
    }
  ),

  statement("92b", "no entries at all clear those of a built-in kind; custom kinds do not tell that from silence", {
    note: "The checklist has [] as saying nothing. That holds for custom kinds."
  }, function*() {
    const { create, patch } = yield* configMaps
    const { request } = yield* Target
    yield* create("a", { k: "v" }, "agent")
    assert.notProperty(
      (yield* patch("a", { metadata: { managedFields: [] } }, "agent")).object.metadata,
      "managedFields"
    )
    const { ns, object, path } = yield* widgets()
    const created = yield* request("POST", path(ns), { body: object("a"), headers: { "user-agent": "agent/1" } })
    const patched = yield* request("PATCH", path(ns, "a"), {
      body: { metadata: { managedFields: [] } },
      contentType: merge
    })
    assert.strictEqual(patched.status, 200)
    assert.deepStrictEqual(owners(patched), owners(created))
    const { managedFields: _, ...metadata } = created.object.metadata
    const put = yield* request("PUT", path(ns, "a"), {
      body: { ...created.object, metadata, spec: { x: 2 } },
      headers: { "user-agent": "other/1" }
    })
    assert.deepStrictEqual(owned(put, "other", "Update"), { "f:spec": { "f:x": {} } })
  }),

  statement(
    "92c",
    "managedFields that a client writes are taken over, if they can be read",
    { since: 22 },
    function*() {
      const { create, get, path } = yield* configMaps
      const { request } = yield* Target
      yield* create("a", { k: "v" }, "agent")
      const send = (managedFields: ReadonlyArray<object>) =>
        request("PATCH", `${path}/a`, { body: { metadata: { managedFields } }, contentType: merge })
      const entry = {
        manager: "mine",
        operation: "Apply",
        apiVersion: "v1",
        time: "2020-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:k": {} } }
      }
      assert.deepStrictEqual((yield* send([entry])).object.metadata.managedFields, [entry])
      // What cannot be read is as if it were not there.
      for (const broken of [{ operation: "Take" }, { fieldsType: "V2" }, { apiVersion: "" }]) {
        const { status } = yield* send([{ ...entry, manager: "broken", ...broken }])
        assert.strictEqual(status, 200)
        assert.deepStrictEqual((yield* get("a")).object.metadata.managedFields, [entry])
      }
    }
  ),

  statement("94a", "without a field manager, the user agent up to the slash is the manager", {}, function*() {
    const { create, path } = yield* configMaps
    const { request } = yield* Target
    const created = yield* create("a", { k: "v" }, "kube-thing")
    assert.deepStrictEqual(owners(created).map(([manager]) => manager), ["kube-thing"])
    const named = yield* request("PATCH", `${path}/a`, {
      body: { data: { l: "v" } },
      contentType: merge,
      query: { fieldManager: "named" },
      headers: { "user-agent": "kube-thing/1" }
    })
    assert.sameMembers(owners(named).map(([manager]) => manager), ["kube-thing", "named"])
    const long = yield* request("POST", path, {
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" }, data: { k: "v" } },
      headers: { "user-agent": "m".repeat(200) }
    })
    assert.deepStrictEqual(owners(long).map(([manager]) => manager), ["m".repeat(128)])
  }),

  statement("94c", "a server owns what it has created at its start", {}, function*() {
    const { minor, request } = yield* Target
    const rbac = "rbac.authorization.k8s.io/v1"
    const bootstrapped = {
      "f:annotations": { ".": {}, "f:rbac.authorization.kubernetes.io/autoupdate": {} },
      "f:labels": { ".": {}, "f:kubernetes.io/bootstrapping": {} }
    }
    const bound = {
      "f:metadata": bootstrapped,
      "f:roleRef": minor > 21 ? {} : { "f:apiGroup": {}, "f:kind": {}, "f:name": {} },
      "f:subjects": {}
    }
    const signer = `/apis/${rbac}/namespaces/kube-system`
    const fields: Readonly<Record<string, object>> = {
      "/api/v1/namespaces/default": minor > 21
        ? { "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/metadata.name": {} } } }
        : { "f:status": { "f:phase": {} } },
      "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical": {
        "f:description": {},
        "f:preemptionPolicy": {},
        "f:value": {}
      },
      [`/apis/${rbac}/clusterroles/system:discovery`]: { "f:metadata": bootstrapped, "f:rules": {} },
      [`/apis/${rbac}/clusterroles/admin`]: {
        "f:aggregationRule": { ".": {}, "f:clusterRoleSelectors": {} },
        "f:metadata": bootstrapped
      },
      [`/apis/${rbac}/clusterrolebindings/cluster-admin`]: bound,
      [`${signer}/roles/system:controller:bootstrap-signer`]: { "f:metadata": bootstrapped, "f:rules": {} },
      [`${signer}/rolebindings/system:controller:bootstrap-signer`]: bound
    }
    for (const [path, fieldsV1] of Object.entries(fields)) {
      const { object: { apiVersion, metadata } } = yield* request("GET", path)
      const { time: _, ...entry } = metadata.managedFields?.find(({ manager }) => manager === "kube-apiserver") ?? {}
      assert.deepStrictEqual(
        entry,
        { manager: "kube-apiserver", operation: "Update", apiVersion, fieldsType: "FieldsV1", fieldsV1 },
        path
      )
    }
  }),

  statement("94b", "more than ten managers of updates are merged, the oldest first", {}, function*() {
    const { create, patch } = yield* configMaps
    yield* create("a", { k0: "v" }, "m00")
    const names = Array.from({ length: 12 }, (_, index) => `m${String(index + 1).padStart(2, "0")}`)
    let last: Answer | undefined
    for (const [index, name] of names.entries()) last = yield* patch("a", { data: { [`k${index + 1}`]: "v" } }, name)
    const managers = owners(last!).map(([manager]) => manager)
    assert.strictEqual(managers.length, 10)
    assert.include(managers, "ancient-changes")
    assert.deepStrictEqual(owned(last!, "ancient-changes", "Update"), {
      "f:data": { ".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {} }
    })
    assert.sameMembers(managers, ["ancient-changes", ...names.slice(3)])
  }),

  statement(
    "89d",
    "kubectl takes over what it applied from the client's side, and keeps its annotation",
    {},
    function*() {
      const { apply, create, get } = yield* configMaps
      const annotation = "kubectl.kubernetes.io/last-applied-configuration"
      const config = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { k: "v", l: "v" } }
      yield* create("a", config.data, "kubectl", { annotations: { [annotation]: `${JSON.stringify(config)}\n` } })
      // Another manager has no such right.
      assert.strictEqual((yield* apply("a", { k: "w" }, "other")).status, 409)
      const taken = yield* apply("a", { k: "w", l: "v" }, "kubectl")
      assert.strictEqual(taken.status, 200)
      assert.deepStrictEqual(taken.object["data"], { k: "w", l: "v" })
      assert.deepStrictEqual(owned(taken, "kubectl"), { "f:data": { "f:k": {}, "f:l": {} } })
      const kept = JSON.parse((yield* get("a")).object.metadata.annotations![annotation]!)
      assert.deepStrictEqual(kept, { ...config, data: { k: "w", l: "v" } })
    }
  )
]
