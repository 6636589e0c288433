/**
 * `Respond`: turns the answer of a verb into a response (see `Representation`) with its Warning headers, and refuses
 * clients that accept no format of the answer.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/response.go and negotiation.
 */
import * as Result from "effect/Result"
import * as Negotiation from "../../api/Negotiation.ts"
import * as Representation from "../../api/Representation.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as Warnings from "../../api/Warnings.ts"
import type * as Exchange from "./Exchange.ts"
import type { Served } from "./Registry.ts"
import * as Table from "./tables/Table.ts"

/** A response with the warning of the requested version, if it is deprecated. */
export const deprecated = ({ deprecation }: Served, response: Representation.ApiResponse): Representation.ApiResponse =>
  deprecation === undefined
    ? response
    : { ...response, headers: { ...response.headers, ...Warnings.header([deprecation]) } }

/** Whether the answer is a log. Its client must accept a format of objects as well. */
const isLog = ({ resource, route }: Exchange.Exchange): boolean =>
  resource.collection === "pods" && route.subresource === "log"

/** The 406 of the router in front of built-in resources, which comes first. */
export const unroutable = (exchange: Exchange.Exchange): StatusError.StatusError | undefined => {
  const { request: { headers: { accept } }, resource, route: { verb } } = exchange
  if (resource.custom !== undefined) return undefined
  if (isLog(exchange)) {
    return Negotiation.passesRouter(accept, Negotiation.routableText)
      ? undefined
      : StatusError.notAcceptable(["text/plain", ...Negotiation.spokenTypes])
  }
  return Negotiation.passesRouter(accept)
    ? undefined
    : StatusError.notAcceptable(verb === "list" || verb === "watch" ? Negotiation.listedTypes : Negotiation.spokenTypes)
}

/** The 406 for a client that accepts no format of the answer. Lists and watches validate their options first. */
export const unacceptable = (exchange: Exchange.Exchange): StatusError.StatusError | undefined =>
  Representation.form(exchange.request.headers["accept"], Table.isTabular(exchange)) === undefined
    ? StatusError.notAcceptableTypes(Negotiation.spokenTypes)
    : undefined

/** The 406 for a client that accepts no format of watch events; checked once the watch could start. */
export const unwatchable = ({ request }: Exchange.Exchange): StatusError.StatusError | undefined =>
  Negotiation.acceptable(request.headers["accept"], true) === undefined ? StatusError.notAcceptableWatch : undefined

/** Adds the warnings: that of the requested version, then those of the verb. Refusals have them, too. */
const warned = (exchange: Exchange.Exchange, response: Representation.ApiResponse): Representation.ApiResponse => {
  const { deprecation } = exchange.resource
  const texts = deprecation === undefined ? exchange.warnings : [deprecation, ...exchange.warnings]
  return texts.length === 0 ? response : { ...response, headers: { ...response.headers, ...Warnings.header(texts) } }
}

/** The response to a request that a verb answered. */
export const respond = (exchange: Exchange.Exchange, answer: Representation.Answer): Representation.ApiResponse => {
  const presented = Representation.present(
    { ...exchange, tabular: Table.isTabular(exchange), table: Table.make },
    answer
  )
  return warned(exchange, Result.isFailure(presented) ? Representation.refused(presented.failure) : presented.success)
}

/** The response to a request that a verb refused. */
export const refuse = (exchange: Exchange.Exchange, error: StatusError.StatusError): Representation.ApiResponse => {
  const response = Representation.refused(error)
  // The router refuses a verb that a built-in kind does not have, and knows nothing of deprecation.
  const routed = exchange.resource.custom !== undefined || error !== StatusError.methodNotAllowed
  return routed ? warned(exchange, response) : response
}
