import { CustomResource, KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Result, Schema } from "effect"
import { TestCluster, TestWebhooks } from "../../src/testing/index.ts"
import * as Webhook from "../../src/Webhook.ts"
import type * as Hook from "../../src/webhook/Hook.ts"
import * as Ratcheting from "../../src/webhook/Ratcheting.ts"
import { review, service } from "./support.ts"

const kind = { group: "shop.example.com", version: "v1", kind: "Machine" } as const

/** As it is now. */
const Machine = CustomResource.make({
  ...kind,
  spec: Schema.Struct({
    size: Schema.Int.check(Schema.isGreaterThan(0)),
    memoryMiB: Schema.Int.check(Schema.isBetween({ minimum: 64, maximum: 4096 })),
    labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)),
    disks: Schema.optionalKey(Schema.Array(Schema.Struct({ gib: Schema.Int })))
  })
})

/** As it was when the objects were stored. */
const Stored = CustomResource.make({
  ...kind,
  spec: Schema.Struct({ size: Schema.Int, memoryMiB: Schema.optionalKey(Schema.Int) })
})

let asked = 0
const hooks = [
  Webhook.mutating(Machine, {
    mutate: ({ object }) =>
      Effect.sync(() => {
        asked += 1
        return { ...object, metadata: { ...object.metadata, labels: { seen: "yes" } } }
      })
  }),
  Webhook.validating(Machine, {
    validate: () =>
      Effect.suspend(() => {
        asked += 1
        return Webhook.deny("the hook was asked")
      })
  })
] as const

type Json = Readonly<Record<string, unknown>>

const machine = (spec: object, metadata: object = {}): Json => ({
  apiVersion: "shop.example.com/v1",
  kind: "Machine",
  metadata: { name: "a", ...metadata },
  spec
})

interface Response {
  readonly allowed: boolean
  readonly warnings?: ReadonlyArray<string>
  readonly patch?: string
  readonly status?: { readonly code: number; readonly details?: { readonly causes: ReadonlyArray<{ field: string }> } }
}

const answer = (hook: Hook.Hook, object: object, oldObject?: object) =>
  Effect.map(hook.answer(review(object, oldObject)), (verdict) => verdict["response"] as Response)

const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["f"] }

/** What an update is about, and the fields of the faults that deny it. */
const cases: ReadonlyArray<readonly [what: string, before: Json, after: Json, denied: ReadonlyArray<string>]> = [
  [
    "a label is set",
    machine({ size: 1, memoryMiB: 8 }),
    machine({ size: 1, memoryMiB: 8 }, { labels: { l: "1" } }),
    []
  ],
  ["a finalizer goes", machine({ size: 1 }, { finalizers: ["f"] }), machine({ size: 1 }, { finalizers: [] }), []],
  ["another field changes", machine({ size: 1, memoryMiB: 8 }), machine({ size: 2, memoryMiB: 8 }), []],
  ["a field that is missing now, and another", machine({ size: 1 }), machine({ size: 2 }), []],
  ["the field itself, to another fault", machine({ size: 1, memoryMiB: 8 }), machine({ size: 1, memoryMiB: 9 }), [
    "spec.memoryMiB"
  ]],
  ["one more fault: it alone is told", machine({ size: 1, memoryMiB: 8 }), machine({ size: 0, memoryMiB: 8 }), [
    "spec.size"
  ]],
  ["a fault where there was none", machine({ size: 1, memoryMiB: 64 }), machine({ size: 1, memoryMiB: 8 }), [
    "spec.memoryMiB"
  ]],
  [
    "of another type",
    machine({ size: 1, memoryMiB: 8 }),
    machine({ size: 1, memoryMiB: "8" }),
    ["spec.memoryMiB"]
  ],
  [
    "beside a key with dots",
    machine({ size: 1, memoryMiB: 64, labels: { "a.b/c": "x", "a": 1 } }),
    machine({ size: 1, memoryMiB: 64, labels: { "a.b/c": "x", "a": 2 } }),
    []
  ],
  [
    "at a key with dots",
    machine({ size: 1, memoryMiB: 64, labels: { "a.b/c": "x" } }),
    machine({ size: 1, memoryMiB: 64, labels: { "a.b/c": "y" } }),
    ["spec.labels.a.b/c"]
  ],
  [
    "an item is added behind",
    machine({ size: 1, memoryMiB: 64, disks: [{ gib: "x" }] }),
    machine({ size: 1, memoryMiB: 64, disks: [{ gib: "x" }, { gib: 2 }] }),
    []
  ],
  [
    "an item moves",
    machine({ size: 1, memoryMiB: 64, disks: [{ gib: "x" }] }),
    machine({ size: 1, memoryMiB: 64, disks: [{ gib: 2 }, { gib: "x" }] }),
    ["spec.disks[1].gib"]
  ],
  ["of one that is being deleted", machine({ size: 1 }, deleted), machine({ size: 0 }, deleted), []],
  ["of one without a spec", { ...machine({}), spec: null }, { ...machine({}, { labels: { l: "1" } }), spec: null }, []]
]

