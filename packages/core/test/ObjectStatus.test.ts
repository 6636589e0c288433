import { CustomResource, KubeClient, type KubeObject, ObjectStatus, Projection, Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { over } from "./support/Client.ts"
import { applyJsonPatch } from "./support/Patch.ts"
import { Prng } from "./support/Prng.ts"
import { invalid, patchFailed, scripted } from "./support/Scripted.ts"

const value = (random: Prng, depth: number): unknown => {
  const kind = random.int(0, depth > 0 ? 5 : 3)
  if (kind <= 1) return random.int(0, 3)
  if (kind === 2) return random.pick(["a", "b"])
  if (kind === 3) return Array.from({ length: random.int(0, 2) }, () => random.int(0, 2))
  return Object.fromEntries(
    ["x", "y", "z"].filter(() => random.chance(0.6)).map((key) => [key, value(random, depth - 1)])
  )
}

/** What a member may be called: pointers have two characters of their own. */
const awkward = { x: "x", y: "a/b", z: "~1" } as const

const renamed = (value: unknown): unknown =>
  typeof value !== "object" || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(
      Object.entries(value).map(([key, part]) => [awkward[key as "x"] ?? key, renamed(part)])
    )

it.effect("fields that a projection drops are not written: values of others would be lost", () =>
  Effect.gen(function*() {
    const Few = Projection.without(Thing, "few", ["status.conditions"])
    const { client, requests } = over(() => ({ body: thing({ status: { phase: "Old" } }) }))
    const write = (status: Status) =>
      ObjectStatus.write(Few, thing({ status: { phase: "Old" } }), status as never).pipe(
        Effect.provideService(KubeClient.KubeClient, client)
      )
    assert.include(
      String(yield* Effect.exit(write({ phase: "New", conditions: [] }))),
      "ObjectStatus.write: Thing.v1.test.io/few: the status has fields that this projection drops (status.conditions)"
    )
    assert.lengthOf(requests, 0)
    yield* write({ phase: "New" })
    assert.lengthOf(requests, 1)
  }))

it.effect("an optional field of a custom kind may be undefined, which leaves it out", () =>
  Effect.gen(function*() {
    const Custom = CustomResource.make({
      group: "test.io",
      version: "v1",
      kind: "Custom",
      spec: Schema.Struct({}),
      status: Schema.Struct({
        phase: Schema.String,
        generation: Schema.optionalKey(Schema.Int)
      })
    })
    const custom = {
      apiVersion: "test.io/v1",
      kind: "Custom",
      metadata: { ...thing({}).metadata, namespace: "default" },
      spec: {},
      status: { phase: "Old", generation: 1 }
    } as const
    const { client, requests } = over(() => ({ body: { ...custom, status: { phase: "New" } } }))
    const generation: number | undefined = undefined
    yield* ObjectStatus.write(Custom, custom, { phase: "New", generation }).pipe(
      Effect.provideService(KubeClient.KubeClient, client)
    )
    assert.deepStrictEqual((requests[0]!.body as ReadonlyArray<unknown>).slice(1), [
      { op: "add", path: "/status/phase", value: "New" },
      { op: "remove", path: "/status/generation" }
    ])
    // @ts-expect-error: a required field may not
    void ObjectStatus.write(Custom, custom, { phase: undefined })
  }))

describe("ObjectStatus.difference", () => {
  it("turns one status into the other, and is empty if they are equal", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const from = renamed({ s: value(random, 3), t: value(random, 2) })
      const to = random.chance(0.3) ? structuredClone(from) : renamed({ s: value(random, 3), t: value(random, 2) })
      const operations = ObjectStatus.difference("/status", from, to)
      assert.deepStrictEqual(applyJsonPatch({ status: from }, operations), { status: to }, `seed ${seed}`)
      assert.strictEqual(operations.length === 0, JSON.stringify(from) === JSON.stringify(to), `seed ${seed}`)
    }
  })

  it("names individual members, and removes those that are gone", () => {
    assert.deepStrictEqual(ObjectStatus.difference("/status", { a: 1, b: { c: 2, d: 3 } }, { b: { c: 4 }, e: {} }), [
      { op: "add", path: "/status/b/c", value: 4 },
      { op: "remove", path: "/status/b/d" },
      { op: "add", path: "/status/e", value: {} },
      { op: "remove", path: "/status/a" }
    ])
    assert.lengthOf(ObjectStatus.difference("", { a: { c: 1, b: 2 } }, { a: { b: 2, c: 1 } }), 0, "the order of keys")
  })
})

type Status = Record<string, unknown>

interface Thing extends KubeObject.KubeObject {
  readonly status?: unknown
}
const Thing = Resource.make<Thing>()({
  group: "test.io",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
})

interface Seen {
  readonly status?: unknown
  readonly uid?: string
  readonly resourceVersion?: string
}

const thing = ({ resourceVersion = "1", status, uid = "u" }: Seen): Thing => ({
  apiVersion: Thing.apiVersion,
  kind: Thing.kind,
  metadata: { namespace: "default", name: "a", uid, resourceVersion, creationTimestamp: "" },
  ...(status === undefined ? {} : { status })
})

