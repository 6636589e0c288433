import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  layer,
  mutatingBinding,
  mutatingBindings,
  mutatingPolicies,
  mutatingPolicy,
  validatingBinding,
  validatingBindings,
  validatingPolicies,
  validatingPolicy
} from "../../support/policies.ts"
import { post } from "../../support/server.ts"

type Cause = { readonly field: string; readonly message: string }

const causes = (url: string, body: object) =>
  Effect.map(
    post(url, body as Record<string, unknown>),
    (answer): ReadonlyArray<string> =>
      answer.status === 201
        ? []
        : answer.body.details.causes.map(({ field, message }: Cause) => `${field}: ${message}`)
  )

const cases = (
  url: string,
  make: (spec: object) => object,
  rows: ReadonlyArray<readonly [object, ReadonlyArray<string>]>
) => {
  for (const [spec, wanted] of rows) {
    it.effect(wanted[0] ?? JSON.stringify(spec), () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* causes(url, make(spec)), wanted)
      }).pipe(Effect.provide(layer)))
  }
}

const ok = [{ expression: "true" }]
const undeclared = (text: string, column: number, name: string) =>
  `compilation failed: ERROR: <input>:1:${column}: undeclared reference to '${name}' (in container '')\n | ${text}\n | ${
    ".".repeat(column - 1)
  }^`

describe("ValidatingAdmissionPolicy", () => {
  it.effect("what fails is a default of a policy without a spec, too", () =>
    Effect.gen(function*() {
      const nothing = "validations or auditAnnotations must contain at least one item"
      assert.deepStrictEqual(yield* causes(validatingPolicies, { metadata: { name: "a" } }), [
        "spec.matchConstraints: Required value",
        `spec.validations: Required value: ${nothing}`,
        `spec.auditAnnotations: Required value: ${nothing}`
      ])
    }).pipe(Effect.provide(layer)))

  cases(validatingPolicies, (spec) => validatingPolicy("p", spec), [
    [{ validations: ok }, []],
    [{}, [
      "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
      "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item"
    ]],
    [{ validations: ok, matchConstraints: {} }, ["spec.matchConstraints.resourceRules: Required value"]],
    [{ validations: ok, failurePolicy: "Maybe" }, [
      "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\""
    ]],
    [{ validations: [{ expression: " " }] }, [
      "spec.validations[0].expression: Required value: expression is not specified"
    ]],
    [{ validations: [{ expression: "params.x" }] }, [
      `spec.validations[0].expression: Invalid value: "params.x": ${undeclared("params.x", 1, "params")}`
    ]],
    [{ validations: [{ expression: "1" }] }, [
      "spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got int"
    ]],
    [{ validations: [{ expression: "true", message: "a\nb" }] }, [
      "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks"
    ]],
    [{ validations: [{ expression: "true", messageExpression: "1" }] }, [
      "spec.validations[0].messageExpression: Invalid value: \"1\": must evaluate to string but got int"
    ]],
    [{ validations: [{ expression: "true", reason: "Unauthorized" }] }, [
      "spec.validations[0].reason: Unsupported value: \"Unauthorized\": supported values: \"Forbidden\", \"Invalid\", " +
      "\"RequestEntityTooLarge\""
    ]],
    [{ validations: [{ expression: "variables.a == 1" }] }, [
      `spec.validations[0].expression: Invalid value: "variables.a == 1": ${
        undeclared("variables.a == 1", 1, "variables")
      }`
    ]],
    [{ validations: ok, variables: [{ name: "a-b", expression: "1" }] }, [
      "spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier"
    ]],
    [{ validations: ok, variables: [{ name: "a", expression: "variables.b" }, { name: "b", expression: "1" }] }, [
      "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: " +
      "ERROR: <input>:1:10: undefined field 'b'\n | variables.b\n | .........^"
    ]],
    [{ validations: [{ expression: "variables.a == 'x'" }], variables: [{ name: "a", expression: "1" }] }, [
      "spec.validations[0].expression: Invalid value: \"variables.a == 'x'\": compilation failed: " +
      "ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, string)'\n" +
      " | variables.a == 'x'\n | ............^"
    ]],
    [{ auditAnnotations: [{ key: "k", valueExpression: "1" }] }, [
      "spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": " +
      "must evaluate to one of [string null_type] but got int"
    ]],
    [{ validations: ok, matchConditions: [{ name: "", expression: "true" }] }, [
      "spec.matchConditions[0].name: Required value"
    ]],
    [{ validations: ok, paramKind: { apiVersion: "a/b/c", kind: "" } }, [
      "spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
      "spec.paramKind.kind: Required value"
    ]]
  ])
})

