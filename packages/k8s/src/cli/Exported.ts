/**
 * `Exported`: the description in a module's exports, or what is wrong with them. The counterpart of `Description` in
 * the process that imports the module.
 */
import { versionsOf } from "@effect-operator/core/CustomResourceVersions"
import * as Result from "effect/Result"
import type * as Crd from "../Crd.ts"
import * as Manifests from "../Manifests.ts"
import type { Manifest } from "../manifests/Manifest.ts"
import type { Description, Kind } from "./Description.ts"

const lists = ["resources", "controllers", "writes"] as const
const texts = ["name", "namespace", "image"] as const

const sample = `export const operator = {
    name: "demo", namespace: "demo-system", image: "demo:0.1.0",
    resources: [Demo], controllers: [controller], writes: []
  } satisfies Manifests.Options`

/** What is wrong with the exports; undefined if they contain a description. */
const fault = (exports: Readonly<Record<string, unknown>>): string | undefined => {
  const { operator } = exports
  if (operator === undefined) {
    const names = Object.keys(exports)
    return `exports no \`operator\`${names.length === 0 ? "" : ` (only ${names.join(", ")})`}; add\n  ${sample}`
  }
  if (typeof operator !== "object" || operator === null) return `\`operator\` is not an object; write\n  ${sample}`
  const fields = operator as Readonly<Record<string, unknown>>
  const text = texts.find((name) => typeof fields[name] !== "string" || fields[name] === "")
  if (text !== undefined) return `\`operator.${text}\` is ${shown(fields[text])}: must be a non-empty string`
  const list = lists.find((name) => !Array.isArray(fields[name]))
  if (list !== undefined) return `\`operator.${list}\` is ${shown(fields[list])}: must be an array, which may be empty`
  const { env = {} } = fields
  if (typeof env !== "object" || env === null || Array.isArray(env)) {
    return `\`operator.env\` is ${shown(env)}: must be an object of strings, such as { SIZE: "3" }`
  }
  const variable = Object.entries(env).find(([, value]) => typeof value !== "string")
  if (variable !== undefined) return `\`operator.env.${variable[0]}\` is ${shown(variable[1])}: must be a string`
  return undefined
}

const shown = (value: unknown): string => value === undefined ? "missing" : JSON.stringify(value) ?? String(value)

const kinds = ({ apiService, resources }: Manifests.Options): ReadonlyArray<Kind> =>
  [
    ...resources.flatMap(versionsOf),
    ...apiService?.kinds.map(({ resource }) => resource) ?? []
  ].map(({ group, kind, plural, scope, version }) => ({ group, version, kind, plural, scope }))

/** The description in a module's exports, or what is wrong with them. */
export const of = (exports: Readonly<Record<string, unknown>>): Result.Result<Description, string> => {
  const wrong = fault(exports)
  if (wrong !== undefined) return Result.fail(wrong)
  const operator = exports["operator"] as Manifests.Options
  return Result.try({
    try: () => ({
      name: operator.name,
      namespace: operator.namespace,
      env: operator.env ?? {},
      kinds: kinds(operator),
      definitions: Manifests.definitions(operator) as ReadonlyArray<Crd.Manifest & Manifest>,
      rbac: Manifests.rbac(operator),
      webhooks: Manifests.webhooks(operator),
      files: Object.fromEntries(
        Object.entries(Manifests.files(operator)).map(([name, manifests]) => [name, Manifests.format(manifests)])
      )
    }),
    catch: (error) => error instanceof Error ? error.message : String(error)
  })
}
