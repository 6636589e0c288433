/**
 * `PodConnections`: the subresources of a Pod that need its node: logs and connections.
 *
 * Options and containers are validated as by a real server. Logs and commands are requested from the kubelet of the
 * Pod's node, at its address (`Kubelet` serves the nodes that it registers). Other connections are refused.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod (strategy.go, rest/log.go, and of rest/subresources.go
 * `ensureAuthorizedForVerb`), pkg/apis/core/validation (`ValidatePodLogOptions`), pkg/util/node
 * (`GetPreferredNodeAddress`), generic/rest/response_checker.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Ended, Process } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Attributes from "../../../api/Attributes.ts"
import * as Parameters from "../../../api/Parameters.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import { parameter } from "../../../api/Routing.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoTime from "../../../schema/GoTime.ts"
import * as Backends from "../../Backends.ts"
import * as Exchange from "../Exchange.ts"
import * as Connect from "./Connect.ts"

type Refused = StatusError.StatusError

/** Why a time in a query cannot be read. */
const timeFault = (text: string): Refused | undefined => {
  if (text === "" || text === "null") return undefined
  const time = GoTime.parse(text)
  return Result.isFailure(time) ? StatusError.badRequest(time.failure) : undefined
}

const positive = (name: string, value: number | undefined): ReadonlyArray<FieldError.FieldError> =>
  value === undefined || value >= 1 ? [] : [FieldError.invalid(name, value, "must be greater than 0")]

/** Validates the query of a request for logs. */
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
      // An empty field path is printed as an empty list.
      ? [FieldError.forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")]
      : positive("sinceSeconds", sinceSeconds)),
    ...(parameter(request, "stream") === undefined ? [] : [FieldError.forbidden("stream", "may not be specified")])
  ]
  if (faults.length > 0) return yield* Effect.fail(StatusError.invalid("PodLogOptions", "", route.name, faults))
})

const names = (pod: KubeObject, ...path: ReadonlyArray<string>): ReadonlyArray<string> =>
  arrayAt(pod, ...path).map((container) => stringAt(container, "name"))

/** Why a container cannot be used. */
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

/** A Pod and the address of its kubelet, which is absent if the Pod has no node. */
interface Hosted {
  readonly pod: KubeObject
  readonly host: string | undefined
}

/** The types of a node's addresses, in order of preference. */
const addressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"]

const defaultPort = 10250

/** The address of a node's kubelet. */
const kubeletOf = (node: KubeObject): Result.Result<string, Refused> => {
  const known = arrayAt(node, "status", "addresses").map((entry) =>
    [
      stringAt(entry, "type"),
      stringAt(entry, "address")
    ] as const
  )
  const found = addressTypes.flatMap((wanted) => known.filter(([type]) => type === wanted))[0]
  if (found === undefined) {
    const told = known.map((entry) => `{${entry.join(" ")}}`).join(" ")
    return Result.fail(StatusError.plain(`no preferred addresses found; known addresses: [${told}]`))
  }
  return Result.succeed(
    `${found[1]}:${at(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port") ?? defaultPort}`
  )
}

const hosted = Effect.fnUntraced(function*(
  exchange: Exchange.Exchange,
  container: string | undefined
): Effect.fn.Return<Hosted, Refused> {
  const { core, resource, route } = exchange
  const pod = core.storage.get(resource.collection, Exchange.storageKey(route.namespace, route.name))
  if (pod === undefined) return yield* Effect.fail(Exchange.notFound(exchange))
  const fault = container === undefined ? undefined : containerFault(pod, container)
  if (fault !== undefined) return yield* Effect.fail(fault)
  const name = stringAt(pod, "spec", "nodeName")
  if (name === "") return { pod, host: undefined }
  const node = core.storage.get("nodes", name)
  // The real server reports the missing node as an object of the requested resource.
  if (node === undefined) return yield* Effect.fail(Exchange.notFound(exchange, name))
  return { pod, host: yield* Effect.fromResult(kubeletOf(node)) }
})

const containerOf = ({ request }: Exchange.Exchange): string => parameter(request, "container") ?? ""

/** The container if the request names none: it must be the only one. */
const chosen = (exchange: Exchange.Exchange, pod: KubeObject): string =>
  containerOf(exchange) || names(pod, "spec", "containers")[0]!

/** The query parameters that are passed to the kubelet. */
const passedOn = new Set([
  "follow",
  "previous",
  "timestamps",
  "sinceSeconds",
  "sinceTime",
  "tailLines",
  "limitBytes"
])

/** A refusal of the kubelet, as the server returns it. */
const refusedByKubelet = (status: number, text: string, name: string): Refused =>
  status === 400
    ? StatusError.badRequest(text)
    : status === 404
    ? StatusError.make(404, "NotFound", `the server could not find the requested resource ( pods ${name})`)
    : StatusError.internal(text)

