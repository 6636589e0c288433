/**
 * `Manager`: runs controllers on shared informers and one client, and reports their failures.
 *
 * The manager lives as long as its scope. On close, no new reconcile starts, those under way finish (up to the drain
 * time), events are written out, and watches close. If any part fails in the background, in the manager or in a layer
 * provided to it, `launch` fails with it, so nobody has to notice a log line.
 *
 * Controllers can be added and removed while it runs: `run` starts one for as long as a scope is open. Watches are
 * shared by reference count, so a controller leaves nothing behind. A kind that is missing or forbidden delays only the
 * controllers that need it; they start when it is there.
 *
 * Managers share nothing with each other, not even names and metrics; several may run in one process. If there is a
 * `Board`, they register on it for health, metrics and debug endpoints.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Tracer from "effect/Tracer"
import type { Client } from "./Client.ts"
import type * as Controller from "./Controller.ts"
import * as EventRecorder from "./EventRecorder.ts"
import * as Informers from "./Informers.ts"
import { type Running, start, type Status } from "./internal/controller.ts"
import { annotation, Legacy } from "./internal/Legacy.ts"
import * as Tracing from "./internal/tracing.ts"
import { KubeClient } from "./KubeClient.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as Leadership from "./Leadership.ts"
import * as Metrics from "./Metrics.ts"
import type { KeyState } from "./QueueState.ts"
import type * as Reflector from "./Reflector.ts"
import * as Resource from "./Resource.ts"
import * as Settings from "./Settings.ts"
import * as Ring from "./Ring.ts"
import * as Sharding from "./Sharding.ts"
import * as Supervisor from "./Supervisor.ts"
import type * as WorkQueue from "./WorkQueue.ts"

/** Default values. */
export const defaults = {
  /** How long running reconciles may take on stop; below a Pod's grace period of 30 s. */
  drain: "25 seconds",
  /** How long it may take to write recorded events on stop. */
  flush: "2 seconds",
  /** Identifies this process among its replicas, in events. */
  identity: "effect-operator"
} as const

/** How long running reconciles may take on stop, unless the options or the settings say otherwise. */
export const Drain = Context.Reference<Duration.Input>("@effect-operator/core/Manager/Drain", {
  defaultValue: () => defaults.drain
})

export interface Options {
  readonly drain?: Duration.Input | undefined
  readonly identity?: string | undefined
  /**
   * Of several replicas, one reconciles and the others keep their caches warm. Without it, all reconcile. `per` says
   * what has one leader: all controllers together (the default); each controller, by a lease with its name appended; or
   * each object, so that replicas share the work (see `Sharding`), each with a lease with its identity appended. With
   * `ring`, they share it as the `ControllerRing` of that name assigns the objects (see `Ring`), each with a lease
   * named after its identity. Replicas that differ in this, or in the lease, do not exclude each other: stop the old ones
   * before a version that changes it starts.
   */
  readonly leaderElection?: LeaderElection.Options & { readonly per?: LeaderElection.Per } | undefined
  /**
   * Distinguishes this manager from others in the process, in metrics and health checks. Not needed for a single one.
   */
  readonly name?: string | undefined
}

