/**
 * `effect-operator add`: adds files to an existing project.
 *
 * `add kind` creates the resource, reconciler, test and sample of another kind; `add webhook` a hook and its test for
 * an existing kind; `add version` another version of such a kind, with conversions both ways and a test that they lose
 * nothing. The commands only create files, none of which may exist, and change none: they print what has to be added
 * elsewhere.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "node:path"
import * as Description from "./Description.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import * as Init from "./Init.ts"
import * as Names from "./Names.ts"
import * as Remaining from "./Remaining.ts"
import * as Templates from "./Templates.ts"
import * as Versions from "./Versions.ts"

/** Creates files in the project, and prints what remains to be done. */
const add = Effect.fnUntraced(function*<E, R>(
  make: (top: string) => Effect.Effect<{ readonly files: Folder.Files; readonly remaining: string }, E, R>
) {
  const { main } = Description.defaults
  const top = yield* Folder.Top
  if (!(yield* Folder.exists(Path.join(top, main)))) {
    return yield* Failure.make(
      `there is no ${main} here: run this in the root folder of a project, or create one with \`effect-operator init\``
    )
  }
  const { files, remaining } = yield* make(top)
  const made = yield* Folder.create(top, files, "Remove it first, or choose another kind")
  for (const file of made) yield* Console.log(`created ${Path.join(top, file)}`)
  yield* Console.log(remaining)
})

const addKind = Effect.fnUntraced(function*(options: {
  readonly kind: string
  readonly group: Option.Option<string>
  readonly version: string
}) {
  const group = Option.getOrElse(options.group, () => Init.defaults.group)
  const kind = yield* Names.newKind({ kind: options.kind, group, version: options.version })
  const files = yield* Templates.ofKind(kind)
  yield* add(() => Effect.succeed({ files, remaining: Remaining.afterKind(kind) }))
})

const addWebhook = Effect.fnUntraced(function*(options: { readonly kind: string }) {
  const kind = yield* Names.kind({ kind: options.kind, ...Init.defaults })
  yield* add((top) =>
    Versions.declared(top, kind.kind).pipe(
      Effect.andThen(Templates.ofWebhook(kind)),
      Effect.map((files) => ({ files, remaining: Remaining.afterWebhook(kind) }))
    )
  )
})

const addVersion = Effect.fnUntraced(function*(options: {
  readonly kind: string
  readonly version: string
  readonly storage: boolean
}) {
  const { storage } = options
  const kind = yield* Names.kind({ ...Init.defaults, ...options })
  yield* add((top) =>
    Effect.map(Versions.next(top, kind, storage), (made) => ({
      files: made.files,
      remaining: Remaining.afterVersion(kind.kind, made, storage)
    }))
  )
})

const name = Argument.String("kind").pipe(
  Argument.withDescription("Its name, such as Website"),
  Argument.withMetavar("KIND")
)

const kind = Command.make("kind", {
  kind: name,
  ...Init.kindFlags
}, addKind).pipe(
  Command.withDescription(
    "Creates the resource, reconciler, test and sample of another kind, and prints what to add to the existing sources."
  ),
  Command.withShortDescription("Add a kind and its controller"),
  Command.withExamples([{ command: "effect-operator add kind Shop --group shops.example.com --api-version v1alpha1" }])
)

const webhook = Command.make("webhook", { kind: name }, addWebhook).pipe(
  Command.withDescription(
    "Creates a validating webhook of an existing kind and its test, and prints what to add to the existing sources."
  ),
  Command.withShortDescription("Add a webhook to a kind"),
  Command.withExamples([{ command: "effect-operator add webhook Website" }])
)

const version = Command.make("version", {
  kind: name,
  version: Argument.String("version").pipe(
    Argument.withDescription("Its name, such as v2 or v1beta1; must be newer than the existing versions"),
    Argument.withMetavar("VERSION")
  ),
  storage: Flag.Boolean("storage").pipe(
    Flag.withDescription("Store objects in this version from now on; by default the stored version stays the same"),
    Flag.withDefault(false)
  )
}, addVersion).pipe(
  Command.withDescription(
    "Creates another version of an existing kind: a copy of the newest one, the conversion to it and back, and a test " +
      "that the conversion loses nothing. Prints what to add to the existing sources."
  ),
  Command.withShortDescription("Add a version to a kind"),
  Command.withExamples([
    { command: "effect-operator add version Website v2" },
    { command: "effect-operator add version Website v2 --storage", description: "New objects are stored as v2" }
  ])
)

export const command = Command.make("add").pipe(
  Command.withDescription("Adds to the operator in this folder. Existing files are not overwritten."),
  Command.withShortDescription("Add a kind, a webhook or a version to an operator"),
  Command.withSubcommands([kind, webhook, version])
)
