import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type Answer,
  call,
  configMap,
  configMaps,
  crds,
  del,
  layer,
  patch,
  pod,
  pods,
  post,
  put,
  widget,
  widgetDefinition,
  widgets
} from "../support/server.ts"
import { validating, validatingBindings } from "../support/policies.ts"

const message = ({ body, status }: Answer) => `${status} ${body.reason ?? "-"} ${body.message ?? ""}`
const denied = (text: string) =>
  `422 Invalid configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${text}`

const create = (data: object = {}, name = "a") => post(configMaps, configMap(name, { data }))

const test = (title: string, body: () => Generator<Effect.Effect<any, any, any>, void, any>) =>
  it.effect(title, () => Effect.gen(body).pipe(Effect.provide(layer)) as Effect.Effect<void>)

describe("validations", () => {
  test("refuse with their message, or the expression", function*() {
    yield* validating({ validations: [{ expression: "object.data.k == 'v'" }] })
    assert.strictEqual(message(yield* create({ k: "x" })), denied("failed expression: object.data.k == 'v'"))
    assert.strictEqual((yield* create({ k: "v" })).status, 201)
  })

  test("the first that is violated is told, with its reason's code", function*() {
    yield* validating({
      validations: [
        { expression: "true" },
        { expression: "object.data.k == 'v'", message: " be v ", reason: "Forbidden" },
        { expression: "false", message: "never told" }
      ]
    })
    const answer = yield* create({ k: "x" })
    assert.strictEqual(
      message(answer),
      `403 Forbidden configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: be v`
    )
    assert.deepStrictEqual(answer.body.details, {
      name: "a",
      kind: "configmaps",
      causes: [{ message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: be v" }]
    })
  })

  for (const [reason, status] of [["RequestEntityTooLarge", 413], ["Invalid", 422]] as const) {
    test(`${reason} is ${status}`, function*() {
      yield* validating({ validations: [{ expression: "false", reason }] })
      const answer = yield* create()
      assert.deepStrictEqual([answer.status, answer.body.reason], [status, reason])
    })
  }

  test("messages may be expressions; what is no message is not told", function*() {
    yield* validating({
      validations: [{
        expression: "object.data.k != 'x'",
        messageExpression: "'k is ' + string(object.data.k)",
        message: "other"
      }, {
        expression: "object.data.k != 'y'",
        messageExpression: "string(object.data.missing)",
        message: "other"
      }, { expression: "object.data.k != 'z'", messageExpression: "'  '" }]
    })
    assert.strictEqual(message(yield* create({ k: "x" })), denied("k is x"))
    assert.strictEqual(message(yield* create({ k: "y" })), denied("other"))
    assert.strictEqual(message(yield* create({ k: "z" })), denied("failed expression: object.data.k != 'z'"))
  })

  test("an expression that fails is a violation, unless failures are ignored", function*() {
    const validations = [{ expression: "object.data.missing == 'v'" }]
    yield* validating({ validations })
    assert.strictEqual(
      message(yield* create({ k: "x" })),
      denied("expression 'object.data.missing == 'v'' resulted in error: no such key: missing")
    )
    yield* call("PATCH", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/p", {
      spec: { failurePolicy: "Ignore" }
    }, { "content-type": "application/merge-patch+json" })
    assert.strictEqual((yield* create({ k: "x" })).status, 201)
  })

  test("know the object before, the request and the namespace", function*() {
    yield* validating({
      validations: [
        { expression: "oldObject == null || oldObject.data.k == object.data.k", message: "k changed" },
        { expression: "request.operation in ['CREATE', 'UPDATE'] && request.name == 'a'", message: "request" },
        { expression: "namespaceObject.metadata.name == 'default'", message: "namespace" },
        {
          expression: "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'",
          message: "kind"
        },
        { expression: "authorizer.group('').resource('pods').namespace('default').check('get').allowed()" }
      ]
    })
    assert.strictEqual(message(yield* create({ k: "v" })), "201 - ")
    assert.strictEqual(
      message(yield* put(`${configMaps}/a`, configMap("a", { data: { k: "w" } }))),
      denied("k changed")
    )
    assert.strictEqual((yield* put(`${configMaps}/a`, configMap("a", { data: { k: "v", l: "1" } }))).status, 200)
  })

  test("deletions have no object", function*() {
    yield* create({ k: "v" })
    yield* validating({
      matchConstraints: {
        resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["DELETE"], resources: ["*"] }]
      },
      validations: [{ expression: "object == null && oldObject.data.k != 'v'" }]
    })
    assert.strictEqual((yield* del(`${configMaps}/a`)).status, 422)
    assert.strictEqual((yield* create({}, "b")).status, 201)
  })

  test("variables are worked out where they are used, and may use those before", function*() {
    yield* validating({
      variables: [
        { name: "k", expression: "object.data.k" },
        { name: "long", expression: "size(variables.k) > 3" },
        { name: "bad", expression: "object.data.missing" }
      ],
      validations: [{ expression: "!variables.long", messageExpression: "variables.k + ' is long'" }]
    })
    assert.strictEqual(message(yield* create({ k: "long one" })), denied("long one is long"))
    assert.strictEqual((yield* create({ k: "s" })).status, 201)
  })
})

