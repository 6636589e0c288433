import { Cache, CacheIndex, type KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Part, Secret } from "./support/Kinds.ts"
import { Prng } from "./support/Prng.ts"
import { reading } from "./support/Reading.ts"
import { Server } from "./support/Server.ts"
import { pass, settle } from "./support/Time.ts"

const names = (objects: ReadonlyArray<{ readonly metadata: { readonly name: string } }>) =>
  objects.map(({ metadata }) => metadata.name).sort()
const ref = (name: string) => ({ name, namespace: "default" })
const byRole = CacheIndex.make(Part, "role", ({ spec }) => spec?.role === undefined ? [] : [spec.role])
/** The object of a write that was answered with something else. */
const changed = ({ metadata }: KubeObject.KubeObject, resourceVersion: number) =>
  ({
    _tag: "Changed",
    resource: Part,
    key: { namespace: metadata.namespace, name: metadata.name },
    uid: metadata.uid,
    resourceVersion: String(resourceVersion),
    subresource: "scale",
    answer: undefined
  }) as const

describe("reads with pending own writes", () => {
  it.effect("can ignore own writes, call by call", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "old" } })
      server.put(Part, "gone")
      const { run } = yield* reading(server, { resource: Part })
      server.hold()
      yield* server.own.patch(Part, ref("a"), { _tag: "Merge", body: { spec: { role: "new" } } })
      yield* server.own.create(Part, { metadata: ref("b") })
      yield* server.own.delete(Part, ref("gone"))
      const watched = { consistency: "watched" } as const
      assert.deepStrictEqual(names(yield* run(Cache.list(Part))), ["a", "b"])
      assert.deepStrictEqual(names(yield* run(Cache.list(Part, watched))), ["a", "gone"])
      assert.strictEqual((yield* run(Cache.get(Part, ref("a"))))?.spec?.role, "new")
      assert.strictEqual((yield* run(Cache.get(Part, ref("a"), watched)))?.spec?.role, "old")
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "new", watched))), [])
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "old", watched))), ["a"])
      assert.deepStrictEqual(names(yield* run(Cache.byIndex(byRole, "old"))), [])
    }))

  it.effect("of several selections wait for each that holds an old state", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const old = server.put(Part, "a", { spec: { role: "old" } }, { labels: { app: "web" } })
      const { run, used } = yield* reading(server, { resource: Part, labels: "app=web" }, {
        resource: Part,
        labels: "tier=back"
      })
      server.hold()
      server.patch(Part, "a", { spec: { role: "new" } })
      for (const { store } of used) store.overlay(changed(old, server.rv))
      const one = yield* Effect.forkChild(run(Cache.get(Part, ref("a"))))
      const all = yield* Effect.forkChild(run(Cache.list(Part)))
      yield* settle
      assert.deepStrictEqual([one.pollUnsafe(), all.pollUnsafe()], [undefined, undefined])
      const own = yield* Effect.forkChild(Cache.settled(used, "default/a"))
      yield* settle
      assert.isUndefined(own.pollUnsafe(), "so does who looks for what is to be reconciled")
      server.release()
      yield* settle
      assert.strictEqual((yield* Fiber.join(one))?.spec?.role, "new")
      assert.nestedPropertyVal(yield* Fiber.join(own), "spec.role", "new")
      assert.deepStrictEqual((yield* Fiber.join(all)).map(({ spec }) => spec?.role), ["new"])
    }))

  it.effect("wait for what a response did not show: for its key or its namespace only", () =>
    Effect.gen(function*() {
      const server = new Server(Part, Secret)
      for (const name of ["a", "b"]) server.put(Part, name, { spec: { role: "old" } })
      server.put(Part, "c", {}, { namespace: "other" })
      const { run, used } = yield* reading(server, { resource: Part })
      server.hold()
      const after = server.patch(Part, "a", { spec: { role: "new" } })
      used[0]!.store.overlay(changed(after, server.rv))
      const now = (read: Effect.Effect<unknown, unknown>) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(read)
          yield* settle
          const done = fiber.pollUnsafe() !== undefined
          yield* Fiber.interrupt(fiber)
          return done
        })
      const reads = [
        run(Cache.get(Part, ref("b"))),
        run(Cache.list(Part, { namespace: "other" })),
        run(Cache.get(Part, ref("a"), { consistency: "watched" })),
        run(Cache.list(Part, { consistency: "watched" })),
        run(Cache.get(Part, ref("a"))),
        run(Cache.list(Part)),
        run(Cache.list(Part, { namespace: "default", labels: "none" })),
        run(Cache.byIndex(byRole, "old"))
      ]
      const done: Array<boolean> = []
      for (const read of reads) done.push(yield* now(read))
      assert.deepStrictEqual(done, [true, true, true, true, false, false, false, false])
      assert.strictEqual(used[0]!.store.listeners, 0)
      const waiting = yield* Effect.forkChild(run(Cache.get(Part, ref("a"))))
      yield* settle
      server.release()
      yield* settle
      assert.strictEqual((yield* Fiber.join(waiting))?.spec?.role, "new")
    }))

  it.effect("wait no longer than the patience, and leave nothing behind", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const object = server.put(Part, "a")
      const { run, used } = yield* reading(server, { resource: Part })
      server.hold()
      used[0]!.store.overlay(changed(object, 99))
      const fiber = yield* Effect.forkChild(Effect.exit(run(Cache.get(Part, ref("a")))))
      yield* pass("29 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* pass("1 second")
      const exit = yield* Fiber.join(fiber)
      assert.strictEqual(used[0]!.store.listeners, 0)
      assert.match(
        Cause.pretty(Exit.isFailure(exit) ? exit.cause : Cause.empty),
        /Cache: Part\.v1 default\/a: a write of this process was not seen within 30s/
      )
    }))

  it.effect("stop waiting for an eviction that named no Pod after the patience", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a")
      const { run, used } = yield* reading(server, { resource: Part })
      const key = ref("a")
      used[0]!.store.overlay({ _tag: "Deleting", resource: Part, key, uid: undefined })
      const reads = [Effect.asVoid(run(Cache.get(Part, key))), Effect.asVoid(Cache.settled(used, "default/a"))]
      const fibers = yield* Effect.forEach(reads, (read) => Effect.forkChild(read))
      yield* pass("29 seconds")
      assert.deepStrictEqual(fibers.map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
      yield* pass("1 second")
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.strictEqual(used[0]!.store.unconfirmed, 0)
    }))

  it.effect("are deeply frozen, unless that is switched off", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { run, used } = yield* reading(server, { resource: Part })
      const raw = (name: string) => ({
        ...server.put(Secret, name),
        metadata: { ...server.put(Secret, name).metadata, labels: { a: "b" } }
      })
      const [a, b, c] = [raw("a"), raw("b"), raw("c")]
      used[0]!.store.apply([a, b, c].map((object) => ({ type: "ADDED", object })))
      yield* run(Cache.get(Part, ref("a")).pipe(Effect.provideService(Cache.Frozen, false)))
      assert.isFalse(Object.isFrozen(a.metadata.labels))
      yield* run(Cache.get(Part, ref("a")))
      assert.throws(() => {
        ;(a.metadata.labels as Record<string, string>)["a"] = "c"
      })
      assert.isFalse(Object.isFrozen(b.metadata.labels))
      yield* run(Cache.list(Part))
      assert.isTrue(Object.isFrozen(b.metadata.labels) && Object.isFrozen(c.metadata.labels))
    }))
})

