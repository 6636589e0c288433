/**
 * `OpenApiCustom`: custom kinds in OpenAPI documents.
 *
 * Version 3 has everything in a structural schema. Version 2 drops what it cannot express: combinations, defaults, and
 * the contents of fields that are nullable or preserve unknown fields, for which kubectl would refuse more than the
 * server. Metadata, apiVersion and kind are added at the root and to embedded resources, and int-or-string values get
 * both types.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/controller/openapi/{builder,v2} and pkg/apiserver/schema/kubeopenapi.go.
 */
import { type Dialect, references, type Resource } from "./OpenApiPaths.ts"
import { isObject, type JsonObject } from "../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "./Plain.ts"

/** A custom kind in one version. */
export interface Custom extends Resource {
  readonly listSchema: string
  readonly listKind: string
  /** `openAPIV3Schema`. */
  readonly structural: JsonObject
  /** Whether the whole definition preserves unknown fields. */
  readonly open: boolean
  readonly selectable: ReadonlyArray<string>
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."

/** From `example.com`, `v1` and `Widget` to `com.example.v1.Widget`. */
const schemaName = (group: string, version: string, kind: string): string =>
  [...group.split(".").toReversed(), version, kind].join(".")

const everything = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
const readAndWrite = ["get", "patch", "update"]

/** The served versions of a definition. */
export const versionsOf = (definition: unknown, served: (groupVersion: string) => boolean): ReadonlyArray<Custom> => {
  const spec = objectAt(definition, "spec")
  const group = stringAt(spec, "group")
  const names = objectAt(spec, "names")
  const kind = stringAt(names, "kind")
  const listKind = stringAt(names, "listKind") || `${kind}List`
  return arrayAt(spec, "versions").flatMap((version): ReadonlyArray<Custom> => {
    const name = stringAt(version, "name")
    if (at(version, "served") !== true || !served(`${group}/${name}`)) return []
    return [{
      group,
      version: name,
      kind,
      listKind,
      plural: stringAt(names, "plural"),
      namespaced: stringAt(spec, "scope") === "Namespaced",
      verbs: everything,
      subresources: [
        ...(at(version, "subresources", "status") === undefined
          ? []
          : [{ name: "status", group, version: name, kind, verbs: readAndWrite }]),
        ...(at(version, "subresources", "scale") === undefined
          ? []
          : [{ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: readAndWrite }])
      ],
      custom: true,
      schema: schemaName(group, name, kind),
      listSchema: schemaName(group, name, listKind),
      structural: objectAt(version, "schema", "openAPIV3Schema"),
      open: at(spec, "preserveUnknownFields") === true,
      selectable: arrayAt(version, "selectableFields").map((field) => stringAt(field, "jsonPath").replace(/^\./, ""))
    }]
  })
}

/** The keywords that a structural schema keeps; others do not appear in documents. */
const kept: ReadonlySet<string> = new Set([
  "title",
  "description",
  "type",
  "nullable",
  "default",
  "format",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "multipleOf",
  "maxProperties",
  "minProperties",
  "required",
  "enum"
])

const combinators = ["allOf", "oneOf", "anyOf"]

const numberOrText = [{ type: "integer" }, { type: "string" }]

const convertEach = (value: unknown, dialect: Dialect): JsonObject =>
  Object.fromEntries(Object.entries(objectAt({ value }, "value")).map(([key, of]) => [key, convert(of, dialect)]))

/** A structural schema as it appears in a document. */
const convert = (schema: unknown, dialect: Dialect): JsonObject => {
  if (!isObject(schema)) return {}
  const loose = dialect === "v2"
  const nullable = schema["nullable"] === true
  const preserving = schema["x-kubernetes-preserve-unknown-fields"] === true
  const either = schema["x-kubernetes-int-or-string"] === true
  const opaque = loose && (nullable || preserving)
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(schema)) {
    if (kept.has(name) || name.startsWith("x-kubernetes-")) result[name] = value
    else if (name === "properties" && !opaque) result[name] = convertEach(value, dialect)
    else if (name === "items" && !opaque) result[name] = convert(value, dialect)
    else if (name === "additionalProperties") result[name] = isObject(value) ? convert(value, dialect) : value
    else if (!loose && combinators.includes(name)) {
      result[name] = arrayAt({ value }, "value").map((of) => convert(of, dialect))
    } else if (!loose && name === "not") result[name] = convert(value, dialect)
  }
  if (!loose) {
    if (either && result["anyOf"] === undefined && result["allOf"] === undefined) result["anyOf"] = numberOrText
    return embedded(result, dialect)
  }
  delete result["nullable"]
  delete result["default"]
  const untyped = nullable || (preserving && result["type"] === "object") ||
    (result["type"] === "array" && result["items"] === undefined)
  if (untyped) delete result["type"]
  const nulls = Object.entries(objectAt(schema, "properties")).filter(([, of]) => at(of, "nullable") === true)
    .map(([key]) => key)
  const required = arrayAt(schema, "required").filter((key) => !nulls.includes(String(key)))
  if (required.length === 0) delete result["required"]
  else result["required"] = required
  return preserving ? result : embedded(result, dialect)
}

