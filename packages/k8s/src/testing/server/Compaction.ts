/**
 * `Compaction`: history goes by itself, as kube-apiserver has etcd forget it: every so often what was history the time
 * before, so that it is kept for one to two intervals.
 *
 * Source: k8s.io/apiserver/pkg/storage/etcd3/compact.go.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Storage } from "../../api/Storage.ts"

/** Forgets old history until the scope closes. */
export const run = (storage: Storage, interval: Duration.Input) =>
  Effect.suspend(() => {
    let before = storage.revision
    return Effect.forkScoped(Effect.forever(Effect.andThen(
      Effect.sleep(interval),
      Effect.sync(() => {
        storage.compact(before)
        before = storage.revision
      })
    )))
  })
