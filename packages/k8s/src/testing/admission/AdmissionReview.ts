/**
 * `AdmissionReview`: encodes the request to an admission webhook, and interprets its response.
 *
 * Both versions of the API have the same request. A `v1` response is validated completely, a `v1beta1` response hardly
 * at all.
 *
 * Source: k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go and errors/statuserror.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Status } from "@effect-operator/core/Status"
import * as Result from "effect/Result"
import type { Attributes, Kind } from "../Admission.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import type * as RestReply from "../http/RestReply.ts"
import * as FieldError from "../../schema/FieldError.ts"
import type { JsonObject } from "../../schema/JsonValue.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Served } from "../server/Registry.ts"
import * as StatusError from "../../api/StatusError.ts"

export type Version = "v1" | "v1beta1"

const group = "admission.k8s.io"
const known: ReadonlyArray<string> = ["v1", "v1beta1"]

/** The first version that the webhook accepts and the server supports. */
export const version = (versions: ReadonlyArray<string>): Version | undefined =>
  versions.find((name): name is Version => known.includes(name))

const kindOf = ({ group, kind, version }: Kind) => ({ group, version, kind })
const resourceOf = ({ group, plural, version }: Served) => ({ group, version, resource: plural })

/** A request in the view of one webhook. */
export interface Seen {
  readonly attributes: Attributes
  /** The resource and kind that the webhook's rule matches. */
  readonly resource: Served
  readonly kind: Kind
  /** In the version of `kind`. */
  readonly object: KubeObject | undefined
  readonly oldObject: KubeObject | undefined
}

/** The user, in the form of authentication.k8s.io. */
const userInfo = ({ user }: Attributes): JsonObject => ({
  ...(user.username === "" ? {} : { username: user.username }),
  ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
  ...(user.groups.length === 0 ? {} : { groups: user.groups }),
  ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra })
})

/** The review to send. */
export const request = (version: Version, uid: string, seen: Seen): JsonObject => {
  const { attributes, kind, object, oldObject, resource } = seen
  const { dryRun, name, namespace, operation, subresource } = attributes
  return {
    kind: "AdmissionReview",
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      kind: kindOf(kind),
      resource: resourceOf(resource),
      ...(subresource === "" ? {} : { subResource: subresource }),
      requestKind: kindOf(attributes.kind),
      requestResource: resourceOf(attributes.resource),
      ...(subresource === "" ? {} : { requestSubResource: subresource }),
      ...(name === "" ? {} : { name }),
      ...(namespace === "" ? {} : { namespace }),
      operation,
      userInfo: userInfo(attributes),
      object: object ?? null,
      oldObject: oldObject ?? null,
      dryRun,
      options: attributes.options() ?? null
    }
  }
}

const field = (path: string, is: RestReply.Field["is"], type: string, struct = "AdmissionResponse") => ({
  path,
  is,
  struct,
  type
})

/** How the reply is decoded. */
export const wanted = (version: Version): RestReply.Wanted => ({
  group,
  version,
  others: known.filter((name) => name !== version),
  kind: "AdmissionReview",
  fields: [
    field("response", "object", `${version}.AdmissionResponse`, "AdmissionReview"),
    field("response.uid", "string", "types.UID"),
    field("response.allowed", "bool", "bool"),
    field("response.status", "object", "v1.Status"),
    field("response.status.status", "string", "string", "Status"),
    field("response.status.message", "string", "string", "Status"),
    field("response.status.reason", "string", "v1.StatusReason", "Status"),
    field("response.status.code", "number", "int32", "Status"),
    field("response.patch", "string", "[]uint8"),
    field("response.patchType", "string", `${version}.PatchType`),
    field("response.auditAnnotations", "object", "map[string]string"),
    field("response.warnings", "array", "[]string")
  ]
})

/** The decision of a webhook. */
export interface Response {
  readonly allowed: boolean
  /** The JSON text of the patch; `""` for none. */
  readonly patch: string
  readonly patchType: string
  readonly status: JsonObject | undefined
  readonly warnings: ReadonlyArray<string>
  readonly auditAnnotations: ReadonlyArray<readonly [key: string, value: string]>
}

