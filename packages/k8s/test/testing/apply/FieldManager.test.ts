import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Comparison from "../../../src/testing/apply/Comparison.ts"
import * as FieldManager from "../../../src/testing/apply/FieldManager.ts"
import { fieldsOf } from "../../../src/testing/apply/Fields.ts"
import * as FieldSet from "../../../src/testing/apply/FieldSet.ts"
import * as FieldsV1 from "../../../src/testing/apply/FieldsV1.ts"
import type { Type } from "../../../src/testing/apply/Types.ts"
import type { JsonObject } from "../../../src/schema/JsonValue.ts"
import { object, type } from "../support/ApplyTypes.ts"
import { forAll, type RandomJson } from "../support/RandomJson.ts"

/** An object with its managedFields. */
interface State {
  readonly object: JsonObject
  readonly entries: FieldManager.Entries
}

const empty: State = { object: { apiVersion: "g/v1", kind: "K" }, entries: undefined }

const writer = (manager: string, second = 0, others: Readonly<Record<string, Type>> = {}): FieldManager.Writer => ({
  versions: {
    own: "g/v1",
    typeOf: (version) => version === "g/v1" ? type : others[version],
    convert: (value, _, to) => Effect.succeed({ ...value as object, apiVersion: to }),
    reach: (_, set) => set
  },
  manager,
  subresource: "",
  time: `2020-01-01T00:00:${String(second).padStart(2, "0")}Z`
})

const apply = (state: State, config: JsonObject, manager: string, force = false, second = 0) =>
  Result.map(
    Effect.runSync(Effect.result(FieldManager.applied(writer(manager, second), {
      live: state.object,
      liveEntries: state.entries,
      config,
      force
    }))),
    ({ entries, object }): State => ({ object: object ?? state.object, entries })
  )

const update = (state: State, next: JsonObject, manager: string): State => ({
  object: next,
  entries: Effect.runSync(FieldManager.updated(writer(manager), {
    live: state.object,
    liveEntries: state.entries,
    creates: state === empty,
    next,
    given: undefined
  }))
})

const ownedBy = ({ entries }: State, manager: string): FieldSet.FieldSet =>
  FieldSet.empty.size === 0 && entries !== undefined
    ? entries.filter((entry) => entry.manager === manager)
      .map((entry) => Result.getOrThrow(FieldsV1.decode(entry.fieldsV1))).reduce(FieldSet.union, FieldSet.empty)
    : FieldSet.empty

/** What nobody can own. */
const nobodys = [["apiVersion"], ["kind"], ["metadata", "name"]].map((path) => FieldSet.ofFields(...path))
  .reduce(FieldSet.union)

const fieldsIn = (value: unknown) => FieldSet.difference(fieldsOf(type, value), nobodys)

const states = (random: RandomJson): State => {
  let state = update(empty, object(random), "creator")
  for (const manager of ["one", "two"]) {
    if (random.chance(0.7)) state = Result.getOrElse(apply(state, object(random), manager, true), () => state)
  }
  return state
}

