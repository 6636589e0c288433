/** The processes of a benchmark: contestants, each in its own, and servers that live as long as a scope. */
import { Context, Effect, type Scope } from "effect"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"

/** A process that takes longer hangs: a contestant is waiting for something that will not happen. */
const longest = "10 minutes"

const flags = ["--conditions=op-source", "--expose-gc"]

/** The folder in which Node caches compiled code between processes; none by default. */
export const CompileCache = Context.Reference<string | undefined>("bench/CompileCache", {
  defaultValue: () => undefined
})

/** Additional flags for Node; none by default. */
export const NodeOptions = Context.Reference<ReadonlyArray<string>>("bench/NodeOptions", { defaultValue: () => [] })

const start = (
  script: string,
  args: ReadonlyArray<string | number>,
  nodeFlags: ReadonlyArray<string> = flags,
  cache?: string
) =>
  ChildProcess.spawn(
    process.execPath,
    [...nodeFlags, Path.resolve(import.meta.dirname, script), ...args.map(String)],
    {
      stdio: ["pipe", "pipe", "inherit"],
      env: cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: cache }
    }
  )

/** Runs a script and returns the JSON in its last line; a defect if it fails. */
export const run = <A>(script: string, ...args: ReadonlyArray<string | number>): Effect.Effect<A> =>
  Effect.gen(function*() {
    const more = yield* NodeOptions
    return yield* printed<A>(script, args, [...flags, ...more], yield* CompileCache)
  }).pipe(
    Effect.timeoutOrElse({
      duration: longest,
      orElse: () => Effect.die(new Error(`${script} ${args.join(" ")} has not ended after ${longest}`))
    })
  )

const printed = <A>(
  script: string,
  args: ReadonlyArray<string | number>,
  nodeFlags: ReadonlyArray<string>,
  cache: string | undefined
) =>
  Effect.callback<A>((resume) => {
    const child = start(script, args, nodeFlags, cache)
    let text = ""
    child.stdout.on("data", (bytes) => {
      text += bytes
    })
    child.on("close", (code) => {
      resume(
        code === 0
          ? Effect.sync(() => JSON.parse(text.trimEnd().split("\n").at(-1)!) as A)
          : Effect.die(new Error(`${script} ${args.join(" ")} ended with ${code}`))
      )
    })
    return Effect.sync(() => child.kill())
  })

/** Starts a server and returns the first line it prints. Its standard input ends with the scope. */
export const serve = (
  script: string,
  ...args: ReadonlyArray<string | number>
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => start(script, args, ["--conditions=op-source"])),
    (child) => Effect.sync(() => child.kill())
  ).pipe(
    Effect.flatMap((child) =>
      Effect.callback<string>((resume) => {
        child.stdout.once("data", (bytes: Buffer) => resume(Effect.succeed(bytes.toString().trim())))
        child.once("close", (code) => resume(Effect.die(new Error(`${script} ended with ${code} before it was ready`))))
      })
    )
  )
