/**
 * `Body`: from the body of a create or update to a typed object of the resource, with every check that needs the
 * request only: kind, apiVersion, name and namespace against the URL, unknown fields.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go and pkg/registry/rest/meta.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { definitionOf } from "./BuiltinSchema.ts"
import * as DuplicateFields from "../../api/DuplicateFields.ts"
import * as Exchange from "./Exchange.ts"
import { jsonType, summarize } from "../../api/Negotiation.ts"
import * as FieldError from "../schema/FieldError.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as Managers from "../apply/Managers.ts"
import { asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import { apiVersionOf, type Served } from "./Registry.ts"
import * as StatusError from "../../api/StatusError.ts"

type Refused = StatusError.StatusError

const internalVersion = (group: string): string => `${group === "" ? "core" : group.split(".")[0]!}`

/** Why a body of another kind or version is refused. */
const kindFault = (
  { request, resource }: Pick<Exchange.Exchange, "request" | "resource">,
  body: JsonValue.JsonObject
): Refused | undefined => {
  for (const key of ["apiVersion", "kind"]) {
    const value = body[key]
    if (value !== undefined && value !== null && typeof value !== "string") {
      const unreadable = `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value)} ` +
        `into Go struct field .${key} of type string`
      return StatusError.badRequest(
        request.method === "PATCH"
          ? unreadable
          : `the object provided is unrecognized (must be of type ${resource.kind}): ${unreadable} ` +
            `(${summarize(FieldError.goJson(body))})`
      )
    }
  }
  const apiVersion = stringAt(body, "apiVersion")
  const kind = stringAt(body, "kind")
  const expected = apiVersionOf(resource)
  if (resource.custom !== undefined) {
    if (kind === "") {
      return StatusError.badRequest(
        `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ` +
          `Object 'Kind' is missing in '${FieldError.goJson(body)}'`
      )
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
  const version = apiVersion === "" ? expected : apiVersion
  const named = kind === "" ? resource.kind : kind
  if (named === resource.kind && version === expected) return undefined
  const [group = "", name = ""] = version.includes("/") ? version.split("/") : ["", version]
  const head = `${named} in version ${FieldError.quote(name)} cannot be handled as a ${resource.kind}: `
  return StatusError.badRequest(
    head + (definitionOf(group, name, named) === undefined
      ? `no kind ${FieldError.quote(named)} is registered for version ${FieldError.quote(version)} in scheme ` +
        `"pkg/api/legacyscheme/scheme.go:30"`
      : `converting (${name}.${named}) to (${internalVersion(resource.group)}.${resource.kind}): unknown conversion`)
  )
}

/** Metadata as Go's ObjectMeta writes it back: empty parts are not there, nor what only a server may set. */
const tidy = (metadata: JsonValue.JsonObject): JsonValue.JsonObject => {
  const out: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(metadata)) {
    const empty = value === "" || value === null || (typeof value === "object" && Object.keys(value).length === 0)
    if (!empty && key !== "selfLink") out[key] = value
  }
  return out
}

const withoutEntries = (body: JsonValue.JsonObject): JsonValue.JsonObject => {
  const { managedFields: _, ...metadata } = objectAt(body, "metadata")
  return { ...body, metadata }
}

/** An empty list of managers clears it where the type tells empty from absent: in built-in kinds. */
const cleared = ({ custom }: Served, body: JsonValue.JsonObject): JsonValue.JsonObject => {
  const entries = at(body, "metadata", "managedFields")
  return custom === undefined && Array.isArray(entries) && entries.length === 0 ? { managedFields: [] } : {}
}

/** Repeated and unknown fields, as `fieldValidation` wants them treated. Fails only under `Strict`. */
const unknownFields = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  unknown: ReadonlyArray<string>
): string | undefined => {
  const texts = [
    ...DuplicateFields.of(exchange.request.body).map((path) => `duplicate field ${FieldError.quote(path)}`),
    ...[...new Set(unknown)].map((path) => `unknown field ${FieldError.quote(path)}`)
  ]
  if (options.fieldValidation === "Warn") exchange.warnings.push(...texts)
  return options.fieldValidation === "Strict" && texts.length > 0
    ? `strict decoding error: ${texts.join(", ")}`
    : undefined
}

