/**
 * `Oracles`: all oracles that judge a run, and those that take only a few lines.
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
  cited,
  type Entry,
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
import { isDue, isReminder } from "./Due.ts"
import { departed } from "./Departed.ts"
import { fixed, followed, forgotten, standing } from "./Forgotten.ts"
import { dataKept } from "./Kept.ts"
import { leftOutside } from "./LeftOutside.ts"
import { namesakes } from "./Namesakes.ts"
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
import { undefinedValues } from "./Undefined.ts"
import { unharmed } from "./Unharmed.ts"
import { unrest } from "./Unrest.ts"

/** The server's message, with long quotations shortened. */
const brief = (text: string): string => text.length > 200 ? `${text.slice(0, 100)}...${text.slice(-80)}` : text

const describe = (entry: Entry): string =>
  entry._tag === "Call"
    ? `${cited(entry)} (${entry.status}${entry.said === undefined ? "" : `: ${brief(entry.said)}`})`
    : entry._tag

/** The times of faults in the quiet period. */
const lastFaults = ({ entries, quietAt = Infinity }: Recording): ReadonlyArray<number> =>
  entries.flatMap((entry) => (entry._tag === "Fault" && entry.at >= quietAt ? [entry.at] : []))

/** The program does the same twice: it uses the simulated world, not the real one. */
export const deterministic: Oracle = {
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

/** The scenario itself does not fail: the operator could not fix that. */
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

/** The run came to rest: no loop, and within the time limit. */
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

/** The kind of an object that is written as "Kind namespace/name". */
const kindIn = (told: string | undefined): string | undefined => told?.split(" ")[0]

/**
 * What the operator creates when its process starts, it creates again when somebody removes it: it watches what it
 * creates. What it does not create again even at a start, it no longer wants (a history, a finished Job), unless
 * objects of that kind are always meant to stay.
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

/** A random value that two places share is the same in both. */
const tied: Oracle = {
  name: "random values agree",
  judge: (run, { mask, tied }) => {
    if (tied.length === 0 || taken(run)) return undefined
    const drawn = Drawn.drawn(run, mask)
    const torn = tied.find(([a, b]) => drawn.has(a) && drawn.has(b) && drawn.get(a) !== drawn.get(b))
    return torn === undefined ? undefined : `${torn[0]} and ${torn[1]} are equal without faults, but differ here`
  }
}

/** How long, in milliseconds, after an event a write may be a response to it. */
const answering = 1_000

/**
 * Whether a write that changes nothing is a response to something that has just happened, such as a CronJob that became
 * due: it has no effect, and does not come by itself.
 */
const isAnswer = ({ entries }: Recording, call: Entry): boolean =>
  call._tag === "Call" && call.before === call.after &&
  entries.some((entry) => entry._tag === "Event" && entry.at <= call.at && entry.at >= call.at - answering)

/** Nothing is written once everything is as it should be. What is not may be warned of again. */
const quiet: Oracle = {
  name: "quiet once stable",
  judge: (run) => {
    // A fault in the quiet period itself, such as at the renewal of a lease, makes another replica take over, which
    // reconciles everything.
    const since = Math.max(...lastFaults(run)) + aftermath
    // An operator that does not adopt what belongs to nobody is refused again and again, and says so.
    const isRefused = (entry: Entry) =>
      taken(run) && entry._tag === "Call" && (entry.status === 409 || entry.status === 422)
    const left = run.restless.filter((entry) =>
      entry.at > since && !isRefused(entry) && !isAnswer(run, entry) && !isDue(run, entry) &&
      !isReminder(run, entry)
    )
    const [first] = left
    if (first === undefined) return undefined
    const isSame = first._tag === "Call" && first.status === 200 && first.before === first.after
    const hint = isSame
      ? ", which changes nothing: write only what differs (`ServerSideApply.apply` and `Sync` do)"
      : ""
    return `${left.length} writes in a quiet time, the first: ${describe(first)}${hint}`
  }
}

/** Finalizers of the cluster's own controllers: what was taken from its owner may be in use forever. */
const isClusters = (finalizer: string): boolean => finalizer.startsWith("kubernetes.io/")

/** Whether a terminating object waits for something that belongs to nobody any more, such as a claim for its Pod. */
const isInUse = (run: Recording, object: KubeObject): boolean =>
  taken(run) && isTerminating(object) && (object.metadata.finalizers ?? []).every(isClusters)

/**
 * Whether somebody took from an object, while it was being deleted, what was created for its clean-up, or what belonged
 * to it and is gone since: nothing reports that any more.
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

/** What is owned by an object that is gone is gone too. */
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

/** The request by which the operator deleted an object, if it did. */
const deletedBy = (run: Recording, { metadata: { uid } }: KubeObject): string => {
  for (const { after, before, call } of writes(run)) {
    if (after.metadata.uid !== uid || !isTerminating(after) || (before !== undefined && isTerminating(before))) continue
    return `; the operator requested the deletion: ${cited(call)}`
  }
  return ""
}

/**
 * Whether people themselves hold an object that they have deleted: they created it with all of its finalizers. Or a
 * namespace that contains one.
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

/** Whether a value contains a text as a whole. */
const names = (value: unknown, texts: ReadonlySet<unknown>): boolean =>
  texts.has(value) ||
  (typeof value === "object" && value !== null && Object.values(value).some((item) => names(item, texts)))

/**
 * Whether a custom resource still uses an object that people have made and deleted: its spec names it. An operator that
 * protects what is in use, as the cluster protects a claim that a Pod mounts, waits until people no longer ask for it.
 */
const isNeeded = (run: Recording, object: KubeObject): boolean => {
  const { name, namespace, uid } = object.metadata
  if (!madeByPeople(run.entries).includes(uid) || deletedBy(run, object) !== "") return false
  const near = new Set<unknown>(namespace === undefined ? [name] : [name, `${namespace}/${name}`])
  const far = new Set<unknown>([`${namespace}/${name}`])
  return run.objects.some((other) => {
    if (!run.kinds.includes(other.kind) || isTerminating(other) || other.metadata.uid === uid) return false
    const reaches = namespace === undefined || other.metadata.namespace === namespace
    return names((other as { readonly spec?: unknown }).spec, reaches ? near : far)
  })
}

/** Nothing waits for a finalizer that nobody removes. */
const finalizers: Oracle = {
  name: "finalizers released",
  judge: (run) => {
    if (hasFailed(run)) return undefined
    const stuck = run.objects.find((object) =>
      isTerminating(object) && !isInUse(run, object) && !isBereft(run, object) &&
      !isHeldByPeople(run, object) && !isNeeded(run, object)
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

/** The latest generation that one of the conditions names, if any does. */
const latestOf = (object: KubeObject): number | undefined => {
  const all = conditionsOf(object).flatMap(({ observedGeneration }) => observedGeneration ?? [])
  return all.length === 0 ? undefined : Math.max(...all)
}

/** A status names a generation that existed, never an earlier one than before, and the last one at the end. */
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

/**
 * Whether none of the owners that the created object names is alive, or only one that was created in vain itself: the
 * garbage collector will delete it.
 */
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
 * No object is created and deleted more often than the faults explain. An operator that is shown a cluster from before
 * a step works towards that, and then back.
 */
const createsAndDeletes: Oracle = {
  name: "creates and deletes",
  judge: (run, reference) => {
    // What somebody removes is created again, with everything below it.
    const again = blindings(run) +
      run.entries.filter((entry) => entry._tag === "Fault" && entry.point.fault === "removed").length
    const count = (recording: Recording, method: string) => {
      const vain = inVain(recording)
      const blind = blinded(recording)
      // Deleting what is being deleted changes nothing; and an operator that sees an old state repeats itself.
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

/** Retries are bounded. An operator that sees an old state for half a minute tries in vain for as long. */
const boundedRetries: Oracle = {
  name: "bounded retries",
  judge: (run, reference) => {
    // An operator that waits for what somebody has taken to come back polls it every few seconds, or requests it and is
    // refused.
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

/** Long after the last fault, no reconcile fails any more. */
const succeeds: Oracle = {
  name: "reconciles succeed",
  judge: (run) => {
    const failure = taken(run) ? undefined : stillFails(run)
    return failure === undefined ? undefined : `reconciles still fail when all is at rest: ${failure}`
  }
}

/** If nothing goes wrong, nothing is logged as an error. */
const noErrors: Oracle = {
  name: "no errors when healthy",
  judge: (run) => {
    if (run.met > 0) return undefined
    const error = run.entries.find((entry) => entry._tag === "Log" && entry.level !== "Warn")
    return error?._tag === "Log" ? `logged without any fault: ${error.text.split("\n")[0]}` : undefined
  }
}

/** All oracles, the most telling first. */
export const all: ReadonlyArray<Oracle> = [
  deterministic,
  sound,
  // What the garbage collector deletes at once is created again and again.
  ownersOwn,
  // A process that ends again and again never rests.
  survives,
  rests,
  noticed,
  desired,
  // A loss is reported before its consequences.
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
  undefinedValues,
  unharmed,
  alike,
  leftOutside,
  unanswered,
  quiet,
  observedGeneration,
  surplus,
  namesakes,
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
 * All oracles, with a user's own. Those come first, as soon as it is certain that the run is a valid one. They judge
 * what exists, which is not the operator's doing if somebody else has removed it.
 */
export const among = (own: ReadonlyArray<Oracle>): ReadonlyArray<Oracle> => {
  const first = [deterministic, sound, ownersOwn, survives, rests]
  const owned = own.map(({ judge, name }): Oracle => ({
    name,
    judge: (run, reference) => met(run, "removed") ? undefined : judge(run, reference)
  }))
  return [...first, ...owned, ...all.filter((oracle) => !first.includes(oracle))]
}
