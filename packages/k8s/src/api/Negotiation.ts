/**
 * `Negotiation`: content negotiation of an API server: which encodings a client accepts, and encoding and decoding of
 * bodies.
 *
 * JSON and YAML are supported both ways; protobuf is read (see `Protobuf`) but not written. A client that accepts
 * nothing else gets 406, a body in anything else 415. Clients that accept JSON beside protobuf, as all of client-go's
 * do, get JSON. Errors about malformed bodies are worded as Go's, because the server's messages contain them and people
 * search for them.
 *
 * Source: kubernetes/apiserver pkg/endpoints/handlers/negotiation, pkg/endpoints/handlers/rest.go
 * (`transformDecodeError`, `summarizeData`); texts compared with a kube-apiserver 1.20.2.
 */
import * as Result from "effect/Result"
import * as GoInt64 from "../schema/GoInt64.ts"
import * as GoJsonSyntax from "../schema/GoJsonSyntax.ts"
import * as GoYaml from "./GoYaml.ts"
import * as GoYamlText from "./GoYamlText.ts"
import * as Remembered from "./Remembered.ts"

/** The encodings that the server writes. */
export type Encoding = "json" | "yaml"

/** One alternative of an `Accept` header, or a `Content-Type`. */
export interface MediaType {
  /** Lower case, without parameters. */
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Parses one alternative of a header value. */
export const parseMediaType = (text: string): MediaType => {
  const { parameters, type } = alternative(text)
  const lower = Object.entries(parameters).map(([name, value]) => [name.toLowerCase(), value] as const)
  return { type: type.toLowerCase(), parameters: Object.fromEntries(lower) }
}

/** Parses an alternative of an `Accept` header, in which case is significant. */
const alternative = (text: string): MediaType => {
  const [type = "", ...rest] = text.split(";")
  const parameters: Record<string, string> = {}
  for (const part of rest) {
    const equals = part.indexOf("=")
    if (equals > 0) {
      parameters[part.slice(0, equals).trim()] = part.slice(equals + 1).trim().replace(/^"(.*)"$/, "$1")
    }
  }
  return { type: type.trim(), parameters }
}

const alternatives = Remembered.ofText((header): ReadonlyArray<MediaType> => {
  if (header.trim() === "") return [{ type: "*/*", parameters: {} }]
  const weight = (type: MediaType) => type.parameters["q"] === undefined ? 1 : Number(type.parameters["q"]) || 0
  return header.split(",").map(alternative).sort((a, b) => weight(b) - weight(a))
}, 100)

/** The alternatives of an `Accept` header by preference; those of equal weight keep their order. */
export const parseAccept = (header: string | undefined): ReadonlyArray<MediaType> => alternatives(header ?? "")

/** The encoding of an alternative of an `Accept` header; undefined if it is not supported. */
export const spoken = ({ parameters, type }: MediaType): Encoding | undefined => {
  if (!["", "watch"].includes(parameters["stream"] ?? "")) return undefined
  return ["application/json", "*/*", "application/*", "*"].includes(type)
    ? "json"
    : type === "application/yaml"
    ? "yaml"
    : undefined
}

/** A supported alternative of an `Accept` header. */
export interface Accepted {
  readonly encoding: Encoding
  /** Whether indented output is requested, which only JSON has. */
  readonly indented: boolean
}

const firstSpoken = (alternatives: ReadonlyArray<MediaType>): Accepted | undefined => {
  for (const alternative of alternatives) {
    const encoding = spoken(alternative)
    if (encoding !== undefined) return { encoding, indented: alternative.parameters["pretty"] === "1" }
  }
  return undefined
}

/** The preferred supported encoding; undefined if the client accepts none (406). */
export const accepted = (header: string | undefined): Accepted | undefined => firstSpoken(parseAccept(header))

/** As `accepted`. A watch exists only in JSON, and only the first supported alternative counts. */
export const acceptable = (header: string | undefined, watch: boolean): Encoding | undefined => {
  const encoding = accepted(header)?.encoding
  return watch && encoding === "yaml" ? undefined : encoding
}

/**
 * The types that the router in front of built-in resources and documents lets pass; `application/*` is not among them.
 */
const routable: ReadonlySet<string> = new Set([
  "*/*",
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf"
])

/** Whether that router lets a request pass, by default to a route with all encodings of the server. */
export const passesRouter = (header: string | undefined, types: ReadonlySet<string> = routable): boolean =>
  parseAccept(header).some(({ type }) => types.has(type))

/** The encoding for a response that has only one form (a document, an error); undefined if only others are accepted. */
export const asItIs = (header: string | undefined): Accepted | undefined =>
  firstSpoken(
    parseAccept(header).filter(({ parameters: { as, g, v } }) => as === undefined && g === undefined && v === undefined)
  )

/** The types that the route of Pod logs lets pass. */
export const routableText: ReadonlySet<string> = new Set(["text/plain", ...routable])

/** The types that a refusal lists as accepted. */
export const spokenTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] as const

