/**
 * A program that runs as long as its scope. Its output goes to a file, and it is killed when the scope closes.
 *
 * For the test control plane only: the program is killed with `SIGKILL`, and its end is awaited. It collects garbage
 * less often than Go does by default, unless the environment sets `GOGC`: a control plane lives for some seconds, a
 * third of the CPU of its start is garbage collection, and a test would rather spend memory. `exited` tells when it
 * ends by itself. However this process ends, the program ends, too: a shell beside it waits for the end of a pipe that
 * only this process holds open. The program has its own process group, so Ctrl-C reaches the users of the control plane
 * before the control plane.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"

export interface Running {
  readonly name: string
  readonly log: string
  /** Completes when the program ends, with its exit code or the reason why it could not be started. */
  readonly exited: Deferred.Deferred<string>
}

// Exits with the program's exit code. The watcher is stopped first, because the program's pid may be reused by then.
const guard = [
  "exec 3<&0",
  "\"$0\" \"$@\" 3<&- </dev/null &",
  "program=$!",
  "(cat <&3 >/dev/null; kill -9 $program) 2>/dev/null &",
  "watcher=$!",
  "exec 3<&- </dev/null",
  "wait $program",
  "code=$?",
  "kill $watcher 2>/dev/null",
  "exit $code"
].join("\n")

/** How much a Go program's heap grows until it collects garbage, in percent; 100 is Go's default. */
const gogc = "400"

/** Starts `file`; its output goes to `<folder>/<name>.log`. */
export const start = (
  file: string,
  args: ReadonlyArray<string>,
  folder: string
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const name = Path.basename(file)
        const log = Path.join(folder, `${name}.log`)
        const output = Fs.openSync(log, "a")
        const child = ChildProcess.spawn("/bin/sh", ["-c", guard, file, ...args], {
          cwd: folder,
          env: { GOGC: gogc, ...process.env },
          stdio: ["pipe", output, output],
          detached: true
        })
        Fs.closeSync(output)
        const exited = Deferred.makeUnsafe<string>()
        const done = (how: string) => Deferred.doneUnsafe(exited, Effect.succeed(how))
        child.once("error", (error) => done(error.message))
        child.once("exit", (code, signal) => done(code === null ? `signal ${signal}` : `exit code ${code}`))
        return { name, log, exited, kill: () => child.stdin?.destroy() }
      }),
      ({ exited, kill }) => Effect.andThen(Effect.sync(kill), Deferred.await(exited))
    ),
    ({ exited, log, name }): Running => ({ name, log, exited })
  )

/** The last lines a program wrote. */
export const tail = (running: Running, lines = 20): string =>
  Fs.readFileSync(running.log, "utf8").trimEnd().split("\n").slice(-lines).join("\n")
