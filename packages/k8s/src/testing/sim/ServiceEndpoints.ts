/**
 * `ServiceEndpoints`: the addresses and ports of a Service, in the form of Endpoints and EndpointSlices. Pure.
 *
 * A Pod counts if it has an address and has not finished. In Endpoints, a Pod that is being deleted does not count,
 * unless the Service publishes addresses that are not ready. Addresses with the same ports are grouped.
 *
 * The order of the ports in a subset differs from that of a real controller: by name and number, not by a hash.
 *
 * Source: k8s.io/kubernetes/pkg/controller/endpoint, pkg/api/v1/endpoints; k8s.io/endpointslice/{utils,util}.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset, Pod, Service, ServicePort } from "../../kinds/core.v1.ts"
import type { Endpoint, EndpointPort as SlicePort } from "../../kinds/discovery.v1.ts"
import * as PodFacts from "./PodFacts.ts"

/** Whether the Service's endpoints are maintained by someone else, or it has none. */
export const isForeign = ({ spec }: Service): boolean => spec?.selector === undefined || spec.type === "ExternalName"

export const selects = ({ metadata, spec }: Service, pod: Pod): boolean =>
  pod.metadata.namespace === metadata.namespace &&
  Object.entries(spec?.selector ?? {}).every(([key, value]) => pod.metadata.labels?.[key] === value)

export const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === undefined || spec.clusterIP === "None"

/** `IPv4`, `IPv6`, or both. */
export const families = ({ spec }: Service): ReadonlyArray<string> => spec?.ipFamilies ?? ["IPv4"]

const addressesOf = ({ status }: Pod, family: string): ReadonlyArray<string> =>
  (status?.podIPs ?? []).flatMap(({ ip = "" }) => ip.includes(":") === (family === "IPv6") ? [ip] : [])

const portOf = (pod: Pod, { port, protocol = "TCP", targetPort = port }: ServicePort): number | undefined => {
  if (typeof targetPort === "number") return targetPort
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always")
  return [...pod.spec.containers, ...sidecars].flatMap(({ ports }) => ports ?? []).find((candidate) =>
    candidate.name === targetPort && (candidate.protocol ?? "TCP") === protocol
  )?.containerPort
}

/** The ports that a Pod offers. If it offers none although the Service has ports, it is not an endpoint. */
const portsOf = (service: Service, pod: Pod): ReadonlyArray<ServicePort & { readonly found: number }> =>
  (service.spec?.ports ?? []).flatMap((port) => {
    const found = portOf(pod, port)
    return found === undefined ? [] : [{ ...port, found }]
  })

const referenceTo = ({ metadata: { name, namespace, uid } }: Pod) => ({ kind: "Pod", namespace, name, uid })

const placeOf = (service: Service, { spec }: Pod) => ({
  ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
  ...(spec.hostname === undefined || spec.subdomain !== service.metadata.name ? {} : { hostname: spec.hostname })
})

const byName = (a: { readonly name?: string; readonly port?: number }, b: typeof a): number =>
  (a.name ?? "") === (b.name ?? "") ? (a.port ?? 0) - (b.port ?? 0) : (a.name ?? "") < (b.name ?? "") ? -1 : 1

const grouped = <A>(items: Iterable<readonly [string, A]>): ReadonlyMap<string, ReadonlyArray<A>> => {
  const groups = new Map<string, Array<A>>()
  for (const [key, item] of items) groups.set(key, [...groups.get(key) ?? [], item])
  return groups
}

interface Entry {
  readonly address: EndpointAddress
  readonly ready: boolean
  readonly port: EndpointPort | undefined
}

