/**
 * `EndpointsController`: the Endpoints and EndpointSlices of every Service with a selector.
 *
 * Both are updated as soon as Pods change. Endpoints are deleted with their Service; EndpointSlices are owned by the
 * Service and left to the garbage collector. An annotation records the time of the change that caused the last write:
 * the creation of the Service, or a Pod becoming ready or not ready. Services without a selector or with an external
 * name are ignored.
 *
 * Not simulated: topology hints; EndpointSlices that mirror Endpoints made by hand; the limit of 1000 addresses.
 *
 * Source: k8s.io/kubernetes/pkg/controller/{endpoint,endpointslice}, k8s.io/endpointslice.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerReference, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Endpoints, Node, Pod, Service } from "../kinds/core.v1.ts"
import { EndpointSlice } from "../kinds/discovery.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import { namespaceEnds } from "./sim/PodControl.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as ServiceEndpoints from "./sim/ServiceEndpoints.ts"
import * as SlicePlan from "./sim/SlicePlan.ts"

const triggerKey = "endpoints.kubernetes.io/last-change-trigger-time"
const headlessKey = "service.kubernetes.io/headless"
const endpointsManagerKey = "endpoints.kubernetes.io/managed-by"
const endpointsManager = "endpoint-controller"
const sliceManagerKey = "endpointslice.kubernetes.io/managed-by"
const sliceManager = "endpointslice-controller.k8s.io"
const serviceKey = "kubernetes.io/service-name"
const zoneKey = "topology.kubernetes.io/zone"

/** Maintains the endpoints of the server's Services until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

type Strings = Readonly<Record<string, string>>

const without = (strings: Strings | undefined, ...keys: ReadonlyArray<string>): Strings =>
  Object.fromEntries(Object.entries(strings ?? {}).filter(([key]) => !keys.includes(key)))

const headless = (service: Service): Strings => ServiceEndpoints.isHeadless(service) ? { [headlessKey]: "" } : {}

const endpointsLabels = (service: Service): Strings => ({
  ...without(service.metadata.labels, headlessKey),
  ...headless(service),
  [endpointsManagerKey]: endpointsManager
})

const sliceLabels = (service: Service): Strings => ({
  ...without(service.metadata.labels, headlessKey, serviceKey, sliceManagerKey),
  ...headless(service),
  [serviceKey]: service.metadata.name,
  [sliceManagerKey]: sliceManager
})

const withTrigger = (annotations: Strings | undefined, trigger: string | undefined): Strings => ({
  ...without(annotations, triggerKey),
  ...(trigger === undefined ? {} : { [triggerKey]: trigger })
})

/**
 * Empty lists are left out: a real controller uses protobuf, which cannot express them, so it does not own them either.
 */
const contentOf = ({ endpoints, ports }: ServiceEndpoints.Group): Pick<EndpointSlice, "endpoints" | "ports"> => ({
  ...(endpoints.length === 0 ? {} : { endpoints }),
  ...(ports.length === 0 ? {} : { ports })
})

