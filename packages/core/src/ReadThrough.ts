/**
 * `ReadThrough`: objects that are rarely read, read from the server and remembered for a while.
 *
 * A Secret that only a few objects name is not worth a watch of all Secrets. `Cache.live` reads it from the server and
 * remembers the result, including that there is none, for `timeToLive` and for at most a thousand objects. Concurrent
 * readers share one request. Own writes are visible at once: a write discards what was remembered of its object.
 * Changes by others become visible when the time is over, and wake nobody: for that, watch the kind.
 *
 * Each controller and each `Cache.layer` remembers for itself. Elsewhere nothing is remembered. A controller remembers
 * only while it leads, and forgets everything when it takes over objects from another replica.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Impersonated, type Write } from "./Client.ts"
import { freeze } from "./internal/freeze.ts"
import * as Moment from "./internal/Moment.ts"
import { KubeClient } from "./KubeClient.ts"
import type { KubeError } from "./KubeError.ts"
import { key as keyOf, keyString, type KubeObject, type ObjectRef } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** Default values. */
export const readThroughDefaults = {
  timeToLive: "1 minute",
  /** Maximum number of remembered objects; beyond it, the least recently used are forgotten. */
  capacity: 1_000
} as const

/** A response of the server, and when it was requested. */
interface Known {
  readonly at: Moment.Moment
  readonly object: KubeObject | undefined
}

/** Remembered results of live reads. */
export interface ReadThrough {
  /** The remembered object, or the result of `fetch`. */
  readonly get: <E, R>(
    resource: Resource.Any,
    ref: ObjectRef,
    timeToLive: Duration.Input,
    fetch: Effect.Effect<KubeObject | undefined, E, R>
  ) => Effect.Effect<KubeObject | undefined, E, R>
  /** Discards what an own write outdates. */
  readonly wrote: (write: Write) => void
  /** Discards everything, because others may have written. */
  readonly forget: () => void
  /** Number of remembered objects. */
  readonly size: () => number
}

/** What the reading part of the program remembers; undefined unless provided. */
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
  const memory = Effect.map(Effect.all([Remembered, Impersonated]), ([remembered, user]) =>
    // What one user may read is not for another.
    user === undefined ? remembered : undefined)
  return Effect.flatMap(memory, (remembered) =>
    remembered === undefined
      ? fetch
      : remembered.get(resource, ref, options.timeToLive ?? readThroughDefaults.timeToLive, fetch)) as Effect.Effect<
      A | undefined,
      KubeError,
      KubeClient
    >
}

export const makeReadThrough = (capacity: number = readThroughDefaults.capacity): ReadThrough => {
  /** The most recently used is last. */
  const known = new Map<string, Known>()
  /** Requests in flight. Later readers wait for them, and make their own request if the first was interrupted. */
  const asked = new Map<string, Deferred.Deferred<Known | "interrupted", unknown>>()
  /** The ids under which a kind is read: versions and projections of it. */
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
        // If an own write came in between, the result goes only to those who waited, and is not remembered.
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
      // Registered only once its exit is observed: otherwise an interruption in between would leave others waiting.
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
    forget: () => {
      known.clear()
      asked.clear()
    },
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
