/** `Exchange`: one request for a resource while it is being answered, with everything that verbs need. */
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Plugin } from "../admission/Plugin.ts"
import type { Authorizer } from "../auth/Rbac.ts"
import type { Tokens } from "../auth/Tokens.ts"
import type * as Backends from "../Backends.ts"
import type { Answer } from "../../api/Representation.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as Identity from "../../api/Identity.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import * as Managers from "../apply/Managers.ts"
import * as Negotiation from "../../api/Negotiation.ts"
import { copy } from "../../api/Plain.ts"
import type { Registry, Served } from "./Registry.ts"
import type { ResourceRoute } from "../../api/Routing.ts"
import type { ServicePool } from "./ServicePool.ts"
import * as Bodies from "../../api/Bodies.ts"
import * as StatusError from "../../api/StatusError.ts"
import type { Storage } from "../../api/Storage.ts"
import type { UserInfo } from "../../api/UserInfo.ts"
import type { WatchHub } from "../../api/WatchHub.ts"

export { generatedName, nameFault, storageKey, timestamp, uuid } from "../../api/Identity.ts"
export { storageConflict } from "../../api/Metadata.ts"
export { read as writeOptions, type WriteOptions } from "../../api/WriteOptions.ts"

/** The parts of a server that verbs work with. */
export interface Core {
  readonly storage: Storage
  readonly hub: WatchHub
  /** The addresses and node ports of Services. */
  readonly services: ServicePool
  readonly registry: Registry
  readonly admission: ReadonlyArray<Plugin>
  /** Calls to webhooks and other backends. */
  readonly backends: Backends.Calls
  /** Decides who may do what. */
  readonly authorizer: Authorizer
  /** Bearer tokens and their users. */
  readonly tokens: Tokens
}

export interface Exchange {
  readonly core: Core
  readonly request: Request
  readonly route: ResourceRoute
  readonly resource: Served
  readonly user: UserInfo
  /** When the request arrived, in milliseconds since 1970. */
  readonly now: number
  /** A fresh number in [0, 1). */
  readonly random: () => number
  /** Texts of Warning headers, added by verbs. */
  readonly warnings: Array<string>
  /** Paths of lists in the last body that were empty: the object omits them, but managedFields includes them. */
  readonly emptied: Array<string>
  /** Annotations of the audit event. */
  readonly annotations: Map<string, string>
  /** Reads the body if it did not come with the request. Called by `Dispatch` once the verb is known. */
  readonly incoming?: ((kind: string) => Effect.Effect<unknown, StatusError.StatusError>) | undefined
}

export type { Answer } from "../../api/Representation.ts"

export type Verb = (exchange: Exchange) => Effect.Effect<Answer, StatusError.StatusError>

/** Takes the time and, unless `random` is given, randomness from the fiber, once per request. */
export const make = (
  { random: chance, ...fields }: Omit<Exchange, "emptied" | "now" | "random" | "warnings"> & {
    readonly random: (() => number) | undefined
  }
): Effect.Effect<Exchange> =>
  Effect.flatMap(Random.Random, (random) =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      ...fields,
      now,
      random: chance ?? (() => random.nextDoubleUnsafe()),
      warnings: [],
      emptied: []
    })))

/** A copy of a body, except for managedFields of this server, which are immutable. */
const owned = (body: JsonValue.JsonObject): JsonValue.JsonObject => {
  const { metadata } = body
  if (!JsonValue.isObject(metadata) || !Managers.isOurs(metadata["managedFields"])) return copy(body)
  const { managedFields, ...rest } = metadata
  return { ...copy({ ...body, metadata: null }), metadata: { ...copy(rest), managedFields } }
}

/** A copy of the body as an object, or 400. */
export const bodyObject = (exchange: Exchange): Effect.Effect<JsonValue.JsonObject, StatusError.StatusError> => {
  const { request: { body }, resource } = exchange
  if (JsonValue.isObject(body)) return Effect.succeed(owned(body))
  if (body === null) {
    // Go decodes null to a type as an object without fields; a custom object has no such type.
    return resource.custom === undefined ? Effect.succeed({}) : Effect.fail(Bodies.kindMissing(exchange, null))
  }
  const text = body === undefined ? "" : FieldError.goJson(body)
  return Effect.fail(StatusError.badRequest(
    `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; ` +
      `json parse error: ${text === "" ? "unexpected end of JSON input" : Negotiation.noObject(body)} ` +
      `(${Negotiation.summarize(new TextEncoder().encode(text))})`
  ))
}

/** The 404 of the requested object, or 400 if the name is not allowed. */
export const notFound = (exchange: Exchange, name = exchange.route.name): StatusError.StatusError =>
  Identity.missing(exchange.resource, name)

/** Kinds that a refusal reports with another group: the registry uses the first group that the scheme knows. */
const firstGroups: Readonly<Record<string, string>> = { "Event.events.k8s.io": "" }

/** The 422 of the requested object. */
export const invalid = (
  exchange: Exchange,
  name: string,
  faults: ReadonlyArray<FieldError.FieldError>
): StatusError.StatusError => {
  const { group, kind } = exchange.resource
  return StatusError.invalid(kind, firstGroups[`${kind}.${group}`] ?? group, name, faults)
}
