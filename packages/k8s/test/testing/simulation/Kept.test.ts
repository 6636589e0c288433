import { Action, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { ConfigMap, Namespace } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const Tenant = CustomResource.make({
  group: "kept.example.com",
  version: "v1",
  kind: "Tenant",
  spec: Schema.Struct({ namespace: Schema.String, deletionPolicy: Schema.optionalKey(Schema.String) }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

const key = { namespace: "default", name: "team" }
const { KubeClient: client } = KubeClient

/** People have a namespace; a Tenant comes, and goes, whose operator deletes the namespace or not. */
const story = (
  deletes: boolean,
  spec: object = {},
  labels: Readonly<Record<string, string>> = {}
): Simulation.Scenario => ({
  name: "tenants",
  resources: [Tenant],
  operator: Manager.layer([Controller.make("tenants", {
    for: Tenant,
    reconcile: () => Effect.succeed(Action.done),
    finalize: ({ spec: { namespace: name } }) =>
      client.use((it) => deletes ? it.delete(Namespace, { name }) : Effect.void).pipe(
        Effect.catchReason("KubeError", "NotFound", () => Effect.void),
        Effect.catchReason("KubeError", "Conflict", () => Effect.void),
        Effect.as(Action.done)
      )
  })]),
  steps: [
    {
      name: "a namespace, and something in it",
      act: client.use((it) =>
        Effect.andThen(
          it.create(Namespace, { metadata: { name: "legacy", labels } }),
          it.create(ConfigMap, { metadata: { namespace: "legacy", name: "notes" }, data: { a: "b" } })
        )
      )
    },
    {
      name: "a Tenant that uses it",
      act: client.use((it) => it.create(Tenant, { metadata: key, spec: { namespace: "legacy", ...spec } }))
    },
    { name: "the Tenant goes", act: client.use((it) => it.delete(Tenant, key)) }
  ]
})

const options = { depth: 1, runs: 0, interleavings: 0 } as const
const oracleOf = (scenario: Simulation.Scenario) =>
  Simulation.checkConvergence(scenario, options).pipe(
    Effect.as(undefined),
    Effect.catch(({ oracle }) => Effect.succeed(oracle))
  )

describe("what people have made is kept", () => {
  it.live("data that a custom resource names does not go with it", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Simulation.checkConvergence(story(true), options))
      assert.strictEqual(failure.oracle, "what people have made is kept")
      assert.include(failure.message, "Namespace legacy was made by people, Tenant team only names it")
      assert.isUndefined(yield* oracleOf(story(false)))
    }))

  it.live("unless people say that it does, or have marked it as the operator's", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* oracleOf(story(true, { deletionPolicy: "Delete" })))
      assert.isUndefined(yield* oracleOf(story(true, {}, { "kept.example.com/tenant": "team" })))
    }))
})
