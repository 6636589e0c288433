/** Policies of admission: the policy half of statements 131 and 133. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { statement } from "../Statement.ts"
import { type Answer, Target } from "../Target.ts"

const group = "/apis/admissionregistration.k8s.io"
const mergePatch = "application/merge-patch+json"

type Fields = Readonly<Record<string, unknown>>

/** What a policy is about: a resource in namespaces of a label of the statement's own. */
const about = (namespace: string, resource: string, operations: ReadonlyArray<string> = ["CREATE", "UPDATE"]) => ({
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations, resources: [resource] }],
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } }
})

/** Installs a policy and a binding of the same name. */
const install = (flavour: "Validating" | "Mutating", version: string) =>
  Effect.fnUntraced(function*(spec: Fields, binding: Fields = {}) {
    const { request, unique } = yield* Target
    const name = unique("policy")
    const make = (kind: string, fields: Fields) =>
      request("POST", `${group}/${version}/${kind.toLowerCase().replace(/y$/, "ie")}s`, {
        body: {
          apiVersion: `admissionregistration.k8s.io/${version}`,
          kind,
          metadata: { name },
          spec: fields
        }
      })
    const policy = yield* make(`${flavour}AdmissionPolicy`, spec)
    assert.strictEqual(policy.status, 201, JSON.stringify(policy.body))
    const bound = yield* make(`${flavour}AdmissionPolicyBinding`, { policyName: name, ...binding })
    assert.strictEqual(bound.status, 201, JSON.stringify(bound.body))
    return name
  })

const validating = install("Validating", "v1")
const mutating = install("Mutating", "v1beta1")

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data
})

const refused = ({ status }: Answer): boolean => status >= 400

