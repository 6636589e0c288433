/**
 * `Audit`: which requests a server got, from whom, by which permission, and what it answered, as Events of
 * audit.k8s.io/v1.
 *
 * An event is made when a request has been answered (stage `ResponseComplete`). A watch has two, when it starts
 * (`ResponseStarted`) and when it has ended. A request whose credentials are refused has only the stage
 * `ResponseStarted`, as on a real server. Annotations say whether the request was allowed, and by which binding to
 * which role. No events are made while nobody listens.
 *
 * To find out which permissions a program needs, run it as itself (`TestClient.layerAs`), collect the events, and pass
 * them to `needed`. The result is the rules that allow those requests and no others. Requests with the decision
 * `forbid` are those that its roles do not allow.
 *
 * Source: k8s.io/apiserver/pkg/apis/audit/v1, pkg/audit and pkg/endpoints/filters/audit.go.
 */
import { isStatus, type Status } from "@effect-operator/core/Status"
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { uuid } from "../server/Exchange.ts"
import type { Feed } from "../server/Feed.ts"
import { stringAt } from "../../api/Plain.ts"
import type { ApiResponse } from "../../api/Representation.ts"
import { toApi, type UserInfo } from "../../api/UserInfo.ts"
import type { StatusError } from "../../api/StatusError.ts"
import type { Attributes } from "../../api/Attributes.ts"
import type { PolicyRule } from "./PolicyRule.ts"
import type { Decision } from "./Rbac.ts"

/** How much of a request is recorded. `RequestResponse` includes both bodies. */
export type Level = "Metadata" | "RequestResponse"

/** The object of a request. Parts that do not apply are absent. */
export interface ObjectReference {
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiGroup?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly subresource?: string
}

export interface Event {
  readonly kind: "Event"
  readonly apiVersion: "audit.k8s.io/v1"
  readonly level: Level
  readonly auditID: string
  readonly stage: "ResponseStarted" | "ResponseComplete"
  readonly requestURI: string
  readonly verb: string
  /** The authenticated user; empty if the credentials were refused. */
  readonly user: Partial<UserInfo>
  /** The impersonated user, if any. */
  readonly impersonatedUser?: UserInfo
  readonly sourceIPs?: ReadonlyArray<string>
  readonly userAgent?: string
  /** Absent for requests that are not for a resource. */
  readonly objectRef?: ObjectReference
  readonly responseStatus: Partial<Status>
  readonly requestObject?: unknown
  readonly responseObject?: unknown
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** What is recorded while a request is being answered. */
export interface Notes {
  /** Set by plugins and verbs. */
  readonly annotations: Map<string, string>
  /** Reads the body of an object of the given kind and records it; undefined if the request already has its body. */
  readonly incoming: ((kind: string) => Effect.Effect<unknown, StatusError>) | undefined
  /** The body, once it has been read. */
  body: unknown
}

/** What is known of a request once it is answered. */
export interface Facts {
  readonly level: Level
  readonly id: string
  readonly request: Request
  readonly attributes: Attributes
  readonly user: UserInfo | undefined
  /** The user as whom it was answered. */
  readonly actor: UserInfo | undefined
  readonly decision: Decision | undefined
  readonly notes: Pick<Notes, "annotations" | "body">
  readonly sourceIPs: ReadonlyArray<string> | undefined
  /** Milliseconds since 1970. */
  readonly received: number
}

/** Empty notes. */
export const notes = (read: Notes["incoming"]): Notes => {
  const own: Notes = {
    annotations: new Map(),
    body: undefined,
    incoming: read === undefined ? undefined : (kind) =>
      Effect.tap(read(kind), (body) =>
        Effect.sync(() => {
          own.body = body
        }))
  }
  return own
}

/** Unique request ids: a common random prefix and a counter. */
export const ids = (random: () => number): () => string => {
  const beginning = uuid(random).slice(0, 24)
  let count = 0
  return () => beginning + (count++).toString(16).padStart(12, "0")
}

export const decisionAnnotation = "authorization.k8s.io/decision"
export const reasonAnnotation = "authorization.k8s.io/reason"

/** RFC 3339 with microseconds. */
const microTime = (millis: number): string => new Date(millis).toISOString().replace("Z", "000Z")

const uriOf = ({ path, query }: Request): string => {
  if (query.length === 0) return path
  return `${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value]))}`
}

const present = (entries: Readonly<Record<string, string>>): ObjectReference =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ""))

const bodyOf = ({ notes, request }: Facts): unknown => notes.body ?? request.body

