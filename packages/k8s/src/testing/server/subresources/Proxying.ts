/**
 * `Proxying`: proxied requests to a Pod, a Service or a node (`pods/NAME/proxy/PATH`).
 *
 * Nothing runs behind these here, so no request succeeds. Requests that a real server refuses get the same message.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/{pod,service,node} (`ResourceLocation`); apimachinery
 * `SplitSchemeNamePort`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as Exchange from "../Exchange.ts"
import * as Connect from "./Connect.ts"

type Refused = StatusError.StatusError

interface Target {
  readonly name: string
  /** A number or a name; `""` if there is none. */
  readonly port: string
}

/** `name`, `name:port` or `scheme:name:port`. */
const targetOf = (text: string): Target | undefined => {
  const parts = text.split(":")
  const [scheme, name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts]
  return parts.length > 3 || name === "" || !["", "http", "https"].includes(scheme ?? "") ? undefined : { name, port }
}

const unreached = (host: string, port: string): Refused =>
  StatusError.serviceUnavailable(`error trying to reach service: dial tcp ${host}:${port}: connect: connection refused`)

const notAllowed = StatusError.badRequest("address not allowed")

/** Whether an address is not loopback, link-local, multicast, broadcast or unspecified. */
const isAllowed = (address: string): boolean =>
  !/^(?:127\.|0\.0\.0\.0|169\.254\.|22[4-9]\.|23\d\.|255\.255\.255\.255)/.test(address)

const podFault = (pod: KubeObject, { port }: Target): Refused => {
  const first = stringAt(pod, "status", "podIP") || stringAt(arrayAt(pod, "status", "podIPs")[0] ?? {}, "ip")
  if (first === "" || !isAllowed(first)) return notAllowed
  const declared = arrayAt(pod, "spec", "containers").flatMap((container) => arrayAt(container, "ports"))[0]
  return unreached(first, port || String(at(declared ?? {}, "containerPort") ?? 80))
}

const serviceFault = (exchange: Exchange.Exchange, { name, port }: Target): Refused => {
  const { core, route } = exchange
  const key = Exchange.storageKey(route.namespace, name)
  let wanted = port
  if (/^[+-]?\d+$/.test(port)) {
    const service = core.storage.get("services", key)
    if (service === undefined) return Exchange.notFound(exchange, name)
    const found = arrayAt(service, "spec", "ports").find((entry) => at(entry, "port") === Number(port))
    if (found === undefined) {
      return StatusError.serviceUnavailable(
        `no service port ${Number(port)} found for service ${FieldError.quote(name)}`
      )
    }
    wanted = stringAt(found, "name")
  }
  const endpoints = core.storage.get("endpoints", key)
  if (endpoints === undefined) return Exchange.notFound(exchange, name)
  const subsets = arrayAt(endpoints, "subsets")
  const none = (what: string) =>
    StatusError.serviceUnavailable(`no endpoints available for service ${FieldError.quote(what)}`)
  if (subsets.length === 0) return none(name)
  for (const subset of subsets) {
    // Only addresses of Pods are proxied.
    const address = arrayAt(subset, "addresses").find((entry) => stringAt(entry, "targetRef", "kind") === "Pod")
    const entry = arrayAt(subset, "ports").find((entry) => stringAt(entry, "name") === wanted)
    if (address !== undefined && entry !== undefined) {
      return unreached(stringAt(address, "ip"), String(at(entry, "port")))
    }
  }
  return none(route.name)
}

const nodeFault = (node: KubeObject, { port }: Target): Refused => {
  const known = arrayAt(node, "status", "addresses")
  const preferred =
    ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"].flatMap((type) =>
      known.filter((address) => stringAt(address, "type") === type)
    )[0]
  if (preferred === undefined) return StatusError.plain("no preferred addresses found; known addresses: []")
  const address = stringAt(preferred, "address")
  return isAllowed(address) ? unreached(address, port || "10250") : notAllowed
}

const called: Readonly<Record<string, string>> = { pods: "pod", services: "service", nodes: "node" }

/** Proxies a request with any method. */
export const proxy: Exchange.Verb = Effect.fnUntraced(function*(exchange: Exchange.Exchange) {
  const { core, resource: { collection }, route } = exchange
  yield* Connect.admit(exchange)
  const target = targetOf(route.name)
  if (target === undefined) {
    const message = `invalid ${called[collection]} request ${FieldError.quote(route.name)}`
    return yield* Effect.fail(StatusError.badRequest(message))
  }
  if (collection === "services") return yield* Effect.fail(serviceFault(exchange, target))
  const object = core.storage.get(collection, Exchange.storageKey(route.namespace, target.name))
  if (object === undefined) return yield* Effect.fail(Exchange.notFound(exchange, target.name))
  return yield* Effect.fail((collection === "pods" ? podFault : nodeFault)(object, target))
})
