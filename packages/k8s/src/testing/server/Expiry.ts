/**
 * `Expiry`: removes Events an hour after their last write, like an etcd lease.
 *
 * One fiber handles all of them. Events expire in the order in which they were written, so a queue is enough. An Event
 * that was written again is in the queue a second time, further back.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type { Storage } from "../../api/Storage.ts"

interface Written {
  readonly key: string
  readonly namespace: string
  readonly object: KubeObject
  /** When it expires, unless it is written again. */
  readonly end: number
}

const collection = "events"

/** Removes expired Events until the scope closes. Starts to listen at once. */
export const run = Effect.fnUntraced(function*(storage: Storage, timeToLive: Duration.Input) {
  const clock = yield* Clock.Clock
  const life = Duration.toMillis(timeToLive)
  const written = yield* Queue.unbounded<Written>()
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      storage.listen(({ collection: changed, key, namespace, object, type }) => {
        if (changed !== collection || type === "DELETED") return
        Queue.offerUnsafe(written, { key, namespace, object, end: clock.currentTimeMillisUnsafe() + life })
      })
    ),
    (stop) => Effect.sync(stop)
  )
  return yield* Effect.forkScoped(Effect.forever(Effect.gen(function*() {
    const { end, key, namespace, object } = yield* Queue.take(written)
    const left = end - (yield* Clock.currentTimeMillis)
    if (left > 0) yield* Effect.sleep(left)
    if (storage.get(collection, key) === object) storage.remove(collection, key, namespace)
  })))
})
