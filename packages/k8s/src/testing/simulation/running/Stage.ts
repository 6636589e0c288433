/**
 * `Stage`: one cluster, the processes of an operator in it, and the people who use it, in a `World` of their own.
 *
 * A process may die and restart; the server, the Pods and the garbage collector live on. The server begins as an image
 * that all runs of a scenario share. Controllers of the cluster start when there is something for them to do.
 */
import { KubeClient, make as makeClient } from "@effect-operator/core/KubeClient"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { Drain, Manager } from "@effect-operator/core/Manager"
import { Transport } from "@effect-operator/core/Transport"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import { ApiServer, type Change } from "../../ApiServer.ts"
import * as Declared from "../../Declared.ts"
import type * as Kubelet from "../../Kubelet.ts"
import * as SimControllers from "../../SimControllers.ts"
import * as TestClient from "../../TestClient.ts"
import { Listener } from "../../../webhook/WebhookServer.ts"
import { External } from "../External.ts"
import type { Scenario } from "../Scenario.ts"
import { fails, isElected, isElection, isRead, type Plan } from "../recording/Fault.ts"
import { type Entry, type Failure, madeByPeople } from "../recording/Recording.ts"
import { identityOf } from "../state/Identities.ts"
import { uncopied } from "../state/Outside.ts"
import * as Chances from "../world/Chances.ts"
import { begun, complete, imageOf, inhabitantsOf, making, placeOf, served } from "../world/Server.ts"
import { Unsound, World } from "../world/World.ts"
import { type Checkpoint, seedOf } from "./Checkpoint.ts"
import { declaredOf, Others } from "./Others.ts"
import { Pace } from "./Pace.ts"
import { defaults as wire, type Life, type Stale, Wire } from "./Wire.ts"

/** Milliseconds. */
export const defaults = {
  /** How long a process is away after a crash. */
  restart: 1_000,
  /** How long a process is away after it ended by itself. */
  backOff: 10_000,
  /** The cluster is at rest when nothing has happened for this long. */
  rest: 60_000,
  /**
   * After a failure was noticed, the cluster is not at rest before this time has passed. A retry later than that counts
   * as rest.
   */
  retry: 5 * 60_000,
  /** How long it may take to notice a failure: the client's timeout, and a moment. */
  notice: wire.patience + 1_000,
  /** How long the cluster may take to come to rest. */
  patience: 15 * 60_000,
  /** Requests without coming to rest after which the run is given up. */
  requests: 500,
  /** How long a step may last. */
  step: 31 * 24 * 3_600_000,
  /** How long the garbage collector takes to find out that an owner was never there. */
  collector: 1_000,
  /** How far the clock of a replica may be off. */
  skew: 5_000
} as const

/** Whether changes of an object do not count as activity, because they happen by themselves. */
const isIdle = (object: KubeObject): boolean => object.kind === "Event" || isElected(object)

const textOf = (outside: ReadonlyMap<string, unknown>): string =>
  JSON.stringify([...outside], (_, value) => value instanceof Map || value instanceof Set ? [...value] : value)

export class Stage {
  readonly world: World
  readonly scenario: Scenario
  readonly entries: Array<Entry>
  readonly wire: Wire
  readonly server: ApiServer["Service"]
  readonly people: Context.Context<ApiServer | KubeClient | Kubelet.Kubelet>
  readonly #processes = new Map<Life, Scope.Closeable>()
  readonly #plan: Plan
  readonly #built = Layer.makeMemoMapUnsafe()
  readonly #scope = Scope.makeUnsafe()
  readonly #awake = new Set<unknown>()
  readonly others: Others
  /** What is stored, by collection and key, without what the server had from its start. */
  readonly #stored: Map<string, KubeObject>
  #lives: number
  #revision: number
  /** The store's revision before the last step. */
  #before: number
  /** Takes the next step now. */
  hurry: Effect.Effect<void> = Effect.void
  /** The state outside after the last call. */
  #outside: string
  /** Whether somebody has taken away an object that the operator wrote, from its owner. */
  #taken = false
  /** When something last happened. */
  #active = 0
  /**
   * The longest time, in ms, in which nothing happened before something did, while everyone waited for the cluster to
   * rest.
   */
  lull = 0
  /** When a request of the operator last failed. */
  #failed = -Infinity
  /** Whether everyone is waiting for the cluster to come to rest. */
  #waits = false
  readonly #pace = new Pace()
  #over = false
  /** Whether the cluster exists, so that controllers can be started in it. */
  #isBuilt = false

