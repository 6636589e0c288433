/**
 * `KubeError`: the only error of calls to an API server.
 *
 * `verb`, `resource` and the key say what failed. The `reason` says why: a tagged union that mirrors the reasons of the
 * server's `Status`, and adds what can go wrong before or after it (`Transport`, `Decode`). Handle one reason with
 * `Effect.catchReason("KubeError", "NotFound", …)`, or unwrap them all with `Effect.unwrapReason("KubeError")`.
 */
import * as Schema from "effect/Schema"
import type { ObjectKey } from "./KubeObject.ts"
import { isStatus, type Status } from "./Status.ts"

const fromServer = {
  /** The server's own words. */
  message: Schema.String,
  /** HTTP status code. */
  code: Schema.Int,
  /** The `Status` body, if the server sent one. */
  status: Schema.optionalKey(Schema.Unknown)
}

/** 400: the request itself is malformed. */
export class BadRequest extends Schema.TaggedError<BadRequest>()("BadRequest", fromServer) {}
/** 401: the credentials are missing, wrong or expired. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", fromServer) {}
/** 403: authenticated, but not allowed; or refused by admission. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("Forbidden", fromServer) {}
/** 404: no such object, or the kind is not served. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", fromServer) {}
/** 405: the resource does not support the request's method. */
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("MethodNotAllowed", fromServer) {}
/** 409: the name is taken. */
export class AlreadyExists extends Schema.TaggedError<AlreadyExists>()("AlreadyExists", fromServer) {}
/** 409: the object changed since it was read, a precondition failed, or another manager owns the field. */
export class Conflict extends Schema.TaggedError<Conflict>()("Conflict", fromServer) {}
/** 410: the resourceVersion or continue token is too old; list again. */
export class Gone extends Schema.TaggedError<Gone>()("Gone", fromServer) {}
/** 422: the object or the options fail validation; `status.details.causes` has one entry per field. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", fromServer) {}
/** 429: slow down; `retryAfter` in milliseconds, if the server sent one. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  ...fromServer,
  retryAfter: Schema.optionalKey(Schema.Finite)
}) {}
/** 504, or a 500 of reason ServerTimeout: the server gave up waiting; the write may or may not have happened. */
export class Timeout extends Schema.TaggedError<Timeout>()("Timeout", {
  ...fromServer,
  retryAfter: Schema.optionalKey(Schema.Finite)
}) {}
/** Any other 5xx. */
export class ServerError extends Schema.TaggedError<ServerError>()("ServerError", {
  ...fromServer,
  retryAfter: Schema.optionalKey(Schema.Finite)
}) {}
/** Any other unsuccessful response. */
export class UnexpectedStatus extends Schema.TaggedError<UnexpectedStatus>()("UnexpectedStatus", fromServer) {}
/** No response: connection, TLS, credentials or deadline. The write may or may not have happened. */
export class Transport extends Schema.TaggedError<Transport>()("Transport", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
/** The response, or the object to send, does not fit the resource's Schema; one line per issue, with its path. */
export class Decode extends Schema.TaggedError<Decode>()("Decode", {
  message: Schema.String,
  issues: Schema.Array(Schema.String)
}) {}

export const Reason = Schema.Union([
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  AlreadyExists,
  Conflict,
  Gone,
  Invalid,
  TooManyRequests,
  Timeout,
  ServerError,
  UnexpectedStatus,
  Transport,
  Decode
])
export type Reason = typeof Reason.Type

/** What the caller was doing. */
export const Verb = Schema.Literals([
  "get",
  "list",
  "watch",
  "create",
  "replace",
  "patch",
  "apply",
  "delete",
  "deletecollection",
  "connect"
])
export type Verb = typeof Verb.Type

export class KubeError extends Schema.TaggedError<KubeError>()("KubeError", {
  verb: Verb,
  /** `pods`, `autoscalers.test.skuber.io`, with `/status` and the like for a subresource. */
  resource: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  /** Not `name`, which is the error's own. */
  objectName: Schema.optionalKey(Schema.String),
  reason: Reason
}) {
  override get message(): string {
    const target = this.objectName === undefined
      ? ""
      : ` ${this.namespace === undefined ? "" : `${this.namespace}/`}${this.objectName}`
    const scope = this.objectName === undefined && this.namespace !== undefined ? ` in ${this.namespace}` : ""
    return `${this.verb} ${this.resource}${target}${scope}: ${this.reason._tag}: ${this.reason.message}${
      unsaid(this.reason)
    }`
  }

  /** Whether the same call may succeed later; after a `Conflict`, one that is based on a new read. */
  get isRetryable(): boolean {
    return retryable.has(this.reason._tag)
  }

  /** How long the server asked to wait, in milliseconds. */
  get retryAfter(): number | undefined {
    return "retryAfter" in this.reason ? this.reason.retryAfter : undefined
  }
}

/** Causes that the message does not contain: a webhook chooses its message itself. */
const unsaid = (reason: Reason): string => {
  const causes = "status" in reason && isStatus(reason.status) ? reason.status.details?.causes ?? [] : []
  const more = causes.flatMap(({ field, message = "" }) =>
    message === "" || reason.message.includes(message)
      ? []
      : [field === undefined || field === "" ? message : `${field}: ${message}`]
  )
  return more.length === 0 ? "" : ` (${more.join("; ")})`
}

const retryable: ReadonlySet<Reason["_tag"]> = new Set([
  "TooManyRequests",
  "Timeout",
  "ServerError",
  "Transport",
  "Conflict",
  "Unauthorized"
])

/** The call that an error is about. */
export interface Call extends Partial<ObjectKey> {
  readonly verb: Verb
  readonly resource: string
}

/** A `KubeError` for a call. */
export const make = (call: Call, reason: Reason): KubeError =>
  new KubeError({
    verb: call.verb,
    resource: call.resource,
    reason,
    ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
    ...(call.name === undefined ? {} : { objectName: call.name })
  })

/** An unsuccessful response. Header names are in lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** The reason of a failed call. The server's `Status` decides; without one (from a proxy in between), the code does. */
export const fromAnswer = (answer: Answer): Reason => {
  const status = isStatus(answer.body) ? answer.body : undefined
  const message = status?.message ?? textOf(answer)
  const common = { message, code: answer.status, ...(status === undefined ? {} : { status }) }
  const after = retryAfter(answer, status)
  const delayed = after === undefined ? common : { ...common, retryAfter: after }
  switch (status?.reason) {
    case "AlreadyExists":
      return new AlreadyExists(common)
    case "Expired":
    case "Gone":
      return new Gone(common)
    case "ServerTimeout":
    case "Timeout":
      return new Timeout(delayed)
  }
  switch (answer.status) {
    case 400:
      return new BadRequest(common)
    case 401:
      return new Unauthorized(common)
    case 403:
      return new Forbidden(common)
    case 404:
      return new NotFound(common)
    case 405:
      return new MethodNotAllowed(common)
    case 409:
      return new Conflict(common)
    case 410:
      return new Gone(common)
    case 422:
      return new Invalid(common)
    case 429:
      return new TooManyRequests(delayed)
    case 504:
      return new Timeout(delayed)
    default:
      return answer.status >= 500 ? new ServerError(delayed) : new UnexpectedStatus(common)
  }
}

/** The text of an intermediary, which may be an HTML page: its beginning is enough. */
const textOf = ({ body, headers, status }: Answer): string => {
  const text = typeof body === "string" ? body.trim().replace(/\s+/g, " ").slice(0, longestText) : ""
  const to = headers["location"]
  if (status >= 300 && status < 400 && to !== undefined) {
    return `HTTP ${status} to ${to}: redirects are not followed: is the server address that of an API server?`
  }
  return text === "" ? `HTTP ${status} without a message` : text
}

const longestText = 300

/** The reason an in-stream `ERROR` event carries. */
export const fromStatus = (status: Status): Reason =>
  fromAnswer({ status: status.code ?? 500, headers: {}, body: status })

const retryAfter = (answer: Answer, status: Status | undefined): number | undefined => {
  const header = Number(answer.headers["retry-after"])
  const seconds = Number.isFinite(header) && answer.headers["retry-after"] !== undefined
    ? header
    : status?.details?.retryAfterSeconds
  return seconds === undefined ? undefined : seconds * 1000
}
