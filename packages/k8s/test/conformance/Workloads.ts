/**
 * What statements about workloads share: the objects of a namespace, and what a kubelet would do.
 *
 * There is no kubelet: Pods become ready, and nodes are well, because the statement says so by hand.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type Answer, Target } from "./Target.ts"

const mergePatch = "application/merge-patch+json"

export type Json = Readonly<Record<string, any>>

type Query = Readonly<Record<string, string>>

export const container = (image: string) => ({ name: "main", image })

export const spec = (app: string, more: Json = {}, template: Json = {}) => ({
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec: { containers: [container("nginx:1")], ...template } },
  ...more
})

const byName = (items: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  [...items].sort((a, b) => a["metadata"].name < b["metadata"].name ? -1 : 1)

/** Version and kind of what statements about controllers make and look at. */
const kinds: Readonly<Record<string, readonly [apiVersion: string, kind: string]>> = {
  configmaps: ["v1", "ConfigMap"],
  controllerrevisions: ["apps/v1", "ControllerRevision"],
  cronjobs: ["batch/v1", "CronJob"],
  daemonsets: ["apps/v1", "DaemonSet"],
  deployments: ["apps/v1", "Deployment"],
  endpoints: ["v1", "Endpoints"],
  endpointslices: ["discovery.k8s.io/v1", "EndpointSlice"],
  events: ["v1", "Event"],
  jobs: ["batch/v1", "Job"],
  persistentvolumeclaims: ["v1", "PersistentVolumeClaim"],
  poddisruptionbudgets: ["policy/v1", "PodDisruptionBudget"],
  pods: ["v1", "Pod"],
  replicasets: ["apps/v1", "ReplicaSet"],
  resourcequotas: ["v1", "ResourceQuota"],
  serviceaccounts: ["v1", "ServiceAccount"],
  services: ["v1", "Service"],
  statefulsets: ["apps/v1", "StatefulSet"]
}

