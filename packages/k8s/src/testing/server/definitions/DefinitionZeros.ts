/**
 * `DefinitionZeros`: removes from a CustomResourceDefinition what Go's `omitempty` omits.
 *
 * A client may write `nullable: false`, `priority: 0` or `description: ""`. The types of the real server cannot
 * distinguish these from missing fields, so they are not returned. Fields that are pointers (`minLength: 0`,
 * `x-kubernetes-preserve-unknown-fields: false`) keep their zero, and data in a schema (`default`, `enum`, `example`)
 * is kept as it is.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go and types_jsonschema.go.
 */
import { type Draft, put } from "../../../api/Plain.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"

/** How a part of a definition is traversed. */
interface Shape {
  /** Fields that are omitted if they are zero. */
  readonly zeros?: ReadonlyArray<string>
  readonly parts?: Readonly<Record<string, Shape | (() => Shape)>>
  /** The shape of every value of a map. */
  readonly values?: () => Shape
}

const schema: Shape = {
  zeros: [
    "id",
    "$schema",
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string"
  ],
  parts: {
    items: () => schema,
    allOf: () => schema,
    oneOf: () => schema,
    anyOf: () => schema,
    not: () => schema,
    additionalProperties: () => schema,
    additionalItems: () => schema,
    properties: { values: () => schema },
    patternProperties: { values: () => schema },
    definitions: { values: () => schema }
  }
}

const names: Shape = { zeros: ["singular", "listKind"] }

const definition: Shape = {
  parts: {
    spec: {
      zeros: ["preserveUnknownFields"],
      parts: {
        names,
        conversion: { zeros: ["strategy"] },
        versions: {
          zeros: ["deprecated"],
          parts: {
            schema: { parts: { openAPIV3Schema: schema } },
            additionalPrinterColumns: { zeros: ["format", "description", "priority"] }
          }
        }
      }
    },
    status: { parts: { acceptedNames: names, conditions: { zeros: ["reason", "message"] } } }
  }
}

const isZero = (value: unknown): boolean => value === "" || value === false || value === 0

const walk = (value: unknown, shape: Shape): unknown => {
  if (JsonValue.isArray(value)) return value.map((item) => walk(item, shape))
  if (!JsonValue.isObject(value)) return value
  const out: Draft = {}
  for (const key of Object.keys(value)) {
    const item = value[key]
    if (shape.zeros?.includes(key) === true && isZero(item)) continue
    const part = shape.values ?? (shape.parts !== undefined && Object.hasOwn(shape.parts, key)
      ? shape.parts[key]
      : undefined)
    put(out, key, part === undefined ? item : walk(item, typeof part === "function" ? part() : part))
  }
  return out
}

/** The definition as the server returns it. */
export const omit = (object: JsonValue.JsonObject): JsonValue.JsonObject =>
  walk(object, definition) as JsonValue.JsonObject