const objectRef = (facts: Facts): ObjectReference | undefined => {
  const { attributes } = facts
  if (attributes._tag === "Path") return undefined
  const { group, name, namespace, resource, subresource, version } = attributes
  const given = attributes.verb === "create" || attributes.verb === "update" ? bodyOf(facts) : undefined
  return present({
    resource,
    namespace,
    name: name || stringAt(given, "metadata", "name"),
    uid: stringAt(given, "metadata", "uid"),
    apiGroup: group,
    apiVersion: version,
    resourceVersion: stringAt(given, "metadata", "resourceVersion"),
    subresource
  })
}

const statusOf = ({ body, status }: ApiResponse): Event["responseStatus"] => {
  if (!isStatus(body)) return { metadata: {}, code: status }
  const { code, details, message, reason, status: outcome } = body
  return {
    metadata: {},
    ...(outcome === undefined ? {} : { status: outcome }),
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code: code ?? status
  }
}

/** The audit event of a request at one stage. */
export const event = (facts: Facts, response: ApiResponse, stage: Event["stage"], now: number): Event => {
  const { actor, attributes, decision, id, level, notes, received, request, sourceIPs, user } = facts
  const requestObject = bodyOf(facts)
  const about = objectRef(facts)
  const userAgent = request.headers["user-agent"]
  const whole = level === "RequestResponse"
  return {
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID: id,
    stage,
    requestURI: uriOf(request),
    verb: attributes.verb,
    user: user === undefined ? {} : toApi(user),
    ...(actor === undefined || actor === user ? {} : { impersonatedUser: toApi(actor) as object as UserInfo }),
    ...(sourceIPs === undefined ? {} : { sourceIPs }),
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(about === undefined ? {} : { objectRef: about }),
    responseStatus: statusOf(response),
    ...(whole && about !== undefined && requestObject !== undefined ? { requestObject } : {}),
    ...(whole && about !== undefined && response.body !== undefined ? { responseObject: response.body } : {}),
    requestReceivedTimestamp: microTime(received),
    stageTimestamp: microTime(now),
    ...(decision === undefined ? {} : {
      annotations: {
        [decisionAnnotation]: decision.allowed ? "allow" : "forbid",
        [reasonAnnotation]: decision.reason,
        ...Object.fromEntries(notes.annotations)
      }
    })
  }
}

/** Answers a request and publishes its events: for a watch at its start and end, otherwise once. */
export const told = (
  feed: Feed<Event>,
  answer: Effect.Effect<ApiResponse>,
  facts: Facts
): Effect.Effect<ApiResponse> => {
  const tell = (response: ApiResponse, stage: Event["stage"]) =>
    Effect.map(Clock.currentTimeMillis, (now) => feed.publish(event(facts, response, stage, now)))
  return Effect.flatMap(answer, (response) => {
    if (facts.user === undefined) return Effect.as(tell(response, "ResponseStarted"), response)
    if (response.events === undefined) return Effect.as(tell(response, "ResponseComplete"), response)
    const events = Stream.ensuring(response.events, tell(response, "ResponseComplete"))
    return Effect.as(tell(response, "ResponseStarted"), { ...response, events })
  })
}

/** The namespace of a request; `""` for none. */
const placeOf = ({ objectRef }: Event): string => objectRef?.namespace ?? ""

/**
 * The rules that allow the requests in these events, by namespace (`""` for requests across all namespaces or outside
 * of any), ordered by group and resource, with verbs in alphabetical order.
 */
export const needed = (events: Iterable<Event>): Readonly<Record<string, ReadonlyArray<PolicyRule>>> => {
  const verbs = new Map<string, Map<string, Set<string>>>()
  for (const event of events) {
    const { apiGroup = "", resource = "", subresource } = event.objectRef ?? {}
    const subject = event.objectRef === undefined
      ? JSON.stringify([event.requestURI.replace(/\?.*$/, "")])
      : JSON.stringify([apiGroup, subresource === undefined ? resource : `${resource}/${subresource}`])
    const place = placeOf(event)
    const subjects = verbs.get(place) ?? new Map<string, Set<string>>()
    verbs.set(place, subjects)
    subjects.set(subject, (subjects.get(subject) ?? new Set()).add(event.verb))
  }
  const rule = ([subject, asked]: readonly [string, Set<string>]): PolicyRule => {
    const [first, resource] = JSON.parse(subject) as [string, string | undefined]
    const sorted = [...asked].sort()
    return resource === undefined
      ? { nonResourceURLs: [first], verbs: sorted }
      : { apiGroups: [first], resources: [resource], verbs: sorted }
  }
  const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1)
  return Object.fromEntries(
    [...verbs].sort(byName).map(([place, subjects]) => [place, [...subjects].sort(byName).map(rule)])
  )
}