/** Decodes base64 to text as Go does, ignoring line breaks. */
const decodeBase64 = (text: string): Result.Result<string, string> => {
  const clean = text.replace(/[\r\n]/g, "")
  const bad = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(clean)
    ? -1
    : clean.search(/[^A-Za-z0-9+/]/)
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(clean)) {
    return Result.succeed(Buffer.from(clean, "base64").toString("utf8"))
  }
  return Result.fail(`illegal base64 data at input byte ${bad < 0 ? clean.length - clean.length % 4 : bad}`)
}

/** Why the reply cannot be decoded, apart from the types of its fields. */
export const decodeFault = (review: JsonObject): string | undefined => {
  const patch = decodeBase64(stringAt(review, "response", "patch"))
  if (Result.isFailure(patch)) return patch.failure
  const texts = [
    ["auditAnnotations", Object.values(objectAt(review, "response", "auditAnnotations"))],
    ["warnings", arrayAt(review, "response", "warnings")]
  ] as const
  for (const [name, values] of texts) {
    const strange = values.find((value) => typeof value !== "string" && value !== null)
    if (strange !== undefined) {
      const type = Negotiation.jsonType(strange)
      return `json: cannot unmarshal ${type} into Go struct field AdmissionResponse.response.${name} of type string`
    }
  }
  return undefined
}

/** The decision, or the fault of the reply. */
export const verify = (
  version: Version,
  uid: string,
  mutating: boolean,
  review: JsonObject
): Result.Result<Response, string> => {
  const response = at(review, "response") ?? undefined
  if (response === undefined) return Result.fail("webhook response was absent")
  const patch = Result.getOrElse(decodeBase64(stringAt(response, "patch")), () => "")
  const patchType = at(response, "patchType") ?? undefined
  if (version === "v1") {
    const fault = v1Fault(uid, mutating, review, patch, patchType)
    if (fault !== undefined) return Result.fail(fault)
  }
  const status = at(response, "status")
  return Result.succeed({
    allowed: at(response, "allowed") === true,
    patch: mutating ? patch : "",
    patchType: version === "v1" ? String(patchType ?? "") : patch === "" ? "" : "JSONPatch",
    status: JsonValue.isObject(status) ? status : undefined,
    warnings: arrayAt(response, "warnings").map(String),
    auditAnnotations: Object.entries(objectAt(response, "auditAnnotations")).map(([key, value]) => [key, String(value)])
  })
}

const v1Fault = (
  uid: string,
  mutating: boolean,
  review: JsonObject,
  patch: string,
  patchType: unknown
): string | undefined => {
  const answered = stringAt(review, "response", "uid")
  if (answered !== uid) {
    return `expected response.uid=${FieldError.quote(uid)}, got ${FieldError.quote(answered)}`
  }
  const expected = `${group}/v1, Kind=AdmissionReview`
  const own = `${stringAt(review, "apiVersion") || "/"}, Kind=${stringAt(review, "kind")}`
  if (own !== expected) return `expected webhook response of ${expected}, got ${own}`
  if (!mutating) {
    return patch !== ""
      ? "validating webhook may not return response.patch"
      : patchType !== undefined
      ? "validating webhook may not return response.patchType"
      : undefined
  }
  if (patch !== "" && patchType === undefined) return "webhook returned response.patch but not response.patchType"
  if (patch === "" && patchType !== undefined) return "webhook returned response.patchType but not response.patch"
  return patchType === "" ? "webhook returned invalid response.patchType of \"\"" : undefined
}

/** The refusal of a request by the webhook with that name. */
export const denied = (name: string, status: JsonObject | undefined): StatusError.StatusError => {
  const { code, details, message, metadata = {}, reason, status: outcome } = (status ?? {}) as Partial<Status>
  const by = `admission webhook ${FieldError.quote(name)} denied the request`
  const error = StatusError.make(
    typeof code === "number" && code >= 400 ? code : 400,
    reason ?? "",
    (message ?? "") !== ""
      ? `${by}: ${message}`
      : (reason ?? "") !== ""
      ? `${by}: ${reason}`
      : `${by} without explanation`,
    details
  )
  const retry = details?.retryAfterSeconds ?? 0
  return {
    ...error,
    body: { ...error.body, metadata, status: outcome === "Success" ? "Failure" : outcome || "Failure" } as Status,
    ...(retry > 0 ? { headers: { "retry-after": String(retry) } } : {})
  }
}
