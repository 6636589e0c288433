/**
 * The server that plans are run against: how to reach it, how to change it behind the client's back, and what happened
 * on it. In memory behind its facade, which knows its own change log; or a real one, whose log is that of a watch which
 * does not go through the proxy.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import { type Method, Transport } from "@effect-operator/core/Transport"
import { Context, Effect, Layer, type Scope, Stream } from "effect"
import type { ClusterConfig } from "../../src/KubeConfig.ts"
import * as LiveClient from "../../src/LiveClient.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import type { Chance } from "../differential/Chance.ts"
import type * as Fault from "./Fault.ts"
import * as Oracle from "./Oracle.ts"

const kindOf = (kind: string, plural: string) =>
  Resource.make<KubeObject>()({ group: "", version: "v1", kind, plural, scope: "Namespaced" })

/** The kinds that are followed, in the namespace that is. */
export const resources = [kindOf("ConfigMap", "configmaps"), kindOf("Secret", "secrets")] as const
export const namespace = "default"

/** The change log of a kind, and the state it leads to. */
export interface Log {
  readonly changes: ReadonlyArray<Oracle.Change & { readonly object: KubeObject }>
  readonly state: ReadonlyMap<string, number>
}

export interface Subject {
  readonly url: string
  readonly caPem: string
  readonly token: string
  /** Asks the server itself; the status of its answer. */
  readonly send: (method: Method, path: string, body?: unknown) => Effect.Effect<number>
  /** The logs by plural, from now on and on top of what is there. */
  readonly follow: Effect.Effect<ReadonlyMap<string, Log>, never, Scope.Scope>
  /** Has the server forget its history. */
  readonly compact: Effect.Effect<void>
  /** Watches open, where the server tells. */
  readonly watchers: Effect.Effect<number>
  /** What cannot happen here. */
  readonly without: ReadonlySet<Fault.Kind>
}

interface GrowingLog extends Log {
  readonly take: (change: Log["changes"][number]) => void
}

const emptyLog = (): GrowingLog => {
  const changes: Array<Log["changes"][number]> = []
  const state = new Map<string, number>()
  return {
    changes,
    state,
    take: (change) => {
      changes.push(change)
      if (change.type === "DELETED") state.delete(change.key)
      else state.set(change.key, change.revision)
    }
  }
}

/** What was there at the start, as if it had been created in that order. */
const present = (objects: ReadonlyArray<KubeObject>): ReadonlyArray<Log["changes"][number]> =>
  objects
    .map((object) =>
      ({
        revision: Number(object.metadata.resourceVersion),
        type: "ADDED",
        key: Oracle.keyOf(object),
        object
      }) as const
    )
    .sort((a, b) => a.revision - b.revision)

/** The server in memory, behind its facade. */
export const inMemory: Effect.Effect<Subject, never, ApiServer | HttpFacade.HttpFacade> = Effect.gen(function*() {
  const server = yield* ApiServer
  const facade = yield* HttpFacade.HttpFacade
  return {
    url: facade.url,
    caPem: facade.caPem,
    token: facade.token,
    send: (method, path, body) =>
      Effect.map(
        server.handle({ method, path, query: [], headers: { "content-type": "application/json" }, body }),
        ({ status }) => status
      ),
    follow: Effect.gen(function*() {
      const logs = new Map(resources.map(({ plural }) => [plural, emptyLog()]))
      const objects = (yield* server.snapshot).filter(({ metadata }) => metadata.namespace === namespace)
      for (const { kind, plural } of resources) {
        for (const change of present(objects.filter((object) => object.kind === kind))) logs.get(plural)!.take(change)
      }
      yield* Effect.forkScoped(
        Stream.runForEach(
          server.changes,
          (change) =>
            Effect.sync(() => change.namespace === namespace ? logs.get(change.collection)?.take(change) : undefined)
        ),
        { startImmediately: true }
      )
      return logs
    }),
    compact: server.compact(),
    watchers: server.watchers,
    without: new Set()
  }
})

/** A server somewhere else. Its bookmarks come in real time, and its history is not ours to forget. */
export const remote = Effect.fnUntraced(function*(cluster: ClusterConfig, token: string) {
  const context = yield* Layer.build(LiveClient.transportLayerCluster(cluster))
  const transport = Context.get(context, Transport)
  const client = KubeClient.make(transport)
  return {
    url: cluster.server,
    caPem: cluster.ca ?? "",
    token,
    send: (method, path, body) =>
      Effect.map(
        Effect.orDie(transport.request({
          method,
          path,
          query: [],
          headers: { accept: "application/json", "content-type": "application/json" },
          body
        })),
        ({ status }) => status
      ),
    follow: Effect.gen(function*() {
      const logs = new Map(resources.map(({ plural }) => [plural, emptyLog()]))
      for (const resource of resources) {
        const { take } = logs.get(resource.plural)!
        const { items, resourceVersion } = yield* Effect.orDie(client.listPage(resource, { namespace, limit: 0 }))
        for (const change of present(items)) take(change)
        const watch = client.watch(resource, { namespace, resourceVersion, timeoutSeconds: 3_600 })
        yield* Effect.forkScoped(Stream.runForEach(watch, (event) =>
          Effect.sync(() => {
            if (event.type === "BOOKMARK") return
            const { object, type } = event
            take({ revision: Number(object.metadata.resourceVersion), type, key: Oracle.keyOf(object), object })
          })))
      }
      return logs
    }),
    compact: Effect.void,
    watchers: Effect.succeed(0),
    without: new Set(["expire", "noBookmarks"])
  } satisfies Subject as Subject
})

/** Changes made at the server itself. */
export const churner = ({ send }: Subject, chance: Chance) => {
  const put = Effect.fnUntraced(function*(resource: Resource.Any, name: string, text: string) {
    const path = Resource.path(resource, { namespace })
    const metadata = { name, namespace, annotations: { text } }
    const object = { apiVersion: "v1", kind: resource.kind, metadata }
    if ((yield* send("POST", path, object)) === 409) yield* send("PUT", `${path}/${name}`, object)
  })
  const change = Effect.suspend(() => {
    const resource = chance.pick(resources)
    const name = `o${chance.int(40)}`
    return chance.chance(0.7)
      ? put(resource, name, `${chance.next()}${"x".repeat(chance.int(300))}`)
      : Effect.asVoid(send("DELETE", Resource.path(resource, { namespace, name })))
  })
  return { put, change }
}
