/**
 * `Aggregator`: the API servers behind this one.
 *
 * It maintains the APIServices: which group versions discovery lists and in which order, which of them a backend
 * serves, and whether it is available. APIServices of custom resources are created and deleted together with the served
 * versions. Those of built-in groups exist from the start and are not created again: a group whose APIService is
 * deleted is still served, but no longer listed.
 *
 * Backends are checked in the background (`run`): when an APIService, its Service or its endpoints change, every half
 * minute, and more often while discovery fails. Without remote APIServices nothing runs.
 *
 * Source: k8s.io/kube-aggregator/pkg/{apiserver,controllers}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { asObject, at } from "../../api/Plain.ts"
import type { ApiResponse } from "../../api/Representation.ts"
import type { Route } from "../../api/Routing.ts"
import type { Change, Storage } from "../../api/Storage.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import type * as Backends from "../Backends.ts"
import { timestamp, uuid } from "../server/Exchange.ts"
import type { Group, Registry } from "../server/Registry.ts"
import * as Ownership from "../server/verbs/Ownership.ts"
import * as ApiServices from "./ApiServices.ts"
import * as Availability from "./Availability.ts"
import * as Proxy from "./Proxy.ts"
import * as RemoteDiscovery from "./RemoteDiscovery.ts"

export const defaults = {
  /** The interval of checks of an available backend, in milliseconds. */
  interval: 30_000,
  /** The delay after the first failed check, in milliseconds; it doubles with each failure, up to the interval. */
  firstRetry: 5
} as const

const { collection } = ApiServices

const definition = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"

export interface Parts {
  readonly storage: Storage
  readonly registry: Registry
  readonly backends: Backends.Calls
}

/** An API server behind this one. */
export interface Backend {
  readonly groupVersion: string
  readonly available: boolean
  readonly discovered: RemoteDiscovery.Entry
  /** GET of any of its paths; undefined if it does not answer. */
  readonly ask: (path: string, query: Request["query"]) => Effect.Effect<ApiResponse | undefined>
}

export class Aggregator {
  private readonly parts: Parts
  /** Remote APIServices by group version. */
  private readonly remote = new Map<string, KubeObject>()
  private readonly discovery = new Map<string, RemoteDiscovery.Entry>()
  private ordered: ReadonlyArray<Group> | undefined
  /** The registry's generation at the last sync of APIServices; -1 if one of them has changed since. */
  private settled = 0
  private certificate: Backends.Call["certificate"]
  private notice: (name: string) => void = () => {}

  constructor(parts: Parts) {
    this.parts = parts
    parts.storage.listen((change) => this.observe(change))
  }

  /** Sets the client certificate of calls to backends. */
  showing(certificate: NonNullable<Backends.Call["certificate"]>): void {
    this.certificate = certificate
  }

  /** Starts with the APIServices in the initial content of the store, which are in sync with the served definitions. */
  begin(): void {
    const { registry, storage } = this.parts
    const { get, keys } = storage.list(collection)
    for (const key of keys) {
      const service = get(key)
      if (ApiServices.serviceOf(service) === undefined) continue
      this.remote.set(`${ApiServices.groupOf(service)}/${ApiServices.versionOf(service)}`, service)
      this.notice(key)
    }
    this.settled = registry.generation
  }

  private observe(change: Change): void {
    if (change.collection === collection) {
      this.ordered = undefined
      if (change.object.metadata.labels?.[ApiServices.automanaged] === "true") this.settled = -1
      const path = `${ApiServices.groupOf(change.object)}/${ApiServices.versionOf(change.object)}`
      if (change.type === "DELETED" || ApiServices.serviceOf(change.object) === undefined) {
        this.remote.delete(path)
        this.discovery.delete(path)
        return
      }
      this.remote.set(path, change.object)
      if (!JsonValue.equals(at(change.object, "spec"), at(change.previous, "spec"))) this.notice(change.key)
    } else if (this.remote.size > 0) this.concerns(change)
  }

  /** Schedules a check of APIServices whose Service or endpoints changed. */
  private concerns({ collection: changed, key, namespace, object }: Change): void {
    const service = changed === "services" || changed === "endpoints"
      ? key
      : changed === "endpointslices.discovery.k8s.io"
      ? `${namespace}/${object.metadata.labels?.["kubernetes.io/service-name"]}`
      : undefined
    if (service === undefined) return
    for (const apiService of this.remote.values()) {
      const reference = ApiServices.serviceOf(apiService)!
      if (`${reference.namespace}/${reference.name}` === service) this.notice(apiService.metadata.name)
    }
  }

  /** The groups that discovery lists, without the core group. */
  groups(): ReadonlyArray<Group> {
    const { get, keys } = this.parts.storage.list(collection)
    return this.ordered ??= ApiServices.groups(keys.map(get))
  }

