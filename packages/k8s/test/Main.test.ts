import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, type Scope } from "effect"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"
import * as Url from "node:url"
import { exitCode } from "../src/Main.ts"

const main = Url.pathToFileURL(Path.join(import.meta.dirname, "../src/Main.ts")).href

const linger = Url.pathToFileURL(Path.join(import.meta.dirname, "../src/Linger.ts")).href

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Runs a program under `runMain` in a process of its own; `signals` are sent one after the other, on "ready"/"again". */
const run = (
  program: string,
  signals: ReadonlyArray<NodeJS.Signals> = [],
  env: Readonly<Record<string, string>> = {},
  { deaf = false, runner = "runMain" } = {}
): Effect.Effect<Ended, never, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() =>
        ChildProcess.spawn(process.execPath, [
          "--conditions=op-source",
          "--input-type=module",
          "--eval",
          `import { Config, Effect, Logger } from "effect"; import { runMain, runTask } from ${JSON.stringify(main)};
          import * as Linger from ${JSON.stringify(linger)}; ${runner}(${program})`
        ], {
          cwd: import.meta.dirname,
          env: { ...process.env, ...env },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    (child) =>
      Effect.callback<Ended>((resume) => {
        const waiting = [...signals]
        let output = ""
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          output += text
          // Nobody reads it any more.
          if (deaf) child.stdout.destroy()
          for (const _ of text.matchAll(/ready|again/g)) {
            const next = waiting.shift()
            if (next !== undefined) child.kill(next)
          }
        })
        if (deaf) child.stderr.setEncoding("utf8").on("data", (text: string) => void (output += text))
        else child.stderr.pipe(process.stderr)
        child.once("close", (code) => resume(Effect.succeed({ code, output })))
      })
  )

const parked = (finalizer: string) =>
  `Effect.log("ready").pipe(Effect.andThen(Effect.never), Effect.onInterrupt(() => ${finalizer}))`

