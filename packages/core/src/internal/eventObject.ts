/**
 * The form of an Event of events.k8s.io/v1, and its limits.
 *
 * The API counts bytes of UTF-8 (which its messages call characters), requires exactly six fractional digits of a
 * second, and puts events about cluster-scoped objects into `default`. Source: kube-apiserver's ValidateEventCreate.
 */
import type { KubeObject, NamespacedObjectMeta } from "../KubeObject.ts"
import * as Resource from "../Resource.ts"

/** Limits of the API in bytes. */
export const limits = { note: 1024, reason: 128 } as const

export interface Event extends KubeObject {
  readonly apiVersion: "events.k8s.io/v1"
  readonly kind: "Event"
  readonly metadata: NamespacedObjectMeta
  readonly [field: string]: unknown
}

export const Event = Resource.make<Event>()({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  scope: "Namespaced",
  shortNames: ["ev"]
})

/** What happened, to which object, when, and who reports it. */
export interface Happening {
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly note: string
  readonly action?: string | undefined
  readonly related?: KubeObject | undefined
  readonly controller: string
  readonly regarding: KubeObject
  readonly at: number
}

/** How often something happened, and when last. The API has no series of length one. */
export const series = (count: number, at: number) =>
  count < 2 ? {} : { series: { count, lastObservedTime: microTime(at) } }

/** The Event to create. */
export const body = (event: Happening, name: string, instance: string, count: number) => ({
  metadata: { name, namespace: namespaceOf(event.regarding) },
  eventTime: microTime(event.at),
  type: event.type,
  reason: cut(event.reason, limits.reason),
  action: cut(event.action ?? event.reason, limits.reason),
  note: cut(event.note, limits.note),
  regarding: reference(event.regarding),
  ...(event.related === undefined ? {} : { related: reference(event.related) }),
  reportingController: event.controller,
  reportingInstance: cut(instance, limits.reason),
  ...series(count, event.at)
})

/** Events about cluster-scoped objects live in `default`. */
export const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? "default"

/** The name of an Event: unique in this process, and almost certainly among processes. */
export const nameOf = ({ at, regarding }: Happening, sequence: number): string =>
  `${prefixOf(regarding)}.${(BigInt(at) * 1_000_000n + BigInt(sequence)).toString(16)}`

/** What shares one limit: the events of a controller about an object. */
export const subjectOf = ({ controller, regarding }: Happening): string =>
  `${controller}\u0000${regarding.metadata.uid}`

/** Events of one identity are repetitions: a reader would see no difference. */
export const identityOf = (event: Happening): string =>
  [
    event.regarding.metadata.uid,
    event.type,
    event.reason,
    event.action ?? "",
    event.controller,
    event.related?.metadata.uid ?? "",
    event.note
  ].join("\u0000")

/** The first part of an Event's name: that of the object, made legal if necessary. */
const prefixOf = ({ metadata: { name } }: KubeObject): string => {
  const legal = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name)
  const text = legal ? name : name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-/, "")
  return text.slice(0, 200).replace(/[-.]+$/, "") || "event"
}

/** The text, cut to at most `max` bytes of UTF-8 at a character boundary. */
const cut = (text: string, max: number): string => {
  if (new TextEncoder().encode(text).length <= max) return text
  const room = new Uint8Array(max - 3)
  return `${text.slice(0, new TextEncoder().encodeInto(text, room).read)}…`
}

const reference = ({ apiVersion, kind, metadata }: KubeObject) => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
  ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace })
})

/** RFC 3339 with exactly six fractional digits of a second, as the API requires of a MicroTime. */
const microTime = (at: number): string => new Date(at).toISOString().replace("Z", "000Z")