describe("FieldManager", () => {
  it("an apply repeated changes nothing", () =>
    forAll(500, (random) => {
      const config = object(random)
      const once = Result.getOrThrow(apply(states(random), config, "m", true, 1))
      const twice = Result.getOrThrow(apply(once, config, "m", false, 2))
      assert.deepStrictEqual(twice, once)
    }))

  it("an applier owns exactly what it names, and the object has it", () =>
    forAll(500, (random) => {
      const config = object(random)
      const after = Result.getOrThrow(apply(states(random), config, "m", true))
      assert.isTrue(FieldSet.equals(ownedBy(after, "m"), fieldsIn(config)))
      const missing = Comparison.compare(type, after.object, config, "plain")
      assert.isTrue(FieldSet.isEmpty(missing.modified), JSON.stringify(after.object))
    }))

  it("what one applier brought alone goes with it", () =>
    forAll(500, (random) => {
      const config = object(random)
      const alone = Result.getOrThrow(apply(empty, config, "m"))
      const gone = Result.getOrThrow(apply(alone, { ...empty.object, metadata: { name: "a" } }, "m"))
      assert.deepStrictEqual(gone.object, { ...empty.object, metadata: { name: "a" } })
      assert.isUndefined(gone.entries)
    }))

  it("an apply takes nothing from others without force, and leaves what they own", () =>
    forAll(500, (random) => {
      const before = states(random)
      const result = apply(before, object(random), "m")
      if (Result.isFailure(result)) {
        assert.strictEqual(result.failure.status, 409)
        return
      }
      const changed = Comparison.compare(type, before.object, result.success.object, "plain")
      for (const manager of ["creator", "one", "two"]) {
        assert.isTrue(FieldSet.isEmpty(FieldSet.intersection(ownedBy(before, manager), changed.changed)))
        assert.isTrue(FieldSet.isEmpty(FieldSet.intersection(ownedBy(before, manager), changed.removed)))
        assert.isTrue(FieldSet.equals(ownedBy(result.success, manager), ownedBy(before, manager)))
      }
    }))

  it("an update owns what it changes, nobody else does, and nothing owned is missing", () =>
    forAll(500, (random) => {
      const before = states(random)
      const after = update(before, object(random), "u")
      const { changed, removed } = Comparison.compare(type, before.object, after.object, "structs")
      assert.isTrue(
        FieldSet.equals(ownedBy(after, "u"), FieldSet.difference(changed, nobodys)) || before.entries === undefined
      )
      for (const manager of ["creator", "one", "two"]) {
        const owned = ownedBy(after, manager)
        assert.isTrue(FieldSet.isEmpty(FieldSet.intersection(owned, FieldSet.union(changed, removed))))
      }
    }))

  it("a client's entries count if they can be read; none at all clear them; nobody tracks what is clear", () => {
    const before = update(empty, { ...empty.object, spec: { x: 1 } }, "creator")
    const given = (entries: FieldManager.Entries) =>
      Effect.runSync(FieldManager.updated(writer("u"), {
        live: before.object,
        liveEntries: before.entries,
        creates: false,
        next: before.object,
        given: entries
      }))
    const mine = [{ ...before.entries![0]!, manager: "mine" }]
    assert.deepStrictEqual(given(mine), mine)
    assert.deepStrictEqual(given([{ ...mine[0]!, operation: "Take" }]), before.entries)
    assert.isUndefined(given([{}]))
    assert.isUndefined(given([]))
    assert.isUndefined(
      update({ object: before.object, entries: undefined }, { ...empty.object, spec: { x: 2 } }, "u").entries
    )
  })

  it("what was there before the first apply belongs to somebody", () => {
    const cleared: State = { object: { ...empty.object, spec: { x: 1 } }, entries: undefined }
    const after = Result.getOrThrow(apply(cleared, { ...empty.object, spec: { mixed: 1 } }, "m"))
    assert.deepStrictEqual(
      after.entries!.map(({ fieldsV1, manager, operation }) => [manager, operation, fieldsV1]),
      [
        ["m", "Apply", { "f:spec": { "f:mixed": {} } }],
        ["before-first-apply", "Update", { "f:spec": { ".": {}, "f:x": {} } }]
      ]
    )
  })

  it("what nobody owns stays when its neighbours go", () => {
    const entries = [{
      manager: "m",
      operation: "Apply",
      apiVersion: "g/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:mixed": {}, "f:deep": { "f:a": {} } } }
    }]
    const before = { object: { ...empty.object, spec: { x: 1, mixed: 1, deep: { a: "v" } } }, entries }
    const after = Result.getOrThrow(apply(before, { ...empty.object, spec: { mixed: 1 } }, "m"))
    assert.deepStrictEqual(after.object, { ...empty.object, spec: { x: 1, mixed: 1 } })
  })

  it("fields are tracked in the version they were written in; versions that are gone take theirs along", () => {
    const entry = (apiVersion: string) => ({
      manager: "old",
      operation: "Apply",
      apiVersion,
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:x": {} } }
    })
    const before = { object: { ...empty.object, spec: { x: 1, mixed: 1 } } }
    const run = (apiVersion: string) =>
      Effect.runSync(Effect.result(FieldManager.applied(writer("m", 0, { "g/v2": type }), {
        live: before.object,
        liveEntries: [entry(apiVersion)],
        config: { ...empty.object, spec: { x: 2 } },
        force: false
      })))
    const refused = run("g/v2")
    assert.strictEqual(
      Result.isFailure(refused) ? refused.failure.body.message : "",
      `Apply failed with 1 conflict: conflict with "old": .spec.x`
    )
    const applied = run("g/v0")
    assert.deepStrictEqual(Result.getOrThrow(applied).entries?.map(({ manager }) => manager), ["m"])
  })
})
