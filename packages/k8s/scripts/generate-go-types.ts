/**
 * Writes the fields of the Go types of the built-in kinds, and what they do with zero values, into
 * `packages/k8s/src/kinds/goTypes.ts`, and what
 * the types of their fields are called into `packages/k8s/src/kinds/goNames.ts`:
 *
 *     node --conditions=op-source packages/k8s/scripts/generate-go-types.ts API APIMACHINERY APIEXTENSIONS AGGREGATOR
 *
 * The arguments are directories with the Go sources of k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver
 * and k8s.io/kube-aggregator of the release of `kinds/definitions.ts`. Taken from them is only in which order fields are,
 * which are pointers, which are not left out of JSON when they are empty, and which types have names that JSON does not
 * tell.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { definitions } from "../src/kinds/definitions.ts"
import { goType } from "../src/schema/GoFault.ts"

const [api, machinery, extensions, aggregator] = process.argv.slice(2)
if (api === undefined || machinery === undefined || extensions === undefined || aggregator === undefined) {
  throw new Error("usage: generate-go-types.ts API APIMACHINERY APIEXTENSIONS AGGREGATOR (directories with Go sources)")
}

interface Struct {
  /** As they stand in the table, and the types that are inlined between them. */
  readonly fields: Array<string | { readonly inlined: string }>
  /** The Go type of every field, as faults of the decoder write it. */
  readonly types: Map<string, string>
}

const structs = new Map<string, Struct>()

const field = /^\s+(?:(\w+)\s+)?(\S+)\s+`.*?json:"([^"]*)"/

const imported = /^\s+(?:import )?(?:(\w+) )?"([\w./-]+)"$/gm

/** What a package is called in the types of another: by the end of its path, whatever the file calls it. */
const packagesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(Array.from(text.matchAll(imported), ([, alias, path]) => {
    const name = path!.slice(path!.lastIndexOf("/") + 1)
    return [alias ?? name, name]
  }))

const plain = /^(?:bool|string|byte|u?int(?:8|16|32|64)?|float(?:32|64)|interface\{\}|any)$/

const written: Readonly<Record<string, string>> = { byte: "uint8", any: "interface {}", "interface{}": "interface {}" }

/** A type as Go's `reflect` writes it. */
const reflected = (type: string, own: string, packages: ReadonlyMap<string, string>): string => {
  const [, list, key, value] = /^(?:\[\](.+)|map\[(.+?)\](.+))$/.exec(type) ?? []
  if (list !== undefined) return `[]${reflected(list, own, packages)}`
  if (value !== undefined) return `map[${reflected(key!, own, packages)}]${reflected(value, own, packages)}`
  if (type.startsWith("*")) return `*${reflected(type.slice(1), own, packages)}`
  if (plain.test(type)) return written[type] ?? type
  const [name, foreign] = type.split(".").toReversed()
  return `${foreign === undefined ? own : packages.get(foreign) ?? foreign}.${name}`
}

const readFile = (prefix: string, text: string): void => {
  const own = prefix.slice(prefix.lastIndexOf(".") + 1)
  const packages = packagesOf(text)
  for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
    const struct: Struct = { fields: [], types: new Map() }
    for (const line of body!.split("\n")) {
      const match = field.exec(line)
      if (match === null) continue
      const [, , type = "", json = ""] = match
      const [key = "", ...options] = json.split(",")
      struct.types.set(key, reflected(type.replace(/^\*/, ""), own, packages))
      if (key === "") struct.fields.push({ inlined: `${prefix}.${type}` })
      else if (type.startsWith("*") || options.includes("omitzero")) struct.fields.push(`*${key}`)
      else if (key !== "-") struct.fields.push(options.includes("omitempty") ? key : `!${key}`)
    }
    structs.set(`${prefix}.${name}`, struct)
  }
}

const readTree = (root: string, prefix: string): void => {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".go") || entry.name.includes("generated")) continue
    const path = relative(root, entry.parentPath).split(sep).join(".")
    readFile(path === "" ? prefix : `${prefix}.${path}`, readFileSync(join(entry.parentPath, entry.name), "utf8"))
  }
}

readTree(api, "io.k8s.api")
readTree(machinery, "io.k8s.apimachinery")
readTree(extensions, "io.k8s.apiextensions-apiserver")
readTree(aggregator, "io.k8s.kube-aggregator")

/** What stands before the fields of every object. */
const typeMeta = ["*kind", "*apiVersion"]

const fields = (name: string): ReadonlyArray<string> =>
  name.endsWith(".metav1.TypeMeta")
    ? typeMeta
    : structs.get(name)?.fields.flatMap((field) => typeof field === "string" ? [field] : fields(field.inlined)) ?? []

/** What the OpenAPI document has and these sources do not is taken for a pointer. */
const missing = (name: string): ReadonlyArray<string> => {
  const known = new Set(fields(name).map((field) => field.replace(/^[!*]/, "")))
  return Object.keys(definitions[name]?.properties ?? {}).filter((field) => !known.has(field)).map((field) =>
    `*${field}`
  )
}

const lines = Object.keys(definitions).filter((name) => structs.has(name)).sort().map((name) =>
  [name, ...fields(name), ...missing(name)].join(" ")
)
writeFileSync(
  new URL("../src/kinds/goTypes.ts", import.meta.url),
  `// Generated by scripts/generate-go-types.ts from the struct tags of k8s.io/api and its companions.

/**
 * The fields of every type in the order of its struct, one type a line. An empty scalar, list or map is left out, a
 * struct is not. \`*name\` is a pointer: whatever is there is told, and what is not is not. \`!name\` is told even if it is
 * empty.
 */
export const table = \`
${lines.join("\n")}
\`
`
)

const types = (name: string): ReadonlyMap<string, string> => {
  const struct = structs.get(name)
  return new Map(
    struct === undefined ? [] : [
      ...struct.fields.flatMap((field) => typeof field === "string" ? [] : [...types(field.inlined)]),
      ...struct.types
    ]
  )
}

const names = Object.entries(definitions).sort(([a], [b]) => a < b ? -1 : 1).flatMap(([name, definition]) => {
  const known = types(name)
  const named = Object.entries(definition.properties ?? {}).flatMap(([key, schema]) => {
    const type = known.get(key)
    return type === undefined || schema.ref !== undefined || schema.format === "int-or-string" ||
        type === goType(schema)
      ? []
      : [`${key}=${type.replaceAll("interface {}", "interface{}")}`]
  })
  return named.length === 0 ? [] : [[name, ...named].join(" ")]
})
writeFileSync(
  new URL("../src/kinds/goNames.ts", import.meta.url),
  `// Generated by scripts/generate-go-types.ts from the struct fields of k8s.io/api and its companions.

/** The fields of every type whose Go type has a name that their schema does not tell, one type a line. */
export const table = \`
${names.join("\n")}
\`
`
)
