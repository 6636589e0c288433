/**
 * One worker of a controller: takes a key, reconciles or cleans up its object, and gives the key back with what comes
 * next. Nothing that happens to one object stops the worker.
 *
 * A reconcile is a fiber with a context of its own, started synchronously. If it ends without having waited for
 * anything, the worker goes on to the next key at once: no timer was set, nobody was woken, and nothing was traced
 * unless there is a tracer. A reconcile that waits, fails or is held back takes the longer path.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import * as Action from "../Action.ts"
import { type Write, Writing } from "../Client.ts"
import type { NotObserved } from "../Cache.ts"
import type { Controller } from "../Controller.ts"
import type { EventSink } from "../EventRecorder.ts"
import * as Finalizer from "../Finalizer.ts"
import type { KubeClient } from "../KubeClient.ts"
import { KubeError } from "../KubeError.ts"
import { isTerminating, keyString, type KubeObject } from "../KubeObject.ts"
import type { Confined, Leadership } from "../Leadership.ts"
import type { ControllerMetrics } from "../Metrics.ts"
import type { Item } from "../QueueState.ts"
import type * as Resource from "../Resource.ts"
import { ReconcileTimeout, Terminal } from "../Reconciler.ts"
import type { Settled, WorkQueue } from "../WorkQueue.ts"
import * as Crossing from "./crossing.ts"
import type { Deadlines } from "./Deadlines.ts"
import { digest, HotLoop, signsOf } from "./HotLoop.ts"
import { logFailure } from "./logFailure.ts"
import { monotonicMillis } from "./monotonic.ts"
import type { ControllerTracing, Processing } from "./tracing.ts"
import type { OwnWrites } from "./OwnWrites.ts"
import { meant, runnable } from "./runnable.ts"
import * as Stalled from "./stalled.ts"
import * as Vanished from "./Vanished.ts"
import { annotations, messageOf, remedy, undone } from "./workerWords.ts"

export interface Options<R> {
  readonly controller: Controller<R>
  readonly queue: WorkQueue
  /**
   * The controller's own object of a key, from its cache, once that is no older than own writes: an `Exit` if it is so
   * already.
   */
  readonly find: (key: string) => Effect.Effect<KubeObject | undefined, NotObserved>
  readonly events: EventSink["Service"]
  readonly metrics: ControllerMetrics
  readonly leadership: Leadership
  readonly admit?: Confined<R>["admit"]
  readonly mark?: Confined<R>["mark"]
  /** Reports that a condition could not be written. */
  readonly unwritten: ReturnType<typeof Stalled.teller>
  readonly ownWrites: OwnWrites
  readonly deadlines: Deadlines
  /** Running reconciles, by key. */
  readonly underWay: Map<string, Fiber.Fiber<unknown, unknown>>
  /** Absent without a tracer. */
  readonly tracing: ControllerTracing | undefined
  /** A name for a reconcile that no other of the controller has. */
  readonly nextId: () => string
}

/** A run of a key: what its fiber needs, and what it leaves behind. */
interface Run {
  readonly item: Item
  readonly object: KubeObject
  readonly started: number
  readonly annotations: Readonly<Record<string, unknown>>
  readonly writes: Array<Write>
  /** Whether it was admitted. */
  admitted: boolean
}

/** What a worker has in hand, and must release if it is interrupted. */
interface Hands {
  item: Item | undefined
  /** Absent without a tracer. */
  processing: Processing | undefined
  /** Absent until the object is found, and once the reconcile is over. */
  running: { readonly run: Run; readonly fiber: Fiber.Fiber<Action.Action, unknown> } | undefined
  /** The key whose own writes may be in flight. */
  writing: string | undefined
}