describe("ValidatingAdmissionPolicyBinding", () => {
  cases(validatingBindings, (spec) => validatingBinding("b", "p", spec), [
    [{}, []],
    [{ policyName: "" }, ["spec.policyName: Required value"]],
    [{ validationActions: [] }, ["spec.validationActions: Required value: at least one validation action is required"]],
    [{ validationActions: ["Deny", "Deny"] }, ["spec.validationActions[1]: Duplicate value: \"Deny\""]],
    [{ validationActions: ["Deny", "Warn"] }, [
      "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the " +
      "same validation failure information in the API response and headers serves no purpose)"
    ]],
    [{ paramRef: { parameterNotFoundAction: "Deny" } }, [
      "spec.paramRef: Required value: one of name or selector must be specified"
    ]],
    [{ paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Allow" } }, [
      "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
      "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive"
    ]],
    [{ paramRef: { name: "a" } }, ["spec.paramRef.parameterNotFoundAction: Required value"]]
  ])
})

describe("MutatingAdmissionPolicy", () => {
  const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/x'}]" } }]
  cases(mutatingPolicies, (spec) => mutatingPolicy("p", spec), [
    [{ mutations }, []],
    [{}, ["spec.mutations: Required value: mutations must contain at least one item"]],
    [{ mutations, reinvocationPolicy: "Often" }, [
      "spec.reinvocationPolicy: Unsupported value: \"Often\": supported values: \"IfNeeded\", \"Never\""
    ]],
    [{ mutations: [{ patchType: "JSONPatch" }] }, [
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch"
    ]],
    [{ mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "{}" } }] }, [
      "spec.mutations[0].applyConfiguration.expression: Invalid value: \"{}\": must evaluate to Object but got map(dyn, dyn)"
    ]],
    [{ mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 1}]" } }] }, [
      "spec.mutations[0].jsonPatch.expression: Invalid value: \"[JSONPatch{op: 1}]\": compilation failed: " +
      "ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n" +
      " | [JSONPatch{op: 1}]\n | .............^"
    ]],
    [
      {
        mutations,
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"] }]
        }
      },
      [
        "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", " +
        "\"CONNECT\", \"CREATE\", \"UPDATE\""
      ]
    ]
  ])
})

describe("MutatingAdmissionPolicyBinding", () => {
  cases(mutatingBindings, (spec) => mutatingBinding("b", "p", spec), [
    [{}, []],
    [{ policyName: "A B" }, [
      "spec.policyName: Invalid value: \"A B\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric " +
      "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " +
      "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]]
  ])
})

describe("defaults", () => {
  it.effect("of policies and bindings", () =>
    Effect.gen(function*() {
      const { body: { spec } } = yield* post(validatingPolicies, validatingPolicy("p", { validations: ok }))
      assert.strictEqual(spec.failurePolicy, "Fail")
      assert.deepInclude(spec.matchConstraints, {
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {}
      })
      assert.strictEqual(spec.matchConstraints.resourceRules[0].scope, "*")
      const binding = yield* post(validatingBindings, validatingBinding("b", "p", { matchResources: {} }))
      assert.strictEqual(binding.body.spec.matchResources.matchPolicy, "Equivalent")
    }).pipe(Effect.provide(layer)))
})
