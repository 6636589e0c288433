import { assert, describe, it } from "@effect/vitest"
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ValidatingAdmissionPolicy } from "../../src/kinds/admissionregistration.v1.ts"
import * as ApiServer from "../../src/testing/ApiServer.ts"
import * as PolicyStatusController from "../../src/testing/PolicyStatusController.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import * as VirtualTime from "../../src/testing/VirtualTime.ts"

const layer = PolicyStatusController.layer.pipe(
  Layer.provideMerge(TestClient.layer),
  Layer.provideMerge(ApiServer.ApiServer.layer),
  Layer.provideMerge(VirtualTime.layer),
  Layer.fresh
)

const policy = (expression: string) => ({
  metadata: { name: "p" },
  spec: {
    matchConstraints: {
      resourceRules: [{
        apiGroups: ["apps"],
        apiVersions: ["v1"],
        operations: ["CREATE"],
        resources: ["deployments"]
      }]
    },
    validations: [{ expression }]
  }
})

describe("PolicyStatusController", () => {
  it.effect("every generation of a policy is checked", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(ValidatingAdmissionPolicy, policy("object.replicas > 1"))
      yield* TestClock.adjust("1 second")
      const first = yield* client.get(ValidatingAdmissionPolicy, { name: "p" })
      assert.strictEqual(first.status?.observedGeneration, 1)
      const [warning] = first.status?.typeChecking?.expressionWarnings ?? []
      assert.strictEqual(warning?.fieldRef, "spec.validations[0].expression")
      assert.include(warning?.warning, "apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'replicas'")
      const fixed = { spec: { validations: [{ expression: "object.spec.replicas > 1" }] } }
      yield* client.patch(ValidatingAdmissionPolicy, { name: "p" }, Patch.merge(fixed))
      yield* TestClock.adjust("1 second")
      const second = yield* client.get(ValidatingAdmissionPolicy, { name: "p" })
      assert.strictEqual(second.status?.observedGeneration, 2)
      assert.isUndefined(second.status?.typeChecking?.expressionWarnings)
      const entry = second.metadata.managedFields?.find(({ subresource }) => subresource === "status")
      if (entry !== undefined) {
        assert.deepInclude(entry, { manager: "validatingadmissionpolicy-status", operation: "Apply" })
      }
      yield* TestClock.adjust("10 seconds")
      const third = yield* client.get(ValidatingAdmissionPolicy, { name: "p" })
      assert.strictEqual(third.metadata.resourceVersion, second.metadata.resourceVersion)
    }).pipe(Effect.provide(layer)))

  it.effect("a policy without anything to warn of is told to have been checked", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient
      yield* client.create(ValidatingAdmissionPolicy, policy("object.spec.replicas > 1"))
      yield* TestClock.adjust("1 second")
      const { status } = yield* client.get(ValidatingAdmissionPolicy, { name: "p" })
      assert.deepStrictEqual(status as unknown, { observedGeneration: 1, typeChecking: {} })
    }).pipe(Effect.provide(layer)))
})