describe("Cache.awaitObserved", () => {
  const scenario = Effect.gen(function*() {
    const server = new Server(Part)
    server.put(Part, "a")
    const { run, used } = yield* reading(server, { resource: Part })
    server.hold()
    return { run, server, used }
  })

  it.effect("completes when the watch has shown a write, passed a version, or met a condition", () =>
    Effect.gen(function*() {
      const { run, server } = yield* scenario
      const made = yield* server.own.create(Part, { metadata: ref("b"), spec: { role: "x" } })
      const waits = [
        run(Cache.awaitObserved(Part, made)),
        run(Cache.awaitObserved(Part, { resourceVersion: made.metadata.resourceVersion, namespace: "default" })),
        run(Cache.awaitObserved(Part, { object: ref("b"), where: (part) => part?.spec?.role === "x" })),
        run(Cache.awaitObserved(Part, { object: ref("a"), where: (part) => part === undefined }))
      ]
      const fibers = yield* Effect.forEach(waits, (wait) => Effect.forkChild(wait))
      yield* settle
      const done = () => fibers.map((fiber) => fiber.pollUnsafe() !== undefined)
      assert.deepStrictEqual(done(), [false, false, false, false])
      server.release()
      yield* settle
      assert.deepStrictEqual(done(), [true, true, true, false])
      server.delete(Part, "a")
      yield* settle
      assert.deepStrictEqual(done(), [true, true, true, true])
    }))

  it.effect("with several selections: a state counts once one shows it, a version once all have passed it", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      const { run, used } = yield* reading(server, { resource: Part, labels: "app=web" }, {
        resource: Part,
        labels: "app=db"
      })
      server.hold()
      const labels = { app: "web" }
      const made = yield* server.own.create(Part, { metadata: { ...ref("a"), labels }, spec: { role: "x" } })
      const { resourceVersion } = made.metadata
      const fibers = yield* Effect.forEach(
        [run(Cache.awaitObserved(Part, made)), run(Cache.awaitObserved(Part, { resourceVersion }))],
        (wait) => Effect.forkChild(wait)
      )
      const done = Effect.as(settle, fibers).pipe(Effect.map((all) => all.map((one) => one.pollUnsafe() !== undefined)))
      used[1]!.store.apply([{ type: "BOOKMARK", object: { ...made, metadata: { resourceVersion } } }])
      assert.deepStrictEqual(yield* done, [false, false], "the other is not where it is to be seen")
      used[0]!.store.apply([{ type: "ADDED", object: made }])
      assert.deepStrictEqual(yield* done, [true, true])
      const shown = { ...made, metadata: { ...made.metadata, resourceVersion: "8000" } }
      used[0]!.store.apply([{ type: "MODIFIED", object: shown }])
      yield* run(Cache.awaitObserved(Part, shown, 0))
      // What no selection shows has been seen when none is going to.
      const elsewhere = { ...made, metadata: { ...made.metadata, name: "b", resourceVersion: "9000" } }
      const fiber = yield* Effect.forkChild(run(Cache.awaitObserved(Part, elsewhere)))
      for (const [i, { store }] of used.entries()) {
        store.apply([{ type: "BOOKMARK", object: { ...made, metadata: { resourceVersion: "9000" } } }])
        yield* settle
        assert.strictEqual(fiber.pollUnsafe() !== undefined, i === 1)
      }
    }))

  it.effect("fails with NotObserved when it takes too long", () =>
    Effect.gen(function*() {
      const { run, server } = yield* scenario
      const made = yield* server.own.create(Part, { metadata: ref("b") })
      const fiber = yield* Effect.forkChild(Effect.flip(run(Cache.awaitObserved(Part, made, "5 seconds"))))
      yield* settle
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "NotObserved")
      assert.match(error.message, /Cache: Part\.v1: default\/b at resourceVersion \d+ was not seen within 5s/)
    }))

  it.effect("a condition that throws is a defect of the caller; the watch continues", () =>
    Effect.gen(function*() {
      const { run, server, used } = yield* scenario
      const role = (part: typeof Part.Type | undefined) => part!.spec!.role!.length > 0
      const at = (where: typeof role) => run(Cache.awaitObserved(Part, { object: ref("b"), where }))
      const bug = new Error("a bug")
      const fibers = yield* Effect.forEach([
        at((part) => part !== undefined && role(part)),
        at((part) => part?.spec?.role === "x"),
        at(() => {
          throw bug
        })
      ], (wait) => Effect.forkChild(wait))
      yield* settle
      server.put(Part, "b")
      server.release()
      yield* settle
      const [throwing, waiting, atOnce] = fibers.map((fiber) => fiber.pollUnsafe())
      assert.isTrue(throwing !== undefined && Exit.hasDies(throwing))
      assert.isUndefined(waiting)
      assert.strictEqual(Exit.isFailure(atOnce!) && Cause.squash(atOnce.cause), bug)
      server.patch(Part, "b", { spec: { role: "x" } })
      yield* settle
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fibers[1]!)))
      assert.strictEqual(used[0]!.store.listeners, 0)
    }))

  it.effect("completes at once if it was already observed", () =>
    Effect.gen(function*() {
      const { run, server } = yield* scenario
      yield* run(Cache.awaitObserved(Part, server.get(Part, "a")!, 0))
      yield* run(Cache.awaitObserved(Part, { object: ref("a"), where: (part) => part !== undefined }, 0))
    }))
})

