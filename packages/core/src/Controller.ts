/**
 * `Controller`: one kind, the kinds it depends on, and the reconciler that brings objects to their desired state.
 *
 * `make` is only a description; a `Manager` runs it. Guarantees:
 * - Every cache is full before the first reconcile. A cache that does not fill is reported until it does.
 * - A key is never in two workers. A key that changes while it is reconciled is reconciled again.
 * - Errors and defects of one object delay only that object, and never stop the controller.
 * - A key that writes the same again and again is slowed down.
 * - An object that does not decode is reported (log, event, metric) and skipped.
 * - On stop, the reconciles under way finish, unless they take longer than the manager's drain time.
 *
 * The controller's own status writes, and the finalizer it adds, do not wake it: the reconcile that made them has seen
 * them. Every other change does, including its writes to other objects.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import type * as Action from "./Action.ts"
import type { Cached, CachedEach } from "./Cache.ts"
import * as Finalizer from "./Finalizer.ts"
import type { KubeClient } from "./KubeClient.ts"
import type { KubeObject } from "./KubeObject.ts"
import type { Predicate } from "./Predicate.ts"
import type { Context, Retried } from "./Reconciler.ts"
import type * as Resource from "./Resource.ts"
import type * as Source from "./Source.ts"
import * as Watch from "./Watch.ts"
import type * as WorkQueue from "./WorkQueue.ts"

/** Default values. */
export const defaults = {
  /** Maximum number of concurrent reconciles. */
  concurrency: 1,
  /** How long all caches may take to fill before the controller reports what it waits for, repeatedly. */
  cacheSyncTimeout: "2 minutes",
  /** Every object is reconciled again at this interval, even if nothing changes. */
  resync: "10 hours"
} as const

export interface Options<
  A extends KubeObject,
  Id extends string,
  E,
  R,
  FE,
  FR,
  O extends ReadonlyArray<Resource.Any>,
  W extends ReadonlyArray<Watch.Watch>,
  SR,
  D extends Watch.Watch,
  DR,
  RI
> extends Watch.Scope {
  /** The kind whose objects are reconciled. */
  readonly for: Resource.Resource<A, Id>
  /** Which changes of those objects trigger a reconcile; all by default. A new wait for `finalize` always does. */
  readonly predicate?: Predicate<A> | undefined
  /** Kinds whose objects have a controller owner reference to an object of `for`. */
  readonly owns?: O | undefined
  /** Other kinds to read, and which objects are reconciled when they change. */
  readonly watches?: W | undefined
  /**
   * Watches that come and go while the controller runs: of kinds that objects refer to, of namespaces that a label
   * selects. Each element is the complete set and replaces the previous one. A selection that stays keeps its watch; if
   * its `Watch` is a new value, existing objects wake those keys that they did not wake before. The stream may read the
   * cache, and starts once the cache is full. If it fails, it is restarted with a growing delay, and the current
   * watches stay. The cache does not offer objects of these kinds: read them with the client.
   */
  readonly dynamicWatches?: Stream.Stream<ReadonlyArray<D>, unknown, DR> | undefined
  /** What wakes the controller besides its watches. */
  readonly sources?: ReadonlyArray<Source.Source<SR>> | undefined
  readonly reconcile: (object: A, context: Context) => Effect.Effect<Action.Action, E, R>
  /**
   * Cleans up before an object is deleted. This adds a finalizer: the object stays until the clean-up succeeds with
   * `Action.done`. A clean-up that fails, asks for another run or waits for a change (`Action.awaitChange`) keeps the
   * finalizer. So does an object that leaves the selection (`labels`, `fields`): nothing cleans it up then, which the
   * log and an event report.
   */
  readonly finalize?: ((object: A, context: Context) => Effect.Effect<Action.Action, FE, FR>) | undefined
  /**
   * Name of the finalizer. Default: `<group>/<name of the controller>`, or `effect-operator.dev/<name>` for kinds of
   * Kubernetes itself, whose domains are reserved. If you rename a controller, set this to the finalizer that objects
   * already have: nothing else would remove it. For a kind that others define, use a domain of your own.
   */
  readonly finalizer?: string | undefined
  readonly concurrency?: number | undefined
  /**
   * Delays after failures of one key, by error (undefined for a defect); by default 5 ms, doubled up to 16 min. When
   * the schedule ends, the object rests until something changes; if it throws on an error, the default delay applies. A
   * schedule that looks at errors declares which it accepts: `Schedule.setInputType<Reconciler.Retried<Busy>>()`.
   */
  readonly retry?: Schedule.Schedule<unknown, RI> | undefined
  /** Time limit of one reconcile or clean-up, which is then interrupted and counts as failed. No limit by default. */
  readonly timeout?: Duration.Input | undefined
  /** How long a change waits to be merged with others of the same object; not at all by default. */
  readonly debounce?: Duration.Input | undefined
  /**
   * How many reconciles may start per interval on average, and at once after a pause, over all objects; no limit by
   * default.
   */
  readonly rate?: WorkQueue.Rate | undefined
  readonly cacheSyncTimeout?: Duration.Input | undefined
  readonly resync?: Duration.Input | undefined
}

