/**
 * `EnvironmentRules`: validates environment variables, and the fields and resources of a Pod that variables and files
 * can expose.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateEnv`, `ValidateEnvFrom`.
 */
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import * as Quantity from "../../../../api/Quantity.ts"
import { type Faults, invalids, required } from "../Checks.ts"
import { keyFaults } from "../ContentRules.ts"
import * as PathRules from "./PathRules.ts"

const variableName = (name: string): ReadonlyArray<string> =>
  /^[\x20-\x3c\x3e-\x7e]*$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]

const keySelector = (path: string, selector: unknown): Faults => {
  const name = stringAt(selector, "name")
  const key = stringAt(selector, "key")
  return [
    ...invalids(`${path}.name`, name, Names.dnsSubdomain(name)),
    ...(key === "" ? [FieldError.required(`${path}.key`, "")] : invalids(`${path}.key`, key, keyFaults(key)))
  ]
}

const fileSelector = (path: string, selector: unknown): Faults => {
  const [key, volume, file] = ["key", "volumeName", "path"].map((field) => stringAt(selector, field)) as [
    string,
    string,
    string
  ]
  return [
    ...(key === "" ? required(selector, path, "key") : invalids(`${path}.key`, key, variableName(key))),
    ...(volume === ""
      ? required(selector, path, "volumeName")
      : invalids(`${path}.volumeName`, volume, Names.dnsLabel(volume))),
    ...(file === "" ? required(selector, path, "path") : PathRules.noBacksteps(file, `${path}.path`))
  ]
}

/** Fields that variables can expose, and those that files can. */
const ofVariables = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs"
]

const ofFiles = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"]

const known: ReadonlySet<string> = new Set([
  ...ofVariables,
  ...ofFiles,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase"
])

const fieldRef = (path: string, reference: unknown, shown: ReadonlyArray<string>): Faults => {
  const version = stringAt(reference, "apiVersion")
  const field = stringAt(reference, "fieldPath")
  if (field === "") return required(reference, path, "fieldPath")
  const invalid = (
    why: string
  ) => [FieldError.invalid(`${path}.fieldPath`, field, `error converting fieldPath: ${why}`)]
  if (version !== "" && version !== "v1") return invalid(`unsupported pod version: ${version}`)
  const [, map, key] = /^(.+?)\['(.*)'\]$/s.exec(field) ?? []
  if (map !== undefined && key !== undefined) {
    return map === "metadata.annotations" || map === "metadata.labels"
      ? Names.labelKey(map === "metadata.annotations" ? key.toLowerCase() : key).map((fault) =>
        FieldError.invalid(path, map === "metadata.annotations" ? key.toLowerCase() : key, fault)
      )
      : invalid(`field label does not support subscript: ${field}`)
  }
  return shown.includes(field)
    ? []
    : known.has(field)
    ? [FieldError.notSupported(`${path}.fieldPath`, field, shown)]
    : invalid(`field label not supported: ${field}`)
}

const resourceFields = ["limits", "requests"].flatMap((kind) =>
  ["cpu", "ephemeral-storage", "memory"].map((name) => `${kind}.${name}`)
)