describe("Cache.changes", () => {
  it.effect("gives a snapshot, then every change; a slow reader gets the missed changes merged", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", { spec: { role: "1" } })
      server.put(Part, "b")
      const { follow, used } = yield* reading(server, { resource: Part })
      const told: Array<string> = []
      const text = (change: Cache.Change<typeof Part.Type>): string => {
        switch (change._tag) {
          case "Snapshot":
            return `Snapshot ${names(change.objects).join(",")}`
          case "Updated":
            return `Updated ${change.object.metadata.name} ${change.old.spec?.role} -> ${change.object.spec?.role}`
          default:
            return `${change._tag} ${change.object.metadata.name}`
        }
      }
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(
          follow(Cache.changes(Part)),
          (change) => Effect.andThen(Effect.sync(() => told.push(text(change))), Effect.sleep("1 second"))
        )
      )
      yield* settle
      assert.deepStrictEqual(told, ["Snapshot a,b"])
      for (const role of ["2", "3", "4"]) {
        server.patch(Part, "a", { spec: { role } })
      }
      server.put(Part, "c")
      server.delete(Part, "c")
      server.delete(Part, "b")
      server.put(Part, "b")
      yield* pass("10 seconds")
      assert.deepStrictEqual(told.slice(1), ["Updated a 1 -> 4", "Deleted b", "Added b"])
      assert.strictEqual(used[0]!.subscribers(), 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(used[0]!.subscribers(), 0)
    }))

  it.effect("an object that enters or leaves the reader's conditions is added or deleted", () =>
    Effect.gen(function*() {
      const server = new Server(Part)
      server.put(Part, "a", {}, { labels: { app: "web" } })
      const { follow } = yield* reading(server, { resource: Part })
      const told: Array<string> = []
      const stream = follow(Cache.changes(Part, { namespace: "default", labels: "app=web" }))
      yield* Effect.forkChild(Stream.runForEach(stream, ({ _tag }) => Effect.sync(() => told.push(_tag))))
      yield* settle
      for (const labels of [{ app: "db" }, { app: "web" }, { app: "web", x: "y" }]) {
        server.put(Part, "a", {}, { labels })
        yield* settle
      }
      server.put(Part, "b", {}, { namespace: "other", labels: { app: "web" } })
      yield* settle
      assert.deepStrictEqual(told, ["Snapshot", "Deleted", "Added", "Updated"])
    }))

  it.effect(
    "gives exactly the union of overlapping selections, whenever it is read (200 random runs)",
    () =>
      Effect.gen(function*() {
        const first = Number(process.env["SEED"] ?? 1)
        for (let seed = first; seed < first + (process.env["SEED"] === undefined ? 200 : 1); seed++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const random = new Prng(seed)
            const server = new Server(Part)
            const { follow, run } = yield* reading(
              server,
              { resource: Part, labels: "app=web" },
              { resource: Part, labels: "tier" }
            )
            const shown = new Map<string, KubeObject.KubeObject>()
            const take = (change: Cache.Change<typeof Part.Type>): void => {
              if (change._tag === "Snapshot") {
                for (const object of change.objects) shown.set(object.metadata.name, object)
                return
              }
              const { name } = change.object.metadata
              const had = shown.get(name)
              assert.strictEqual(had === undefined, change._tag === "Added", `SEED=${seed}: ${change._tag} ${name}`)
              if (change._tag === "Updated") assert.strictEqual(had, change.old, `SEED=${seed}`)
              if (change._tag === "Deleted") shown.delete(name)
              else shown.set(name, change.object)
            }
            yield* Effect.forkScoped(Stream.runForEach(follow(Cache.changes(Part)), (change) =>
              Effect.andThen(
                Effect.sync(() => take(change)),
                Effect.yieldNow
              )))
            for (let i = 0; i < 30; i++) {
              const name = `p${random.int(0, 3)}`
              const labels = {
                ...(random.chance(0.6) ? { app: "web" } : {}),
                ...(random.chance(0.6) ? { tier: "x" } : {})
              }
              if (random.chance(0.7)) {
                server.put(Part, name, { spec: { role: String(i) } }, { labels })
              } else server.delete(Part, name)
              if (random.chance(0.2)) {
                server.hold()
              }
              if (random.chance(0.2)) {
                server.release()
              }
              if (random.chance(0.5)) yield* settle
            }
            server.release()
            yield* settle
            const expected = server.objects(Part).filter(({ metadata: { labels } }) =>
              labels?.["app"] === "web" || labels?.["tier"] !== undefined
            )
            assert.sameDeepMembers([...shown.values()], [...expected], `SEED=${seed}`)
            assert.sameDeepMembers([...(yield* run(Cache.list(Part)))], [...expected], `SEED=${seed}`)
          }))
        }
      })
  )
})
