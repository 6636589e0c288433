/**
 * Decides which keys are worth queueing. An object that does not exist is not reconciled: what would wake its key, its
 * deletion included, removes the key from the queue instead, unless a worker has had it. So the queue of a controller
 * that does not work, on a standby or while a cache does not fill, is never longer than the number of existing objects.
 *
 * A worker would do no more with such a key. A key that was handed out before is left to a worker, which keeps state
 * about it and learns in this way that it can drop that.
 */
import type { Informer } from "../Informers.ts"
import type { WorkQueue } from "../WorkQueue.ts"

export interface Options {
  /** Informers of the controller's own kind. */
  readonly own: ReadonlyArray<Pick<Informer, "store">>
  readonly queue: Pick<WorkQueue, "add" | "withdraw">
  /** Called with a key whose requests were withdrawn. */
  readonly withdrawn?: ((key: string) => void) | undefined
}

/** The `add` of the queue, for changes that caches report. */
export const waking = ({ own, queue, withdrawn }: Options): Pick<WorkQueue, "add"> => {
  /**
   * As a worker would find it. Before the first list, and after an own write that is not shown yet, that is unknown.
   */
  const isAbsent = (key: string): boolean =>
    own.every(({ store }) => !store.has(key) && store.resourceVersion !== "0" && !store.isStale(key))
  return {
    add: (key, reason, priority) => {
      if (isAbsent(key) && queue.withdraw(key)) withdrawn?.(key)
      else queue.add(key, reason, priority)
    }
  }
}
