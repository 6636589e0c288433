/**
 * `Oracles`: all that are asked of a run, and those of which there is no more to say than a few lines.
 *
 * Source of the differential ones: Sieve (OSDI'22), 45 of whose 46 bugs were found by the end state and the summary of
 * creates and deletes; of `desired state`: Anvil (OSDI'24), eventually stable reconciliation.
 */
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { hasFailed } from "../recording/Ends.ts"
import { blinded, blindFor, blindings, isPaused, met, taken } from "../recording/Excuses.ts"
import { isElection, isEvent } from "../recording/Fault.ts"
import { moments } from "../recording/Moments.ts"
import {
  accepted,
  type Call,
  calls,
  type Entry,
  line,
  madeByPeople,
  type Recording,
  seen
} from "../recording/Recording.ts"
import { conditionsOf, name, writes } from "../recording/Writes.ts"
import * as Drawn from "../state/Drawn.ts"
import { aftermath, because, stillFails } from "../state/Failing.ts"
import * as Rests from "../state/Rests.ts"
import { alike } from "./Alike.ts"
import { available } from "./Available.ts"
import { course, ownersOwn } from "./Course.ts"
import { disowned } from "./Disowned.ts"
import { isDue } from "./Due.ts"
import { departed } from "./Departed.ts"
import { fixed, followed, forgotten, standing } from "./Forgotten.ts"
import { dataKept } from "./Kept.ts"
import { leftOutside } from "./LeftOutside.ts"
import { noted } from "./Noted.ts"
import { nought } from "./Nought.ts"
import type { Oracle } from "./Oracle.ts"
import { noPingPong } from "./PingPong.ts"
import { refused } from "./Refused.ts"
import { renewed } from "./Renewed.ts"
import { sameEnd } from "./SameEnd.ts"
import { singleWriter } from "./SingleWriter.ts"
import { strangersKept } from "./StrangersKept.ts"
import { surplus } from "./Surplus.ts"
import { unanswered } from "./Unanswered.ts"
import { unharmed } from "./Unharmed.ts"
import { unrest } from "./Unrest.ts"

/** What the server said: of what it quotes, not all. */
const brief = (text: string): string => text.length > 200 ? `${text.slice(0, 100)}...${text.slice(-80)}` : text

const describe = (entry: Entry): string =>
  entry._tag === "Call"
    ? `${line(entry.request)} (${entry.status}${entry.said === undefined ? "" : `: ${brief(entry.said)}`})`
    : entry._tag

/** When faults were met in the quiet time. */
const lastFaults = ({ entries, quietAt = Infinity }: Recording): ReadonlyArray<number> =>
  entries.flatMap((entry) => (entry._tag === "Fault" && entry.at >= quietAt ? [entry.at] : []))

/** The program does the same twice: it asks the simulated world, not the real one. */
const deterministic: Oracle = {
  name: "deterministic",
  judge: (run, { unlike }) => {
    const uses = run.entries.filter((entry) => entry._tag === "Chance")
    const places = [...new Set(uses.map(({ what, where }) => `${what} at ${where}`))]
    if (places.length > 0) {
      return `the program uses something that differs between runs: ${
        places.slice(0, 3).join("; ")
      }: use Clock, Random, ` +
        "or a service that the scenario provides"
    }
    return unlike
  }
}

/** The scenario does not fail itself: that is not for the operator to mend. */
export const sound: Oracle = {
  name: "valid scenario",
  judge: (run, { recording }) => {
    if (run.failure?._tag === "Unsound") return run.failure.message
    const step = run === recording
      ? run.entries.find((entry) => entry._tag === "Step" && entry.failed !== undefined)
      : undefined
    return step?._tag === "Step"
      ? `step ${JSON.stringify(step.name)} fails without any fault: ${step.failed}. If that is ` +
        "intended, let its act succeed then (Effect.flip, Effect.ignore)"
      : undefined
  }
}

/** The run came to its rest: no loop, no end of patience. */
const rests: Oracle = {
  name: "comes to rest",
  judge: (run) => {
    if (run.failure?._tag !== "Restless") return undefined
    const { message } = run.failure
    const last = calls(run).findLast(({ request }) => !isElection(request))
    const what = unrest(run)
    const told = what === undefined ? message : `${message}: ${what}`
    return last === undefined ? told : `${told}: its last request was ${describe(last)}`
  }
}

/** No part of the operator fails for good. */
const survives: Oracle = {
  name: "keeps running",
  judge: (run) => {
    const exit = run.entries.find((entry) => entry._tag === "Exit")
    return exit === undefined ? undefined : `the process exited by itself: ${exit.why}`
  }
}

/** The kind of an object that was told of as "Kind namespace/name". */
const kindIn = (told: string | undefined): string | undefined => told?.split(" ")[0]

