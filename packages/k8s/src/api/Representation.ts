/**
 * `Representation`: a response in the form that the client accepts: as it is, as a Table, or as metadata only.
 *
 * An `Accept` header may name several forms; the first possible one is chosen. Errors and other `Status` responses are
 * never converted.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go and negotiation.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Ended, Process, Request, Response, StreamResponse } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as JsonValue from "../schema/JsonValue.ts"
import * as Negotiation from "./Negotiation.ts"
import { freeze } from "./Plain.ts"
import type { Column } from "./PrinterColumns.ts"
import { parameter } from "./Routing.ts"
import * as StatusError from "./StatusError.ts"
import * as Table from "./Table.ts"

/** The response to any request; `events` is set if and only if it is a watch. */
export interface ApiResponse extends Response {
  /** Written as JSON without a final newline, whatever the client accepts. */
  readonly json?: "compact" | "indented"
  readonly events?: Stream.Stream<WireEvent>
  /** For a process, which is answered with 101. It is not started before this is run. */
  readonly process?: (given: Process) => Effect.Effect<Ended>
}

/** What a verb returns, before it is converted to the form that the client accepts. */
export type Answer =
  | {
    readonly _tag: "Object"
    readonly status: number
    readonly object: KubeObject
    /** How it is displayed, if it has another kind than the resource. */
    readonly window?: Window
  }
  | {
    readonly _tag: "List"
    readonly items: ReadonlyArray<KubeObject>
    readonly metadata: JsonValue.JsonObject
  }
  | { readonly _tag: "Watch"; readonly events: Stream.Stream<WireEvent> }
  /** A body that is never converted, such as a `Status`. */
  | { readonly _tag: "Plain"; readonly status: number; readonly body: unknown }
  /** Plain text. */
  | { readonly _tag: "Text"; readonly text: string }
  /** A process to start. */
  | { readonly _tag: "Process"; readonly run: NonNullable<ApiResponse["process"]> }

/** The kind of a response. */
export interface Shown {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly listKind: string
  /** Absent for built-in kinds: items of their lists carry neither apiVersion nor kind. */
  readonly custom?: object | undefined
}

/** A kind as which objects of several other kinds are displayed. */
export interface Window {
  readonly goType: string
  readonly columns: ReadonlyArray<Column>
}

/** The request, the kind and time of its response, and how objects of the kind become a Table. */
export interface Asked<R extends Shown> {
  readonly request: Request
  readonly resource: R
  readonly now: number
  /** Whether the response can be a Table. */
  readonly tabular: boolean
  readonly table: (resource: R, objects: ReadonlyArray<KubeObject>, options: Table.Options) => unknown
}

const json = { "content-type": "application/json" }
const text = { "content-type": "text/plain" }

/** The response for a refusal. */
export const refused = (error: StatusError.StatusError): ApiResponse => ({
  status: error.status,
  headers: { ...json, ...error.headers },
  body: error.body
})

/** A JSON body. */
export const plain = (status: number, body: unknown): ApiResponse => ({ status, headers: json, body })

/** The response, once the process that the request starts has ended. */
export const finished = ({ process: given }: Request, response: ApiResponse): Effect.Effect<ApiResponse> =>
  given === undefined || response.process === undefined
    ? Effect.succeed(response)
    : Effect.map(response.process(given), (body) => ({ status: 200, headers: response.headers, body }))

/** The response as a stream: the events of a watch, or the lines of a text. */
export const streamed = ({ lines }: Request, { events, ...response }: ApiResponse): StreamResponse => ({
  ...response,
  values: events ??
    (lines === true && typeof response.body === "string" && response.body !== ""
      ? Stream.fromIterable(response.body.replace(/\n$/, "").split("\n"))
      : Stream.empty)
})

/** The forms in which an object can be sent. */
type As = "Object" | "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"

export interface Form {
  readonly as: As
  /** The version of meta.k8s.io. */
  readonly version: "v1" | "v1beta1"
}

const forms: ReadonlySet<string> = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"])

/**
 * The first alternative of the Accept header that the server can produce; undefined if there is none. Not every
 * response has a Table.
 */
export const form = (header: string | undefined, tabular: boolean): Form | undefined => {
  for (const alternative of Negotiation.parseAccept(header)) {
    if (Negotiation.spoken(alternative) === undefined) continue
    const { as, g, v } = alternative.parameters
    if (as === undefined && (g !== undefined || v !== undefined)) continue
    if (as === undefined) return { as: "Object", version: "v1" }
    if (as === "Table" && !tabular) continue
    if (!forms.has(as) || g !== "meta.k8s.io" || (v !== "v1" && v !== "v1beta1")) continue
    return { as: as as As, version: v }
  }
  return undefined
}

const partial = (object: KubeObject, version: Form["version"]): unknown => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: Table.metadataOf(object)
})

