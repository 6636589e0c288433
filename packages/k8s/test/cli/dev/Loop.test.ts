import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Result } from "effect"
import { TestClock } from "effect/testing"
import type { Description, Reading } from "../../../src/cli/Description.ts"
import * as Failure from "../../../src/cli/Failure.ts"
import * as Loop from "../../../src/cli/dev/Loop.ts"

/** A program in some version, or one that cannot be read. */
const program = (name: string): Reading => ({
  sources: [`${name}.ts`],
  description: Result.succeed({ name } as Description)
})
const unreadable: Reading = { sources: ["broken.ts"], description: Result.fail("a syntax error") }

/** A world in which everything takes a second, and that keeps a log. `change` gives what is read next. */
const world = Effect.gen(function*() {
  const log: Array<string> = []
  const readings = yield* Queue.unbounded<Reading>()
  const note = (line: string) => Effect.sync(() => void log.push(line))
  const live = { install: Effect.void as Effect.Effect<void, Failure.Failure>, running: 0, crash: () => {} }
  let current: Reading = unreadable
  const loop = Loop.run({
    read: Effect.delay(Effect.sync(() => current), "1 second"),
    follow: (sources, anything) => note(`follow ${sources.join()}${anything ? " and all beside" : ""}`),
    changed: Effect.map(Queue.take(readings), (reading) => {
      current = reading
      return "a.ts"
    }),
    install: () => live.install,
    start: ({ name }) =>
      Effect.acquireRelease(
        Effect.andThen(
          note(`start ${name}`),
          Effect.sync((): Loop.Operator => {
            assert.strictEqual(++live.running, 1, "never two")
            return {
              ready: Effect.sleep("1 second"),
              exited: Effect.callback<number>((resume) => void (live.crash = () => resume(Effect.succeed(7))))
            }
          })
        ),
        () =>
          Effect.andThen(
            Effect.sleep("1 second"),
            Effect.andThen(note(`stopped ${name}`), Effect.sync(() => void live.running--))
          )
      ),
    whenReady: ({ name }) => note(`samples of ${name}`),
    say: note,
    warn: (line) => note(`! ${line}`)
  })
  /** What is logged in the next minute. */
  const logged = Effect.andThen(TestClock.adjust("1 minute"), Effect.sync(() => log.splice(0)))
  return { loop, live, logged, change: (reading: Reading) => Queue.offer(readings, reading) }
})

it.effect("waits for a program that can be read, runs it, and stops it before the next one starts", () =>
  Effect.gen(function*() {
    const { change, logged, loop } = yield* world
    const fiber = yield* Effect.forkChild(loop)
    assert.deepStrictEqual(yield* logged, [
      "follow broken.ts and all beside",
      "! a syntax error\nwaiting for a change"
    ])
    yield* change(program("v1"))
    assert.deepStrictEqual(yield* logged, [
      "a.ts changed",
      "follow v1.ts",
      "start v1",
      "the operator is ready (1.0 s)",
      "samples of v1"
    ])
    yield* change(program("v2"))
    assert.deepStrictEqual((yield* logged).slice(2, 4), ["stopped v1", "start v2"])
    const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber))
    assert.deepStrictEqual(yield* logged, ["stopped v2"])
    yield* Fiber.join(stopping)
  }))

it.effect("leaves the old one running while the new one cannot be read or its kinds are refused", () =>
  Effect.gen(function*() {
    const { change, live, logged, loop } = yield* world
    const fiber = yield* Effect.forkChild(loop)
    yield* change(program("v1"))
    yield* logged
    yield* change(unreadable)
    assert.include(yield* logged, "! a syntax error\nthe previous operator keeps running")
    live.install = Effect.fail(Failure.make("the definition is not accepted"))
    yield* change(program("v2"))
    assert.include(yield* logged, "! the definition is not accepted\nthe previous operator keeps running")
    assert.strictEqual(live.running, 1)
    live.install = Effect.void
    yield* change(program("v3"))
    assert.deepStrictEqual((yield* logged).slice(2, 4), ["stopped v1", "start v3"])
    yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* logged
  }))

it.effect("tells of an operator that ends by itself, and starts it again with the next change", () =>
  Effect.gen(function*() {
    const { change, live, logged, loop } = yield* world
    const fiber = yield* Effect.forkChild(loop)
    yield* change(program("v1"))
    yield* logged
    live.crash()
    assert.deepStrictEqual(yield* logged, [
      "! the operator exited by itself with code 7: it is restarted when a source file changes"
    ])
    yield* change(unreadable)
    assert.include(yield* logged, "! a syntax error\nwaiting for a change")
    yield* change(program("v2"))
    assert.include(yield* logged, "start v2")
    yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* logged
  }))