/** Writes a status from a read, maybe an old one; tells what was sent, what there is then, and how it ended. */
const written = (read: Seen, live: Seen, status: unknown) => {
  const sent: Array<KubeClient.JsonPatchOperation> = []
  let now = live
  const { transport } = scripted(({ body, path }) => {
    assert.match(path, /\/things\/a\/status$/)
    sent.push(...body as typeof sent)
    const patched = applyJsonPatch(thing(live), body as typeof sent) as Thing | undefined
    if (patched === undefined) return patchFailed
    now = { ...live, status: patched.status, resourceVersion: `${live.resourceVersion}0` }
    return { body: thing(now) }
  })
  const ended = Effect.runSync(
    ObjectStatus.write(Thing, thing(read), status).pipe(
      Effect.provideService(KubeClient.KubeClient, KubeClient.make(transport)),
      Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: () => "written" })
    )
  )
  return { sent, now, ended }
}

/** Whether all that is wanted is there, whatever else there is. */
const holds = (wanted: unknown, now: unknown): boolean =>
  typeof wanted === "object" && wanted !== null && !Array.isArray(wanted)
    ? Object.entries(wanted).every(([key, part]) => holds(part, (now as Status | undefined)?.[key]))
    : JSON.stringify(wanted) === JSON.stringify(now)

const uid = { op: "test", path: "/metadata/uid", value: "u" } as const
const version = { op: "test", path: "/metadata/resourceVersion", value: "1" } as const

describe("ObjectStatus.write", () => {
  it("changes only what is new, and leaves other writers' fields alone", () => {
    const { ended, now, sent } = written(
      { status: { a: 1, b: 2 } },
      { status: { a: 1, b: 2, c: 3 }, resourceVersion: "9" },
      { a: 2, b: 2 }
    )
    assert.deepStrictEqual(sent, [uid, { op: "add", path: "/status/a", value: 2 }])
    assert.deepStrictEqual(now.status, { a: 2, b: 2, c: 3 })
    assert.strictEqual(ended, "written")
  })

  it("sends nothing if nothing is new, and ignores null and undefined", () => {
    for (
      const [read, status] of [
        [{ a: 1 }, { a: 1, b: undefined, c: null }],
        [{ a: { b: [{ c: null }] } }, { a: { b: [{ c: null }], d: null } }],
        [{ a: [{ c: 1 }] }, { a: [{ c: 1, d: undefined }] }],
        [undefined, {}],
        [undefined, { a: null }],
        [{}, {}]
      ]
    ) assert.lengthOf(written({ status: read }, { status: read }, status).sent, 0, JSON.stringify(read))
  })

  it("never reaches another object with the same name", () => {
    for (const status of [{ a: 1 }, undefined, { a: 2 }]) {
      const { ended, now } = written({ status }, { status: {}, uid: "another" }, { a: 2, b: { c: 1 } })
      assert.deepStrictEqual([ended, now.status], ["Conflict", {}])
    }
  })

  it("a first status, and a first object in it, overwrites nothing that exists by now", () => {
    const first = written({}, { status: { others: 1 }, resourceVersion: "2" }, { a: 1 })
    assert.deepStrictEqual(first.sent, [uid, version, { op: "add", path: "/status", value: { a: 1 } }])
    assert.deepStrictEqual([first.ended, first.now.status], ["Conflict", { others: 1 }])
    const inner = written({ status: {} }, { status: { b: { others: 1 } }, resourceVersion: "2" }, { b: { c: 1 } })
    assert.deepStrictEqual([inner.ended, inner.now.status], ["Conflict", { b: { others: 1 } }])
    assert.deepStrictEqual(written({}, {}, { a: { b: 1 } }).now.status, { a: { b: 1 } })
  })

  it("a list, which is written as a whole, is not added, replaced or removed if it may have changed", () => {
    const by = (...types: ReadonlyArray<string>) => types.map((type) => ({ type }))
    for (
      const [read, live, wanted] of [
        [{ a: 1 }, { a: 1, list: by("theirs") }, { a: 1, list: by("ours") }],
        [{ list: by("old") }, { list: by("old", "theirs") }, { list: by("old", "ours") }],
        [{ in: { list: by("old") } }, { in: { list: by("old", "theirs") } }, { in: { list: by("ours") } }],
        [{ list: by("old") }, { list: by("old", "theirs") }, {}]
      ]
    ) {
      const { ended, now } = written({ status: read }, { status: live, resourceVersion: "2" }, wanted)
      assert.deepStrictEqual([ended, now.status], ["Conflict", live])
      const { sent, ...again } = written({ status: read }, { status: read }, wanted)
      assert.deepStrictEqual(sent.slice(0, 2), [uid, version])
      assert.deepStrictEqual([again.ended, again.now.status], ["written", wanted])
    }
    // What is said next to a list that stays needs no such care.
    const { ended, now } = written(
      { status: { a: 1, list: by("old") } },
      { status: { a: 1, list: by("old") }, resourceVersion: "2" },
      { a: 2, list: by("old") }
    )
    assert.deepStrictEqual([ended, now.status], ["written", { a: 2, list: by("old") }])
  })

  it("requests another reconcile if a field it took for right has changed, or its parent is gone", () => {
    const read = { status: { available: 2, ready: true, extra: "ours" } }
    const live = { status: { available: 5, ready: false, extra: "ours", other: 1 } }
    const { ended, now, sent } = written(read, live, { available: 5, ready: true })
    assert.deepStrictEqual(sent.slice(1), [
      { op: "add", path: "/status/available", value: 5 },
      { op: "remove", path: "/status/extra" }
    ])
    assert.deepStrictEqual([ended, now.status], ["Conflict", { available: 5, ready: false, other: 1 }])
    assert.deepStrictEqual(written({ status: { a: { b: 1 } } }, { status: {} }, { a: { b: 2 } }).ended, "Conflict")
    assert.deepStrictEqual(written({ status: { a: 1 } }, { status: {} }, {}).ended, "Conflict")
  })

  it("the error of a field is kept", () => {
    const details = { causes: [{ reason: "FieldValueInvalid", field: "status.a", message: "m" }] }
    const { transport } = scripted(() => invalid(details))
    const error = Effect.runSync(
      Effect.flip(ObjectStatus.write(Thing, thing({}), { ready: true })).pipe(
        Effect.provideService(KubeClient.KubeClient, KubeClient.make(transport))
      )
    )
    assert.strictEqual(error.reason._tag, "Invalid")
  })

  it("everything desired is there, after another reconcile if requested, and other fields are left alone", () => {
    let looks = 0
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const some = () => ({ s: value(random, 3), t: value(random, 2), u: value(random, 1) }) as Status
      const [read, wanted] = [some(), some()]
      const live = { status: { ...(random.chance(0.5) ? some() : structuredClone(read)), others: 1 } }
      const first = written({ status: read }, { ...live, resourceVersion: random.pick(["1", "2"]) }, wanted)
      const last = first.ended === "Conflict"
        ? written(first.now, first.now, { ...wanted, others: 1 })
        : first
      if (last !== first) looks += 1
      const told = `seed ${seed}: ${JSON.stringify({ read, live, wanted, now: last.now })}`
      assert.strictEqual(last.ended, "written", told)
      assert.strictEqual((last.now.status as Status)["others"], 1, told)
      if (first.sent.length > 0) assert.isTrue(holds(wanted, last.now.status), told)
    }
    assert.isAbove(looks, 100)
  })
})

