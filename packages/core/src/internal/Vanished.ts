/**
 * `Vanished`: objects that the server reports as gone while the cache still shows them.
 *
 * A cache that is filled by a server that is behind, after a watch was lost, shows deleted objects. A reconcile that
 * creates something for such an object sees the garbage collector delete it, and creates it again, as fast as it can,
 * until the cache catches up. But if a request for this very object is answered with NotFound, that is proof: a uid
 * never comes back. From then on the key has no object, until the cache shows another version of it, or for `recheck`
 * at most, since nothing rests on one response forever. Only responses to the controller's own client count: an object
 * of the same kind and name may be missing in some other cluster.
 */
import * as Effect from "effect/Effect"
import { KubeClient } from "../KubeClient.ts"
import { KubeError } from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"
import { isStatus } from "../Status.ts"

export const defaults = {
  /** How long the response is trusted while the cache shows the same version, in milliseconds. */
  recheck: 60_000
} as const

interface Proof {
  readonly uid: string
  readonly resourceVersion: string | undefined
  readonly until: number
}

export class Vanished {
  readonly #proofs = new Map<string, Proof>()

  /** Records that the object of the key was not found. */
  note(key: string, { metadata: { resourceVersion, uid } }: KubeObject, now: number): void {
    this.#proofs.set(key, { uid, resourceVersion, until: now + defaults.recheck })
  }

  /** For how many more milliseconds the cached object of the key is known to be gone; 0 if it is not known. */
  hidden(key: string, object: KubeObject | undefined, now: number): number {
    const proof = this.#proofs.get(key)
    if (proof === undefined) return 0
    const same = object?.metadata.uid === proof.uid && object.metadata.resourceVersion === proof.resourceVersion
    if (same && now < proof.until) return proof.until - now
    this.#proofs.delete(key)
    return 0
  }

  /** Number of keys with a proof. */
  get size(): number {
    return this.#proofs.size
  }
}

/** Whether the object is gone, according to the server of the controller. */
export const isGone = <A extends KubeObject>(
  resource: Resource.Resource<A>,
  { metadata }: A
): Effect.Effect<boolean, never, KubeClient> =>
  KubeClient.use((client) => client.get(resource, metadata)).pipe(
    Effect.map((found) => found.metadata.uid !== metadata.uid),
    Effect.catch(({ reason }) => Effect.succeed(reason._tag === "NotFound"))
  )

/** Whether an error says that the object itself was not found, rather than its kind or something else. */
export const saysSo = (error: unknown, resource: Resource.Any, { metadata }: KubeObject): boolean => {
  if (!(error instanceof KubeError) || error.reason._tag !== "NotFound") return false
  const { namespace, objectName, reason: { status } } = error
  const [about] = error.resource.split("/")
  return about === Resource.qualifiedName(resource) && objectName === metadata.name &&
    namespace === (resource.scope === "Cluster" ? undefined : metadata.namespace) &&
    isStatus(status) && status.details?.name === metadata.name && status.details.kind === resource.plural
}
