/**
 * One worker of a controller: takes a key, reconciles or cleans up its object, and gives the key back with what is to
 * come next. Nothing that happens to one object stops the worker.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Action from "../Action.ts"
import { type Write, Writing } from "../Client.ts"
import type { NotObserved } from "../Cache.ts"
import type { Controller } from "../Controller.ts"
import type { EventSink } from "../EventRecorder.ts"
import * as Finalizer from "../Finalizer.ts"
import type { KubeClient } from "../KubeClient.ts"
import { KubeError } from "../KubeError.ts"
import { isTerminating, keyString, type KubeObject } from "../KubeObject.ts"
import type { Leadership } from "../Leadership.ts"
import type { ControllerMetrics } from "../Metrics.ts"
import type { Item } from "../QueueState.ts"
import { type Context, ReconcileTimeout, Terminal } from "../Reconciler.ts"
import type { WorkQueue } from "../WorkQueue.ts"
import { digest, HotLoop } from "./HotLoop.ts"
import type { ControllerTracing } from "./tracing.ts"
import * as Stalled from "./stalled.ts"
import type { OwnWrites } from "./triggers.ts"

export interface Options<R> {
  readonly controller: Controller<R>
  readonly queue: WorkQueue
  /** The controller's own object of a key, from its cache, once that is no older than the own writes. */
  readonly find: (key: string) => Effect.Effect<KubeObject | undefined, NotObserved>
  readonly events: EventSink["Service"]
  readonly metrics: ControllerMetrics
  readonly leadership: Leadership
  readonly ownWrites: OwnWrites
  /** Absent without a tracer. */
  readonly tracing: ControllerTracing | undefined
  /** Tells one reconcile of the controller from all others. */
  readonly nextId: () => string
}