/** Workloads of a namespace, and what happens to their Pods. */
export const workloads = Effect.gen(function*() {
  const target = yield* Target
  const { minor, request, unique, until } = target
  const namespace = yield* target.namespace
  const path = (kind: string, name?: string) => {
    const [version] = kinds[kind]!
    const group = version.includes("/") ? `/apis/${version}` : `/api/${version}`
    return `${group}/namespaces/${namespace}/${kind}${name === undefined ? "" : `/${name}`}`
  }
  const list = (kind: string) => request("GET", path(kind))
  const items = (kind: string) => Effect.map(list(kind), ({ object }) => byName(object["items"] ?? []))
  const get = (kind: string, name: string) => request("GET", path(kind, name))
  const patch = (kind: string, name: string, body: unknown, contentType = mergePatch) =>
    request("PATCH", path(kind, name), { contentType, body })
  const create = (kind: string, name: string, spec: unknown, metadata: Json = {}, query: Query = {}) => {
    const [apiVersion, of] = kinds[kind]!
    return request("POST", path(kind), { query, body: { apiVersion, kind: of, metadata: { name, ...metadata }, spec } })
  }
  const statusOf = (name: string, status: Json) =>
    request("PATCH", `${path("pods", name)}/status`, { contentType: mergePatch, body: { status } })
  const time = Effect.map(
    Clock.Clock.use(() => Clock.currentTimeMillis),
    () => `${new Date(Clock.Clock.defaultValue().currentTimeMillisUnsafe()).toISOString().slice(0, 19)}Z`
  )
  const pod = (name: string, labels: Json, more: Json = {}, query: Query = {}) =>
    create("pods", name, { containers: [container("nginx:1")], ...more }, { labels }, query)
  const remove = (kind: string, name: string, query: Query = {}) => request("DELETE", path(kind, name), { query })
  const gone = (kind: string, name: string) => until(get(kind, name), ({ status }) => status === 404)
  return {
    minor,
    namespace,
    list,
    items,
    get,
    patch,
    create,
    pod,
    remove,
    gone,
    /** A watch of everything that happens from now on. */
    watched: (kind: string) =>
      Effect.flatMap(
        list(kind),
        ({ object }) => target.watch(path(kind), { resourceVersion: object.metadata.resourceVersion! })
      ),
    /**
     * Waits until the controllers know the Pods that were written before: they share one cache of them, which is in
     * order. A ReplicaSet of none takes away a Pod of its own.
     */
    podsKnown: Effect.gen(function*() {
      const name = unique("canary")
      yield* create("replicasets", name, spec(name, { replicas: 0 }))
      yield* pod(name, { app: name })
      yield* gone("pods", name)
      yield* remove("replicasets", name)
    }),
    /** Waits until the list is as wanted; the items by name. */
    listed: (kind: string, wanted: (items: ReadonlyArray<Json>) => boolean) =>
      Effect.map(until(list(kind), ({ object }) => wanted(object["items"])), ({ object }) => byName(object["items"])),
    /** Waits until the object is as wanted. */
    so: (kind: string, name: string, wanted: (object: Json) => boolean) =>
      Effect.map(
        until(get(kind, name), ({ object, status }) => status === 200 && wanted(object)),
        ({ object }): Json => object
      ),
    /** Makes a Pod ready, or not, as its kubelet would. */
    ready: Effect.fnUntraced(function*(name: string, ready = true, more: Json = {}) {
      const lastTransitionTime = yield* time
      const conditions = [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime }]
      return yield* statusOf(name, { phase: "Running", conditions, ...more })
    }),
    /** Ends a Pod, as its kubelet would. */
    ended: (name: string, phase: "Succeeded" | "Failed") => statusOf(name, { phase }),
    /** Events about an object, oldest first. */
    events: (name: string, wanted: (events: ReadonlyArray<Json>) => boolean) =>
      Effect.map(
        until(
          request("GET", path("events"), { query: { fieldSelector: `involvedObject.name=${name}` } }),
          ({ object }) => wanted(object["items"])
        ),
        ({ object }): ReadonlyArray<Json> => object["items"]
      )
  }
})

export const conditionsOf = (object: Json): ReadonlyArray<Json> => object["status"]?.conditions ?? []

export const condition = (object: Json, type: string): Json | undefined =>
  conditionsOf(object).find((candidate) => candidate["type"] === type)

export const ownerOf = (object: Json): Json => object["metadata"].ownerReferences?.[0] ?? {}

export const names = (items: ReadonlyArray<Json>): ReadonlyArray<string> => items.map(({ metadata }) => metadata.name)

export const hashPattern = /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/

/** A node of the statement's own, which goes with it. */
export const node = Effect.fnUntraced(function*(labels: Json, more: Json = {}) {
  const { request, unique } = yield* Target
  const name = unique("node")
  const path = `/api/v1/nodes/${name}`
  yield* request("POST", "/api/v1/nodes", {
    body: { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: more }
  })
  yield* Effect.addFinalizer(() => Effect.ignore(request("DELETE", path)))
  return {
    name,
    path,
    get: request("GET", path),
    patch: (body: unknown) => request("PATCH", path, { contentType: mergePatch, body }),
    /** The kubelet says how it is. */
    report: (status: string) => {
      const now = `${new Date(Clock.Clock.defaultValue().currentTimeMillisUnsafe()).toISOString().slice(0, 19)}Z`
      const ready = { type: "Ready", status, lastHeartbeatTime: now, lastTransitionTime: now, reason: "Test" }
      return request("PATCH", `${path}/status`, { contentType: mergePatch, body: { status: { conditions: [ready] } } })
    }
  }
})

export const taintsOf = ({ object }: Answer): ReadonlyArray<string> =>
  (object["spec"].taints ?? []).map((taint: Json) => `${taint["key"]}:${taint["effect"]}`).sort()
