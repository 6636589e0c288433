/**
 * `Bodies`: what a body must be, by the request alone: its kind, apiVersion, name and namespace against the URL, and what
 * `fieldValidation` makes of fields that are unknown or come twice.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go and pkg/registry/rest/meta.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as DuplicateFields from "./DuplicateFields.ts"
import { jsonType, summarize } from "./Negotiation.ts"
import * as OperationFaults from "./patch/OperationFaults.ts"
import { stringAt } from "./Plain.ts"
import type { ResourceRoute } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"
import type { WriteOptions } from "./WriteOptions.ts"
import * as YamlBody from "./YamlBody.ts"

type Refused = StatusError.StatusError

/** A request with a body. */
export interface Coming {
  readonly request: Request
  readonly route: ResourceRoute
  readonly resource: {
    readonly group: string
    readonly version: string
    readonly kind: string
    readonly scope: "Namespaced" | "Cluster"
    readonly collection: string
  }
  /** Texts of Warning headers; rules add to it. */
  readonly warnings: Array<string>
}

/** What is said of a value with more levels than are kept, much as Go's decoder says it of more than it reads. */
export const tooDeep = "exceeded max depth"

/** The levels around the fields of an object where `managedFields` names them, with room. */
const aroundFields = 10

/** Why a body, or what of it is kept, is refused for its depth. */
export const depthFault = (
  { resource: { kind, version } }: Pick<Coming, "resource">,
  { metadata, ...rest }: JsonValue.JsonObject
): Refused | undefined =>
  JsonValue.isDeeper(rest) || JsonValue.isDeeper(metadata, JsonValue.maxLevels + aroundFields)
    ? StatusError.badRequest(
      `${kind} in version ${FieldError.quote(version)} cannot be handled as a ${kind}: ${tooDeep}`
    )
    : undefined

/** The text of a body: as it came, or as a patch made it, whose fields Go writes in order. */
const said = ({ request }: Pick<Coming, "request">, body: unknown): string =>
  request.method === "PATCH" ? FieldError.goJson(body) : JSON.stringify(body)

/** 400 of a body that does not say what it is; of one that a patch has made no more than why. */
export const unrecognized = (
  { request, resource }: Pick<Coming, "request" | "resource">,
  body: unknown,
  why: string
): Refused =>
  StatusError.badRequest(
    request.method === "PATCH"
      ? why
      : `the object provided is unrecognized (must be of type ${resource.kind}): ${why} ` +
        `(${summarize(said({ request }, body))})`
  )

/** The version that a body says it is of, as Go reads one: a group may be there and empty (`/v1`). */
export const apiVersionOf = (body: unknown): string => {
  const text = stringAt(body, "apiVersion")
  return text.lastIndexOf("/") === 0 ? text.slice(1) : text
}

/** Why a body whose type cannot be read is refused. */
export const typeFault = (
  coming: Pick<Coming, "request" | "resource">,
  body: JsonValue.JsonObject
): Refused | undefined => {
  for (const key of ["apiVersion", "kind"]) {
    const value = body[key]
    if (value !== undefined && value !== null && typeof value !== "string") {
      return unrecognized(
        coming,
        body,
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value)} ` +
          `into Go struct field .${key} of type string`
      )
    }
  }
  const apiVersion = stringAt(body, "apiVersion")
  return apiVersion.split("/").length > 2
    ? unrecognized(coming, body, `unexpected GroupVersion string: ${apiVersion}`)
    : undefined
}

/** Why a custom body without a kind is refused. */
export const kindMissing = (coming: Pick<Coming, "request" | "resource">, body: unknown): Refused =>
  unrecognized(coming, body, `Object 'Kind' is missing in '${said(coming, body)}'`)

/** Why a body of another kind or version than a custom one is refused. */
export const kindFault = (
  coming: Pick<Coming, "request" | "resource">,
  body: JsonValue.JsonObject
): Refused | undefined => {
  const { request, resource } = coming
  const unreadable = typeFault(coming, body)
  if (unreadable !== undefined) return unreadable
  const apiVersion = stringAt(body, "apiVersion")
  const kind = stringAt(body, "kind")
  const expected = `${resource.group}/${resource.version}`
  if (kind === "") return kindMissing(coming, body)
  // What a patch has made of an object is read first and judged after.
  if (request.method === "PATCH") {
    return apiVersion === ""
      ? StatusError.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
      : undefined
  }
  if (apiVersion !== expected) {
    return StatusError.badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`
    )
  }
  // Of an update the verb says so, where it has judged the rest.
  if (kind === resource.kind || request.method === "PUT") return undefined
  const fault = FieldError.invalid("kind", kind, `must be ${resource.kind}`)
  return StatusError.invalid(kind, resource.group, stringAt(body, "metadata", "name"), [fault])
}

/** Metadata as Go's ObjectMeta writes it back: empty parts are not there, nor what only a server may set. */
export const tidy = (metadata: JsonValue.JsonObject): JsonValue.JsonObject => {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const empty = value === "" || value === null || (typeof value === "object" && Object.keys(value).length === 0)
    if (!empty && key !== "selfLink") out[key] = value
  }
  return out
}

/** Repeated and unknown fields, as `fieldValidation` wants them treated. Fails only under `Strict`. */
export const unknownFields = (
  coming: Coming,
  { fieldValidation }: Pick<WriteOptions, "fieldValidation">,
  unknown: ReadonlyArray<string>
): string | undefined => {
  const { body } = coming.request
  const texts = DuplicateFields.saidOf(body) ?? [
    // Of patches only one of JSON is a list.
    ...(Array.isArray(body)
      ? OperationFaults.of(body)
      : DuplicateFields.of(body).map((path) => `duplicate field ${FieldError.quote(path)}`)),
    ...[...new Set(unknown)].map((path) => `unknown field ${FieldError.quote(path)}`)
  ]
  if (fieldValidation === "Warn") {
    // As a warning each line is one of its own.
    for (const text of [...YamlBody.repeatedOf(body), ...texts]) coming.warnings.push(text)
  }
  if (fieldValidation !== "Strict") return undefined
  const inYaml = YamlBody.repeatedFault(YamlBody.repeatedOf(body))
  const all = inYaml === undefined ? texts : [inYaml, ...texts]
  return all.length === 0 ? undefined : `strict decoding error: ${all.join(", ")}`
}

/** 400 of a body whose namespace is not that of the URL. */
export const misplaced = StatusError.badRequest(
  "the namespace of the provided object does not match the namespace sent on the request"
)

/** The object with the namespace of the URL; 400 if it names another. A cluster-scoped object has none. */
export const placed = ({ resource, route }: Coming, object: KubeObject): Effect.Effect<KubeObject, Refused> => {
  const { namespace = "", ...metadata } = object.metadata
  if (resource.scope === "Cluster") return Effect.succeed({ ...object, metadata })
  return namespace === "" || namespace === route.namespace
    ? Effect.succeed({ ...object, metadata: { ...metadata, namespace: route.namespace } })
    : Effect.fail(misplaced)
}

/** 400 of an object without a name. */
export const undeterminable = (name: string): Refused =>
  StatusError.badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)

/** 400 unless the object has the name of the URL. */
export const named = (coming: Coming, object: KubeObject): Effect.Effect<void, Refused> => {
  const { name } = coming.route
  const own = object.metadata.name ?? ""
  if (own === name) return Effect.void
  return Effect.fail(
    own === ""
      ? undeterminable(name)
      : StatusError.badRequest(`the name of the object (${own}) does not match the name on the URL (${name})`)
  )
}
