/** `Moments`: the store as it was after every single change of a run. */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Change } from "../../ApiServer.ts"
import type { Recording } from "./Recording.ts"

/** The store after a change. */
export interface Moment {
  /** Milliseconds since 1970, on the server's clock. */
  readonly at: number
  readonly change: Change
  /** Every object that was created or changed since the start, without those that are gone. */
  readonly objects: () => Iterable<KubeObject>
  /** The objects of a kind. */
  readonly of: (kind: string) => ReadonlyArray<KubeObject>
}

/** The moments of a run, in order. A moment is valid until the next one is taken. */
export function* moments(run: Recording): Generator<Moment> {
  const kinds = new Map<string, Map<string, KubeObject>>()
  const of = (kind: string) => [...(kinds.get(kind)?.values() ?? [])]
  const objects = () => [...kinds.values()].flatMap((held) => [...held.values()])
  for (const entry of run.entries) {
    if (entry._tag !== "Change") continue
    const { change } = entry
    const { kind } = change.object
    let held = kinds.get(kind)
    if (held === undefined) kinds.set(kind, held = new Map())
    if (change.type === "DELETED") held.delete(change.key)
    else held.set(change.key, change.object)
    yield { at: entry.at, change, objects, of }
  }
}
