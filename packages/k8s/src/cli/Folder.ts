/**
 * `Folder`: reads and writes a project's files.
 *
 * `put` writes a file that belongs to this program (generated manifests), and returns whether it changed. `create`
 * writes files that belong to the user from then on, and only if none of them exists: all or nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import * as Failure from "./Failure.ts"

/** The root of the project that a command works in. */
export const Top: Context.Reference<string> = Context.Reference<string>("@effect-operator/k8s/cli/Top", {
  defaultValue: () => "."
})

/** Texts by file name, such as `src/main.ts`. */
export type Files = Readonly<Record<string, string>>

/** The same, including binary files. */
export type Contents = Readonly<Record<string, string | Uint8Array>>

/**
 * A file's text; undefined if it does not exist. Line ends are those that this program writes, even if git has checked
 * it out with others.
 */
export const read = Effect.fnUntraced(function*(file: string) {
  const files = yield* FileSystem.FileSystem
  return yield* files.readFileString(file).pipe(
    Effect.map((text): string | undefined => text.replaceAll("\r\n", "\n")),
    Effect.catchReason("PlatformError", "NotFound", () => Effect.undefined),
    Effect.mapError(Failure.ofFile("read", file))
  )
})

/** Writes a file, and creates its folders. */
export const write = Effect.fnUntraced(function*(file: string, content: string | Uint8Array) {
  const files = yield* FileSystem.FileSystem
  const write = typeof content === "string" ? files.writeFileString(file, content) : files.writeFile(file, content)
  yield* files.makeDirectory(Path.dirname(file), { recursive: true }).pipe(
    Effect.andThen(write),
    Effect.mapError(Failure.ofFile("write", file))
  )
})

/** Writes a file if its content differs. */
export const put = Effect.fnUntraced(function*(file: string, text: string) {
  const before = yield* read(file)
  if (before !== text) yield* write(file, text)
  return before === undefined ? "created" as const : before === text ? "unchanged" as const : "changed" as const
})

/** Creates files in a folder, none of which may exist; `remedy` tells what to do if one does. */
export const create = Effect.fnUntraced(function*(folder: string, made: Contents, remedy: string) {
  const files = yield* FileSystem.FileSystem
  const names = Object.keys(made)
  const taken = yield* Effect.filter(
    names,
    (name) => Effect.mapError(files.exists(Path.join(folder, name)), Failure.ofFile("look for", name))
  )
  if (taken.length > 0) {
    return yield* Failure.make(
      `${taken.map((name) => Path.join(folder, name)).join(", ")} ${
        taken.length === 1 ? "exists already and is" : "exist already and are"
      } not overwritten; nothing was written. ${remedy}`
    )
  }
  for (const name of names) yield* write(Path.join(folder, name), made[name]!)
  return names
})

/** Whether a file or folder exists. */
export const exists = (place: string) =>
  FileSystem.FileSystem.use((files) => Effect.mapError(files.exists(place), Failure.ofFile("look for", place)))
