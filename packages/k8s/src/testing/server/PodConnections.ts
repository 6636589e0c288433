/**
 * `PodConnections`: what needs a node behind a Pod: its logs, and connections into it.
 *
 * Options and containers are judged as a real server does; then it ends where a Pod has no node, which is all that a
 * simulated Pod can say: logs are empty, connections refused.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod (strategy.go, rest/{log,subresources}.go), pkg/apis/core/validation
 * (`ValidatePodLogOptions`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Connect from "./Connect.ts"
import * as Exchange from "./Exchange.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as Parameters from "../../api/Parameters.ts"
import { arrayAt, stringAt } from "../../api/Plain.ts"
import { parameter } from "../../api/Routing.ts"
import * as StatusError from "../../api/StatusError.ts"

type Refused = StatusError.StatusError

/** Why a time in a query cannot be read. */
const timeFault = (text: string): Refused | undefined =>
  text === "" || text === "null" || !Number.isNaN(Date.parse(text)) && /^\d{4}-\d\d-\d\dT/.test(text)
    ? undefined
    : StatusError.badRequest(
      `parsing time ${FieldError.quote(text)} as "2006-01-02T15:04:05Z07:00": cannot parse ${
        FieldError.quote(text)
      } as "2006"`
    )

const positive = (name: string, value: number | undefined): ReadonlyArray<FieldError.FieldError> =>
  value === undefined || value >= 1 ? [] : [FieldError.invalid(name, value, "must be greater than 0")]

/** Judges the query of a request for logs. */
const logOptions = Effect.fnUntraced(function*({ request, route }: Exchange.Exchange) {
  const number = (name: string) => Effect.fromResult(Parameters.integer(request, name))
  const sinceSeconds = yield* number("sinceSeconds")
  const sinceTime = parameter(request, "sinceTime")
  const unreadable = sinceTime === undefined ? undefined : timeFault(sinceTime)
  if (unreadable !== undefined) return yield* Effect.fail(unreadable)
  const tailLines = yield* number("tailLines")
  const limitBytes = yield* number("limitBytes")
  const faults = [
    ...(tailLines !== undefined && tailLines < 0
      ? [FieldError.invalid("tailLines", tailLines, "must be greater than or equal to 0")]
      : []),
    ...positive("limitBytes", limitBytes),
    ...(sinceSeconds !== undefined && sinceTime !== undefined
      // The path of no field is printed as a list of none.
      ? [FieldError.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")]
      : positive("sinceSeconds", sinceSeconds)),
    ...(parameter(request, "stream") === undefined ? [] : [FieldError.forbidden("stream", "may not be specified")])
  ]
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalid("PodLogOptions", "", route.name, faults))
})

const names = (pod: KubeObject, ...path: ReadonlyArray<string>): ReadonlyArray<string> =>
  arrayAt(pod, ...path).map((container) => stringAt(container, "name"))

/** Why a container is not to be had. */
const containerFault = (pod: KubeObject, container: string): Refused | undefined => {
  const main = names(pod, "spec", "containers")
  const all = [...names(pod, "spec", "initContainers"), ...main, ...names(pod, "spec", "ephemeralContainers")]
  const { name } = pod.metadata
  if (container !== "") {
    return all.includes(container)
      ? undefined
      : StatusError.badRequest(`container ${container} is not valid for pod ${name}`)
  }
  return main.length === 1
    ? undefined
    : StatusError.badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(" ")}]`)
}

/** The Pod, once its node is known to be none that is missing. */
const hosted = Effect.fnUntraced(function*(exchange: Exchange.Exchange, container: string | undefined) {
  const { core, resource, route } = exchange
  const pod = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (pod === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const fault = container === undefined ? undefined : containerFault(pod, container)
  if (fault !== undefined) return yield* Effect.fail(fault)
  const node = stringAt(pod, "spec", "nodeName")
  // The node is looked up as if it were of the resource of the request.
  if (node !== "" && core.storage.get("nodes", node) === undefined) {
    return yield* Effect.fail(Exchange.notFound(exchange, node))
  }
  return node
})

const noHost = ({ route }: Exchange.Exchange): Refused =>
  StatusError.badRequest(`pod ${route.name} does not have a host assigned`)

const containerOf = ({ request }: Exchange.Exchange): string => parameter(request, "container") ?? ""

/** GET of the logs. What a Pod that no node has says is nothing. */
export const log: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  yield* logOptions(exchange)
  const node = yield* hosted(exchange, containerOf(exchange))
  if (node !== "") return yield* Effect.fail(noHost(exchange))
  return { _tag: "Plain", status: 204, body: undefined } as const
})

/** A stream into a container. */
export const intoContainer: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  yield* Connect.admit(exchange)
  yield* hosted(exchange, containerOf(exchange))
  return yield* Effect.fail(noHost(exchange))
})

/** A port must be a number of 16 bits. */
const portFault = (text: string): string | undefined =>
  !/^\d+$/.test(text) ? "invalid syntax" : Number(text) > 65535 ? "value out of range" : undefined

/** A stream to ports of a Pod. */
export const portForward: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const asked = exchange.request.query.filter(([name]) => name === "ports").flatMap(([, value]) => value.split(","))
  const wrong = asked.find((port) => portFault(port) !== undefined)
  if (wrong !== undefined) {
    const why = `strconv.ParseUint: parsing ${FieldError.quote(wrong)}: ${portFault(wrong)}`
    return yield* Effect.fail(StatusError.badRequest(`cannot convert to []int32: ${why}`))
  }
  yield* Connect.admit(exchange)
  yield* hosted(exchange, undefined)
  return yield* Effect.fail(noHost(exchange))
})
