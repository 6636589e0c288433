/**
 * `Recorder`: records core/v1 Events of a simulated component, as client-go's recorder does.
 *
 * Repeating an event about the same object increases the count of the first one. From the tenth on, events with the
 * same reason that differ only in their message are aggregated into one "(combined from similar events)". Per object a
 * component can record 25 events at once and then one every five minutes; others are dropped. Recording never fails: an
 * event that the server refuses is lost.
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
  /** The number of messages per reason and object before they are aggregated. */
  similar: 10,
  /** The milliseconds without a similar event after which counting restarts. */
  similarWindow: 600_000,
  /** The number of events per object at once, and the milliseconds until another one is allowed. */
  burst: 25,
  refill: 300_000,
  /** The number of events, reasons and objects that are remembered, each. */
  remembered: 4096
} as const

/** The object of an event, or as much of it as is known. */
export type Subject = Pick<KubeObject, "apiVersion" | "kind"> & {
  readonly metadata: Partial<KubeObject["metadata"]> & { readonly name: string }
  /** The part of the object. */
  readonly fieldPath?: string
}

export interface Recorder {
  readonly normal: (subject: Subject, reason: string, message: string) => Effect.Effect<void>
  readonly warning: (subject: Subject, reason: string, message: string) => Effect.Effect<void>
}

/** A recorded Event, as far as it is needed to increase its count. */
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

/** A recorder of a component; `host` is its node. */
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

  /** The key under which an event is counted, and whether it is aggregated. */
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
      // A real recorder uses the nanoseconds of the clock; this is unique.
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
