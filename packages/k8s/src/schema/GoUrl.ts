/**
 * `GoUrl`: parses a URL as Go's net/url does, with its errors.
 *
 * Go is lenient where browsers are not (no scheme, no host) and strict elsewhere; URLs in a server's configuration are
 * parsed by it. The result has only what validation needs, undecoded.
 *
 * Source: net/url of Go (`Parse`).
 */
import * as Result from "effect/Result"
import { quote } from "./FieldError.ts"

export interface GoUrl {
  readonly scheme: string
  /** `name:password`; undefined without an `@`. */
  readonly user: string | undefined
  /** Includes the port. */
  readonly host: string
  readonly path: string
  readonly query: string
  readonly fragment: string
}

const badEscape = (text: string): string | undefined => {
  const match = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(text)
  return match === null ? undefined : `invalid URL escape ${quote(match[0])}`
}

const hostFault = (host: string): string | undefined => {
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]")
    if (end < 0) return "missing ']' in host"
    return portFault(host.slice(end + 1))
  }
  const colon = host.lastIndexOf(":")
  const port = colon < 0 ? undefined : portFault(host.slice(colon))
  if (port !== undefined) return port
  const escape = /%/.test(host) ? /%.{0,2}/s.exec(host)![0] : undefined
  if (escape !== undefined) return `invalid URL escape ${quote(escape)}`
  const strange = /[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"\u0080-\uffff]/u.exec(host)
  return strange === null ? undefined : `invalid character ${quote(strange[0])} in host name`
}

const portFault = (port: string): string | undefined =>
  port === "" || /^:\d*$/.test(port) ? undefined : `invalid port ${quote(port)} after host`

const authority = (text: string): Result.Result<Pick<GoUrl, "user" | "host">, string> => {
  const at = text.lastIndexOf("@")
  const host = text.slice(at + 1)
  const user = at < 0 ? undefined : text.slice(0, at)
  const fault = hostFault(host) ?? (user !== undefined && /[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/.test(user)
    ? "net/url: invalid userinfo"
    : undefined)
  return fault === undefined ? Result.succeed({ user, host }) : Result.fail(fault)
}

const read = (text: string): Result.Result<GoUrl, string> => {
  const hash = text.indexOf("#")
  const fragment = hash < 0 ? "" : text.slice(hash + 1)
  let rest = hash < 0 ? text : text.slice(0, hash)
  // eslint-disable-next-line no-control-regex -- that is what Go refuses
  if (/[\u0000-\u001f\u007f]/.test(rest)) return Result.fail("net/url: invalid control character in URL")
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(rest)
  if (match === null && rest.startsWith(":")) return Result.fail("missing protocol scheme")
  const scheme = match === null ? "" : match[1]!.toLowerCase()
  if (match !== null) rest = rest.slice(match[0].length)
  const mark = rest.indexOf("?")
  const query = mark < 0 ? "" : rest.slice(mark + 1)
  if (mark >= 0) rest = rest.slice(0, mark)
  if (!rest.startsWith("/")) {
    // Opaque, such as `mailto:a@b`.
    if (scheme !== "") return Result.succeed({ scheme, user: undefined, host: "", path: "", query, fragment })
    if (rest.split("/")[0]!.includes(":")) return Result.fail("first path segment in URL cannot contain colon")
  }
  let owner: Pick<GoUrl, "user" | "host"> = { user: undefined, host: "" }
  if (rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"))) {
    const slash = rest.indexOf("/", 2)
    const end = slash < 0 ? rest.length : slash
    const parsed = authority(rest.slice(2, end))
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    owner = parsed.success
    rest = rest.slice(end)
  }
  const escape = badEscape(rest) ?? badEscape(fragment)
  return escape === undefined ? Result.succeed({ scheme, ...owner, path: rest, query, fragment }) : Result.fail(escape)
}

/** The URL, or `parse "…": why`. */
export const parse = (text: string): Result.Result<GoUrl, string> =>
  Result.mapError(read(text), (why) => `parse ${quote(text)}: ${why}`)