/** The types that the route of a list produces, which also serves watches (installer.go). */
export const listedTypes: ReadonlyArray<string> = [
  ...spokenTypes,
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch"
]

/** The encoding of a request body; undefined for a content type that the server does not read (415). */
export const bodyEncoding = (contentType: string | undefined): Encoding | undefined => {
  if (contentType === undefined || contentType.trim() === "") return "json"
  switch (parseMediaType(contentType).type) {
    case "application/json":
    case "application/json-patch+json":
    case "application/merge-patch+json":
    case "application/strategic-merge-patch+json":
      return "json"
    case "application/yaml":
    case "application/apply-patch+yaml":
      return "yaml"
    default:
      return undefined
  }
}

/**
 * Decodes a body to a JSON value, or returns the decoder's error in Go's words. `bytes` are those of the text, if
 * available.
 */
export const decode = (encoding: Encoding, text: string, bytes?: Uint8Array): Result.Result<unknown, string> =>
  encoding === "json"
    ? decodeJson(text, bytes ?? Buffer.from(text))
    : Result.map(GoYaml.read(text), ({ value }) => value ?? null)

/** The value with unpaired surrogates replaced, as Go does. */
const wellFormed = (value: unknown): unknown =>
  typeof value === "string"
    ? value.toWellFormed()
    : Array.isArray(value)
    ? value.map(wellFormed)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]))
    : value

const decodeJson = (text: string, bytes: Uint8Array): Result.Result<unknown, string> => {
  const value = Result.try((): unknown => JSON.parse(GoInt64.readable(text)))
  if (Result.isSuccess(value) && !GoJsonSyntax.isTooDeep(text)) {
    return Result.succeed(/\\u[dD][89a-fA-F]/.test(text) ? wellFormed(value.success) : value.success)
  }
  // Both parsers refuse the same texts, so there is a fault.
  return Result.fail(GoJsonSyntax.fault(bytes)!)
}

/** The start of a body, as the server quotes it in error messages. */
export const summarize = (body: string | Uint8Array): string => {
  const bytes = Buffer.from(body)
  if (bytes.length === 0) return "<empty>"
  const start = bytes.subarray(0, 30).toString(bytes[0] === 0x7b ? "utf8" : "hex")
  return bytes.length > 30 ? `${start} ...` : start
}

/** The name of a value's type in Go's decoder. */
export const jsonType = (value: unknown): string =>
  Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value

/** Go's error if a body is not an object. */
export const noObject = (value: unknown): string =>
  `json: cannot unmarshal ${jsonType(value)} into Go value of type struct { APIVersion string ` +
  `"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`

/** Go's error if a value is not an object of any kind. */
export const noMap = (value: unknown): string =>
  `json: cannot unmarshal ${jsonType(value)} into Go value of type map[string]interface {}`

/** A JSON value as text. As on the server, compact JSON ends with a newline, and indented JSON has two spaces. */
export const encode = (encoding: Encoding, value: unknown, pretty: boolean): string =>
  encoding === "yaml"
    ? GoYamlText.encode(value)
    : pretty
    ? JSON.stringify(value, null, 2)
    : `${JSON.stringify(value)}\n`

export const contentTypes: Record<Encoding, string> = {
  json: "application/json",
  yaml: "application/yaml"
}
