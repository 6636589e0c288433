/**
 * `StatusError`: the errors of an API server, as HTTP code and `Status` body.
 *
 * Every function gives exactly the wording, reason and details of a real server. `details` is present only where the
 * server sends it: some bodies have none, some have an empty one, and clients (client-go's `IsNotFound` and the like)
 * tell them apart by `reason` and `code` alone. `details.kind` and the messages contain the resource, not the kind,
 * except for `invalid`, which uses kinds.
 *
 * Source: k8s.io/apimachinery/pkg/api/errors, k8s.io/apiserver/pkg/endpoints/handlers and pkg/storage/errors.go;
 * checked against a kube-apiserver.
 */
import type { Status, StatusCause, StatusDetails } from "@effect-operator/core/Status"
import * as FieldError from "../schema/FieldError.ts"

/** An error response. */
export interface StatusError {
  /** The HTTP code; also in the body. */
  readonly status: number
  readonly body: Status
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The resource that a message is about. A subresource is part of the plural: `deployments/scale`. */
export interface Target {
  /** `""` for the core group. */
  readonly group: string
  readonly plural: string
}

/** `pods`, or `deployments.apps`. */
export const targetName = (target: Target): string =>
  target.group === "" ? target.plural : `${target.plural}.${target.group}`

/** An error of any kind. As on the server, an empty `reason` is left out. */
export const make = (
  status: number,
  reason: string,
  message: string,
  details?: StatusDetails,
  headers?: Readonly<Record<string, string>>
): StatusError => ({
  status,
  body: {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code: status
  },
  ...(headers === undefined ? {} : { headers })
})

/** Go omits empty strings and lists from the JSON. */
const about = (name: string, group: string, kind: string, causes: ReadonlyArray<StatusCause> = []): StatusDetails => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  ...(kind === "" ? {} : { kind }),
  ...(causes.length === 0 ? {} : { causes })
})

const aboutTarget = (target: Target, name: string, causes?: ReadonlyArray<StatusCause>): StatusDetails =>
  about(name, target.group, target.plural, causes)

/** 404: no object of that name. */
export const notFound = (target: Target, name: string): StatusError =>
  make(404, "NotFound", `${targetName(target)} ${FieldError.quote(name)} not found`, aboutTarget(target, name))

/** 404 inside a served group: no such version, resource or subresource. */
export const genericNotFound: StatusError = make(
  404,
  "NotFound",
  "the server could not find the requested resource",
  {}
)

/**
 * 409: the name is taken, perhaps by an object that is being deleted. If generateName was set, the message is about
 * that, even if the name was the client's own.
 */
export const alreadyExists = (
  target: Target,
  name: string,
  how: { readonly generated: boolean; readonly terminating: boolean }
): StatusError => {
  const message =
    `${how.terminating ? "object is being deleted: " : ""}${targetName(target)} ${FieldError.quote(name)} ` +
    "already exists"
  const details = aboutTarget(target, name)
  return how.generated
    ? make(
      409,
      "AlreadyExists",
      `${message}, the server was not able to generate a unique name for the object`,
      { ...details, retryAfterSeconds: 1 },
      { "retry-after": "1" }
    )
    : make(409, "AlreadyExists", message, details)
}

/** 409: `Operation cannot be fulfilled on …: why`. */
export const conflict = (target: Target, name: string, why: string): StatusError =>
  make(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${targetName(target)} ${FieldError.quote(name)}: ${why}`,
    aboutTarget(target, name)
  )

/** The reason for refusing a write with a stale resourceVersion. */
export const objectModified =
  "the object has been modified; please apply your changes to the latest version and try again"

/** 409: server-side apply conflicts with fields of other managers; one cause per field. */
export const applyConflict = (message: string, causes: ReadonlyArray<StatusCause>): StatusError =>
  make(409, "Conflict", message, causes.length === 0 ? {} : { causes })

/** 422: the object fails validation. The message names the *kind*. */
export const invalid = (
  kind: string,
  group: string,
  name: string,
  errors: ReadonlyArray<FieldError.FieldError>
): StatusError => {
  const target = group === "" ? kind : `${kind}.${group}`
  const why = errors.length === 0 ? "" : `: ${FieldError.aggregate(errors)}`
  return make(
    422,
    "Invalid",
    `${target} ${FieldError.quote(name)} is invalid${why}`,
    about(name, group, kind, errors.map(FieldError.toCause))
  )
}

/** 422 for query parameters: `ListOptions.meta.k8s.io "" is invalid: …`. */
export const invalidOptions = (
  kind: "GetOptions" | "ListOptions" | "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions",
  errors: ReadonlyArray<FieldError.FieldError>
): StatusError => invalid(kind, "meta.k8s.io", "", errors)

/** 422: a patch parses but does not fit the object: a failed `test`, a missing path. The cause is not included. */
export const unprocessablePatch: StatusError = make(
  422,
  "Invalid",
  "the server rejected our request due to an error in our request",
  {}
)

/** 400. */
export const badRequest = (message: string): StatusError => make(400, "BadRequest", message)

/** 401. */
export const unauthorized: StatusError = make(401, "Unauthorized", "Unauthorized")

/** 403: `pods "x" is forbidden: why`; without a name for the collection, without a target for the path. */
export const forbidden = (
  target: Target | undefined,
  name: string,
  why: string,
  causes?: ReadonlyArray<StatusCause>
): StatusError =>
  target === undefined
    ? make(403, "Forbidden", `forbidden: ${why}`, {})
    : make(
      403,
      "Forbidden",
      `${targetName(target)}${name === "" ? "" : ` ${FieldError.quote(name)}`} is forbidden: ${why}`,
      aboutTarget(target, name, causes)
    )

/** 403: nothing can be created in a namespace that is being deleted. */
export const namespaceTerminating = (target: Target, name: string, namespace: string): StatusError =>
  forbidden(
    target,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [{
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace"
    }]
  )

/** 405: the path does not support the verb. */
export const methodNotAllowed: StatusError = make(
  405,
  "MethodNotAllowed",
  "the server does not allow this method on the requested resource",
  {}
)

/** 405 with its own message, such as for a create while the CRD is terminating. */
export const methodNotAllowedBecause = (target: Target, message: string): StatusError =>
  make(405, "MethodNotAllowed", message, aboutTarget(target, ""))

/** 406 of the router in front of built-in resources and documents, which lists what the route produces (go-restful). */
export const notAcceptable = (types: ReadonlyArray<string>): StatusError =>
  make(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${types.join(", ")}`, {})

