/**
 * `RemoteContent`: the content of a namespace in aggregated API servers, and its deletion.
 *
 * These objects are not in the store of this server: they are found by discovery and deleted by requests, as by a real
 * namespace controller. While the discovery of one of these servers fails, its content is unknown, and a namespace
 * cannot be finalized.
 *
 * Source: k8s.io/kubernetes/pkg/controller/namespace/deletion and k8s.io/client-go/discovery.
 */
import * as Effect from "effect/Effect"
import { ApiServer } from "../ApiServer.ts"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"

/** What is left in a namespace. */
export interface RemoteContent {
  /** Group versions that could not be discovered, with the errors: `metrics.k8s.io/v1: …`. */
  readonly failing: ReadonlyArray<string>
  /** `pods.metrics.k8s.io`, once per object. */
  readonly resources: ReadonlyArray<string>
  readonly finalizers: ReadonlyArray<string>
}

export const nothing: RemoteContent = { failing: [], resources: [], finalizers: [] }

const deletable = (resource: unknown): boolean =>
  stringAt(resource, "scope") === "Namespaced" &&
  ["list", "deletecollection"].every((verb) => arrayAt(resource, "verbs").includes(verb))

/** Requests the deletion of everything in a namespace. */
export const drain = (namespace: string): Effect.Effect<RemoteContent, never, ApiServer> =>
  Effect.gen(function*() {
    const server = yield* ApiServer
    const remotes = yield* server.remotes
    if (remotes.length === 0) return nothing
    const failing: Array<string> = []
    const left: Array<readonly [name: string, object: unknown]> = []
    for (const { discovered: { freshness, resources = [] }, groupVersion } of remotes) {
      if (freshness === "Stale") failing.push(`${groupVersion}: stale GroupVersion discovery: ${groupVersion}`)
      else {
        for (const resource of resources.filter(deletable)) {
          const plural = stringAt(resource, "resource")
          const path = `/apis/${groupVersion}/namespaces/${namespace}/${plural}`
          const request = { path, query: [], headers: { accept: "application/json" } }
          yield* server.handle({ ...request, method: "DELETE" })
          const { body } = yield* server.handle({ ...request, method: "GET" })
          const name = `${plural}.${groupVersion.split("/")[0]!}`
          for (const item of arrayAt(body, "items")) left.push([name, item])
        }
      }
    }
    return {
      failing: failing.sort(),
      resources: left.map(([name]) => name),
      finalizers: left.flatMap(([, object]) => arrayAt(at(object, "metadata"), "finalizers").map(String))
    }
  })
