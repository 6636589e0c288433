/**
 * `Follow`: the changes of one kind, for ever and without a gap, for the simulated controllers.
 *
 * Lists the kind, hands over every object, then watches from there, without bookmarks: a kind of which there is nothing
 * to tell costs nothing. A watch that ends is resumed where it stopped; one whose place is gone (410) is replaced by a
 * new list, of which only the differences are handed over. A kind that is not served yet, or any other failure, is tried
 * again after a second.
 *
 * The operator's own `Reflector` has backoff, health and metrics; a simulation needs none of them, and must not depend
 * on the code it is there to test.
 */
import { KubeClient, type Page } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import type { WatchEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"

export const defaults = {
  /** Pause before a new attempt, after a failure or a watch that brought nothing. */
  pause: "1 second"
} as const

/** What happened to an object. Called synchronously, in the order of the changes; must not throw. */
export interface Handlers<A> {
  /** The object is new or changed. */
  readonly onPresent: (object: A) => void
  /** The object is gone; its last state. */
  readonly onGone: (object: A) => void
  /** Everything there was at first has been handed over; also after every later list. */
  readonly onListed?: () => void
}

/** Never ends. */
export const follow = Effect.fnUntraced(function*<A extends KubeObject>(
  resource: Resource.Resource<A>,
  handlers: Handlers<A>
): Effect.fn.Return<never, never, KubeClient> {
  const client = yield* KubeClient
  const known = new Map<string, A>()

  const present = (object: A): void => {
    known.set(keyString(object), object)
    handlers.onPresent(object)
  }

  const gone = (object: A): void => {
    known.delete(keyString(object))
    handlers.onGone(object)
  }

  const replace = (items: ReadonlyArray<A>): void => {
    const listed = new Map(items.map((object) => [keyString(object), object]))
    for (const [key, object] of known) {
      if (listed.get(key)?.metadata.uid !== object.metadata.uid) gone(object)
    }
    for (const [key, object] of listed) {
      if (known.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) present(object)
    }
  }

  /** Watches until the stream ends or fails; the result says whether it brought anything, and how far it came. */
  const watch = Effect.fnUntraced(function*(from: string) {
    let resourceVersion = from
    const apply = (event: WatchEvent<A>): void => {
      resourceVersion = event.object.metadata.resourceVersion
      if (event.type === "DELETED") gone(event.object)
      else if (event.type !== "BOOKMARK") present(event.object)
    }
    const ended = yield* client.watch(resource, { resourceVersion, allowWatchBookmarks: false }).pipe(
      Stream.runForEachArray((events) => Effect.sync(() => events.forEach(apply))),
      Effect.result
    )
    return { resourceVersion, relist: mustList(ended), pause: Result.isFailure(ended) || resourceVersion === from }
  })

  for (;;) {
    const page = yield* Effect.result(listAll(client, resource))
    if (Result.isFailure(page)) {
      yield* Effect.sleep(defaults.pause)
      continue
    }
    replace(page.success.items)
    handlers.onListed?.()
    let from = page.success.resourceVersion
    for (;;) {
      const { pause, relist, resourceVersion } = yield* watch(from)
      if (pause) yield* Effect.sleep(defaults.pause)
      if (relist) break
      from = resourceVersion
    }
  }
})

/** After anything but a lost connection the place is given up: it may be what the server refused. */
const mustList = (ended: Result.Result<void, KubeError>): boolean =>
  Result.isFailure(ended) && ended.failure.reason._tag !== "Transport"

const listAll = Effect.fnUntraced(function*<A extends KubeObject>(
  client: KubeClient["Service"],
  resource: Resource.Resource<A>
): Effect.fn.Return<Page<A>, KubeError> {
  let page = yield* client.listPage(resource, { limit: 0 })
  let { items } = page
  while (page.continue !== undefined) {
    page = yield* client.listPage(resource, { limit: 0, continue: page.continue })
    items = items.concat(page.items)
  }
  return { items, resourceVersion: page.resourceVersion }
})