export const policies = [
  statement("131p", "a validating policy refuses through its binding", {
    since: 30,
    note: "the policies' part of 131"
  }, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const name = yield* validating({
      matchConstraints: about(ns, "configmaps"),
      matchConditions: [{ name: "not-free", expression: "object.metadata.name != 'free'" }],
      variables: [{ name: "size", expression: "has(object.data) ? size(object.data) : 0" }],
      validations: [
        { expression: "variables.size <= 2", messageExpression: "'too many: ' + string(variables.size)" },
        { expression: "!has(object.data) || !('secret' in object.data)", message: "no secrets", reason: "Forbidden" }
      ]
    }, { validationActions: ["Deny"] })
    const post = (name: string, data: Readonly<Record<string, string>>) =>
      request("POST", path, { body: configMap(name, data), query: { dryRun: "All" } })
    const many = yield* until(post("a", { a: "1", b: "2", c: "3" }), refused)
    assert.strictEqual(many.status, 422)
    assert.strictEqual(many.error.reason, "Invalid")
    const told = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: `
    assert.strictEqual(many.error.message, `configmaps "a" is forbidden: ${told}too many: 3`)
    assert.deepStrictEqual(many.error.details as unknown, {
      name: "a",
      kind: "configmaps",
      causes: [{ message: `${told}too many: 3` }]
    })
    const secret = yield* post("a", { secret: "x" })
    assert.deepStrictEqual([secret.status, secret.error.reason], [403, "Forbidden"])
    assert.strictEqual(secret.error.message, `configmaps "a" is forbidden: ${told}no secrets`)
    assert.strictEqual((yield* post("a", { a: "1" })).status, 201)
    assert.strictEqual((yield* post("free", { secret: "x" })).status, 201)
  }),

  statement("131q", "a binding may only warn", { since: 30 }, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    const name = yield* validating({
      matchConstraints: about(ns, "configmaps"),
      validations: [{ expression: "object.metadata.name != 'a'", message: "better not" }]
    }, { validationActions: ["Warn", "Audit"] })
    const post = (name: string) =>
      request("POST", `/api/v1/namespaces/${ns}/configmaps`, { body: configMap(name), query: { dryRun: "All" } })
    const warned = yield* until(post("a"), ({ headers }) => headers["warning"] !== undefined)
    assert.strictEqual(warned.status, 201)
    assert.strictEqual(
      warned.headers["warning"],
      `299 - "Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': better not"`
    )
    assert.notProperty((yield* post("b")).headers, "warning")
  }),

  statement("131r", "a policy may have parameters", { since: 30 }, function*() {
    const { namespace, request, until } = yield* Target
    const [ns, other] = [yield* namespace, yield* namespace]
    const limits = { ...configMap("limits", { max: "1" }) }
    yield* request("POST", `/api/v1/namespaces/${other}/configmaps`, { body: limits })
    const name = yield* validating({
      matchConstraints: about(ns, "configmaps"),
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      validations: [{ expression: "size(object.data) <= int(params.data.max)" }]
    }, {
      validationActions: ["Deny"],
      paramRef: { name: "limits", namespace: other, parameterNotFoundAction: "Deny" }
    })
    const post = (data: Readonly<Record<string, string>>) =>
      request("POST", `/api/v1/namespaces/${ns}/configmaps`, { body: configMap("a", data), query: { dryRun: "All" } })
    const many = yield* until(post({ a: "1", b: "2" }), refused)
    const told =
      `configmaps "a" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: `
    assert.strictEqual(many.error.message, `${told}failed expression: size(object.data) <= int(params.data.max)`)
    yield* request("PATCH", `/api/v1/namespaces/${other}/configmaps/limits`, {
      contentType: mergePatch,
      body: { data: { max: "2" } }
    })
    yield* until(post({ a: "1", b: "2" }), ({ status }) => status === 201)
    yield* request("DELETE", `/api/v1/namespaces/${other}/configmaps/limits`)
    const none = yield* until(post({ a: "1" }), refused)
    assert.strictEqual(
      none.error.message,
      `${told}failed to configure binding: no params found for policy binding with \`Deny\` parameterNotFoundAction`
    )
    assert.strictEqual(none.status, 422)
  }),

  statement("131s", "expressions of policies must compile", { since: 30 }, function*() {
    const { request, unique } = yield* Target
    const post = (validation: Fields) =>
      request("POST", `${group}/v1/validatingadmissionpolicies`, {
        body: {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicy",
          metadata: { name: unique("policy") },
          spec: { matchConstraints: about("none", "pods"), validations: [validation] }
        },
        query: { dryRun: "All" }
      })
    const wrong = yield* post({ expression: "object.a &&" })
    assert.strictEqual(wrong.status, 422)
    assert.strictEqual((wrong.error.details as any).causes[0].field, "spec.validations[0].expression")
    assert.include(
      wrong.error.message,
      "compilation failed: ERROR: <input>:1:12: Syntax error: mismatched input '<EOF>'"
    )
    const unknown = yield* post({ expression: "nothing == 1" })
    assert.include(unknown.error.message, "undeclared reference to 'nothing' (in container '')")
    const number = yield* post({ expression: "1 + 1" })
    assert.include(number.error.message, "must evaluate to bool")
    assert.strictEqual((yield* post({ expression: "object.a == 1" })).status, 201)
  }),

  statement("131v", "expressions are checked against the kinds they are about, and warned of", {
    since: 30,
    controllers: true
  }, function*() {
    const { request, unique, until } = yield* Target
    const name = unique("policy")
    const path = `${group}/v1/validatingadmissionpolicies`
    const created = yield* request("POST", path, {
      body: {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name },
        spec: {
          matchConstraints: {
            resourceRules: [{
              apiGroups: ["apps"],
              apiVersions: ["v1"],
              operations: ["CREATE"],
              resources: ["deployments"]
            }]
          },
          validations: [{ expression: "object.replicas > 1" }]
        }
      }
    })
    assert.strictEqual(created.status, 201)
    assert.strictEqual(created.object.metadata.generation, 1)
    const { object } = yield* until(
      request("GET", `${path}/${name}`),
      ({ object }) => object.status?.observedGeneration === 1
    )
    assert.deepStrictEqual(object.status.typeChecking.expressionWarnings, [{
      fieldRef: "spec.validations[0].expression",
      warning: "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n" +
        " | object.replicas > 1\n | ......^\n"
    }])
    yield* request("PATCH", `${path}/${name}`, {
      contentType: mergePatch,
      body: { spec: { validations: [{ expression: "object.spec.replicas > 1" }] } }
    })
    const fixed = yield* until(
      request("GET", `${path}/${name}`),
      ({ object }) => object.status?.observedGeneration === 2
    )
    assert.notProperty(fixed.object.status.typeChecking ?? {}, "expressionWarnings")
  }),

  statement("131t", "mutating policies come before the schema's defaults are judged and before validating policies", {
    since: 34
  }, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    yield* mutating({
      matchConstraints: about(ns, "configmaps"),
      reinvocationPolicy: "Never",
      mutations: [{
        patchType: "ApplyConfiguration",
        applyConfiguration: {
          expression: "Object{metadata: Object.metadata{labels: Object.metadata.labels{team: 'a'}}}"
        }
      }, {
        patchType: "JSONPatch",
        jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/data/team', value: object.metadata.labels.team}]" }
      }]
    })
    const name = yield* validating({
      matchConstraints: about(ns, "configmaps"),
      validations: [{ expression: "object.data.team == 'a' && !('bad' in object.data)", message: "not of the team" }]
    }, { validationActions: ["Deny"] })
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const made = yield* until(
      request("POST", path, { body: configMap("a", { k: "v" }), query: { dryRun: "All" } }),
      ({ object, status }) => status === 201 && object.data?.team !== undefined
    )
    assert.deepStrictEqual(made.object.data, { k: "v", team: "a" })
    assert.deepStrictEqual(made.object.metadata.labels, { team: "a" })
    const bad = yield* until(
      request("POST", path, { body: configMap("a", { bad: "v" }), query: { dryRun: "All" } }),
      refused
    )
    assert.include(bad.error.message, `'${name}' denied request: not of the team`)
  }),

  statement("131u", "a mutating policy that cannot be applied refuses", { since: 34 }, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    const name = yield* mutating({
      matchConstraints: about(ns, "configmaps"),
      reinvocationPolicy: "Never",
      mutations: [{
        patchType: "JSONPatch",
        jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/data/k'}]" }
      }]
    })
    const post = (data: Readonly<Record<string, string>>) =>
      request("POST", `/api/v1/namespaces/${ns}/configmaps`, { body: configMap("a", data), query: { dryRun: "All" } })
    const answer = yield* until(post({ l: "v" }), refused)
    assert.strictEqual(answer.status, 403)
    assert.strictEqual(answer.error.reason, "Invalid")
    assert.include(answer.error.message, `policy '${name}' with binding '${name}' denied request: `)
    assert.deepEqual((yield* post({ k: "v" })).object.data ?? {}, {})
  }),

  statement("133p", "policies see deletions by the old object, and subresources by name", { since: 30 }, function*() {
    const { namespace, request, until } = yield* Target
    const ns = yield* namespace
    const path = `/api/v1/namespaces/${ns}/configmaps`
    yield* request("POST", path, { body: configMap("kept", { keep: "yes" }) })
    yield* request("POST", path, { body: configMap("other") })
    yield* validating({
      matchConstraints: about(ns, "configmaps", ["DELETE"]),
      validations: [{
        expression:
          "object == null && request.operation == 'DELETE' && (!has(oldObject.data) || !('keep' in oldObject.data))",
        message: "it is kept"
      }]
    }, { validationActions: ["Deny"] })
    const kept = yield* until(request("DELETE", `${path}/kept`, { query: { dryRun: "All" } }), refused)
    assert.strictEqual(kept.status, 422)
    assert.match(kept.error.message!, /^configmaps "kept" is forbidden: .* denied request: it is kept$/)
    assert.strictEqual((yield* request("DELETE", `${path}/other`)).status, 200)
    yield* validating({
      matchConstraints: about(ns, "pods/status", ["UPDATE"]),
      validations: [{
        expression: "request.subResource != 'status' || oldObject.status == object.status",
        message: "status is fixed"
      }]
    }, { validationActions: ["Deny"] })
    yield* request("POST", `/api/v1/namespaces/${ns}/serviceaccounts`, {
      body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } }
    })
    const pod = `/api/v1/namespaces/${ns}/pods`
    yield* until(
      request("POST", pod, {
        body: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "p" },
          spec: { containers: [{ name: "c", image: "app:1" }] }
        }
      }),
      ({ status }) => status === 201 || status === 409
    )
    const status = yield* until(
      request("PATCH", `${pod}/p/status`, {
        contentType: mergePatch,
        body: { status: { message: "changed" } },
        query: { dryRun: "All" }
      }),
      refused
    )
    assert.include(status.error.message, "denied request: status is fixed")
  })
]
