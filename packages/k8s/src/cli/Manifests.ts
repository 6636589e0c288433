/**
 * `effect-operator manifests`: writes the manifests of a program, prints them, or checks that they are up to date.
 *
 * The same program gives the same files, byte for byte. When a changed definition is written, the command reports what
 * the change means for stored objects and for clients. A file that the program no longer has is removed, and objects that
 * are no longer in the manifests are named, because no `kubectl apply` deletes them: a hook that nobody serves any more
 * would refuse every write.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "node:path"
import * as CrdDiff from "../CrdDiff.ts"
import { fileNames } from "../manifests/fileNames.ts"
import * as Definitions from "./Definitions.ts"
import * as Description from "./Description.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"

export const defaults = {
  /** The default folder of a project's manifests. */
  folder: "deploy"
} as const

/** The module that exports `operator`. */
export const main = Argument.String("main").pipe(
  Argument.withDescription("The module that exports `operator`"),
  Argument.withMetavar("MODULE"),
  Argument.withDefault(Description.defaults.main)
)

export const folder = Flag.String("out").pipe(
  Flag.withDescription("The folder of the manifests"),
  Flag.withMetavar("FOLDER"),
  Flag.withDefault(defaults.folder)
)

const kustomization = "kustomization.yaml"

/** The documents of a file, which somebody may have edited, or a merge left in conflict: then it has none. */
const documents = (text: string, file: string) =>
  Effect.map(
    Effect.orElseSucceed(Definitions.documents(text, file), () => []),
    (all) => all.filter((value): value is object => typeof value === "object" && value !== null)
  )

/** The files that this program has written before, and what is in them. */
const written = Effect.fnUntraced(function*(folder: string) {
  const text = yield* Folder.read(Path.join(folder, kustomization))
  if (text === undefined) return {}
  const found: Record<string, string> = {}
  for (const { resources } of (yield* documents(text, kustomization)) as ReadonlyArray<Kustomization>) {
    for (const name of Array.isArray(resources) ? resources as ReadonlyArray<unknown> : []) {
      // Somebody may have added other files or folders.
      const own = fileNames.find((own) => own === name)
      const content = own === undefined ? undefined : yield* Folder.read(Path.join(folder, own))
      if (own !== undefined && content !== undefined) found[own] = content
    }
  }
  return found
})

interface Kustomization {
  readonly resources?: unknown
}

/** The files in the folder that the program no longer has. */
const leftOver = (files: Folder.Files, folder: string) =>
  Effect.map(written(folder), (before) => Object.keys(before).filter((name) => !(name in files)))

/** The files that are out of date. */
export const outdated = Effect.fnUntraced(function*(files: Folder.Files, folder: string) {
  const names = [...Object.keys(files), ...yield* leftOver(files, folder)]
  const stale = yield* Effect.filter(
    names,
    (name) => Effect.map(Folder.read(Path.join(folder, name)), (text) => text !== files[name])
  )
  return stale.map((name) => Path.join(folder, name))
})

/** Fails with the names of the files, unless there are none. */
export const refuse = (files: ReadonlyArray<string>) =>
  files.length === 0
    ? Effect.void
    : Effect.fail(Failure.make(
      `out of date: ${files.join(", ")}. Write them with \`effect-operator manifests\` and commit them`
    ))

/** Fails if a file is out of date. */
export const check = (files: Folder.Files, folder: string) => Effect.flatMap(outdated(files, folder), refuse)

interface Written {
  readonly kind?: string
  readonly metadata?: { readonly name?: string; readonly namespace?: string }
}

/** All objects in files, by the words by which kubectl finds them. */
const objectsIn = Effect.fnUntraced(function*(files: Folder.Files) {
  const all = new Map<string, Written>()
  for (const [file, text] of Object.entries(files)) {
    if (file === kustomization) continue
    for (const object of (yield* documents(text, file)) as ReadonlyArray<Written>) {
      const { kind, metadata: { name, namespace } = {} } = object
      if (typeof kind !== "string" || name === undefined) continue
      all.set([kind.toLowerCase(), name, ...namespace === undefined ? [] : ["-n", namespace]].join(" "), object)
    }
  }
  return all
})

/** What stays in clusters: definitions and namespaces are not named, since with them everything in them would go. */
const stays = Effect.fnUntraced(function*(before: Folder.Files, after: Folder.Files) {
  const kept = yield* objectsIn(after)
  return [...yield* objectsIn(before)].flatMap(([words, { kind }]) =>
    kept.has(words) || kind === "CustomResourceDefinition" || kind === "Namespace" ? [] : [words]
  )
})

const write = Effect.fnUntraced(function*(description: Description.Description, folder: string) {
  const files = yield* FileSystem.FileSystem
  const earlier = yield* written(folder)
  const gone = yield* leftOver(description.files, folder)
  const before = yield* Effect.catch(
    Definitions.inFile(Path.join(folder, Definitions.fileName)),
    ({ message }) => Effect.as(Console.error(`changes of definitions are not reported: ${message}`), [])
  )
  const changes = before.length === 0 ? [] : Definitions.changes(before, description.definitions)
  for (const [name, text] of Object.entries(description.files)) {
    const file = Path.join(folder, name)
    yield* Console.log(`${(yield* Folder.put(file, text)).padEnd(9)} ${file}`)
  }
  for (const name of gone) {
    const file = Path.join(folder, name)
    yield* Effect.mapError(files.remove(file), Failure.ofFile("remove", file))
    yield* Console.log(`${"removed".padEnd(9)} ${file}`)
  }
  const rest = yield* stays(earlier, description.files)
  if (rest.length > 0) {
    yield* Console.error(
      ["No longer in the manifests, but still in every cluster that has them; delete them there:"]
        .concat(rest.map((words) => `  kubectl delete ${words}`)).join("\n")
    )
  }
  for (const line of CrdDiff.format(changes)) yield* Console.error(line)
  if (CrdDiff.breaking(changes).length > 0) {
    yield* Console.error(
      "Some of these changes break stored objects or clients: `effect-operator check --against` in CI refuses them."
    )
  }
})

const run = Effect.fnUntraced(function*(options: {
  readonly main: string
  readonly out: string
  readonly check: boolean
  readonly stdout: boolean
}) {
  const description = yield* Description.require(options.main)
  if (options.check) return yield* check(description.files, options.out)
  if (!options.stdout) return yield* write(description, options.out)
  // A kustomization refers to files, so it has no place in a single stream.
  const applied = Object.entries(description.files).filter(([name]) => name !== "kustomization.yaml")
  yield* Console.log(applied.map(([, text]) => text).join("---\n").trimEnd())
})

export const command = Command.make("manifests", {
  main,
  out: folder,
  check: Flag.Boolean("check").pipe(
    Flag.withDescription("Write nothing, and fail if a file is out of date"),
    Flag.withDefault(false)
  ),
  stdout: Flag.Boolean("stdout").pipe(
    Flag.withDescription("Print one YAML stream for `kubectl apply -f -` instead of writing files"),
    Flag.withDefault(false)
  )
}, run).pipe(
  Command.withDescription(
    "Writes the manifests of the operator: CRDs, permissions, Deployment, Services, network policy, webhook configurations."
  ),
  Command.withShortDescription("Write the manifests that deploy the operator"),
  Command.withExamples([
    { command: "effect-operator manifests", description: "From src/main.ts to deploy/" },
    { command: "effect-operator manifests --check", description: "In CI: fails if deploy/ is out of date" },
    { command: "effect-operator manifests --stdout | kubectl apply -f -" }
  ])
)