/** Reads a document as an object of the resource; `strict` makes an error of the text about unknown fields. */
export const decode = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  body: JsonValue.JsonObject,
  strict: (text: string) => Refused
): Effect.Effect<KubeObject, Refused> => {
  const { resource } = exchange
  const fault = kindFault(exchange, body)
  if (fault !== undefined) return Effect.fail(fault)
  const entries = at(body, "metadata", "managedFields")
  // What a client sends back as it got it need not be read field by field.
  const kept = Managers.isCanonical(entries) ? entries : undefined
  const read = kept === undefined ? body : withoutEntries(body)
  const full = { ...read, apiVersion: apiVersionOf(resource), kind: resource.kind }
  return Effect.flatMap(Effect.fromResult(resource.decode(full)), ({ object, unknown }) => {
    const text = unknownFields(exchange, options, unknown)
    if (text !== undefined) return Effect.fail(strict(text))
    const { apiVersion: _, kind: __, metadata: ___, ...rest } = object
    // Decoded: metadata is an object; what it lacks is filled in by the verb before it is stored.
    const metadata = {
      ...tidy(objectAt(object, "metadata")),
      ...(kept === undefined ? cleared(resource, body) : { managedFields: kept })
    }
    return Effect.succeed(asObject({ apiVersion: full.apiVersion, kind: full.kind, metadata, ...rest }))
  })
}

/** As `decode`, for the body of a POST or PUT. */
export const read = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions
): Effect.Effect<KubeObject, Refused> => {
  const { kind } = exchange.resource
  const version = FieldError.quote(exchange.resource.version)
  return Effect.flatMap(
    Exchange.bodyObject(exchange),
    (body) =>
      decode(
        exchange,
        options,
        body,
        (text) => StatusError.badRequest(`${kind} in version ${version} cannot be handled as a ${kind}: ${text}`)
      )
  )
}

/** The object with the namespace of the URL; 400 if it names another. A cluster-scoped object has none. */
export const placed = (
  exchange: Exchange.Exchange,
  object: KubeObject,
  verb: "create" | "update"
): Effect.Effect<KubeObject, Refused> => {
  const { namespace: _, ...metadata } = object.metadata
  const namespace = object.metadata.namespace ?? ""
  if (exchange.resource.scope === "Cluster") {
    // To a server a request about a Namespace is one in that Namespace.
    const { name } = exchange.route
    return exchange.resource.collection === "namespaces" && verb === "update" && namespace !== "" && namespace !== name
      ? Effect.fail(StatusError.badRequest(
        `the namespace of the object (${namespace}) does not match the namespace on the request (${name})`
      ))
      : Effect.succeed({ ...object, metadata })
  }
  const wanted = exchange.route.namespace
  if (namespace !== "" && namespace !== wanted) {
    return Effect.fail(StatusError.badRequest(
      verb === "create"
        ? "the namespace of the provided object does not match the namespace sent on the request"
        : `the namespace of the object (${namespace}) does not match the namespace on the request (${wanted})`
    ))
  }
  return Effect.succeed({ ...object, metadata: { ...metadata, namespace: wanted } })
}

/** 400 unless the object has the name of the URL. */
export const named = (exchange: Exchange.Exchange, object: KubeObject): Effect.Effect<void, Refused> => {
  const { name } = exchange.route
  const own = object.metadata.name ?? ""
  if (own === name) return Effect.void
  return Effect.fail(StatusError.badRequest(
    own === ""
      ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${own}) does not match the name on the URL (${name})`
  ))
}
