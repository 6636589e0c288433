/**
 * `MetadataRules`: which `metadata` an API server accepts on create and on update.
 *
 * These are the rules that all kinds share, with the messages of release 1.35. What the server does *before* it
 * validates is left to the caller: an update takes the stored creationTimestamp, generation and, once set,
 * deletionTimestamp, takes the stored uid if none is given, and reports a missing resourceVersion itself.
 *
 * Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go, and for built-in kinds validateKubeFinalizerName in
 * pkg/apis/core/validation.
 */
import type { ManagedFieldsEntry, OwnerReference, PartialObjectMeta } from "@effect-operator/core/KubeObject"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Names from "./Names.ts"

/** Which names a kind accepts. `any`: whatever a URL path can contain, checked elsewhere. */
export type NameRule = "subdomain" | "label" | "dns1035" | "pathSegment" | "any"

/** How the metadata of a new object is validated. */
export interface Options {
  readonly namespaced: boolean
  readonly nameRule: NameRule
  /** Built-in kinds refuse finalizers without a domain, except the standard ones; custom resources only warn. */
  readonly builtIn?: boolean
}

const rules: Readonly<Record<string, NameRule>> = {
  "/Namespace": "label",
  "/Service": "dns1035",
  "/Event": "pathSegment",
  "policy/PodDisruptionBudget": "pathSegment",
  "apps/StatefulSet": "label",
  "rbac.authorization.k8s.io/Role": "pathSegment",
  "rbac.authorization.k8s.io/RoleBinding": "pathSegment",
  "rbac.authorization.k8s.io/ClusterRole": "pathSegment",
  "rbac.authorization.k8s.io/ClusterRoleBinding": "pathSegment",
  "apiregistration.k8s.io/APIService": "pathSegment",
  "certificates.k8s.io/CertificateSigningRequest": "any",
  "certificates.k8s.io/ClusterTrustBundle": "any",
  "networking.k8s.io/IPAddress": "any"
}

/** The rule for names of a kind; `subdomain` for custom resources and most built-in kinds. */
export const nameRuleFor = (group: string, kind: string): NameRule =>
  (Object.hasOwn(rules, `${group}/${kind}`) ? rules[`${group}/${kind}`] : undefined) ?? "subdomain"

/** The faults of a name under a rule. A `prefix` is a `generateName`, to which characters will be appended. */
export const nameFaults = (rule: NameRule, name: string, prefix: boolean): ReadonlyArray<string> => {
  // A trailing dash is fine in a generateName, since it is not the end of the name.
  const masked = prefix && name.length > 1 && name.endsWith("-") ? `${name.slice(0, -2)}a` : name
  switch (rule) {
    case "subdomain":
      return Names.dnsSubdomain(masked)
    case "label":
      return Names.dnsLabel(masked)
    case "dns1035":
      return Names.dns1035Label(masked)
    case "pathSegment":
      return prefix ? Names.pathSegmentPrefix(name) : Names.pathSegment(name)
    case "any":
      return []
  }
}

const total = 256 * 1024