/** Returns the time of the earliest change of a Service since the last call for it. */
const makeTriggers = () => {
  const known = new Map<string, Strings>()
  return {
    forget: (key: string): void => void known.delete(key),
    take: (key: string, service: Service, pods: ReadonlyArray<Pod>): string | undefined => {
      const before = known.get(key)
      const created = service.metadata.creationTimestamp
      const times: Record<string, string> = { "": created }
      for (const pod of pods) {
        const time = PodFacts.condition(pod, "Ready")?.lastTransitionTime
        if (time !== undefined) times[pod.metadata.name] = time
      }
      known.set(key, times)
      if (before === undefined) return created
      return Object.entries(times).filter(([name, time]) => time > (before[name] ?? "")).map(([, time]) => time)
        .sort()[0]
    }
  }
}

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const informers = yield* Informers.Informers
  const services = yield* informers.of(Service)
  const pods = yield* informers.of(Pod)
  const nodes = yield* informers.of(Node)
  const endpoints = yield* informers.of(Endpoints)
  const slices = yield* informers.of(EndpointSlice)
  const [ofEndpoints, ofSlices] = [makeTriggers(), makeTriggers()]

  const podsOf = (service: Service): ReadonlyArray<Pod> =>
    [...pods.inNamespace(service.metadata.namespace)].filter((pod) => ServiceEndpoints.selects(service, pod))

  /** Creates an object, unless its namespace is being deleted. */
  const create = <A>(creation: Effect.Effect<A, KubeError>): Effect.Effect<void, KubeError> =>
    Effect.asVoid(creation).pipe(Effect.catchIf(namespaceEnds, () => Effect.void))

  const syncEndpoints = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const service = services.get(parseKey(key))
    if (service === undefined) return
    if (ServiceEndpoints.isForeign(service)) return
    const chosen = podsOf(service)
    const trigger = ofEndpoints.take(key, service, chosen)
    const subsets = ServiceEndpoints.subsets(service, chosen)
    const labels = endpointsLabels(service)
    const current = endpoints.get(service)
    const { name, namespace } = service.metadata
    const content = subsets.length === 0 ? {} : { subsets }
    if (current === undefined) {
      const metadata = { namespace, name, labels, annotations: withTrigger(undefined, trigger) }
      return yield* create(client.create(Endpoints, { metadata, ...content }))
    }
    const { subsets: before = [], ...rest } = current
    if (JsonValue.equals(before, subsets) && JsonValue.equals(current.metadata.labels, labels)) return
    const annotations = withTrigger(current.metadata.annotations, trigger)
    yield* client.replace(Endpoints, { ...rest, metadata: { ...current.metadata, labels, annotations }, ...content })
  })

  const syncSlices = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const service = services.get(parseKey(key))
    if (service === undefined || ServiceEndpoints.isForeign(service)) return
    const chosen = podsOf(service)
    const trigger = ofSlices.take(key, service, chosen)
    const labels = sliceLabels(service)
    const { name, namespace } = service.metadata
    const zoneOf = (node: string) => nodes.get({ name: node })?.metadata.labels?.[zoneKey]
    const owned = slices.controlledBy(service.metadata.uid).filter(({ metadata }) =>
      metadata.labels?.[sliceManagerKey] === sliceManager && metadata.deletionTimestamp === undefined
    )
    for (const addressType of ServiceEndpoints.families(service)) {
      const plan = SlicePlan.make(
        owned.filter((slice) => slice.addressType === addressType),
        ServiceEndpoints.groups(service, chosen, addressType, zoneOf),
        ({ metadata }) => JsonValue.equals(metadata.labels, labels)
      )
      for (const { group, slice } of plan.update) {
        const annotations = withTrigger(slice.metadata.annotations, trigger)
        const metadata = { ...slice.metadata, labels, annotations }
        yield* client.replace(EndpointSlice, { metadata, addressType, ...contentOf(group) })
      }
      // The Service may have been deleted without the watch having reported it yet. The garbage collector, which knows
      // that, would delete every new slice.
      if (plan.create.length > 0 && (yield* client.get(Service, service)).metadata.uid !== service.metadata.uid) return
      for (const group of plan.create) {
        const metadata = {
          namespace,
          generateName: `${name}-`,
          labels,
          annotations: withTrigger(undefined, trigger),
          ownerReferences: [controllerReference(service)]
        }
        yield* create(client.create(EndpointSlice, { metadata, addressType, ...contentOf(group) }))
      }
      for (const slice of plan.remove) yield* client.delete(EndpointSlice, slice)
    }
  })

  /** Deletes the Endpoints of deleted Services. */
  const leftovers = yield* Loop.make({
    reads: [services, endpoints],
    sync: Effect.fnUntraced(function*(key) {
      if (services.get(parseKey(key)) === undefined) yield* client.delete(Endpoints, parseKey(key))
    })
  })
  const reads = [services, pods, nodes, endpoints, slices]
  const agendas = [yield* Loop.make({ sync: syncEndpoints, reads }), yield* Loop.make({ sync: syncSlices, reads })]
  const wake = (key: string): void => {
    for (const agenda of agendas) agenda.now(key)
  }

  services.listen((service, before) => {
    const key = keyString((service ?? before)!)
    if (service !== undefined) return wake(key)
    ofEndpoints.forget(key)
    ofSlices.forget(key)
    leftovers.now(key)
  })
  pods.listen((pod, before) => {
    for (const service of services.inNamespace((pod ?? before)!.metadata.namespace)) {
      const isConcerned = [pod, before].some((candidate) =>
        candidate !== undefined && ServiceEndpoints.selects(service, candidate)
      )
      if (isConcerned && !ServiceEndpoints.isForeign(service)) wake(keyString(service))
    }
  })
  endpoints.listen((now, before) => {
    if (before !== undefined && services.get((now ?? before)!) !== undefined) {
      agendas[0]!.now(keyString((now ?? before)!))
    }
  })
  slices.listen((now, before) => {
    const { labels, namespace } = (now ?? before)!.metadata
    if (before !== undefined && labels?.[serviceKey] !== undefined) {
      agendas[1]!.now(`${namespace}/${labels[serviceKey]}`)
    }
  })
})