const include = (asked: Pick<Asked<Shown>, "request">): Result.Result<Table.Include, StatusError.StatusError> => {
  const text = parameter(asked.request, "includeObject") ?? ""
  if (text === "" || text === "Metadata") return Result.succeed("Metadata")
  if (text === "None" || text === "Object") return Result.succeed(text)
  return Result.fail(StatusError.badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: ` +
      "must be 'Metadata', 'Object', 'None', or empty"
  ))
}

/** The Go type of a response, as error messages name it. */
const goType = ({ resource }: { readonly resource: Shown }, list: boolean): string =>
  resource.custom !== undefined
    ? list ? "unstructured.UnstructuredList" : "unstructured.Unstructured"
    : `${resource.group === "" ? "core" : resource.group.split(".")[0]!}.${list ? resource.listKind : resource.kind}`

/** An empty `continue` appears only in the classic form of a custom list. */
const withoutEmpty = ({ continue: token, ...rest }: JsonValue.JsonObject): JsonValue.JsonObject =>
  token === undefined || token === "" ? rest : { ...rest, continue: token }

const items = <R extends Shown>(
  asked: Asked<R>,
  answer: Extract<Answer, { readonly _tag: "List" }>,
  { as, version }: Form
): Result.Result<unknown, StatusError.StatusError> => {
  const { now, resource } = asked
  switch (as) {
    case "Table":
      return Result.map(
        include(asked),
        (included) =>
          asked.table(resource, answer.items, {
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
        `you requested PartialObjectMetadata, but the requested object is a list (*${goType(asked, true)})`
      ))
    case "Object":
      return Result.succeed({
        kind: resource.listKind,
        apiVersion: resource.group === "" ? resource.version : `${resource.group}/${resource.version}`,
        metadata: answer.metadata,
        // Items of built-in lists carry neither apiVersion nor kind.
        items: resource.custom === undefined ? answer.items.map(untyped) : answer.items
      })
  }
}

const untypedForms = new WeakMap<KubeObject, object>()

/** An object without apiVersion and kind, created once and frozen like the object. */
const untyped = (object: KubeObject): object => {
  let form = untypedForms.get(object)
  if (form === undefined) {
    const { apiVersion: _, kind: __, ...rest } = object
    form = Object.freeze(rest)
    untypedForms.set(object, form)
  }
  return form
}

const single = <R extends Shown>(
  asked: Asked<R>,
  { object, window }: Extract<Answer, { readonly _tag: "Object" }>,
  { as, version }: Form
): Result.Result<unknown, StatusError.StatusError> => {
  const { now, resource } = asked
  switch (as) {
    case "Table":
      return Result.map(include(asked), (included) => {
        const options: Table.Options = {
          include: included,
          now,
          columns: true,
          version,
          metadata: { resourceVersion: object.metadata.resourceVersion }
        }
        return window === undefined
          ? asked.table(resource, [object], options)
          : Table.make(window.columns, [object], options)
      })
    case "PartialObjectMetadata":
      return Result.succeed(partial(object, version))
    case "PartialObjectMetadataList":
      // The real server only notices while converting that a custom object is not a list, so the message differs.
      return Result.fail(
        asked.resource.custom !== undefined && window === undefined ?
          StatusError.plain("content is not a list") :
          StatusError.notAcceptableBecause(
            "you requested PartialObjectMetadataList, but the requested object is not a list " +
              `(*${window?.goType ?? goType(asked, false)})`
          )
      )
    case "Object":
      return Result.succeed(object)
  }
}

/** Events whose objects are Tables or metadata. Only the first Table defines the columns. */
const events = <R extends Shown>(
  asked: Asked<R>,
  stream: Stream.Stream<WireEvent>,
  { as, version }: Form
): Result.Result<Stream.Stream<WireEvent>, StatusError.StatusError> => {
  if (as === "Object") return Result.succeed(stream)
  const convert = (event: WireEvent, f: (object: KubeObject) => unknown): WireEvent => {
    if (event.type === "ERROR") return event
    return { type: event.type, object: freeze(f(event.object as KubeObject)) as KubeObject }
  }
  // A bookmark has the requested form, too: a client that decodes metadata or Tables knows no other.
  if (as !== "Table") {
    return Result.succeed(Stream.map(stream, (event) => convert(event, (object) => partial(object, version))))
  }
  return Result.map(include(asked), (included) => {
    const table = (object: KubeObject, now: number, columns: boolean) =>
      asked.table(asked.resource, [object], {
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

/** The response in the form that the client accepts, or a refusal if that is impossible. */
export const present = <R extends Shown>(
  asked: Asked<R>,
  answer: Answer
): Result.Result<ApiResponse, StatusError.StatusError> => {
  if (answer._tag === "Plain") return Result.succeed(plain(answer.status, answer.body))
  if (answer._tag === "Text") return Result.succeed({ status: 200, headers: text, body: answer.text })
  if (answer._tag === "Process") return Result.succeed({ status: 101, headers: {}, process: answer.run })
  const as = form(asked.request.headers["accept"], asked.tabular) ?? { as: "Object", version: "v1" }
  switch (answer._tag) {
    case "Object":
      return Result.map(single(asked, answer, as), (body) => plain(answer.status, body))
    case "List":
      return Result.map(items(asked, answer, as), (body) => plain(200, body))
    case "Watch":
      return Result.map(events(asked, answer.events, as), (stream) => ({
        status: 200,
        headers: json,
        events: stream
      }))
  }
}
