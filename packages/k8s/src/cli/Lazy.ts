/**
 * `Lazy`: commands whose implementation is loaded when they run.
 *
 * The API server and the live client take a while to load, and need a newer Node than creating a project does. `--help`
 * and `init` should neither wait for them nor fail because of them.
 */
import * as Effect from "effect/Effect"
import * as Failure from "./Failure.ts"

/** The minimum version of Node to run a command in this process; the same as in package.json. */
export const node = [22, 19] as const

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major < node[0] || (major === node[0] && minor < node[1])
}

/** A command's handler, in a module of its own. */
export const command = <M, A extends ReadonlyArray<unknown>, B, E, R>(
  load: () => Promise<M>,
  handler: (module: M) => (...args: A) => Effect.Effect<B, E, R>,
  version: string = process.versions.node
) =>
(...args: A): Effect.Effect<B, E | Failure.Failure, R> =>
  isOld(version)
    ? Effect.fail(Failure.make(`this command requires Node ${node.join(".")} or later, but this is Node ${version}`))
    : Effect.flatMap(Effect.promise(load), (module) => handler(module)(...args))
