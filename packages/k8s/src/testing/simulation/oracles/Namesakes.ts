/**
 * `Namesakes`: an object is deleted by its name, although the one that the process has seen is gone and another has
 * taken the name.
 *
 * A view of a cluster is always old by the time of a write. A deletion that names the uid it means is refused then; one
 * that only has a name hits a Job that has just been created, and that is created once more. The ends do not differ.
 * What is not created again was not wanted, whichever object had the name.
 */
import { isTerminating, keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import { type Call, cited, type Entry, type Recording } from "../recording/Recording.ts"
import { keyOf, name, type Write, writes } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

interface Lifetime {
  readonly uid: string
  readonly from: number
  to: number
}

/** The objects of each name, in order, with the revisions from which and to which each existed. */
const lifetimes = ({ entries }: Recording): ReadonlyMap<string, ReadonlyArray<Lifetime>> => {
  const all = new Map<string, Array<Lifetime>>()
  for (const entry of entries) {
    if (entry._tag !== "Change") continue
    const { object, revision, type } = entry.change
    const { uid } = object.metadata
    const named = all.get(keyOf(object)) ?? []
    all.set(keyOf(object), named)
    const last = named.at(-1)
    if (last?.uid !== uid) named.push({ uid, from: revision, to: Infinity })
    else if (type === "DELETED") last.to = revision
  }
  return all
}

/** Whether a request lists the objects among which one is. */
const isListOf = (call: Call, path: string, { metadata: { namespace } }: KubeObject): boolean => {
  const collection = path.slice(0, path.lastIndexOf("/"))
  return call.request.method === "GET" && call.status === 200 &&
    [collection, collection.replace(`/namespaces/${namespace}/`, "/")].includes(call.request.path)
}

/** Whether the process had seen another object of that name, and not this one. */
const isMistaken = (run: Recording, { before, call }: Write, named: ReadonlyArray<Lifetime>): boolean => {
  const object = before!
  const { uid } = object.metadata
  const own = named.find((one) => one.uid === uid)
  const isMine = (entry: Entry) => "life" in entry && entry.life === call.life && entry.replica === call.replica
  let other = false
  for (const entry of run.entries) {
    if (entry === call) break
    if (!isMine(entry) || (entry._tag !== "Call" && entry._tag !== "Event")) continue
    const shown = entry.object
    if (shown?.metadata?.uid === uid) return false
    if (entry._tag === "Event" && keyOf(entry.object) === keyOf(object)) other = true
    if (entry._tag !== "Call" || !isListOf(entry, call.request.path, object)) continue
    const at = entry.shown ?? entry.before
    if (own === undefined || (own.from <= at && at < own.to)) return false
    if (named.some(({ from, to }) => from <= at && at < to)) other = true
  }
  return other
}

const isByName = ({ after, before, call: { request } }: Write): boolean => {
  const { preconditions } = (request.body ?? {}) as { readonly preconditions?: object }
  return request.method === "DELETE" && preconditions === undefined && before !== undefined &&
    !isTerminating(before) && request.path.endsWith(`/${after.metadata.name}`)
}

export const namesakes: Oracle = {
  name: "deletes what it has seen",
  judge: (run) => {
    const mistaken = new Map<string, Write>()
    let all: ReturnType<typeof lifetimes> | undefined
    for (const write of writes(run)) {
      const key = keyOf(write.after)
      const wrong = mistaken.get(key)
      if (write.type === "ADDED" && wrong !== undefined) {
        return `${name(write.after)} is deleted by its name (${
          cited(wrong.call)
        }), but it is not the one that the process ` +
          `had seen: that was gone, and another ${
            keyString(write.after)
          } had taken its place, which has to be created ` +
          `again: ${cited(write.call)} (delete the object instead of its key: then its uid is a precondition)`
      }
      if (!isByName(write)) continue
      all ??= lifetimes(run)
      const named = all.get(key) ?? []
      if (named.length > 1 && isMistaken(run, write, named)) mistaken.set(key, write)
    }
    return undefined
  }
}