/** Faults in the metadata of a new object. `path` is the metadata's path, unless it is that of the object itself. */
export const validateObjectMeta = (
  meta: PartialObjectMeta,
  options: Options,
  path = "metadata"
): ReadonlyArray<FieldError.FieldError> => {
  const errors: Array<FieldError.FieldError> = []
  const { generateName, name, namespace } = meta
  if (generateName !== undefined && generateName !== "") {
    for (const fault of nameFaults(options.nameRule, generateName, true)) {
      errors.push(FieldError.invalid(`${path}.generateName`, generateName, fault))
    }
  }
  if (name === undefined || name === "") {
    errors.push(FieldError.required(`${path}.name`, "name or generateName is required"))
  } else {
    for (const fault of nameFaults(options.nameRule, name, false)) {
      errors.push(FieldError.invalid(`${path}.name`, name, fault))
    }
  }
  if (options.namespaced) {
    if (namespace === undefined || namespace === "") {
      errors.push(FieldError.required(`${path}.namespace`, ""))
    } else {
      for (const fault of Names.dnsLabel(namespace)) {
        errors.push(FieldError.invalid(`${path}.namespace`, namespace, fault))
      }
    }
  } else if (namespace !== undefined && namespace !== "") {
    errors.push(FieldError.forbidden(`${path}.namespace`, "not allowed on this type"))
  }
  if (meta.generation !== undefined && meta.generation < 0) {
    errors.push(FieldError.invalid(`${path}.generation`, meta.generation, "must be greater than or equal to 0"))
  }
  return [
    ...errors,
    ...validateLabels(meta.labels, `${path}.labels`),
    ...validateAnnotations(meta.annotations, `${path}.annotations`),
    ...validateOwnerReferences(meta.ownerReferences, `${path}.ownerReferences`),
    ...validateFinalizers(meta.finalizers, `${path}.finalizers`),
    ...validateManagedFields(meta.managedFields, `${path}.managedFields`),
    ...(options.builtIn === true ? validateStandardFinalizers(meta.finalizers, `${path}.finalizers`) : [])
  ]
}

/** Faults in the metadata of an update. Existing finalizers are not validated again. */
export const validateObjectMetaUpdate = (
  next: PartialObjectMeta,
  previous: PartialObjectMeta,
  options: { readonly builtIn?: boolean } = {},
  path = "metadata"
): ReadonlyArray<FieldError.FieldError> => {
  const errors: Array<FieldError.FieldError> = []
  if (previous.deletionTimestamp !== undefined) {
    const known = new Set(previous.finalizers)
    const added = [...new Set(next.finalizers)].filter((finalizer) => !known.has(finalizer)).sort()
    if (added.length > 0) {
      errors.push(FieldError.forbidden(
        `${path}.finalizers`,
        "no new finalizers can be added if the object is being deleted, found new finalizers " +
          `[]string{${added.map(FieldError.quote).join(", ")}}`
      ))
    }
  }
  if ((next.resourceVersion ?? "") === "") {
    errors.push(FieldError.invalid(`${path}.resourceVersion`, "", "must be specified for an update"))
  }
  if ((next.generation ?? 0) < (previous.generation ?? 0)) {
    errors.push(FieldError.invalid(`${path}.generation`, next.generation ?? 0, "must not be decremented"))
  }
  for (const [field, empty] of immutable) {
    const value = next[field] ?? empty
    if (value !== (previous[field] ?? empty)) {
      errors.push(FieldError.invalid(`${path}.${field}`, value, "field is immutable"))
    }
  }
  return [
    ...errors,
    ...validateLabels(next.labels, `${path}.labels`),
    ...validateAnnotations(next.annotations, `${path}.annotations`),
    ...validateOwnerReferences(next.ownerReferences, `${path}.ownerReferences`),
    ...validateManagedFields(next.managedFields, `${path}.managedFields`),
    ...(options.builtIn === true ? validateStandardFinalizers(next.finalizers, `${path}.finalizers`) : [])
  ]
}

/** The fields, with what Go prints if one is absent. */
const immutable = [
  ["name", ""],
  ["namespace", ""],
  ["uid", ""],
  ["creationTimestamp", null],
  ["deletionTimestamp", null],
  ["deletionGracePeriodSeconds", null]
] as const

/** Faults in labels; also for `spec.template.metadata.labels` and a selector's `matchLabels`. */
export const validateLabels = (
  labels: Readonly<Record<string, string>> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> =>
  Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...Names.labelKey(key).map((fault) => FieldError.invalid(path, key, fault)),
    ...Names.labelValue(value).map((fault) => FieldError.invalid(path, value, fault))
  ])

