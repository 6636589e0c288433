/**
 * `RequestBody`: decodes the body of a request to a JSON value, or returns why it is refused.
 *
 * Reads JSON and YAML of any kind, and protobuf of built-in kinds. A body that does not parse is refused in the words
 * of a real server, which differ from verb to verb. Whether the value is a suitable object is not decided here.
 *
 * Source: k8s.io/apiserver pkg/endpoints/handlers (`transformDecodeError`, patch.go); compared with 1.20.2.
 */
import type { Method } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { isObject } from "../schema/JsonValue.ts"
import * as DuplicateFields from "./DuplicateFields.ts"
import * as Negotiation from "./Negotiation.ts"
import * as Protobuf from "./Protobuf.ts"
import * as StatusError from "./StatusError.ts"
import * as WrittenNumbers from "./WrittenNumbers.ts"
import * as YamlBody from "./YamlBody.ts"

export interface Body {
  readonly method: Method
  readonly contentType: string | undefined
  readonly bytes: Uint8Array
  /** The kind that the path refers to; evaluated only if a message names it. */
  readonly kind: Effect.Effect<string | undefined>
}

/**
 * A patch that does not parse, with the decoder's error. It is passed on like any other body, because a missing object
 * is reported first.
 */
export class Unreadable {
  readonly said: string
  constructor(said: string) {
    this.said = said
  }
}

type Encoding = Negotiation.Encoding | "protobuf"

const unsupportedMediaType = StatusError.unsupportedMediaTypes([
  "application/json",
  "application/yaml",
  Protobuf.mediaType
])

/** The value; undefined if there is no body and none is needed. */
export const decode = (body: Body): Effect.Effect<Result.Result<unknown, StatusError.StatusError>> => {
  const { bytes, method } = body
  if (bytes.length === 0 && method === "DELETE") return Effect.succeed(Result.succeed(undefined))
  const encoding = encodingOf(body)
  if (encoding === undefined) {
    // Which patch types a kind supports is decided later.
    return Effect.succeed(method === "PATCH" ? Result.succeed(undefined) : Result.fail(unsupportedMediaType))
  }
  const text = encoding === "protobuf" ? "" : Buffer.from(bytes).toString("utf8")
  // Server-side apply needs the text itself, for instance for repeated keys.
  if (method === "PATCH" && encoding === "yaml") return Effect.succeed(Result.succeed(text))
  const decoded = encoding === "protobuf" ? Protobuf.decode(bytes) : Negotiation.decode(encoding, text, bytes)
  if (encoding === "json" && Result.isSuccess(decoded)) {
    DuplicateFields.note(decoded.success, text)
    // For a patch they are not tracked into the object that it produces.
    if (method !== "PATCH") WrittenNumbers.note(decoded.success, text)
  }
  if (encoding === "yaml" && Result.isSuccess(decoded)) YamlBody.note(decoded.success, text)
  if (method === "PATCH") {
    return Effect.succeed(Result.succeed(Result.getOrElse(decoded, (said) => new Unreadable(said))))
  }
  const said = Result.isFailure(decoded)
    ? decoded.failure
    : decoded.success !== null && !isObject(decoded.success)
    ? Negotiation.noObject(decoded.success)
    : undefined
  return said === undefined
    ? Effect.succeed(Result.mapError(decoded, StatusError.badRequest))
    // What could be read is reported as JSON, whatever encoding it had.
    : Effect.map(malformed(body, Result.isSuccess(decoded) ? "json" : encoding, said), Result.fail)
}

const encodingOf = ({ contentType, method }: Body): Encoding | undefined =>
  method !== "PATCH" && contentType !== undefined && Negotiation.parseMediaType(contentType).type === Protobuf.mediaType
    ? "protobuf"
    // The content types of patches are for patches only.
    : method !== "PATCH" && contentType?.includes("-patch+") === true
    ? undefined
    : Negotiation.bodyEncoding(contentType)

/** 400, in the words of the verb. */
const malformed = (
  { bytes, kind, method }: Body,
  encoding: Encoding,
  said: string
): Effect.Effect<StatusError.StatusError> => {
  const message = encoding === "json" ? `couldn't get version/kind; json parse error: ${said}` : said
  if (method === "DELETE") return Effect.succeed(StatusError.badRequest(message))
  return Effect.map(kind, (name) =>
    StatusError.badRequest(
      name === undefined
        ? message
        : `the object provided is unrecognized (must be of type ${name}): ${message} (${Negotiation.summarize(bytes)})`
    ))
}
