/**
 * `Compaction`: removes old history, as kube-apiserver does in etcd. At each interval it compacts what was already
 * history at the previous one, so that changes are kept for one to two intervals.
 *
 * Source: k8s.io/apiserver/pkg/storage/etcd3/compact.go.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Storage } from "../../api/Storage.ts"

/** Compacts old history until the scope closes. */
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