/** Faults in annotations: keys as label keys of any case, and at most 256 KiB of keys and values together. */
export const validateAnnotations = (
  annotations: Readonly<Record<string, string>> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> => {
  const errors: Array<FieldError.FieldError> = []
  let size = 0
  for (const [key, value] of Object.entries(annotations ?? {})) {
    size += Names.byteLength(key) + Names.byteLength(value)
    for (const fault of Names.labelKey(key.toLowerCase())) errors.push(FieldError.invalid(path, key, fault))
  }
  if (size > total) errors.push(FieldError.tooLong(path, total))
  return errors
}

/** Faults in the metadata of a template for a single object, which allows few fields. */
export const validateTemplateMeta = (
  metadata: JsonValue.JsonObject,
  path: string
): ReadonlyArray<FieldError.FieldError> => [
  ...validateAnnotations((metadata["annotations"] ?? {}) as Readonly<Record<string, string>>, `${path}.annotations`),
  ...validateLabels((metadata["labels"] ?? {}) as Readonly<Record<string, string>>, `${path}.labels`),
  ...Object.keys(metadata).filter((key) => key !== "labels" && key !== "annotations").map((key) =>
    FieldError.forbidden(`${path}.${key === "uid" ? "uID" : key}`, "cannot be set")
  )
]

/** Go's field order, in which values are printed. */
const ownerJson = (reference: OwnerReference): string => {
  const text = ["apiVersion", "kind", "name", "uid"] as const
  const flags = ["controller", "blockOwnerDeletion"] as const
  return `{${
    [
      ...text.map((field) => `${FieldError.goJson(field)}:${FieldError.goJson(reference[field] ?? "")}`),
      ...flags.filter((field) => reference[field] !== undefined).map((field) => `"${field}":${reference[field]}`)
    ].join(",")
  }}`
}

/** Faults in owner references. Their path has no index. */
export const validateOwnerReferences = (
  references: ReadonlyArray<OwnerReference> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> => {
  const errors: Array<FieldError.FieldError> = []
  let controller: string | undefined
  for (const reference of references ?? []) {
    const apiVersion = reference.apiVersion ?? ""
    const parts = apiVersion.split("/")
    const version = parts.length > 2 ? "" : parts.at(-1)!
    if (version === "") errors.push(FieldError.invalid(`${path}.apiVersion`, apiVersion, "version must not be empty"))
    for (const field of ["kind", "name", "uid"] as const) {
      if ((reference[field] ?? "") === "") errors.push(FieldError.invalid(`${path}.${field}`, "", "must not be empty"))
    }
    if (apiVersion === "v1" && reference.kind === "Event") {
      errors.push(FieldError.invalidPrinted(
        path,
        ownerJson(reference),
        "/v1, Kind=Event is disallowed from being an owner"
      ))
    }
    if (reference.controller === true) {
      const current = `${reference.kind ?? ""}/${reference.name ?? ""}`
      if (controller === undefined) {
        controller = current
      } else {
        errors.push(FieldError.invalidPrinted(
          path,
          `[${references!.map(ownerJson).join(",")}]`,
          "Only one reference can have Controller set to true. Found \"true\" in references for " +
            `${controller} and ${current}`
        ))
      }
    }
  }
  return errors
}

/** Faults in finalizers: qualified names, and not both deletion policies. */
export const validateFinalizers = (
  finalizers: ReadonlyArray<string> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> => {
  const list = finalizers ?? []
  const errors = list.flatMap((finalizer) =>
    Names.labelKey(finalizer).map((fault) => FieldError.invalid(path, finalizer, fault))
  )
  if (list.includes("orphan") && list.includes("foregroundDeletion")) {
    errors.push(FieldError.invalid(path, list, "finalizer orphan and foregroundDeletion cannot be both set"))
  }
  return errors
}

const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"])

const validateStandardFinalizers = (
  finalizers: ReadonlyArray<string> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> =>
  (finalizers ?? []).flatMap((finalizer, index) =>
    finalizer.includes("/") || standardFinalizers.has(finalizer) ? [] : [FieldError.invalid(
      `${path}[${index}]`,
      finalizer,
      "name is neither a standard finalizer name nor is it fully qualified"
    )]
  )

/** Faults in an item of a Namespace's `spec.finalizers`. */
export const validateFinalizerName = (name: string, path: string): ReadonlyArray<FieldError.FieldError> => [
  ...Names.labelKey(name).map((fault) => FieldError.invalid(path, name, fault)),
  ...(name.includes("/") || standardFinalizers.has(name)
    ? []
    : [FieldError.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")])
]

/** The texts of the Warning headers for unusual finalizers that a write adds to a custom resource. */
export const finalizerWarnings = (
  finalizers: ReadonlyArray<string> | undefined,
  previous: ReadonlyArray<string> | undefined
): ReadonlyArray<string> =>
  [...new Set(finalizers)].filter((finalizer) => !(previous ?? []).includes(finalizer)).sort().flatMap((finalizer) => {
    const faults = [...Names.labelKey(finalizer)]
    if (!finalizer.includes("/") && !standardFinalizers.has(finalizer)) {
      const path = finalizer.includes(".") ? " including a path (/)" : ""
      faults.push(
        `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`
      )
    }
    return faults.map((fault) => `metadata.finalizers: ${FieldError.quote(finalizer)}: ${fault}`)
  })

/** Fast path: a name of a field manager that is certainly valid, as most are. */
const plainManager = /^[ -~]{0,128}$/

/** Fast path: whether an entry is certainly valid, as most are. */
const isPlain = ({ fieldsType, manager = "", operation, subresource = "" }: ManagedFieldsEntry): boolean =>
  (operation === "Update" || operation === "Apply") && fieldsType === "FieldsV1" && subresource.length < 64 &&
  plainManager.test(manager)

/** Faults in managedFields that a client sent. */
export const validateManagedFields = (
  entries: ReadonlyArray<ManagedFieldsEntry> | undefined,
  path: string
): ReadonlyArray<FieldError.FieldError> =>
  entries === undefined || entries.every(isPlain) ? [] : entries.flatMap((entry, index) => {
    const errors: Array<FieldError.FieldError> = []
    const at = `${path}[${index}]`
    const operation = entry.operation ?? ""
    if (operation !== "Apply" && operation !== "Update") {
      errors.push(FieldError.invalid(`${at}.operation`, operation, "must be `Apply` or `Update`"))
    }
    const fieldsType = entry.fieldsType ?? ""
    if (fieldsType !== "" && fieldsType !== "FieldsV1") {
      errors.push(FieldError.invalid(`${at}.fieldsType`, fieldsType, "must be `FieldsV1`"))
    }
    errors.push(...validateFieldManager(entry.manager ?? "", `${at}.manager`))
    if (Names.byteLength(entry.subresource ?? "") > 256) errors.push(FieldError.tooLong(`${at}.subresource`, 256))
    return errors
  })

/** Faults in the name of a field manager: at most 128 printable characters. */
export const validateFieldManager = (manager: string, path: string): ReadonlyArray<FieldError.FieldError> => {
  if (plainManager.test(manager)) return []
  const errors: Array<FieldError.FieldError> = []
  if (Names.byteLength(manager) > 128) errors.push(FieldError.tooLong(path, 128))
  let position = 0
  for (const char of manager) {
    if (!FieldError.isPrintable(char)) {
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")
      errors.push(FieldError.invalid(path, manager, `invalid character U+${code} (at position ${position})`))
    }
    position += Names.byteLength(char)
  }
  return errors
}

/** The same text for equal references. */
const ownerKey = ({ apiVersion, blockOwnerDeletion, controller, kind, name, uid }: OwnerReference): string =>
  JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion])

/** The list without duplicates, and whether there were any (the server then sends a Warning header). */
export const dedupeOwnerReferences = (
  references: ReadonlyArray<OwnerReference>
): { readonly references: ReadonlyArray<OwnerReference>; readonly repeated: boolean } => {
  const kept = [...new Map(references.map((reference) => [ownerKey(reference), reference])).values()]
  return { references: kept, repeated: kept.length < references.length }
}
