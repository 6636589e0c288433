/**
 * Generates four tables in `packages/k8s/src/kinds` about the Go types of built-in kinds: `goTypes.ts` with their
 * fields and the encoding of zero values, `goNames.ts` with the type names of fields, `goMarkers.ts` with what comments
 * contribute to the OpenAPI document, and `goKinds.ts` with the kinds that are known in each version, served or not:
 *
 *     node --conditions=op-source packages/k8s/scripts/generate-go-types.ts API APIMACHINERY APIEXTENSIONS AGGREGATOR
 *
 * The arguments are directories with the Go sources of k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver
 * and k8s.io/kube-aggregator of the same release as `kinds/definitions.ts`. Only these facts are taken from them: the
 * order of fields, which are pointers, which are not omitted from JSON when empty, type names that JSON does not show,
 * which fields are required, and which are enums.
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
  /** The fields as in the table, and the types that are inlined between them. */
  readonly fields: Array<string | { readonly inlined: string }>
  /** The Go type of every field, as the decoder's errors print it. */
  readonly types: Map<string, string>
  readonly required: Set<string>
  /** The enum type of each field that has one. */
  readonly words: Map<string, string>
}

const structs = new Map<string, Struct>()

const field = /^\s+(?:(\w+)\s+)?(\S+)\s+`.*?json:"([^"]*)"/

const imported = /^\s+(?:import )?(?:(\w+) )?"([\w./-]+)"$/gm

/** The name of each imported package in type names: the end of its path, whatever alias the file uses. */
const packagesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(Array.from(text.matchAll(imported), ([, alias, path]) => {
    const name = path!.slice(path!.lastIndexOf("/") + 1)
    return [alias ?? name, name]
  }))

/** The path of each imported package, as in the OpenAPI document. */
const placesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(Array.from(text.matchAll(imported), ([, alias, path]) => [
    alias ?? path!.slice(path!.lastIndexOf("/") + 1),
    path!.replace(/^k8s\.io/, "io.k8s").replaceAll("/", ".")
  ]))

/** The values of each enum type. */
const words = new Map<string, Set<string>>()

const readWords = (prefix: string, text: string): void => {
  for (const [, comment, name] of text.matchAll(/((?:^\/\/.*\n)+)type (\w+) string(?: .*)?$/gm)) {
    if (/^\/\/ \+enum$/m.test(comment!)) words.set(`${prefix}.${name}`, words.get(`${prefix}.${name}`) ?? new Set())
  }
}

const constants = new Map<string, string>()

const readConstants = (prefix: string, text: string): void => {
  for (const [, name, type, word] of text.matchAll(/^(?:const|\s+)\s*(\w+)\s+(\w+)\s+=\s+"([^"]*)"/gm)) {
    constants.set(name!, word!)
    words.get(`${prefix}.${type}`)?.add(word!)
  }
  for (
    const [, type, word, other] of text.matchAll(/^(?:const|\s+)\s*\w+\s+=\s+(\w+)\((?:"([^"]*)"|(?:\w+\.)?(\w+))\)/gm)
  ) {
    words.get(`${prefix}.${type}`)?.add(word ?? constants.get(other!)!)
  }
}

const plain = /^(?:bool|string|byte|u?int(?:8|16|32|64)?|float(?:32|64)|interface\{\}|any)$/

const written: Readonly<Record<string, string>> = { byte: "uint8", any: "interface {}", "interface{}": "interface {}" }

/** A type as Go's `reflect` prints it. */
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
  const places = placesOf(text)
  for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n(.*?)^\}/gms)) {
    const struct: Struct = { fields: [], types: new Map(), required: new Set(), words: new Map() }
    let [isOptional, isRequired] = [false, false]
    for (const line of body!.split("\n")) {
      if (/^\s*\/\/ ?\+optional\b/.test(line)) isOptional = true
      if (/^\s*\/\/ ?\+required\b/.test(line)) isRequired = true
      const match = field.exec(line)
      if (match === null) continue
      const [, , type = "", json = ""] = match
      const [key = "", ...options] = json.split(",")
      struct.types.set(key, reflected(type.replace(/^\*/, ""), own, packages))
      const [named, foreign] = type.replace(/^(?:\*|\[\]|map\[.*?\])+/, "").split(".").toReversed()
      struct.words.set(key, `${foreign === undefined ? prefix : places.get(foreign) ?? foreign}.${named}`)
      const isLeftOut = options.includes("omitempty") || options.includes("omitzero")
      if (isRequired || (!isOptional && !isLeftOut)) struct.required.add(key)
      isOptional = isRequired = false
      if (key === "") struct.fields.push({ inlined: `${prefix}.${type}` })
      else if (type.startsWith("*") || options.includes("omitzero")) struct.fields.push(`*${key}`)
      else if (key !== "-") struct.fields.push(options.includes("omitempty") ? key : `!${key}`)
    }
    structs.set(`${prefix}.${name}`, struct)
  }
}

const readTree = (root: string, prefix: string, read: (prefix: string, text: string) => void): void => {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".go") || entry.name.includes("generated")) continue
    const path = relative(root, entry.parentPath).split(sep).join(".")
    read(path === "" ? prefix : `${prefix}.${path}`, readFileSync(join(entry.parentPath, entry.name), "utf8"))
  }
}

for (const read of [readFile, readWords, readConstants]) {
  readTree(api, "io.k8s.api", read)
  readTree(machinery, "io.k8s.apimachinery", read)
  readTree(extensions, "io.k8s.apiextensions-apiserver", read)
  readTree(aggregator, "io.k8s.kube-aggregator", read)
}

/** The fields that come first in every object. */
const typeMeta = ["*kind", "*apiVersion"]

const fields = (name: string): ReadonlyArray<string> =>
  name.endsWith(".metav1.TypeMeta")
    ? typeMeta
    : structs.get(name)?.fields.flatMap((field) => typeof field === "string" ? [field] : fields(field.inlined)) ?? []

/** A field in the OpenAPI document but not in these sources is treated as a pointer. */
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

const own = (name: string, of: (struct: Struct) => Iterable<string>): ReadonlyArray<string> => {
  const struct = structs.get(name)
  return struct === undefined ? [] : [
    ...struct.fields.flatMap((field) => typeof field === "string" ? [] : own(field.inlined, of)),
    ...of(struct)
  ]
}

const markers = Object.entries(definitions).sort(([a], [b]) => a < b ? -1 : 1).flatMap(
  ([name, { properties = {} }]) => {
    if (!structs.has(name)) return []
    const required = new Set(own(name, (struct) => struct.required))
    const wordsOf = new Map(
      own(name, (struct) => Array.from(struct.words, (entry) => entry.join(" "))).map((entry) =>
        entry.split(" ") as [string, string]
      )
    )
    const marked = fields(name).map((field) => field.replace(/^[!*]/, "")).flatMap((field) => {
      if (properties[field] === undefined) return []
      const one = [...words.get(wordsOf.get(field) ?? "") ?? []].sort()
      const isRequired = required.has(field)
      return isRequired || one.length > 0
        ? [(isRequired ? "!" : "") + field + (one.length > 0 ? `=${one.join("|")}` : "")]
        : []
    })
    return marked.length === 0 ? [] : [[name, ...marked].join("\t")]
  }
)
writeFileSync(
  new URL("../src/kinds/goMarkers.ts", import.meta.url),
  `// Generated by scripts/generate-go-types.ts from the comments of k8s.io/api and its companions.

