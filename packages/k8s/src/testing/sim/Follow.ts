/**
 * `Follow`: all changes of one kind, without gaps, for simulated controllers.
 *
 * It lists the kind and passes on every object, then watches from there, without bookmarks, so a kind without changes
 * costs nothing. A watch that ends is resumed where it stopped. If that position is gone (410), a new list replaces it,
 * of which only the differences are passed on. If the kind is not served yet, or after any other failure, it retries
 * after a second.
 *
 * The operator's own `Reflector` has backoff, health and metrics. A simulation needs none of these, and must not depend
 * on the code that it tests.
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
  /** The delay before a new attempt, after a failure or a watch without events. */
  pause: "1 second"
} as const

/** Called synchronously, in the order of the changes. Must not throw. */
export interface Handlers<A> {
  /** The object is new or changed. */
  readonly onPresent: (object: A) => void
  /** The object was deleted; its last state. */
  readonly onGone: (object: A) => void
  /** The initial list was passed on; also called after every later list. */
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

  /** Watches until the stream ends or fails; returns whether there were events, and the last position. */
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

/** After any failure but a lost connection the position is discarded, because the server may have refused it. */
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
