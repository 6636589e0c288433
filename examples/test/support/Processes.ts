/** Programs of this repository as operating system processes, for tests in real time. */
import { Data, type Duration, Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

export interface Exited {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A folder that goes with the scope. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "operator-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
)

/** A program of this repository; killed at the latest when the scope closes. */
export const start = Effect.fnUntraced(function*(
  program: string,
  options: { readonly arguments?: ReadonlyArray<string>; readonly env?: Readonly<Record<string, string>> } = {}
) {
  const main = new URL(`../../../${program}`, import.meta.url).pathname
  const { child, exited, output } = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = ChildProcess.spawn(
        process.execPath,
        ["--conditions=op-source", main, ...(options.arguments ?? [])],
        // Several may run at once: none serves metrics and probes unless a test says where.
        {
          env: {
            ...process.env,
            NODE_OPTIONS: "",
            EFFECT_OPERATOR_METRICS_ADDRESS: "0",
            EFFECT_OPERATOR_PROBES_ADDRESS: "0",
            ...options.env
          },
          stdio: ["ignore", "pipe", "inherit"]
        }
      )
      const output: Array<string> = []
      child.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text))
      const exited = new Promise<Exited>((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })))
      return { child, exited, output }
    }),
    ({ child, exited }) =>
      Effect.promise(() => {
        child.kill("SIGKILL")
        return exited
      })
  )
  return {
    signal: (signal: NodeJS.Signals) => Effect.sync(() => child.kill(signal)),
    exited: Effect.promise(() => exited),
    /** Everything it wrote to its standard output so far. */
    output: () => output.join("")
  }
})

/** Looks every few milliseconds until it is so, for a minute by default: processes take long to start on a busy machine. */
export const until = <E, R>(what: Effect.Effect<boolean, E, R>, limit: Duration.Input = "1 minute") =>
  Effect.repeat(Effect.delay(what, "5 millis"), { until: (done) => done }).pipe(Effect.timeout(limit))

/** A command said that it failed; the message has what it wrote to its standard error. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

/** Runs a command to its end; fails if it says that it failed. */
export const run = (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.callback<string, CommandFailed>((resume) => {
    const child = ChildProcess.execFile(
      command,
      [...args],
      { env: { ...process.env, ...env }, timeout: 30_000 },
      (error, stdout, stderr) =>
        resume(
          error === null
            ? Effect.succeed(stdout)
            : Effect.fail(new CommandFailed({ message: `${error.message}\n${stderr}` }))
        )
    )
    return Effect.sync(() => child.kill())
  })