describe("runMain", () => {
  it.live("lives on where its log cannot be written, and says so once", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(
        `Effect.log("here").pipe(
          Effect.andThen(Effect.sleep("300 millis")),
          Effect.andThen(Effect.log("lost").pipe(Effect.andThen(Effect.sleep("50 millis")), Effect.repeat({ times: 3 }))),
          Effect.andThen(Effect.sync(() => process.stderr.write("done\\n")))
        )`,
        [],
        {},
        { deaf: true }
      )
      assert.strictEqual(code, 0)
      assert.match(output, /here/)
      assert.match(output, /\nstandard output: .*EPIPE: log lines are lost until it can be written again\n+done\n$/)
      assert.strictEqual(output.split("EPIPE").length, 2)
    }).pipe(Effect.scoped))

  it.live("exits 0 after SIGTERM or SIGINT, when the finalizers are done", () =>
    Effect.gen(function*() {
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        const { code, output } = yield* run(
          parked(`Effect.sleep("20 millis").pipe(Effect.andThen(Effect.log("finalized")))`),
          [signal]
        )
        assert.strictEqual(code, 0)
        assert.include(output, "finalized")
      }
    }))

  it.live("exits as one that a signal ended if its work is not done", () =>
    Effect.gen(function*() {
      const task = { runner: "runTask" }
      const finalized = `Effect.log("finalized")`
      for (const [signal, expected] of [["SIGTERM", 143], ["SIGINT", 130]] as const) {
        const { code, output } = yield* run(parked(finalized), [signal], {}, task)
        assert.strictEqual(code, expected)
        assert.include(output, "finalized")
      }
      assert.strictEqual((yield* run("Effect.void", [], {}, task)).code, 0)
      assert.strictEqual((yield* run(`Effect.fail("x")`, [], {}, task)).code, 1)
    }))

  it.live("what is thrown where nobody waits for it is logged at once, and the finalizers run; the next ends it", () =>
    Effect.gen(function*() {
      const throwing = (what: string, finalizer: string) =>
        `Effect.sync(() => { ${what} }).pipe(Effect.andThen(Effect.never), Effect.onInterrupt(() => ${finalizer}))`
      const timer = `setTimeout(() => { throw new Error("stray") }, 10)`
      for (
        const [what, where] of [
          [timer, "a callback outside any Effect"],
          [`Promise.reject(new Error("stray"))`, "a promise that nothing awaits"]
        ] as const
      ) {
        const { code, output } = yield* run(throwing(what, `Effect.log("finalized")`))
        assert.strictEqual(code, 1)
        const lines = output.trim().split("\n").map((line) => JSON.parse(line))
        assert.deepStrictEqual(lines.map(({ level, message }) => [level, message]), [
          ["ERROR", `the program is stopping: uncaught error in ${where}: catch it there`],
          ["INFO", "finalized"]
        ])
        assert.include(lines[0].error, "Error: stray")
      }
      const twice = `${timer}; setTimeout(() => { throw new Error("again") }, 100)`
      const { code, output } = yield* run(throwing(twice, "Effect.never"))
      assert.strictEqual(code, 1)
      assert.include(output, "Error: stray")
    }).pipe(Effect.scoped))

  it.live("exits 1 after a failure, a defect, and an interruption nobody asked for, and logs why as JSON", () =>
    Effect.gen(function*() {
      for (
        const [program, reason] of [
          [`Effect.fail(new Error("no such thing"))`, "no such thing"],
          [`Effect.die(new Error("a defect"))`, "a defect"],
          [`Effect.interrupt`, "interrupted without a signal"]
        ] as const
      ) {
        const { code, output } = yield* run(program)
        assert.strictEqual(code, 1)
        const lines = output.trim().split("\n").map((line) => JSON.parse(line))
        assert.strictEqual(lines.length, 1)
        assert.strictEqual(lines[0].level, "ERROR")
        assert.include(JSON.stringify(lines[0]), reason)
      }
    }))

  it.live("what made it fail is told once, in the format and above the level that the environment chooses", () =>
    Effect.gen(function*() {
      const failing = `Effect.fail(new Error("no such thing"))`
      const pretty = yield* run(failing, [], { EFFECT_OPERATOR_LOG_FORMAT: "pretty" })
      assert.strictEqual(pretty.code, 1)
      assert.match(pretty.output, /^\S+ ERROR the program failed/)
      assert.lengthOf(pretty.output.match(/no such thing/g) ?? [], 1)
      assert.deepStrictEqual(yield* run(failing, [], { EFFECT_OPERATOR_LOG_LEVEL: "Fatal" }), { code: 1, output: "" })
      const unread = yield* run(failing, [], { EFFECT_OPERATOR_LOG_LEVEL: "loud" })
      assert.strictEqual(unread.code, 1)
      assert.include(unread.output, "EFFECT_OPERATOR_LOG_LEVEL")
      assert.notInclude(unread.output, "no such thing")
    }))

  it.live("the end of a part, whose cause has been told by then, is told without it", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(
        `Effect.gen(function*() {
          const { make } = yield* Effect.promise(() => import("@effect-operator/core/Supervisor"))
          const supervisor = yield* make
          yield* supervisor.run("the part", Effect.die(new Error("no such thing")))
          yield* supervisor.failure
        }).pipe(Effect.scoped)`
      )
      assert.strictEqual(code, 1)
      const lines = output.trim().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(lines.map(({ level, message }) => [level, message]), [
        ["FATAL", "the part ended"],
        ["ERROR", "the program failed: the part ended: no such thing"]
      ])
      assert.include(lines[0].error, "no such thing")
      assert.notProperty(lines[1], "error")
    }))

  it.live("names the variable that is missing, and where to set it", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(`Effect.gen(function*() { return yield* Config.Int("REGISTRY_SIZE") })`)
      assert.strictEqual(code, 1)
      assert.include(output, "REGISTRY_SIZE")
      assert.include(output, "set it in the environment; in a cluster, with `env` of the export `operator`")
    }))

  it.live("exits 1 if a finalizer fails during the stop", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(parked(`Effect.die(new Error("lease not released"))`), ["SIGTERM"])
      assert.strictEqual(code, 1)
      assert.include(output, "lease not released")
    }))

  it.live("exits at once after a second signal", () =>
    Effect.gen(function*() {
      const hanging = parked(`Effect.log("again").pipe(Effect.andThen(Effect.never))`)
      assert.strictEqual((yield* run(hanging, ["SIGTERM", "SIGTERM"])).code, 143)
      assert.strictEqual((yield* run(hanging, ["SIGTERM", "SIGINT"])).code, 130)
    }))

  it.live(
    "lingers after SIGTERM, not after SIGINT, and no longer than to a second signal",
    () =>
      Effect.gen(function*() {
        // What lingers says so by its name, which is what the second signal waits for.
        const lingering = (time: string) =>
          `Effect.scoped(Effect.andThen(Linger.hold("again", { linger: ${JSON.stringify(time)} }),
          Effect.andThen(Effect.log("ready"), Effect.never)))`
        const { code, output } = yield* run(lingering("300 millis"), ["SIGTERM"])
        assert.strictEqual(code, 0)
        assert.include(output, "stopping: again: still serving until 300ms after the signal")
        assert.strictEqual((yield* run(lingering("1 hour"), ["SIGINT"])).code, 0)
        assert.strictEqual((yield* run(lingering("1 hour"), ["SIGTERM", "SIGTERM"])).code, 143)
      })
  )

  it.live("exits 0 after success, and leaves a program its own loggers", () =>
    Effect.gen(function*() {
      const { code, output } = yield* run(
        `Effect.log("mine").pipe(Effect.provide(Logger.layer([Logger.consoleLogFmt])))`
      )
      assert.strictEqual(code, 0)
      assert.match(output, /^timestamp=.*message=mine/)
    }))

  it("decides by cause and signal", () => {
    const failed = Exit.failCause(Cause.combine(Cause.interrupt(1), Cause.fail("x")))
    assert.strictEqual(exitCode(Exit.void, false), 0)
    assert.strictEqual(exitCode(Exit.interrupt(1), true), 0)
    assert.strictEqual(exitCode(Exit.interrupt(1), false), 1)
    assert.strictEqual(exitCode(Exit.fail("x"), true), 1)
    assert.strictEqual(exitCode(failed, true), 1)
  })
})
