/**
 * `crdToSchema`: generates the TypeScript source that declares the kind of an existing CustomResourceDefinition, so
 * that foreign kinds are read, watched and written with types.
 *
 * Every served version becomes a `CustomResource`, named after the kind, followed by the version if there are several
 * (`CertificateV1`). The source compiles under `strict`, and decodes objects that the definition's server has stored.
 * It is generated once; from then on it is yours to read, change and keep.
 *
 * Comments in the source name everything that a `CustomResource` has no place for: fields beside spec and status,
 * columns of these or of no field at all, and a status that is written with the object.
 */
import type { Manifest } from "./Crd.ts"
import * as FieldPaths from "./crd/FieldPaths.ts"
import { expression, indent } from "./crd/SchemaSource.ts"
import type { JSONSchemaProps } from "./kinds/apiextensions.v1.ts"

type Spec = Manifest["spec"]
type Version = Spec["versions"][number]

/** The source text of the module. */
export const crdToSchema = (crd: { readonly spec: Spec }): string => {
  const served = crd.spec.versions.filter(({ served }) => served)
  const body = served.map((version) => declaration(crd.spec, version, nameOf(crd.spec, version, served.length)))
    .join("\n\n")
  const core = ["CelRule", "CustomResource", "KubeSchema"].filter((name) => body.includes(`${name}.`))
  return [
    `/** ${crd.spec.names.plural}.${crd.spec.group}, made from its definition. */`,
    `import { ${core.join(", ")} } from "@effect-operator/core"`,
    ...(body.includes("Effect.succeed") ? ["import * as Effect from \"effect/Effect\""] : []),
    "import * as Schema from \"effect/Schema\"",
    "",
    body,
    ""
  ].join("\n")
}

const capitalised = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

/** `Certificate`, or `CertificateV1` if there are several versions. A lower-case kind is capitalised, as types are. */
const nameOf = ({ names }: Spec, { name }: Version, count: number): string => {
  const kind = names.kind.split("-").map(capitalised).join("")
  return count === 1 ? kind : `${kind}${capitalised(name)}`
}

type Columns = NonNullable<Version["additionalPrinterColumns"]>

/** The columns that show fields of the declaration. */
const columnsOf = ({ additionalPrinterColumns = [], schema }: Version): Columns => {
  const { spec = { "x-kubernetes-preserve-unknown-fields": true }, status } = schema?.openAPIV3Schema?.properties ?? {}
  const own = { properties: { apiVersion: {}, kind: {}, spec, ...(status === undefined ? {} : { status }) } }
  return additionalPrinterColumns.filter(({ jsonPath }) => FieldPaths.has(own, jsonPath))
}

/** Comments on what the declaration leaves out. */
const remarks = (version: Version, columns: Columns): ReadonlyArray<string> => {
  const lost = (version.additionalPrinterColumns ?? []).filter((column) => !columns.includes(column))
  const { properties = {} } = version.schema?.openAPIV3Schema ?? {}
  const envelope = ["apiVersion", "kind", "metadata", "spec", "status"]
  const others = Object.keys(properties).filter((name) => !envelope.includes(name))
  return [
    ...(others.length === 0
      ? []
      : [`Beside spec and status it has ${others.join(", ")}: kept as they are, without a type.`]),
    ...(properties["status"] === undefined || version.subresources?.status !== undefined
      ? []
      : ["Its status is written with the object: the definition has no status subresource."]),
    ...(lost.length === 0
      ? []
      : [`Without the columns ${lost.map(({ jsonPath }) => jsonPath).join(", ")}: there are no such fields here.`])
  ]
}

const declaration = (spec: Spec, version: Version, name: string): string => {
  const { names } = spec
  const schema: JSONSchemaProps = version.schema?.openAPIV3Schema ?? {}
  const content = schema.properties?.["spec"]
  const status = schema.properties?.["status"]
  const scale = version.subresources?.scale
  const columns = columnsOf(version)
  const options: ReadonlyArray<readonly [string, string | undefined]> = [
    ["group", text(spec.group)],
    ["version", text(version.name)],
    ["kind", text(names.kind)],
    ["scope", spec.scope === "Cluster" ? text("Cluster") : undefined],
    ["plural", text(names.plural)],
    ["singular", names.singular === undefined || names.singular === "" ? undefined : text(names.singular)],
    ["shortNames", list(names.shortNames)],
    ["categories", list(names.categories)],
    ["description", schema.description === undefined ? undefined : text(schema.description)],
    ["spec", content === undefined ? "Schema.Unknown" : given(content, schema)],
    ["status", status === undefined ? undefined : expression(status)],
    ["scale", scale === undefined ? undefined : text(scale)],
    ["printerColumns", list(columns)],
    ["rules", list(schema["x-kubernetes-validations"])],
    ["selectableFields", list(version.selectableFields?.map(({ jsonPath }) => jsonPath))],
    ["deprecated", version.deprecated === true ? text(version.deprecationWarning ?? true) : undefined]
  ]
  const lines = options.flatMap(([key, value]) => value === undefined ? [] : [`${key}: ${value}`])
  const notes = remarks(version, columns)
  return [
    ...(notes.length === 0 ? [] : [`/** ${notes.join(" ")} */`]),
    `export const ${name} = CustomResource.make({\n${indent(lines.join(",\n"))}\n})`,
    `export type ${name} = typeof ${name}.Type`
  ].join("\n")
}

const given = (spec: JSONSchemaProps, { required = [] }: JSONSchemaProps): string =>
  required.includes("spec") ? expression(spec) : `Schema.UndefinedOr(${expression(spec)})`

const text = (value: unknown): string => JSON.stringify(value)

const list = (values: ReadonlyArray<unknown> | undefined): string | undefined =>
  values === undefined || values.length === 0 ? undefined : text(values)
