/**
 * `CustomResources`: the resources that a CustomResourceDefinition adds to the server.
 *
 * Bodies are pruned and defaulted when they are read, and again when they come from the store, so a changed schema
 * applies to existing objects at once. See `CustomConversion` for conversion between versions.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go and
 * pkg/registry/customresource/{strategy,status_strategy}.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import * as CustomBody from "../../../api/CustomBody.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as PrinterColumns from "../../../api/PrinterColumns.ts"
import type { Storage } from "../../../api/Storage.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoInt64 from "../../../schema/GoInt64.ts"
import * as GoValue from "../../../schema/GoValue.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as ServedDefaults from "../../../schema/ServedDefaults.ts"
import * as StructuralSchema from "../../../schema/StructuralSchema.ts"
import type { Calls } from "../../Backends.ts"
import {
  apiVersionOf,
  compareVersions,
  type Custom,
  type ResourcePath,
  type ScalePaths,
  type Served
} from "../Registry.ts"
import * as Strategy from "../Strategy.ts"
import * as ConversionRules from "./ConversionRules.ts"
import * as ConversionWebhook from "./ConversionWebhook.ts"
import * as CustomConversion from "./CustomConversion.ts"

/** The collection of the definitions themselves. */
export const definitions = "customresourcedefinitions.apiextensions.k8s.io"

/** A path such as `.spec.replicas` as a list of keys. */
export const simplePath = (path: string): ReadonlyArray<string> => path.split(".").filter((key) => key !== "")

/** Whether a condition of the object has status True. */
export const conditionIsTrue = (object: unknown, type: string): boolean =>
  arrayAt(object, "status", "conditions").some((condition) =>
    stringAt(condition, "type") === type && stringAt(condition, "status") === "True"
  )

const scalePaths = (version: unknown): ScalePaths | undefined => {
  const scale = at(version, "subresources", "scale")
  if (scale === undefined) return undefined
  const selector = stringAt(scale, "labelSelectorPath")
  return {
    specReplicas: simplePath(stringAt(scale, "specReplicasPath")),
    statusReplicas: simplePath(stringAt(scale, "statusReplicasPath")),
    labelSelector: selector === "" ? undefined : simplePath(selector)
  }
}

const goTypeOf = (value: unknown): string => {
  if (value === null) return "<nil>"
  if (Array.isArray(value)) return "[]interface {}"
  switch (typeof value) {
    case "number":
      return GoInt64.is(value) ? "int64" : "float64"
    case "boolean":
      return "bool"
    case "string":
      return "string"
    default:
      return "map[string]interface {}"
  }
}

/** The value at a path, or why it does not have the expected type; `undefined` if there is none. */
const accessed = (
  object: KubeObject,
  path: ReadonlyArray<string>,
  type: "int64" | "string"
): { readonly value: unknown } | { readonly fault: string } => {
  const wrong = (value: unknown, expected: string, keys: number) => ({
    fault: `.${path.slice(0, keys).join(".")} accessor error: ${GoValue.print(value)} is of the type ${
      goTypeOf(value)
    }, expected ${expected}`
  })
  let value: unknown = object
  for (const [index, key] of path.entries()) {
    if (value === undefined || value === null) return { value: undefined }
    // The fault names the key that was looked up in the value.
    if (!JsonValue.isObject(value)) return wrong(value, "map[string]interface{}", index + 1)
    value = JsonValue.get(value, key)
  }
  return value === undefined || goTypeOf(value) === type ? { value } : wrong(value, type, path.length)
}

const replicasFault = (object: KubeObject, path: ReadonlyArray<string>): ReadonlyArray<FieldError.FieldError> => {
  const field = `.${path.join(".")}`
  const found = accessed(object, path, "int64")
  if ("fault" in found) return [FieldError.invalid(field, 0, found.fault)]
  const value = typeof found.value === "number" ? found.value : 0
  return value < 0
    ? [FieldError.invalid(field, value, "should be a non-negative integer")]
    : value > 2147483647
    ? [FieldError.invalid(field, value, "should be less than or equal to 2147483647")]
    : []
}