  /** An empty cluster, or one as it was left. */
  constructor(scenario: Scenario, plan: Plan, first: number, from?: Checkpoint) {
    this.scenario = scenario
    this.#plan = plan
    const seed = seedOf(first, from)
    const image = from?.image ?? begun(imageOf(scenario), first, plan.interleaving)
    this.entries = [...from?.entries ?? []]
    this.#lives = from?.lives ?? 0
    this.#revision = image.revision
    this.#before = image.revision
    this.#stored = new Map(from?.stored ?? inhabitantsOf(image))
    this.world = new World({ seed, interleaving: plan.interleaving, start: from?.at })
    this.others = new Others({
      world: this.world,
      resources: scenario.resources,
      stored: this.#stored,
      entries: this.entries,
      access: () => this.people
    })
    const { layer, waiting } = SimControllers.onDemand({
      garbageCollector: { patience: defaults.collector },
      ...scenario.cluster,
      kubelet: { leases: false, ...scenario.cluster?.kubelet }
    })
    const cluster = Layer.merge(layer, Layer.effectDiscard(served(scenario))).pipe(
      Layer.provideMerge(TestClient.layer),
      Layer.provideMerge(ApiServer.layerOptions({
        image,
        chance: Chances.of(seed),
        onChange: (change) => {
          this.#revision = change.revision
          if (!this.others.isStrange(change.object)) this.#saw(change)
          if (this.#isBuilt) { for (const controller of waiting.get(change.collection) ?? []) this.#wake(controller) }
        }
      })),
      // The randomness of others does not depend on how often the server is asked, either.
      Layer.provide(Layer.succeed(Random.Random, Chances.service(seed)))
    )
    this.people = complete(this.world, Layer.buildWithMemoMap(cluster, this.#built, this.#scope))
    this.server = Context.get(this.people, ApiServer)
    this.wire = new Wire({
      server: this.server,
      from,
      revision: () => this.#revision,
      plan,
      now: () => this.world.now,
      note: (entry) => this.note(entry),
      crash: (life, stale, away) => this.crash(life, stale, away),
      before: () => this.#old(),
      haunted: (revision) => this.#haunted(revision),
      hurry: Effect.suspend(() => this.hurry),
      stir: () => {
        this.#active = this.world.now
      },
      doom: (n, object) => this.others.doom(n, object),
      hinder: (job) => this.others.hinder(job),
      mischief: (fault, object) => this.others.mischief(fault, object)
    })
    this.#outside = textOf(this.wire.outside)
    this.#isBuilt = true
    // What existed before, and what the cluster itself has created meanwhile, such as its nodes.
    const busy = new Set(this.entries.map((entry) => entry._tag === "Change" ? entry.change.collection : ""))
    for (const [collection, some] of waiting) if (busy.has(collection)) some.forEach((one) => this.#wake(one))
  }

  /** Something that the story is about has changed. */
  #saw(change: Change): void {
    const place = placeOf(change.collection, change.key)
    if (change.type === "DELETED") this.#stored.delete(place)
    else this.#stored.set(place, change.object)
    this.note({ _tag: "Change", at: this.world.now, change })
    this.others.saw(change)
  }

  /** Starts a controller of the cluster that has something to do now. */
  #wake(controller: Layer.Layer<never, never, ApiServer | KubeClient>): void {
    if (this.#awake.has(controller)) return
    this.#awake.add(controller)
    const start = Layer.buildWithMemoMap(controller, this.#built, this.#scope)
    this.world.fork(Effect.provideContext(start, this.people))
  }

  note(entry: Entry): void {
    if (this.#over) return
    this.entries.push(entry)
    const hot = entry._tag === "Call" ? this.#pace.hot(this.world.now, entry, this.entries) : undefined
    if (hot !== undefined) this.world.stop(hot)
    const counts = entry._tag === "Change"
      ? !isIdle(entry.change.object)
      : entry._tag === "Call"
      ? !isRead(entry.request) && !isElection(entry.request) && !this.#isRefused(entry)
      : entry._tag === "Event"
      ? !isIdle(entry.object)
      : entry._tag === "External"
      ? this.#outsideChanged()
      : entry._tag !== "Log"
    if (counts) {
      if (this.#waits) this.lull = Math.max(this.lull, this.world.now - this.#active)
      this.#active = this.world.now
    }
    if (entry._tag !== "Fault") return
    if (entry.point.fault === "orphaned") this.#taken = true
    if (fails(entry.point)) this.#failed = this.world.now
    // Nothing can be retried before then.
    if (entry.point.fault === "cutOff") this.#failed = this.world.now + wire.cut
  }

  /** An operator that keeps requesting what somebody has taken away, and does not adopt it, has nothing else to do. */
  #isRefused({ status }: Extract<Entry, { readonly _tag: "Call" }>): boolean {
    return this.#taken && (status === 409 || status === 422)
  }

  /** Reading from the outside is not activity; changing it is. */
  #outsideChanged(): boolean {
    const outside = textOf(this.wire.outside)
    const changed = outside !== this.#outside
    this.#outside = outside
    return changed
  }

  /** Everything stored, without what the server had from its start. */
  objects(): ReadonlyArray<KubeObject> {
    return [...this.#stored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  /** The clock of a replica. */
  #clock(replica: number): Clock.Clock {
    const { clock } = this.world
    const point = this.#plan.points.find(({ _tag, at }) => _tag === "Clock" && at === replica)
    if (point === undefined) return clock
    this.wire.happens(point)
    const skew = point.fault === "clockAhead" ? defaults.skew : -defaults.skew
    const millis = () => clock.currentTimeMillisUnsafe() + skew
    const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(skew) * 1_000_000n
    return {
      ...clock,
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos)
    }
  }

  /**
   * People, with a listener for the uids of what they create. They have the same outside as the operator, and no fault is
   * at what they do there.
   */
  making(tell: (uid: string) => void): typeof this.people {
    return Context.add(this.people, KubeClient, makeClient(making(this.server, tell))).pipe(
      Context.add(External, { state: this.wire.outside, call: (_, __, act) => act })
    )
  }

  /** Starts a process of the operator. */
  start(replica: number, stale?: Stale): void {
    const { scenario, wire, world } = this
    const life: Life = {
      replica,
      number: ++this.#lives,
      dead: false,
      stale: stale === undefined ? undefined : { ...stale, until: world.now + 30_000 },
      cutUntil: 0
    }
    this.note({ _tag: "Start", at: world.now, replica, life: life.number })
    const scope = Scope.makeUnsafe()
    this.#processes.set(life, scope)
    const program = typeof scenario.operator === "function"
      ? scenario.operator({ index: replica, identity: identityOf(replica) })
      : scenario.operator
    if (!Layer.isLayer(program)) {
      throw new Unsound(`the function \`operator\` of the scenario returned ${String(program)}: it must return a layer`)
    }
    const transport = wire.transport(life)
    const operator = Layer.fresh(program as Layer.Layer<unknown, unknown, KubeClient>).pipe(
      Layer.provide(Layer.sync(KubeClient, () => makeClient(transport))),
      Layer.provide(Layer.succeed(Transport, transport)),
      // Hooks are the cluster's: see `webhooks` of the scenario.
      Layer.provide(Layer.succeed(Listener, { listen: () => Effect.void })),
      Layer.provide(this.#logs(life))
    )
    const main = Layer.buildWithScope(operator, scope).pipe(
      Effect.flatMap((context) => {
        const manager = Context.getOption(context as Context.Context<Manager>, Manager)
        return manager._tag === "Some" ? manager.value.failure : Effect.never
      }),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          if (life.dead) return
          const why = String(Cause.squash(cause))
          this.note({ _tag: "Exit", at: world.now, replica, life: life.number, why })
          this.crash(life, undefined, defaults.backOff)
        })
      ),
      Effect.provideService(Drain, 0),
      Effect.provideService(External, wire.external(life)),
      Effect.provideService(Clock.Clock, this.#clock(replica)),
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
    world.fork(main as Effect.Effect<unknown>)
  }

  readonly #logs = (life: Life) =>
    Logger.layer([
      Logger.make(({ cause, logLevel, message }) => {
        if (life.dead) return
        const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
        const why = cause.reasons.length === 0 ? "" : `: ${String(Cause.squash(cause))}`
        const { number, replica } = life
        this.note({ _tag: "Log", at: this.world.now, replica, life: number, level: logLevel, text: `${text}${why}` })
      })
    ])

  /** Kills the process at once; another one starts a little later. */
  crash(life: Life, stale?: Stale, away: number = defaults.restart): void {
    if (life.dead) return
    life.dead = true
    this.note({ _tag: "Crash", at: this.world.now, replica: life.replica, life: life.number })
    const scope = this.#processes.get(life)!
    this.#processes.delete(life)
    this.world.fork(
      Effect.andThen(
        Effect.andThen(Effect.yieldNow, Effect.forkDetach(Scope.close(scope, Exit.void))),
        Effect.andThen(Effect.sleep(away), Effect.sync(() => this.start(life.replica, stale)))
      )
    )
  }

  /** Custom resources as they were before the last step. */
  #old(): Stale {
    const only = Declared.versions(this.scenario.resources).map(({ group, version }) => `/apis/${group}/${version}/`)
    return { revision: this.#before, only }
  }

  /**
   * Whether a custom resource (without those, an object that people have made) that is terminating or gone looks alive in
   * a revision. An operator could not know, and what it then does outside the cluster, or without an owner, stays.
   */
  #haunted(revision: number): boolean {
    const { resources } = this.scenario
    const made = new Set(madeByPeople(this.entries))
    const alive = new Set<string>()
    for (const entry of this.entries) {
      if (entry._tag !== "Change") continue
      const { object, type } = entry.change
      if (resources.length > 0 ? declaredOf(resources, object) === undefined : !made.has(object.metadata.uid)) continue
      const lives = type !== "DELETED" && !isTerminating(object)
      if (entry.change.revision > revision) {
        if (!lives && alive.has(object.metadata.uid)) return true
      } else if (lives) alive.add(object.metadata.uid)
      else alive.delete(object.metadata.uid)
    }
    return false
  }

  /** Called before a step is taken. */
  begin(): void {
    this.#before = this.#revision
  }

  /** All processes die and restart. */
  restart(away: number = defaults.restart): void {
    for (const life of this.#processes.keys()) this.crash(life, undefined, away)
  }

  /** When the cluster will have come to rest, if nothing more happens. */
  #quietAt(): number {
    return Math.max(this.#active + this.#rest, this.#failed + defaults.notice + defaults.retry)
  }

  /** How long nothing must happen before the cluster is at rest. */
  get #rest(): number {
    const { rest } = this.scenario
    return rest === undefined ? defaults.rest : Duration.toMillis(Duration.fromInputUnsafe(rest))
  }

  /** Lets time pass until this holds; false if that does not come. */
  passes(until: () => boolean): boolean {
    const { world } = this
    const deadline = world.now + defaults.step
    world.settle()
    while (!until()) {
      const next = world.nextAt
      if (next === undefined || next > deadline) return false
      world.advance(Math.max(0, next - world.now))
    }
    return true
  }

  /** Lets time pass until nothing has happened for a while; false if that does not come. */
  rest(): boolean {
    const { world } = this
    const deadline = world.now + defaults.patience + this.#rest - defaults.rest
    const limit = this.wire.calls + defaults.requests
    this.#active = world.now
    this.#waits = true
    this.#pace.wait()
    let rests = false
    while (!rests && world.now < deadline && this.wire.calls < limit && !this.#pace.endless) {
      const quiet = this.#quietAt()
      const next = Math.min(world.nextAt ?? quiet, quiet)
      world.advance(Math.max(0, next - world.now))
      rests = world.now >= this.#quietAt()
    }
    this.#waits = false
    return rests
  }

  /**
   * All processes die, and nothing more happens. Returns the checkpoint from which a run can continue after these
   * steps.
   */
  leave(steps: ReadonlyArray<number>, failure: Failure | undefined): Checkpoint {
    const { entries, wire, world } = this
    for (const { number, replica } of this.#processes.keys()) {
      this.note({ _tag: "Crash", at: world.now, replica, life: number })
    }
    this.end()
    const [strange] = [...wire.outside].flatMap(([name, value]) => {
      const found = uncopied(value)
      return found === undefined ? [] : [
        `the run cannot be continued from this step: the state ${JSON.stringify(name)} of External.state ` +
        `contains a ${found}, which cannot be copied: use Maps, Sets, arrays and plain objects, or leave out \`window\``
      ]
    })
    return {
      at: world.now,
      // Not run in the world, which may have been stopped.
      image: Effect.runSync(this.server.image),
      stored: new Map(this.#stored),
      outside: wire.outside,
      untouched: wire.outside.untouched,
      entries,
      reach: { call: wire.calls, event: wire.events, external: wire.externals, step: steps.length },
      steps,
      lives: this.#lives,
      failure: failure ?? (strange === undefined ? undefined : { _tag: "Unsound", message: strange })
    }
  }

  /** Nothing is recorded from now on. */
  end(): void {
    this.#over = true
    for (const life of this.#processes.keys()) life.dead = true
  }
}
