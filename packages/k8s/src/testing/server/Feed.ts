/** `Feed`: publishes values to listeners, each with its own queue. Nothing is kept for later listeners. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"

export class Feed<A> {
  private readonly queues = new Set<Queue.Queue<A, Cause.Done>>()

  /** Whether anybody listens; otherwise values need not be computed. */
  get listened(): boolean {
    return this.queues.size > 0
  }

  publish(value: A): void {
    for (const queue of this.queues) Queue.offerUnsafe(queue, value)
  }

  /** Every value published from the moment the stream is run. */
  get stream(): Stream.Stream<A> {
    return Stream.unwrap(Effect.map(
      Effect.acquireRelease(
        Effect.tap(Queue.unbounded<A, Cause.Done>(), (queue) => Effect.sync(() => this.queues.add(queue))),
        (queue) => Effect.sync(() => this.queues.delete(queue))
      ),
      Stream.fromQueue
    ))
  }
}
