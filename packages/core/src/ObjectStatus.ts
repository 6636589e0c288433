/**
 * `ObjectStatus`: writes an object's status, in one request, and only if it says something new.
 *
 * What goes over the wire is a merge patch of the difference, on the status subresource: a field that another
 * controller keeps in the same status is left alone. Fields that the new status leaves out are removed if the old one had
 * them. The difference is that to the object as it was read: a status that can be worked out anew each time is right
 * after the next look, however old the object was. What is written nowhere else (how often something ran) belongs into a
 * patch that says which `resourceVersion` it is of, so that a write from an old read is refused.
 */
import * as Effect from "effect/Effect"
import { KubeClient, Patch } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** The status of an object's type. */
export type StatusOf<A> = A extends { readonly status?: infer S } ? Exclude<S, undefined> : never

/**
 * Gives the object this status. Answers the object as it is then.
 *
 * Fails with `Conflict`, after the write, where the answer shows that the object was read before somebody changed its
 * status, and a field that was right in it is not: nobody is woken by a status, and a controller is run again by this.
 */
export const write = <A extends KubeObject>(
  resource: Resource.Resource<A>,
  object: A,
  status: StatusOf<A>
): Effect.Effect<A, KubeError.KubeError, KubeClient> =>
  Effect.suspend(() => {
    const difference = mergePatch(statusOf(object) ?? {}, status)
    if (difference === undefined) return Effect.succeed(object)
    return KubeClient.use((client) =>
      client.patch(resource, object, Patch.merge({ status: difference }), { subresource: "status" })
    ).pipe(
      Effect.filterOrFail(
        (answer) => answer.metadata.uid !== object.metadata.uid || holds(statusOf(answer), status, difference),
        () => changedSince(resource, object)
      )
    )
  })

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** Whether all is as it is wanted that a patch did not name. */
const holds = (now: unknown, wanted: unknown, said: unknown): boolean => {
  if (!isRecord(wanted) || (said !== undefined && !isRecord(said))) return said !== undefined || equal(now, wanted)
  return Object.entries(wanted).every(([key, value]) =>
    value === undefined || holds(isRecord(now) ? now[key] : undefined, value, said?.[key])
  )
}

const changedSince = (resource: Resource.Any, { metadata: { name, namespace } }: KubeObject): KubeError.KubeError =>
  KubeError.make(
    { verb: "patch", resource: `${Resource.qualifiedName(resource)}/status`, name, namespace },
    new KubeError.Conflict({
      message: "the status was written, but somebody had changed it since it was read: another look is due",
      code: 409
    })
  )

/** The JSON merge patch (RFC 7386) from one value to another; undefined if there is nothing to change. */
export const mergePatch = (from: unknown, to: unknown): unknown => {
  if (!isRecord(from) || !isRecord(to)) return equal(from, to) ? undefined : to
  const patch: Record<string, unknown> = {}
  for (const key of Object.keys(to)) {
    if (to[key] === undefined) continue
    const difference = key in from ? mergePatch(from[key], to[key]) : to[key]
    if (difference !== undefined) patch[key] = difference
  }
  for (const key of Object.keys(from)) if (to[key] === undefined) patch[key] = null
  return Object.keys(patch).length === 0 ? undefined : patch
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Equal as JSON, whatever the order of keys. */
const equal = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isRecord(a) || !isRecord(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal(a[key], b[key]))
}
