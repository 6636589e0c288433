/**
 * Turns the changes of a controller's kinds into keys in its queue.
 *
 * What existed from the start, and periodic resyncs, have the lower priority: a current change does not wait behind ten
 * thousand objects to which nothing happened.
 */
import type { Delta } from "../Delta.ts"
import type { Subscriber } from "../Informers.ts"
import { isTerminating, type KubeObject } from "../KubeObject.ts"
import type * as Resource from "../Resource.ts"
import * as Trigger from "../Trigger.ts"
import type * as Watch from "../Watch.ts"
import { priorities, type WorkQueue } from "../WorkQueue.ts"
import type { View } from "./reads.ts"

/** An object that is left out, and why. */
export interface Fault {
  readonly object: KubeObject
  readonly action: string
  readonly why: string
  /** What the user's own code threw. */
  readonly defect?: unknown
}

/** Turns the deltas of one watch into keys, and reports what is wrong with an object. */
export const subscriber = (
  owner: Resource.Any,
  watch: Watch.Watch,
  queue: Pick<WorkQueue, "add">,
  report: (fault: Fault) => void,
  cache: View<string>,
  triggered: (key: string, resource: Resource.Any, delta: Delta) => void = () => {}
): Subscriber =>
(deltas, initial) => {
  const priority = initial ? priorities.background : priorities.normal
  for (const delta of deltas) {
    trigger(owner, watch, delta, cache, report, (key, reason) => {
      triggered(key, watch.resource, delta)
      queue.add(key, reason, priority)
    })
  }
}

/**
 * Adds the keys that a delta concerns. If a predicate or map function throws on an object, that is the object's fault.
 */
const trigger = (
  owner: Resource.Any,
  watch: Watch.Watch,
  delta: Delta,
  cache: View<string>,
  report: (fault: Fault) => void,
  add: (key: string, reason: Trigger.Reason) => void
): void => {
  if (delta._tag === "Invalid") {
    const why = `is invalid and ignored: ${delta.issues.join("; ")}`
    const waits = isTerminating(delta.raw)
      ? "; it is being deleted, and is not cleaned up until it is corrected or its finalizers are removed by hand"
      : ""
    return report({ object: delta.raw, action: "Decode", why: `${why}${waits}` })
  }
  const { object } = delta
  const fault = (why: string, defect?: unknown) => report({ object, action: "Trigger", why, defect })
  let misplaced: string | undefined
  Trigger.keys(
    watch,
    [delta],
    (key, reason) => {
      if (fits(owner, key)) add(key, reason)
      else misplaced = key
    },
    cache,
    (what, about, defect) => {
      if (what === "predicate") fault(`is treated as changed: predicate failed: ${String(defect)}`, defect)
      else fault(`triggers nothing${about === object ? "" : " (old state)"}: map failed: ${String(defect)}`, defect)
    }
  )
  if (misplaced !== undefined) fault(`is mapped to ${misplaced}, but ${owner.kind} is ${scopeHint(owner)}`)
}

/** Whether a key can be one of the kind: with or without a namespace. */
export const fits = (owner: Resource.Any, key: string): boolean => key.includes("/") === (owner.scope === "Namespaced")

export const scopeHint = (owner: Resource.Any): string =>
  owner.scope === "Namespaced" ? "namespaced: give a namespace" : "cluster-scoped: give no namespace"