/**
 * The fields of every type that the OpenAPI document tells more of than their type, in the order of its struct, one type
 * a line: \`!name\` is required, \`name=a|b\`, or each of its elements, is one of some words.
 */
export const table = \`
${markers.join("\n")}
\`
`
)

/** The kinds that are registered for each group version. */
const registered = new Map<string, ReadonlySet<string>>()

const readRegister = (root: string): void => {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (entry.name !== "register.go") continue
    const text = readFileSync(join(entry.parentPath, entry.name), "utf8")
    const version = entry.parentPath.split(sep).at(-1)!
    const group = /^const GroupName = "(.*)"$/m.exec(text)?.[1]
    if (group === undefined || !/^v\d/.test(version)) continue
    const known = Array.from(
      text.matchAll(/AddKnownTypes\(SchemeGroupVersion,(.*?)\)/gs),
      ([, types]) => Array.from(types!.matchAll(/&(\w+)\{\}/g), ([, kind]) => kind!)
    ).flat()
    registered.set(group === "" ? version : `${group}/${version}`, new Set(known))
  }
}

readRegister(api)
readRegister(extensions)
readRegister(aggregator)

writeFileSync(
  new URL("../src/kinds/goKinds.ts", import.meta.url),
  `// Generated by scripts/generate-go-types.ts from the registers of k8s.io/api and its companions.

/** The kinds that are known of a group in a version, served or not, one version a line. */
export const table = \`
${
    [...registered].sort(([a], [b]) => a < b ? -1 : 1).map(([version, kinds]) =>
      [version, ...[...kinds].sort()].join(" ")
    ).join("\n")
  }
\`
`
)
