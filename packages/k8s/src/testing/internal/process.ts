/**
 * A program that runs as long as its scope: started with its output in a file, killed when the scope closes.
 *
 * For the test control plane only: it is killed (`SIGKILL`) without ceremony, and its end is awaited. A program that
 * ends by itself is seen through `exited`. However this process ends, the program ends too: a shell beside it waits for
 * the end of a pipe that only this process holds open. The program is in a process group of its own, so that Ctrl-C
 * reaches those who use the control plane before the control plane.
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
  /** Completes when the program ends: with its exit code, or why it could not be started. */
  readonly exited: Deferred.Deferred<string>
}

// Ends with the program's exit code. The watcher is stopped first: by then the program's id may be another's.
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
