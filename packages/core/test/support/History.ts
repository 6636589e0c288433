/**
 * A server's history of a few keys, as the simplest thing that can be right: every state of every key by revision. What
 * a list or a watch of a selection shows follows from it.
 */
import type { KubeObject, WatchEvent } from "@effect-operator/core"
import { Prng } from "./Prng.ts"

export type Obj = KubeObject.KubeObject & { readonly spec: { readonly size: number } }

/** One revision: what was at the key before, and what is since. */
export interface Revision {
  readonly rv: number
  readonly key: string
  readonly before: Obj | undefined
  readonly after: Obj | undefined
}

/** The selection of the tests. */
export const selected = (object: KubeObject.KubeObject): boolean => object.metadata.labels?.["in"] === "yes"

/** A state the kind's schema refuses. */
export const undecodable = (object: Obj): boolean => object.spec.size < 0

const freeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) freeze(part)
  }
  return value
}

export class History {
  readonly revisions: Array<Revision> = []
  /** Which objects lists and watches show. */
  readonly selects: (object: KubeObject.KubeObject) => boolean
  readonly #current = new Map<string, Obj>()
  rv = 10
  #uids = 0

  constructor(selects: (object: KubeObject.KubeObject) => boolean = selected) {
    this.selects = selects
  }

  get(key: string): Obj | undefined {
    return this.#current.get(key)
  }

  /** What was at the key at a revision. */
  at(key: string, rv: number): Obj | undefined {
    let found: Obj | undefined
    for (const revision of this.revisions) {
      if (revision.rv > rv) break
      if (revision.key === key) found = revision.after
    }
    return found
  }

  /** The states the key had from one revision on until now, in order. */
  states(key: string, from: number): ReadonlyArray<Obj | undefined> {
    const states: Array<Obj | undefined> = [this.at(key, from)]
    for (const revision of this.revisions) if (revision.rv > from && revision.key === key) states.push(revision.after)
    return states
  }

  list(keys: ReadonlyArray<string>, rv: number): ReadonlyArray<Obj> {
    return keys.flatMap((key) => {
      const object = this.at(key, rv)
      return object !== undefined && this.selects(object) ? [object] : []
    })
  }

  /** The events of a watch of the selection after one revision up to another. */
  events(after: number, upTo: number): ReadonlyArray<WatchEvent.WatchEvent> {
    const events: Array<WatchEvent.WatchEvent> = []
    for (const { after: now, before, rv } of this.revisions) {
      if (rv <= after || rv > upTo) continue
      const was = before !== undefined && this.selects(before)
      const is = now !== undefined && this.selects(now)
      if (is) events.push({ type: was ? "MODIFIED" : "ADDED", object: now })
      else if (was) {
        // The last state it had inside the selection, with the resourceVersion of the change that took it out.
        const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(rv) } }
        events.push({ type: "DELETED", object: freeze(object) })
      }
    }
    return events
  }

  create(key: string, random: Prng): Obj {
    return this.#store(key, this.#vary(key, `u${++this.#uids}`, random))
  }

  update(key: string, random: Prng): Obj {
    const { metadata } = this.#current.get(key)!
    const next = this.#vary(key, metadata.uid, random)
    const finalizers = metadata.finalizers
    return this.#store(key, {
      ...next,
      metadata: {
        ...next.metadata,
        ...(finalizers === undefined ? {} : { finalizers }),
        ...(metadata.deletionTimestamp === undefined ? {} : { deletionTimestamp: metadata.deletionTimestamp })
      }
    })
  }

  /** Changes one field, as a subresource of another kind does. */
  scale(key: string, random: Prng): Obj {
    const object = this.#current.get(key)!
    return this.#store(key, { ...object, spec: { size: object.spec.size + random.int(1, 9) } })
  }

  /** Gone, or terminating where a finalizer holds it: then the object is what is answered. */
  delete(key: string): Obj | undefined {
    const object = this.#current.get(key)!
    if (object.metadata.finalizers === undefined) {
      this.#store(key, undefined)
      return undefined
    }
    if (object.metadata.deletionTimestamp !== undefined) return object
    return this.#store(key, {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 }
    })
  }

  /** Takes the finalizer off. If that lets the object go, the answer still has the old resourceVersion, as a server's. */
  release(key: string): Obj {
    const object = this.#current.get(key)!
    const { finalizers: _, ...metadata } = object.metadata
    if (metadata.deletionTimestamp === undefined) return this.#store(key, { ...object, metadata })
    this.#store(key, undefined)
    return freeze({ ...object, metadata })
  }

  #vary(key: string, uid: string, random: Prng): Obj {
    const owner = random.int(0, 2)
    return {
      apiVersion: "test.io/v1",
      kind: "Thing",
      metadata: {
        name: key.slice(2),
        namespace: key.slice(0, 1),
        uid,
        resourceVersion: "0",
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: { in: random.chance(0.7) ? "yes" : "no", tier: random.pick(["x", "y"]) },
        ...(owner === 0 ? {} : {
          ownerReferences: [{ apiVersion: "test.io/v1", kind: "Owner", name: `o${owner}`, uid: `o${owner}` }]
        }),
        ...(random.chance(0.3) ? { finalizers: ["test.io/hold"] } : {}),
        ...(random.chance(0.3) ? { managedFields: [{ manager: "m" }] } : {})
      },
      spec: { size: random.chance(0.15) ? -1 : random.int(0, 9) }
    }
  }

  #store(key: string, object: undefined): undefined
  #store(key: string, object: Obj): Obj
  #store(key: string, object: Obj | undefined): Obj | undefined {
    this.rv += 1
    const before = this.#current.get(key)
    const after = object === undefined
      ? undefined
      : freeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.rv) } })
    this.revisions.push({ rv: this.rv, key, before, after })
    if (after === undefined) this.#current.delete(key)
    else this.#current.set(key, after)
    return after
  }
}