const selectorFault = (object: KubeObject, path: ReadonlyArray<string>): ReadonlyArray<FieldError.FieldError> => {
  const found = accessed(object, path, "string")
  return "fault" in found ? [FieldError.invalid(`.${path.join(".")}`, "", found.fault)] : []
}

/** The faults of an object's kind and apiVersion. */
const typeFaults = (kind: string, apiVersion: string, object: KubeObject): ReadonlyArray<FieldError.FieldError> =>
  Object.entries({ kind, apiVersion }).flatMap(([key, expected]) => {
    const found = stringAt(object, key)
    return found === expected ? [] : [FieldError.invalid(key, found, `must be ${expected}`)]
  })

/** The faults of an object with respect to its scale subresource. A write to the status validates only the status. */
const scaleFaults = (
  object: KubeObject,
  paths: ScalePaths | undefined,
  part: "object" | "status"
): ReadonlyArray<FieldError.FieldError> => {
  if (paths === undefined) return []
  return [
    ...(part === "object" ? replicasFault(object, paths.specReplicas) : []),
    ...replicasFault(object, paths.statusReplicas),
    ...(paths.labelSelector === undefined ? [] : selectorFault(object, paths.labelSelector))
  ]
}

const strategyOf = (definition: KubeObject, version: unknown): Strategy.Strategy => {
  const selectable = arrayAt(version, "selectableFields").map((entry) =>
    simplePath(stringAt(entry, "jsonPath")).join(".")
  )
  return Strategy.make({
    metadataJudge: "machinery",
    judgedAnew: 0,
    generation: true,
    statusSubresource: at(version, "subresources", "status") !== undefined,
    statusMetadata: "kept",
    unconditionalUpdate: false,
    listsFields: false,
    fields: {
      ...Strategy.commonFields(stringAt(definition, "spec", "scope") === "Namespaced"),
      ...Strategy.fieldsAt(...selectable)
    }
  })
}

/** The warning of a deprecated version: the default text names a newer version to use, if there is one. */
const deprecationOf = (definition: KubeObject, deprecated: string): string => {
  const group = stringAt(definition, "spec", "group")
  const kind = stringAt(definition, "spec", "names", "kind")
  const newer = arrayAt(definition, "spec", "versions").flatMap((version) =>
    at(version, "served") === true && at(version, "deprecated") !== true &&
      compareVersions(stringAt(version, "name"), deprecated) < 0
      ? [stringAt(version, "name")]
      : []
  ).sort(compareVersions)
  const use = newer[0] === undefined ? "" : `; use ${apiVersionOf({ group, version: newer[0] })} ${kind}`
  return `${apiVersionOf({ group, version: deprecated })} ${kind} is deprecated${use}`
}

/** What the versions of a definition share. */
interface Shared {
  readonly definition: KubeObject
  readonly converter: CustomConversion.Converter
  readonly versions: Custom["versions"]
  readonly schemas: ReadonlyMap<string, StructuralSchema.Schema>
}

const custom = ({ converter, definition, schemas, versions }: Shared, version: unknown): Custom => ({
  definition: definition.metadata.name,
  terminating: conditionIsTrue(definition, "Terminating"),
  scale: scalePaths(version),
  schema: schemas.get(stringAt(version, "name"))!,
  versions,
  convert: converter.convert
})

/** The schemas of a definition by version, with the defaults that are served. */
const schemasOf = (definition: KubeObject): Shared["schemas"] =>
  new Map(
    arrayAt(definition, "spec", "versions").map((version) => [
      stringAt(version, "name"),
      ServedDefaults.of(objectAt(version, "schema", "openAPIV3Schema"))
    ])
  )

