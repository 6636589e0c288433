/**
 * `NetworkWarnings`: warnings about Services, Endpoints, EndpointSlices, Ingresses and NetworkPolicies.
 *
 * Source: k8s.io/kubernetes/pkg/api/service/warnings.go, pkg/registry/core/endpoint/strategy.go,
 * pkg/registry/discovery/endpointslice/strategy.go and pkg/registry/networking.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as AddressWarnings from "./AddressWarnings.ts"
import type { Warnings } from "./NodeLabelWarnings.ts"

const say = (condition: boolean, text: string): Warnings => condition ? [text] : []

const hints = "service.kubernetes.io/topology-aware-hints"

export const ofService = (service: KubeObject): Warnings => {
  const spec = at(service, "spec")
  const text = (field: string) => stringAt(spec, field)
  const external = arrayAt(spec, "externalIPs")
  const [clusterIP, type] = [text("clusterIP"), text("type")]
  const headless = type === "ClusterIP" && clusterIP === "None"
  return [
    ...say(
      service.metadata.annotations?.[hints] !== undefined,
      `annotation ${hints} is deprecated, please use service.kubernetes.io/topology-mode instead`
    ),
    ...(clusterIP === "" || clusterIP === "None"
      ? []
      : AddressWarnings.ofAddresses("spec.clusterIPs", arrayAt(spec, "clusterIPs"))),
    ...say(headless && text("loadBalancerIP") !== "", "spec.loadBalancerIP is ignored for headless services"),
    ...say(headless && external.length > 0, "spec.externalIPs is ignored for headless services"),
    ...say(headless && text("sessionAffinity") !== "None", "spec.SessionAffinity is ignored for headless services"),
    ...AddressWarnings.ofAddresses("spec.externalIPs", external),
    ...AddressWarnings.ofAddress("spec.loadBalancerIP", text("loadBalancerIP")),
    ...AddressWarnings.ofRanges("spec.loadBalancerSourceRanges", arrayAt(spec, "loadBalancerSourceRanges")),
    ...say(
      type === "ExternalName" && external.length > 0,
      `spec.externalIPs is ignored when spec.type is "ExternalName"`
    ),
    ...say(
      type !== "ExternalName" && text("externalName") !== "",
      `spec.externalName is ignored when spec.type is not "ExternalName"`
    ),
    ...say(
      text("trafficDistribution") === "PreferClose",
      `spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`
    )
  ]
}

/** Warnings about the load balancer addresses of a Service or Ingress. */
export const ofBalancer = (object: KubeObject): Warnings =>
  arrayAt(object, "status", "loadBalancer", "ingress").flatMap((ingress, index) =>
    AddressWarnings.ofAddress(`status.loadBalancer.ingress[${index}]`, stringAt(ingress, "ip"))
  )

/** Objects that controllers manage get no warnings. */
const isManaged = ({ metadata }: KubeObject, label: string, ...by: ReadonlyArray<string>): boolean =>
  by.includes(metadata.labels?.[label] ?? "")

export const ofEndpoints = (endpoints: KubeObject): Warnings =>
  isManaged(endpoints, "endpoints.kubernetes.io/managed-by", "endpoint-controller")
    ? []
    : arrayAt(endpoints, "subsets").flatMap((subset, index) =>
      ["addresses", "notReadyAddresses"].flatMap((part) =>
        arrayAt(subset, part).flatMap((address, place) =>
          AddressWarnings.ofAddress(`subsets[${index}].${part}[${place}].ip`, stringAt(address, "ip"))
        )
      )
    )

export const ofSlice = (slice: KubeObject, previous?: KubeObject): Warnings => [
  ...say(
    previous === undefined && at(slice, "addressType") === "FQDN",
    "spec.addressType: FQDN endpoints are deprecated"
  ),
  ...(isManaged(
      slice,
      "endpointslice.kubernetes.io/managed-by",
      "endpointslice-controller.k8s.io",
      "endpointslicemirroring-controller.k8s.io"
    )
    ? []
    : arrayAt(slice, "endpoints").flatMap((endpoint, index) =>
      AddressWarnings.ofAddresses(`endpoints[${index}].addresses`, arrayAt(endpoint, "addresses"))
    ))
]

const ingressClass = "kubernetes.io/ingress.class"

export const ofIngress = (ingress: KubeObject, previous?: KubeObject): Warnings =>
  say(
    previous === undefined && ingress.metadata.annotations?.[ingressClass] !== undefined &&
      at(ingress, "spec", "ingressClassName") === undefined,
    `annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`
  )

export const ofPolicy = (policy: KubeObject): Warnings =>
  ([["ingress", "from"], ["egress", "to"]] as const).flatMap(([rules, peers]) =>
    arrayAt(policy, "spec", rules).flatMap((rule, index) =>
      arrayAt(rule, peers).flatMap((peer, place) => {
        const path = `spec.${rules}[${index}].${peers}[${place}].ipBlock`
        return [
          ...AddressWarnings.ofRange(`${path}.cidr`, stringAt(peer, "ipBlock", "cidr")),
          ...AddressWarnings.ofRanges(`${path}.except`, arrayAt(peer, "ipBlock", "except"))
        ]
      })
    )
  )
