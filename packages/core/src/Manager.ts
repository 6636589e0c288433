/**
 * `Manager`: runs controllers on shared informers and one client, and answers for all of it.
 *
 * Its scope is its life. On close: no new reconcile starts, those under way finish (up to the drain time), events are
 * written out, watches close. Whatever part fails in the background fails the manager: `launch` ends with it, and
 * nobody has to notice a log line. Managers share nothing with each other; several may run in one process.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type * as Controller from "./Controller.ts"
import * as EventRecorder from "./EventRecorder.ts"
import * as Informers from "./Informers.ts"
import { type Running, start } from "./internal/controller.ts"
import { KubeClient } from "./KubeClient.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as Leadership from "./Leadership.ts"
import type * as Reflector from "./Reflector.ts"
import * as Supervisor from "./Supervisor.ts"
import type * as WorkQueue from "./WorkQueue.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** How long reconciles under way may take on stop; below a Pod's grace period of 30 s. */
  drain: "25 seconds",
  /** How long recorded events may take to be written on stop. */
  flush: "2 seconds",
  /** This process among its replicas, in events. */
  identity: "effect-operator"
} as const

/** How long reconciles under way may take on stop, where the options do not say. */
export const Drain = Context.Reference<Duration.Input>("@effect-operator/core/Manager/Drain", {
  defaultValue: () => defaults.drain
})

export interface Options {
  readonly drain?: Duration.Input | undefined
  readonly identity?: string | undefined
  /**
   * Of several replicas, one reconciles; the others keep their caches warm. Without it, each does. `per` says what one
   * lease stands for: all controllers (the default), or each of them, its name added to the lease's.
   */
  readonly leaderElection?: LeaderElection.Options & { readonly per?: "manager" | "controller" } | undefined
}

/** What a manager is doing, for health checks and tests. */
export interface Report {
  readonly controllers: ReadonlyArray<{ readonly name: string; readonly queue: WorkQueue.Stats }>
  readonly watches: ReadonlyArray<{
    /** Identity of the kind, such as `Pod.v1`. */
    readonly resource: string
    readonly namespace: string | undefined
    readonly status: Reflector.Status
    readonly objects: number
    /** Own writes the watch has not yet confirmed. */
    readonly unconfirmed: number
  }>
  readonly leases: ReadonlyArray<{ readonly lease: string; readonly status: LeaderElection.Status }>
  /** Names of the parts running in the background. */
  readonly parts: ReadonlyArray<string>
}

export class Manager extends Context.Service<Manager, {
  /** Completes when every controller has its caches and its workers; fails if a part failed instead. */
  readonly ready: Effect.Effect<void, Supervisor.PartFailed>
  /** Never succeeds; fails when a part fails. */
  readonly failure: Effect.Effect<never, Supervisor.PartFailed>
  readonly report: Effect.Effect<Report>
}>()("@effect-operator/core/Manager") {}

/**
 * Runs controllers for as long as the layer lives. Building it does not wait for the caches: see `ready`.
 *
 * What the controllers need besides a client and their declared kinds is what the layer needs.
 */
export const layer = <const Cs extends ReadonlyArray<Controller.Controller<any>>>(
  controllers: Cs,
  options: Options = {}
): Layer.Layer<Manager, never, KubeClient | Controller.RequirementsOf<Cs[number]>> =>
  Layer.effect(Manager, make(controllers, options))

const make = Effect.fnUntraced(function*<R>(
  controllers: ReadonlyArray<Controller.Controller<R>>,
  options: Options
) {
  const names = controllers.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) {
    return yield* Effect.die(
      new Error(`Manager.layer: controllers: two are named ${JSON.stringify(twice)}: give each a name of its own`)
    )
  }
  const supervisor = yield* Supervisor.make
  const client = yield* KubeClient
  const informers = yield* Layer.build(Informers.layer(supervisor)).pipe(
    Effect.map((context) => Context.get(context, Informers.Informers))
  )
  const sink = yield* EventRecorder.makeSink(supervisor, options.identity ?? defaults.identity)
  const drain = Duration.fromInputUnsafe(options.drain ?? (yield* Drain))
  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(sink.flush, Duration.min(drain, Duration.fromInputUnsafe(defaults.flush)))
  )

  // Before the controllers, so that it ends after them: the lease is held while they drain.
  const { elections, leadershipOf } = yield* elect(options.leaderElection, names, supervisor)
  const running: Array<Running> = []
  for (const controller of controllers) {
    running.push(
      yield* start(controller, supervisor, leadershipOf(controller.name)).pipe(
        Effect.provideService(KubeClient, client),
        Effect.provideService(Informers.Informers, informers),
        Effect.provideService(EventRecorder.EventSink, sink)
      )
    )
  }
  yield* Effect.addFinalizer(() =>
    Effect.logInfo("stopping: no new reconciles, those under way finish").pipe(
      Effect.andThen(Effect.forEach(running, ({ drain }) => drain, { concurrency: "unbounded", discard: true })),
      Effect.timeoutOrElse({
        duration: drain,
        orElse: () =>
          Effect.logWarning(
            `stopping: reconciles still under way are interrupted: ${
              running.filter(({ stats }) => stats().processing > 0).map(({ name }) => name).join(", ")
            }`
          )
      })
    )
  )

  const report = Effect.gen(function*() {
    const watches: Array<Report["watches"][number]> = []
    for (const { resource, selection, status, store } of informers.active()) {
      watches.push({
        resource: resource.id,
        namespace: selection.namespace,
        status: yield* SubscriptionRef.get(status),
        objects: store.size,
        unconfirmed: store.unconfirmed
      })
    }
    const leases: Array<Report["leases"][number]> = []
    for (const { lease, status } of elections) leases.push({ lease, status: yield* SubscriptionRef.get(status) })
    return {
      leases,
      controllers: running.map(({ name, stats }) => ({ name, queue: stats() })),
      watches,
      parts: supervisor.running()
    } satisfies Report
  })

  return Manager.of({
    ready: Effect.raceFirst(Effect.forEach(running, ({ ready }) => ready, { discard: true }), supervisor.failure),
    failure: supervisor.failure,
    report
  })
})

/** A candidate for each lease that the controllers share or have. */
const elect = Effect.fnUntraced(function*(
  options: Options["leaderElection"],
  controllers: ReadonlyArray<string>,
  supervisor: Supervisor.Supervisor
) {
  const elections = new Map<string, LeaderElection.Election>()
  const leaseOf = (controller: string): string =>
    options?.per === "controller" ? `${options.name}-${controller}` : options?.name ?? ""
  if (options !== undefined) {
    for (const name of new Set(controllers.map(leaseOf))) {
      elections.set(name, yield* LeaderElection.make({ ...options, name }, supervisor))
    }
  }
  return {
    elections: [...elections.values()],
    leadershipOf: (controller: string): Leadership.Leadership => elections.get(leaseOf(controller)) ?? Leadership.always
  }
})

/**
 * Builds the layers of an operator and runs them until interrupted, or until a part fails: then so does this.
 *
 * The way to run a manager. `Layer.launch` runs it too, but has no way to see that a background part failed.
 */
export const launch = <E, R>(
  operator: Layer.Layer<Manager, E, R>
): Effect.Effect<never, E | Supervisor.PartFailed, R> =>
  Effect.scoped(Effect.flatMap(Layer.build(operator), (context) => Context.get(context, Manager).failure))
