/** `Definitions`: CustomResourceDefinitions from files, folders and commits, for commands that compare them. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import * as Yaml from "yaml"
import type * as Crd from "../Crd.ts"
import * as Change from "../crd/Change.ts"
import * as CrdDiff from "../CrdDiff.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import * as Processes from "./Processes.ts"

/** The file with the definitions in a folder of manifests. */
export const fileName = "crd.yaml"

type Definition = Crd.Manifest

/** All documents of a YAML stream, with the items of Lists in place of the Lists. */
export const documents = (text: string, from: string): Effect.Effect<ReadonlyArray<unknown>, Failure.Failure> =>
  Effect.gen(function*() {
    const all: Array<unknown> = []
    for (const document of Yaml.parseAllDocuments(text)) {
      const [error] = document.errors
      if (error !== undefined) return yield* Failure.make(`${from} is not valid YAML: ${error.message.trimEnd()}`)
      const value = document.toJS() as { readonly kind?: unknown; readonly items?: unknown } | null
      if (value === null) continue
      if (typeof value.kind === "string" && value.kind.endsWith("List") && Array.isArray(value.items)) {
        all.push(...value.items as ReadonlyArray<unknown>)
      } else all.push(value)
    }
    return all
  })

const isDefinition = (value: unknown): value is Definition =>
  (value as { readonly kind?: unknown }).kind === "CustomResourceDefinition"

/** The definitions in a YAML stream. Those of v1beta1 are refused. */
export const parse = Effect.fnUntraced(function*(text: string, from: string) {
  const definitions = (yield* documents(text, from)).filter(isDefinition)
  for (const { apiVersion, metadata, spec } of definitions) {
    if (apiVersion !== "apiextensions.k8s.io/v1") {
      return yield* Failure.make(
        `${from}: ${metadata.name} has apiVersion ${apiVersion}: get it from a cluster in apiextensions.k8s.io/v1: ` +
          `\`kubectl get crd ${metadata.name} -o yaml\``
      )
    }
    if (!Array.isArray((spec as Partial<Definition["spec"]> | undefined)?.versions)) {
      return yield* Failure.make(
        `${from}: ${metadata.name}: spec.versions is not a list: this is not a CustomResourceDefinition`
      )
    }
  }
  return definitions
})

/** The definitions in a file; none if it does not exist. */
export const inFile = Effect.fnUntraced(function*(file: string) {
  const text = yield* Folder.read(file)
  return text === undefined ? [] : yield* parse(text, file)
})

/**
 * The definitions in a file, in a folder's `crd.yaml`, or in the `crd.yaml` of `folder` at a git commit; none if the
 * commit is older than the operator.
 */
export const against = Effect.fnUntraced(function*(where: string, folder: string) {
  const files = yield* FileSystem.FileSystem
  const info = yield* Effect.option(files.stat(where))
  if (info._tag === "Some") {
    const file = info.value.type === "Directory" ? Path.join(where, fileName) : where
    const text = yield* Folder.read(file)
    if (text === undefined) return yield* Failure.make(`${file} does not exist: give a file or folder with definitions`)
    return yield* parse(text, file)
  }
  const cwd = Path.resolve(yield* Folder.Top)
  const path = Path.relative(cwd, Path.resolve(folder, fileName)).replaceAll(Path.sep, "/")
  const git = (...args: ReadonlyArray<string>) => Processes.output("git", args, { cwd })
  const commit = yield* Effect.mapError(
    git("rev-parse", "--verify", `${where}^{commit}`),
    ({ message }) => Failure.make(`${where} is neither a file, nor a folder, nor a git commit:\n${message}`)
  )
  if ((yield* git("ls-tree", "--name-only", commit.trim(), "--", `./${path}`)) === "") {
    yield* Console.error(`${where} has no ${path}: all definitions are new`)
    return []
  }
  return yield* parse(yield* git("show", `${commit.trim()}:./${path}`), `${where}:${path}`)
})

/** All changes from some definitions to others. Paths start with the kind. Removing a definition breaks everything. */
export const changes = (
  before: ReadonlyArray<Definition>,
  after: ReadonlyArray<Definition>
): ReadonlyArray<CrdDiff.Change> =>
  before.flatMap((old) => {
    const { kind } = old.spec.names
    const now = after.find(({ metadata }) => metadata.name === old.metadata.name)
    return now === undefined
      ? [Change.change("kind-removed", kind, Change.both, `${old.metadata.name} is no longer declared`)]
      : CrdDiff.diff(old, now).map((change) => ({ ...change, path: `${kind} ${change.path}`.trimEnd() }))
  })
