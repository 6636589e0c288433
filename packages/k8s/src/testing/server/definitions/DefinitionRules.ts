/**
 * `DefinitionRules`: validation and defaults of CustomResourceDefinitions.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, .../v1/defaults.go and
 * pkg/registry/customresourcedefinition/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as SchemaKeywords from "../../../schema/SchemaKeywords.ts"
import * as StructuralSchema from "../../../schema/StructuralSchema.ts"
import type { Strategy } from "../Strategy.ts"
import { named } from "../rules/Checks.ts"
import * as ConversionRules from "./ConversionRules.ts"
import { conditionIsTrue } from "./CustomResources.ts"
import * as Approval from "./DefinitionApproval.ts"
import * as DefinitionPaths from "./DefinitionPaths.ts"
import * as DefinitionWords from "./DefinitionWords.ts"
import * as DefinitionZeros from "./DefinitionZeros.ts"

type Faults = ReadonlyArray<FieldError.FieldError>
type Object_ = JsonValue.JsonObject

const fill = (object: Object_, defaults: Object_): Object_ => ({
  ...Object.fromEntries(Object.entries(defaults).filter(([key]) => object[key] === undefined)),
  ...object
})

const withKindNames = (names: Object_): Object_ => {
  const kind = stringAt(names, "kind")
  return kind === "" ? names : fill(names, { singular: kind.toLowerCase(), listKind: `${kind}List` })
}

/** The port of a webhook's Service defaults to 443; a webhook without content is removed. */
const defaulted = (conversion: Object_): Object_ => {
  const webhook = objectAt(conversion, "webhook")
  if (webhook["clientConfig"] === undefined && arrayAt(webhook, "conversionReviewVersions").length === 0) {
    return JsonValue.remove(conversion, "webhook")
  }
  const config = objectAt(webhook, "clientConfig")
  const service = objectAt(config, "service")
  return config["service"] === undefined || service["port"] !== undefined ? conversion : {
    ...conversion,
    webhook: { ...webhook, clientConfig: { ...config, service: { ...service, port: 443 } } }
  }
}

const storageVersions = (definition: unknown): ReadonlyArray<string> =>
  arrayAt(definition, "spec", "versions").filter((version) => at(version, "storage") === true)
    .map((version) => stringAt(version, "name"))

/** `storedVersions` defaults to the current storage version. */
const withStored = (definition: Object_): Object_ => {
  const [storage] = storageVersions(definition)
  return storage === undefined || arrayAt(definition, "status", "storedVersions").length > 0
    ? definition
    : { ...definition, status: { ...objectAt(definition, "status"), storedVersions: [storage] } }
}

/** The defaults of a body. */
export const applyDefaults = (body: Object_): Object_ => {
  const definition = withStored(DefinitionZeros.omit(body))
  const spec = objectAt(definition, "spec")
  return {
    ...definition,
    spec: {
      ...spec,
      ...(spec["names"] === undefined ? {} : { names: withKindNames(objectAt(spec, "names")) }),
      conversion: spec["conversion"] === undefined ? { strategy: "None" } : defaulted(objectAt(spec, "conversion"))
    }
  }
}

const prepareCreate: Strategy["prepareCreate"] = (definition) => ({
  ...definition,
  status: {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    storedVersions: storageVersions(definition).slice(0, 1)
  }
})

/** A new storage version is added to `storedVersions`. */
const prepareUpdate: Strategy["prepareUpdate"] = (next) => {
  const stored = arrayAt(next, "status", "storedVersions").map(String)
  const [storage] = storageVersions(next)
  return storage === undefined || stored.includes(storage)
    ? next
    : { ...next, status: { ...objectAt(next, "status"), storedVersions: [...stored, storage] } }
}

/** One fault per name, with all of its problems. */
const label = (field: string, value: string, faults = Names.dns1035Label, before = "", text = value): Faults => {
  const found = faults(text)
  return found.length === 0 ? [] : [FieldError.invalid(field, value, before + found.join(","))]
}

const groupFaults = (group: string): Faults => {
  const field = "spec.group"
  if (group === "") return [FieldError.required(field, "")]
  const faults = label(field, group, Names.dnsSubdomain)
  return faults.length > 0 || group.includes(".")
    ? faults
    : [FieldError.invalid(field, group, "should be a domain with at least one dot")]
}

const requiredNames = ["plural", "singular", "kind", "listKind"]

/** The faults of requested or accepted names. */
const namesFaults = (names: unknown, path: string): Faults => {
  const kind = stringAt(names, "kind")
  const plain = (key: string): Faults => {
    const value = stringAt(names, key)
    return value === "" ? [] : label(`${path}.${key}`, value)
  }
  const mixed = (key: string): Faults => {
    const value = stringAt(names, key)
    const before = "may have mixed case, but should otherwise match: "
    return value === "" ? [] : label(`${path}.${key}`, value, Names.dns1035Label, before, value.toLowerCase())
  }
  return [
    ...["plural", "singular"].flatMap(plain),
    ...["kind", "listKind"].flatMap(mixed),
    ...arrayAt(names, "shortNames").flatMap((name, index) => label(`${path}.shortNames[${index}]`, String(name))),
    ...(kind !== "" && kind === stringAt(names, "listKind")
      ? [FieldError.invalid(`${path}.listKind`, kind, "kind and listKind may not be the same")]
      : []),
    ...arrayAt(names, "categories").flatMap((name, index) => label(`${path}.categories[${index}]`, String(name)))
  ]
}

