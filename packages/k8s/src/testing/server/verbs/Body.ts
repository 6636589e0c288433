/**
 * `Body`: decodes the body of a create or update as an object of the resource, with every check that needs only the
 * request: kind, apiVersion, unknown fields, and name and namespace against the URL.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go and pkg/registry/rest/meta.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Bodies from "../../../api/Bodies.ts"
import { asObject, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as WrittenNumbers from "../../../api/WrittenNumbers.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import * as Managers from "../../apply/Managers.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf, type Served } from "../Registry.ts"
import * as Scheme from "../Scheme.ts"
import * as BuiltinSchema from "../go/BuiltinSchema.ts"

type Refused = StatusError.StatusError

const internalVersion = (group: string): string => `${group === "" ? "core" : group.split(".")[0]!}`

/** The refusal of a body with another kind or version. */
export const kindFault = (
  exchange: Pick<Exchange.Exchange, "request" | "resource">,
  body: JsonValue.JsonObject
): Refused | undefined => {
  const { resource } = exchange
  if (resource.custom !== undefined) return Bodies.kindFault(exchange, body)
  const unreadable = Bodies.typeFault(exchange, body)
  if (unreadable !== undefined) return unreadable
  const apiVersion = Bodies.apiVersionOf(body)
  const kind = stringAt(body, "kind")
  const expected = apiVersionOf(resource)
  const version = apiVersion === "" ? expected : apiVersion
  const named = kind === "" ? resource.kind : kind
  if (named === resource.kind && version === expected) return undefined
  const [given, wanted] = [{ apiVersion: version, kind: named }, { apiVersion: expected, kind: resource.kind }]
  const isKnown = Scheme.knows(resource.group, given)
  if (isKnown && Scheme.isSame(given, wanted)) {
    // The result of a patch is decoded in the version that it names.
    return exchange.request.method === "PATCH" ? undefined : StatusError.badRequest(
      `the API version in the data (${version}) does not match the expected API version (${expected})`
    )
  }
  const name = version.slice(version.indexOf("/") + 1)
  const head = `${named} in version ${FieldError.quote(name)} cannot be handled as a ${resource.kind}: `
  return StatusError.badRequest(
    head + (isKnown
      ? `converting (${name}.${named}) to (${internalVersion(resource.group)}.${resource.kind}): unknown conversion`
      : `no kind ${FieldError.quote(named)} is registered for version ${FieldError.quote(version)} in scheme ` +
        FieldError.quote(Scheme.nameFor(resource.group)))
  )
}

const withoutEntries = (body: JsonValue.JsonObject): JsonValue.JsonObject => {
  const { managedFields: _, ...metadata } = objectAt(body, "metadata")
  return { ...body, metadata }
}

/** An empty list of managedFields clears them if the type distinguishes empty from missing, as built-in kinds do. */
const cleared = ({ custom }: Served, body: JsonValue.JsonObject): JsonValue.JsonObject => {
  const entries = at(body, "metadata", "managedFields")
  return custom === undefined && Array.isArray(entries) && entries.length === 0 ? { managedFields: [] } : {}
}

const steps = (path: string): ReadonlyArray<string> => path.split(/[.[]/)

const byKeys = (a: string, b: string): number => {
  const [left, right] = [steps(a), steps(b)]
  const index = left.findIndex((step, place) => step !== right[place])
  const [mine = "", other = ""] = [left[index], right[index]]
  const [one, two] = [mine, other].map((step) => Number.parseInt(step, 10))
  return mine.endsWith("]") && other.endsWith("]") ? one! - two! : mine < other ? -1 : mine > other ? 1 : 0
}

/** Unknown fields in the order in which they are reported: a patch sorts the keys that it has touched. */
export const told = ({ request, resource }: Exchange.Exchange, unknown: ReadonlyArray<string>): ReadonlyArray<string> =>
  unknown.length > 1 && resource.custom === undefined && request.method === "PATCH" ? unknown.toSorted(byKeys) : unknown

/** Decodes a document as an object of the resource. `strict` makes an error of the message about unknown fields. */
export const decode = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions,
  body: JsonValue.JsonObject,
  strict: (text: string) => Refused,
  merged = false
): Effect.Effect<KubeObject, Refused> => {
  const { resource } = exchange
  // The depth of a built-in kind is checked after decoding, which drops unknown fields.
  const fault = (resource.custom === undefined ? undefined : Bodies.depthFault(exchange, body)) ??
    kindFault(exchange, body)
  if (fault !== undefined) return Effect.fail(fault)
  const entries = at(body, "metadata", "managedFields")
  // managedFields that a client returns unchanged need not be decoded.
  const kept = Managers.isCanonical(entries) ? entries : undefined
  const read = kept === undefined ? body : withoutEntries(body)
  const type = resource.custom === undefined
    ? { apiVersion: apiVersionOf(resource), kind: resource.kind }
    : { apiVersion: stringAt(body, "apiVersion"), kind: stringAt(body, "kind") }
  const typed = read["apiVersion"] === type.apiVersion && read["kind"] === type.kind ? read : { ...read, ...type }
  return Effect.flatMap(Effect.fromResult(resource.decode(typed, merged)), ({ emptied = [], object, unknown }) => {
    exchange.emptied.splice(0, exchange.emptied.length, ...emptied)
    const tooDeep = resource.custom === undefined ? Bodies.depthFault(exchange, object) : undefined
    if (tooDeep !== undefined) return Effect.fail(tooDeep)
    const text = Bodies.unknownFields(exchange, options, told(exchange, unknown))
    if (text !== undefined) return Effect.fail(strict(text))
    const { apiVersion: _, kind: __, metadata: ___, ...rest } = object
    // After decoding, metadata is an object. The verb fills in missing fields before it is stored.
    const metadata = {
      ...Bodies.tidy(objectAt(object, "metadata")),
      ...(kept === undefined ? cleared(resource, body) : { managedFields: kept })
    }
    return Effect.succeed(asObject({ ...type, metadata, ...rest }))
  })
}

/** Why a number in the text cannot be decoded as an integer because of its notation; built-in kinds only. */
const writtenFault = ({ request, resource }: Exchange.Exchange): string | undefined => {
  const written = resource.custom === undefined ? WrittenNumbers.of(request.body) : []
  const definition = written.length === 0
    ? undefined
    : BuiltinSchema.definitionOf(resource.group, resource.version, resource.kind)
  if (definition === undefined) return undefined
  for (const number of written) {
    const fault = BuiltinSchema.writtenFault(definition, number)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Like `decode`, for the body of a POST or PUT. */
export const read = (
  exchange: Exchange.Exchange,
  options: Exchange.WriteOptions
): Effect.Effect<KubeObject, Refused> => {
  const { kind } = exchange.resource
  const version = FieldError.quote(exchange.resource.version)
  const refused = (text: string) =>
    StatusError.badRequest(`${kind} in version ${version} cannot be handled as a ${kind}: ${text}`)
  return Effect.flatMap(Exchange.bodyObject(exchange), (body) => {
    const written = writtenFault(exchange)
    // A fault of the kind takes precedence.
    return written === undefined || kindFault(exchange, body) !== undefined
      ? decode(exchange, options, body, refused)
      : Effect.fail(refused(written))
  })
}