const bytes = ["1", ...["k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((unit) => `1${unit}`)]

/** The divisors of each resource. */
const units: ReadonlyArray<readonly [resource: RegExp, name: string, values: ReadonlyArray<string>]> = [
  [/^(?:limits|requests)\.cpu$/, "cpu", ["1m", "1"]],
  [/^(?:limits|requests)\.memory$/, "memory", bytes],
  [/^(?:limits|requests)\.ephemeral-storage$/, "local ephemeral storage", bytes],
  [/^(?:limits|requests)\.hugepages-/, "hugepages", bytes]
]

const divisorFaults = (path: string, resource: string, divisor: unknown): Faults => {
  if (divisor === undefined || Quantity.compare(String(divisor), "0") === 0) return []
  return units.filter(([pattern, , values]) => pattern.test(resource) && !values.includes(String(divisor))).map((
    [, name, values]
  ) => {
    const listed = name === "cpu" ? values.join(" and ") : values.join(", ")
    return FieldError.invalid(
      `${path}.divisor`,
      resource,
      `only divisor's values ${listed} are supported with the ${name} resource`
    )
  })
}

const resourceFieldRef = (path: string, reference: unknown, needsContainer: boolean): Faults => {
  const resource = stringAt(reference, "resource")
  return [
    ...(needsContainer && stringAt(reference, "containerName") === ""
      ? required(reference, path, "containerName")
      : resource === ""
      ? required(reference, path, "resource")
      : resourceFields.includes(resource) || /^(?:limits|requests)\.hugepages-/.test(resource)
      ? []
      : [FieldError.notSupported(`${path}.resource`, resource, resourceFields)]),
    ...divisorFaults(path, resource, at(reference, "divisor"))
  ]
}

/** Faults of a downward API file. */
export const fileFaults = (file: unknown, path: string): Faults => {
  const [field, resource] = [at(file, "fieldRef"), at(file, "resourceFieldRef")]
  return [
    ...required(file, path, "path"),
    ...PathRules.nonReserved(stringAt(file, "path"), `${path}.path`),
    ...(field !== undefined
      ? [
        ...fieldRef(`${path}.fieldRef`, field, ofFiles),
        ...(resource === undefined ? [] : [
          FieldError.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        ])
      ]
      : resource !== undefined
      ? resourceFieldRef(`${path}.resourceFieldRef`, resource, true)
      : [FieldError.required(path, "one of fieldRef and resourceFieldRef is required")]),
    ...PathRules.mode(file, "mode", path)
  ]
}

const sources: Readonly<Record<string, (path: string, reference: unknown) => Faults>> = {
  fieldRef: (path, reference) => fieldRef(path, reference, ofVariables),
  resourceFieldRef: (path, reference) => resourceFieldRef(path, reference, false),
  configMapKeyRef: keySelector,
  secretKeyRef: keySelector,
  fileKeyRef: fileSelector
}

const valueFrom = (path: string, entry: unknown): Faults => {
  const from = at(entry, "valueFrom")
  if (from === undefined) return []
  const given = Object.keys(sources).filter((source) => at(from, source) !== undefined)
  const whole = given.length === 0
    ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    : stringAt(entry, "value") !== ""
    ? "may not be specified when `value` is not empty"
    : given.length > 1
    ? "may not have more than one field specified at a time"
    : undefined
  return [
    ...given.flatMap((source) => sources[source]!(`${path}.${source}`, at(from, source))),
    ...(whole === undefined ? [] : [FieldError.invalid(path, "", whole)])
  ]
}

/** Faults of `env`. */
export const variables = (container: unknown, path: string): Faults =>
  arrayAt(container, "env").flatMap((entry, index) => {
    const here = `${path}.env[${index}]`
    const name = stringAt(entry, "name")
    return [
      ...(name === "" ? required(entry, here, "name") : invalids(`${here}.name`, name, variableName(name))),
      ...valueFrom(`${here}.valueFrom`, entry)
    ]
  })

/** Faults of variables from files, which must be in an `emptyDir` volume of the Pod. */
export const fileVolumes = (container: unknown, path: string, volumes: ReadonlyArray<unknown>): Faults =>
  arrayAt(container, "env").flatMap((entry, index) => {
    const name = at(entry, "valueFrom", "fileKeyRef", "volumeName")
    if (at(entry, "valueFrom", "fileKeyRef") === undefined) return []
    const here = `${path}.env[${index}].valueFrom.fileKeyRef.volumeName`
    const volume = volumes.findLast((volume) => stringAt(volume, "name") === (name ?? ""))
    return volume === undefined
      ? [FieldError.notFound(here, name ?? "")]
      : at(volume, "emptyDir") === undefined
      ? [FieldError.invalid(here, name, "referenced volume must be of type emptyDir")]
      : []
  })

/** A name prefix must be a valid name, except that it may end with a dash. */
const nameStart = (name: string): ReadonlyArray<string> =>
  Names.dnsSubdomain(name.length > 1 && name.endsWith("-") ? `${name.slice(0, -1)}a` : name)

/** Faults of `envFrom`. */
export const variablesFrom = (container: unknown, path: string): Faults =>
  arrayAt(container, "envFrom").flatMap((entry, index) => {
    const here = `${path}.envFrom[${index}]`
    const prefix = stringAt(entry, "prefix")
    const given = ["configMapRef", "secretRef"].filter((source) => at(entry, source) !== undefined)
    const whole = given.length === 0
      ? "must specify one of: `configMapRef` or `secretRef`"
      : given.length > 1
      ? "may not have more than one field specified at a time"
      : undefined
    return [
      ...invalids(`${here}.prefix`, prefix, variableName(prefix)),
      ...given.flatMap((source) => {
        const name = stringAt(entry, source, "name")
        return name === ""
          ? required(at(entry, source), `${here}.${source}`, "name")
          : invalids(`${here}.${source}.name`, name, nameStart(name))
      }),
      ...(whole === undefined ? [] : [FieldError.invalid(`${path}.envFrom`, "", whole)])
    ]
  })
