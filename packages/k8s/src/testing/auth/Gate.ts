/**
 * `Gate`: everything between a request and the verb that answers it: its time limit, authentication, impersonation,
 * flow control and authorization, in this order as in a real server. Users without permission are refused before they
 * learn whether an object exists. The time limit is only validated, since no request takes long here.
 *
 * Source: k8s.io/apiserver/pkg/server/config.go (`DefaultBuildHandlerChain`),
 * pkg/endpoints/filters/request_deadline.go.
 */
import type { Request } from "@effect-operator/core/Transport"
import * as Result from "effect/Result"
import { type ApiResponse, refused } from "../../api/Representation.ts"
import { parameter, type Route } from "../../api/Routing.ts"
import * as GoDuration from "../../schema/GoDuration.ts"
import type { Storage } from "../../api/Storage.ts"
import type { UserInfo } from "../../api/UserInfo.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Attributes from "../../api/Attributes.ts"
import * as FlowControl from "./FlowControl.ts"
import * as Impersonation from "./Impersonation.ts"
import type { Decision, Rbac } from "./Rbac.ts"
import type { Tokens } from "./Tokens.ts"

/** Returns the seconds after which a request may be retried; undefined lets it pass. */
export type Throttle = (request: Request, user: UserInfo, attributes: Attributes.Attributes) => number | undefined

/** The result of the checks. */
export interface Passage {
  /** The request without the headers that only the gate needs. */
  readonly request: Request
  readonly attributes: Attributes.Attributes
  /** The authenticated user; undefined if the credentials were refused. */
  readonly user: UserInfo | undefined
  /** The user as whom the request is answered. */
  readonly actor: UserInfo | undefined
  /** Undefined if the request was refused before authorization. */
  readonly decision: Decision | undefined
  /** The headers of every response to it. */
  readonly headers: Readonly<Record<string, string>>
  /** The response, if the request is refused. */
  readonly refused: ApiResponse | undefined
}

/** The headers of every response, unless it sets them itself. */
export const always = { "cache-control": "no-cache, private" }

/** Subresources whose requests last as long as their connection: flow control does not apply to them. */
const connections: ReadonlySet<string> = new Set(["attach", "exec", "log", "portforward", "proxy"])

/** Whether a request lasts as long as its client stays connected. */
const lasts = (attributes: Attributes.Attributes): boolean =>
  attributes._tag === "Resource" &&
  (attributes.verb === "watch" || attributes.verb === "proxy" || connections.has(attributes.subresource))

/** The fault of the `timeout` parameter. */
const deadlineFault = (request: Request, attributes: Attributes.Attributes): StatusError.StatusError | undefined => {
  const timeout = parameter(request, "timeout") ?? ""
  const why = timeout === "" || lasts(attributes) ? undefined : GoDuration.fault(timeout)
  return why === undefined
    ? undefined
    : StatusError.badRequest(`invalid timeout specified in the request URL - ${why}`)
}

/** The bearer token in an Authorization header; undefined if there is none. */
const bearer = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const [scheme = "", token = ""] = header.trim().split(" ")
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined
}

export interface Gate {
  /** The user of a request's token; `otherwise` if it has none, undefined if the token is invalid. */
  readonly identify: (request: Request, otherwise: UserInfo | undefined, now: number) => UserInfo | undefined
  readonly pass: (request: Request, route: Route, user: UserInfo | undefined) => Passage
  /** Adds a throttle; the result removes it. */
  readonly throttle: (throttle: Throttle) => () => void
}

export const make = (parts: { readonly storage: Storage; readonly rbac: Rbac; readonly tokens: Tokens }): Gate => {
  const { rbac, storage, tokens } = parts
  const impersonate = Impersonation.make(rbac)
  const laneOf = FlowControl.make(storage)
  const throttles = new Set<Throttle>()

  const identify: Gate["identify"] = (request, otherwise, now) => {
    const token = bearer(request.headers["authorization"])
    return token === undefined
      ? otherwise
      : Result.match(tokens.authenticate(token, now), {
        onSuccess: ({ user }) => user,
        onFailure: () => undefined
      })
  }

  const pass: Gate["pass"] = (request, route, user) => {
    const attributes = Attributes.fromRequest(request, route)
    const seen = { request, attributes, user, actor: user, decision: undefined, headers: always, refused: undefined }
    const late = deadlineFault(request, attributes)
    if (late !== undefined) return { ...seen, refused: refused(late) }
    if (user === undefined) return { ...seen, refused: refused(StatusError.unauthorized) }
    let actor = user
    let asked = request
    if (Impersonation.isAsked(request.headers)) {
      const become = impersonate(request.headers, user)
      if (Result.isFailure(become)) return { ...seen, refused: refused(become.failure) }
      actor = become.success
      asked = { ...request, headers: Impersonation.without(request.headers) }
    }
    const lasting = attributes._tag === "Resource" && connections.has(attributes.subresource)
    const headers = lasting ? always : { ...always, ...laneOf(actor, attributes) }
    for (const throttle of throttles) {
      const seconds = throttle(asked, actor, attributes)
      if (seconds !== undefined) {
        return { ...seen, actor, headers, refused: FlowControl.overloaded(seconds) }
      }
    }
    const decision = rbac.authorize(actor, attributes)
    return {
      request: asked,
      attributes,
      user,
      actor,
      decision,
      headers,
      refused: decision.allowed ? undefined : refused(Attributes.forbidden(actor, attributes, decision.reason))
    }
  }

  return {
    identify,
    pass,
    throttle: (throttle) => {
      throttles.add(throttle)
      return () => {
        throttles.delete(throttle)
      }
    }
  }
}
