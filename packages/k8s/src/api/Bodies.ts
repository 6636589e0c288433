/**
 * `Bodies`: checks of a body against its request: its kind, apiVersion, name and namespace against the URL, and its
 * unknown and repeated fields according to `fieldValidation`.
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
  /** Texts of Warning headers; checks append to it. */
  readonly warnings: Array<string>
}

/** The error for a value with more levels than are kept. Go's decoder words its own limit similarly. */
export const tooDeep = "exceeded max depth"

/** The additional levels around an object's fields where `managedFields` names them, with some margin. */
const aroundFields = 10

/** Why a body, or the part of it that is kept, is nested too deeply. */
export const depthFault = (
  { resource: { kind, version } }: Pick<Coming, "resource">,
  { metadata, ...rest }: JsonValue.JsonObject
): Refused | undefined =>
  JsonValue.isDeeper(rest) || JsonValue.isDeeper(metadata, JsonValue.maxLevels + aroundFields)
    ? StatusError.badRequest(
      `${kind} in version ${FieldError.quote(version)} cannot be handled as a ${kind}: ${tooDeep}`
    )
    : undefined

/** The text of a body: as sent or, for the result of a patch, with fields in the order in which Go writes them. */
const said = ({ request }: Pick<Coming, "request">, body: unknown): string =>
  request.method === "PATCH" ? FieldError.goJson(body) : JSON.stringify(body)

/** 400: the body does not state its type. For the result of a patch, the message is only the reason. */
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

/** The version in a body's apiVersion, parsed as Go does: the group may be present and empty (`/v1`). */
export const apiVersionOf = (body: unknown): string => {
  const text = stringAt(body, "apiVersion")
  return text.lastIndexOf("/") === 0 ? text.slice(1) : text
}

/** Why the apiVersion or kind of a body cannot be read. */
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

/** The refusal of a custom body without a kind. */
export const kindMissing = (coming: Pick<Coming, "request" | "resource">, body: unknown): Refused =>
  unrecognized(coming, body, `Object 'Kind' is missing in '${said(coming, body)}'`)

/** Why a body does not have the kind and version of its custom resource. */
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
  // The result of a patch is only read here, and judged later.
  if (request.method === "PATCH") {
    return apiVersion === ""
      ? StatusError.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
      : undefined
  }
  if (body["apiVersion"] === null) {
    return StatusError.badRequest(
      `${resource.kind} in version "" cannot be handled as a ${resource.kind}: .apiVersion accessor error: <nil> is of ` +
        "the type <nil>, expected string"
    )
  }
  if (apiVersion !== expected) {
    return StatusError.badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`
    )
  }
  // An update reports this itself, after its other checks.
  if (kind === resource.kind || request.method === "PUT") return undefined
  const fault = FieldError.invalid("kind", kind, `must be ${resource.kind}`)
  return StatusError.invalid(kind, resource.group, stringAt(body, "metadata", "name"), [fault])
}

/** Metadata as Go's ObjectMeta writes it: without empty fields and without `selfLink`. */
export const tidy = (metadata: JsonValue.JsonObject): JsonValue.JsonObject => {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const empty = value === "" || value === null || (typeof value === "object" && Object.keys(value).length === 0)
    if (!empty && key !== "selfLink") out[key] = value
  }
  return out
}

/** Handles repeated and unknown fields according to `fieldValidation`. Returns an error text only under `Strict`. */
export const unknownFields = (
  coming: Coming,
  { fieldValidation }: Pick<WriteOptions, "fieldValidation">,
  unknown: ReadonlyArray<string>
): string | undefined => {
  const { body } = coming.request
  const texts = DuplicateFields.saidOf(body) ?? [
    // Of the patch types, only a JSON patch is a list.
    ...(Array.isArray(body)
      ? OperationFaults.of(body)
      : DuplicateFields.of(body).map((path) => `duplicate field ${FieldError.quote(path)}`)),
    ...[...new Set(unknown)].map((path) => `unknown field ${FieldError.quote(path)}`)
  ]
  if (fieldValidation === "Warn") {
    // Each line becomes a warning of its own.
    for (const text of [...YamlBody.repeatedOf(body), ...texts]) coming.warnings.push(text)
  }
  if (fieldValidation !== "Strict") return undefined
  const inYaml = YamlBody.repeatedFault(YamlBody.repeatedOf(body))
  const all = inYaml === undefined ? texts : [inYaml, ...texts]
  return all.length === 0 ? undefined : `strict decoding error: ${all.join(", ")}`
}

/** 400: the body's namespace is not that of the URL. */
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

/** 400: the object has no name. */
export const undeterminable = (name: string): Refused =>
  StatusError.badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)

/** 400 unless the object has the name in the URL. */
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
