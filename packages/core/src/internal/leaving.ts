/**
 * Objects that leave what a controller selects, for example because a label is removed, with its finalizer on them.
 * They are neither reconciled nor cleaned up any more: once deleted, they and their namespace would wait forever,
 * without any explanation. So each one is reported, in the log and in an event about the object. Whether to clean them
 * up is not decided here: another operator may select them now.
 *
 * A watch shows the same for an object that was deleted while the watch was down, or that does not decode any more. So
 * the server is asked.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type { Controller } from "../Controller.ts"
import type { Delta } from "../Delta.ts"
import type { EventSink } from "../EventRecorder.ts"
import * as Finalizer from "../Finalizer.ts"
import { matcher } from "../Informers.ts"
import { KubeClient } from "../KubeClient.ts"
import { keyString, type KubeObject } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"

export const defaults = {
  /** Pause between retries, and their number, if the server does not answer about an object. */
  pause: "10 seconds",
  tries: 12
} as const

export interface Leaving {
  /** Takes the objects that are not selected any more; returns at once. */
  readonly see: (deltas: ReadonlyArray<Delta>) => void
  /** Reports them. */
  readonly telling: Effect.Effect<never, never, KubeClient>
}

/** Undefined without a finalizer, or if there is no selection to leave. */
export const make = (
  { finalize, name, resource, watches: [own] }: Pick<Controller<any>, "finalize" | "name" | "resource" | "watches">,
  events: EventSink["Service"]
): Effect.Effect<Leaving | undefined> =>
  Effect.gen(function*() {
    if (finalize === undefined || (own?.labels === undefined && own?.fields === undefined)) return undefined
    const { finalizer } = finalize
    const isSelected = matcher({ labels: own.labels, fields: own.fields })
    const left = yield* Queue.unbounded<KubeObject>()
    // As plain JSON, whether it decodes or not.
    const plain = Resource.unstructured(resource)

    const tell = Effect.fnUntraced(function*(object: KubeObject) {
      const client = yield* KubeClient
      const found = yield* client.get(plain, object.metadata).pipe(
        Effect.retry({
          schedule: Schedule.spaced(defaults.pause),
          times: defaults.tries,
          while: ({ isRetryable }) => isRetryable
        }),
        Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
      )
      if (found === undefined || found.metadata.uid !== object.metadata.uid) return
      if (isSelected(found) || !Finalizer.has(found, finalizer)) return
      const note =
        `${resource.kind} ${keyString(object)} is no longer selected by labels or fields but still has the ` +
        `finalizer ${finalizer}: it is not cleaned up, and its deletion does not complete, until it is selected ` +
        "again or the finalizer is removed by hand"
      yield* Effect.logError(note)
      yield* events.recorder(name, found).warning({ reason: "LeftSelection", action: "Finalize", note })
    }, Effect.catch((error) => Effect.logWarning("an object has left the selection and could not be read", error)))

    return {
      see: (deltas) => {
        for (const delta of deltas) {
          if (delta._tag === "Deleted" && Finalizer.has(delta.object, finalizer)) Queue.offerUnsafe(left, delta.object)
        }
      },
      telling: Effect.forever(Effect.flatMap(Queue.take(left), tell))
    }
  })
