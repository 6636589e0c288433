/**
 * `Description`: the description that a program exports as `operator`, for the commands that deploy, check and run it.
 *
 * The export contains the options of `Manifests`: name, namespace, image, resources, controllers, writes and so on. The
 * module is imported in a separate process (`describe.ts`), each time again, so that changed sources count. A program
 * that runs its operator on import is ended before it can send a request. The result is plain data: the manifests, and
 * all source files that were read, so that changes to them can be noticed.
 *
 * If a module cannot be read, `read` does not fail: its result says what is wrong and what to do.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Path from "node:path"
import type * as Crd from "../Crd.ts"
import type { Manifest } from "../manifests/Manifest.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import * as Processes from "./Processes.ts"

export const defaults = {
  /** The default module that exports `operator`. */
  main: "src/main.ts",
  /** How long reading a module may take. */
  timeout: "60 seconds"
} as const

/** A version of a kind that a program declares. */
export interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Cluster" | "Namespaced"
}

/** A program's description, as manifests. */
export interface Description {
  readonly name: string
  readonly namespace: string
  /** The environment variables in the manifests. */
  readonly env: Readonly<Record<string, string>>
  /** The kinds of the definitions, and those that the operator serves itself. */
  readonly kinds: ReadonlyArray<Kind>
  readonly definitions: ReadonlyArray<Crd.Manifest>
  /** ServiceAccount, roles and bindings. */
  readonly rbac: ReadonlyArray<Manifest>
  readonly webhooks: ReadonlyArray<Manifest>
  /** The files of `Manifests.files`, as text. */
  readonly files: Readonly<Record<string, string>>
}

/** The result of reading a module. */
export interface Reading {
  /** All files that were read, except packages. */
  readonly sources: ReadonlyArray<string>
  readonly description: Result.Result<Description, string>
}

/** The result as the other process reports it. */
export interface Report {
  readonly sources: ReadonlyArray<string>
  readonly description?: Description
  readonly fault?: string
}

/** Reads a module in a separate process. */
export const read = (main: string): Effect.Effect<Reading, never, Processes.Spawner> =>
  Processes.ask(Processes.besides("./describe", import.meta.url), [Path.resolve(main)]).pipe(
    Effect.map(({ answer, code, errors }): Reading => {
      const report = answer === "" ? undefined : JSON.parse(answer) as Report
      if (report?.description !== undefined) {
        return { sources: report.sources, description: Result.succeed(report.description) }
      }
      const wrong = report?.fault ?? `ended the process with code ${code} while it was imported\n${errors}`.trimEnd()
      return { sources: report?.sources ?? [], description: Result.fail(`${main}: ${wrong}`) }
    }),
    Effect.timeoutOrElse({
      duration: defaults.timeout,
      orElse: () =>
        Effect.succeed({
          sources: [],
          description: Result.fail(
            `${main}: the import did not finish within ${defaults.timeout}: a top-level await may be waiting for something`
          )
        })
    })
  )

/** The description of a program; fails if there is none. */
export const require = Effect.fnUntraced(function*(main: string) {
  yield* runnable(main)
  const { description } = yield* read(main)
  return Result.isSuccess(description) ? description.success : yield* Failure.make(description.failure)
})

/** Fails if the module does not exist, or Node cannot run it. */
export const runnable = Effect.fnUntraced(function*(main: string) {
  if (!(yield* Folder.exists(main))) {
    return yield* Failure.make(`${main} does not exist: give the module that exports \`operator\``)
  }
  if (/\.[mc]?ts$/.test(main) && !process.features.typescript) {
    return yield* Failure.make(
      `${main} is TypeScript, which Node ${process.version} cannot run: use Node 22.19 or later`
    )
  }
})
