import { Action, Controller, CustomResource, KubeClient, Manager } from "@effect-operator/core"
import { controllerReference, type KubeObject } from "@effect-operator/core/KubeObject"
import { ConfigMap, Namespace } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { dataKept } from "../../../../src/testing/simulation/oracles/Kept.ts"
import type { Entry, Recording } from "../../../../src/testing/simulation/recording/Recording.ts"
import type { Reference } from "../../../../src/testing/simulation/running/Reference.ts"
import { blank } from "../recordings.ts"

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

/** People have notes; a Tenant of that name comes, whose operator takes them for its own child, and goes. */
const taking = (labels: Readonly<Record<string, string>>): Simulation.Scenario => ({
  name: "takes",
  resources: [Tenant],
  operator: Manager.layer([Controller.make("tenants", {
    for: Tenant,
    owns: [ConfigMap],
    reconcile: (tenant) =>
      Effect.as(
        client.use((it) =>
          it.apply(ConfigMap, { metadata: { ...key, ownerReferences: [controllerReference(tenant)] } }, { force: true })
        ),
        Action.done
      )
  })]),
  steps: [
    {
      name: "notes",
      act: client.use((it) => it.create(ConfigMap, { metadata: { ...key, labels }, data: { a: "b" } }))
    },
    {
      name: "a Tenant",
      act: client.use((it) => it.create(Tenant, { metadata: key, spec: { namespace: "legacy" } }))
    },
    { name: "the Tenant goes", act: client.use((it) => it.delete(Tenant, key)) }
  ]
})

/** People have a letter; a Tenant comes, whose operator throws it away when it has seen it, or when the Tenant goes. */
const consuming = (labels: Readonly<Record<string, string>>, atLast: boolean): Simulation.Scenario => {
  const letter = { namespace: "default", name: "letter" }
  const consumed = (now: boolean) =>
    client.use((it) => now ? it.delete(ConfigMap, letter) : Effect.void).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.void),
      Effect.as(Action.done)
    )
  return {
    name: "consumes",
    resources: [Tenant],
    operator: Manager.layer([Controller.make("tenants", {
      for: Tenant,
      reconcile: () => consumed(!atLast),
      finalize: () => consumed(atLast)
    })]),
    steps: [
      { name: "a letter", act: client.use((it) => it.create(ConfigMap, { metadata: { ...letter, labels } })) },
      {
        name: "a Tenant",
        act: client.use((it) => it.create(Tenant, { metadata: key, spec: { namespace: "legacy" } }))
      },
      { name: "the Tenant goes", act: client.use((it) => it.delete(Tenant, key)) }
    ]
  }
}

const options = { depth: 1, runs: 0, interleavings: 0 } as const
const oracleOf = (scenario: Simulation.Scenario) =>
  Simulation.checkConvergence(scenario, options).pipe(
    Effect.as(undefined),
    Effect.catch(({ oracle }) => Effect.succeed(oracle))
  )

describe("objects made by people are kept", () => {
  it.live("data that a custom resource names does not go with it", () =>
    Effect.gen(function*() {
      const failure = yield* Effect.flip(Simulation.checkConvergence(story(true), options))
      assert.strictEqual(failure.oracle, "objects made by people are kept")
      assert.include(failure.message, "Namespace legacy was created by people, Tenant team only names it")
      assert.isUndefined(yield* oracleOf(story(false)))
    }))

  it.live("unless people say that it does, or have marked it as the operator's", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* oracleOf(story(true, { deletionPolicy: "Delete" })))
      assert.isUndefined(yield* oracleOf(story(true, {}, { "kept.example.com/tenant": "team" })))
    }))

  it.live("nor what they have given to a custom resource by its name in a label, as long as that lives", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* oracleOf(consuming({}, false)), "objects made by people are kept")
      assert.strictEqual(yield* oracleOf(consuming({ app: "mail" }, false)), "objects made by people are kept")
      assert.isUndefined(yield* oracleOf(consuming({ to: "team" }, false)))
      assert.strictEqual(yield* oracleOf(consuming({ to: "team" }, true)), "objects made by people are kept")
    }))

  it.live("nor is it taken for a child that goes with its owner, if no label is the name of that", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* oracleOf(taking({})), "objects made by people are kept")
      assert.strictEqual(yield* oracleOf(taking({ app: "web" })), "objects made by people are kept")
      assert.isUndefined(yield* oracleOf(taking({ tenant: "team" })))
      const { steps, ...lives } = taking({})
      assert.isUndefined(yield* oracleOf({ ...lives, steps: steps.slice(0, 2) }))
    }))
})

describe("finalizers on others' objects are released", () => {
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
      assert.strictEqual(yield* oracleOf(both), "finalizers on others' objects are released")
      assert.isUndefined(yield* oracleOf({ ...both, keeps: ["ConfigMap"] }))
    }))
})

