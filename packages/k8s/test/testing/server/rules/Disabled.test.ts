import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer, post } from "../../support/server.ts"

describe("Disabled", () => {
  it.effect("what nobody has asked for is read and owned, and not kept", () =>
    Effect.gen(function*() {
      const lease = { metadata: { name: "a" }, spec: { holderIdentity: "h", strategy: "OldestEmulationVersion" } }
      const made = yield* post("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
      assert.deepStrictEqual(made.body.spec, { holderIdentity: "h" })
      assert.notProperty(made.headers, "warning")
      assert.property(made.body.metadata.managedFields[0].fieldsV1["f:spec"], "f:strategy")
      const slice = {
        metadata: { name: "a" },
        addressType: "IPv4",
        endpoints: [{ addresses: ["10.0.0.1"], deprecatedTopology: { a: "b" } }]
      }
      const { body } = yield* post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice)
      assert.notProperty(body.endpoints[0], "deprecatedTopology")
    }).pipe(Effect.provide(layer)))
})
