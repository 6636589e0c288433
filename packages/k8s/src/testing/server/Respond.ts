/**
 * `Respond`: the answer of a verb in the form the client accepts: as it is, as a Table, or metadata only.
 *
 * An `Accept` header may name several forms; the first that can be given is. Errors and other `Status` answers are
 * never converted.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go and negotiation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Response } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as Exchange from "./Exchange.ts"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import { freeze } from "../../api/Plain.ts"
import { apiVersionOf, type Served } from "./Registry.ts"
import { parameter } from "../../api/Routing.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Warnings from "../../api/Warnings.ts"
import * as Table from "./Table.ts"

/** The answer to any request; `events` is there if and only if it is a watch. */
export interface ApiResponse extends Response {
  readonly events?: Stream.Stream<WireEvent>
}

/** The forms an object can be given in. */
type As = "Object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"

interface Form {
  readonly as: As
  /** Of meta.k8s.io. */
  readonly version: "v1" | "v1beta1"
}

const forms: ReadonlySet<string> = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"])

/** The first alternative of the Accept header that the server can give; undefined for none. */
const form = (header: string | undefined): Form | undefined => {
  for (const { parameters, type } of Negotiation.parseAccept(header)) {
    if (!["application/json", "application/yaml", "application/*", "*/*"].includes(type)) continue
    const { as, g, v } = parameters
    if (as === undefined) return { as: "Object", version: "v1" }
    if (!forms.has(as) || g !== "meta.k8s.io" || (v !== "v1" && v !== "v1beta1")) continue
    return { as: as as As, version: v }
  }
  return undefined
}

const json = { "content-type": "application/json" }

/** A refusal. */
export const refused = (error: StatusError.StatusError): ApiResponse => ({
  status: error.status,
  headers: { ...json, ...error.headers },
  body: error.body
})

/** A response with the Warning about the version that was asked for, if there is one. */
export const deprecated = ({ custom }: Served, response: ApiResponse): ApiResponse =>
  custom?.deprecation === undefined
    ? response
    : { ...response, headers: { ...response.headers, ...Warnings.header([custom.deprecation]) } }

/** A JSON body. */
export const plain = (status: number, body: unknown): ApiResponse => ({ status, headers: json, body })

const partial = (object: KubeObject, version: Form["version"]): unknown => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: Table.metadataOf(object)
})

/** What the router before the built-in resources lets pass: it does not know `application/*`. */
const routable: ReadonlySet<string> = new Set([
  "*/*",
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf"
])

const passesRouter = ({ request: { headers: { accept } } }: Exchange.Exchange): boolean =>
  Negotiation.parseAccept(accept).some(({ type }) => routable.has(type))

const canAnswer = (exchange: Exchange.Exchange): boolean =>
  form(exchange.request.headers["accept"]) !== undefined &&
  (exchange.resource.custom !== undefined || passesRouter(exchange))