/** Missing names are reported before invalid ones. */
const givenNamesFaults = (names: unknown): Faults => [
  ...requiredNames.filter((key) => stringAt(names, key) === "").map((key) =>
    FieldError.required(`spec.names.${key}`, "")
  ),
  ...namesFaults(names, "spec.names")
]

/** The keywords allowed at the root of a schema with a status subresource, by Go name. */
const rootFields = [
  "Description",
  "Type",
  "Format",
  "Title",
  "Maximum",
  "ExclusiveMaximum",
  "Minimum",
  "ExclusiveMinimum",
  "MaxLength",
  "MinLength",
  "Pattern",
  "MaxItems",
  "MinItems",
  "UniqueItems",
  "MultipleOf",
  "Required",
  "Items",
  "Properties",
  "ExternalDocs",
  "Example",
  "XPreserveUnknownFields",
  "XValidations"
]

const beforeType = new Set(["id", "$schema", "$ref"])

const atRoot = new Set([
  ...rootFields.map((name) => `${name[0]!.toLowerCase()}${name.slice(1)}`),
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations"
])

/** Only the first invalid keyword is reported, in the order of the Go type. */
const rootFaults = (version: unknown, schema: unknown, path: string): Faults => {
  if (at(version, "subresources", "status") === undefined) return []
  const type = stringAt(schema, "type")
  const when = "at the root of the schema if the status subresource is enabled"
  const [odd] = Object.keys(objectAt(schema)).filter((key) => !atRoot.has(key))
    .toSorted((a, b) => Number(beforeType.has(b)) - Number(beforeType.has(a)))
  if (type !== "" && type !== "object" && (odd === undefined || !beforeType.has(odd))) {
    return [FieldError.invalid(`${path}.type`, type, `only "object" is allowed as the type ${when}`)]
  }
  return odd === undefined ? [] : [FieldError.invalidPrinted(
    path,
    DefinitionWords.printSchema(schema),
    `only [${rootFields.join(" ")}] fields are allowed ${when}`
  )]
}

const schemaOf = (version: unknown): unknown => at(version, "schema", "openAPIV3Schema")

/** Faults of a schema that all versions share name the field of the definition, whatever was written. */
const isShared = (versions: ReadonlyArray<unknown>): boolean =>
  versions.every((version) => JsonValue.equals(schemaOf(version), schemaOf(versions[0])))

const missingSchemas = (versions: ReadonlyArray<unknown>): Faults =>
  versions.flatMap((version, index) =>
    schemaOf(version) === undefined
      ? [FieldError.required(`spec.versions[${index}].schema.openAPIV3Schema`, "")]
      : []
  )

const schemaFaults = (version: unknown, place: string): Faults => {
  const schema = schemaOf(version)
  if (schema === undefined) return []
  const path = `${place}.openAPIV3Schema`
  return [
    ...rootFaults(version, schema, path),
    ...StructuralSchema.checkStructural(schema as StructuralSchema.Schema, path)
  ]
}

const sharedSchemaFaults = (versions: ReadonlyArray<unknown>): Faults =>
  versions.length > 0 && isShared(versions) ? schemaFaults(versions[0], "spec.validation") : []

const longestWarning = 256

/** The position of the first unprintable character, in UTF-8 bytes. */
const unprintable = (text: string): ReadonlyArray<string> => {
  const found = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(text)
  return found === null ? [] : [
    "must only contain printable UTF-8 characters; non-printable character found at index " +
    Names.byteLength(text.slice(0, found.index))
  ]
}

const warningFaults = (version: unknown): ReadonlyArray<string> => {
  const warning = at(version, "deprecationWarning")
  if (typeof warning !== "string") return []
  return at(version, "deprecated") !== true ? ["can only be set for deprecated versions"] : [
    ...(Names.byteLength(warning) > longestWarning ? [`must be <= ${longestWarning} characters long`] : []),
    ...(warning === "" ? ["must not be an empty string"] : []),
    ...unprintable(warning)
  ]
}

/** Whether the schema of a version contains any default. */
const hasDefaults = (version: unknown): boolean =>
  SchemaKeywords.hasDefaults(objectAt(version, "schema", "openAPIV3Schema"))

