/**
 * `Review`: decodes and answers an `AdmissionReview` of admission.k8s.io/v1.
 *
 * Pure. A response contains the uid of its request and nothing else of it. A patch is sent as base64 of a JSON patch,
 * an empty patch not at all. A denial has a complete Status with a code of at least 400, so that the server does not
 * have to correct it. Version v1beta1 has not been served since Kubernetes 1.22, and is refused by name.
 *
 * Source: k8s.io/api/admission/v1, k8s.io/apiserver/pkg/admission/plugin/webhook/request and .../errors.
 */
import type { JsonPatchOperation } from "@effect-operator/core/KubeClient"
import * as Result from "effect/Result"

export type JsonObject = Readonly<Record<string, unknown>>

export type Operation = "CREATE" | "UPDATE" | "DELETE"

/** The user, as authenticated by the server. */
export interface User {
  readonly username: string
  readonly uid?: string
  readonly groups: ReadonlyArray<string>
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
}

/** A request with its objects as received. */
export interface Asked {
  readonly uid: string
  readonly operation: Operation | "CONNECT"
  readonly name: string
  readonly namespace: string | undefined
  readonly subresource: string | undefined
  readonly user: User
  readonly dryRun: boolean
  readonly object: JsonObject | undefined
  readonly oldObject: JsonObject | undefined
  /** `CreateOptions`, `UpdateOptions`, `DeleteOptions`. */
  readonly options: JsonObject | undefined
}

/** A reason for a denial. */
export interface Cause {
  /** `spec.replicas`, `spec.ports[0].name`. */
  readonly field: string
  readonly message: string
  /** `FieldValueInvalid` by default. */
  readonly reason?: string
}

/** Why a request is denied. */
export interface Denial {
  readonly message: string
  readonly reason: string
  readonly code: number
  readonly causes: ReadonlyArray<Cause>
}

export interface Verdict {
  readonly denied?: Denial | undefined
  readonly patch?: ReadonlyArray<JsonPatchOperation> | undefined
  readonly warnings?: ReadonlyArray<string> | undefined
  readonly auditAnnotations?: Readonly<Record<string, string>> | undefined
}

export const apiVersion = "admission.k8s.io/v1"
export const kind = "AdmissionReview"

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => typeof value === "string" ? value : ""

/** The request of a review, or what is wrong with it. */
export const parse = (review: unknown): Result.Result<Asked, string> => {
  if (!isObject(review) || review["kind"] !== kind) return Result.fail(`the body is not an ${kind}`)
  if (review["apiVersion"] !== apiVersion) {
    return Result.fail(`apiVersion: ${JSON.stringify(review["apiVersion"])}: must be ${apiVersion}`)
  }
  const { request } = review
  if (!isObject(request)) return Result.fail("request: missing")
  const uid = textOf(request["uid"])
  if (uid === "") return Result.fail("request.uid: missing")
  const operation = textOf(request["operation"])
  if (!isOperation(operation)) {
    return Result.fail(`request.operation: ${JSON.stringify(operation)}: is not an operation`)
  }
  const { object, oldObject, options } = request
  return Result.succeed({
    uid,
    operation,
    // An object to be named by the server has no name yet.
    name: textOf(request["name"]),
    namespace: textOf(request["namespace"]) || undefined,
    subresource: textOf(request["subResource"]) || undefined,
    user: userOf(request["userInfo"]),
    dryRun: request["dryRun"] === true,
    object: isObject(object) ? object : undefined,
    oldObject: isObject(oldObject) ? oldObject : undefined,
    options: isObject(options) ? options : undefined
  })
}

const isOperation = (text: string): text is Asked["operation"] =>
  text === "CREATE" || text === "UPDATE" || text === "DELETE" || text === "CONNECT"

const userOf = (info: unknown): User => {
  const { extra, groups, uid, username } = isObject(info) ? info : {} as JsonObject
  return {
    username: textOf(username),
    ...(textOf(uid) === "" ? {} : { uid: textOf(uid) }),
    groups: Array.isArray(groups) ? groups.map(textOf) : [],
    extra: isObject(extra) ? extra as User["extra"] : {}
  }
}

/** The response to a request. */
export const answer = (
  asked: Pick<Asked, "uid" | "name">,
  of: { readonly kind: string; readonly group: string },
  { auditAnnotations = {}, denied, patch = [], warnings = [] }: Verdict
): JsonObject => ({
  kind,
  apiVersion,
  response: {
    uid: asked.uid,
    allowed: denied === undefined,
    ...(denied === undefined ? {} : { status: statusOf(denied, { ...of, name: asked.name }) }),
    ...(patch.length === 0 || denied !== undefined ? {} : {
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patch), "utf8").toString("base64")
    }),
    ...(Object.keys(auditAnnotations).length === 0 ? {} : { auditAnnotations }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
})

const statusOf = (
  { causes, code, message, reason }: Denial,
  { group, kind, name }: { readonly kind: string; readonly group: string; readonly name: string }
): JsonObject => ({
  metadata: {},
  status: "Failure",
  message,
  reason,
  ...(causes.length === 0 ? {} : {
    details: {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind,
      causes: causes.map(({ field, message, reason = "FieldValueInvalid" }) => ({ reason, message, field }))
    }
  }),
  code: Math.max(400, code)
})
