/**
 * `Description`: what a program says of itself by its export `operator`, for the commands that deploy, check and run it.
 *
 * The export is what `Manifests` is given: name, namespace, image, resources, controllers, writes and so on. The module is
 * read in a process of its own (`describe.ts`), each time anew, so that a changed source is seen; a program that runs its
 * operator when it is imported is ended before it can have sent a request. What comes back is plain data: the manifests,
 * and every source file that was read, so that a change of one of them can be noticed.
 *
 * A module that cannot be read is no failure of `read` but an answer, with what is wrong and what to do.
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
  /** Where a project has the module that exports `operator`. */
  main: "src/main.ts",
  /** How long reading a module may take. */
  timeout: "60 seconds"
} as const

/** A kind that a program declares, in a version. */
export interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly scope: "Cluster" | "Namespaced"
}

/** What a program says of itself, as manifests. */
export interface Description {
  readonly name: string
  readonly namespace: string
  /** Environment variables that the manifests give it. */
  readonly env: Readonly<Record<string, string>>
  /** Those of the definitions, and those that the operator serves itself. */
  readonly kinds: ReadonlyArray<Kind>
  readonly definitions: ReadonlyArray<Crd.Manifest>
  /** ServiceAccount, roles and bindings. */
  readonly rbac: ReadonlyArray<Manifest>
  readonly webhooks: ReadonlyArray<Manifest>
  /** The files of `Manifests.files`, as text. */
  readonly files: Readonly<Record<string, string>>
}

/** What came of reading a module. */
export interface Reading {
  /** Every file that was read on the way, packages excepted. */
  readonly sources: ReadonlyArray<string>
  readonly description: Result.Result<Description, string>
}

/** The same as it comes out of the other process. */
export interface Report {
  readonly sources: ReadonlyArray<string>
  readonly description?: Description
  readonly fault?: string
}

/** Reads a module in a process of its own. */
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
            `${main}: was not imported within ${defaults.timeout}: it waits for something at its top level`
          )
        })
    })
  )

/** The description of a program, for a command that cannot do without. */
export const require = Effect.fnUntraced(function*(main: string) {
  yield* runnable(main)
  const { description } = yield* read(main)
  return Result.isSuccess(description) ? description.success : yield* Failure.make(description.failure)
})

/** Fails where there is no such module, or Node does not run it. */
export const runnable = Effect.fnUntraced(function*(main: string) {
  if (!(yield* Folder.exists(main))) {
    return yield* Failure.make(`${main} does not exist: name the module that exports \`operator\``)
  }
  if (/\.[mc]?ts$/.test(main) && !process.features.typescript) {
    return yield* Failure.make(
      `${main} is TypeScript, which Node ${process.version} does not run: Node 22.19 or later does`
    )
  }
})
