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

describe("what others have is let go", () => {
  const labels = { "kept.example.com/copied": "true" }
  const notes = { namespace: "default", name: "notes" }
  const done = () => Effect.succeed(Action.done)

  /** A controller of a kind that is not the operator's own: it cleans up after ConfigMaps of people. */
  const copies = Controller.make("copies", { for: ConfigMap, labels, reconcile: done, finalize: done })
  const made: Simulation.Step = {
    name: "people have a ConfigMap",
    act: client.use((it) => it.create(ConfigMap, { metadata: { ...notes, labels }, data: { a: "b" } }))
  }
  const ofPeople: Simulation.Scenario = {
    name: "copies",
    resources: [],
    operator: Manager.layer([copies]),
    steps: [made]
  }

  it.live("no custom resource is the last where there never are any: what is worked on is held as long as it is there", () =>
    Effect.gen(function*() {
      const goes = { name: "it goes", act: client.use((it) => it.delete(ConfigMap, notes)) }
      assert.isUndefined(yield* oracleOf(ofPeople))
      assert.isUndefined(yield* oracleOf({ ...ofPeople, steps: [made, goes] }))
    }))

  it.live("nor is what a scenario says may stay let go with the last of them", () =>
    Effect.gen(function*() {
      const { operator: _, ...tenants } = story(false)
      const both: Simulation.Scenario = {
        ...tenants,
        operator: Manager.layer([copies, Controller.make("tenants", { for: Tenant, reconcile: done })]),
        steps: [made, ...tenants.steps]
      }
      assert.strictEqual(yield* oracleOf(both), "what others have is let go")
      assert.isUndefined(yield* oracleOf({ ...both, keeps: ["ConfigMap"] }))
    }))
})
