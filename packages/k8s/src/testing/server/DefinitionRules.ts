/**
 * `DefinitionRules`: what a CustomResourceDefinition must be, and what the server adds to it.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, .../v1/defaults.go and
 * pkg/registry/customresourcedefinition/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Approval from "./DefinitionApproval.ts"
import { named } from "./Checks.ts"
import * as ConversionRules from "./ConversionRules.ts"
import { conditionIsTrue } from "./CustomResources.ts"
import * as DefinitionPaths from "./DefinitionPaths.ts"
import * as DefinitionZeros from "./DefinitionZeros.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Strategy } from "./Strategy.ts"
import * as StructuralSchema from "../../schema/StructuralSchema.ts"

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

/** A webhook is called at port 443 unless it says otherwise; one of which nothing is said is none. */
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

/** Where no version is said to have been stored, the present storage version has. */
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

/** A version that becomes the storage version is one that objects are stored in from now on. */
const prepareUpdate: Strategy["prepareUpdate"] = (next) => {
  const stored = arrayAt(next, "status", "storedVersions").map(String)
  const [storage] = storageVersions(next)
  return storage === undefined || stored.includes(storage)
    ? next
    : { ...next, status: { ...objectAt(next, "status"), storedVersions: [...stored, storage] } }
}

/** A name is told once, whatever is wrong with it. */
const label = (field: string, value: string, faults = Names.dns1035Label, before = "", text = value): Faults => {
  const found = faults(text)
  return found.length === 0 ? [] : [FieldError.invalid(field, value, before + found.join(","))]
}

const needed = (
  field: string,
  value: string,
  ...rule: [faults?: typeof Names.dns1035Label, before?: string, text?: string]
) => value === "" ? [FieldError.required(field, "")] : label(field, value, ...rule)

const namesFaults = (names: unknown): Faults => {
  const path = "spec.names"
  const kind = stringAt(names, "kind")
  const mixed = (field: string, value: string): Faults =>
    needed(field, value, Names.dns1035Label, "may have mixed case, but should otherwise match: ", value.toLowerCase())
  return [
    ...needed(`${path}.plural`, stringAt(names, "plural")),
    ...needed(`${path}.singular`, stringAt(names, "singular")),
    ...mixed(`${path}.kind`, kind),
    ...mixed(`${path}.listKind`, stringAt(names, "listKind")),
    ...(kind !== "" && kind === stringAt(names, "listKind")
      ? [FieldError.invalid(`${path}.listKind`, kind, "kind and listKind may not be the same")]
      : []),
    ...arrayAt(names, "shortNames").flatMap((name, index) => label(`${path}.shortNames[${index}]`, String(name))),
    ...arrayAt(names, "categories").flatMap((name, index) => label(`${path}.categories[${index}]`, String(name)))
  ]
}

/** What a schema may say at its root, in the words of Go, if its status is a part of its own. */
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

const atRoot = new Set([
  ...rootFields.map((name) => `${name[0]!.toLowerCase()}${name.slice(1)}`),
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations"
])

const rootFaults = (version: unknown, schema: unknown, path: string): Faults => {
  if (at(version, "subresources", "status") === undefined) return []
  const type = stringAt(schema, "type")
  const when = "at the root of the schema if the status subresource is enabled"
  return [
    ...(Object.keys(objectAt(schema)).every((key) => atRoot.has(key))
      ? []
      : [FieldError.invalid(path, schema, `only [${rootFields.join(" ")}] fields are allowed ${when}`)]),
    ...(type === "" || type === "object"
      ? []
      : [FieldError.invalid(`${path}.type`, type, `only "object" is allowed as the type ${when}`)])
  ]
}