/** A run in which somebody makes a parent and its volumes, named by the parent's uid, and the operator deletes some. */
const run = (uid: string, volumes: ReadonlyArray<string>, deleted: ReadonlyArray<string>): Recording => {
  const entries: Array<Entry> = []
  let revision = 10
  const object = (kind: string, name: string, own: string): KubeObject => ({
    apiVersion: "v1",
    kind,
    metadata: {
      name,
      namespace: "default",
      uid: own,
      resourceVersion: String(revision),
      creationTimestamp: "2026-01-01T00:00:00Z"
    }
  })
  const change = (type: "ADDED" | "DELETED", made: KubeObject) => {
    revision += 1
    entries.push({
      _tag: "Change",
      at: revision,
      change: {
        revision,
        type,
        collection: "all",
        key: made.metadata.name,
        namespace: "default",
        object: made,
        event: { type, object: made }
      }
    })
  }
  const nameOf = (volume: string) => `a-${uid.slice(0, 8)}-${volume}`
  const claim = (volume: string) => object("PersistentVolumeClaim", nameOf(volume), `${volume}-${uid}`)
  change("ADDED", object("Parent", "a", uid))
  for (const volume of volumes) change("ADDED", claim(volume))
  for (const volume of deleted) {
    const path = `/api/v1/namespaces/default/persistentvolumeclaims/${nameOf(volume)}`
    entries.push({
      _tag: "Call",
      replica: 0,
      life: 1,
      at: revision,
      sent: revision,
      n: revision,
      request: { method: "DELETE", path, query: [], headers: {} },
      status: 200,
      object: undefined,
      said: undefined,
      before: revision,
      after: revision + 1
    })
    change("DELETED", claim(volume))
  }
  return {
    ...blank,
    entries,
    calls: deleted.length,
    kinds: ["Parent"],
    met: 1
  }
}

const judge = (found: Recording, recording: Recording): string | undefined =>
  dataKept.judge(
    found,
    {
      recording,
      from: undefined,
      mask: new Set(),
      state: new Map(),
      rests: [],
      tied: [],
      unlike: undefined,
      hasty: () => assert.fail("nothing was hurried"),
      without: () => assert.fail("nothing is left out"),
      another: () => assert.fail("nobody asks"),
      faulty: () => assert.fail("nothing goes wrong")
    } satisfies Reference
  )

const uid = "f256713f-0000-4000-8000-000000000001"
const other = "484b514b-0000-4000-8000-000000000002"

describe("no data loss", () => {
  it("what is deleted without faults may be deleted with them, also where chance has drawn another uid for its name", () => {
    assert.isUndefined(judge(run(uid, ["1", "2"], ["1"]), run(uid, ["1", "2"], ["1"])))
    assert.isUndefined(judge(run(other, ["1", "2"], ["1"]), run(uid, ["1", "2"], ["1"])))
  })

  it("what is deleted beyond that is told, and so is another of the same family", () => {
    const reference = run(uid, ["1", "2"], ["1"])
    assert.match(judge(run(other, ["1", "2"], ["1", "2"]), reference) ?? "", /a-484b514b-2 is deleted/)
    assert.match(judge(run(other, ["1", "2"], ["2"]), reference) ?? "", /a-484b514b-2 is deleted/)
    assert.match(judge(run(uid, ["1", "2"], ["2"]), reference) ?? "", /a-f256713f-2 is deleted/)
  })

  it("of a collection that is deleted at once each is told, not the first alone", () => {
    const all = (deleted: ReadonlyArray<string>): Recording => {
      const one = run(uid, ["1", "2"], deleted)
      const [first, ...more] = one.entries.filter((entry) => entry._tag === "Call")
      const together: Entry = {
        ...first!,
        request: { ...first!.request, path: "/api/v1/namespaces/default/persistentvolumeclaims" },
        after: more.at(-1)?.after ?? first!.after
      }
      return {
        ...one,
        entries: one.entries.flatMap((entry) => entry === first ? together : entry._tag === "Call" ? [] : entry)
      }
    }
    assert.isUndefined(judge(all(["1"]), run(uid, ["1", "2"], ["1"])))
    assert.match(judge(all(["1", "2"]), run(uid, ["1", "2"], ["1"])) ?? "", /a-f256713f-2 is deleted/)
  })

  it("what anybody has made while an old cluster was shown, a controller of the cluster say, may go again", () => {
    const reference = run(uid, ["1"], ["1"])
    const found = run(uid, ["1", "2"], ["1", "2"])
    const shown: Entry = { _tag: "Fault", at: 11, point: { _tag: "Call", at: 1, fault: "travelRestart" } }
    assert.isUndefined(judge({ ...found, entries: [shown, ...found.entries] }, reference))
    const later: Entry = { ...shown, at: 99 }
    assert.match(judge({ ...found, entries: [...found.entries, later] }, reference) ?? "", /a-f256713f-2 is deleted/)
  })
})