/** 406 that lists what the server can send. */
export const notAcceptableTypes = (types: ReadonlyArray<string>): StatusError =>
  make(406, "NotAcceptable", `only the following media types are accepted: ${types.join(", ")}`)

/** 406 for a watch, which YAML does not have. */
export const notAcceptableWatch: StatusError = notAcceptableTypes([
  "application/json;stream=watch",
  "application/vnd.kubernetes.protobuf;stream=watch"
])

/** 406 with a message. */
export const notAcceptableBecause = (message: string): StatusError => make(406, "NotAcceptable", message)

/** 410, reason `Expired`: a resourceVersion or continue token is too old; list again. */
export const expired = (message: string, continueToken?: string): StatusError => {
  const error = make(410, "Expired", message)
  return continueToken === undefined
    ? error
    : { ...error, body: { ...error.body, metadata: { continue: continueToken } as Status["metadata"] } }
}

/** 410, reason `Gone`. */
export const gone = (message: string): StatusError => make(410, "Gone", message)

/** 410: a watch or list starts before the kept history. */
export const tooOldResourceVersion = (requested: string, oldest: string): StatusError =>
  expired(`too old resource version: ${requested} (${oldest})`)

/** 413: the limit in bytes or operations is part of the message. */
export const requestEntityTooLarge = (why: string): StatusError =>
  make(413, "RequestEntityTooLarge", `Request entity too large: ${why}`)

/** 415: a patch type that a built-in resource does not support. */
export const unsupportedMediaType: StatusError = make(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})

/** 415 that lists the supported types: for any other write, and for patches of custom resources. */
export const unsupportedMediaTypes = (types: ReadonlyArray<string>): StatusError =>
  make(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${types.join(", ")}`
  )

/** 429. */
export const tooManyRequests = (message: string, retryAfterSeconds: number): StatusError =>
  make(429, "TooManyRequests", message, retryAfterSeconds === 0 ? {} : { retryAfterSeconds }, {
    "retry-after": String(retryAfterSeconds)
  })

/** 429: a disruption budget forbids an eviction. Without a time it has neither header nor detail for one. */
export const evictionRefused = (causes: ReadonlyArray<StatusCause>, retryAfterSeconds?: number): StatusError =>
  make(
    429,
    "TooManyRequests",
    "Cannot evict pod as it would violate the pod's disruption budget.",
    { causes, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
    retryAfterSeconds === undefined ? undefined : { "retry-after": String(retryAfterSeconds) }
  )

/** 500, reason `InternalError`. */
export const internal = (message: string): StatusError =>
  make(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] })

/** 500 without reason and details, for an error that the server does not know. */
export const plain = (message: string): StatusError => make(500, "", message)

/** 500, reason `ServerTimeout`. */
export const serverTimeout = (target: Target, operation: string, retryAfterSeconds: number): StatusError =>
  make(
    500,
    "ServerTimeout",
    `The ${operation} operation against ${targetName(target)} could not be completed at this time, please try again.`,
    { ...aboutTarget(target, operation), ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }) },
    { "retry-after": String(retryAfterSeconds) }
  )

/** 503. */
export const serviceUnavailable = (message: string): StatusError => make(503, "ServiceUnavailable", message)

/** 504, reason `Timeout`. */
export const timeout = (message: string, details: StatusDetails = {}): StatusError =>
  make(504, "Timeout", `Timeout: ${message}`, details)

/** 504 of the timeout filter, which writes its Status without apiVersion and kind. */
export const allottedTimeout: StatusError = (() => {
  const { body, status } = timeout("request did not complete within the allotted timeout")
  const { apiVersion: _, kind: __, ...rest } = body
  return { status, body: rest as Status }
})()

/** 504: a read requested a version that the server has not reached. */
export const tooLargeResourceVersion = (requested: string, current: string): StatusError => ({
  ...timeout(`Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1
  }),
  headers: { "retry-after": "1" }
})
