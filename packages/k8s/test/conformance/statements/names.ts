import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const configMap = (name: string, fields: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...fields
})

const configMapsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`

const merge = (body: object) => ({ body, contentType: "application/merge-patch+json" })

const versionOf = ({ object }: Answer): string => object.metadata.resourceVersion

/** The message and field of every cause of a 422. Updates tell each cause twice. */
export const faults = ({ error, status }: Answer): ReadonlyArray<string> => {
  assert.deepStrictEqual([status, error.reason, error.code], [422, "Invalid", 422], JSON.stringify(error))
  const causes = error.details?.causes ?? []
  return [
    ...new Set(causes.map(({ field, message, reason }) => {
      assert.strictEqual(reason, "FieldValueInvalid")
      assert.include(error.message!, `${field}: ${message}`)
      return `${field}: ${message}`
    }))
  ]
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
  "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const dns1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and " +
  "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is " +
  "'[a-z]([-a-z0-9]*[a-z0-9])?')"
const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

export const names = [
  statement("23", "most names are DNS subdomains, a Namespace's a label, a Service's begins with a letter", {
    note: "newer servers tell a label with dots that it has dots"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const services = `/api/v1/namespaces/${ns}/services`
    const refused = (path: string, body: (name: string) => object) =>
      Effect.fnUntraced(function*(name: string, why: string) {
        const found = faults(yield* request("POST", path, { body: body(name) }))
        assert.include(found, `metadata.name: Invalid value: "${name}": ${why}`)
      })
    const config = refused(configMapsOf(ns), (name) => configMap(name))
    const widget = refused(widgets.path(ns), (name) => widgets.object(name))
    for (const name of ["A", "a_b", "a..b", "-a", "a.", "a/b", "a%b", "."]) {
      yield* config(name, subdomain)
      yield* widget(name, subdomain)
    }
    yield* config("a".repeat(254), "must be no more than 253 characters")
    const longest = yield* request("POST", configMapsOf(ns), { body: configMap("a".repeat(253)) })
    assert.strictEqual(longest.status, 201)

    const namespaces = refused("/api/v1/namespaces", (name) => ({ metadata: { name } }))
    yield* namespaces("A", label)
    yield* namespaces("a.b", minor < 35 ? label : "must not contain dots")
    yield* namespaces("a".repeat(64), "must be no more than 63 characters")
    const service = refused(services, (name) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } }))
    yield* service("1a", dns1035)
    yield* service("a.b", dns1035)
    yield* service("a".repeat(64), "must be no more than 63 characters")
  }),

  statement("23a", "names of RBAC objects are segments of a path", {}, function*() {
    const { namespace, request } = yield* Target
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${yield* namespace}/roles`
    const post = (name: string) => request("POST", roles, { body: { metadata: { name }, rules: [] } })
    for (const name of ["system:Some_one", "a".repeat(300), "a..b", "..."]) {
      const { object, status } = yield* post(name)
      assert.deepStrictEqual([status, object.metadata.name], [201, name])
    }
    assert.strictEqual((yield* request("GET", `${roles}/system:Some_one`)).status, 200)
    const refused = [
      ["a/b", "may not contain '/'"],
      ["a%b", "may not contain '%'"],
      [".", "may not be '.'"],
      ["..", "may not be '..'"]
    ] as const
    for (const [name, why] of refused) {
      assert.deepStrictEqual(faults(yield* post(name)), [`metadata.name: Invalid value: "${name}": ${why}`])
    }
  }),

  statement("23b", "a name in the path that is no segment of one is 400, whatever the verb", {}, function*() {
    const { kind, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const merge = "application/merge-patch+json"
    const metadata = { name: "a%b" }
    const refused = (answer: Answer, name = "a%b", why = "may not contain '%'") => {
      const { code, details, message, reason } = answer.error
      assert.deepStrictEqual(
        [answer.status, code, reason, details, message],
        [400, 400, "BadRequest", undefined, `Name parameter invalid: "${name}": ${why}`]
      )
    }
    const configMaps = `/api/v1/namespaces/${ns}/configmaps`
    for (const path of [`${configMaps}/a%25b`, widgets.path(ns, "a%25b")]) {
      const body = path.startsWith(configMaps) ? { metadata } : widgets.object("a%b")
      refused(yield* request("GET", path))
      refused(yield* request("GET", path, { query: { resourceVersion: "x" } }))
      refused(yield* request("PUT", path, { body }))
      refused(yield* request("PUT", path, { body: { ...body, metadata: { ...metadata, uid: "x" } } }))
      refused(yield* request("PATCH", path, { body, contentType: merge }))
      refused(yield* request("DELETE", path))
    }
    // A kind that a PUT creates.
    refused(yield* request("PUT", `/api/v1/namespaces/${ns}/endpoints/a%25b`, { body: { metadata } }))
    refused(yield* request("GET", `/api/v1/namespaces/${ns}/pods/a%25b/log`))
    refused(yield* request("GET", "/api/v1/nodes/a%25b"))
    refused(
      yield* request("PATCH", `${configMaps}/a%25b`, {
        query: { fieldManager: "m" },
        contentType: "application/apply-patch+yaml",
        body: { apiVersion: "v1", kind: "ConfigMap", metadata }
      })
    )
  }),

  statement("24", "labels, annotations and finalizers are judged, on create and on update", {
    note:
      "an annotation's prefix may have capitals; built-ins want finalizers that are qualified; newer servers count bytes"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const long = "k".repeat(64)
    const many = `must be no more than 63 ${minor < 35 ? "characters" : "bytes"}`
    const cases: ReadonlyArray<readonly [field: string, value: unknown, ...faults: ReadonlyArray<string>]> = [
      ["labels", { "a b": "" }, `Invalid value: "a b": name part ${qualified}`],
      ["labels", { "/a": "" }, "Invalid value: \"/a\": prefix part must be non-empty"],
      ["labels", { "A.com/a": "" }, `Invalid value: "A.com/a": prefix part ${subdomain}`],
      [
        "labels",
        { "a/": "" },
        "Invalid value: \"a/\": name part must be non-empty",
        `Invalid value: "a/": name part ${qualified}`
      ],
      [
        "labels",
        { [long]: long },
        `Invalid value: "${long}": name part ${many}`,
        `Invalid value: "${long}": ${many}`
      ],
      [
        "labels",
        { a: "x y" },
        "Invalid value: \"x y\": a valid label must be an empty string or consist of alphanumeric characters, '-', " +
        "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or " +
        "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
      ],
      ["annotations", { "a b": "" }, `Invalid value: "a b": name part ${qualified}`],
      ["finalizers", ["a b"], `Invalid value: "a b": name part ${qualified}`]
    ]
    const good = { labels: { "a.com/A_b": "", a: "B_c" }, annotations: { "A.com/a": "any thing" } }
    const paths = [[configMapsOf(ns), configMap], [widgets.path(ns), widgets.object]] as const
    for (const [path, make] of paths) {
      const accepted = yield* request("POST", path, { body: make("a", { metadata: { name: "a", ...good } }) })
      assert.strictEqual(accepted.status, 201)
      for (const [field, value, ...wanted] of cases) {
        const expected = wanted.map((fault) => `metadata.${field}: ${fault}`)
        const body = make("b", { metadata: { name: "b", [field]: value } })
        assert.includeMembers([...faults(yield* request("POST", path, { body }))], expected)
        if (field === "finalizers") continue
        const patch = merge({ metadata: { [field]: value } })
        assert.deepStrictEqual(faults(yield* request("PATCH", `${path}/a`, patch)), expected)
      }
      const same = yield* request("GET", `${path}/a`)
      assert.strictEqual(versionOf(same), versionOf(accepted))
    }
    const simple = configMap("b", { metadata: { name: "b", finalizers: ["simple"] } })
    assert.deepStrictEqual(faults(yield* request("POST", configMapsOf(ns), { body: simple })), [
      "metadata.finalizers[0]: Invalid value: \"simple\": name is neither a standard finalizer name nor is it fully " +
      "qualified"
    ])
    // What the API machinery itself registers is judged as custom resources are.
    const hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    const registered = yield* request("POST", hooks, { body: { metadata: { name: ns, finalizers: ["simple"] } } })
    assert.strictEqual(registered.status, 201)
    assert.strictEqual(
      (yield* request("PATCH", `${hooks}/${ns}`, merge({ metadata: { finalizers: ["plain"] } }))).status,
      200
    )
    yield* request("PATCH", `${hooks}/${ns}`, merge({ metadata: { finalizers: null } }))
    assert.strictEqual((yield* request("DELETE", `${hooks}/${ns}`)).status, 200)
  }),

  statement("24a", "an owner reference is complete, one of them is the controller's, and none is there twice", {
    note: "equal ones are merged with a warning; the path has no index"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const widgets = yield* kind()
    const owner = (name: string, fields: object = {}) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name,
      uid: name,
      ...fields
    })
    const empty = (field: string) => {
      const why = field === "apiVersion"
        ? "version must not be empty"
        : `${minor < 35 ? `${field} ` : ""}must not be empty`
      return `metadata.ownerReferences.${field}: Invalid value: "": ${why}`
    }
    const paths = [[configMapsOf(ns), configMap], [widgets.path(ns), widgets.object]] as const
    for (const [path, make] of paths) {
      const post = (ownerReferences: ReadonlyArray<object>) =>
        request("POST", path, { body: make("a", { metadata: { name: "a", ownerReferences } }) })
      const fields = ["apiVersion", "kind", "name", "uid"]
      const nothing = Object.fromEntries(fields.map((field) => [field, ""]))
      assert.deepStrictEqual(faults(yield* post([nothing])), fields.map(empty))
      const [event] = faults(yield* post([owner("e", { kind: "Event" })]))
      assert.match(event!, /^metadata\.ownerReferences: .*: \/v1, Kind=Event is disallowed from being an owner$/)
      const [two] = faults(yield* post([owner("b", { controller: true }), owner("c", { controller: true })]))
      const named = minor < 21 ? "" : "ConfigMap/"
      const both = `Found "true" in references for ${named}b and ${named}c`
      assert.isTrue(two!.endsWith(`: Only one reference can have Controller set to true. ${both}`), two)
      const { headers, object, status } = yield* post([owner("b"), owner("b"), owner("c")])
      assert.strictEqual(status, 201)
      assert.deepStrictEqual(object.metadata.ownerReferences, [owner("b"), owner("c")] as never)
      assert.match(
        headers["warning"]!,
        /^299 - "\.metadata\.ownerReferences contains duplicate entries; .*observed: b"$/
      )
    }
  }),

  statement("25", "an unqualified finalizer of a custom resource is taken, with a warning", {
    note: "there is no warning before 1.29, and it does not speak of a path before 1.32"
  }, function*() {
    const { kind, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const { object, path } = yield* kind()
    const finalizers = ["simple", "x.y", "a.com/b"]
    const created = yield* request("POST", path(ns), { body: object("a", { metadata: { name: "a", finalizers } }) })
    assert.strictEqual(created.status, 201)
    assert.deepStrictEqual(created.object.metadata.finalizers, finalizers)
    const warning = (name: string, more = "") =>
      `299 - "metadata.finalizers: \\"${name}\\": prefer a domain-qualified finalizer name${more} to avoid accidental ` +
      "conflicts with other finalizer writers\""
    const including = minor < 32 ? "" : " including a path (/)"
    const warnings = `${warning("simple")}, ${warning("x.y", including)}`
    assert.strictEqual(created.headers["warning"], minor < 29 ? undefined : warnings)
    const patch = merge({ metadata: { finalizers: [...finalizers, "other"] } })
    const patched = yield* request("PATCH", path(ns, "a"), patch)
    assert.strictEqual(patched.status, 200)
    assert.strictEqual(patched.headers["warning"], minor < 29 ? undefined : warning("other"), "only what is new")
    yield* request("PATCH", path(ns, "a"), merge({ metadata: { finalizers: null } }))
  })
]