const versionsFaults = (definition: unknown): Faults => {
  const versions = arrayAt(definition, "spec", "versions")
  const names = versions.map((version) => stringAt(version, "name"))
  const shared = isShared(versions)
  const isAbsent = !Array.isArray(at(definition, "spec", "versions"))
  const whole = (fault: string) =>
    FieldError.invalidPrinted("spec.versions", isAbsent ? "null" : DefinitionWords.printVersions(versions), fault)
  return [
    ...missingSchemas(versions),
    ...(at(definition, "spec", "preserveUnknownFields") === true && versions.some(hasDefaults)
      ? [FieldError.invalid(
        "spec.preserveUnknownFields",
        true,
        "must be false in order to use defaults in the schema"
      )]
      : []),
    ...versions.flatMap((version, index) => {
      const path = `spec.versions[${index}]`
      return [
        ...label(`${path}.name`, names[index]!),
        ...warningFaults(version).map((fault) =>
          FieldError.invalid(`${path}.deprecationWarning`, at(version, "deprecationWarning"), fault)
        ),
        ...(shared ? [] : schemaFaults(version, `${path}.schema`)),
        ...DefinitionPaths.ofVersion(versions, index)
      ]
    }),
    ...(new Set(names).size < names.length ? [whole("must contain unique version names")] : []),
    ...(storageVersions(definition).length === 1
      ? []
      : [whole("must have exactly one version marked as storage version")]),
    // The name of the first version is also `spec.version`, from the time when definitions had one version.
    ...(names[0] === undefined || names[0] === "" ? [] : label("spec.version", names[0]))
  ]
}

const storedFaults = (definition: unknown): Faults => {
  const field = "status.storedVersions"
  const stored = arrayAt(definition, "status", "storedVersions").map(String)
  if (stored.length === 0) return [FieldError.invalid(field, null, "must have at least one stored version")]
  const versions = arrayAt(definition, "spec", "versions")
  const names = new Set(versions.map((version) => stringAt(version, "name")))
  return [
    ...versions.flatMap((version) => {
      const name = stringAt(version, "name")
      // Among versions of the same name, only the first is found in `storedVersions`.
      const known = stored.includes(name) && versions.find((one) => stringAt(one, "name") === name) === version
      return at(version, "storage") !== true || known
        ? []
        : [FieldError.invalid(field, stored, `must have the storage version ${name}`)]
    }),
    ...stored.flatMap((name, index) =>
      names.has(name) ? [] : [FieldError.invalid(
        `${field}[${index}]`,
        name,
        `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a ` +
          `storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
      )]
    )
  ]
}

const approvalFaults = (definition: KubeObject): Faults => {
  const state = Approval.stateOf(definition)
  const field = `metadata.annotations[${Approval.annotation}]`
  switch (state?._tag) {
    case "Missing":
      return [FieldError.required(field, state.message)]
    case "Invalid":
      return [FieldError.invalid(field, definition.metadata.annotations?.[Approval.annotation], state.message)]
    default:
      return []
  }
}

/**
 * The immutable fields: group and plural form the definition's name; scope and kind determine how objects are stored.
 */
const fixed = ({ established }: { readonly established: boolean }): ReadonlyArray<ReadonlyArray<string>> => [
  ...(established ? [["scope"], ["names", "kind"]] : []),
  ["group"],
  ["names", "plural"]
]

const fixedFaults = (next: unknown, previous: KubeObject): Faults =>
  fixed({ established: conditionIsTrue(previous, "Established") }).flatMap((path) => {
    const value = stringAt(next, "spec", ...path)
    return value === stringAt(previous, "spec", ...path)
      ? []
      : [FieldError.invalid(["spec", ...path].join("."), value, "field is immutable")]
  })

const scopes = ["Cluster", "Namespaced"]

const validate: Strategy["validate"] = (definition, previous) => {
  const group = stringAt(definition, "spec", "group")
  const scope = stringAt(definition, "spec", "scope")
  const name = `${stringAt(definition, "spec", "names", "plural")}.${group}`
  return [
    // The name is immutable, and the fields it consists of have their own rules.
    ...(previous === undefined ? named(definition, name, "must be spec.names.plural+\".\"+spec.group") : []),
    ...groupFaults(group),
    ...(scope === ""
      ? [FieldError.required("spec.scope", "")]
      : scopes.includes(scope)
      ? []
      : [FieldError.notSupported("spec.scope", scope, scopes)]),
    ...versionsFaults(definition),
    ...givenNamesFaults(at(definition, "spec", "names")),
    ...sharedSchemaFaults(arrayAt(definition, "spec", "versions")),
    ...DefinitionPaths.ofAll(arrayAt(definition, "spec", "versions")),
    ...ConversionRules.faults(definition),
    ...(previous === undefined ? [] : fixedFaults(definition, previous)),
    ...storedFaults(definition),
    ...approvalFaults(definition),
    ...(at(definition, "spec", "preserveUnknownFields") === true
      ? [FieldError.invalid(
        "spec.preserveUnknownFields",
        true,
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
      )]
      : [])
  ]
}

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => ConversionRules.updateFaults(next, previous)

/** Additional rules of the strategy of definitions. */
const validateStatus: Strategy["validateStatus"] = (definition) =>
  namesFaults(at(definition, "status", "acceptedNames"), "status.acceptedNames")

export const strategy: Partial<Strategy> = { prepareCreate, prepareUpdate, validate, validateUpdate, validateStatus }