/** Values that `Settings` may set for controllers whose options leave them out. */
export interface Figures {
  readonly concurrency?: number | undefined
  readonly timeout?: Duration.Duration | undefined
  readonly cacheSyncTimeout?: Duration.Duration | undefined
  readonly resync?: Duration.Duration | undefined
}

/** The description of a controller that needs `R` to run. */
export interface Controller<out R = never> {
  readonly name: string
  readonly resource: Resource.Any
  /** The controller's own kind first. */
  readonly watches: ReadonlyArray<Watch.Watch>
  readonly dynamicWatches: Stream.Stream<ReadonlyArray<Watch.Watch>, unknown, R> | undefined
  readonly sources: ReadonlyArray<Source.Source<R>>
  readonly reconcile: (object: KubeObject, context: Context) => Effect.Effect<Action.Action, unknown, R>
  readonly finalize:
    | {
      readonly finalizer: string
      readonly run: (object: KubeObject, context: Context) => Effect.Effect<Action.Action, unknown, R>
    }
    | undefined
  readonly concurrency: number
  readonly timeout: Duration.Duration | undefined
  /** What the options set, which `Settings` does not override. */
  readonly stated: Figures
  readonly queue: Pick<WorkQueue.Options, "retry" | "debounce" | "rate">
  readonly cacheSyncTimeout: Duration.Duration
  readonly resync: Duration.Duration
}

/** Requires that a retry schedule accepts every possible error. */
type Knows<E, RI> = [Retried<E>] extends [RI] ? unknown
  : { readonly retry?: Schedule.Schedule<unknown, Retried<E>> | undefined }

/** What a controller needs besides a client and the kinds it declares. */
export type RequirementsOf<C> = C extends Controller<infer R> ? R : never

/**
 * Describes a controller. Reading a kind that is neither `for`, `owns` nor `watches` leaves its `Cached<…>` in the
 * requirements, where nothing can provide it: the program does not compile.
 */
export const make = <
  A extends KubeObject,
  Id extends string,
  E,
  R,
  FE = never,
  FR = never,
  const O extends ReadonlyArray<Resource.Any> = [],
  const W extends ReadonlyArray<Watch.Watch> = [],
  SR = never,
  D extends Watch.Watch = never,
  DR = never,
  RI = unknown
>(
  name: string,
  options: Options<A, Id, E, R, FE, FR, O, W, SR, D, DR, RI> & Knows<E | FE, RI>
): Controller<
  Exclude<
    R | FR | SR | DR | (W[number] | D extends infer One ? CachedEach<Watch.ReadsOf<One>> : never),
    KubeClient | Cached<Resource.KnownIdOf<Resource.Resource<A, Id> | O[number] | W[number]["resource"]>>
  >