/** What a manager is doing, for health checks and tests. */
export interface Report {
  readonly controllers: ReadonlyArray<{
    readonly name: string
    /** Id of the kind it reconciles. */
    readonly resource: string
    readonly status: Status
    /** What its caches wait for, and why; empty once they are full. */
    readonly waitingFor: ReadonlyArray<string>
    readonly queue: WorkQueue.Stats
  }>
  readonly watches: ReadonlyArray<{
    /** Id of the kind, such as `Pod.v1`. */
    readonly resource: string
    /** `pods`, `deployments.apps`. */
    readonly plural: string
    readonly cluster: string | undefined
    readonly namespace: string | undefined
    /** Labels and fields as text; empty for all objects. */
    readonly selector: string
    readonly status: Reflector.Status
    /** When the server last sent something, in milliseconds since the epoch; undefined before that. */
    readonly lastEventAt: number | undefined
    /** How long ago that was, in milliseconds. */
    readonly quietFor: number | undefined
    /** Whether the first list has arrived. */
    readonly synced: boolean
    readonly objects: number
    /** Approximate memory of the objects, in bytes. */
    readonly bytes: number
    /** Own writes the watch has not yet confirmed. */
    readonly unconfirmed: number
    readonly traffic: Metrics.Traffic
  }>
  readonly leases: ReadonlyArray<{
    readonly lease: string
    readonly status: LeaderElection.Status
    /** Why the lease cannot be read or written; undefined while it can. */
    readonly trouble: string | undefined
  }>
  /** Names of the running background parts. */
  readonly parts: ReadonlyArray<string>
  /** Whether its scope is closing. */
  readonly stopping: boolean
  /** The part that failed, and why. */
  readonly failed: string | undefined
}

/** Why a controller was not started. */
export class ControllerRefused extends Data.TaggedError("ControllerRefused")<{
  readonly controller: string
  readonly message: string
}> {}

/** A controller that was added to a running manager. */
export interface Added {
  /** Completes when its caches are full and its workers run; fails if a part of the manager fails first. */
  readonly ready: Effect.Effect<void, Supervisor.PartFailed>
}

export class Manager extends Context.Service<Manager, {
  readonly name: string | undefined
  /** Completes when the caches of every controller are full and its workers run; fails if a part fails first. */
  readonly ready: Effect.Effect<void, Supervisor.PartFailed>
  /** Never succeeds; fails when a part fails. */
  readonly failure: Effect.Effect<never, Supervisor.PartFailed>
  readonly report: Effect.Effect<Report>
  /** The keys of a controller and their states; undefined if there is no such controller. */
  readonly keys: (controller: string) => {
    readonly known: ReadonlyArray<KeyState>
    /** Keys being processed, and since when, in milliseconds since the epoch. */
    readonly processing: ReadonlyMap<string, number>
  } | undefined
  /**
   * Runs another controller until the scope closes: then no new reconcile of it starts, running ones finish, and its
   * watches end unless others use them. Its requirements are taken from the context of this call; the client and the
   * caches are the manager's.
   */
  readonly run: <R>(
    controller: Controller.Controller<R>
  ) => Effect.Effect<Added, ControllerRefused, Exclude<R, KubeClient> | Scope.Scope>
  readonly client: Client
  /** The registry of the manager's metrics: its own, or the one in context if that is not the process-wide one. */
  readonly metrics: Metric.MetricRegistry
}>()("@effect-operator/core/Manager") {}

/** Where managers register, from start until nothing of them runs: see `Health`. */
export interface Board {
  readonly register: (manager: Manager["Service"]) => Effect.Effect<void, never, Scope.Scope>
  /** Adds a check for something outside any manager, until the scope closes. */
  readonly check?: ((part: CheckedPart) => Effect.Effect<void, never, Scope.Scope>) | undefined
}

/** A part of a process outside its managers, for health checks: each effect returns what is wrong, or undefined. */
export interface CheckedPart {
  readonly name: string
  readonly ready: Effect.Effect<string | undefined>
  readonly alive: Effect.Effect<string | undefined>
}

/** The board in context; none by default. */
export const Board: Context.Reference<Board | undefined> = Context.Reference<Board | undefined>(
  "@effect-operator/core/Manager/Board",
  { defaultValue: () => undefined }
)

/**
 * Runs controllers for as long as the layer lives. Building it does not wait for the caches: see `ready`.
 *
 * The layer requires what the controllers require besides a client and their declared kinds. Like any layer, one that
 * is used twice in a program is built once: for the same controllers in two clusters, call this twice.
 */
export const layer = <const Cs extends ReadonlyArray<Controller.Controller<any>>>(
  controllers: Cs,
  options: Options = {}
): Layer.Layer<Manager, never, KubeClient | Controller.RequirementsOf<Cs[number]>> =>
  Layer.effect(
    Manager,
    Effect.flatMap(ownRegistry, (registry) =>
      Effect.provideService(make(controllers, options, registry), Metric.MetricRegistry, registry))
  )

