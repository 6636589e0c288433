/**
 * `effect-operator init`: creates a new, working operator: a kind, its reconciler, a test in virtual time, manifests,
 * lint, container file and CI.
 *
 * Choices are flags; on a terminal, missing ones are prompted for. Nothing is overwritten: if any of the files exists,
 * none is written. Unless `--no-install` is given, the packages are then installed and the manifests written; if that
 * fails, the command fails, and the files stay.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Prompt from "effect/cli/Prompt"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stdio from "effect/Stdio"
import * as Path from "node:path"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import * as LockFile from "./LockFile.ts"
import * as Names from "./Names.ts"
import * as Processes from "./Processes.ts"
import * as Project from "./Project.ts"
import { quoted } from "./quoted.ts"
import * as Templates from "./Templates.ts"

export const defaults = { group: "example.com", version: "v1" } as const

/** The flag's value, the answer of a person at a terminal, or the default. */
const choose = Effect.fnUntraced(function*(given: Option.Option<string>, message: string, fallback: string) {
  if (Option.isSome(given)) return given.value
  const { stdinIsTerminal, stdoutIsTerminal } = yield* Stdio.Stdio
  return (yield* stdinIsTerminal) && (yield* stdoutIsTerminal)
    ? yield* Prompt.run(Prompt.String({ message, default: fallback }))
    : fallback
})

const completeLock = Effect.fnUntraced(function*(file: string) {
  const text = yield* Folder.read(file)
  if (text !== undefined) yield* Folder.put(file, LockFile.complete(text))
})

const install = (folder: string) =>
  Console.log("installing packages: npm install").pipe(
    Effect.andThen(
      Processes.output("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder })
    ),
    Effect.andThen(completeLock(Path.join(folder, "package-lock.json"))),
    Effect.andThen(Processes.output("npm", ["run", "manifests"], { cwd: folder })),
    Effect.andThen(Console.log("wrote the manifests to deploy/"))
  )

/** What to do if the packages could not be installed. */
const unfinished = (folder: string, { before, message }: { readonly before: boolean; readonly message: string }) => {
  const missing = /\b(E404|ETARGET)\b/.test(message) && message.includes("@effect-operator/")
  const remedy = missing
    ? "The registry does not have this framework: give a folder with its tarballs (made by `npm pack --workspaces`) " +
      "with --packages FOLDER."
    : `The files are kept. To continue: cd ${quoted(folder)} && npm install && npm run manifests`
  return `${message}\n${remedy}\nTo start over, remove ${before ? "the files that were created" : folder} first.`
}

const next = (folder: string, installed: boolean) =>
  Console.log([
    "",
    "Next:",
    `  cd ${quoted(folder)}`,
    ...(installed ? [] : ["  npm install && npm run manifests"]),
    "  npm test               # the operator in virtual time",
    "  npm start              # on an in-memory cluster, restarted on every change",
    "  npm start -- --once    # exits once the operator has nothing left to do"
  ].join("\n"))

const run = Effect.fnUntraced(function*(options: {
  readonly folder: string
  readonly kind: Option.Option<string>
  readonly group: Option.Option<string>
  readonly version: string
  readonly packages: Option.Option<string>
  readonly install: boolean
}) {
  const { folder } = options
  const name = yield* Names.project(Path.basename(Path.resolve(folder)))
  const kind = yield* Names.newKind({
    kind: yield* choose(options.kind, "Kind of the custom resource", Names.kindOf(name)),
    group: yield* choose(options.group, "API group, a domain that you own", defaults.group),
    version: options.version
  })
  const { dependencies, tarballs } = yield* Project.framework(Option.getOrUndefined(options.packages))
  const files = { ...Project.files(name, dependencies), ...yield* Templates.ofProject(name, kind), ...tarballs }
  const before = yield* Folder.exists(folder)
  const made = yield* Folder.create(folder, files, "Choose another folder, or remove those files")
  for (const file of made) yield* Console.log(`created ${Path.join(folder, file)}`)
  if (options.install) {
    yield* Effect.mapError(
      install(folder),
      ({ message }) => Failure.make(unfinished(folder, { before, message }))
    )
  }
  yield* next(folder, options.install)
})

/** The flags of a kind. */
export const kindFlags = {
  group: Flag.String("group").pipe(
    Flag.withDescription(`The API group, a domain that you own; ${defaults.group} by default`),
    Flag.optional
  ),
  version: Flag.String("api-version").pipe(
    Flag.withDescription("The first version of the API"),
    Flag.withDefault(defaults.version)
  )
}

export const command = Command.make("init", {
  folder: Argument.String("folder").pipe(
    Argument.withDescription("The folder of the project; also the name of the operator"),
    Argument.withMetavar("FOLDER")
  ),
  kind: Flag.String("kind").pipe(
    Flag.withDescription("The kind of the custom resource; derived from the folder by default: MySite from my-site"),
    Flag.optional
  ),
  ...kindFlags,
  packages: Flag.String("packages").pipe(
    Flag.withDescription(
      "Copy the packages @effect-operator/* from the tarballs in this folder instead of using the registry"
    ),
    Flag.withMetavar("FOLDER"),
    Flag.optional
  ),
  install: Flag.Boolean("install").pipe(
    Flag.withDescription("Install the packages and write the manifests (--no-install to skip both)"),
    Flag.withDefault(true)
  )
}, run).pipe(
  Command.withDescription(
    "Creates a new operator: a kind, its reconciler, a test, manifests, a container file and a CI workflow."
  ),
  Command.withShortDescription("Create a new operator"),
  Command.withExamples([
    { command: "effect-operator init demo" },
    { command: "effect-operator init sites --kind Website --group web.example.com" }
  ])
)