describe("bindings", () => {
  test("a policy without one does nothing", function*() {
    yield* validating({ validations: [{ expression: "false" }] })
    yield* del(`${validatingBindings}/b`)
    assert.strictEqual((yield* create()).status, 201)
  })

  test("warn", function*() {
    yield* validating({ validations: [{ expression: "false", message: "no" }] }, { validationActions: ["Warn"] })
    const answer = yield* create()
    assert.strictEqual(answer.status, 201)
    assert.strictEqual(
      answer.headers["warning"],
      `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"`
    )
  })

  test("audit", function*() {
    yield* validating({ validations: [{ expression: "false", message: "no" }] }, { validationActions: ["Audit"] })
    assert.strictEqual((yield* create()).status, 201)
  })

  test("may be about fewer objects than the policy", function*() {
    yield* validating({ validations: [{ expression: "false" }] }, {
      matchResources: { objectSelector: { matchLabels: { strict: "yes" } } }
    })
    assert.strictEqual((yield* create()).status, 201)
    const strict = configMap("b", { metadata: { labels: { strict: "yes" } } })
    assert.strictEqual((yield* post(configMaps, strict)).status, 422)
  })

  test("bring parameters", function*() {
    const paramKind = { apiVersion: "v1", kind: "ConfigMap" }
    const max = (name: string, value: string) =>
      configMap(name, { data: { max: value }, metadata: { labels: { x: "y" } } })
    yield* post("/api/v1/namespaces", { metadata: { name: "params" } })
    yield* post("/api/v1/namespaces/params/configmaps", max("limits", "3"))
    yield* validating({
      paramKind,
      validations: [{
        expression: "size(object.data) <= int(params.data.max)",
        messageExpression: "'max ' + params.data.max"
      }]
    }, { paramRef: { name: "limits", namespace: "params", parameterNotFoundAction: "Deny" } })
    assert.strictEqual((yield* create({ a: "1", b: "2", c: "3" }, "b")).status, 201)
    assert.strictEqual(message(yield* create({ a: "1", b: "2", c: "3", d: "4" })), denied("max 3"))
    yield* del("/api/v1/namespaces/params/configmaps/limits")
    assert.strictEqual(
      message(yield* create({})),
      denied("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
    )
    const changed = yield* patch(`${validatingBindings}/b`, "merge", {
      spec: {
        paramRef: {
          name: null,
          selector: { matchLabels: { x: "y" } },
          namespace: "params",
          parameterNotFoundAction: "Allow"
        }
      }
    })
    assert.strictEqual(changed.status, 200)
    assert.strictEqual(message(yield* create({})), "201 - ")
    yield* post("/api/v1/namespaces/params/configmaps", max("one", "1"))
    yield* post("/api/v1/namespaces/params/configmaps", max("two", "0"))
    assert.strictEqual(message(yield* create({ k: "v" })), denied("max 0"))
  })

  test("of a kind of parameters that nobody serves refuse", function*() {
    yield* validating(
      { paramKind: { apiVersion: "no.example.com/v1", kind: "Nope" }, validations: [{ expression: "true" }] },
      { paramRef: { name: "x", parameterNotFoundAction: "Allow" } }
    )
    assert.strictEqual(
      (yield* create()).body.message,
      `configmaps "a" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: ` +
        "failed to find resource referenced by paramKind: 'no.example.com/v1, Kind=Nope'"
    )
  })
})

describe("matching", () => {
  test("conditions keep a policy from being asked", function*() {
    yield* validating({
      matchConditions: [{ name: "not-mine", expression: "object.metadata.name != 'mine'" }],
      validations: [{ expression: "false" }]
    })
    assert.strictEqual((yield* create({}, "mine")).status, 201)
    assert.strictEqual((yield* create({})).status, 422)
  })

  test("resources may be left out again", function*() {
    yield* validating({
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["*"] }],
        excludeResourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }]
      },
      validations: [{ expression: "false", message: "no" }]
    })
    assert.strictEqual((yield* create()).status, 201)
    assert.strictEqual(
      (yield* post(pods, pod("x"))).body.message,
      "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
    )
  })

  test("policies and bindings themselves are exempt", function*() {
    yield* validating({
      matchConstraints: {
        resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }]
      },
      validations: [{ expression: "false" }]
    })
    assert.strictEqual((yield* create()).status, 422)
    assert.strictEqual((yield* del(`${validatingBindings}/b`)).status, 200)
    assert.strictEqual((yield* create()).status, 201)
  })

  test("reviews are not judged, configurations of webhooks are", function*() {
    yield* validating({
      matchConstraints: {
        resourceRules: [{ apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"] }]
      },
      validations: [{ expression: "false", message: "no" }]
    })
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
    assert.strictEqual((yield* post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)).status, 201)
    const configuration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "w" }
    }
    assert.strictEqual(
      message(yield* post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", configuration)),
      "422 Invalid mutatingwebhookconfigurations.admissionregistration.k8s.io \"w\" is forbidden: " +
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
    )
  })

  test("a status is seen in the version that a rule names, as the object is", function*() {
    const autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    yield* post(autoscalers, {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "a" },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } }
    })
    yield* validating({
      matchConstraints: {
        resourceRules: [{
          apiGroups: ["autoscaling"],
          apiVersions: ["v1"],
          operations: ["UPDATE"],
          resources: ["horizontalpodautoscalers/status"]
        }]
      },
      validations: [{ expression: "false", messageExpression: "object.apiVersion + ' ' + oldObject.apiVersion" }]
    })
    const { body } = yield* patch(`${autoscalers}/a/status`, "merge", { status: { desiredReplicas: 1 } })
    assert.match(body.message, /denied request: autoscaling\/v1 autoscaling\/v1$/)
  })

  test("custom resources are seen as they are", function*() {
    yield* post(crds, widgetDefinition())
    yield* validating({
      matchConstraints: {
        resourceRules: [{ apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["*"], resources: ["widgets"] }]
      },
      validations: [{ expression: "object.spec.replicas < 5" }]
    })
    assert.strictEqual((yield* post(widgets, widget("a", { spec: { replicas: 9 } }))).status, 422)
    assert.strictEqual((yield* post(widgets, widget("a", { spec: { replicas: 3 } }))).status, 201)
  })
})