/** 406 for a request whose answer the client could not read; asked before anything is done. */
export const unacceptable = (exchange: Exchange.Exchange): StatusError.StatusError | undefined =>
  exchange.route.verb === "watch" && Negotiation.acceptable(exchange.request.headers["accept"], true) === undefined
    ? StatusError.notAcceptableWatch
    : canAnswer(exchange)
    ? undefined
    : exchange.resource.custom === undefined && !passesRouter(exchange)
    ? StatusError.notAcceptable
    : StatusError.notAcceptableTypes(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"])

const include = (exchange: Exchange.Exchange): Result.Result<Table.Include, StatusError.StatusError> => {
  const text = parameter(exchange.request, "includeObject") ?? ""
  if (text === "" || text === "Metadata") return Result.succeed("Metadata")
  if (text === "None" || text === "Object") return Result.succeed(text)
  return Result.fail(StatusError.badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: ` +
      "must be 'Metadata', 'Object', 'None', or empty"
  ))
}

/** The Go type behind an answer, as its messages name it. */
const goType = ({ resource }: Exchange.Exchange, list: boolean): string =>
  resource.custom !== undefined
    ? list ? "unstructured.UnstructuredList" : "unstructured.Unstructured"
    : `${resource.group === "" ? "core" : resource.group.split(".")[0]!}.${list ? resource.listKind : resource.kind}`

/** Only the classic form of a custom list has an empty `continue`. */
const withoutEmpty = ({ continue: token, ...rest }: JsonValue.JsonObject): JsonValue.JsonObject =>
  token === undefined || token === "" ? rest : { ...rest, continue: token }

const items = (
  exchange: Exchange.Exchange,
  answer: Extract<Exchange.Answer, { readonly _tag: "List" }>,
  { as, version }: Form
): Result.Result<unknown, StatusError.StatusError> => {
  const { now, resource } = exchange
  switch (as) {
    case "Table":
      return Result.map(
        include(exchange),
        (included) =>
          Table.make(resource, answer.items, {
            include: included,
            now,
            columns: true,
            version,
            metadata: withoutEmpty(answer.metadata)
          })
      )
    case "PartialObjectMetadataList":
      return Result.succeed({
        kind: "PartialObjectMetadataList",
        apiVersion: `meta.k8s.io/${version}`,
        metadata: withoutEmpty(answer.metadata),
        items: answer.items.length === 0 ? null : answer.items.map((item) => partial(item, version))
      })
    case "PartialObjectMetadata":
      return Result.fail(StatusError.notAcceptableBecause(
        `you requested PartialObjectMetadata, but the requested object is a list (*${goType(exchange, true)})`
      ))
    case "Object":
      return Result.succeed({
        kind: resource.listKind,
        apiVersion: apiVersionOf(resource),
        metadata: answer.metadata,
        // Items of built-in lists carry neither apiVersion nor kind.
        items: resource.custom === undefined ? answer.items.map(untyped) : answer.items
      })
  }
}

const untypedForms = new WeakMap<KubeObject, object>()

/** An object without apiVersion and kind, made once and frozen like the object. */
const untyped = (object: KubeObject): object => {
  let form = untypedForms.get(object)
  if (form === undefined) {
    const { apiVersion: _, kind: __, ...rest } = object
    form = Object.freeze(rest)
    untypedForms.set(object, form)
  }
  return form
}

const single = (
  exchange: Exchange.Exchange,
  object: KubeObject,
  { as, version }: Form
): Result.Result<unknown, StatusError.StatusError> => {
  const { now, resource } = exchange
  switch (as) {
    case "Table":
      return Result.map(include(exchange), (included) =>
        Table.make(resource, [object], {
          include: included,
          now,
          columns: true,
          version,
          metadata: { resourceVersion: object.metadata.resourceVersion }
        }))
    case "PartialObjectMetadata":
      return Result.succeed(partial(object, version))
    case "PartialObjectMetadataList":
      // To the server a custom object could be a list, until it looks.
      return Result.fail(
        exchange.resource.custom !== undefined ?
          StatusError.plain("content is not a list") :
          StatusError.notAcceptableBecause(
            "you requested PartialObjectMetadataList, but the requested object is not a list " +
              `(*${goType(exchange, false)})`
          )
      )
    case "Object":
      return Result.succeed(object)
  }
}

/** Events whose objects are tables or metadata. Only the first table says what its columns are. */
const events = (
  exchange: Exchange.Exchange,
  stream: Stream.Stream<WireEvent>,
  { as, version }: Form
): Result.Result<Stream.Stream<WireEvent>, StatusError.StatusError> => {
  if (as === "Object") return Result.succeed(stream)
  const convert = (event: WireEvent, f: (object: KubeObject) => unknown): WireEvent =>
    event.type === "ERROR" || event.type === "BOOKMARK"
      ? event
      : { type: event.type, object: freeze(f(event.object)) as KubeObject }
  if (as !== "Table") {
    return Result.succeed(Stream.map(stream, (event) => convert(event, (object) => partial(object, version))))
  }
  return Result.map(include(exchange), (included) => {
    const table = (object: KubeObject, now: number, columns: boolean) =>
      Table.make(exchange.resource, [object], {
        include: included,
        now,
        columns,
        version,
        metadata: { resourceVersion: object.metadata.resourceVersion }
      })
    return Stream.suspend(() => {
      let first = true
      return Stream.mapEffect(
        stream,
        (event) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            convert(event, (object) => {
              const columns = first
              first = false
              return table(object, now, columns)
            }))
      )
    })
  })
}

const present = (
  exchange: Exchange.Exchange,
  answer: Exchange.Answer
): Result.Result<ApiResponse, StatusError.StatusError> => {
  if (answer._tag === "Plain") return Result.succeed(plain(answer.status, answer.body))
  const as = form(exchange.request.headers["accept"]) ?? { as: "Object", version: "v1" }
  switch (answer._tag) {
    case "Object":
      return Result.map(single(exchange, answer.object, as), (body) => plain(answer.status, body))
    case "List":
      return Result.map(items(exchange, answer, as), (body) => plain(200, body))
    case "Watch":
      return Result.map(events(exchange, answer.events, as), (stream) => ({
        status: 200,
        headers: json,
        events: stream
      }))
  }
}

/** With the warnings: about the version asked for, then those of the verb. A refusal has them, too. */
const warned = (exchange: Exchange.Exchange, response: ApiResponse): ApiResponse => {
  const deprecation = exchange.resource.custom?.deprecation
  const texts = deprecation === undefined ? exchange.warnings : [deprecation, ...exchange.warnings]
  return texts.length === 0 ? response : { ...response, headers: { ...response.headers, ...Warnings.header(texts) } }
}

/** The response to a request that a verb answered. */
export const respond = (exchange: Exchange.Exchange, answer: Exchange.Answer): ApiResponse => {
  const presented = present(exchange, answer)
  return warned(exchange, Result.isFailure(presented) ? refused(presented.failure) : presented.success)
}

/** The response to a request that a verb refused. */
export const refuse = (exchange: Exchange.Exchange, error: StatusError.StatusError): ApiResponse =>
  warned(exchange, refused(error))
