import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Sources from "../../../src/cli/dev/Sources.ts"
import { folder } from "../../support/folder.ts"

it.effect("changes close together are one", () =>
  Effect.gen(function*() {
    const changes = yield* Queue.sliding<string>(1)
    const fiber = yield* Effect.forkChild(Sources.burst(changes, "150 millis"))
    for (const file of ["a.ts", "b.ts", "c.ts", "d.ts"]) {
      yield* Queue.offer(changes, file)
      yield* TestClock.adjust("100 millis")
      assert.isUndefined(fiber.pollUnsafe())
    }
    yield* TestClock.adjust("50 millis")
    assert.strictEqual(yield* Fiber.join(fiber), "a.ts")
  }))

it.live("notices a change of what is followed, once for a burst, and of nothing else", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "a.ts": "1", "b.ts": "1", "lib/c.ts": "1" })
    const at = (name: string) => Path.join(path, name)
    const sources = yield* Sources.make("50 millis")
    const next = Effect.forkChild(sources.changed, { startImmediately: true })
    const settle = Effect.sleep("100 millis")

    yield* sources.follow([at("a.ts"), at("lib/c.ts")], false)
    const first = yield* next
    yield* settle
    Fs.writeFileSync(at("b.ts"), "2")
    yield* settle
    assert.isUndefined(first.pollUnsafe(), "b.ts is not followed")
    // As editors do: another file, renamed.
    Fs.writeFileSync(at("lib/c.tmp"), "2")
    Fs.renameSync(at("lib/c.tmp"), at("lib/c.ts"))
    for (let i = 0; i < 5; i++) Fs.writeFileSync(at("a.ts"), String(i))
    assert.include([at("a.ts"), at("lib/c.ts")], yield* Fiber.join(first))
    const second = yield* next
    yield* settle
    assert.isUndefined(second.pollUnsafe(), "the burst was one change")

    // What is missing may be what comes.
    yield* sources.follow([], true)
    Fs.writeFileSync(at("notes.txt"), "1")
    yield* settle
    assert.isUndefined(second.pollUnsafe(), "no source")
    Fs.writeFileSync(at("new.ts"), "1")
    assert.strictEqual(yield* Fiber.join(second), at("new.ts"))
  }).pipe(Effect.provide(NodeServices.layer)))

it.live("follows a folder that another has replaced, as the checkout of another branch and back does", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "main.ts": "1", "lib/c.ts": "1" })
    const at = (name: string) => Path.join(path, name)
    const sources = yield* Sources.make("50 millis")
    const next = Effect.forkChild(sources.changed, { startImmediately: true })
    const settle = Effect.sleep("100 millis")

    yield* sources.follow([at("main.ts"), at("lib/c.ts")], false)
    yield* settle
    const gone = yield* next
    Fs.rmSync(at("lib"), { recursive: true })
    yield* Fiber.join(gone)
    // It cannot be read now.
    yield* sources.follow([], true)
    yield* settle
    const back = yield* next
    Fs.mkdirSync(at("lib"))
    assert.strictEqual(yield* Fiber.join(back), at("lib"))
    Fs.writeFileSync(at("lib/c.ts"), "2")
    yield* sources.follow([at("main.ts"), at("lib/c.ts")], false)
    yield* settle
    const changed = yield* next
    Fs.writeFileSync(at("lib/c.ts"), "3")
    assert.strictEqual(yield* Fiber.join(changed), at("lib/c.ts"))

    // Replaced at once, while something else changes.
    const moved = yield* next
    Fs.renameSync(at("lib"), at("old"))
    Fs.cpSync(at("old"), at("lib"), { recursive: true })
    Fs.writeFileSync(at("main.ts"), "2")
    yield* Fiber.join(moved)
    yield* sources.follow([at("main.ts"), at("lib/c.ts")], false)
    yield* settle
    const last = yield* next
    Fs.writeFileSync(at("lib/c.ts"), "4")
    assert.strictEqual(yield* Fiber.join(last), at("lib/c.ts"))
  }).pipe(Effect.provide(NodeServices.layer)))

it.live("a file that comes into a followed folder counts", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "main.ts": "1" })
    const samples = Path.join(path, "samples")
    Fs.mkdirSync(samples)
    const sources = yield* Sources.make("50 millis")
    yield* sources.follow([Path.join(path, "main.ts"), samples], false)
    yield* Effect.sleep("100 millis")
    const next = yield* Effect.forkChild(sources.changed, { startImmediately: true })
    Fs.writeFileSync(Path.join(samples, "notes.txt"), "1")
    yield* Effect.sleep("100 millis")
    assert.isUndefined(next.pollUnsafe())
    Fs.writeFileSync(Path.join(samples, "a.yaml"), "1")
    assert.strictEqual(yield* Fiber.join(next), Path.join(samples, "a.yaml"))
  }).pipe(Effect.provide(NodeServices.layer)))