const conventions = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

/** A real server's descriptions of the fields that every object has. */
const described = {
  root: {
    apiVersion: "APIVersion defines the versioned schema of this representation of an object. Servers should convert " +
      `recognized schemas to the latest internal value, and may reject unrecognized values. ${conventions}#resources`,
    kind: "Kind is a string value representing the REST resource this object represents. Servers may infer this from " +
      `the endpoint the client submits requests to. Cannot be updated. In CamelCase. ${conventions}#types-kinds`
  },
  embedded: {
    apiVersion: `apiVersion defines the versioned schema of this representation of an object. ${conventions}#resources`,
    kind: `kind is a string value representing the type of this object. In CamelCase. ${conventions}#types-kinds`
  },
  ObjectMeta: `Standard object's metadata. ${conventions}#metadata`,
  ListMeta: `Standard list metadata. ${conventions}#types-kinds`
} as const

const metadata = (dialect: Dialect, of: "ObjectMeta" | "ListMeta"): JsonObject => {
  const reference = { $ref: `${references[dialect]}${meta}${of}` }
  return { ...(dialect === "v2" ? reference : { allOf: [reference] }), description: described[of] }
}

const typeMeta = (
  dialect: Dialect,
  where: "root" | "embedded",
  of: "ObjectMeta" | "ListMeta" = "ObjectMeta"
): JsonObject => ({
  apiVersion: { type: "string", description: described[where].apiVersion },
  kind: { type: "string", description: described[where].kind },
  metadata: metadata(dialect, of)
})

/** An embedded resource has the fields of every object. */
const embedded = (schema: JsonObject, dialect: Dialect): JsonObject =>
  schema["x-kubernetes-embedded-resource"] !== true ? schema : {
    ...schema,
    properties: { ...objectAt(schema, "properties"), ...typeMeta(dialect, "embedded") },
    required: [...new Set([...arrayAt(schema, "required"), "kind", "apiVersion"])]
  }

const extensions = ({ group, selectable, version }: Custom, kind: string): JsonObject => ({
  "x-kubernetes-group-version-kind": [{ group, kind, version }],
  ...(selectable.length === 0
    ? {}
    : { "x-kubernetes-selectable-fields": selectable.map((fieldPath) => ({ fieldPath })) })
})

const kindSchema = (custom: Custom, dialect: Dialect): JsonObject => {
  const { kind, open, structural } = custom
  // Without even metadata: kubectl would take it for the only field.
  if (dialect === "v2" && (open || structural["x-kubernetes-preserve-unknown-fields"] === true)) {
    return { type: "object", ...extensions(custom, kind) }
  }
  const schema = convert(structural, dialect)
  return {
    ...schema,
    type: "object",
    properties: { ...objectAt(schema, "properties"), ...typeMeta(dialect, "root") },
    ...extensions(custom, kind)
  }
}

const listSchema = (custom: Custom, dialect: Dialect): JsonObject => ({
  description: `${custom.listKind} is a list of ${custom.kind}`,
  type: "object",
  required: ["items"],
  properties: {
    ...typeMeta(dialect, "root", "ListMeta"),
    items: {
      description: `List of ${custom.plural}. ${conventions}`,
      type: "array",
      items: { $ref: `${references[dialect]}${custom.schema}` }
    }
  },
  ...extensions(custom, custom.listKind)
})

/** The schemas of a kind and of its lists, by name. */
export const schemas = (custom: Custom, dialect: Dialect): Readonly<Record<string, JsonObject>> => ({
  [custom.schema]: kindSchema(custom, dialect),
  [custom.listSchema]: listSchema(custom, dialect)
})
