/**
 * `Inventory`: every object of an API server, of any kind, and its changes.
 *
 * It is for simulated controllers of all kinds, including custom ones, and needs no watches: it reads the server's log
 * of changes. No change is missed: changes between the first snapshot and the subscription are read from the log, and
 * each is applied once, in the order of its revision.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { ApiServer, type Change } from "../ApiServer.ts"

/** Called synchronously, in the order of the changes. Must not throw. */
export interface Handlers {
  /** The object is new or changed. */
  readonly onPresent: (resource: Resource.Any, object: KubeObject) => void
  /** The object was deleted; its last state. */
  readonly onGone: (resource: Resource.Any, object: KubeObject) => void
}

/** A resource in a discovery document. */
interface Discovered {
  readonly name: string
  readonly kind: string
  readonly namespaced: boolean
}

const split = (apiVersion: string): { readonly group: string; readonly version: string } => {
  const slash = apiVersion.indexOf("/")
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1) }
}

const resourceOf = (apiVersion: string, kind: string, plural: string, namespaced: boolean): Resource.Any =>
  Resource.make<KubeObject>()({ ...split(apiVersion), kind, plural, scope: namespaced ? "Namespaced" : "Cluster" })

/** The resource that currently serves a kind, if any. */
export const kinds = Effect.map(
  ApiServer,
  (server) =>
    Effect.fnUntraced(function*(apiVersion: string, kind: string): Effect.fn.Return<Resource.Any | undefined> {
      const { body, status } = yield* server.handle({
        method: "GET",
        path: apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`,
        query: [],
        headers: { accept: "application/json" }
      })
      if (status !== 200) return undefined
      const { resources } = body as { readonly resources: ReadonlyArray<Discovered> }
      const found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"))
      return found === undefined ? undefined : resourceOf(apiVersion, kind, found.name, found.namespaced)
    })
)

/** Passes on every existing object, then, in the background until the scope closes, every change. */
export const follow = Effect.fnUntraced(function*(
  handlers: Handlers
): Effect.fn.Return<void, never, ApiServer | Scope.Scope> {
  const server = yield* ApiServer
  const resources = new Map<string, Resource.Any>()
  const { collections, revision } = yield* server.image
  let seen = revision

  /** The resource of an object in a collection such as `deployments.apps`. */
  const resourceIn = (collection: string, { apiVersion, kind, metadata }: KubeObject): Resource.Any => {
    const key = `${apiVersion}/${kind}`
    let resource = resources.get(key)
    if (resource === undefined) {
      const plural = collection.split(".")[0]!
      resources.set(key, resource = resourceOf(apiVersion, kind, plural, metadata.namespace !== undefined))
    }
    return resource
  }

  const apply = (change: Change): void => {
    if (change.revision <= seen) return
    seen = change.revision
    const resource = resourceIn(change.collection, change.object)
    if (change.type === "DELETED") handlers.onGone(resource, change.object)
    else handlers.onPresent(resource, change.object)
  }

  for (const [collection, objects] of collections) {
    for (const object of objects.values()) handlers.onPresent(resourceIn(collection, object), object)
  }
  yield* Effect.forkScoped(
    Stream.runForEachArray(server.changes, (changes) => Effect.sync(() => changes.forEach(apply))),
    { startImmediately: true }
  )
  for (const change of yield* server.log(seen)) apply(change)
})
