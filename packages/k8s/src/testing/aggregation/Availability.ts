/**
 * `Availability`: checks whether the backend of an APIService is available, as a real aggregator does: a Service must
 * exist with that port, it must have endpoints, and discovery must answer.
 *
 * Source: k8s.io/kube-aggregator/pkg/controllers/status/remote/remote_available_controller.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as ApiServices from "./ApiServices.ts"
import * as Backends from "../Backends.ts"
import { storageKey } from "../server/Exchange.ts"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import type { Storage } from "../../api/Storage.ts"

const unavailable = (reason: string, message: string): ApiServices.Condition => ({ status: "False", reason, message })

/** The address of a Service, as the server resolves it. */
export const hostOf = (service: KubeObject, port: number): string =>
  stringAt(service, "spec", "type") === "ExternalName"
    ? `${stringAt(service, "spec", "externalName")}:${port}`
    : `${stringAt(service, "spec", "clusterIP")}:${port}`

/** The names of the ports with ready endpoints; undefined if the Service has no Endpoints at all. */
const readyPorts = (storage: Storage, namespace: string, name: string): ReadonlySet<string> | undefined => {
  const { get, keys } = storage.list("endpointslices.discovery.k8s.io", namespace)
  const slices = keys.map(get).filter((slice) => slice.metadata.labels?.["kubernetes.io/service-name"] === name)
  const endpoints = storage.get("endpoints", storageKey(namespace, name))
  if (slices.length === 0 && endpoints === undefined) return undefined
  const ready = slices.filter((slice) =>
    arrayAt(slice, "endpoints").some((endpoint) => at(endpoint, "conditions", "ready") !== false)
  )
  const subsets = arrayAt(endpoints, "subsets").filter((subset) => arrayAt(subset, "addresses").length > 0)
  return new Set(
    [...ready, ...subsets].flatMap((entry) => arrayAt(entry, "ports")).map((port) => stringAt(port, "name"))
  )
}

const endpointFault = (storage: Storage, service: KubeObject, port: number): ApiServices.Condition | undefined => {
  const { name, namespace = "" } = service.metadata
  if (stringAt(service, "spec", "type") !== "ClusterIP") return undefined
  const listening = arrayAt(service, "spec", "ports").find((entry) => at(entry, "port") === port)
  const about = `service/${name} in ${JSON.stringify(namespace)}`
  if (listening === undefined) return unavailable("ServicePortError", `${about} is not listening on port ${port}`)
  const ports = readyPorts(storage, namespace, name)
  if (ports === undefined) return unavailable("EndpointsNotFound", `cannot find endpointslices for ${about}`)
  const wanted = stringAt(listening, "name")
  return ports.has(wanted) ? undefined : unavailable(
    "MissingEndpoints",
    `endpointslices for ${about} have no addresses with port name ${JSON.stringify(wanted)}`
  )
}

/** The identity of the aggregator in requests to backends. */
export const aggregator = { "x-remote-user": "system:kube-aggregator", "x-remote-group": "system:masters" } as const

/** Checks once. */
export const check = (
  apiService: KubeObject,
  storage: Storage,
  calls: Backends.Calls,
  certificate: Backends.Call["certificate"]
): Effect.Effect<ApiServices.Condition> => {
  const reference = ApiServices.serviceOf(apiService)
  if (reference === undefined) return Effect.succeed({ status: "True", ...localWords })
  const { name, namespace, port } = reference
  const service = storage.get("services", storageKey(namespace, name))
  if (service === undefined) {
    const message = `service/${name} in ${JSON.stringify(namespace)} is not present`
    return Effect.succeed(unavailable("ServiceNotFound", message))
  }
  const fault = endpointFault(storage, service, port)
  if (fault !== undefined) return Effect.succeed(fault)
  const group = ApiServices.groupOf(apiService)
  const path = group === "" ? "/api/v1" : `/apis/${group}/${ApiServices.versionOf(apiService)}`
  const url = `https://${hostOf(service, port)}${path}`
  const failed = (why: string) => unavailable("FailedDiscoveryCheck", `failing or missing response from ${url}: ${why}`)
  return calls.call({
    target: { service: reference },
    // The certificate is verified by actual requests; it does not matter here.
    insecureSkipTlsVerify: true,
    certificate,
    method: "GET",
    path,
    headers: { "user-agent": "Go-http-client/1.1", ...aggregator },
    timeout: "5 seconds"
  }).pipe(Effect.match({
    onFailure: ({ error }) => {
      const late = error === Backends.deadlineExceeded ? " (Client.Timeout exceeded while awaiting headers)" : ""
      return failed(`Get ${JSON.stringify(url)}: ${error}${late}`)
    },
    onSuccess: ({ status }) =>
      status >= 200 && status < 300
        ? { status: "True", reason: "Passed", message: "all checks passed" } as const
        : failed(`bad status from ${url}: ${status}`)
  }))
}

const localWords = { reason: "Local", message: "Local APIServices are always available" } as const
