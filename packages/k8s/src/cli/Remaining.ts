/** `Remaining`: the changes that the user makes by hand after `effect-operator add`, since that only creates files. */
import * as Description from "./Description.ts"
import type * as Names from "./Names.ts"
import * as Templates from "./Templates.ts"
import type * as Versions from "./Versions.ts"

/** Adds the hooks' server to a program that had none. */
export const serve = [
  "  const server = Webhook.layer(operator.webhooks, { name: operator.name, service: Manifests.webhookService(operator) })",
  "  Manager.layer(operator.controllers).pipe(Layer.provide(server), Layer.provide(LiveClient.layer), ..."
]

/** After adding a kind. */
export const afterKind = (kind: Names.Kind) => {
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

/** After adding the webhooks of a kind. */
export const afterWebhook = (kind: Names.Kind) => {
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
    ...serve,
    "",
    "then write the manifests: effect-operator manifests"
  ].join("\n")
}

/** After adding a version: the second, or a further one. */
export const afterVersion = (kind: string, { before, isFirst, made }: Versions.Made, storage: boolean) => {
  const folder = Templates.lower({ kind })
  const versions = `src/${folder}/versions.ts`
  const step = `to${made.name.slice(kind.length)}`
  const stored = storage
    ? `New objects are stored as ${made.version}; existing ones once they are migrated.`
    : `Objects are still stored as ${before.version}, so that you can go back to the previous program. When you no longer ` +
      `need to, set \`storage: ${made.name}\` in ${versions}, and migrate the objects.`
  return [
    "",
    ...(isFirst ?
      [
        `Add to ${Description.defaults.main}:`,
        "",
        "  import { LiveClient, Manifests, runMain, Webhook } from \"@effect-operator/k8s\"   // without `type`",
        `  import { conversion, ${kind}Versions } from "./${folder}/versions.ts"`,
        "",
        `  resources: [..., ${kind}Versions],   // instead of ${kind}`,
        "  webhooks: [..., conversion],   // in `operator`",
        "",
        ...serve
      ] :
      [
        `Add to ${versions}:`,
        "",
        `  import { ${made.name} } from "./${made.file}"`,
        "",
        `  const ${step} = CustomResourceVersions.between(${before.name}, ${made.name}, {`,
        "    up: ({ spec, status }) => ({ spec, status }),",
        "    down: ({ spec, status }) => ({ spec, status })",
        "  })",
        "",
        `  steps: [..., ${step}]`
      ]),
    "",
    `then change ${made.name} in src/${folder}/${made.file}, write the conversion in ${versions}, and write the ` +
    "manifests: effect-operator manifests",
    "",
    `The reconciler, the hooks and the tests keep using ${before.name}: every version is served. Change their imports to ` +
    `${made.name} when they need its fields.`,
    "",
    stored,
    "To migrate, once the new program runs, create src/migrate.ts and run `node src/migrate.ts` with an administrator's " +
    "kubeconfig:",
    "",
    "  import { LiveClient, runTask, StoredVersions } from \"@effect-operator/k8s\"",
    "  import { Effect } from \"effect\"",
    `  import { ${made.name} } from "./${folder}/${made.file}"`,
    "",
    `  StoredVersions.migrate(${made.name}).pipe(Effect.tap(Effect.log), Effect.provide(LiveClient.layer), runTask)`,
    "",
    `(To migrate as the operator instead, give it the permissions with \`migrates: [${made.name}]\` in \`operator\`.)`
  ].join("\n")
}
