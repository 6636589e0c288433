/**
 * `ObjectMetaShape`: metadata as Go decodes and encodes it.
 *
 * Decoding an ObjectMeta drops unknown fields, refuses wrong types, and takes null for absent; encoding it omits empty
 * fields. This happens to the metadata of every object that a server decodes.
 *
 * Source: k8s.io/apimachinery/pkg/apis/meta/v1 ObjectMeta and Go's encoding/json.
 */
import * as GoInt64 from "./GoInt64.ts"
import * as Result from "effect/Result"
import * as Remembered from "../api/Remembered.ts"
import * as GoTime from "./GoTime.ts"
import * as JsonValue from "./JsonValue.ts"

type Shape =
  | { readonly kind: "string" | "time" | "int64" | "bool" | "any" }
  | { readonly kind: "map" }
  | { readonly kind: "list"; readonly item: Shape; readonly goType: string }
  | { readonly kind: "struct"; readonly name: string; readonly fields: Readonly<Record<string, Shape>> }

const text: Shape = { kind: "string" }
const time: Shape = { kind: "time" }
const flag: Shape = { kind: "bool" }

const ownerReference: Shape = {
  kind: "struct",
  name: "OwnerReference",
  fields: { apiVersion: text, kind: text, name: text, uid: text, controller: flag, blockOwnerDeletion: flag }
}

const managedFieldsEntry: Shape = {
  kind: "struct",
  name: "ManagedFieldsEntry",
  fields: {
    manager: text,
    operation: text,
    apiVersion: text,
    time,
    fieldsType: text,
    fieldsV1: { kind: "any" },
    subresource: text
  }
}

const objectMeta: Shape & { readonly kind: "struct" } = {
  kind: "struct",
  name: "ObjectMeta",
  fields: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { kind: "int64" },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { kind: "int64" },
    labels: { kind: "map" },
    annotations: { kind: "map" },
    ownerReferences: { kind: "list", item: ownerReference, goType: "[]v1.OwnerReference" },
    finalizers: { kind: "list", item: text, goType: "[]string" },
    managedFields: { kind: "list", item: managedFieldsEntry, goType: "[]v1.ManagedFieldsEntry" }
  }
}

/** Decoded metadata, and the unknown fields, such as `labelz` or `ownerReferences[0].x`. */
export interface Decoded {
  readonly metadata: JsonValue.JsonObject
  readonly unknown: ReadonlyArray<string>
}

/** Decodes metadata. Fails with the error of Go's decoder, which gets the fields in order of their names. */
export const decode = (value: unknown): Result.Result<Decoded, string> =>
  Result.match(decodeInOrder(value), {
    onSuccess: Result.succeed,
    onFailure: () => decodeInOrder(sorted(value))
  })

const decodeInOrder = (value: unknown): Result.Result<Decoded, string> => {
  const unknown: Array<string> = []
  try {
    const metadata = read(objectMeta, value, "", "", unknown)
    return Result.succeed({ metadata: JsonValue.isObject(metadata) ? metadata : {}, unknown })
  } catch (error) {
    if (error instanceof WrongType) return Result.fail(error.message)
    throw error
  }
}

const sorted = (value: unknown): unknown =>
  JsonValue.isArray(value)
    ? value.map(sorted)
    : JsonValue.isObject(value)
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]))
    : value

/** Decodes metadata field by field, without those of a wrong type and unknown ones. */
export const decodeLeniently = (value: unknown): JsonValue.JsonObject =>
  JsonValue.isObject(value)
    ? Object.assign(
      {},
      ...Object.entries(value).map(([key, item]) =>
        Result.match(decodeInOrder({ [key]: item }), { onSuccess: ({ metadata }) => metadata, onFailure: () => ({}) })
      )
    )
    : {}

class WrongType extends Error {}

const goKind = (value: unknown): string =>
  JsonValue.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value

/** `where` is the path of Go struct fields, `path` the client's. */
const read = (shape: Shape, value: unknown, where: string, path: string, unknown: Array<string>): unknown => {
  const refuse = (goType: string): never => {
    const into = where === "" ? `Go value of type v1.${goType}` : `Go struct field ${where} of type ${goType}`
    throw new WrongType(`json: cannot unmarshal ${goKind(value)} into ${into}`)
  }
  // Go leaves a field unchanged when it decodes a null.
  if (value === null) return undefined
  switch (shape.kind) {
    case "any":
      return value
    case "string":
      if (typeof value !== "string") return refuse("string")
      return value === "" ? undefined : value
    case "bool":
      return typeof value === "boolean" ? value : refuse("bool")
    case "int64":
      if (typeof value !== "number") return refuse("int64")
      if (!GoInt64.is(value)) {
        throw new WrongType(`json: cannot unmarshal number ${value} into Go struct field ${where} of type int64`)
      }
      // Generation is a plain number that is omitted if zero; a grace period of zero is significant.
      return value === 0 && path === "generation" ? undefined : value
    case "time":
      if (typeof value !== "string") {
        throw new WrongType(`json: cannot unmarshal ${goKind(value)} into Go value of type string`)
      }
      return readTime(value)
    case "map": {
      if (!JsonValue.isObject(value)) return refuse("map[string]string")
      const entries = Object.entries(value).map(([key, item]) => {
        if (item !== null && typeof item !== "string") {
          throw new WrongType(`json: cannot unmarshal ${goKind(item)} into Go struct field ${where} of type string`)
        }
        return [key, item ?? ""]
      })
      return entries.length === 0 ? undefined : Object.fromEntries(entries)
    }
    case "list": {
      if (!JsonValue.isArray(value)) return refuse(shape.goType)
      if (value.length === 0) return undefined
      return value.map((item, index) =>
        read(shape.item, item, where, `${path}[${index}]`, unknown) ?? (shape.item.kind === "string" ? "" : {})
      )
    }
    case "struct": {
      if (!JsonValue.isObject(value)) return refuse(where === "" ? shape.name : `v1.${shape.name}`)
      const entries: Array<[string, unknown]> = []
      for (const [key, item] of Object.entries(value)) {
        const inner = Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined
        const at = path === "" ? key : `${path}.${key}`
        if (inner === undefined) {
          unknown.push(at)
          continue
        }
        const read_ = read(inner, item, where === "" ? `${shape.name}.${key}` : `${where}.${key}`, at, unknown)
        // The strings in owner references are required: an empty one is written as such.
        const kept = read_ ?? (shape === ownerReference && inner === text ? "" : undefined)
        if (kept !== undefined) entries.push([key, kept])
      }
      return Object.fromEntries(entries)
    }
  }
}

/** A `metav1.Time`: any RFC 3339 time, truncated to whole seconds of UTC. */
const readTime = Remembered.ofText((value) => {
  const time = GoTime.parse(value)
  if (Result.isFailure(time)) throw new WrongType(time.failure)
  return `${GoTime.wholeSeconds(time.success)}Z`
})