describe("an update to an object that does not decode", () => {
  for (const [what, before, after, denied] of cases) {
    it.effect(`${denied.length === 0 ? "passes" : "is denied"}: ${what}`, () =>
      Effect.gen(function*() {
        asked = 0
        for (const hook of hooks) {
          const { allowed, patch, status, warnings } = yield* answer(hook, after, before)
          assert.strictEqual(allowed, denied.length === 0)
          assert.deepStrictEqual((status?.details?.causes ?? []).map(({ field }) => field), denied)
          assert.isUndefined(patch)
          assert.lengthOf(warnings ?? [], allowed && !Ratcheting.isDeleted(before) ? 1 : 0)
        }
        assert.strictEqual(asked, 0, "no hook is asked")
      }))
  }

  it.effect("the warning names the faults; a new object has to be without any", () =>
    Effect.gen(function*() {
      const faulty = machine({ size: 1, memoryMiB: 8 })
      const { warnings } = yield* answer(hooks[1], machine({ size: 2, memoryMiB: 8 }), faulty)
      assert.match(warnings![0]!, /^Machine "a" was already invalid and is not checked: spec\.memoryMiB: Expected/)
      assert.strictEqual((yield* answer(hooks[1], faulty)).status!.code, 422)
      assert.strictEqual((yield* answer(hooks[1], { ...faulty, metadata: { name: "a", ...deleted } })).allowed, false)
    }))

  it.effect("one that decodes is judged by the hook, also if nothing but its metadata changes", () =>
    Effect.gen(function*() {
      asked = 0
      const fine = machine({ size: 1, memoryMiB: 64 })
      assert.isFalse((yield* answer(hooks[1], machine({ size: 1, memoryMiB: 64 }, deleted), fine)).allowed)
      assert.isFalse((yield* answer(hooks[1], fine, machine({ size: 1, memoryMiB: 8 }))).allowed)
      assert.strictEqual(asked, 2)
    }))

  it.effect("by the API server: what was stored before can be labelled, changed elsewhere and freed", () =>
    Effect.gen(function*() {
      const client = yield* KubeClient.KubeClient
      const key = { namespace: "default", name: "a" }
      yield* client.create(Stored, {
        metadata: { ...key, finalizers: ["example.com/f"] },
        spec: { size: 1, memoryMiB: 8 }
      })
      yield* Webhook.install(hooks, { name: "machines", reachable: { service } })
      const patch = (change: object) => client.patch(Stored, key, KubeClient.Patch.merge(change))
      assert.strictEqual((yield* patch({ metadata: { labels: { l: "1" } } })).metadata.labels?.["l"], "1")
      assert.strictEqual((yield* patch({ spec: { size: 2 } })).spec.size, 2)
      const { message } = yield* Effect.flip(patch({ spec: { memoryMiB: 9 } }))
      assert.include(message, "spec.memoryMiB: Expected a value between 64 and 4096")
      yield* client.delete(Stored, key)
      yield* client.patch(Stored, key, KubeClient.Patch.json([{ op: "remove", path: "/metadata/finalizers" }]))
      assert.strictEqual((yield* Effect.flip(client.get(Stored, key))).reason._tag, "NotFound")
    }).pipe(
      Effect.provide(
        Webhook.layer(hooks, { name: "machines", service }).pipe(
          Layer.provide(TestWebhooks.layer),
          Layer.provideMerge(TestCluster.layer({ resources: [Stored] }))
        )
      )
    ))

  const seed = 20_270_114
  it.effect(`is denied for a fault only if something was changed at its path, whatever it is (seed ${seed})`, () =>
    Effect.gen(function*() {
      const value = Schema.Literals([-1, 0, 1, 64, "x"])
      const Spec = Schema.Struct({
        size: Schema.optionalKey(value),
        memoryMiB: Schema.optionalKey(value),
        labels: Schema.optionalKey(Schema.Record(Schema.Literals(["a", "a.b", "b", "[c]"]), value)),
        disks: Schema.optionalKey(Schema.Array(Schema.Struct({ gib: value })))
      })
      const pairs = yield* Arbitrary.sampleEffect(Arbitrary.schema(Schema.Tuple([Spec, Spec])), { count: 500, seed })
      for (const [before, after] of pairs) {
        const json = machine(before)
        const decoded = Machine.decode(json)
        const judged = (object: Json) => {
          const now = Machine.decode(object)
          const issues = Result.isFailure(now) ? now.failure.issues : []
          return { issues, counting: Ratcheting.counting(issues, object, { json, decoded }) }
        }
        assert.deepStrictEqual(judged(machine(before, { labels: { l: "1" } })).counting, [])
        const { counting, issues } = judged(machine(after))
        // Less exact: by the fields of the spec, as wholes.
        for (const issue of issues) {
          const { field } = Ratcheting.parts(issue)
          const top = field.split(/[.[]/)[1] as keyof typeof after
          const same = JSON.stringify(before[top]) === JSON.stringify(after[top])
          if (same) assert.notInclude(counting, issue)
          if (Result.isSuccess(decoded)) assert.include(counting, issue)
        }
        if (counting.length > 0) assert.notDeepEqual(after, before)
      }
    }))
})
