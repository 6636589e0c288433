/**
 * `UrlRules`: validates the URL of a webhook, or its reference to a Service.
 *
 * Source: k8s.io/apiserver/pkg/util/webhook/validation.go.
 */
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

interface Parts {
  readonly scheme: string
  readonly host: string
  readonly user: string | undefined
  readonly query: string
  readonly fragment: string
}

/** The parts of a URL as Go parses it, or the parse error. */
const parse = (url: string): Parts | string => {
  if (/[\p{Cc}]/u.test(url)) return "net/url: invalid control character in URL"
  const [, withoutFragment = "", fragment = ""] = /^([^#]*)#?(.*)$/s.exec(url) ?? []
  if (withoutFragment.startsWith(":")) return "missing protocol scheme"
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(withoutFragment)?.[1] ?? ""
  const [, rest = "", query = ""] = /^([^?]*)\??(.*)$/s.exec(
    scheme === "" ? withoutFragment : withoutFragment.slice(scheme.length + 1)
  ) ?? []
  if (!rest.startsWith("//")) {
    return scheme === "" && rest.split("/")[0]!.includes(":")
      ? "first path segment in URL cannot contain colon"
      : { scheme: scheme.toLowerCase(), host: "", user: undefined, query, fragment }
  }
  const authority = rest.slice(2).split("/")[0]!
  const sign = authority.lastIndexOf("@")
  const host = authority.slice(sign + 1)
  const port = /:([^:\]]*)$/.exec(host)?.[1] ?? ""
  return /^\d*$/.test(port)
    ? { scheme: scheme.toLowerCase(), host, user: sign < 0 ? undefined : authority.slice(0, sign), query, fragment }
    : `invalid port ${FieldError.quote(`:${port}`)} after host`
}

const form = "; desired format: https://host[/path]"

/** Faults of a URL, which must be https and have only a host and a path. */
export const urlFaults = (url: string, path: string): Faults => {
  const parts = parse(url)
  if (typeof parts === "string") {
    return [FieldError.required(path, `url must be a valid URL: parse ${FieldError.quote(url)}: ${parts}${form}`)]
  }
  const { fragment, host, query, scheme, user } = parts
  return [
    ...(scheme === "https" ? [] : [FieldError.invalid(path, scheme, `'https' is the only allowed URL scheme${form}`)]),
    ...(host === "" ? [FieldError.invalid(path, host, `host must be specified${form}`)] : []),
    ...(user === undefined ? [] : [FieldError.invalid(path, user, "user information is not permitted in the URL")]),
    ...(fragment === "" ? [] : [FieldError.invalid(path, fragment, "fragments are not permitted in the URL")]),
    ...(query === "" ? [] : [FieldError.invalid(path, query, "query parameters are not permitted in the URL")])
  ]
}

const pathFaults = (path: string, field: string): Faults => {
  if (path === "" || path === "/") return []
  if (path === "//") return [FieldError.invalid(field, path, "segment[0] may not be empty")]
  return [
    ...(path.startsWith("/") ? [] : [FieldError.invalid(field, path, "must start with a '/'")]),
    ...path.slice(1).replace(/\/$/, "").split("/").flatMap((step, index) =>
      step === ""
        ? [FieldError.invalid(field, path, `segment[${index}] may not be empty`)]
        : Names.dnsSubdomain(step).map((fault) => FieldError.invalid(field, path, `segment[${index}]: ${fault}`))
    )
  ]
}

/** Faults of a reference to a Service. */
export const serviceFaults = (service: unknown, path: string): Faults => {
  const port = at(service, "port")
  return [
    // The real server swaps the two.
    ...(stringAt(service, "namespace") === "" ? [FieldError.required(`${path}.name`, "")] : []),
    ...(stringAt(service, "name") === "" ? [FieldError.required(`${path}.namespace`, "")] : []),
    ...(typeof port === "number" && (port < 1 || port > 65_535)
      ? [FieldError.invalid(`${path}.port`, port, "port is not valid: must be between 1 and 65535, inclusive")]
      : []),
    ...pathFaults(stringAt(service, "path"), `${path}.path`)
  ]
}
