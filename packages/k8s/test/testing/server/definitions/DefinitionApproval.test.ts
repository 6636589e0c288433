import type { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import * as Approval from "../../../../src/testing/server/definitions/DefinitionApproval.ts"

const definition = (group: string, approval?: string) =>
  ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `x.${group}`,
      ...(approval === undefined ? {} : { annotations: { [Approval.annotation]: approval } })
    },
    spec: { group }
  }) as unknown as KubeObject.KubeObject

describe("who needs an approval", () => {
  for (const group of ["k8s.io", "x.k8s.io", "kubernetes.io", "a.kubernetes.io"]) {
    it(group, () => assert.strictEqual(Approval.stateOf(definition(group))?._tag, "Missing"))
  }
  for (const group of ["example.com", "notk8s.io", "k8s.io.example.com", "xkubernetes.io"]) {
    it(`not ${group}`, () => assert.isUndefined(Approval.stateOf(definition(group))))
  }
})

describe("what an annotation says", () => {
  const cases = [
    [
      "https://github.com/kubernetes/kubernetes/pull/1",
      "Approved",
      "approved in https://github.com/kubernetes/kubernetes/pull/1"
    ],
    ["unapproved, experimental", "Unapproved", "not approved: \"unapproved, experimental\""],
    ["yes", "Invalid", undefined],
    ["/path/only", "Invalid", undefined],
    ["", "Missing", undefined]
  ] as const
  for (const [value, tag, message] of cases) {
    it(JSON.stringify(value), () => {
      const state = Approval.stateOf(definition("x.k8s.io", value))!
      assert.strictEqual(state._tag, tag)
      if (message !== undefined) assert.strictEqual(state.message, message)
      const condition = Approval.conditionOf(state)
      assert.strictEqual(condition.status, tag === "Approved" ? "True" : "False")
      assert.strictEqual(condition.reason, `${tag}Annotation`)
    })
  }
})
