/**
 * `NamedFormats`: formats of names and other texts, `format.dns1123Label().validate(text)`.
 *
 * The result is none for a valid text, otherwise an optional list of errors.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/format.go.
 */
import * as SchemaFormats from "../../schema/SchemaFormats.ts"
import * as Names from "../../api/Names.ts"
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { list, none, Opaque, Optional, type Value } from "../Values.ts"
import * as Urls from "./Urls.ts"

interface Format {
  readonly faults: (text: string) => ReadonlyArray<string>
  /** The size of the regular expression on which the cost of a validation depends. */
  readonly regexSize: number
}

const type = named("format", Types.struct("kubernetes.NamedFormat"))

/** A prefix of a name may end with a dash. */
const asPrefix = (faults: (text: string) => ReadonlyArray<string>) => (text: string) =>
  faults(text.endsWith("-") && text.length > 1 ? `${text.slice(0, -2)}a` : text)

const known = (name: string, complaint: string) => (text: string) => SchemaFormats.rule(name)!(text) ? [] : [complaint]

const uri = (text: string): ReadonlyArray<string> => {
  const url = Urls.parse(text)
  return "wrong" in url ? [url.wrong] : []
}

const make = (name: string, regexSize: number, faults: Format["faults"]): Opaque<Format> =>
  new Opaque(type, { faults, regexSize }, name)

const formats: Readonly<Record<string, Opaque<Format>>> = {
  dns1123Label: make("DNS1123Label", 30, Names.dnsLabel),
  dns1123Subdomain: make("DNS1123Subdomain", 60, Names.dnsSubdomain),
  dns1035Label: make("DNS1035Label", 30, Names.dns1035Label),
  qualifiedName: make("QualifiedName", 60, Names.labelKey),
  dns1123LabelPrefix: make("DNS1123LabelPrefix", 30, asPrefix(Names.dnsLabel)),
  dns1123SubdomainPrefix: make("DNS1123SubdomainPrefix", 60, asPrefix(Names.dnsSubdomain)),
  dns1035LabelPrefix: make("DNS1035LabelPrefix", 30, asPrefix(Names.dns1035Label)),
  labelValue: make("LabelValue", 40, Names.labelValue),
  uri: make("URI", 1103, uri),
  uuid: make("uuid", 72, known("uuid", "does not match the UUID format")),
  byte: make("byte", 84, known("byte", "invalid base64")),
  date: make("date", 72, known("date", "invalid date")),
  datetime: make("datetime", 72, known("datetime", "invalid datetime"))
}

const validate = ({ data }: Opaque<Format>, text: string): Value => {
  const faults = data.faults(text)
  return faults.length === 0 ? none : new Optional(list(faults))
}

export const namedFormats: ReadonlyArray<FunctionDeclaration> = [
  define("validate", overload("format-validate", "format.(string) optional<list<string>>", validate)),
  define(
    "format.named",
    overload(
      "format-named",
      "(string) optional<format>",
      (name: string) => Object.hasOwn(formats, name) ? new Optional(formats[name]!) : none
    )
  ),
  ...Object.entries(formats).map(([name, format]) =>
    define(`format.${name}`, overload(`format.${name}`, "() format", () => format))
  )
]
