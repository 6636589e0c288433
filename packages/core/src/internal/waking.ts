/**
 * Which keys are worth queueing. No reconcile is called for an object that is not there: what wakes the key of one, its
 * deletion included, takes the key out of the queue again, where no worker has had it yet. So the queue of a controller
 * that does not work, on a standby or while a cache does not fill, is never longer than the objects that there are.
 *
 * That is no more than what a worker would do with the key. One that was handed out before is left to a worker, which
 * keeps more about it, and learns so that it can let go of that.
 */
import type { Informer } from "../Informers.ts"
import type { WorkQueue } from "../WorkQueue.ts"

export interface Options {
  /** Informers of the controller's own kind. */
  readonly own: ReadonlyArray<Pick<Informer, "store">>
  readonly queue: Pick<WorkQueue, "add" | "withdraw">
  /** Told of a key that is asked for no more. */
  readonly withdrawn?: ((key: string) => void) | undefined
}

/** The `add` of the queue, for what caches tell. */
export const waking = ({ own, queue, withdrawn }: Options): Pick<WorkQueue, "add"> => {
  /** As a worker would find it. Nothing is known of what a list has not shown yet, or an own write has changed. */
  const isAbsent = (key: string): boolean =>
    own.every(({ store }) => !store.has(key) && store.resourceVersion !== "0" && !store.isStale(key))
  return {
    add: (key, reason, priority) => {
      if (isAbsent(key) && queue.withdraw(key)) withdrawn?.(key)
      else queue.add(key, reason, priority)
    }
  }
}
