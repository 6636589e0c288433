/**
 * `ReadThrough`: objects of kinds that are read rarely, from the server, remembered for a time.
 *
 * A Secret that a handful of objects name is not worth a watch of every Secret. `Cache.live` asks the server for it and
 * remembers the answer, also that there is none, for `timeToLive` and for at most a thousand objects; readers that ask at
 * once share one request. Own writes are seen at once: a write ends what was remembered of its object. Somebody else's change is seen when the time is over, and wakes nobody: for that, watch the kind.
 *
 * What is remembered is the controller's own. Outside a controller nothing is.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Write } from "./Client.ts"
import { freeze } from "./internal/freeze.ts"
import * as Moment from "./internal/Moment.ts"
import { KubeClient } from "./KubeClient.ts"
import type { KubeError } from "./KubeError.ts"
import { key as keyOf, keyString, type KubeObject, type ObjectRef } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** Figures that hold unless options say otherwise. */
export const readThroughDefaults = {
  timeToLive: "1 minute",
  /** Objects remembered; of more, those asked for longest ago are forgotten. */
  capacity: 1_000
} as const

/** What the server answered, when it was asked. */
interface Known {
  readonly at: Moment.Moment
  readonly object: KubeObject | undefined
}

/** What is remembered of live reads. */
export interface ReadThrough {
  /** The object as remembered, or as `fetch` answers. */
  readonly get: <E, R>(
    resource: Resource.Any,
    ref: ObjectRef,
    timeToLive: Duration.Input,
    fetch: Effect.Effect<KubeObject | undefined, E, R>
  ) => Effect.Effect<KubeObject | undefined, E, R>
  /** Takes notice of an own write. */
  readonly wrote: (write: Write) => void
  /** How many objects are remembered. */
  readonly size: () => number
}

/** What the part of the program that reads remembers; nothing unless somebody provides it. */
export const Remembered = Context.Reference<ReadThrough | undefined>("@effect-operator/core/ReadThrough/Remembered", {
  defaultValue: () => undefined
})

/** The object as it is on the server, or was at most `timeToLive` ago; undefined if there is none. */
export const live = <A extends KubeObject>(
  resource: Resource.Resource<A>,
  ref: ObjectRef,
  options: { readonly timeToLive?: Duration.Input | undefined } = {}
): Effect.Effect<A | undefined, KubeError, KubeClient> => {
  const fetch = KubeClient.use((client): Effect.Effect<KubeObject | undefined, KubeError> =>
    Effect.map(client.get(resource, keyOf(ref)), freeze).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
    )
  )
  return Effect.flatMap(Remembered, (remembered) =>
    remembered === undefined
      ? fetch
      : remembered.get(resource, ref, options.timeToLive ?? readThroughDefaults.timeToLive, fetch)) as Effect.Effect<
      A | undefined,
      KubeError,
      KubeClient
    >
}

export const makeReadThrough = (capacity: number = readThroughDefaults.capacity): ReadThrough => {
  /** The one asked for last at the end. */
  const known = new Map<string, Known>()
  /** Requests under way; whoever comes later waits, and asks itself if that one was interrupted. */
  const asked = new Map<string, Deferred.Deferred<Known | "interrupted", unknown>>()
  /** In which forms a kind is read. */
  const forms = new Map<string, Set<string>>()

  const remember = (id: string, entry: Known): void => {
    known.delete(id)
    known.set(id, entry)
    const [oldest] = known.keys()
    if (known.size > capacity && oldest !== undefined) known.delete(oldest)
  }

  const ask = (
    id: string,
    fetch: Effect.Effect<KubeObject | undefined, unknown, unknown>
  ): Effect.Effect<KubeObject | undefined, unknown, unknown> =>
    Effect.flatMap(Moment.now, (at) => {
      const done = Deferred.makeUnsafe<Known | "interrupted", unknown>()
      const finish = (exit: Exit.Exit<KubeObject | undefined, unknown>) => {
        // An own write ended this request's claim to be the newest: its answer is for those who waited, no more.
        const current = asked.get(id) === done
        if (current) asked.delete(id)
        if (!Exit.isSuccess(exit)) {
          return Exit.hasInterrupts(exit)
            ? Deferred.succeed(done, "interrupted" as const)
            : Deferred.failCause(done, exit.cause)
        }
        const entry: Known = { at, object: exit.value }
        if (current) remember(id, entry)
        return Deferred.succeed(done, entry)
      }
      // Nobody waits for a request before its end is watched: it may be interrupted before each step.
      const begun = Effect.suspend(() => {
        asked.set(id, done)
        return fetch
      })
      return Effect.onExit(begun, finish)
    })

  const get: ReadThrough["get"] = (resource, ref, timeToLive, fetch) => {
    const id = `${resource.id} ${keyString(ref)}`
    const kind = kindOf(resource)
    forms.set(kind, (forms.get(kind) ?? new Set<string>()).add(resource.id))
    const most = Duration.toMillis(Duration.fromInputUnsafe(timeToLive))
    const read: Effect.Effect<KubeObject | undefined, any, any> = Effect.flatMap(Moment.now, (now) => {
      const entry = known.get(id)
      if (entry !== undefined && Moment.between(entry.at, now) < most) {
        remember(id, entry)
        return Effect.succeed(entry.object)
      }
      const running = asked.get(id)
      return running === undefined
        ? ask(id, fetch)
        : Effect.flatMap(
          Deferred.await(running),
          (answer) => answer === "interrupted" ? read : Effect.succeed(answer.object)
        )
    })
    return read
  }

  return {
    get,
    size: () => known.size,
    wrote: (write) => {
      const key = keyString(write._tag === "Written" ? write.object : write.key)
      for (const form of forms.get(kindOf(write.resource)) ?? []) {
        known.delete(`${form} ${key}`)
        asked.delete(`${form} ${key}`)
      }
    }
  }
}

const kindOf = (resource: Resource.Any): string => `${Resource.qualifiedName(resource)}@${resource.cluster ?? ""}`
