/**
 * `effect-operator add`: more of the same in a project that is there.
 *
 * `add kind` makes the resource, reconciler, test and sample of another kind, `add webhook` a hook and its test for a kind
 * that is there. They make files, none of which may be there, and change none: what is to be added to `src/main.ts` is
 * printed.
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

/** What remains to be done by hand for a kind. */
const afterKind = (kind: Names.Kind) => {
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

/** What remains to be done by hand for its webhooks. */
const afterWebhook = (kind: Names.Kind) => {
  const lower = Templates.lower(kind)
  return [
    "",
    `Add to ${Description.defaults.main}:`,
    "",
    "  import { LiveClient, Manifests, runMain, Webhook } from \"@effect-operator/k8s\"   // without `type`",
    `  import { webhooks } from "./${lower}/webhook.ts"`,
    "",
    "  webhooks,   // in `operator`",
    "",
    "  const server = Webhook.layer(webhooks, { name: operator.name, service: Manifests.webhookService(operator) })",
    "  Manager.layer(operator.controllers).pipe(Layer.provide(server), Layer.provide(LiveClient.layer), ...",
    "",
    "then write the manifests: effect-operator manifests"
  ].join("\n")
}

/** Makes files in the project, and says what remains. */
const add = Effect.fnUntraced(function*<E, R>(
  files: (top: string) => Effect.Effect<Folder.Files, E, R>,
  remaining: string
) {
  const { main } = Description.defaults
  const top = yield* Folder.Top
  if (!(yield* Folder.exists(Path.join(top, main)))) {
    return yield* Failure.make(`there is no ${main} here: run this at the top of a project, or make one with init`)
  }
  const made = yield* Folder.create(top, yield* files(top), "Remove it first, or name another kind")
  for (const file of made) yield* Console.log(`created ${Path.join(top, file)}`)
  yield* Console.log(remaining)
})

const addKind = Effect.fnUntraced(function*(options: {
  readonly kind: string
  readonly group: Option.Option<string>
  readonly version: string
}) {
  const group = Option.getOrElse(options.group, () => Init.defaults.group)
  const kind = yield* Names.kind({ kind: options.kind, group, version: options.version })
  yield* add(() => Templates.ofKind(kind), afterKind(kind))
})

const addWebhook = Effect.fnUntraced(function*(options: { readonly kind: string }) {
  const kind = yield* Names.kind({ kind: options.kind, ...Init.defaults })
  const resource = `src/${Templates.lower(kind)}/resource.ts`
  const files = Effect.fnUntraced(function*(top: string) {
    if (!(yield* Folder.exists(Path.join(top, resource)))) {
      return yield* Failure.make(`there is no ${resource} here: make it with \`effect-operator add kind ${kind.kind}\``)
    }
    return yield* Templates.ofWebhook(kind)
  })
  yield* add(files, afterWebhook(kind))
})

const name = Argument.String("kind").pipe(
  Argument.withDescription("Its name, such as Website"),
  Argument.withMetavar("KIND")
)

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

const webhook = Command.make("webhook", { kind: name }, addWebhook).pipe(
  Command.withDescription(
    "Makes a validating webhook of a kind that is there, and its test, and says what to add where."
  ),
  Command.withShortDescription("Add a webhook to a kind"),
  Command.withExamples([{ command: "effect-operator add webhook Website" }])
)

export const command = Command.make("add").pipe(
  Command.withDescription("Adds to the operator in this folder; files that are there are not changed."),
  Command.withShortDescription("Add a kind or a webhook to an operator"),
  Command.withSubcommands([kind, webhook])
)