it("a status is written in stored form, and read as its Schema's type", () => {
  const Dated = CustomResource.make({
    group: "test.io",
    version: "v1",
    kind: "Dated",
    spec: Schema.Struct({}),
    status: Schema.Struct({
      seen: Schema.Date,
      count: Schema.NumberFromString,
      names: Schema.optionalKey(Schema.Array(Schema.String))
    }).pipe(Schema.encodeKeys({ names: "list" }))
  })
  const at = (seen: string, count: number) => ({ seen: new Date(seen), count })
  const sent: Array<unknown> = []
  let stored = { ...thing({}), apiVersion: Dated.apiVersion, kind: "Dated", spec: {} }
  const { transport } = scripted(({ body }) => {
    sent.push(body)
    stored = applyJsonPatch(stored, body as ReadonlyArray<KubeClient.JsonPatchOperation>) as typeof stored
    return { body: stored }
  })
  const write = (object: typeof Dated.Type, status: ObjectStatus.StatusOf<typeof Dated.Type>) =>
    Effect.runSync(
      Effect.provideService(
        ObjectStatus.write(Dated, object, status),
        KubeClient.KubeClient,
        KubeClient.make(transport)
      )
    )
  const first = write(Result.getOrThrow(Dated.decode(stored)), at("2026-01-02T03:04:05Z", 1))
  assert.deepStrictEqual((stored as Thing).status, { seen: "2026-01-02T03:04:05.000Z", count: "1" })
  assert.deepStrictEqual(first.status, at("2026-01-02T03:04:05Z", 1))
  write(first, at("2026-01-02T03:04:05Z", 1))
  assert.lengthOf(sent, 1)
  const second = write(first, at("2026-01-02T03:04:06Z", 1))
  assert.deepStrictEqual(sent[1], [uid, { op: "add", path: "/status/seen", value: "2026-01-02T03:04:06.000Z" }])

  // A list goes with the version it was read at, whatever it is called when it is read.
  const listed = write(second, { ...at("2026-01-02T03:04:06Z", 1), names: ["a"] })
  assert.deepStrictEqual(sent[2], [uid, version, { op: "add", path: "/status/list", value: ["a"] }])
  assert.deepStrictEqual(listed.status?.names, ["a"])
  write(listed, at("2026-01-02T03:04:06Z", 1))
  assert.deepStrictEqual(sent[3], [uid, version, { op: "remove", path: "/status/list" }])
})
