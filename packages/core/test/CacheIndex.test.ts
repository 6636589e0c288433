import { Cache, CacheIndex } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Part } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { reading } from "./support/Reading.ts"
import { Server } from "./support/Server.ts"
import { settle } from "./support/Time.ts"

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  objects.map(({ metadata }) => metadata.name).sort()
const ref = (name: string) => ({ name, namespace: "default" })
const byRole = CacheIndex.make(Part, "role", ({ spec }) => spec?.role === undefined ? [] : [spec.role])

describe("Cache.byIndex", () => {
  it.effect("finds objects by the values of a function, own writes included, as a scan does (500 random steps, seed 1)", () =>
    Effect.gen(function*() {
      const random = new Prng(1)
      const server = new Server(Part)
      const { run } = yield* reading(server, { resource: Part })
      for (let i = 0; i < 500; i++) {
        const name = `p${random.int(0, 5)}`
        const client = random.chance(0.5) ? server.own : server.client
        const fields = { spec: { role: random.pick(["front", "back"]) } }
        if (server.get(Part, name) === undefined) yield* client.create(Part, { metadata: ref(name), ...fields })
        else if (random.chance(0.3)) yield* client.delete(Part, ref(name))
        else yield* client.replace(Part, { ...server.get(Part, name)!, ...fields })
        if (random.chance(0.2)) server.hold()
        if (random.chance(0.3)) server.release()
        if (random.chance(0.5)) yield* settle
        const all = yield* run(Cache.list(Part))
        for (const role of ["front", "back", "none"]) {
          const wanted = names(all.filter(({ spec }) => spec?.role === role))
          assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, role))), wanted, `step ${i}`)
        }
      }
    }))

  it.effect("reads several selections as one, a single namespace, and watched state only", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "x" } }, { labels: { app: "web", tier: "y" } })
      server.put(Part, "b", { spec: { role: "x" } }, { namespace: "other", labels: { tier: "y" } })
      const { run } = yield* reading(server, { resource: Part, labels: "app" }, { resource: Part, labels: "tier" })
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "x"))), ["a", "b"])
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "x", { namespace: "other" }))), ["b"])
      server.hold()
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { role: "z" } } })
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "x"))), ["b"])
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "x", { consistency: "watched" }))), ["a", "b"])
    }))

  it.effect("an index that throws names the object; one created at every read says what to do", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { run } = yield* reading(server, { resource: Part })
      const broken = CacheIndex.make(Part, "broken", ({ spec }) => [spec!.role!.toUpperCase()])
      const exit = yield* Effect.exit(run(Cache.byIndex(broken, "X")))
      assert.match(
        Cause.pretty(Exit.isFailure(exit) ? exit.cause : Cause.empty),
        /index broken of Part\.v1: default\/a: /
      )
      const careless = Effect.forEach(
        Array.from({ length: 100 }),
        () => run(Cache.byIndex(CacheIndex.make(Part, "careless", () => []), "x"))
      )
      const many = yield* Effect.exit(careless)
      assert.match(Cause.pretty(Exit.isFailure(many) ? many.cause : Cause.empty), /declare each once/)
    }))
})

describe("CacheIndex.references", () => {
  it("resolves a name in the object's own namespace, and a key as it is", () => {
    const server = new Server(Part)
    const object = server.put(Part, "a", {}, { namespace: "here" })
    const { valuesOf } = CacheIndex.references(Part, "refs", () => [
      "near",
      { namespace: "there", name: "far" },
      { name: "global" }
    ])
    assert.deepStrictEqual(valuesOf(object), ["here/near", "there/far", "global"])
  })
})