/** Works until interrupted. Several may share the options. */
export const make = <R>(options: Options<R>): Effect.Effect<void, never, R | KubeClient> => {
  const { controller, deadlines, events, find, leadership, metrics, nextId, ownWrites, queue, tracing, underWay } =
    options
  const { admit, mark, unwritten } = options
  const { finalize, resource } = controller
  const hotLoops = new HotLoop()
  const vanished = new Vanished.Vanished()
  /** What keys failed with last, for as long as the queue counts their failures. */
  const causes = new Map<string, Cause.Cause<unknown>>()

  const attempt = (run: Run): Effect.Effect<Action.Action, unknown, R | KubeClient> =>
    admit === undefined ? worked(run) : Effect.map(
      admit(run.object, timed(worked(run))),
      (done) => done === false ? Action.awaitChange : typeof done === "number" ? Action.requeueAfter(done) : done
    )

  /** Starts the timeout only now: what admission waited for does not count. */
  const timed = <A, E, RR>(work: Effect.Effect<A, E, RR>): Effect.Effect<A, E, RR> =>
    Effect.withFiber((fiber) => {
      deadlines.begin(fiber)
      return work
    })

  /** One run of one key: the action, or why it failed. */
  const worked = (run: Run): Effect.Effect<Action.Action, unknown, R | KubeClient> =>
    Effect.suspend(() => {
      const { item, object } = run
      run.admitted = true
      const lastFailure = causes.get(item.key)
      const context = { ...item, lastFailure, events: events.recorder(controller.name, object) }
      if (isTerminating(object)) {
        if (finalize === undefined || !Finalizer.has(object, finalize.finalizer)) return Effect.succeed(Action.done)
        return Effect.tap(
          runnable(controller, "finalize", finalize.run(object, context)),
          (action) => action?._tag === "Done" ? Finalizer.remove(resource, object, finalize.finalizer) : Effect.void
        )
      }
      if (finalize === undefined || Finalizer.has(object, finalize.finalizer)) {
        return runnable(controller, "reconcile", controller.reconcile(object, context))
      }
      return Effect.flatMap(Finalizer.add(resource, object, finalize.finalizer), (guarded) => {
        ownWrites.wrote(item.key, guarded.metadata.resourceVersion)
        return runnable(controller, "reconcile", controller.reconcile(guarded, context))
      })
    })

  /** Whether it is the controller's own kind, or a projection of it: they share one status. */
  const isOwnKind = ({ cluster, group, plural, version }: Resource.Any): boolean =>
    group === resource.group && plural === resource.plural && version === resource.version &&
    cluster === resource.cluster

  /** Takes the writes of an attempt, for the detection of hot loops and the filter of own writes. */
  const writing = (item: Item, object: KubeObject, writes: Array<Write>): Writing => ({
    key: item.key,
    permit: leadership.permit,
    mark: Crossing.guarded(resource, object, mark),
    wrote: (write: Write, fields?: unknown) => {
      writes.push(write)
      tracing?.wrote(item.key, write)
      if (
        write._tag === "Written" && write.subresource === "status" && isOwnKind(write.resource) &&
        keyString(write.object) === item.key
      ) ownWrites.wrote(item.key, write.object.metadata.resourceVersion, fields)
    }
  })

  const heldBack = ({ item, writes }: Run, hold: number) => {
    queue.hold(item.key, hold)
    metrics.hotLoop()
    return Effect.logWarning(
      writes.length === 0
        ? `hot loop: it keeps asking to run again at once and writes nothing; held back ${hold} ms: ` +
          "return Action.requeueAfter with a delay, or wait for a change"
        : `hot loop: it repeats its last writes, ${writes.length} in this reconcile; held back ${hold} ms: ` +
          (undone(writes) ?? digest(writes[0]!).slice(0, 200))
    )
  }

  /** Writes the condition of an object; that it cannot be written is no failure of the object. */
  const quietly = <E>(item: Item, object: KubeObject, word: Effect.Effect<void, E, KubeClient>) =>
    Stalled.canSay(resource)
      ? word.pipe(
        Effect.provideService(Writing, writing(item, object, [])),
        Effect.catchCause(unwritten)
      )
      : Effect.void

  /** The object at the time of the read. */
  const current = (key: string) => Effect.suspend(() => find(key))

  /**
   * Nothing is given up silently: there are a log line, an event on the object, its condition, a metric. They come
   * before the key is given back: otherwise another worker may already be done with a newer state of the object, and
   * this would be the last word.
   */
  const gaveUp = Effect.fnUntraced(function*(
    item: Item,
    object: KubeObject,
    reason: Stalled.Reason,
    why: string,
    cause: Cause.Cause<unknown>
  ) {
    const note = `gave up after ${item.failures + 1} failures, until something changes: ${why}`
    metrics.stalled()
    yield* logFailure(Effect.logError, note, cause)
    yield* events.recorder(controller.name, object).warning({ reason: "Stalled", action: "Reconcile", note })
    yield* quietly(item, object, Stalled.say(resource, current(item.key), controller.name, reason, why))
  })

  /** One worker; everything runs in the context `base`. */
  const worker = (base: Context.Context<R | KubeClient>, clock: Clock.Clock): Effect.Effect<void> => {
    const outer = Context.get(base, References.CurrentLogAnnotations)
    const hands: Hands = { item: undefined, processing: undefined, running: undefined, writing: undefined }

    const process = (item: Item): Effect.Effect<void> => {
      hands.item = item
      if (!leadership.owns(item.key)) return processElsewhere()
      hands.processing = tracing?.begin(item)
      const found = find(item.key)
      return isExit(found)
        ? processFound(item, found)
        : Effect.flatMap(
          Effect.exit(found),
          (exit) => leadership.owns(item.key) ? processFound(item, exit) : processElsewhere()
        )
    }

    /** Another replica takes care of it, and so does this one when the object comes here. */
    const processElsewhere = (): Effect.Effect<void> => {
      giveBack(done)
      over(Exit.void)
      return Effect.void
    }

    const processFound = (item: Item, found: Exit.Exit<KubeObject | undefined, NotObserved>): Effect.Effect<void> => {
      if (Exit.isSuccess(found)) {
        const object = found.value
        const hidden = vanished.size === 0 ? 0 : vanished.hidden(item.key, object, monotonicMillis(clock))
        if (object !== undefined && hidden === 0) return reconcile(item, object)
        giveBack(hidden === 0 ? done : { _tag: "Again", delay: hidden })
        over(Exit.void)
        return Effect.void
      }
      giveBack(again)
      over(found)
      return Effect.annotateLogs(Effect.logWarning(messageOf(found.cause)), annotations(controller, item.key, nextId()))
    }

    const reconcile = (item: Item, object: KubeObject): Effect.Effect<void> => {
      if (leadership.permit() !== undefined) return putOff
      const run: Run = {
        item,
        object,
        started: monotonicMillis(clock),
        annotations: { ...outer, ...annotations(controller, item.key, nextId()) },
        writes: [],
        admitted: false
      }
      metrics.started()
      const logged = Context.add(base, References.CurrentLogAnnotations, run.annotations)
      const context = Context.add(logged, Writing, writing(item, object, run.writes))
      const fiber = Effect.runForkWith(
        hands.processing === undefined ? context : Context.add(context, Tracer.ParentSpan, hands.processing.reconcile())
      )(attempt(run))
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return ended(run, exit)
      hands.running = { run, fiber }
      underWay.set(item.key, fiber)
      beginWriting(item.key)
      return Effect.flatMap(
        admit === undefined ? deadlines.ending(fiber) : deadlines.end(fiber),
        (exit) => ended(run, exit)
      )
    }

    /**
     * This process does not lead any more, and the worker is about to be interrupted: meanwhile it must not start a key
     * that another worker gives back for that reason, or that became due while the process stood still.
     */
    const putOff = Effect.suspend(() => {
      giveBack(again)
      over(Exit.void)
      return Effect.sleep(putOffFor)
    })

    const ended = (run: Run, came: Exit.Exit<Action.Action, unknown>): Effect.Effect<void> => {
      const exit = meant(controller, came)
      const { item, writes } = run
      const now = monotonicMillis(clock)
      hands.running = undefined
      underWay.delete(item.key)
      metrics.ended(now - run.started)
      hands.processing?.reconciled(exit)
      const hold = hotLoops.judge(item.key, signsOf(writes, exit), now)
      // It was taken away by another replica: not a failure of the object.
      if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) && !leadership.owns(item.key)) {
        giveBack(done)
        over(exit)
        endWriting()
        return Effect.void
      }
      if (hold > 0) return longer(run, Effect.andThen(heldBack(run, hold), Effect.suspend(() => settle(run, exit))))
      if (Exit.isFailure(exit) || takesBack(run)) return longer(run, settle(run, exit))
      succeeded(exit.value)
      over(exit)
      endWriting()
      return Effect.void
    }

    /** Does what is left, as part of the run that it is about. */
    const longer = (run: Run, effect: Effect.Effect<void, never, KubeClient>): Effect.Effect<void> => {
      beginWriting(run.item.key)
      const annotated = Effect.provideContext(Effect.annotateLogs(effect, run.annotations), base).pipe(
        Effect.ensuring(Effect.sync(endWriting))
      )
      const { processing } = hands
      return processing === undefined
        ? annotated
        : Effect.onExit(Effect.withParentSpan(annotated, processing.root), (exit) => Effect.sync(() => over(exit)))
    }

    /** An object that was not admitted belongs to another replica, or will. */
    const takesBack = ({ admitted, object }: Run): boolean => admitted && Stalled.says(object, controller.name)

    const settle = (run: Run, exit: Exit.Exit<Action.Action, unknown>): Effect.Effect<void, never, KubeClient> => {
      const { item, object } = run
      if (Exit.isFailure(exit)) return failed(item, object, exit.cause)
      const { value } = exit
      return takesBack(run)
        ? Effect.andThen(
          quietly(item, object, Stalled.takeBack(resource, current(item.key), controller.name)),
          Effect.sync(() => succeeded(value))
        )
        : Effect.sync(() => succeeded(value))
    }

    const succeeded = (action: Action.Action): void => {
      switch (action._tag) {
        case "Done":
        case "AwaitChange":
          metrics.result("success")
          return giveBack(done)
        case "Requeue":
          metrics.result("requeue")
          return giveBack(again)
        case "RequeueAfter":
          metrics.result("requeue_after")
          return giveBack({ _tag: "Again", delay: action.delay })
      }
    }

    const failed = Effect.fnUntraced(function*(item: Item, object: KubeObject, cause: Cause.Cause<unknown>) {
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      if (Vanished.saysSo(error, resource, object) && (yield* Vanished.isGone(resource, object))) {
        metrics.result("success")
        vanished.note(item.key, object, monotonicMillis(clock))
        giveBack({ _tag: "Again", delay: Vanished.defaults.recheck })
        return yield* Effect.logDebug(
          "the object is gone: it is not reconciled until its cache shows a change",
          cause
        )
      }
      metrics.result("error")
      causes.set(item.key, cause)
      if (error === undefined) metrics.panicked()
      if (error instanceof ReconcileTimeout) metrics.timedOut()
      if (error instanceof Terminal) {
        metrics.terminal()
        yield* gaveUp(item, object, "Terminal", error.message, cause)
        return giveBack(rest)
      }
      const kube = error instanceof KubeError ? error : undefined
      const atLeast = Math.max(kube?.retryAfter ?? 0, kube !== undefined && mayHaveMade(kube) ? showing : 0)
      const delay = yield* queue.retryIn(item.key, { error, atLeast })
      if (delay === undefined) {
        yield* gaveUp(item, object, "RetriesExhausted", messageOf(cause), cause)
        return giveBack(rest)
      }
      giveBack({ _tag: "Retry", delay })
      // Lost races are normal for a controller; anything else is worth a line in production logs.
      return yield* kube?.reason._tag === "Conflict"
        ? Effect.logDebug(`conflict, retrying in ${delay} ms: ${kube.message}`)
        : logFailure(
          Effect.logWarning,
          `reconcile failed (${item.failures + 1} in a row), retrying in ${delay} ms${remedy(cause)}`,
          cause
        )
    })

    const giveBack = (outcome: Settled): void => {
      const { key } = hands.item!
      hands.item = undefined
      if (outcome._tag !== "Rest" && outcome._tag !== "Retry") causes.delete(key)
      queue.doneUnsafe(key, outcome)
    }

    // Not for a reconcile that did not wait: no event can have arrived meanwhile.
    const beginWriting = (key: string): void => {
      if (hands.writing !== undefined) return
      hands.writing = key
      ownWrites.began(key)
    }

    const endWriting = (): void => {
      if (hands.writing === undefined) return
      ownWrites.ended(hands.writing)
      hands.writing = undefined
    }

    const over = (exit: Exit.Exit<unknown, unknown>): void => {
      const { processing } = hands
      hands.processing = undefined
      processing?.end(exit)
    }

    /** A key whose worker is interrupted, for example because the lease was lost, is as unprocessed as before. */
    const letGo = (outcome: Settled) =>
      Effect.suspend(() => {
        const { running } = hands
        if (running === undefined) return Effect.sync(() => dropped(outcome, Exit.interrupt()))
        const { fiber, run } = running
        return Effect.andThen(
          Fiber.interrupt(fiber),
          Effect.sync(() => {
            const exit = fiber.pollUnsafe() ?? Exit.interrupt()
            hands.running = undefined
            underWay.delete(run.item.key)
            metrics.ended(monotonicMillis(clock) - run.started)
            hands.processing?.reconciled(exit)
            dropped(outcome, exit)
          })
        )
      })

    const dropped = (outcome: Settled, exit: Exit.Exit<unknown, unknown>): void => {
      if (hands.item !== undefined) giveBack(outcome)
      endWriting()
      over(exit)
    }

    /** An error that throws when it is read, by a tracer or a schedule for example, is one object's trouble, too. */
    const stumbled = (defect: unknown) =>
      Effect.suspend(() => {
        const { item } = hands
        if (item === undefined) return Effect.die(defect)
        metrics.result("error")
        metrics.panicked()
        return Effect.flatMap(queue.retryIn(item.key, { error: defect }), (delay) =>
          Effect.annotateLogs(
            logFailure(
              Effect.logError,
              `reconcile failed (${item.failures + 1} in a row), and so did what reads its error`,
              Cause.die(defect)
            ),
            annotations(controller, item.key, nextId())
          ).pipe(Effect.andThen(letGo(delay === undefined ? rest : { _tag: "Retry", delay }))))
      })

    let streak = 0
    const working: Effect.Effect<void> = Effect.catchDefect(
      Effect.whileLoop({
        while: () => true,
        body: () => {
          // Other fibers, sockets and timers get their turn even if there is always a next key.
          if (++streak % turn === 0) return Effect.yieldNow
          const item = queue.takeUnsafe()
          return item === undefined ? Effect.flatMap(queue.take, processNext) : process(item)
        },
        step: () => {}
      }),
      (defect) => Effect.andThen(stumbled(defect), working)
    )
    return Effect.onExit(working, () => letGo(again))

    function processNext(item: Option.Option<Item>): Effect.Effect<void> {
      return Option.isNone(item) ? Effect.never : process(item.value)
    }
  }

  return Effect.flatMap(
    Effect.context<R | KubeClient>(),
    (context) => worker(flat(context), Context.get(context, Clock.Clock))
  )
}

/** How long a worker pauses if this process does not lead any more and the worker is not interrupted. */
const putOffFor = "100 millis"

/** How long, in milliseconds, the watch may take to show what a create without an answer may have made. */
const showing = 1_000

/** Whether there may be a new object of unknown name: a retry before the watch shows it would create another. */
const mayHaveMade = ({ objectName, reason, verb }: KubeError): boolean =>
  verb === "create" && objectName === undefined &&
  (reason._tag === "Transport" || reason._tag === "Timeout" || reason._tag === "ServerError")

/** Number of keys after which a worker yields. */
const turn = 8

/** The same services in one flat table: adding to it costs the same each time. */
const flat = <R>(context: Context.Context<R>): Context.Context<R> => Context.makeUnsafe(new Map(context.mapUnsafe))

/** Whether an effect has already completed. */
const isExit = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> => Exit.isExit(effect)

const again = { _tag: "Again", delay: 0 } as const
const done = { _tag: "Done" } as const
const rest = { _tag: "Rest" } as const
