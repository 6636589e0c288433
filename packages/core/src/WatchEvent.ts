/**
 * `WatchEvent`: one event of a watch, exactly as on the wire: `{ "type": …, "object": … }`, one per line.
 *
 * Events are discriminated by `type` rather than by a `_tag`, so that a parsed line is an event without a copy.
 */
import type { KubeObject } from "./KubeObject.ts"
import type { Status } from "./Status.ts"

export interface Added<A> {
  readonly type: "ADDED"
  readonly object: A
}

export interface Modified<A> {
  readonly type: "MODIFIED"
  readonly object: A
}

/** The object is gone (or left the selector): its last state, with the resourceVersion of the deletion. */
export interface Deleted<A> {
  readonly type: "DELETED"
  readonly object: A
}

/** Everything up to this resourceVersion has been delivered. */
export interface Bookmark {
  readonly type: "BOOKMARK"
  readonly object: {
    readonly kind: string
    readonly apiVersion: string
    readonly metadata: {
      readonly resourceVersion: string
      readonly annotations?: Readonly<Record<string, string>>
    }
  }
}

/** The stream failed; nothing follows. */
export interface WatchFailed {
  readonly type: "ERROR"
  readonly object: Status
}

/** An event as a user of a watch sees it; `ERROR` becomes the failure of the stream. */
export type WatchEvent<A = KubeObject> = Added<A> | Modified<A> | Deleted<A> | Bookmark

/** What the server sends. */
export type WireEvent = WatchEvent | WatchFailed

/** The annotation of the bookmark that ends the initial events of a streaming list (`sendInitialEvents=true`). */
export const initialEventsEnd = "k8s.io/initial-events-end"

/** True for the bookmark that ends the initial events of a streaming list. */
export const isInitialEventsEnd = (event: WatchEvent<unknown>): boolean =>
  event.type === "BOOKMARK" && event.object.metadata.annotations?.[initialEventsEnd] === "true"
