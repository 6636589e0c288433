import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as FileSource from "../../src/live/FileSource.ts"
import { folder } from "../support/folder.ts"

describe("FileSource", () => {
  const options = { what: "token file", problem: FileSource.tokenProblem }

  it.effect("reads again when the text has aged, or is doubted", () =>
    Effect.gen(function*() {
      const path = yield* folder({ token: "first" })
      const file = Path.join(path, "token")
      const source = FileSource.make(file, options)
      assert.strictEqual(yield* source.text, "first")
      Fs.writeFileSync(file, "second")
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(yield* source.text, "first")
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual(yield* source.text, "second")
      Fs.writeFileSync(file, "third")
      source.doubt()
      assert.strictEqual(yield* source.text, "third")
      Fs.writeFileSync(file, "fourth")
      assert.strictEqual(yield* source.fresh, "fourth")
    }))

  it.effect("who doubts, and is interrupted before it is read, has doubted for the others as well", () =>
    Effect.gen(function*() {
      const path = yield* folder({ token: "first" })
      const source = FileSource.make(Path.join(path, "token"), options)
      yield* source.text
      Fs.writeFileSync(Path.join(path, "token"), "second")
      source.doubt()
      yield* Fiber.interrupt(yield* Effect.forkChild(source.text, { startImmediately: true }))
      assert.strictEqual(yield* source.text, "second")
    }))

  it.effect("reads again when the text has aged, also where somebody has put the clock back", () =>
    Effect.gen(function*() {
      const path = yield* folder({ token: "first" })
      const clock = yield* Clock.Clock
      const source = FileSource.make(Path.join(path, "token"), options)
      yield* source.text
      Fs.writeFileSync(Path.join(path, "token"), "second")
      yield* TestClock.adjust("1 minute")
      const anHourAgo = {
        ...clock,
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() - 3_600_000,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis - 3_600_000)
      }
      assert.strictEqual(yield* Effect.provideService(source.text, Clock.Clock, anHourAgo), "second")
    }))

  it.effect("does not read what is given until it has aged", () =>
    Effect.gen(function*() {
      const source = FileSource.make("/nonexistent", { ...options, initial: "given" })
      assert.strictEqual(yield* source.text, "given")
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* source.text, "given")
    }))

  it.effect("keeps the last text while the file is missing or holds nothing, and tries every ten seconds", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => {
        logged.push(String(message))
      })
      const path = yield* folder({ token: "s3cret" })
      const file = Path.join(path, "token")
      const source = FileSource.make(file, options)
      yield* source.text
      yield* Effect.gen(function*() {
        Fs.writeFileSync(file, " \n")
        yield* TestClock.adjust("1 minute")
        for (let second = 0; second < 20; second++) {
          assert.strictEqual(yield* source.text, "s3cret")
          yield* TestClock.adjust("1 seconds")
        }
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(
        logged,
        Array.from({ length: 2 }, () => `the token file ${file} is empty; still using what was read last`)
      )
      Fs.rmSync(file)
      assert.strictEqual((yield* Effect.flip(source.fresh)).message, `cannot read the token file ${file}: ENOENT`)
    }))
})