const ofVersion = (shared: Shared, version: unknown): Served => {
  const { converter, definition, schemas } = shared
  const group = stringAt(definition, "spec", "group")
  const names = objectAt(definition, "status", "acceptedNames")
  const kind = stringAt(names, "kind")
  const plural = stringAt(names, "plural")
  const name = stringAt(version, "name")
  const schema = schemas.get(name)!
  const verbs = ["get", "patch", "update"]
  const details = custom(shared, version)
  return {
    group,
    version: name,
    kind,
    plural,
    singular: stringAt(names, "singular"),
    listKind: stringAt(names, "listKind"),
    scope: stringAt(definition, "spec", "scope") === "Namespaced" ? "Namespaced" : "Cluster",
    verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
    shortNames: arrayAt(names, "shortNames").map(String),
    categories: arrayAt(names, "categories").map(String),
    subresources: [
      ...(at(version, "subresources", "status") === undefined
        ? []
        : [{ name: "status", group, version: name, kind, verbs }]),
      ...(details.scale === undefined
        ? []
        : [{ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs }])
    ],
    collection: `${plural}.${group}`,
    storageVersion: converter.storageVersion,
    nameRule: "subdomain",
    strategy: strategyOf(definition, version),
    decode: CustomBody.decoder({ group, kind, version: name }, schemas),
    adopt: (object) => Result.succeed(CustomBody.adopted(schema, object)),
    schemaFaults: (next, previous, part, warn, found) => {
      const values = typeFaults(kind, `${group}/${name}`, next)
      const judged = values.length > 0
        ? StructuralSchema.judgeOther(schema, next, previous, values, found)
        : StructuralSchema.judge(schema, next, previous, part, scaleFaults(next, details.scale, part), found)
      const { errors, warnings } = judged
      warnings.forEach(warn)
      return errors
    },
    conversion: converter.of(name),
    columns: PrinterColumns.custom(arrayAt(version, "additionalPrinterColumns")),
    deprecation: at(version, "deprecated") === true
      ? stringAt(version, "deprecationWarning") || deprecationOf(definition, stringAt(version, "name"))
      : undefined,
    custom: details
  }
}

/** Whether objects are stored in a version that the definition does not have. */
const hasStrays = (definition: KubeObject, storage: Storage): boolean => {
  const group = stringAt(definition, "spec", "group")
  const versions = new Set(arrayAt(definition, "spec", "versions").map((version) => stringAt(version, "name")))
  const { get, keys } = storage.list(definition.metadata.name)
  return keys.some((key) => !versions.has(get(key).apiVersion.slice(group.length + 1)))
}

/** The resources of stored definitions, computed once: stores with the same image share them. */
const known = new WeakMap<KubeObject, ReadonlyArray<Served>>()

/** The served versions of a definition; none until it is established. */
export const served = (
  definition: KubeObject,
  { backends, storage }: { readonly backends: Calls; readonly storage: Storage }
): ReadonlyArray<Served> => {
  if (!conditionIsTrue(definition, "Established")) return []
  const convert = stringAt(definition, "spec", "conversion", "strategy") === "Webhook"
    ? ConversionWebhook.make(definition, backends)
    : undefined
  const strays = hasStrays(definition, storage)
  const before = convert === undefined && !strays ? known.get(definition) : undefined
  if (before !== undefined) return before
  const converter = CustomConversion.make(definition, convert, strays)
  const versions = new Map<string, Served>()
  const schemas = schemasOf(definition)
  const found: Array<Served> = []
  for (const version of arrayAt(definition, "spec", "versions")) {
    const resource = ofVersion({ definition, converter, versions, schemas }, version)
    versions.set(apiVersionOf(resource), resource)
    if (at(version, "served") === true) found.push(resource)
  }
  if (convert === undefined && !strays) known.set(definition, found)
  return found
}

/**
 * The paths of a definition whose names are accepted but which cannot be served, because its conversion webhook cannot
 * be called.
 */
export const unready = (definition: KubeObject): ReadonlyArray<ResourcePath> => {
  const taken = conditionIsTrue(definition, "NamesAccepted") && !conditionIsTrue(definition, "Established")
  if (!taken || !ConversionRules.hasBrokenBundle(definition)) return []
  const group = stringAt(definition, "spec", "group")
  const plural = stringAt(definition, "spec", "names", "plural")
  return arrayAt(definition, "spec", "versions")
    .filter((version) => at(version, "served") === true)
    .map((version) => ({ group, plural, version: stringAt(version, "name") }))
}
