/**
 * `Oracle`: what a run with faults must have in common with the run without.
 *
 * Each looks at a whole recording, and says in a sentence what is wrong, or nothing.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Canonical from "./Canonical.ts"
import { type Entry, line, type Recording } from "./Recording.ts"

/** The runs without faults, and what chance decides in them. */
export interface Reference {
  readonly recording: Recording
  readonly mask: Canonical.Mask
  readonly state: Canonical.State
}

export interface Oracle {
  readonly name: string
  readonly judge: (run: Recording, reference: Reference) => string | undefined
}

type Call = Extract<Entry, { readonly _tag: "Call" }>

const calls = (run: Recording): ReadonlyArray<Call> =>
  run.entries.filter((entry): entry is Call => entry._tag === "Call")

const describe = (entry: Entry): string =>
  entry._tag === "Call" ? `${line(entry.request)} (${entry.status})` : entry._tag

/** The run came to its rest: no loop, no end of patience. */
const rests: Oracle = { name: "comes to rest", judge: (run) => run.failure }

/** The desired state, in the scenario's own words, is reached and kept. */
const desired: Oracle = {
  name: "desired state",
  judge: (run) => run.desired === false ? "the desired state is not reached, or not kept" : undefined
}

/** Somebody took an object from its owner: what becomes of it is not the operator's business any more. */
const taken = (run: Recording): boolean =>
  run.entries.some((entry) => entry._tag === "Fault" && entry.point.fault === "orphaned")

/** The same end as without faults. */
const sameEnd: Oracle = {
  name: "same end state",
  judge: (run, { mask, state }) => {
    if (taken(run)) return undefined
    const lines = Canonical.compare(state, Canonical.state(run.objects, mask))
    return lines.length === 0 ? undefined : lines.slice(0, 5).join("; ")
  }
}

/** Nothing is written any more once everything is as it should be. */
const quiet: Oracle = {
  name: "quiet once stable",
  judge: (run) =>
    run.restless.length === 0
      ? undefined
      : `${run.restless.length} writes in a quiet hour, the first: ${describe(run.restless[0]!)}`
}

/** What is owned by an object that is gone is gone, too. */
const noOrphans: Oracle = {
  name: "no orphans",
  judge: (run) => {
    const uids = new Set(run.objects.map(({ metadata }) => metadata.uid))
    const orphan = run.objects.find(({ metadata }) =>
      metadata.ownerReferences !== undefined && metadata.ownerReferences.length > 0 &&
      metadata.ownerReferences.every(({ uid }) => !uids.has(uid))
    )
    return orphan === undefined ? undefined : `${name(orphan)} outlives its owner`
  }
}

const name = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`

/** Nothing waits for a finalizer that nobody removes. */
const finalizers: Oracle = {
  name: "finalizers released",
  judge: (run) => {
    const stuck = run.objects.find((object) => isTerminating(object))
    return stuck === undefined
      ? undefined
      : `${name(stuck)} is still being deleted, held by ${(stuck.metadata.finalizers ?? []).join(", ")}`
  }
}

/** A status speaks of a generation there was, and in the end of the last. */
const observedGeneration: Oracle = {
  name: "observed generation",
  judge: (run) => {
    for (const object of run.objects) {
      const observed = (object as { readonly status?: { readonly observedGeneration?: unknown } }).status
        ?.observedGeneration
      const { generation } = object.metadata
      if (typeof observed === "number" && generation !== undefined && observed !== generation) {
        return `${name(object)}: status.observedGeneration is ${observed}, metadata.generation ${generation}`
      }
    }
    return undefined
  }
}

/** No object is created and deleted more often than the faults explain. */
const createsAndDeletes: Oracle = {
  name: "creates and deletes",
  judge: (run, reference) => {
    const allowed = 3 + 2 * run.met
    const count = (recording: Recording, method: string) =>
      calls(recording).filter(({ request, status }) =>
        request.method === method && status < 300 && status > 0 && !request.path.includes("/events")
      ).length
    for (const [method, what] of [["POST", "created"], ["DELETE", "deleted"]] as const) {
      const [found, expected] = [count(run, method), count(reference.recording, method)]
      if (found > expected + allowed) return `${found} objects ${what}, without faults ${expected}`
    }
    return undefined
  }
}

/** Retries are bounded. */
const boundedRetries: Oracle = {
  name: "bounded retries",
  judge: (run, reference) => {
    const limit = 3 * reference.recording.calls + 40 + 40 * run.met
    return run.calls > limit ? `${run.calls} requests, without faults ${reference.recording.calls}` : undefined
  }
}

/** No object goes back and forth between two contents. */
const noPingPong: Oracle = {
  name: "no ping-pong",
  judge: (run) => {
    const contents = new Map<string, Map<string, number>>()
    for (const { object, request, status } of calls(run)) {
      if (object === undefined || status >= 300 || request.method === "GET" || object.kind === "Event") continue
      if (object.kind === "Lease") continue
      const { managedFields: _, resourceVersion: __, generation: ___, ...metadata } = object.metadata
      const text = JSON.stringify({ ...object, metadata }).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "")
      const seen = contents.get(object.metadata.uid) ?? new Map<string, number>()
      contents.set(object.metadata.uid, seen.set(text, (seen.get(text) ?? 0) + 1))
      if (seen.size > 1 && seen.get(text)! > 3 + run.met) {
        return `${name(object)} was given the same content ${seen.get(text)} times`
      }
    }
    return undefined
  }
}

/** All of them, the most telling first. */
export const all: ReadonlyArray<Oracle> = [
  rests,
  desired,
  finalizers,
  noOrphans,
  sameEnd,
  quiet,
  observedGeneration,
  createsAndDeletes,
  noPingPong,
  boundedRetries
]

/** The first complaint about a run. */
export const judge = (
  oracles: ReadonlyArray<Oracle>,
  run: Recording,
  reference: Reference
): { readonly oracle: string; readonly complaint: string } | undefined => {
  for (const { judge, name } of oracles) {
    const complaint = judge(run, reference)
    if (complaint !== undefined) return { oracle: name, complaint }
  }
  return undefined
}
