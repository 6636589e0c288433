/**
 * `Respond`: the answer of a verb as a response, see `Representation`, with its Warning headers; and the refusal of a
 * client that could read no answer.
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

/** A response with the Warning about the version that was asked for, if there is one. */
export const deprecated = ({ deprecation }: Served, response: Representation.ApiResponse): Representation.ApiResponse =>
  deprecation === undefined
    ? response
    : { ...response, headers: { ...response.headers, ...Warnings.header([deprecation]) } }

/** 406 for a request whose answer the client could not read; asked before anything is done. */
export const unacceptable = (exchange: Exchange.Exchange): StatusError.StatusError | undefined => {
  const { accept } = exchange.request.headers
  if (exchange.resource.custom === undefined && !Negotiation.passesRouter(accept)) {
    const listed = exchange.route.verb === "list" || exchange.route.verb === "watch"
    return StatusError.notAcceptable(listed ? Negotiation.listedTypes : Negotiation.spokenTypes)
  }
  if (Representation.form(accept, Table.isTabular(exchange)) === undefined) {
    return StatusError.notAcceptableTypes(Negotiation.spokenTypes)
  }
  return exchange.route.verb === "watch" && Negotiation.acceptable(accept, true) === undefined
    ? StatusError.notAcceptableWatch
    : undefined
}

/** With the warnings: about the version asked for, then those of the verb. A refusal has them, too. */
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
  // A verb that a built-in kind does not have is refused by the router, which knows of no deprecation.
  const routed = exchange.resource.custom !== undefined || error !== StatusError.methodNotAllowed
  return routed ? warned(exchange, response) : response
}
