/**
 * `Discovery`: kinds that a program learns of while it runs, by asking the server (a RESTMapper elsewhere).
 *
 * ```ts
 * const resource = yield* Discovery.resource({ apiVersion: "apps/v1", kind: "Deployment" })
 * if (resource !== undefined) yield* client.apply(resource, manifest, { force: true })
 * ```
 *
 * What a server says is remembered for as long as the program uses that client. It is asked again for a kind that it did
 * not have, so a kind is found as soon as it is defined. Objects are plain JSON, validated by the server alone.
 *
 * To be woken when a kind appears, watch CustomResourceDefinitions. Every authenticated user may ask (the ClusterRole
 * `system:discovery`).
 */
import * as Effect from "effect/Effect"
import type { Client } from "./Client.ts"
import { KubeClient } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import type * as Resource from "./Resource.ts"

/** What the apiVersion and kind of an object say of its kind. */
export interface Reference {
  readonly apiVersion: string
  readonly kind: string
}

type Kinds = ReadonlyMap<string, Resource.Resource<KubeObject>>

/** By client, since two servers may have different kinds. */
const known = new WeakMap<Client, Map<string, Kinds>>()

/** The kind; undefined if the server has none of that name. */
export const resource = (
  { apiVersion, kind }: Reference
): Effect.Effect<Resource.Resource<KubeObject> | undefined, KubeError.KubeError, KubeClient> =>
  KubeClient.use((client) => {
    const versions = known.get(client) ?? new Map<string, Kinds>()
    known.set(client, versions)
    const found = versions.get(apiVersion)?.get(kind)
    if (found !== undefined) return Effect.succeed(found)
    return client.kinds(apiVersion).pipe(
      Effect.map((all) => {
        const kinds: Kinds = new Map(all.map((one) => [one.kind, one]))
        versions.set(apiVersion, kinds)
        return kinds.get(kind)
      }),
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
    )
  })
