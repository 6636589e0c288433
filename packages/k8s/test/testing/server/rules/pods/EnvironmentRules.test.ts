import { assert, describe, it } from "@effect/vitest"
import { c, containerFaults } from "../../../support/podFaults.ts"

const e = `${c}.env[0].valueFrom`

const shown = (valueFrom: object) => containerFaults({ env: [{ name: "A", valueFrom }] })

describe("EnvironmentRules", () => {
  it("shows fields and resources that there are", () => {
    assert.deepStrictEqual(shown({ fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['a/b']" } }), [])
    assert.deepStrictEqual(shown({ fieldRef: { apiVersion: "v1", fieldPath: "spec.restartPolicy" } }), [
      `${e}.fieldRef.fieldPath: Unsupported value: "spec.restartPolicy": supported values: "metadata.name", ` +
      `"metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", ` +
      `"status.hostIPs", "status.podIP", "status.podIPs"`
    ])
    assert.deepStrictEqual(shown({ fieldRef: { apiVersion: "v1", fieldPath: "spec.other" } }), [
      `${e}.fieldRef.fieldPath: Invalid value: "spec.other": error converting fieldPath: field label not supported: ` +
      "spec.other"
    ])
    assert.deepStrictEqual(shown({ resourceFieldRef: { resource: "limits.cpu", divisor: "2" } }), [
      `${e}.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the ` +
      "cpu resource"
    ])
    assert.deepStrictEqual(shown({ resourceFieldRef: { resource: "limits.gpu" } }), [
      `${e}.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", ` +
      `"limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`
    ])
  })

  it("takes whole objects", () => {
    assert.deepStrictEqual(containerFaults({ envFrom: [{ prefix: "X_", configMapRef: { name: "a" } }] }), [])
    assert.deepStrictEqual(containerFaults({ envFrom: [{}, { configMapRef: {}, secretRef: { name: "s" } }] }), [
      `${c}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
      `${c}.envFrom[1].configMapRef.name: Required value`,
      `${c}.envFrom: Invalid value: "": may not have more than one field specified at a time`
    ])
  })
})