const textOf = (body: Backends.Whole): string =>
  body._tag === "Bytes" ? new TextDecoder().decode(body.bytes) : JSON.stringify(body.value)

/** GET of the logs, from the kubelet. Without a node they are empty. */
export const log: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  yield* logOptions(exchange)
  const { core, request, route } = exchange
  const { host, pod } = yield* hosted(exchange, containerOf(exchange))
  if (host === undefined) return { _tag: "Plain", status: 204, body: undefined } as const
  const { body, status } = yield* core.backends.call({
    target: { url: `https://${host}/containerLogs/${route.namespace}/${route.name}/${chosen(exchange, pod)}` },
    method: "GET",
    query: request.query.filter(([name]) => passedOn.has(name)),
    headers: {}
  }).pipe(Effect.mapError(({ message }) => StatusError.plain(message)))
  const text = textOf(body)
  return status === 200
    ? { _tag: "Text", text } as const
    : yield* Effect.fail(refusedByKubelet(status, text, route.name))
})

/** Calls admission, and checks that the user may create the subresource: connecting with GET requires that, too. */
const admitted = (exchange: Exchange.Exchange): Effect.Effect<void, Refused> =>
  Effect.andThen(
    Connect.admit(exchange),
    Effect.suspend(() => {
      const { core, request, resource, route, user } = exchange
      const attributes = { ...Attributes.fromRequest(request, route), verb: "create" }
      const { allowed, reason } = core.authorizer.authorize(user, attributes)
      return allowed ? Effect.void : Effect.fail(StatusError.forbidden(resource, route.name, reason))
    })
  )

/** The URL of a connection to a Pod. */
const connected = ({ request, route }: Exchange.Exchange, { host }: Hosted): Result.Result<string, Refused> =>
  host === undefined
    ? Result.fail(StatusError.badRequest(`pod ${route.name} does not have a host assigned`))
    : request.headers["upgrade"] === undefined
    ? Result.fail(StatusError.badRequest("Upgrade request required"))
    : Result.succeed(host)

const undialed = (why: string): Refused => StatusError.plain(`error dialing backend: ${why}`)

/** The error of a connection that nothing accepts. */
const unconnected = (exchange: Exchange.Exchange, hosted: Hosted): Refused =>
  Result.merge(Result.map(connected(exchange, hosted), (host) => undialed(Backends.nobody(host))))

/** Attaches to the streams of a running container. */
export const attach: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  yield* admitted(exchange)
  return yield* Effect.fail(unconnected(exchange, yield* hosted(exchange, containerOf(exchange))))
})

/**
 * Runs a command in a container. The kubelet is asked first whether it accepts commands, and gets the command when its
 * input is complete.
 */
export const exec: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  yield* admitted(exchange)
  const found = yield* hosted(exchange, containerOf(exchange))
  const host = yield* Effect.fromResult(connected(exchange, found))
  const { core: { backends }, request, route } = exchange
  const call = (method: "GET" | "POST", given?: Process) =>
    backends.call({
      target: { url: `https://${host}/exec/${route.namespace}/${route.name}/${chosen(exchange, found.pod)}` },
      method,
      query: request.query.filter(([name]) => name === "command"),
      headers: {},
      ...(given === undefined ? {} : { body: given })
    })
  const { body, status } = yield* Effect.mapError(call("GET"), ({ error }) => undialed(error))
  // A node whose kubelet accepts no commands refuses connections.
  if (status === 501) return yield* Effect.fail(undialed(Backends.nobody(host)))
  if (status !== 200) return yield* Effect.fail(StatusError.plain(textOf(body)))
  return {
    _tag: "Process",
    run: (given) =>
      Effect.match(call("POST", given), {
        onSuccess: ({ body, status }): Ended =>
          status === 200 && body._tag === "Json" ? body.value as Ended : ended(StatusError.internal(textOf(body))),
        onFailure: ({ message }) => ended(StatusError.internal(message))
      })
  } as const
})

/** The result of a process that was not started. */
const ended = ({ body: status }: Refused): Ended => ({ stdout: "", stderr: "", status })

/** A port must be a 16-bit number. */
const portFault = (text: string): string | undefined =>
  !/^\d+$/.test(text) ? "invalid syntax" : Number(text) > 65535 ? "value out of range" : undefined

/** Forwards ports of a Pod. */
export const portForward: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const asked = exchange.request.query.filter(([name]) => name === "ports").flatMap(([, value]) => value.split(","))
  const wrong = asked.find((port) => portFault(port) !== undefined)
  if (wrong !== undefined) {
    const why = `strconv.ParseUint: parsing ${FieldError.quote(wrong)}: ${portFault(wrong)}`
    return yield* Effect.fail(StatusError.badRequest(`cannot convert to []int32: ${why}`))
  }
  yield* admitted(exchange)
  return yield* Effect.fail(unconnected(exchange, yield* hosted(exchange, undefined)))
})
