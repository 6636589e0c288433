/**
 * `GoInternal`: prints a part of an object in its internal Go type, as the server does when it refuses the part as a
 * whole.
 *
 * It does the same as `GoStruct` for types with so many nested types that their fields come from a generated table
 * (`kinds/goInternal`). Metadata and selectors have the same type in the API and are printed as in it.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import { table } from "../../../kinds/goInternal.ts"
import { goJson, goJsonInOrder } from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import { written } from "./PatchedDocument.ts"

interface Field {
  /** Empty for the struct's own fields. */
  readonly name: string
  readonly type: string
}

let parsed: ReadonlyMap<string, ReadonlyArray<Field>> | undefined

const structs = (): ReadonlyMap<string, ReadonlyArray<Field>> =>
  parsed ??= new Map(
    table.trim().split("\n").map((line) => {
      const [name = "", ...fields] = line.split(" ")
      return [
        name,
        fields.map((field) => {
          const colon = field.indexOf(":")
          return { name: field.slice(0, colon), type: field.slice(colon + 1) }
        })
      ]
    })
  )

/** API names that differ from the field names in more than case. */
const renamed: Readonly<Record<string, string>> = {
  "core.AzureDiskVolumeSource DataDiskURI": "diskURI",
  "core.GlusterfsVolumeSource EndpointsName": "endpoints",
  "core.ISCSIVolumeSource DiscoveryCHAPAuth": "chapAuthDiscovery",
  "core.ISCSIVolumeSource SessionCHAPAuth": "chapAuthSession",
  "core.RBDVolumeSource CephMonitors": "monitors",
  "core.RBDVolumeSource RBDImage": "image",
  "core.RBDVolumeSource RBDPool": "pool",
  "core.RBDVolumeSource RadosUser": "user"
}

const metadata = "metav1.ObjectMeta"

/** Fields that the API has in the Pod spec and the internal type in its security context. */
const hosts = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"]

const valueOf = (type: string, name: string, object: JsonValue.JsonObject): unknown => {
  if (type === "core.PodSpec" && name === "SecurityContext") {
    const context = { ...objectAt(object, "securityContext") }
    for (const host of hosts) if (object[host] !== undefined) context[host] = object[host]
    return object["securityContext"] === undefined && Object.keys(context).length === 0 ? undefined : context
  }
  const lower = (renamed[`${type} ${name}`] ?? name).toLowerCase()
  const key = Object.keys(object).find((key) => key.toLowerCase() === lower)
  return key === undefined ? undefined : object[key]
}

const ofApi = (type: string, value: unknown): string =>
  goJsonInOrder(written(value, { ref: `io.k8s.apimachinery.pkg.apis.meta.v1.${type.slice("metav1.".length)}` }))

const fieldsOf = (type: string, value: unknown): ReadonlyArray<string> => {
  const object = objectAt(value)
  return (structs().get(type) ?? []).flatMap(({ name, type: inner }) => {
    if (name !== "") return [`${goJson(name)}:${print(inner, valueOf(type, name, object))}`]
    if (inner !== metadata) return fieldsOf(inner, object)
    const text = ofApi(inner, at(object, "metadata") ?? {}).slice(1, -1)
    return text === "" ? [] : [text]
  })
}

/** The text of a value of a type such as `core.PodTemplateSpec`. */
export const print = (type: string, value: unknown): string => {
  const absent = value === undefined || value === null
  if (type.startsWith("*")) return absent ? "null" : print(type.slice(1), value)
  if (type.startsWith("[]")) {
    return Array.isArray(value) ? `[${value.map((item) => print(type.slice(2), item)).join(",")}]` : "null"
  }
  if (type.startsWith("map:")) {
    const map = objectAt(value)
    const entries = Object.keys(map).toSorted().map((key) => `${goJson(key)}:${print(type.slice(4), map[key])}`)
    return absent ? "null" : `{${entries.join(",")}}`
  }
  if (structs().has(type)) return `{${fieldsOf(type, value).join(",")}}`
  if (type.startsWith("metav1.")) return ofApi(type, value ?? {})
  switch (type) {
    case "bool":
      return String(value === true)
    case "string":
      return goJson(absent ? "" : value)
    case "resource.Quantity":
      return goJson(absent ? "0" : String(value))
    default:
      return goJson(absent ? 0 : value)
  }
}
