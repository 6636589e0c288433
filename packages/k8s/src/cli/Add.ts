/**
 * `effect-operator add`: more of the same in a project that is there.
 *
 * `add kind` makes the resource, reconciler, test and sample of another kind. It makes files, none of which may be there,
 * and changes none: what is to be added to `src/main.ts` is printed.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "node:path"
import * as Description from "./Description.ts"
import * as Failure from "./Failure.ts"
import * as Folder from "./Folder.ts"
import * as Init from "./Init.ts"
import * as Names from "./Names.ts"
import * as Templates from "./Templates.ts"

/** What remains to be done by hand. */
const remaining = (kind: Names.Kind) => {
  const lower = Templates.lower(kind)
  return [
    "",
    `Add to ${Description.defaults.main}:`,
    "",
    `  import { controller as ${lower} } from "./${lower}/reconciler.ts"`,
    `  import { ${kind.kind} } from "./${lower}/resource.ts"`,
    "",
    `  resources: [..., ${kind.kind}],`,
    `  controllers: [..., ${lower}],`,
    "  writes: [..., { resource: Deployment, verbs: [\"create\", \"patch\", \"delete\"] }]   // what the reconciler writes",
    "",
    "then write the manifests: effect-operator manifests"
  ].join("\n")
}

const addKind = Effect.fnUntraced(function*(options: {
  readonly kind: string
  readonly group: Option.Option<string>
  readonly version: string
}) {
  const { main } = Description.defaults
  const top = yield* Folder.Top
  if (!(yield* Folder.exists(Path.join(top, main)))) {
    return yield* Failure.make(`there is no ${main} here: run this at the top of a project, or make one with init`)
  }
  const group = Option.getOrElse(options.group, () => Init.defaults.group)
  const kind = yield* Names.kind({ kind: options.kind, group, version: options.version })
  const made = yield* Folder.create(top, yield* Templates.ofKind(kind), "Remove it first, or name another kind")
  for (const file of made) yield* Console.log(`created ${Path.join(top, file)}`)
  yield* Console.log(remaining(kind))
})

const kind = Command.make("kind", {
  kind: Argument.String("kind").pipe(
    Argument.withDescription("Its name, such as Website"),
    Argument.withMetavar("KIND")
  ),
  ...Init.kindFlags
}, addKind).pipe(
  Command.withDescription(
    "Makes the resource, reconciler, test and sample of another kind, and says what to add where."
  ),
  Command.withShortDescription("Add a kind and its controller"),
  Command.withExamples([{ command: "effect-operator add kind Cache --group data.example.com --api-version v1alpha1" }])
)

export const command = Command.make("add").pipe(
  Command.withDescription("Adds to the operator in this folder; files that are there are not changed."),
  Command.withShortDescription("Add a kind to an operator"),
  Command.withSubcommands([kind])
)
