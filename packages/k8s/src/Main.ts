/**
 * `Main`: a program as the main process of a pod.
 *
 * `runMain` guarantees:
 * - SIGTERM and SIGINT interrupt the program, its finalizers run to the end, and the process exits 0: a pod that was
 *   asked to stop and did is `Completed`, not `Error`.
 * - The program is told of SIGTERM (`Termination`): what the API server calls of it lingers (`Linger`), and nothing
 *   else.
 * - Any other end of the program except success exits 1, after its cause was logged: a failure, a defect, a finalizer
 *   that failed during the stop, and also an interruption that no signal asked for.
 * - With `runMain`, an exception that nobody handles (in a timer's callback, or a forgotten promise) is logged at once
 *   and fails the program, whose finalizers run, so the lease is released. The next one ends the process at once.
 * - A second signal ends the process at once, with 128 plus the signal's number, whatever finalizers still do.
 * - A log line that cannot be written (the disk is full, the reader of a pipe is gone) is lost, which is reported once.
 *   Nothing else is lost: no operator ends, its lease in hand, because it cannot log.
 * - Logs are one JSON object per line, or readable lines if standard output is a terminal, without credentials (see
 *   `Logging`). A program that provides its own loggers keeps them.
 * - With `runMain`, the environment applies (see `Environment`): figures, log level, traces, and the addresses where
 *   the program's managers show metrics (`:8080`) and probes (`:8081`), until they have drained.
 *
 * There is no deadline here: give the program one below the pod's `terminationGracePeriodSeconds`.
 */
import { PartFailed } from "@effect-operator/core/Supervisor"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Os from "node:os"
import * as Environment from "./Environment.ts"
import * as Logging from "./Logging.ts"
import * as Termination from "./Termination.ts"

const signals = ["SIGINT", "SIGTERM"] as const

/** The exit code of a program: 0 if it succeeded, or was only interrupted after a signal; otherwise 1. */
export const exitCode = (exit: Exit.Exit<unknown, unknown>, signalled: boolean): number =>
  Exit.isSuccess(exit) || (signalled && Cause.hasInterruptsOnly(exit.cause)) ? 0 : 1

/** The exit code of a process that a signal ended, as shells have it. */
const codeOf = (signal: (typeof signals)[number]): number => 128 + Os.constants.signals[signal]

/** JSON, or readable lines if standard output is a terminal. */
export const layerLogger = Logging.layer()

export interface Options {
  /** Reports the failure of the program; by default in a log line. */
  readonly report?: ((cause: Cause.Cause<unknown>) => Effect.Effect<void>) | undefined
  /**
   * Whether the environment configures the program, and metrics and probes of its managers are served; false by
   * default.
   */
  readonly environment?: boolean | undefined
  /**
   * Whether the program has work to complete, unlike a server: one that a signal interrupts exits with 128 plus the
   * signal's number, as its work is not done. False by default. A function is asked when the program has ended.
   */
  readonly task?: boolean | (() => boolean) | undefined
}

/**
 * A report for people at a terminal: `name: what went wrong` on standard error, without a stack. An invalid command
 * line is not reported again, since its usage has been printed.
 */
export const reportToPerson = (name: string) => (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.sync(() => {
    const error = Cause.squash(cause)
    if ((error as { readonly _tag?: unknown } | undefined)?._tag === "ShowHelp") return
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`)
  })

/** The name of the variable that a `ConfigError` is about, if there is one. */
const variableOf = (error: Config.ConfigError): string | undefined => {
  const path = [...error.message.matchAll(/\["([^"]+)"\]/g)].map(([, part]) => part)
  return path.length === 0 ? undefined : path.join("_")
}

/** Reports in a log line. The cause of a `PartFailed` was logged when the part failed. */
const reportToLog = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const error = Cause.squash(cause)
  if (error instanceof PartFailed) return Effect.logError(`the program failed: ${error.message}`)
  const variable = error instanceof Config.ConfigError ? variableOf(error) : undefined
  return variable === undefined
    ? Effect.logError("the program failed", cause)
    : Effect.logError(
      `the program failed: ${variable}: set it in the environment; in a cluster, with \`env\` of the export \`operator\``,
      cause
    )
}

/** Without a listener, an error of a standard stream would end the process. */
const outliveStreams = (): void => {
  let told = false
  process.stderr.on("error", () => {})
  process.stdout.on("error", ({ message }) => {
    if (told) return
    told = true
    process.stderr.write(`standard output: ${message}: log lines are lost until it can be written again\n`)
  })
}

/** Logs the first error that no fiber handles (an uncaught exception or rejection), and interrupts the program. */
const heedingStray = <A, E>(program: Effect.Effect<A, E>, onStray: () => void): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => {
    let thrown = false
    process.on("uncaughtException", (error, origin) => {
      if (thrown) {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
        process.exit(1)
      }
      thrown = true
      onStray()
      const what = origin === "unhandledRejection"
        ? "a promise that nothing awaits"
        : "a callback outside any Effect"
      const line = `the program is stopping: uncaught error in ${what}: catch it there`
      Effect.runForkWith(fiber.context)(Effect.logError(line, Cause.die(error)))
        .addObserver(() => fiber.interruptUnsafe(fiber.id))
    })
    return program
  })

/** Runs a program as the main process. */
export const makeRunMain = (options: Options) => <A, E>(program: Effect.Effect<A, E>): void => {
  const report = options.report ?? reportToLog
  let signalled: (typeof signals)[number] | undefined
  let strayed = false
  const termination = Termination.make()
  const run = Runtime.makeRunMain(({ fiber, teardown }) => {
    if (options.environment === true) outliveStreams()
    const onSignal = (signal: (typeof signals)[number]) => {
      if (signalled !== undefined) process.exit(codeOf(signal))
      signalled = signal
      if (signal === "SIGTERM") termination.request()
      fiber.interruptUnsafe(fiber.id)
    }
    for (const signal of signals) process.on(signal, onSignal)
    fiber.addObserver((exit) => teardown(exit, (code) => process.exit(code)))
  })
  const ended = (exit: Exit.Exit<unknown, unknown>): number => {
    const code = exitCode(exit, signalled !== undefined)
    const isTask = typeof options.task === "function" ? options.task() : options.task === true
    const interrupted = isTask && Exit.isFailure(exit) && code === 0
    return interrupted && signalled !== undefined ? codeOf(signalled) : code
  }
  let told = false
  const reporting = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.onExit(effect, (exit) => {
      if (told || Exit.isSuccess(exit) || exitCode(exit, signalled !== undefined) === 0) return Effect.void
      told = true
      if (strayed && Cause.hasInterruptsOnly(exit.cause)) return Effect.void
      return Cause.hasInterruptsOnly(exit.cause)
        ? Effect.logError("the program was interrupted without a signal")
        : report(exit.cause)
    })
  // Two layers: a failure of the program is logged as the environment configures, a failure of the environment cannot
  // be.
  const reported: Effect.Effect<A, unknown> = reporting(
    options.environment === true
      ? Environment.around(reporting(heedingStray(program, () => (strayed = true))))
      : program
  )
  const terminating = Effect.provideService(reported, Termination.Termination, termination)
  run(Effect.provide(terminating, layerLogger), {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(strayed ? 1 : ended(exit))
  })
}

/** Runs an operator as the main process. The environment configures it, and a failure is logged. */
export const runMain = makeRunMain({ environment: true })

/**
 * As `runMain`, for a program that has work to complete, such as that of a Job: if a signal interrupts it, it exits with
 * 128 plus the signal's number, so that nobody takes its work for done.
 */
export const runTask = makeRunMain({ environment: true, task: true })
