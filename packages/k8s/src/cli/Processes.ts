/**
 * `Processes`: runs programs as child processes.
 *
 * Each child has its own process group, so that Ctrl-C reaches only this program, which then asks its children to stop
 * and kills any that take too long. Node programs run with the flags of this process, except those of a debugger.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Os from "node:os"
import * as NodePath from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Failure from "./Failure.ts"

export type Spawner = ChildProcessSpawner

/** The command that starts Node. */
export const Node: Context.Reference<ReadonlyArray<string>> = Context.Reference<ReadonlyArray<string>>(
  "@effect-operator/k8s/cli/Node",
  { defaultValue: () => process.execArgv.filter((flag) => !/^--inspect|^--(eval|print|test)\b|^-[ep]$/.test(flag)) }
)

/** The path of a program beside a module of this package: `.ts` when running from source, `.js` when built. */
export const besides = (name: string, from: string): string =>
  fileURLToPath(new URL(`${name}${NodePath.extname(fileURLToPath(from))}`, from))

export interface Answered {
  /** What the program wrote to file descriptor 3. */
  readonly answer: string
  readonly errors: string
  readonly code: number
}

const inherited = { extendEnv: true, stdin: "ignore" } as const

/** Compiled sources are cached for the next start, which follows the next change. */
const compileCache = {
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? NodePath.join(Os.tmpdir(), "node-compile-cache")
}

/** The environment of a program that must not reach a cluster. */
const nowhere = { ...compileCache, KUBECONFIG: "/dev/null", KUBERNETES_SERVICE_HOST: undefined }

/** Runs a Node program that answers on file descriptor 3. */
export const ask = (
  program: string,
  args: ReadonlyArray<string>
): Effect.Effect<Answered, never, ChildProcessSpawner> =>
  Effect.gen(function*() {
    const child = yield* ChildProcess.make(process.execPath, [...yield* Node, program, ...args], {
      ...inherited,
      env: nowhere,
      stdout: "ignore",
      additionalFds: { fd3: { type: "output" } }
    })
    const [answer, errors, code] = yield* Effect.all([
      Stream.mkString(Stream.decodeText(child.getOutputFd(3))),
      Stream.mkString(Stream.decodeText(child.stderr)),
      child.exitCode
    ], { concurrency: "unbounded" })
    return { answer, errors, code }
  }).pipe(Effect.scoped, Effect.orDie)

/** A running program. */
export interface Running {
  readonly pid: number
  /** Its exit code, or the signal that ended it. */
  readonly exited: Effect.Effect<number | string>
  /** Asks it to stop, waits, and kills it after `grace`. */
  readonly stop: (grace: Duration.Input) => Effect.Effect<void>
}

/** Starts a Node program that shares the terminal. It is stopped when the scope closes or this program ends. */
export const start = (
  program: string,
  options: { readonly env: Readonly<Record<string, string>>; readonly grace: Duration.Input }
): Effect.Effect<Running, Failure.Failure, ChildProcessSpawner | Scope.Scope> =>
  Effect.gen(function*() {
    const leash = ["--import", pathToFileURL(besides("./leash", import.meta.url)).href]
    const child = yield* ChildProcess.make(process.execPath, [...yield* Node, ...leash, program], {
      ...inherited,
      stdin: "pipe",
      env: { ...compileCache, ...options.env },
      stdout: "inherit",
      stderr: "inherit",
      forceKillAfter: options.grace
    })
    return {
      pid: child.pid,
      exited: Effect.catch(child.exitCode, ({ message }) => Effect.succeed(message)),
      stop: (grace: Duration.Input) => Effect.ignore(child.kill({ killSignal: "SIGTERM", forceKillAfter: grace }))
    }
  }).pipe(
    Effect.catchTag("PlatformError", ({ message }) => Effect.fail(Failure.make(`cannot start ${program}: ${message}`)))
  )

/** Runs a command to its end. Returns its output, or fails with its error output. */
export const output = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly cwd: string }
): Effect.Effect<string, Failure.Failure, ChildProcessSpawner> =>
  Effect.gen(function*() {
    const child = yield* ChildProcess.make(command, args, { ...inherited, ...options })
    const [text, errors, code] = yield* Effect.all([
      Stream.mkString(Stream.decodeText(child.stdout)),
      Stream.mkString(Stream.decodeText(child.stderr)),
      child.exitCode
    ], { concurrency: "unbounded" })
    return code === 0
      ? text
      : yield* Failure.make(`${[command, ...args].join(" ")} exited with code ${code}\n${errors}`.trimEnd())
  }).pipe(
    Effect.scoped,
    Effect.catchTag("PlatformError", ({ message }) => Effect.fail(Failure.make(`cannot run ${command}: ${message}`)))
  )
