/**
 * `TemplateHash`: the hash of a Pod template in the names of ReplicaSets and of DaemonSet revisions.
 *
 * A real controller hashes the template as Go's spew prints the struct, with all fields and type names. This does the
 * same with the structs of Kubernetes 1.35, so a template has the same hash as in a cluster of that version. Other
 * versions have other fields, and so other hashes. Inexact for quantities beyond 64 bits, and for those with fractions
 * of binary units.
 *
 * Source: k8s.io/kubernetes/pkg/controller/controller_utils.go (ComputeHash), pkg/util/hash;
 * github.com/davecgh/go-spew.
 */
import type { PodTemplateSpec } from "../../kinds/core.v1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { goPodTemplate } from "./GoPodTemplate.ts"
import { fnv1a, safe, utf8 } from "./Hash.ts"

interface Field {
  readonly name: string
  /** `""` for embedded fields. */
  readonly json: string
  readonly type: string
  /** The kind of a named type other than a struct. */
  readonly kind: string
}

type Structs = ReadonlyMap<string, ReadonlyArray<Field>>

const parseField = (text: string): Field => {
  const [, name = "", json, type = "", kind = ""] = /^(\w+)(?:=(\w*))?:([^/]+)(?:\/(\w+))?$/.exec(text) ?? []
  return { name, json: json ?? name[0]!.toLowerCase() + name.slice(1), type, kind }
}

/** Parses the structs in `GoPodTemplate`. */
export const parseStructs = (table: string): Structs =>
  new Map(
    table.trim().split("\n").map((line) => {
      const [name = "", ...fields] = line.split(" ")
      return [name, fields.map(parseField)]
    })
  )

let structs: Structs | undefined

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

const time = "{wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}"

const decimals: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }

/** A quantity as spew prints the struct. */
const quantity = (value: unknown): string => {
  const text = isEmpty(value) ? "" : String(value)
  const [, sign = "", whole = "", fraction = "", suffix = ""] =
    /^([+-]?)(\d*)(?:\.(\d*))?([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/.exec(text) ?? []
  const binary = suffix.endsWith("i") ? "KMGTPE".indexOf(suffix[0]!) + 1 : 0
  const exponent = binary > 0 ? 0 : decimals[suffix] ?? Number(suffix.slice(1))
  const amount = BigInt(`${whole.replace(/^0+/, "")}${fraction}` || "0") * 1024n ** BigInt(binary)
  const format = text === "" ? "" : binary > 0 ? "BinarySI" : /^e/i.test(suffix) ? "DecimalExponent" : "DecimalSI"
  return `{i:(resource.int64Amount){value:(int64)${sign === "-" ? -amount : amount} ` +
    `scale:(resource.Scale)${exponent - fraction.length}} ` +
    `d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)${
      fraction === "" ? text : ""
    } Format:(resource.Format)${format}}`
}

const intOrString = (value: unknown): string =>
  typeof value === "string"
    ? `{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)${value}}`
    : `{Type:(intstr.Type)0 IntVal:(int32)${Number(value ?? 0)} StrVal:(string)}`

const maps: Readonly<Record<string, string>> = {
  "map[string]string": "string",
  "v1.ResourceList": "resource.Quantity"
}

/** A value without its type, as spew prints it in a list or map, or after the type. */
const body = (all: Structs, type: string, kind: string, value: unknown): string => {
  if (type.startsWith("*")) return isAbsent(value) ? "<nil>" : body(all, type.slice(1), kind, value)
  if (type === "[]uint8") return isEmpty(value) ? "<nil>" : String(value)
  if (type.startsWith("[]")) {
    if (!Array.isArray(value) || value.length === 0) return "<nil>"
    return `[${value.map((item) => body(all, type.slice(2), kind, item)).join(" ")}]`
  }
  const values = maps[type]
  if (values !== undefined) {
    const entries = JsonValue.isObject(value) ? Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1) : []
    if (entries.length === 0) return "<nil>"
    return `map[${entries.map(([key, item]) => `${key}:${body(all, values, "", item)}`).join(" ")}]`
  }
  switch (type) {
    case "v1.Time":
      return `{Time:(time.Time)${time}}`
    case "resource.Quantity":
      return quantity(value)
    case "intstr.IntOrString":
      return intOrString(value)
  }
  const fields = all.get(type)
  if (fields !== undefined) {
    return `{${fields.map((field) => `${field.name}:${printField(all, field, value)}`).join(" ")}}`
  }
  const scalar = kind === "" ? type : kind
  if (scalar === "bool") return String(value === true)
  return scalar === "string" ? String(value ?? "") : String(value ?? 0)
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

const printField = (all: Structs, { json, kind, type }: Field, value: unknown): string => {
  const own = JsonValue.isObject(value) ? value : {}
  return `(${type})${body(all, type, kind, json === "" ? own : JsonValue.get(own, json))}`
}

/** The template as spew prints it. */
export const print = (all: Structs, template: PodTemplateSpec | undefined): string =>
  `(v1.PodTemplateSpec)${body(all, "v1.PodTemplateSpec", "", template)}`

/** The hash of a template; `collisions` changes it. */
export const templateHash = (template: PodTemplateSpec | undefined, collisions: number | undefined): string => {
  structs ??= parseStructs(goPodTemplate)
  const hash = fnv1a(utf8(print(structs, template)))
  if (collisions === undefined) return safe(hash)
  const suffix = new Uint8Array(8)
  new DataView(suffix.buffer).setUint32(0, collisions, true)
  return safe(fnv1a(suffix, hash))
}