/**
 * What the operator makes when its process starts, it makes again when somebody removes it: it watches what it makes.
 * What it does not make anew then, either, it does not want any more (a history, a Job that is done), unless it is of a
 * kind that nobody makes for a moment.
 */
const noticed: Oracle = {
  name: "removed objects are recreated",
  judge: ({ abandoned, entries, unnoticed }) =>
    unnoticed.length > 0
      ? `somebody removes ${unnoticed[0]}, and it is created again only after a restart of the process: ${
        entries.some((entry) => entry._tag === "Event" && entry.object.kind === kindIn(unnoticed[0]))
          ? "a predicate hides the deletion, the watch triggers no reconcile, or the reconcile does not look at what exists"
          : `the operator does not watch ${kindIn(unnoticed[0])} at all (\`owns\`, \`watches\`)`
      }`
      : standing.has(kindIn(abandoned))
      ? `somebody removes ${abandoned}, and it is never created again, not even after a restart of the process`
      : undefined
}

/** What somebody has removed for good, in words. */
const notMadeAgain = (abandoned: string | undefined): string =>
  abandoned === undefined
    ? ""
    : `; somebody has removed ${abandoned}, and it is never created again, not even after a restart of the process`

/** The desired state, in the scenario's own words, is reached and kept. */
export const desired: Oracle = {
  name: "desired state",
  judge: (run, reference) => {
    const excused = run.hurried.length === 0 ? [] : reference.recording.missed
    const missed = run.missed.find((step) => !excused.includes(step))
    const over = met(run, "orphaned") || hasFailed(run) || fixed.has(kindIn(run.abandoned))
    return missed === undefined || over
      ? undefined
      : `the desired state is not reached, or not kept, after ${JSON.stringify(missed)}${
        Rests.statusesAfter(run, missed)
      }${notMadeAgain(run.abandoned)}${because(run)}`
  }
}

/** What chance has decided once, and two places hold, is the same in both. */
const tied: Oracle = {
  name: "random values agree",
  judge: (run, { mask, tied }) => {
    if (tied.length === 0 || taken(run)) return undefined
    const drawn = Drawn.drawn(run, mask)
    const torn = tied.find(([a, b]) => drawn.has(a) && drawn.has(b) && drawn.get(a) !== drawn.get(b))
    return torn === undefined ? undefined : `${torn[0]} and ${torn[1]} are equal without faults, but differ here`
  }
}

/** For how long, in milliseconds, what is written may come of an event. */
const answering = 1_000

/**
 * Whether somebody writes what is there already as something has happened just before, such as that a CronJob has come to its
 * time: nothing comes of it, and he does not do so by himself.
 */
const isAnswer = ({ entries }: Recording, call: Entry): boolean =>
  call._tag === "Call" && call.before === call.after &&
  entries.some((entry) => entry._tag === "Event" && entry.at <= call.at && entry.at >= call.at - answering)

/** Nothing is written any more once everything is as it should be. */
const quiet: Oracle = {
  name: "quiet once stable",
  judge: (run) => {
    // What goes wrong in the quiet time itself, such as at the renewal of a lease, has another take over, who looks at all.
    const since = Math.max(...lastFaults(run)) + aftermath
    // Who does not take what is nobody's for its own is refused, again and again, and says so.
    const isRefused = (entry: Entry) =>
      taken(run) && entry._tag === "Call" && (entry.status === 409 || entry.status === 422)
    const left = run.restless.filter((entry) =>
      entry.at > since && !isRefused(entry) && !isAnswer(run, entry) && !isDue(run, entry)
    )
    return left.length === 0 ? undefined : `${left.length} writes in a quiet time, the first: ${describe(left[0]!)}`
  }
}

/** Finalizers of the cluster's own controllers: what was taken from its owner may be in use for ever. */
const isClusters = (finalizer: string): boolean => finalizer.startsWith("kubernetes.io/")

/** Whether an object that is being deleted waits for something that is nobody's any more, such as a claim for its Pod. */
const isInUse = (run: Recording, object: KubeObject): boolean =>
  taken(run) && isTerminating(object) && (object.metadata.finalizers ?? []).every(isClusters)

/**
 * Whether somebody took from an object, when it was being deleted, what was made to that end, or what was its own and is
 * gone since: nobody tells of it any more.
 */
const isBereft = (run: Recording, { metadata: { deletionTimestamp = "", uid } }: KubeObject): boolean =>
  run.entries.some((entry) =>
    entry._tag === "Fault" && entry.point.fault === "orphaned" &&
    calls(run).some(({ n, object }) => {
      if (n !== entry.point.at || object === undefined) return false
      const { creationTimestamp, ownerReferences = [], uid: its } = object.metadata
      const isGone = !run.objects.some(({ metadata }) => metadata.uid === its)
      return (isGone && ownerReferences.some((owner) => owner.uid === uid)) ||
        Date.parse(creationTimestamp) >= Date.parse(deletionTimestamp)
    })
  )

/** What is owned by an object that is gone is gone, too. */
const noOrphans: Oracle = {
  name: "no orphans",
  judge: (run) => {
    const uids = new Set(run.objects.map(({ metadata }) => metadata.uid))
    const orphan = run.objects.find((object) => {
      const { ownerReferences = [] } = object.metadata
      if (isTerminating(object) && (isInUse(run, object) || isBereft(run, object))) return false
      return ownerReferences.length > 0 && ownerReferences.every(({ uid }) => !uids.has(uid))
    })
    return orphan === undefined ? disowned(run) : `${name(orphan)} outlives its owner`
  }
}

/** The request of the operator that an object is to go by, if it is one. */
const deletedBy = (run: Recording, { metadata: { uid } }: KubeObject): string => {
  for (const { after, before, call } of writes(run)) {
    if (after.metadata.uid !== uid || !isTerminating(after) || (before !== undefined && isTerminating(before))) continue
    return `; the operator requested the deletion: ${line(call.request)}`
  }
  return ""
}

/**
 * Whether people hold an object themselves, that they have asked to go: they have made it with all of its finalizers. Or a
 * namespace in which there is such a one.
 */
const isHeldByPeople = (run: Recording, object: KubeObject): boolean => {
  if (run.kinds.includes(object.kind) || deletedBy(run, object) !== "") return false
  const { finalizers = [], name, uid } = object.metadata
  if (object.kind === "Namespace") {
    return run.objects.some((inner) =>
      inner.metadata.namespace === name && isTerminating(inner) && isHeldByPeople(run, inner)
    )
  }
  const made = madeByPeople(run.entries).includes(uid)
    ? seen(run).find(({ metadata }) => metadata.uid === uid)?.metadata.finalizers
    : undefined
  return finalizers.length > 0 && finalizers.every((finalizer) => made?.includes(finalizer) === true)
}

/** Nothing waits for a finalizer that nobody removes. */
const finalizers: Oracle = {
  name: "finalizers released",
  judge: (run) => {
    if (hasFailed(run)) return undefined
    const stuck = run.objects.find((object) =>
      isTerminating(object) && !isInUse(run, object) && !isBereft(run, object) && !isHeldByPeople(run, object)
    )
    if (stuck === undefined) return undefined
    const held = (stuck.metadata.finalizers ?? []).join(", ")
    return `${name(stuck)} is still being deleted, held by ${held}${deletedBy(run, stuck)}${because(run)}`
  }
}

const observedOf = (object: KubeObject): number | undefined => {
  const observed = (object as { readonly status?: { readonly observedGeneration?: unknown } }).status
    ?.observedGeneration
  return typeof observed === "number" ? observed : undefined
}

/** The latest generation that one of the conditions speaks of, if they say. */
const latestOf = (object: KubeObject): number | undefined => {
  const all = conditionsOf(object).flatMap(({ observedGeneration }) => observedGeneration ?? [])
  return all.length === 0 ? undefined : Math.max(...all)
}

/** A status speaks of a generation there was, never of an earlier one than before, and in the end of the last. */
const observedGeneration: Oracle = {
  name: "observed generation",
  judge: (run) => {
    const last = new Map<string, number>()
    const excused = blindings(run) > 0
    for (const { change: { object } } of moments(run)) {
      const observed = observedOf(object)
      if (observed === undefined) continue
      const { generation = 0, uid } = object.metadata
      if (observed > generation) {
        return `${name(object)}: status.observedGeneration is ${observed}, ahead of metadata.generation ${generation}`
      }
      if (observed < (last.get(uid) ?? 0) && !excused) {
        return `${name(object)}: status.observedGeneration goes back from ${last.get(uid)} to ${observed}`
      }
      last.set(uid, observed)
    }
    const between = run.met > 0 ? [] : run.rests.map((rest) => rest?.objects ?? [])
    for (const [index, objects] of [...between, run.objects].entries()) {
      for (const object of objects) {
        const observed = observedOf(object) ?? (run.kinds.includes(object.kind) ? latestOf(object) : undefined)
        const { generation } = object.metadata
        if (observed === undefined || generation === undefined || observed === generation || isPaused(object)) continue
        const when = index < between.length ? ` at rest after step ${index + 1}` : ""
        return `${name(object)}: status.observedGeneration is ${observed}, metadata.generation ${generation}${when}`
      }
    }
    return undefined
  }
}

/** Whether nobody lived that it says it belongs to, or only who was made so himself: the garbage collector will take it. */
const inVain = (run: Recording): (call: Call) => boolean => {
  const gone = new Map<string, number>()
  const vain = new Set<string>()
  const isVain = ({ ownerReferences = [] }: KubeObject["metadata"], at: number) =>
    ownerReferences.some(({ uid }) => (gone.get(uid) ?? Infinity) < at || vain.has(uid))
  for (const entry of run.entries) {
    if (entry._tag !== "Change") continue
    const { object: { metadata }, revision, type } = entry.change
    if (type === "DELETED") gone.set(metadata.uid, revision)
    if (type === "ADDED" && isVain(metadata, revision)) vain.add(metadata.uid)
  }
  return ({ after, object }) => object !== undefined && isVain(object.metadata, after)
}

/**
 * No object is created and deleted more often than the faults explain. Who is shown a cluster from before a step works
 * towards that, and then back.
 */
const createsAndDeletes: Oracle = {
  name: "creates and deletes",
  judge: (run, reference) => {
    // What somebody removes is made again, with all that was below it.
    const again = blindings(run) +
      run.entries.filter((entry) => entry._tag === "Fault" && entry.point.fault === "removed").length
    const count = (recording: Recording, method: string) => {
      const vain = inVain(recording)
      const blind = blinded(recording)
      // To delete what is being deleted changes nothing; and whoever sees what is not there any more repeats itself.
      return calls(recording).filter((call) =>
        !blind.some((since) => call.at >= since && call.at <= since + blindFor) && accepted(call) &&
        call.before !== call.after && call.request.method === method && !isEvent(call.request.path) &&
        !vain(call)
      ).length
    }
    for (const [method, what] of [["POST", "created"], ["DELETE", "deleted"]] as const) {
      const [found, expected] = [count(run, method), count(reference.recording, method)]
      if (found > expected * (1 + again) + 6 + 2 * run.met) {
        return `${found} objects ${what}; without faults, ${expected}`
      }
    }
    return undefined
  }
}

/** Retries are bounded; who sees for half a minute what is not there any more tries in vain for so long. */
const boundedRetries: Oracle = {
  name: "bounded retries",
  judge: (run, reference) => {
    // Who waits for what somebody has taken to come back looks for it every few seconds, or asks for it, and is refused.
    const waits = taken(run)
    const isFree = ({ request: { method }, status }: Call) => method === "GET" || status === 409 || status === 422
    const requests = (recording: Recording) =>
      calls(recording).filter((call) => !isElection(call.request) && !(waits && isFree(call))).length
    const outside = (recording: Recording) => recording.entries.filter(({ _tag }) => _tag === "External").length
    const blind = blindings(run)
    for (const [what, count] of [["requests", requests], ["outside calls", outside]] as const) {
      const [found, expected] = [count(run), count(reference.recording)]
      if (found > 3 * expected + 40 + 40 * run.met + 300 * blind) return `${found} ${what}; without faults, ${expected}`
    }
    return undefined
  }
}

/** Long after the last fault no reconcile fails any more. */
const succeeds: Oracle = {
  name: "reconciles succeed",
  judge: (run) => {
    const failure = taken(run) ? undefined : stillFails(run)
    return failure === undefined ? undefined : `reconciles still fail when all is at rest: ${failure}`
  }
}

/** Where nothing goes wrong, nothing is logged as an error. */
const noErrors: Oracle = {
  name: "no errors when healthy",
  judge: (run) => {
    if (run.met > 0) return undefined
    const error = run.entries.find((entry) => entry._tag === "Log" && entry.level !== "Warn")
    return error?._tag === "Log" ? `logged without any fault: ${error.text.split("\n")[0]}` : undefined
  }
}

/** All of them, the most telling first. */
export const all: ReadonlyArray<Oracle> = [
  deterministic,
  sound,
  // What the garbage collector takes away at once is made again and again.
  ownersOwn,
  // Whoever ends again and again never rests.
  survives,
  rests,
  noticed,
  desired,
  // What is lost is told before what is seen of that.
  dataKept,
  finalizers,
  noOrphans,
  singleWriter,
  noted,
  strangersKept,
  sameEnd,
  departed,
  tied,
  renewed,
  forgotten,
  followed,
  nought,
  unharmed,
  alike,
  leftOutside,
  unanswered,
  quiet,
  observedGeneration,
  surplus,
  createsAndDeletes,
  noPingPong,
  boundedRetries,
  succeeds,
  noErrors,
  refused,
  ...available,
  ...course
]

/**
 * All of them, and a user's own: these come first, once it is certain that the run is one. They speak of what there is,
 * which is not the operator's doing where somebody else has removed it.
 */
export const among = (own: ReadonlyArray<Oracle>): ReadonlyArray<Oracle> => {
  const first = [deterministic, sound, ownersOwn, survives, rests]
  const owned = own.map(({ judge, name }): Oracle => ({
    name,
    judge: (run, reference) => met(run, "removed") ? undefined : judge(run, reference)
  }))
  return [...first, ...owned, ...all.filter((oracle) => !first.includes(oracle))]
}
