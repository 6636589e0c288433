/**
 * `DefinitionWords`: the versions of a CustomResourceDefinition as the server prints them when it refuses them as a
 * whole.
 *
 * What all versions share belongs to the definition and is not printed with any of them.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/{types,types_jsonschema}.go and v1/conversion.go.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import { goJson } from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as GoStruct from "../go/GoStruct.ts"

const text = "\"\""

/** The text of a schema, or of a list of schemas. */
export const printSchema: GoStruct.Printer = (value) => GoStruct.print(value, props)

const schemas: GoStruct.Printer = (value) => GoStruct.printMap(value, printSchema)

const orArray: GoStruct.Printer = (items) =>
  Array.isArray(items)
    ? `{"Schema":null,"JSONSchemas":${printSchema(items)}}`
    : `{"Schema":${printSchema(items)},"JSONSchemas":null}`

const orBool: GoStruct.Printer = (value) =>
  typeof value === "boolean" ? `{"Allows":${value},"Schema":null}` : `{"Allows":true,"Schema":${printSchema(value)}}`

const orStrings: GoStruct.Printer = (value) =>
  Array.isArray(value)
    ? `{"Schema":null,"Property":${goJson(value)}}`
    : `{"Schema":${printSchema(value)},"Property":null}`

const ruleFields: GoStruct.Fields = [
  ["rule", text],
  ["message", text],
  ["messageExpression", text],
  ["reason", "null"],
  ["fieldPath", text],
  ["optionalOldSelf", "null"]
]

const props: GoStruct.Fields = [
  ["id", text, undefined, "ID"],
  ["$schema", text, undefined, "Schema"],
  ["$ref", "null", undefined, "Ref"],
  ["description", text],
  ["type", text],
  ["nullable", "false"],
  ["format", text],
  ["title", text],
  ["default", "null"],
  ["maximum", "null"],
  ["exclusiveMaximum", "false"],
  ["minimum", "null"],
  ["exclusiveMinimum", "false"],
  ["maxLength", "null"],
  ["minLength", "null"],
  ["pattern", text],
  ["maxItems", "null"],
  ["minItems", "null"],
  ["uniqueItems", "false"],
  ["multipleOf", "null"],
  ["enum", "null"],
  ["maxProperties", "null"],
  ["minProperties", "null"],
  ["required", "null"],
  ["items", "null", orArray],
  ["allOf", "null", printSchema],
  ["oneOf", "null", printSchema],
  ["anyOf", "null", printSchema],
  ["not", "null", printSchema],
  ["properties", "null", schemas],
  ["additionalProperties", "null", orBool],
  ["patternProperties", "null", schemas],
  ["dependencies", "null", (value) => GoStruct.printMap(value, orStrings)],
  ["additionalItems", "null", orBool],
  ["definitions", "null", schemas],
  ["externalDocs", "null", [["description", text], ["url", text, undefined, "URL"]]],
  ["example", "null"],
  ["x-kubernetes-preserve-unknown-fields", "null", undefined, "XPreserveUnknownFields"],
  ["x-kubernetes-embedded-resource", "false", undefined, "XEmbeddedResource"],
  ["x-kubernetes-int-or-string", "false", undefined, "XIntOrString"],
  ["x-kubernetes-list-map-keys", "null", undefined, "XListMapKeys"],
  ["x-kubernetes-list-type", "null", undefined, "XListType"],
  ["x-kubernetes-map-type", "null", undefined, "XMapType"],
  ["x-kubernetes-validations", "null", ruleFields, "XValidations"]
]

const scaleFields: GoStruct.Fields = [
  ["specReplicasPath", text],
  ["statusReplicasPath", text],
  ["labelSelectorPath", "null"]
]

const columnFields: GoStruct.Fields = [
  ["name", text],
  ["type", text],
  ["format", text],
  ["description", text],
  ["priority", "0"],
  ["jsonPath", text, undefined, "JSONPath"]
]

const versionFields: GoStruct.Fields = [
  ["name", text],
  ["served", "false"],
  ["storage", "false"],
  ["deprecated", "false"],
  ["deprecationWarning", "null"],
  ["schema", "null", [["openAPIV3Schema", "null", printSchema, "OpenAPIV3Schema"]]],
  ["subresources", "null", [["status", "null"], ["scale", "null", scaleFields]]],
  ["additionalPrinterColumns", "null", columnFields],
  ["selectableFields", "null", [["jsonPath", text, undefined, "JSONPath"]]]
]

const shares = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"]

/** The text of a definition's versions. */
export const printVersions = (versions: ReadonlyArray<unknown>): string => {
  const shared = shares.filter((name) =>
    versions.every((version) => JsonValue.equals(at(version, name), at(versions[0], name)))
  )
  return GoStruct.print(versions.map((version) => shared.reduce(JsonValue.remove, objectAt(version))), versionFields)
}