> => {
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    throw new Error(
      `Controller.make: name: ${JSON.stringify(name)}: must consist of lower-case letters, digits and "-"`
    )
  }
  const concurrency = options.concurrency ?? defaults.concurrency
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new Error(`Controller.make: ${name}: concurrency: ${concurrency}: must be a whole number above 0`)
  }
  const resync = Duration.fromInputUnsafe(options.resync ?? defaults.resync)
  const cacheSyncTimeout = Duration.fromInputUnsafe(options.cacheSyncTimeout ?? defaults.cacheSyncTimeout)
  for (const [what, duration] of Object.entries({ resync, cacheSyncTimeout })) {
    if (Duration.toMillis(duration) >= 1000) continue
    throw new Error(`Controller.make: ${name}: ${what}: ${Duration.format(duration)}: must be at least 1 second`)
  }
  const timeout = maybe(options.timeout)
  if (timeout !== undefined && !(Duration.toMillis(timeout) > 0)) {
    throw new Error(
      `Controller.make: ${name}: timeout: ${Duration.format(timeout)}: must be above 0; leave it out for no limit`
    )
  }
  // If the kind has no namespaces, they say where its children are.
  const confined = options.owns?.find(({ scope }) => scope === "Namespaced") ?? options.for
  const own = { namespaces: options.namespaces, resource: confined }
  for (const { namespaces, resource } of [own, ...(options.watches ?? [])]) {
    if (namespaces === undefined) continue
    if (namespaces.length === 0) {
      throw new Error(`Controller.make: ${name}: namespaces: []: selects nothing; leave it out for all namespaces`)
    }
    if (resource.scope === "Cluster") {
      throw new Error(
        `Controller.make: ${name}: namespaces: ${
          namespaces.join(", ")
        }: ${resource.kind} is cluster-scoped: leave it out`
      )
    }
  }
  for (const what of ["reconcile", "finalize"] as const) {
    if (options[what] !== undefined && typeof options[what] !== "function") {
      throw new Error(
        `Controller.make: ${name}: ${what}: must be a function that takes the object and returns an Effect, got ` +
          `${Effect.isEffect(options[what]) ? "an Effect" : typeof options[what]}`
      )
    }
  }
  const { finalize } = options
  const finalizer = finalize === undefined ? undefined : options.finalizer ?? `${domainOf(options.for)}/${name}`
  const namespacesOf = ({ scope }: Resource.Any) => scope === "Cluster" ? undefined : options.namespaces
  const self = Watch.make(options.for, {
    namespaces: namespacesOf(options.for),
    labels: options.labels,
    fields: options.fields,
    predicate: watchful(options.predicate, finalizer),
    map: ({ metadata }) => [metadata]
  })
  const elsewhere = (options.owns ?? []).find(({ cluster }) => cluster !== options.for.cluster)
  if (elsewhere !== undefined) {
    throw new Error(
      `Controller.make: ${name}: owns: ${elsewhere.id}: owner references do not cross clusters: use watches`
    )
  }
  const wider = options.for.scope === "Cluster" ? undefined : options.owns?.find(({ scope }) => scope === "Cluster")
  if (wider !== undefined) {
    throw new Error(
      `Controller.make: ${name}: owns: ${wider.id}: ${options.for.kind} is namespaced and cannot own a cluster-scoped ` +
        "object: use Watch.labelled with an OwnerLabel, and clean up in finalize"
    )
  }
  const owns = (options.owns ?? []).map((resource) =>
    Watch.owned(resource, options.for, { namespaces: namespacesOf(resource) })
  )
  // The cached kinds and the client are provided by `start`; what remains in R is the user's.
  type Erased = Controller<any>
  return {
    name,
    resource: options.for,
    watches: [self, ...owns, ...(options.watches ?? [])],
    dynamicWatches: options.dynamicWatches as Erased["dynamicWatches"],
    sources: (options.sources ?? []) as Erased["sources"],
    reconcile: options.reconcile as Erased["reconcile"],
    finalize: finalizer === undefined ? undefined : { finalizer, run: finalize as Erased["reconcile"] },
    concurrency,
    timeout,
    stated: {
      concurrency: options.concurrency,
      timeout,
      cacheSyncTimeout: maybe(options.cacheSyncTimeout),
      resync: maybe(options.resync)
    },
    // The cast is sound: `Knows` requires a schedule that accepts every error of the controller.
    queue: { retry: options.retry as Erased["queue"]["retry"], debounce: options.debounce, rate: options.rate },
    cacheSyncTimeout,
    resync
  } satisfies Erased
}

/** Always passes the beginning of a wait for this controller's finalizer: nobody else could let the object go. */
const watchful = <A extends KubeObject>(
  predicate: Predicate<A> | undefined,
  finalizer: string | undefined
): Predicate<A> | undefined =>
  predicate === undefined || finalizer === undefined
    ? predicate
    : (delta) => Finalizer.isDue(delta, finalizer) || predicate(delta)

/** Groups without a dot, and those below these two domains, are reserved: api-approved.kubernetes.io, KEP-2337. */
const domainOf = ({ group }: Resource.Any): string =>
  !group.includes(".") || /(^|\.)(k8s|kubernetes)\.io$/.test(group) ? "effect-operator.dev" : group

const maybe = (duration: Duration.Input | undefined): Duration.Duration | undefined =>
  duration === undefined ? undefined : Duration.fromInputUnsafe(duration)
