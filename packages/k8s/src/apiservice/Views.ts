/**
 * `Views`: kinds that clients cannot write: their objects are computed and written to the log when they change.
 *
 * Only real changes are written: an object that is computed again with the same result keeps its resourceVersion. It
 * keeps its uid for as long as it exists. The uid and age of a derived object follow from the object that it is derived
 * from, so that they are the same in every replica and after a restart. An object without a valid name, or for which `make` throws, is left out, even
 * if it existed before, and a warning is logged.
 */
import type * as Informers from "@effect-operator/core/Informers"
import { keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { storageKey, timestamp, uuid } from "../api/Identity.ts"
import * as MetadataRules from "../api/MetadataRules.ts"
import { asObject, copy } from "../api/Plain.ts"
import type { Storage } from "../api/Storage.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import type { Computed } from "./Kind.ts"
import type { Served } from "./Served.ts"

/** Writes computed objects of one kind. */
export const writer = Effect.fnUntraced(function*(served: Served, storage: Storage) {
  const random = yield* Random.Random
  const clock = yield* Clock.Clock
  const { collection, group, kind, scope, version } = served

  const completed = ({ metadata, ...rest }: Computed<KubeObject>, stored: KubeObject | undefined): KubeObject => {
    const own = stored?.metadata
    return asObject(copy({
      apiVersion: `${group}/${version}`,
      kind,
      ...rest,
      metadata: {
        ...metadata,
        uid: own?.uid ?? metadata.uid ?? uuid(() => random.nextDoubleUnsafe()),
        creationTimestamp: metadata.creationTimestamp ?? own?.creationTimestamp ??
          timestamp(clock.currentTimeMillisUnsafe()),
        generation: own?.generation ?? 1,
        ...(own === undefined ? {} : { resourceVersion: own.resourceVersion })
      }
    }))
  }
  const keyOf = ({ metadata: { name, namespace = "" } }: Computed<KubeObject>) =>
    storageKey(scope === "Cluster" ? "" : namespace, name)

  const remove = (key: string): void => {
    const stored = storage.get(collection, key)
    if (stored !== undefined) storage.remove(collection, key, stored.metadata.namespace ?? "")
  }

  return {
    keyOf,
    /** Writes an object, or returns why it cannot be served. */
    put: (object: Computed<KubeObject>): string | undefined => {
      const key = keyOf(object)
      const stored = storage.get(collection, key)
      const next = completed(object, stored)
      const faults = MetadataRules.validateObjectMeta(next.metadata, {
        namespaced: scope === "Namespaced",
        nameRule: "subdomain"
      })
      if (faults.length > 0) {
        remove(key)
        return `${kind} ${key} is left out: ${FieldError.aggregate(faults)}`
      }
      if (stored !== undefined && JsonValue.equals(next, stored)) return undefined
      const bumped = stored !== undefined && !JsonValue.equals({ ...next, metadata: 0 }, { ...stored, metadata: 0 })
      const generation = (stored?.metadata.generation ?? 0) + (bumped || stored === undefined ? 1 : 0)
      storage.put(collection, key, next.metadata.namespace ?? "", {
        ...next,
        metadata: { ...next.metadata, generation }
      })
      return undefined
    },
    remove
  }
})

/** A view that is kept up to date. */
export interface View {
  /** Completes once all initial objects are written. */
  readonly synced: Effect.Effect<void>
  /** Never ends; fails if the stream fails. */
  readonly run: Effect.Effect<unknown, unknown, unknown>
}

/** Why an object is left out, with the defect if there is one. */
type Fault = readonly [why: string, defect?: Cause.Cause<never>]

const warned = (faults: ReadonlyArray<Fault | undefined>) =>
  Effect.forEach(faults.filter((fault) => fault !== undefined), (fault) => Effect.logWarning(...fault), {
    discard: true
  })

const faultOf = (why: string | undefined): Fault | undefined => why === undefined ? undefined : [why]

/** The metadata of an object that is derived from another one, unless it has its own. */
const descent = ({ group, kind }: Served, { metadata: { creationTimestamp, uid } }: KubeObject) => {
  const hash = createHash("sha256").update(`${kind}.${group} ${uid}`).digest("hex")
  return {
    uid: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    creationTimestamp
  }
}

/** Follows a kind, object by object. */
export const derived = Effect.fnUntraced(function*(
  served: Served,
  storage: Storage,
  source: Extract<Served["source"], { readonly _tag: "Derived" }>,
  informers: Informers.Informers["Service"]
) {
  const { keyOf, put, remove } = yield* writer(served, storage)
  const informer = yield* informers.get({ resource: source.from })
  const context = yield* Effect.context<never>()
  const fork = Effect.runForkWith(context)
  /** The key of what was last derived from each object of the other kind. */
  const shown = new Map<string, string>()
  /** The objects of the other kind from which each key is derived; the last one is served. */
  const claims = new Map<string, ReadonlyArray<string>>()
  const show = (object: KubeObject): ReadonlyArray<Fault> => {
    const id = keyString(object)
    const made = source.make(object)
    if (made === undefined) return release(id)
    const key = keyOf(made)
    const faults = shown.get(id) === key ? [] : release(id)
    const why = put({ ...made, metadata: { ...descent(served, object), ...made.metadata } })
    shown.set(id, key)
    claims.set(key, [...(claims.get(key) ?? []).filter((other) => other !== id), id])
    return why === undefined ? faults : [...faults, [why], ...release(id)]
  }
  /** Nothing is derived from the object any more. If another one has the same key, that is served from now on. */
  const release = (id: string): ReadonlyArray<Fault> => {
    const key = shown.get(id)
    if (key === undefined) return []
    shown.delete(id)
    const before = claims.get(key) ?? []
    const left = before.filter((other) => other !== id)
    if (left.length === 0) claims.delete(key)
    else claims.set(key, left)
    if (before.at(-1) !== id) return []
    const next = informer.store.get(left.at(-1) ?? "")
    if (next !== undefined) return attempt(next)
    remove(key)
    return []
  }
  /** One unexpected object must not stop the view. */
  const attempt = (object: KubeObject): ReadonlyArray<Fault> => {
    try {
      return show(object)
    } catch (defect) {
      const what = `${served.kind} of ${source.from.kind} ${keyString(object)}`
      return [
        [`${what} is left out: \`make\` threw ${String(defect)}`, Cause.die(defect)],
        ...release(keyString(object))
      ]
    }
  }
  yield* informer.subscribe((deltas) => {
    const faults = deltas.flatMap((delta) =>
      delta._tag === "Invalid"
        ? []
        : delta._tag === "Deleted"
        ? release(keyString(delta.object))
        : attempt(delta.object)
    )
    if (faults.length > 0) fork(warned(faults))
  })
  return { synced: informer.synced, run: Effect.never } satisfies View as View
})

/** Follows a stream of complete lists. */
export const computed = Effect.fnUntraced(function*(
  served: Served,
  storage: Storage,
  source: Extract<Served["source"], { readonly _tag: "Computed" }>
) {
  const { keyOf, put, remove } = yield* writer(served, storage)
  const first = yield* Deferred.make<void>()
  const show = (objects: ReadonlyArray<Computed<KubeObject>>) => {
    const keep = new Set(objects.map(keyOf))
    for (const key of storage.list(served.collection).keys) if (!keep.has(key)) remove(key)
    return warned(objects.map((object) => faultOf(put(object))))
  }
  const run = Stream.runForEach(
    source.contents,
    (objects) => Effect.andThen(Effect.suspend(() => show(objects)), Deferred.succeed(first, undefined))
  )
  return {
    synced: Deferred.await(first),
    run: Effect.andThen(run, Effect.die(new Error("the stream has ended")))
  } as View
})
