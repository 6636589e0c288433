/**
 * The judge: whether what a reflector handed to its store is what happened on the server, no more and no less.
 *
 * The server's change log is the truth. A list of resourceVersion R must be the state that the log gives at R; the
 * events after it must be the log's changes after R, each once, in order, unchanged; a bookmark must not pass over a
 * change that was not delivered; at the end nothing may be missing. That holds whatever happened in between, so a list in
 * the middle is checked like the first one, and what lies between a break and a list may be skipped, as it has to be.
 * The store's deltas are replayed beside it: each must fit the state that those before it made.
 */
import type { Delta, KubeObject, WatchEvent } from "@effect-operator/core"

/** One change the server committed. */
export interface Change {
  readonly revision: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  /** `namespace/name`. */
  readonly key: string
}

/** What a reflector handed to its store, in order. */
export type Entry =
  | {
    readonly _tag: "Replaced"
    readonly resourceVersion: string
    readonly items: ReadonlyArray<KubeObject.KubeObject>
  }
  | { readonly _tag: "Applied"; readonly events: ReadonlyArray<WatchEvent.WatchEvent> }

export const keyOf = ({ metadata }: KubeObject.KubeObject): string => `${metadata.namespace ?? ""}/${metadata.name}`

/** Objects by key, each with its resourceVersion. */
type Versions = ReadonlyMap<string, number>

const versionOf = (object: KubeObject.KubeObject): number => Number(object.metadata.resourceVersion)

/** The first difference between two states, if there is one. */
export const difference = (actual: Versions, expected: Versions): string | undefined => {
  for (const [key, version] of expected) {
    const other = actual.get(key)
    if (other === undefined) return `${key} is missing`
    if (other !== version) return `${key} is at ${other} instead of ${version}`
  }
  for (const key of actual.keys()) if (!expected.has(key)) return `${key} should not be there`
  return undefined
}

/** The first fault of what was handed to the store, if there is one. `log` in order of revisions. */
export const judge = (log: ReadonlyArray<Change>, entries: ReadonlyArray<Entry>): string | undefined => {
  const state = new Map<string, number>()
  let next = 0
  let position = 0
  const advance = (): Change => {
    const change = log[next++]!
    position = change.revision
    if (change.type === "DELETED") state.delete(change.key)
    else state.set(change.key, change.revision)
    return change
  }
  let listed = false
  for (const [index, entry] of entries.entries()) {
    const at = `entry ${index} (${entry._tag})`
    if (entry._tag === "Replaced") {
      listed = true
      const revision = Number(entry.resourceVersion)
      if (revision < position) return `${at}: a list of ${revision} after ${position}`
      while (next < log.length && log[next]!.revision <= revision) advance()
      position = revision
      const items = new Map(entry.items.map((item) => [keyOf(item), versionOf(item)]))
      if (items.size !== entry.items.length) return `${at}: an object stands in it twice`
      const wrong = difference(items, state)
      if (wrong !== undefined) return `${at}: the list of ${revision} is not what the server had: ${wrong}`
      continue
    }
    if (!listed) return `${at}: events before the first list`
    for (const event of entry.events) {
      const revision = Number(event.object.metadata.resourceVersion)
      if (event.type === "BOOKMARK") {
        const missed = log[next]
        if (missed !== undefined && missed.revision <= revision) {
          return `${at}: a bookmark of ${revision} passes over ${describe(missed)}`
        }
        position = Math.max(position, revision)
        continue
      }
      if (revision <= position) return `${at}: ${event.type} ${keyOf(event.object)} of ${revision} twice, or late`
      const expected = log[next]
      if (expected === undefined) return `${at}: ${event.type} ${keyOf(event.object)} never happened`
      advance()
      if (expected.revision !== revision || expected.type !== event.type || expected.key !== keyOf(event.object)) {
        return `${at}: ${event.type} ${keyOf(event.object)} of ${revision} instead of ${describe(expected)}`
      }
    }
  }
  const missed = log[next]
  return missed === undefined ? undefined : `${describe(missed)} never arrived`
}

const describe = ({ key, revision, type }: Change): string => `${type} ${key} of ${revision}`

/** Replays deltas: the state they lead to, or the first that does not fit. */
export const replay = (deltas: ReadonlyArray<Delta.Delta>): Versions | string => {
  const state = new Map<string, number>()
  for (const [index, delta] of deltas.entries()) {
    if (delta._tag === "Invalid") return `delta ${index}: an object does not decode`
    const key = keyOf(delta.object)
    const had = state.get(key)
    const at = `delta ${index} (${delta._tag} ${key} of ${versionOf(delta.object)})`
    switch (delta._tag) {
      case "Added":
        if (had !== undefined) return `${at}: it was there, at ${had}`
        state.set(key, versionOf(delta.object))
        break
      case "Updated":
        if (had !== versionOf(delta.old)) return `${at}: from ${versionOf(delta.old)}, but it was at ${had}`
        if (versionOf(delta.object) <= had) return `${at}: no change`
        state.set(key, versionOf(delta.object))
        break
      case "Deleted":
        if (had === undefined) return `${at}: it was not there`
        state.delete(key)
    }
  }
  return state
}