/** The registry in context, unless it is the process-wide one. */
const ownRegistry = Effect.contextWith((context: Context.Context<never>) => {
  const given = Context.get(context, Metric.MetricRegistry)
  return Effect.sync(() => given === Context.get(Context.empty(), Metric.MetricRegistry) ? new Map() : given)
})

const make = Effect.fnUntraced(function*<R>(
  controllers: ReadonlyArray<Controller.Controller<R>>,
  options: Options,
  metrics: Metric.MetricRegistry
) {
  const names = controllers.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) {
    return yield* Effect.die(
      new Error(`Manager.layer: controllers: two are named ${JSON.stringify(twice)}: give each its own name`)
    )
  }
  // First, so that it closes last: a manager stays on the board until nothing of it runs.
  const visible = yield* Scope.fork(yield* Effect.scope)
  const settings = yield* Settings.Settings
  const supervisor = yield* Supervisor.make
  const client = yield* KubeClient
  // Those of a `Cache.layer`, if the program has one.
  const given = yield* Effect.serviceOption(Informers.Informers)
  if (Option.isSome(given) && given.value.client !== client) {
    return yield* Effect.die(
      new Error(
        "Manager.layer: its Cache.layer has a different client, maybe for another cluster, and would not see the " +
          "manager's writes: give both the same client, or each manager its own Cache.layer"
      )
    )
  }
  const informers = Option.isSome(given)
    ? given.value
    : Context.get(yield* Layer.build(Informers.layer(supervisor)), Informers.Informers)
  const sink = yield* EventRecorder.makeSink(supervisor, options.identity ?? settings.identity ?? defaults.identity)
  const drain = Duration.fromInputUnsafe(options.drain ?? settings.drain ?? (yield* Drain))
  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(sink.flush, Duration.min(drain, Duration.fromInputUnsafe(defaults.flush)))
  )

  const { elections, leadershipOf } = yield* elect(
    Settings.election(options.leaderElection, settings),
    supervisor,
    drain,
    new Legacy(informers.written, informers.active),
    new Set(controllers.map(({ resource }) => Resource.qualifiedName(resource)))
  )
  const tracing = yield* Tracing.make
  const around = yield* Effect.context<never>()
  // Each controller has its own scope, within one that closes after the finalizer below has drained them all.
  const all = yield* Scope.fork(yield* Effect.scope)
  const running = new Map<string, Running>()
  /** Names of added controllers, until nothing of theirs runs, not even the candidate for a lease of their own. */
  const taken = new Set<string>()
  let stopping = false

  const finish = (parts: Iterable<Running>) =>
    Effect.forEach(parts, ({ drain }) => drain, { concurrency: "unbounded", discard: true }).pipe(
      Effect.timeoutOrElse({
        duration: drain,
        orElse: () =>
          Effect.logWarning(
            `stopping: interrupting reconciles that did not finish within the drain time: ${
              Array.from(parts).filter(({ stats }) => stats().processing > 0).map(({ name }) => name).join(", ")
            }`
          )
      })
    )

  /** Starts a controller in a scope of its own. */
  const begin = Effect.fnUntraced(function*<R>(controller: Controller.Controller<R>, scope: Scope.Closeable) {
    // Before the controller, so that it ends after it: the lease is held during the drain.
    const leadership = yield* leadershipOf(controller.name)
    const started = yield* start(controller, supervisor, leadership, tracing)
    const leave = Effect.suspend(() => stopping ? Effect.void : finish([started])).pipe(
      Effect.andThen(Effect.sync(() => running.delete(controller.name)))
    )
    yield* Effect.uninterruptible(
      Effect.andThen(Effect.sync(() => running.set(controller.name, started)), Scope.addFinalizer(scope, leave))
    )
    return started
  }, (effect, _, scope) =>
    effect.pipe(
      Effect.provideService(KubeClient, client),
      Effect.provideService(Informers.Informers, informers),
      Effect.provideService(EventRecorder.EventSink, sink),
      Effect.provideService(Metric.MetricRegistry, metrics),
      Effect.provideService(Settings.Settings, settings),
      Scope.provide(scope)
    ))

  for (const controller of controllers) yield* begin(controller, yield* Scope.fork(all))

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      stopping = true
    }).pipe(
      Effect.andThen(Effect.logInfo("stopping: no new reconciles; waiting for running ones to finish")),
      Effect.andThen(Effect.suspend(() => finish([...running.values()])))
    )
  )

  const report = Effect.gen(function*() {
    const watches: Array<Report["watches"][number]> = []
    for (const { lastEventAt, quietFor, resource, selection, status, store, traffic } of informers.active()) {
      watches.push({
        resource: resource.id,
        plural: Resource.qualifiedName(resource),
        cluster: resource.cluster,
        namespace: selection.namespace,
        selector: Metrics.selectorText(selection),
        status: yield* SubscriptionRef.get(status),
        lastEventAt: lastEventAt(),
        quietFor: quietFor(),
        synced: store.resourceVersion !== "0",
        objects: store.size,
        bytes: store.bytes,
        unconfirmed: store.unconfirmed,
        traffic: traffic()
      })
    }
    const leases: Array<Report["leases"][number]> = []
    for (const { lease, status, trouble } of elections()) {
      leases.push({ lease, status: yield* SubscriptionRef.get(status), trouble: trouble() })
    }
    const controllers: Array<Report["controllers"][number]> = []
    for (const { name, resource, stats, status, waitingFor } of running.values()) {
      controllers.push({
        name,
        resource,
        status: yield* SubscriptionRef.get(status),
        waitingFor: yield* waitingFor,
        queue: stats()
      })
    }
    return {
      leases,
      controllers,
      watches,
      parts: supervisor.running(),
      stopping,
      failed: supervisor.failed()?.message
    } satisfies Report
  })

  const initial = [...running.values()]
  const manager = Manager.of({
    name: options.name,
    client,
    metrics,
    ready: Effect.raceFirst(Effect.forEach(initial, ({ ready }) => ready, { discard: true }), supervisor.failure),
    failure: supervisor.failure,
    report,
    keys: (name) => {
      const controller = running.get(name)
      return controller === undefined ? undefined : { known: controller.keys(), processing: controller.processing() }
    },
    run: <R>(controller: Controller.Controller<R>) => {
      const { name } = controller
      const refuse = (message: string) => Effect.fail(new ControllerRefused({ controller: name, message }))
      const named = Effect.suspend(() => {
        if (stopping) return refuse(`${name}: the manager is stopping`)
        if (running.has(name) || taken.has(name)) {
          return refuse(
            `${name}: a controller of this name is running or has not ended yet: choose another name`
          )
        }
        return Effect.succeed(taken.add(name))
      })
      const own = Effect.gen(function*() {
        yield* named
        const scope = yield* Scope.fork(all)
        yield* Scope.addFinalizer(scope, Effect.sync(() => taken.delete(name)))
        return scope
      })
      const added = Effect.gen(function*() {
        const scope = yield* Effect.acquireRelease(own, Scope.close)
        const { ready } = yield* Effect.updateContext(begin(controller, scope), apart(around)).pipe(
          // If it does not start, it leaves nothing behind, and the name is free again.
          Effect.onError(() => Scope.close(scope, Exit.void))
        )
        return { ready: Effect.raceFirst(ready, supervisor.failure) } satisfies Added
      })
      // `start` provides the cached kinds, which are not part of R: see `Controller.make`.
      return added as Effect.Effect<Added, ControllerRefused, Exclude<R, KubeClient> | Scope.Scope>
    }
  })
  const board = yield* Board
  if (board !== undefined) yield* Scope.provide(board.register(manager), visible)
  return manager
})

