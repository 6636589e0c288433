/**
 * `Marks`: own writes whose response did not show the resulting state.
 *
 * `scale` returns another kind, with the new resourceVersion of the object; an eviction returns a Status; the deletion
 * of a collection returns the objects as they were before. What is cached of such an object is older than the write
 * until the watch has reported on it, and readers must wait.
 *
 * Both kinds of marks expire by themselves: that of a changed object when the watch has passed the resourceVersion,
 * that of a deleted one when its incarnation is seen to be terminating or gone. If the response did not name the
 * incarnation, it is guessed to be the one that is here, or comes next; but it may be another that was created since.
 * So a guess is given up when two bookmarks have not confirmed it, or when somebody has waited long enough.
 */
import { compareResourceVersions } from "../KubeObject.ts"

interface Changed {
  readonly resourceVersion: string
  readonly uid: string | undefined
  /** Whether the absence of the object is outdated, too. */
  readonly absent: boolean
}

interface Guess {
  /** The incarnation that was here, if any. */
  readonly uid: string | undefined
  /** Number of bookmarks since. */
  readonly bookmarks: number
}

export class Marks {
  /** By key, most recent last. */
  readonly #changed = new Map<string, Changed>()
  /** Incarnations whose deletion was accepted, by uid, each with its key. */
  readonly #deleting = new Map<string, string>()
  /** Keys whose deleted incarnation is a guess. */
  readonly #guessed = new Map<string, Guess>()
  /** Maximum number of remembered deletions of objects that are not cached. */
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#changed.size + this.#deleting.size + this.#guessed.size
  }

  *keys(): IterableIterator<string> {
    yield* this.#changed.keys()
    yield* this.#deleting.values()
    yield* this.#guessed.keys()
  }

  /** Marks that the object has this resourceVersion, or a later one. */
  changed(key: string, { absent, resourceVersion, uid }: Changed): void {
    const known = this.#changed.get(key)
    if (known !== undefined && compareResourceVersions(resourceVersion, known.resourceVersion) <= 0) return
    this.#changed.delete(key)
    this.#changed.set(key, { absent, resourceVersion, uid })
  }

  /** Marks the incarnation as terminating or gone. Marks for which `pinned` holds are not forgotten. */
  deleting(key: string, uid: string, pinned: (key: string, uid: string) => boolean): void {
    this.#deleting.set(uid, key)
    const [oldest] = this.#deleting
    if (this.#deleting.size <= this.#most || oldest === undefined) return
    this.#deleting.delete(oldest[0])
    if (pinned(oldest[1], oldest[0])) this.#deleting.set(...oldest)
  }

  /** The resourceVersion that a key must reach, and of which incarnation. */
  due(key: string): Changed | undefined {
    return this.#changed.get(key)
  }

  isDeleting(key: string, uid: string): boolean {
    return this.#deleting.has(uid) || matches(this.#guessed.get(key), uid)
  }

  /** Marks some incarnation of the key as terminating or gone: this one, if there is one. */
  guess(key: string, uid: string | undefined): void {
    this.#guessed.set(key, { uid, bookmarks: 0 })
  }

  /** Gives up the guesses about a key, or all of them. */
  giveUp(key: string | undefined): void {
    if (key === undefined) this.#guessed.clear()
    else this.#guessed.delete(key)
  }

  /** A state of the key was seen; `ending` if it is terminating or the last one. */
  seen(key: string, resourceVersion: string, uid: string, ending: boolean): void {
    const changed = this.#changed.get(key)
    if (changed !== undefined && compareResourceVersions(changed.resourceVersion, resourceVersion) <= 0) {
      this.#changed.delete(key)
    }
    if (!ending) return
    this.#deleting.delete(uid)
    if (matches(this.#guessed.get(key), uid)) this.#guessed.delete(key)
  }

  /** The watch has delivered everything up to a moment. */
  bookmark(): void {
    for (const [key, { bookmarks, uid }] of this.#guessed) {
      if (bookmarks === 0) this.#guessed.set(key, { uid, bookmarks: 1 })
      else this.#guessed.delete(key)
    }
  }

  /** The watch has come this far. Oldest marks first, so that this costs nothing while none is due. */
  passed(resourceVersion: string): void {
    for (const [key, changed] of this.#changed) {
      if (compareResourceVersions(changed.resourceVersion, resourceVersion) > 0) return
      this.#changed.delete(key)
    }
  }

  clear(): void {
    this.#changed.clear()
    this.#deleting.clear()
    this.#guessed.clear()
  }
}

const matches = (guess: Guess | undefined, uid: string): boolean =>
  guess !== undefined && (guess.uid === undefined || guess.uid === uid)
