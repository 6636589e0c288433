/**
 * `ObjectStatus`: writes an object's status in one request, and only if it changes something.
 *
 * It sends a JSON patch of the difference to the object as it was read, on the status subresource. Fields that another
 * controller keeps in the same status are left alone. Fields that the new status leaves out are removed if the old one
 * had them. Replaced values are not tested, because a Schema may have decoded them to something else.
 *
 * Lists are written as a whole, such as conditions, to which several controllers add. If a list is added, replaced or
 * removed, the patch applies only to that very version of the object, and a race is a `Conflict`. For everything else,
 * a status that can be computed anew each time is right after the next reconcile, however old the object was. Data that
 * is recorded nowhere else (such as how often something ran) belongs in a patch with the `resourceVersion` it is based
 * on, so that a write from an old read is refused.
 *
 * A projection (`Projection.without`) must keep the fields that are written. A cache without them would show neither
 * own values, which would be written each time, nor those of others, which would be overwritten.
 *
 * The patch tests the object's uid, so a status is never written to a later object of the same name.
 */
import * as Effect from "effect/Effect"
import { guarded, unchanged } from "./internal/guarded.ts"
import { equals, isObject, own } from "./internal/jsonMerge.ts"
import { stored } from "./internal/stored.ts"
import type { JsonPatchOperation, KubeClient } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Projection from "./Projection.ts"
import * as Resource from "./Resource.ts"

/** The status type of an object type. */
export type StatusOf<A> = A extends { readonly status?: infer S } ? Exclude<S, undefined> : never

/** A status whose optional fields may be `undefined`, which leaves them out. */
export type Stated<S> = unknown extends S ? S
  : { readonly [K in keyof S]: {} extends Pick<S, K> ? S[K] | undefined : S[K] }

/**
 * Writes this status and returns the updated object. Fields that are `undefined` or `null` are left out.
 *
 * Fails with `Conflict`, so that the object is reconciled again:
 *
 * - without a write, if the object is not the one that was read, or if the parent of a field to be changed is gone. A
 *   first status, a first object in it and every list also fail if anything has changed since the read: there may be
 *   one by now, or another one.
 * - after the write, if the response shows that somebody changed the status since it was read, and a field that was
 *   right then is not any more. The change of a status need not wake the controller; this error does.
 */
export const write = <A extends KubeObject>(
  resource: Resource.Resource<A>,
  object: A,
  status: Stated<StatusOf<A>>
): Effect.Effect<A, KubeError.KubeError, KubeClient> =>
  Effect.gen(function*() {
    const storedOf = (status: unknown) =>
      status === undefined
        ? Effect.undefined
        : Effect.map(stored(callOf(resource, object), resource, "encodeFields", { status }), ({ status }) => status)
    const wanted = plain(JSON.parse(JSON.stringify(yield* storedOf(status))))
    if (Projection.isBlind(resource, { status: wanted })) return yield* Effect.die(unseen(resource))
    const now = yield* storedOf(statusOf(object))
    const said = now === undefined && equals(wanted, {}) ? [] : difference("/status", now, wanted)
    if (said.length === 0) return object
    const operations = said.some(isWhole({ status: now })) ? [unchanged(object), ...said] : said
    const paths = new Set(said.map(({ path }) => path))
    const answer = yield* guarded(resource, object, operations, "status", { subresource: "status" })
    const isAsWanted = holds("/status", yield* storedOf(statusOf(answer)), wanted, paths)
    return isAsWanted ? answer : yield* changedSince(resource, object)
  })

/** Whether an operation sets a whole value of which others may have set parts, or removes a list. */
const isWhole = (before: object) => (operation: JsonPatchOperation): boolean =>
  ("value" in operation && typeof operation.value === "object") || Array.isArray(at(before, operation.path))

const statusOf = (object: KubeObject): unknown => (object as { readonly status?: unknown }).status

/** Whether everything that the patch did not name is as wanted. */
const holds = (path: string, now: unknown, wanted: unknown, said: ReadonlySet<string>): boolean => {
  if (said.has(path)) return true
  if (!isObject(wanted)) return equals(now, wanted)
  return Object.entries(wanted).every(([key, value]) =>
    holds(member(path, key), isObject(now) ? own(now, key) : undefined, value, said)
  )
}

const unseen = ({ id, without = [] }: Resource.Any): Error =>
  new Error(
    `ObjectStatus.write: ${id}: the status has fields that this projection drops (${without.join(", ")}), ` +
      "so values of other controllers would be overwritten: read and write the whole kind"
  )

const callOf = (resource: Resource.Any, { metadata: { name, namespace } }: KubeObject): KubeError.Call => ({
  verb: "patch",
  resource: `${Resource.qualifiedName(resource)}/status`,
  name,
  namespace
})

const changedSince = (resource: Resource.Any, object: KubeObject): KubeError.KubeError =>
  KubeError.make(
    callOf(resource, object),
    new KubeError.Conflict({
      message: "the status was written over a change made since it was read: reconcile the object again",
      code: 409
    })
  )

/** The JSON patch (RFC 6902) that turns one value, at its path, into the other. Empty if nothing changes. */
export const difference = (path: string, from: unknown, to: unknown): ReadonlyArray<JsonPatchOperation> => {
  if (!isObject(from) || !isObject(to)) return equals(from, to) ? [] : [{ op: "add", path, value: to }]
  return [
    ...Object.entries(to).flatMap(([key, value]) => difference(member(path, key), own(from, key), value)),
    ...Object.keys(from).filter((key) => !Object.hasOwn(to, key)).map((key) => ({
      op: "remove" as const,
      path: member(path, key)
    }))
  ]
}

/** The value that a JSON pointer leads to. */
const at = (value: unknown, pointer: string): unknown =>
  pointer.split("/").slice(1).reduce<unknown>(
    (found, key) => isObject(found) ? own(found, key.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined,
    value
  )

/** A JSON pointer (RFC 6901) to a member. */
const member = (path: string, key: string): string => `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`

/** The value without members that are null. Lists stay as they are: they are replaced whole. */
const plain = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
      Object.entries(value).flatMap(([key, part]) => part === null ? [] : [[key, plain(part)]])
    )
    : value