const schemaFaults = (definition: unknown): Faults => {
  const versions = arrayAt(definition, "spec", "versions")
  const schemas = versions.map((version) => at(version, "schema", "openAPIV3Schema"))
  // A schema that all versions share is spoken of as the definition's, whatever was written.
  const shared = schemas.every((schema) => JsonValue.equals(schema, schemas[0]))
  return versions.flatMap((_, index): Faults => {
    const schema = schemas[index]
    if (schema === undefined) {
      return [FieldError.required(`spec.versions[${index}].schema.openAPIV3Schema`, "schemas are required")]
    }
    if (shared && index > 0) return []
    const path = shared ? "spec.validation.openAPIV3Schema" : `spec.versions[${index}].schema.openAPIV3Schema`
    return [
      ...rootFaults(versions[index], schema, path),
      ...StructuralSchema.checkStructural(schema as StructuralSchema.Schema, path)
    ]
  })
}

const versionsFaults = (definition: unknown): Faults => {
  const versions = arrayAt(definition, "spec", "versions")
  const names = versions.map((version) => stringAt(version, "name"))
  const storage = storageVersions(definition)
  const faults: Array<FieldError.FieldError> = []
  for (const index of versions.keys()) {
    faults.push(...label(`spec.versions[${index}].name`, names[index]!))
    if (names.indexOf(names[index]!) < index) {
      faults.push(FieldError.invalid("spec.versions", names[index]!, "must contain unique version names"))
    }
  }
  if (storage.length !== 1) {
    faults.push(
      FieldError.invalid("spec.versions", versions, "must have exactly one version marked as storage version")
    )
  }
  return faults
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

const scopes = ["Cluster", "Namespaced"]

const validate: Strategy["validate"] = (definition) => {
  const group = stringAt(definition, "spec", "group")
  const scope = stringAt(definition, "spec", "scope")
  const name = `${stringAt(definition, "spec", "names", "plural")}.${group}`
  return [
    ...named(definition, name, "must be spec.names.plural+\".\"+spec.group"),
    ...needed("spec.group", group, Names.dnsSubdomain),
    ...(group !== "" && !group.includes(".")
      ? [FieldError.invalid("spec.group", group, "should be a domain with at least one dot")]
      : []),
    ...(scope === ""
      ? [FieldError.required("spec.scope", "")]
      : scopes.includes(scope)
      ? []
      : [FieldError.notSupported("spec.scope", scope, scopes)]),
    ...namesFaults(at(definition, "spec", "names")),
    ...versionsFaults(definition),
    ...DefinitionPaths.faults(definition),
    ...schemaFaults(definition),
    ...ConversionRules.faults(definition),
    ...(arrayAt(definition, "status", "storedVersions").length > 0
      ? []
      : [FieldError.invalid("status.storedVersions", [], "must have at least one stored version")]),
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

const validateUpdate: Strategy["validateUpdate"] = (next, previous) => {
  const fixed = conditionIsTrue(previous, "Established") ? ["scope", "group"] : ["group"]
  const changed = fixed.filter((key) => stringAt(next, "spec", key) !== stringAt(previous, "spec", key))
  const versions = new Set(arrayAt(next, "spec", "versions").map((version) => stringAt(version, "name")))
  const kind = stringAt(next, "spec", "names", "kind")
  return [
    ...changed.map((key) => FieldError.invalid(`spec.${key}`, stringAt(next, "spec", key), "field is immutable")),
    ...(conditionIsTrue(previous, "Established") && kind !== stringAt(previous, "spec", "names", "kind")
      ? [FieldError.invalid("spec.names.kind", kind, "field is immutable")]
      : []),
    ...arrayAt(next, "status", "storedVersions").flatMap((version, index) =>
      versions.has(String(version)) ? [] : [FieldError.invalid(
        `status.storedVersions[${index}]`,
        version,
        "must appear in spec.versions"
      )]
    ),
    ...ConversionRules.updateFaults(next, previous)
  ]
}

/** What the strategy of definitions has beyond the table. */
export const strategy: Partial<Strategy> = { prepareCreate, prepareUpdate, validate, validateUpdate }
