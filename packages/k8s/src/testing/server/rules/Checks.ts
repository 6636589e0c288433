/**
 * `Checks`: the few questions that validation asks again and again.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"

export type Faults = ReadonlyArray<FieldError.FieldError>

/** One fault for each text. */
export const invalids = (path: string, value: unknown, texts: ReadonlyArray<string>): Faults =>
  texts.map((text) => FieldError.invalid(path, value, text))

/** The faults, where a condition holds. */
export const when = (condition: boolean, ...faults: Faults): Faults => (condition ? faults : [])

/** A field that must be there. */
export const required = (object: unknown, path: string, ...fields: ReadonlyArray<string>): Faults =>
  fields.filter((field) => (at(object, field) ?? "") === "").map((field) => FieldError.required(`${path}.${field}`, ""))

/** A field that must be there and one of the values. */
export const oneOf = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [FieldError.required(`${path}.${field}`, "")] : oneOfGiven(object, field, path, values)
}

/** A field that is one of the values, and is told so where it is empty, too. */
export const oneOfGiven = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults => {
  const value = stringAt(object, field)
  return values.includes(value) ? [] : [FieldError.notSupported(`${path}.${field}`, value, values)]
}

/** As `oneOfGiven`, of a field that need not be there. */
export const optional = (object: unknown, field: string, path: string, values: ReadonlyArray<string>): Faults =>
  at(object, field) === undefined ? [] : oneOfGiven(object, field, path, values)

/** Names of other objects, where they are given. */
export const subdomain = (object: unknown, field: string, path: string): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [] : invalids(`${path}.${field}`, value, Names.dnsSubdomain(value))
}

const given =
  (rule: (name: string) => ReadonlyArray<string>) => (object: unknown, field: string, path: string): Faults => {
    const value = at(object, field)
    return typeof value === "string" ? invalids(`${path}.${field}`, value, rule(value)) : []
  }

/** As `subdomain` and `label`, of fields whose empty text is not taken for none. */
export const givenSubdomain = given(Names.dnsSubdomain)
export const givenLabel = given(Names.dnsLabel)

/** As `subdomain`, of a name without dots. */
export const label = (object: unknown, field: string, path: string): Faults => {
  const value = stringAt(object, field)
  return value === "" ? [] : invalids(`${path}.${field}`, value, Names.dnsLabel(value))
}

const address = /^(?:(?:25[0-5]|2[0-4]\d|[01]?\d?\d)(?:\.(?!$)|$)){4}$/

/** True of an address of either family. */
export const isAddress = (text: string): boolean => address.test(text) || isAddress6(text)

/** True of an IPv6 address. */
export const isAddress6 = (text: string): boolean =>
  text.includes(":") && !text.includes("%") && URL.canParse(`http://[${text}]/`)

export const notAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

/** Faults of an address. */
export const ip = (path: string, text: string): Faults =>
  isAddress(text) ? [] : [FieldError.invalid(path, text, notAddress)]

const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"

/** Faults of a name below a domain, such as `acme.io/foo`. */
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

/** Names that may be anything that is one segment of a path; they must be there. */
export const segment = (object: unknown, path: string, ...fields: ReadonlyArray<string>): Faults =>
  fields.flatMap((field) => {
    const value = stringAt(object, field)
    return value === ""
      ? [FieldError.required(`${path}.${field}`, "")]
      : invalids(`${path}.${field}`, value, Names.pathSegment(value))
  })

/** An object whose other fields say how it is called. One without any name is told elsewhere. */
export const named = ({ metadata }: KubeObject, name: string, message: string): Faults =>
  (["generateName", "name"] as const).flatMap((field) => {
    const given = metadata[field] ?? ""
    return when(given !== "" && given !== name, FieldError.invalid(`metadata.${field}`, given, message))
  })
