/**
 * `Checks`: the checks that many kinds share.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"

export type Faults = ReadonlyArray<FieldError.FieldError>

/** One fault for each message. */
export const invalids = (path: string, value: unknown, texts: ReadonlyArray<string>): Faults =>
  texts.map((text) => FieldError.invalid(path, value, text))

/** The faults, if a condition holds. */
export const when = (condition: boolean, ...faults: Faults): Faults => (condition ? faults : [])

/** Fields that are required. */
export const required = (object: unknown, path: string, ...fields: ReadonlyArray<string>): Faults =>
  fields.filter((field) => (at(object, field) ?? "") === "").map((field) => FieldError.required(`${path}.${field}`, ""))

/** A required field with one of the values. */
export const oneOf = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [FieldError.required(`${path}.${field}`, "")] : oneOfGiven(object, field, path, values)
}

/** A field with one of the values. An empty string is reported as unsupported, too. */
export const oneOfGiven = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults => {
  const value = stringAt(object, field)
  return values.includes(value) ? [] : [FieldError.notSupported(`${path}.${field}`, value, values)]
}

/** `oneOfGiven` for a field that may be missing. */
export const optional = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults =>
  at(object, field) === undefined ? [] : oneOfGiven(object, field, path, values)

/** An optional name of another object. */
export const subdomain = (object: unknown, field: string, path: string): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [] : invalids(`${path}.${field}`, value, Names.dnsSubdomain(value))
}

const given =
  (rule: (name: string) => ReadonlyArray<string>) => (object: unknown, field: string, path: string): Faults => {
    const value = at(object, field)
    return typeof value === "string" ? invalids(`${path}.${field}`, value, rule(value)) : []
  }

/** `subdomain` and `label` for fields in which an empty string is not the same as a missing value. */
export const givenSubdomain = given(Names.dnsSubdomain)
export const givenLabel = given(Names.dnsLabel)

/** `subdomain` for a name without dots. */
export const label = (object: unknown, field: string, path: string): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [] : invalids(`${path}.${field}`, value, Names.dnsLabel(value))
}

const address = /^(?:(?:25[0-5]|2[0-4]\d|[01]?\d?\d)(?:\.(?!$)|$)){4}$/

/** Whether a string is an address of either family. */
export const isAddress = (text: string): boolean => address.test(text) || isAddress6(text)

/** Whether a string is an IPv6 address. */
export const isAddress6 = (text: string): boolean =>
  text.includes(":") && !text.includes("%") && URL.canParse(`http://[${text}]/`)

export const notAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

/** Faults of an address. */
export const ip = (path: string, text: string): Faults =>
  isAddress(text) ? [] : [FieldError.invalid(path, text, notAddress)]

const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"

/** Faults of a domain-prefixed path such as `acme.io/foo`. */
export const domainPath = (path: string, name: string): Faults => {
  if (name === "") return [FieldError.required(path, "")]
  const slash = name.indexOf("/")
  const [host, rest] = slash < 0 ? ["", ""] : [name.slice(0, slash), name.slice(slash + 1)]
  if (host === "" || rest === "") {
    return [FieldError.invalid(path, name, "must be a domain-prefixed path (such as \"acme.io/foo\")")]
  }
  return [
    ...invalids(path, host, Names.dnsSubdomain(host)),
    ...when(
      !new RegExp(`^${pathFormat}$`).test(rest),
      FieldError.invalid(path, rest, `Invalid path (regex used for validation is '${pathFormat}')`)
    )
  ]
}

/** Required names that may be any path segment. */
export const segment = (object: unknown, path: string, ...fields: ReadonlyArray<string>): Faults =>
  fields.flatMap((field) => {
    const value = stringAt(object, field)
    return value === ""
      ? [FieldError.required(`${path}.${field}`, "")]
      : invalids(`${path}.${field}`, value, Names.pathSegment(value))
  })

/** An object whose name is determined by its other fields. A missing name is reported elsewhere. */
export const named = ({ metadata }: KubeObject, name: string, message: string): Faults =>
  (["generateName", "name"] as const).flatMap((field) => {
    const given = metadata[field] ?? ""
    return when(given !== "" && given !== name, FieldError.invalid(`metadata.${field}`, given, message))
  })
