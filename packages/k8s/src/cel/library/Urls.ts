/**
 * `Urls`: absolute URLs and paths, and their parts.
 *
 * Source: k8s.io/apiserver/pkg/cel/library/urls.go and Go's net/url.
 */
import { quote } from "../../schema/FieldError.ts"
import { define, type FunctionDeclaration, named, overload } from "../Functions.ts"
import * as Types from "../Types.ts"
import { EntryMap, fault, list, Opaque, type Value } from "../Values.ts"

interface Url {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

const type = named("url", Types.struct("kubernetes.URL"))

interface Wrong {
  readonly wrong: string
}

// eslint-disable-next-line no-control-regex
const control = /[\x00-\x1f\x7f]/

/** The first invalid escape. */
const badEscape = (text: string): string | undefined => {
  const match = /%(?![0-9A-Fa-f]{2})[^%]{0,2}/.exec(text)
  return match === null ? undefined : `invalid URL escape ${quote(match[0])}`
}

const portFault = (host: string): string | undefined => {
  const end = host.startsWith("[") ? host.lastIndexOf("]") : -1
  if (host.startsWith("[") && end < 0) return "missing ']' in host"
  const rest = end < 0 ? host.slice(host.indexOf(":") < 0 ? host.length : host.lastIndexOf(":")) : host.slice(end + 1)
  return rest === "" || /^:[0-9]*$/.test(rest) ? undefined : `invalid port ${quote(rest)} after host`
}

const hostFault = (host: string): string | undefined => {
  const port = portFault(host)
  if (port !== undefined) return port
  const escape = badEscape(host)
  if (escape !== undefined) return escape
  // In a host, only non-ASCII characters may be escaped.
  const ascii = /%(?!25)[0-7][0-9A-Fa-f]/.exec(host)
  if (ascii !== null) return `invalid URL escape ${quote(ascii[0])}`
  const odd = /[ #\\^`{|}]/.exec(host)
  return odd === null ? undefined : `invalid character ${quote(odd[0])} in host name`
}

const schemeOf = (text: string): readonly [scheme: string, rest: string] | Wrong => {
  for (const [index, char] of Array.from(text).entries()) {
    if (/[a-zA-Z]/.test(char)) continue
    if (/[0-9+.-]/.test(char)) {
      if (index === 0) return ["", text]
    } else if (char === ":") {
      return index === 0 ? { wrong: "missing protocol scheme" } : [text.slice(0, index), text.slice(index + 1)]
    } else return ["", text]
  }
  return ["", text]
}

const utf8 = new TextEncoder()

/** A path with everything escaped that must be; valid escapes stay. */
const escaped = (path: string): string => {
  const isValid = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9A-Fa-f]{2})*$/.test(path)
  if (isValid) return path
  const plain = path.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => decodeURIComponentOr(run))
  return Array.from(plain, (char) =>
    /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(char)
      ? char
      : Array.from(utf8.encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("")).join(
      ""
    )
}

const decodeURIComponentOr = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Host and path of what follows the scheme. With `withHost` a host follows two slashes. */
const parts = (rest: string, withHost: boolean): readonly [host: string, path: string] => {
  if (!withHost || !rest.startsWith("//")) return ["", rest]
  const authority = rest.slice(2).split("/")[0]!
  return [authority.slice(authority.lastIndexOf("@") + 1), rest.slice(2 + authority.length)]
}

/** Parses an absolute URL or path. */
export const parse = (text: string): Url | Wrong => {
  const refuse = (why: string): Wrong => ({ wrong: `parse ${quote(text)}: ${why}` })
  if (text === "") return refuse("empty url")
  if (control.test(text)) return refuse("net/url: invalid control character in URL")
  if (text === "*") return { scheme: "", host: "", path: "*", query: "" }
  const split = schemeOf(text)
  if ("wrong" in split) return refuse(split.wrong)
  const [scheme, remainder] = split
  const hash = remainder.indexOf("#")
  const [rest, ...queries] = (hash < 0 ? remainder : remainder.slice(0, hash)).split("?")
  const query = queries.join("?")
  if (!rest!.startsWith("/")) {
    return scheme === ""
      ? refuse("invalid URI for request")
      : { scheme: scheme.toLowerCase(), host: "", path: "", query }
  }
  const [host, path] = parts(rest!, rest!.startsWith("//") && !rest!.startsWith("///") || scheme !== "")
  // Validated first as the URI of a request, which has no fragment.
  const [wholeHost, wholePath] = parts(remainder.split("?")[0]!, scheme !== "")
  const wrongHost = hostFault(wholeHost) ?? hostFault(host)
  if (wrongHost !== undefined) return refuse(wrongHost)
  const wrongPath = badEscape(wholePath)
  return wrongPath === undefined ? { scheme: scheme.toLowerCase(), host, path, query } : refuse(wrongPath)
}

const hostname = ({ host }: Url): string => {
  const bare = host.replace(/:[0-9]*$/, "")
  return bare.startsWith("[") && bare.endsWith("]") ? bare.slice(1, -1) : host.startsWith("[") ? bare : bare
}

const port = ({ host }: Url): string =>
  /:([0-9]*)$/.exec(host.startsWith("[") ? host.slice(host.indexOf("]")) : host)?.[1] ?? ""

const unescapeQuery = (text: string): string | undefined =>
  badEscape(text) === undefined ? decodeURIComponentOr(text.replaceAll("+", " ")) : undefined

/** Values of repeated names are collected; invalid pairs are dropped. */
const queryOf = ({ query }: Url): Value => {
  const found = new Map<string, Array<string>>()
  for (const part of query.split("&")) {
    if (part === "" || part.includes(";")) continue
    const equals = part.indexOf("=")
    const name = unescapeQuery(equals < 0 ? part : part.slice(0, equals))
    const value = unescapeQuery(equals < 0 ? "" : part.slice(equals + 1))
    if (name === undefined || value === undefined) continue
    found.set(name, [...found.get(name) ?? [], value])
  }
  return new EntryMap(new Map(Array.from(found, ([name, values]) => [`s${name}`, [name, list(values)] as const])))
}

const read = (name: string, id: string, part: (url: Url) => Value, result = "string"): FunctionDeclaration =>
  define(name, overload(id, `url.() ${result}`, ({ data }: Opaque<Url>) => part(data)))

export const urls: ReadonlyArray<FunctionDeclaration> = [
  define(
    "url",
    overload("string_to_url", "(string) url", (text: string) => {
      const url = parse(text)
      return "wrong" in url
        ? fault(`URL parse error during conversion from string: ${url.wrong}`)
        : new Opaque(type, url, text)
    })
  ),
  read("getScheme", "url_get_scheme", ({ scheme }) => scheme),
  read("getHost", "url_get_host", ({ host }) => host),
  read("getHostname", "url_get_hostname", hostname),
  read("getPort", "url_get_port", port),
  read("getEscapedPath", "url_get_escaped_path", ({ path }) => escaped(path)),
  read("getQuery", "url_get_query", queryOf, "map<string, list<string>>"),
  define("isURL", overload("is_url_string", "(string) bool", (text: string) => !("wrong" in parse(text))))
]
