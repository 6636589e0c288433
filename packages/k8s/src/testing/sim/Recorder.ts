/**
 * `Recorder`: core/v1 Events in the name of a simulated component, as client-go's recorder writes them.
 *
 * The same event about the same object again raises the count of the first one. From the tenth on, events of one
 * reason that differ in their message only become one "(combined from similar events)". About one object a component
 * writes 25 events at once and then one every five minutes; the rest is dropped. Recording never fails: an event that
 * the server does not take is lost.
 *
 * Source: k8s.io/client-go/tools/record/{event,events_cache}.go.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Event } from "../../kinds/core.v1.ts"
import { timestamp } from "../server/Exchange.ts"

export const defaults = {
  /** Messages of one reason about one object before they are combined. */
  similar: 10,
  /** Milliseconds without a similar event after which counting starts anew. */
  similarWindow: 600_000,
  /** Events about one object at once, and milliseconds until one more may be written. */
  burst: 25,
  refill: 300_000,
  /** Events, reasons and objects remembered, each. */
  remembered: 4096
} as const

/** What an event is about: the object, or as much of it as is known. */
export type Subject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: Partial<KubeObject["metadata"]> & { readonly name: string }
  /** Which part of it. */
  readonly fieldPath?: string
}

export interface Recorder {
  readonly normal: (subject: Subject, reason: string, message: string) => Effect.Effect<void>
  readonly warning: (subject: Subject, reason: string, message: string) => Effect.Effect<void>
}

/** An Event that was written, as far as it takes to raise its count. */
interface Seen {
  readonly name: string
  readonly count: number
  readonly first: string
}

interface Similar {
  readonly messages: Set<string>
  last: number
}

interface Bucket {
  tokens: number
  at: number
}

/** A recorder for a component; `host` is the node it runs on. */
export const make = Effect.fnUntraced(function*(
  component: string,
  host?: string
): Effect.fn.Return<Recorder, never, KubeClient> {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const seen = new Map<string, Seen>()
  const similar = new Map<string, Similar>()
  const buckets = new Map<string, Bucket>()
  let written = 0

  /** The key an event is counted under, and whether it is combined with others like it. */
  const correlate = (base: string, message: string, now: number): { key: string; combined: boolean } => {
    let record = similar.get(base)
    if (record === undefined || now - record.last > defaults.similarWindow) {
      record = { messages: new Set(), last: now }
      remember(similar, base, record)
    }
    record.messages.add(message)
    record.last = now
    if (record.messages.size < defaults.similar) return { key: `${base}/${message}`, combined: false }
    record.messages.delete(record.messages.values().next().value!)
    return { key: base, combined: true }
  }

  const allowed = (subject: string, now: number): boolean => {
    const bucket = buckets.get(subject) ?? { tokens: defaults.burst, at: now }
    const tokens = Math.min(defaults.burst, bucket.tokens + (now - bucket.at) / defaults.refill)
    remember(buckets, subject, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now })
    return tokens >= 1
  }

  const source = { component, ...(host === undefined ? {} : { host }) }

  const record = (type: string) => (subject: Subject, reason: string, message: string) =>
    Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const time = timestamp(now)
      const { name, namespace = "default", resourceVersion, uid } = subject.metadata
      const { fieldPath } = subject
      const about = [subject.kind, namespace, name, uid, subject.apiVersion].join("/")
      const { combined, key } = correlate([about, fieldPath, type, reason].join("/"), message, now)
      const text = combined ? `(combined from similar events): ${message}` : message
      const before = seen.get(key)
      // Nanoseconds of the clock in a real one; unique here.
      const serial = (BigInt(now) * 1_000_000n + BigInt(written++)).toString(16)
      const next: Seen = before === undefined
        ? { name: `${name}.${serial}`, count: 1, first: time }
        : { ...before, count: before.count + 1 }
      remember(seen, key, next)
      if (!allowed(about, now)) return Effect.void

      const create = client.create(Event, {
        metadata: { name: next.name, namespace },
        involvedObject: {
          kind: subject.kind,
          ...(subject.metadata.namespace === undefined ? {} : { namespace }),
          name,
          ...(uid === undefined ? {} : { uid }),
          apiVersion: subject.apiVersion,
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          ...(fieldPath === undefined ? {} : { fieldPath })
        },
        reason,
        message: text,
        source,
        firstTimestamp: next.first,
        lastTimestamp: time,
        count: next.count,
        type,
        reportingComponent: component,
        reportingInstance: host ?? ""
      })
      const write: Effect.Effect<unknown, unknown> = before === undefined ? create : client.patch(
        Event,
        { namespace, name: next.name },
        Patch.strategic({ count: next.count, lastTimestamp: time, message: text })
      ).pipe(Effect.catchReason("KubeError", "NotFound", () => create))
      return Effect.ignore(write)
    })

  return { normal: record("Normal"), warning: record("Warning") }
})

const remember = <A>(map: Map<string, A>, key: string, value: A): void => {
  map.delete(key)
  map.set(key, value)
  if (map.size > defaults.remembered) map.delete(map.keys().next().value!)
}
