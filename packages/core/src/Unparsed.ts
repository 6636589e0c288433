/**
 * `Unparsed`: an object of a list or watch as its JSON text, of which only what a cache needs to index it is known.
 *
 * A transport makes them if a request allows it (`Transport.Reading.lazily`), a store keeps them, and nobody else ever
 * sees one: what leaves a store is a plain object. An object is parsed when it is first read, and stays parsed until
 * another version of it arrives. A text that turns out not to be a JSON object is a defect of its reader.
 */
import type { KubeObject, ObjectMeta } from "./KubeObject.ts"

/** The known part of the metadata. */
export interface Head {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  readonly resourceVersion: string
}

export class Unparsed implements KubeObject {
  readonly metadata: ObjectMeta
  /** The text, or the object parsed from it. */
  #content: string | KubeObject
  readonly #pick: ((parsed: unknown) => unknown) | undefined
  /** What the items of a list of a built-in kind do not say themselves: their type. */
  #type: { readonly apiVersion: string; readonly kind: string } | undefined

  /** `pick` takes the object from the parsed value, if the text contains more. */
  constructor(head: Head, text: string, pick?: (parsed: unknown) => unknown) {
    this.#content = text
    this.#pick = pick
    this.metadata = new Metadata(head, this) as Head as ObjectMeta
  }

  /** Sets the type of an object that does not carry it. */
  typed(apiVersion: string, kind: string): this {
    this.#type = { apiVersion, kind }
    return this
  }

  /** Length of the text; undefined once it is parsed. */
  get length(): number | undefined {
    return typeof this.#content === "string" ? this.#content.length : undefined
  }

  /** The parsed object. */
  get object(): KubeObject {
    if (typeof this.#content === "string") {
      const whole: unknown = JSON.parse(this.#content)
      const parsed = (this.#pick === undefined ? whole : this.#pick(whole)) as KubeObject
      this.#content = parsed.kind === undefined ? { ...parsed, ...this.#type } : parsed
    }
    return this.#content
  }

  get apiVersion(): string {
    return this.object.apiVersion
  }

  get kind(): string {
    return this.object.kind
  }
}

/** Metadata of which the head is known; the rest is parsed when it is read. */
class Metadata implements Head {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  readonly resourceVersion: string
  readonly #owner: Unparsed

  constructor(head: Head, owner: Unparsed) {
    this.name = head.name
    this.namespace = head.namespace
    this.uid = head.uid
    this.resourceVersion = head.resourceVersion
    this.#owner = owner
  }

  static {
    const others: Record<Exclude<keyof ObjectMeta, keyof Head>, true> = {
      annotations: true,
      creationTimestamp: true,
      deletionGracePeriodSeconds: true,
      deletionTimestamp: true,
      finalizers: true,
      generateName: true,
      generation: true,
      labels: true,
      managedFields: true,
      ownerReferences: true,
      selfLink: true
    }
    for (const name of Object.keys(others) as ReadonlyArray<keyof typeof others>) {
      Object.defineProperty(Metadata.prototype, name, {
        get(this: Metadata) {
          return this.#owner.object.metadata[name]
        }
      })
    }
  }
}

/** The object, parsed if it was kept as text. */
export const parsed = <A extends KubeObject>(stored: A): A =>
  stored instanceof Unparsed ? stored.object as KubeObject as A : stored