  /** The backends of all remote group versions. */
  backends(): ReadonlyArray<Backend> {
    const { backends } = this.parts
    return [...this.remote].map(([groupVersion, service]) => ({
      groupVersion,
      available: ApiServices.isAvailable(service),
      discovered: this.discovery.get(groupVersion) ?? { resources: undefined, freshness: "Stale" },
      ask: (path, query) =>
        backends.call({
          target: { service: ApiServices.serviceOf(service)! },
          ...Proxy.trustOf(service),
          certificate: this.certificate,
          method: "GET",
          path,
          query,
          headers: { accept: "application/json", ...Availability.aggregator },
          timeout: "5 seconds"
        }).pipe(
          Effect.map((reply) => Proxy.responseOf(reply)),
          Effect.catch(() => Effect.undefined)
        )
    }))
  }

  /** The discovered resources of a remote group version; undefined for a local one. */
  discovered(group: string, version: string): RemoteDiscovery.Entry | undefined {
    const path = `${group}/${version}`
    return this.remote.has(path) ? this.discovery.get(path) ?? { resources: undefined, freshness: "Stale" } : undefined
  }

  /** The remote APIService that serves a request; undefined if the server itself does. */
  answering(route: Route): KubeObject | undefined {
    if (this.remote.size === 0) return undefined
    if (route._tag === "Resource") return this.remote.get(`${route.group}/${route.version}`)
    const [root, group, version, ...rest] = route.segments
    return root === "apis" && rest.length === 0 ? this.remote.get(`${group}/${version}`) : undefined
  }

  /** Forwards a request to the backend that `answering` returned. */
  proxy(proxied: Proxy.Proxied): Effect.Effect<ApiResponse> {
    const { backends, storage } = this.parts
    return Proxy.answer(proxied, storage, backends, this.certificate)
  }

  /** Syncs the APIServices of custom resources with the served versions. */
  settle(now: number, random: () => number): void {
    const { registry, storage } = this.parts
    if (this.settled === registry.generation) return
    this.settled = registry.generation
    const wanted = new Map(
      registry.customVersions().map(({ group, version }) => {
        const service = ApiServices.ofDefinition(group, version)
        return [service.metadata.name, service]
      })
    )
    const { get, keys } = storage.list(collection)
    for (const service of keys.map(get)) {
      const { name } = service.metadata
      const own = service.metadata.labels?.[ApiServices.automanaged] === "true"
      const target = wanted.get(name)
      wanted.delete(name)
      if (!own) continue
      if (target === undefined) storage.remove(collection, name, "")
      else if (!JsonValue.equals(at(service, "spec"), target.spec)) {
        storage.put(collection, name, "", asObject({ ...service, spec: target.spec }))
      }
    }
    for (const [name, { metadata, ...rest }] of wanted) {
      const creationTimestamp = timestamp(now)
      storage.put(
        collection,
        name,
        "",
        asObject({
          ...rest,
          metadata: { name, uid: uuid(random), creationTimestamp, labels: metadata.labels },
          status: { conditions: [ApiServices.localCondition(creationTimestamp)] }
        })
      )
    }
    // Its own changes need no further sync.
    this.settled = registry.generation
  }

  /** Checks one backend repeatedly. */
  private readonly watch = (name: string) =>
    Effect.gen({ self: this }, function*() {
      const { backends, storage } = this.parts
      for (let failures = 0;;) {
        const service = storage.get(collection, name)
        if (service === undefined || ApiServices.serviceOf(service) === undefined) return
        const condition = yield* Availability.check(service, storage, backends, this.certificate)
        const now = yield* Clock.currentTimeMillis
        const current = storage.get(collection, name)
        if (current === undefined) return
        const next = ApiServices.withCondition(current, condition, timestamp(now))
        if (next !== current) {
          storage.put(collection, name, "", Ownership.statusTouched({ collection, definition, now }, current, next))
        }
        const path = `${ApiServices.groupOf(service)}/${ApiServices.versionOf(service)}`
        if (condition.status === "True") {
          const trust = { ...Proxy.trustOf(service), certificate: this.certificate }
          const entry = yield* RemoteDiscovery.read(service, backends, trust)
          if (this.remote.has(path)) this.discovery.set(path, entry)
        } else {
          this.discovery.delete(path)
        }
        failures = condition.reason === "FailedDiscoveryCheck" ? failures + 1 : 0
        const retry = defaults.firstRetry * 2 ** (failures - 1)
        yield* Effect.sleep(failures === 0 ? defaults.interval : Math.min(retry, defaults.interval))
      }
    })

  /** Checks the backends until the scope closes. */
  readonly run: Effect.Effect<void, never, Scope.Scope> = Effect.gen({ self: this }, function*() {
    const queue = yield* Queue.unbounded<string>()
    const watches = yield* FiberMap.make<string>()
    this.notice = (name) => void Queue.offerUnsafe(queue, name)
    yield* Effect.forkScoped(Effect.forever(
      Effect.flatMap(Queue.take(queue), (name) => FiberMap.run(watches, name, this.watch(name)))
    ))
  })
}
