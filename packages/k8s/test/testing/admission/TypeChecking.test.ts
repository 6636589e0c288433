import { assert, describe, it } from "@effect/vitest"
import * as Catalogue from "../../../src/testing/admission/Catalogue.ts"
import * as TypeChecking from "../../../src/testing/admission/TypeChecking.ts"
import { widgetDefinition } from "../support/server.ts"

const catalogue = Catalogue.make([widgetDefinition()])

const rule = (
  apiGroups: ReadonlyArray<string>,
  apiVersions: ReadonlyArray<string>,
  resources: ReadonlyArray<string>
) => ({
  apiGroups,
  apiVersions,
  resources,
  operations: ["*"]
})

const deployments = rule(["apps"], ["v1"], ["deployments"])

const check = (resourceRules: ReadonlyArray<object>, expression: string, more: object = {}) =>
  TypeChecking.check(
    { spec: { matchConstraints: { resourceRules }, validations: [{ expression }], ...more } },
    catalogue
  )

describe("kinds of Kubernetes", () => {
  it("a field that is not there is warned of", () => {
    assert.deepStrictEqual(check([deployments], "object.replicas > 1"), [{
      fieldRef: "spec.validations[0].expression",
      warning: "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'\n" +
        " | object.replicas > 1\n | ......^\n"
    }])
  })

  it("types are compared", () => {
    const [found] = check([deployments], "object.spec.replicas > '1'")
    assert.include(found!.warning, "found no matching overload for '_>_' applied to '(int, string)'")
  })

  for (
    const expression of [
      "object.spec.replicas > 1",
      "object.metadata.labels['a'] == 'b' && oldObject.metadata.generation > 0",
      "object.spec.template.spec.containers.all(c, c.image.startsWith('x') && (!has(c.ports) || c.ports[0].containerPort > 0))",
      "object.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')",
      "object.spec.strategy.rollingUpdate.maxSurge == 1 || object.spec.strategy.rollingUpdate.maxSurge == '10%'",
      "request.userInfo.username != '' && namespaceObject.metadata.name == 'x'",
      "1 + 1",
      "authorizer.group('').resource('pods').check('get').allowed()"
    ]
  ) {
    it(`nothing is wrong with ${expression.slice(0, 80)}`, () => {
      assert.deepStrictEqual(check([deployments], expression), [])
    })
  }

  it("all kinds are told of, in order", () => {
    const [found] = check(
      [rule(["apps", ""], ["v1"], ["statefulsets", "deployments", "pods"])],
      "object.spec.replicas > 1"
    )
    assert.strictEqual(
      found!.warning,
      "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n | object.spec.replicas > 1\n | ...........^\n"
    )
    const both = check([rule(["apps"], ["v1"], ["statefulsets", "deployments"])], "object.x")[0]!.warning.split("\n\n")
    assert.deepStrictEqual(both.map((text) => text.split(":")[0]), [
      "apps/v1, Kind=Deployment",
      "apps/v1, Kind=StatefulSet"
    ])
  })

  it("wildcards, subresources and what nobody serves are left alone", () => {
    for (
      const rules of [
        [rule(["*"], ["v1"], ["pods"])],
        [rule([""], ["*"], ["pods"])],
        [rule([""], ["v1"], ["*", "pods/status"])],
        [rule(["no.example.com"], ["v1"], ["nothings"])]
      ]
    ) assert.deepStrictEqual(check(rules, "object.nonsense"), [])
  })
})

describe("what else is checked", () => {
  it("messages, variables and parameters", () => {
    const [message] = check([deployments], "true", {
      validations: [{ expression: "true", messageExpression: "object.spec.nothing" }]
    })
    assert.strictEqual(message!.fieldRef, "spec.validations[0].messageExpression")
    const [variable] = check([deployments], "variables.count == 'x'", {
      variables: [{ name: "count", expression: "object.spec.replicas" }]
    })
    assert.include(variable!.warning, "applied to '(int, string)'")
    const paramKind = { apiVersion: "v1", kind: "ConfigMap" }
    assert.deepStrictEqual(check([deployments], "params.data['x'] == 'y'", { paramKind }), [])
    assert.include(check([deployments], "params.spec == 1", { paramKind })[0]!.warning, "undefined field 'spec'")
  })

  it("custom resources", () => {
    const widgets = rule(["example.com"], ["v1"], ["widgets"])
    assert.deepStrictEqual(check([widgets], "object.spec.replicas > 1 && object.metadata.labels.size() > 0"), [])
    assert.match(
      check([widgets], "object.spec.nothing")[0]!.warning,
      /^example\.com\/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'nothing'/
    )
  })
})
