/**
 * `ServerSideApply`: declares the desired fields of an object, and leaves the rest to others.
 *
 * `apply` sends the desired fields in one request. It creates the object or changes exactly those fields, and removes
 * fields that this controller applied before and no longer wants. The field manager is the controller. Conflicts are
 * forced, as Kubernetes recommends for controllers, which have nobody to ask.
 *
 * **Nothing is sent when nothing would change.** `apply` remembers what was desired last, and what the server made of
 * it (with its defaults). As long as the same is desired and the cached object still has those values, no request is
 * sent. It is sent if somebody else changed a field, if the object was removed or recreated, or if something else is
 * desired. If the cache drops some of the desired fields (`Projection.without`), any change of the object causes it.
 *
 * This memory belongs to the process: after a restart, each object is applied once. Another replica applies under the
 * same name, and may have added fields that do not show in those desired here. So a replica that begins to lead forgets
 * everything, and one that takes over an object forgets what its reconciles applied. Outside controllers (in a webhook, in
 * a program with a `Cache.layer`) nothing says when to forget, so nothing is remembered, and every apply is sent.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Cache from "./Cache.ts"
import { type ApplyOptions, Writing } from "./Client.ts"
import { fingerprint } from "./internal/fingerprint.ts"
import { stored } from "./internal/stored.ts"
import { KubeClient } from "./KubeClient.ts"
import type * as KubeError from "./KubeError.ts"
import { key as keyOf, keyString, type KubeObject, type ObjectKey } from "./KubeObject.ts"
import * as Projection from "./Projection.ts"
import * as Resource from "./Resource.ts"

export const defaults = {
  /** Objects remembered. Beyond that the oldest are forgotten, which costs one request each. */
  remembered: 50_000
} as const

/** The fields of an object that a controller wants, and its name. */
export type Fields<A extends KubeObject> = Resource.DeepPartial<Resource.Input<A>> & { readonly metadata: ObjectKey }

/** What one controller last applied to which object. */
export interface Applied {
  readonly get: (id: string) => Entry | undefined
  readonly set: (id: string, entry: Entry) => void
  readonly forget: (id: string) => void
  /** Forgets what was applied in reconciles of a key; without one, everything. */
  readonly forgetOf: (key?: string) => void
}

/** The memory of the applying part of the program; a controller provides its own. */
export const Applied: Context.Reference<Applied> = Context.Reference<Applied>(
  "@effect-operator/core/ServerSideApply/Applied",
  { defaultValue: () => ({ get: () => undefined, set: () => {}, forget: () => {}, forgetOf: () => {} }) }
)

interface Entry {
  readonly uid: string
  /** Fingerprint of what was wanted. */
  readonly wanted: number
  /** Fingerprint of what the server made of the wanted fields. */
  readonly became: number
  /** The last version of the object that was seen with these values. */
  readonly resourceVersion: string | undefined
  /** The key in whose reconcile it was applied. */
  readonly by: string | undefined
}

export const makeApplied = (): Applied => {
  const entries = new Map<string, Entry>()
  const ids = new Map<string | undefined, Set<string>>()
  const forget = (id: string): void => {
    const by = entries.get(id)?.by
    if (!entries.delete(id)) return
    const theirs = ids.get(by)!
    theirs.delete(id)
    if (theirs.size === 0) ids.delete(by)
  }
  return {
    get: (id) => entries.get(id),
    set: (id, entry) => {
      forget(id)
      entries.set(id, entry)
      ids.set(entry.by, (ids.get(entry.by) ?? new Set<string>()).add(id))
      const [oldest] = entries.keys()
      if (entries.size > defaults.remembered && oldest !== undefined) forget(oldest)
    },
    forget,
    forgetOf: (key) => {
      for (const id of key === undefined ? [...entries.keys()] : ids.get(key) ?? []) forget(id)
    }
  }
}

/** Applies the fields, unless the cached object shows that nothing would change. Returns the object. */
export const apply = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>,
  fields: Fields<A>,
  options: Omit<ApplyOptions, "dryRun"> = {}
): Effect.Effect<A, KubeError.KubeError, KubeClient | Cache.Cached<Id>> =>
  Effect.gen(function*() {
    const applied = yield* Applied
    const { key: by } = yield* Writing
    const key = keyOf({ metadata: fields.metadata } as KubeObject)
    const id = `${resource.id} ${options.subresource ?? ""} ${options.fieldManager ?? ""} ${keyString(key)}`
    const call = { verb: "apply", resource: Resource.qualifiedName(resource), ...key } as const
    const storedOf = (object: object) => stored(call, resource, "encodeFields", object, options)
    const asked = yield* storedOf(fields)
    const wanted = fingerprint(JSON.stringify(asked))
    const live = yield* Cache.get(resource, key)
    const last = applied.get(id)
    if (live !== undefined && last?.uid === live.metadata.uid && last.wanted === wanted) {
      const { resourceVersion } = live.metadata
      if (last.resourceVersion === resourceVersion) return live
      if (!Projection.isBlind(resource, asked) && last.became === shape(asked, yield* storedOf(live))) {
        applied.set(id, { ...last, resourceVersion, by })
        return live
      }
    }
    applied.forget(id)
    const client = yield* KubeClient
    const object = yield* client.apply(resource, fields as Parameters<typeof client.apply<A>>[1], {
      force: true,
      ...options
    })
    const { resourceVersion, uid } = object.metadata
    applied.set(id, { uid, wanted, became: shape(asked, yield* storedOf(object)), resourceVersion, by })
    return object
  })

/** Fingerprint of the object's values of the wanted fields. Lists count whole: their items have no names here. */
const shape = (fields: object, object: object): number => fingerprint(JSON.stringify(project(fields, object)) ?? "")

const project = (wanted: unknown, found: unknown): unknown => {
  if (!isRecord(wanted) || !isRecord(found)) return canonical(found)
  return Object.fromEntries(
    Object.keys(wanted).sort().filter((key) => key !== "apiVersion" && key !== "kind")
      .map((key) => [key, project(wanted[key], found[key])])
  )
}

/** A value with sorted keys: the cache and a response may order them differently. */
const canonical = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(canonical)
    : isRecord(value)
    ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, canonical(value[key])]))
    : value ?? null

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