/** A reconcile may add a controller, which must not inherit its span and its log annotations. */
const apart = (own: Context.Context<never>) => <R>(theirs: Context.Context<R>): Context.Context<R> =>
  Context.add(
    Context.omit(Tracer.ParentSpan)(theirs) as Context.Context<R>,
    References.CurrentLogAnnotations,
    Context.get(own, References.CurrentLogAnnotations)
  )

/** The candidates for leases: one that the controllers share, or one for each. */
const elect = Effect.fnUntraced(function*(
  options: ReturnType<typeof Settings.election>,
  supervisor: Supervisor.Supervisor,
  handover: Duration.Duration,
  legacy: Legacy,
  mains: ReadonlySet<string>
) {
  const elections = new Set<LeaderElection.Election>()
  const { name, namespace, per, ...rest } = options ?? {}
  if (options !== undefined && (name === undefined || namespace === undefined)) {
    return yield* Effect.die(
      new Error(
        "Manager.layer: leaderElection: the lease needs a name and a namespace: " +
          "give both, or set EFFECT_OPERATOR_LEASE_NAME and EFFECT_OPERATOR_LEASE_NAMESPACE"
      )
    )
  }
  const shown = (election: LeaderElection.Election) =>
    Effect.acquireRelease(
      Effect.sync(() => elections.add(election)),
      () => Effect.sync(() => elections.delete(election))
    )
  const candidate = (name: string) =>
    LeaderElection.make({ ...rest, name, namespace: namespace! }, supervisor, {
      say: () => ({ annotations: { [annotation]: legacy.text } }),
      hear: (annotations) => legacy.inherit(annotations[annotation])
    }).pipe(
      Effect.tap(shown),
      Effect.map(({ lead, permit }) =>
        Leadership.whole({ permit, lead: (work) => lead(Effect.andThen(legacy.caughtUp, work)) })
      )
    )
  const replica = Effect.gen(function*() {
    const identity = rest.identity ?? (yield* LeaderElection.randomIdentity)
    const sharding = yield* Sharding.make(
      { ...rest, identity, name: name!, namespace: namespace!, handover },
      supervisor,
      legacy
    )
    yield* shown(sharding.election)
    return sharding
  })
  const shard = Effect.gen(function*() {
    const identity = rest.identity ?? (yield* LeaderElection.randomIdentity)
    const ring = yield* Ring.make({ ...rest, identity, name: name!, namespace: namespace! }, supervisor, legacy, mains)
    yield* shown(ring.election)
    return ring
  })
  const shared: Leadership.Leadership = options === undefined || per === "controller"
    ? Leadership.always
    : yield* per === "object"
      ? replica
      : per === "ring"
      ? shard
      : candidate(name!)
  return {
    elections: (): ReadonlyArray<LeaderElection.Election> => [...elections],
    leadershipOf: (controller: string): Effect.Effect<Leadership.Leadership, never, KubeClient | Scope.Scope> =>
      per === "controller" && options !== undefined
        ? candidate(LeaderElection.nameOf(name!, controller))
        : Effect.succeed(shared)
  }
})

/**
 * Builds the layers of an operator and runs them until interrupted, or until a background part fails: then this fails,
 * too. Parts of all layers count, including those provided to the manager, such as a webhook server.
 *
 * Use this to run a manager. `Layer.launch` runs it, too, but cannot see that a background part failed.
 */
export const launch = <E, R>(
  operator: Layer.Layer<Manager, E, R>
): Effect.Effect<never, E | Supervisor.PartFailed, R> =>
  Effect.flatMap(Deferred.make<never, Supervisor.PartFailed>(), (failed) =>
    Layer.build(operator).pipe(
      Effect.flatMap((context) => Effect.raceFirst(Context.get(context, Manager).failure, Deferred.await(failed))),
      Effect.provideService(Supervisor.Above, (failure) => Deferred.fail(failed, failure)),
      Effect.scoped
    ))