/** Works until interrupted. Several may share the options. */
export const make = <R>(options: Options<R>) => {
  const { controller, events, find, leadership, metrics, nextId, ownWrites, queue, tracing } = options
  const { finalize, resource } = controller
  const hotLoops = new HotLoop()

  /** One run of one key: the action, or why not. */
  const attempt = (item: Item, object: KubeObject): Effect.Effect<Action.Action, unknown, R | KubeClient> =>
    Effect.suspend(() => {
      const context: Context = { ...item, events: events.recorder(controller.name, object) }
      if (isTerminating(object)) {
        if (finalize === undefined || !Finalizer.has(object, finalize.finalizer)) return Effect.succeed(Action.done)
        return Effect.tap(
          finalize.run(object, context),
          (action) => action._tag === "Done" ? Finalizer.remove(resource, object, finalize.finalizer) : Effect.void
        )
      }
      if (finalize === undefined || Finalizer.has(object, finalize.finalizer)) {
        return controller.reconcile(object, context)
      }
      return Effect.flatMap(Finalizer.add(resource, object, finalize.finalizer), (guarded) => {
        ownWrites.wrote(item.key, guarded.metadata.resourceVersion)
        return controller.reconcile(guarded, context)
      })
    })

  const { timeout } = controller
  const limited: typeof attempt = timeout === undefined
    ? attempt
    : (item, object) =>
      // A reconcile that waits for nothing needs no timer.
      Effect.flatMap(Effect.forkChild(attempt(item, object), { startImmediately: true }), (fiber) =>
        fiber.pollUnsafe() ?? Fiber.join(fiber).pipe(
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () =>
              Effect.fail(new ReconcileTimeout({ message: `it took longer than ${Duration.format(timeout)}` }))
          }),
          Effect.onExit(() =>
            Fiber.interrupt(fiber)
          )
        ))

  /** What an attempt writes, for the hot-loop watch and the echo filter. */
  const watched = (item: Item, writes: Array<string>): Writing => ({
    permit: leadership.permit,
    wrote: (write: Write) => {
      writes.push(digest(write))
      tracing?.wrote(item.key, write)
      if (
        write._tag === "Written" && write.subresource === "status" && write.resource.id === resource.id &&
        keyString(write.object) === item.key
      ) ownWrites.wrote(item.key, write.object.metadata.resourceVersion)
    }
  })

  const process = (item: Item, clock: Clock.Clock) =>
    Effect.matchEffect(find(item.key), {
      onFailure: ({ message }) => Effect.andThen(Effect.logWarning(message), queue.done(item.key, again)),
      onSuccess: (object) => object === undefined ? queue.done(item.key, done) : processFound(item, object, clock)
    })

  const processFound = (item: Item, object: KubeObject, clock: Clock.Clock) => {
    const writes: Array<string> = []
    const started = clock.currentTimeMillisUnsafe()
    metrics.started()
    const reconcile = Effect.provideService(limited(item, object), Writing, watched(item, writes))
    return Effect.flatMap(
      Effect.exit(tracing === undefined ? reconcile : tracing.reconcile(item, reconcile)),
      (exit) => {
        const ended = clock.currentTimeMillisUnsafe()
        metrics.ended(ended - started)
        const hold = hotLoops.judge(item.key, writes, ended)
        const settled = settle(item, object, exit)
        return hold > 0 ? Effect.andThen(heldBack(item, hold, writes), settled) : settled
      }
    )
  }

  const heldBack = (item: Item, hold: number, writes: ReadonlyArray<string>) => {
    queue.hold(item.key, hold)
    metrics.hotLoop()
    return Effect.logWarning(
      `hot loop: it writes what it wrote before, ${writes.length} writes in this reconcile; held back ${hold} ms: ` +
        (writes[0] ?? "").slice(0, 200)
    )
  }

  const settle = (item: Item, object: KubeObject, exit: Exit.Exit<Action.Action, unknown>) => {
    if (Exit.isFailure(exit)) return failed(item, object, exit.cause)
    const { value } = exit
    return value._tag === "Done" && Stalled.says(object)
      ? Effect.andThen(
        quietly(item, Stalled.takeBack(resource, find(item.key))),
        Effect.suspend(() => succeeded(item, value))
      )
      : Effect.suspend(() => succeeded(item, value))
  }

  /** A word about the object, of which it is no failure of the object that it could not be written. */
  const quietly = <E>(item: Item, word: Effect.Effect<void, E, KubeClient>) =>
    Stalled.canSay(resource)
      ? word.pipe(
        Effect.provideService(Writing, watched(item, [])),
        Effect.catchCause((cause) => Effect.logDebug("the Stalled condition could not be written", cause))
      )
      : Effect.void

  const succeeded = (item: Item, action: Action.Action) => {
    switch (action._tag) {
      case "Done":
        metrics.result("success")
        return queue.done(item.key, done)
      case "Requeue":
        metrics.result("requeue")
        return queue.done(item.key, { _tag: "Again", delay: 0 })
      case "RequeueAfter":
        metrics.result("requeue_after")
        return queue.done(item.key, { _tag: "Again", delay: action.delay })
    }
  }

  const failed = Effect.fnUntraced(function*(item: Item, object: KubeObject, cause: Cause.Cause<unknown>) {
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    metrics.result("error")
    if (error === undefined) metrics.panicked()
    if (error instanceof ReconcileTimeout) metrics.timedOut()
    if (error instanceof Terminal) {
      metrics.terminal()
      yield* queue.done(item.key, { _tag: "Rest" })
      return yield* gaveUp(item, object, "Terminal", error.message, cause)
    }
    const kube = error instanceof KubeError ? error : undefined
    const delay = yield* queue.done(item.key, { _tag: "Failed", error, atLeast: kube?.retryAfter })
    if (delay === undefined) return yield* gaveUp(item, object, "RetriesExhausted", messageOf(error, cause), cause)
    // Losing a race is everyday life of a controller, anything else is worth a line in production logs.
    return yield* kube?.reason._tag === "Conflict"
      ? Effect.logDebug(`conflict, again in ${delay} ms: ${kube.message}`)
      : Effect.logWarning(`reconcile failed (${item.failures + 1} in a row), again in ${delay} ms`, cause)
  })

  /** Nothing is given up silently: a line in the log, an event on the object, its condition, a metric. */
  const gaveUp = Effect.fnUntraced(function*(
    item: Item,
    object: KubeObject,
    reason: Stalled.Reason,
    why: string,
    cause: Cause.Cause<unknown>
  ) {
    const note = `gave up after ${item.failures + 1} failures, until something changes: ${why}`
    metrics.stalled()
    yield* Effect.logError(note, cause)
    yield* events.recorder(controller.name, object).warning({ reason: "Stalled", action: "Reconcile", note })
    yield* quietly(item, Stalled.say(resource, find(item.key), reason, why))
  })

  /** A key whose worker is interrupted, because the lease is lost, say, is as unprocessed as before. */
  const giveBack = (item: Item, clock: Clock.Clock) =>
    Effect.onInterrupt(process(item, clock), () => queue.done(item.key, again))

  return Effect.flatMap(Clock.Clock, (clock) =>
    Effect.whileLoop({
      while: () => true,
      body: () =>
        Effect.flatMap(queue.take, (item) =>
          Option.isNone(item)
            ? Effect.never
            : Effect.annotateLogs(
              tracing === undefined
                ? giveBack(item.value, clock)
                : tracing.process(item.value, giveBack(item.value, clock)),
              annotations(controller, item.value.key, nextId())
            )),
      step: () => {}
    }))
}

/** Whose log line it is, under controller-runtime's names. */
const annotations = (controller: Pick<Controller, "name" | "resource">, key: string, reconcileID: string) => {
  const slash = key.indexOf("/")
  return {
    controller: controller.name,
    controllerGroup: controller.resource.group,
    controllerKind: controller.resource.kind,
    ...(slash < 0 ? {} : { namespace: key.slice(0, slash) }),
    name: key.slice(slash + 1),
    reconcileID
  }
}

const again = { _tag: "Again", delay: 0 } as const
const done = { _tag: "Done" } as const

const messageOf = (error: unknown, cause: Cause.Cause<unknown>): string =>
  error instanceof Error ? error.message : Cause.pretty(cause)
