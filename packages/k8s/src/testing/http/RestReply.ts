/**
 * `RestReply`: decodes a reply as client-go does, which is how a server reads the responses of webhooks.
 *
 * The result is the JSON object in the body, or the text of client-go's error: the message of a `Status`, client-go's
 * own words for other status codes, or why the body cannot be decoded to the wanted type.
 *
 * Source: k8s.io/client-go/rest/request.go (`transformResponse`, `Result.Into`), k8s.io/apimachinery/pkg/api/errors
 * (`NewGenericServerResponse`) and pkg/runtime/serializer.
 */
import * as Result from "effect/Result"
import * as Backends from "../Backends.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import { at, stringAt } from "../../api/Plain.ts"

/** A type that the caller can decode. */
export interface Wanted {
  readonly group: string
  /** The wanted version. */
  readonly version: string
  /** Other known versions, which cannot be converted. */
  readonly others: ReadonlyArray<string>
  readonly kind: string
  /** The fields whose types are checked, outer ones first. */
  readonly fields: ReadonlyArray<Field>
}

/** A field of a Go struct. */
export interface Field {
  readonly path: string
  readonly is: "object" | "array" | "string" | "bool" | "number"
  /** The name of the struct that contains the field. */
  readonly struct: string
  readonly type: string
}

/** The maximum length of a text in an error, in characters. */
const maxQuoted = 2048

const words: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request"
}

const mediaType = (reply: Backends.Reply): string =>
  (reply.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()

const text = ({ body }: Backends.Reply): string =>
  body._tag === "Bytes" ? new TextDecoder().decode(body.bytes) : JSON.stringify(body.value) ?? ""

/** What client-go says about a status code if the body is not a `Status`. */
const generic = (reply: Backends.Reply): string => {
  const { status } = reply
  const type = mediaType(reply)
  const message = type === "" || type.startsWith("text/") ? text(reply).slice(0, maxQuoted).trim() : "unknown"
  if (status === 403 || status === 415) return message
  if (status === 406) {
    return message === "" || message === "unknown"
      ? "the server was unable to respond with a content type that the client supports"
      : message
  }
  return words[status] ?? (status >= 500
    ? `an error on the server (${FieldError.quote(message)}) has prevented the request from succeeding`
    : `the server responded with the status code ${status} but did not return more information`)
}

/** A body that does not begin like a JSON object may be YAML. */
const decodeText = (text: string): Result.Result<unknown, string> =>
  Negotiation.decode(/^\s*\{/.test(text) ? "json" : "yaml", text)

/** The body as an object, or why it has no type. */
const typed = (reply: Backends.Reply): Result.Result<JsonValue.JsonObject, string> => {
  const { body } = reply
  const decoded = body._tag === "Json" ? Result.succeed(body.value) : decodeText(text(reply))
  const refused = (why: string) => Result.fail(`couldn't get version/kind; json parse error: ${why}`)
  if (Result.isFailure(decoded)) return refused(decoded.failure)
  const value = decoded.success ?? {}
  return JsonValue.isObject(value) ? Result.succeed(value) : refused(Negotiation.noObject(value))
}

/** Why an object does not have the wanted type; apiVersion or kind may be missing. */
const kindFault = (object: JsonValue.JsonObject, wanted: Wanted): string | undefined => {
  const own = `${wanted.group}/${wanted.version}`
  const apiVersion = stringAt(object, "apiVersion") || own
  const kind = stringAt(object, "kind") || wanted.kind
  if (apiVersion === own && kind === wanted.kind) return undefined
  const version = apiVersion === "v1" && kind === "Status"
    ? "v1"
    : kind === wanted.kind
    ? wanted.others.find((other) => apiVersion === `${wanted.group}/${other}`)
    : undefined
  return version === undefined
    ? `no kind ${FieldError.quote(kind)} is registered for version ${FieldError.quote(apiVersion)} in scheme ` +
      "\"k8s.io/apiserver/pkg/util/webhook/client.go:71\""
    : `converting (${version}.${kind}) to (${wanted.version}.${wanted.kind}): unknown conversion`
}

/** Why a field cannot be decoded. */
const fieldFault = (object: JsonValue.JsonObject, { is, path, struct, type }: Field): string | undefined => {
  const value = at(object, ...path.split(".")) ?? undefined
  if (value === undefined) return undefined
  const found = Negotiation.jsonType(value)
  return found === is
    ? undefined
    : `json: cannot unmarshal ${found} into Go struct field ${struct}.${path} of type ${type}`
}

/** Decodes a reply. */
export const read = (reply: Backends.Reply, wanted: Wanted): Result.Result<JsonValue.JsonObject, string> => {
  if (reply.status < 200 || reply.status > 206) {
    const status = Result.getOrUndefined(Backends.json(reply.body))
    return Result.fail(stringAt(status, "status") === "Failure" ? stringAt(status, "message") : generic(reply))
  }
  if (text(reply) === "") {
    // A reply without a content type is assumed to have the requested one.
    const type = reply.headers["content-type"] || "application/json"
    return Result.fail(`0-length response with status code: ${reply.status} and content type: ${type}`)
  }
  return Result.flatMap(typed(reply), (object) => {
    const fault = kindFault(object, wanted) ??
      wanted.fields.map((field) => fieldFault(object, field)).find((found) => found !== undefined)
    return fault === undefined ? Result.succeed(object) : Result.fail(fault)
  })
}