/** The subsets of a Service's Endpoints. */
export const subsets = (service: Service, pods: ReadonlyArray<Pod>): ReadonlyArray<EndpointSubset> => {
  const publishes = service.spec?.publishNotReadyAddresses === true
  const entries = pods.flatMap((pod): ReadonlyArray<Entry> => {
    const [ip] = addressesOf(pod, families(service)[0] ?? "IPv4")
    if (ip === undefined || PodFacts.isTerminal(pod)) return []
    if (pod.metadata.deletionTimestamp !== undefined && !publishes) return []
    const address = { ip, ...placeOf(service, pod), targetRef: referenceTo(pod) }
    const ready = publishes || PodFacts.isReady(pod)
    if ((service.spec?.ports ?? []).length === 0) {
      return isHeadless(service) ? [{ address, ready, port: undefined }] : []
    }
    return portsOf(service, pod).map(({ appProtocol, found, name = "", protocol = "TCP" }) => ({
      address,
      ready,
      port: {
        ...(name === "" ? {} : { name }),
        port: found,
        protocol,
        ...(appProtocol === undefined ? {} : { appProtocol })
      }
    }))
  })
  const identity = ({ address, ready }: Entry) => `${address.ip}/${address.targetRef?.uid}/${ready}`
  // First the addresses of each port, then the ports with the same addresses.
  const ofPorts = [...grouped(entries.map((entry) => [JSON.stringify(entry.port), entry])).values()]
  const together = grouped(ofPorts.map((offers) => [offers.map(identity).sort().join(), offers]))
  return [...together.values()].map((offers): EndpointSubset => {
    const ports = offers.flatMap(([first]) => first?.port ?? []).sort(byName)
    const addresses = (ready: boolean) =>
      (offers[0] ?? []).filter((entry) => entry.ready === ready).map(({ address }) => address).sort((a, b) =>
        a.ip === b.ip ? ((a.targetRef?.uid ?? "") < (b.targetRef?.uid ?? "") ? -1 : 1) : a.ip < b.ip ? -1 : 1
      )
    const [ready, notReady] = [addresses(true), addresses(false)]
    return {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(ports.length === 0 ? {} : { ports })
    }
  }).sort((a, b) => byName(a.ports?.[0] ?? {}, b.ports?.[0] ?? {}))
}

/** Endpoints with the same ports. */
export interface Group {
  readonly ports: ReadonlyArray<SlicePort>
  readonly endpoints: ReadonlyArray<Endpoint>
}

/** The identity of a group's ports. */
export const portsKey = (ports: ReadonlyArray<SlicePort> | null | undefined): string =>
  JSON.stringify(
    (ports ?? []).map(({ appProtocol, name, port, protocol }) => [name, protocol, port, appProtocol]).sort()
  )

/** The endpoints of a Service in one address family; `zoneOf` returns the zone of a node. */
export const groups = (
  service: Service,
  pods: ReadonlyArray<Pod>,
  family: string,
  zoneOf: (node: string) => string | undefined
): ReadonlyMap<string, Group> => {
  const publishes = service.spec?.publishNotReadyAddresses === true
  const found = new Map<string, Group>()
  for (const pod of pods) {
    const addresses = addressesOf(pod, family)
    if (addresses.length === 0 || PodFacts.isTerminal(pod)) continue
    const ports = portsOf(service, pod).map(({ appProtocol, found: port, name = "", protocol = "TCP" }) => ({
      name,
      protocol,
      port,
      ...(appProtocol === undefined ? {} : { appProtocol })
    }))
    const terminating = pod.metadata.deletionTimestamp !== undefined
    const serving = PodFacts.isReady(pod)
    const zone = zoneOf(pod.spec.nodeName ?? "")
    const endpoint: Endpoint = {
      addresses,
      conditions: { ready: publishes || (serving && !terminating), serving, terminating },
      targetRef: referenceTo(pod),
      ...placeOf(service, pod),
      ...(zone === undefined ? {} : { zone })
    }
    const key = portsKey(ports)
    found.set(key, { ports, endpoints: [...found.get(key)?.endpoints ?? [], endpoint] })
  }
  return found
}
