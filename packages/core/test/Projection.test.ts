import { Cache, Projection } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Part, Widget } from "./support/Kinds.ts"
import { reading } from "./support/Reading.ts"
import { Server } from "./support/Server.ts"

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  objects.map(({ metadata }) => metadata.name).sort()
const ref = (name: string) => ({ name, namespace: "default" })

describe("Projection", () => {
  const Role = Projection.make(Part, "role", ({ spec }) => ({ role: spec?.role }), {
    annotations: (key) => key !== "big"
  })

  it.effect("keeps what is picked and what identifies the object, including own writes of the whole kind", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "x" }, status: {} }, { annotations: { big: "…", small: "s" } })
      const { run, used } = yield* reading(server, { resource: Role })
      const [a] = yield* run(Cache.list(Role))
      assert.deepStrictEqual(Object.keys(a!).sort(), ["apiVersion", "kind", "metadata", "role"])
      assert.deepStrictEqual([a!.role, a!.metadata.annotations], ["x", { small: "s" }])
      server.hold()
      yield* server.own.create(Part, { metadata: ref("b"), spec: { role: "y" } })
      yield* server.own.delete(Part, ref("a"))
      const [b, ...rest] = yield* run(Cache.list(Role))
      assert.deepStrictEqual([b!.role, rest.length, "spec" in b!], ["y", 0, false])
      assert.strictEqual(used[0]!.resource.id, "Part.v1/role")
    }))

  it.effect("cannot be written as a whole, but can be patched and deleted", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "x" } })
      const { own } = server
      const read = yield* own.get(Role, ref("a"))
      for (const write of [own.replace(Role, read), own.create(Role, read)]) {
        assert.match((yield* Effect.flip(write)).message, /a projection \(role\) is not the whole object: use a patch/)
      }
      const patched = yield* own.patch(Role, ref("a"), { _tag: "Merge", body: { spec: { role: "y" } } })
      assert.strictEqual(patched.role, "y")
      yield* own.delete(Role, ref("a"))
      assert.deepStrictEqual(server.objects(Part), [])
    }))

  it.effect("a projection that throws only makes the object invalid", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      server.put(Part, "b", { spec: { role: "x" } })
      const Loud = Projection.make(Part, "loud", ({ spec }) => ({ role: spec!.role!.toUpperCase() }))
      const { run, used } = yield* reading(server, { resource: Loud })
      assert.deepStrictEqual(names(yield* run(Cache.list(Loud))), ["b"])
      assert.deepStrictEqual([...used[0]!.store.invalid.keys()], ["default/a"])
    }))

  it.effect("metadata requests nothing else from the server", () =>
    Effect.gen(function*() {
      const server = new Server(Widget)
      server.put(Widget, "a", { spec: { size: 1 } })
      const Head = Projection.metadata(Widget)
      const { run } = yield* reading(server, { resource: Head })
      assert.deepStrictEqual(server.requests.map(({ headers }) => headers["accept"]), [
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
      ])
      const [a] = yield* run(Cache.list(Head))
      assert.deepStrictEqual([a!.kind, Object.keys(a!).length], ["Widget", 3])
      yield* server.own.patch(Head, ref("a"), { _tag: "Merge", body: { spec: { size: 2 } } })
      assert.strictEqual(server.requests.at(-1)!.headers["accept"], "application/json")
    }))

  it.effect("without drops fields in caches, and tells transports not to deliver them", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const status = { images: [{ name: "a", sizes: [1] }, { name: "b" }], phase: "up" }
      server.put(Part, "a", { spec: { role: "x", secret: 1 }, status })
      const Lean = Projection.without(Part, "lean", ["spec.secret", "status.images.*.sizes", "status.none.deeper"])
      const { run } = yield* reading(server, { resource: Lean })
      const [a] = yield* run(Cache.list(Lean))
      const { apiVersion: _, kind: __, metadata: ___, ...content } = a!
      assert.deepStrictEqual(content as unknown, {
        spec: { role: "x" },
        status: { images: [{ name: "a" }, { name: "b" }], phase: "up" }
      })
      assert.isTrue(server.requests.every(({ reading }) => reading?.without.includes("status.images.*.sizes")))
      server.hold()
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { secret: 2 } } })
      assert.deepStrictEqual((yield* run(Cache.get(Lean, ref("a"))))?.spec as unknown, { role: "x" }, "own writes, too")
      const write = server.own.create(Lean, { metadata: ref("b"), spec: {} })
      assert.match((yield* Effect.flip(write)).message, /a projection \(lean\) is not the whole object/)
    }))

  it("without applied to a projection without other fields drops all of them", () => {
    const few = Projection.without(Projection.without(Part, "a", ["spec.role"]), "b", ["spec.more"])
    assert.deepStrictEqual(few.without, ["spec.role", "spec.more"])
    for (const field of ["role", "more"]) assert.isTrue(Projection.isBlind(few, { spec: { [field]: "x" } }))
    assert.isFalse(Projection.isBlind(few, { spec: { other: "x" } }))
  })

  it("without refuses paths that a cache needs, and invalid paths", () => {
    const needed = ["name", "labels.app", "finalizers", "deletionTimestamp", "generation"].map((it) => `metadata.${it}`)
    for (const path of ["", "spec", ...needed, "*.a", "spec.", "spec..a"]) {
      assert.throws(
        () => Projection.without(Part, "bad", [path]),
        /Projection\.without: bad: ".*": must be a path/,
        path
      )
    }
  })

  it.effect("lazy lets transports leave objects unparsed, and reads as the whole kind", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "x" } })
      const Lazy = Projection.lazy(Part)
      const { run, used } = yield* reading(server, { resource: Lazy })
      assert.isTrue(server.requests.every(({ reading }) => reading?.lazily === true))
      assert.strictEqual((yield* run(Cache.get(Lazy, ref("a"))))?.spec?.role, "x")
      assert.strictEqual(used[0]!.resource.id, "Part.v1/lazy")
      yield* server.own.create(Lazy, { metadata: ref("b"), spec: { role: "y" } })
      assert.deepStrictEqual(names(yield* run(Cache.list(Lazy))), ["a", "b"])
    }))
})
