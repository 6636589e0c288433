/**
 * One run of a scenario under a plan of faults, from an empty cluster to its rest, in a `World` of its own.
 *
 * The operator's process may die and start again; the server, the Pods and the garbage collector live on. After the
 * last step, when nothing moves any more, an hour passes in which nothing should happen.
 */
import { KubeClient, make as makeClient, Patch } from "@effect-operator/core/KubeClient"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { Drain } from "@effect-operator/core/Manager"
import * as Resource from "@effect-operator/core/Resource"
import { Transport } from "@effect-operator/core/Transport"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { Pod } from "../../kinds/core.v1.ts"
import * as Crd from "../../Crd.ts"
import { ApiServer } from "../ApiServer.ts"
import * as Kubelet from "../Kubelet.ts"
import * as SimControllers from "../SimControllers.ts"
import * as TestClient from "../TestClient.ts"
import type { Plan } from "./Fault.ts"
import type { Entry, Recording } from "./Recording.ts"
import type { Scenario } from "./Scenario.ts"
import { type Life, Wire } from "./Wire.ts"
import { Restless, World } from "./World.ts"

export const defaults = {
  /** How long a process is away after a crash, in milliseconds. */
  restart: 1_000,
  /** The cluster has come to rest when nothing has happened for so long. */
  rest: 60_000,
  /** It is given so long to come to rest. */
  patience: 30 * 60_000,
  /** How long it is watched afterwards. */
  quiet: 60 * 60_000,
  /** What a scenario's cluster has, if it does not say: Pods that run, and a garbage collector. */
  cluster: {
    without: [
      "namespaces",
      "replicaSets",
      "deployments",
      "statefulSets",
      "daemonSets",
      "jobs",
      "cronJobs",
      "disruption",
      "endpoints",
      "nodes"
    ]
  } as SimControllers.Options
} as const

export interface Options {
  /** Seed of everything drawn by chance: uids, generated names, jitter. */
  readonly seed: number
  /** Whether the quiet hour is lived through. */
  readonly quiet?: boolean
}

/** A clean world, ready for the first step. */
class Stage {
  readonly world: World
  readonly scenario: Scenario
  readonly entries: Array<Entry> = []
  readonly wire: Wire
  readonly server: ApiServer["Service"]
  readonly people: Context.Context<ApiServer | KubeClient | Kubelet.Kubelet>
  readonly scope: Scope.Closeable
  life: Life = { number: 0, dead: true, stale: undefined }
  process: Scope.Closeable | undefined
  /** When something happened last. */
  active = 0

  constructor(scenario: Scenario, plan: Plan, options: Options) {
    this.scenario = scenario
    this.world = new World({ seed: options.seed, interleaving: plan.interleaving })
    this.scope = this.world.run(Scope.make())
    const cluster = Layer.effectDiscard(
      Effect.forEach(scenario.resources, (resource) => Crd.install(resource), { discard: true })
    ).pipe(
      Layer.provideMerge(SimControllers.layer(scenario.cluster ?? defaults.cluster)),
      Layer.provideMerge(TestClient.layer),
      Layer.provideMerge(ApiServer.layer),
      Layer.fresh
    )
    this.people = this.await(Layer.buildWithScope(cluster, this.scope))
    this.server = Context.get(this.people, ApiServer)
    this.wire = new Wire({
      server: this.server,
      plan,
      now: () => this.world.now,
      note: (entry) => this.note(entry),
      crash: (life, stale) => this.crash(life, stale),
      mischief: (fault, object) => this.mischief(fault, object)
    })
  }

  note(entry: Entry): void {
    this.entries.push(entry)
    if (entry._tag !== "Log") this.active = this.world.now
  }

  /** Runs a program of the cluster's own to its end, however long it takes. */
  await<A, E>(program: Effect.Effect<A, E>): A {
    const fiber = this.world.fork(program)
    this.world.settle()
    for (let waited = 0; fiber.pollUnsafe() === undefined && waited < 600; waited++) this.world.advance(100)
    const exit = fiber.pollUnsafe()
    if (exit === undefined) throw new Error("the program waits for something real")
    if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
    return exit.value
  }

  /** Starts the operator's process. */
  start(stale?: number): void {
    const life: Life = { number: this.life.number + 1, dead: false, stale }
    this.life = life
    this.note({ _tag: "Start", at: this.world.now, life: life.number })
    const scope = this.world.run(Scope.make())
    this.process = scope
    const operator = Layer.fresh(this.scenario.operator).pipe(
      Layer.provide(Layer.sync(KubeClient, () => makeClient(this.wire.transport(life)))),
      Layer.provide(Layer.succeed(Transport, this.wire.transport(life))),
      Layer.provide(this.logs)
    )
    this.world.fork(Effect.provideService(Layer.buildWithScope(operator, scope), Drain, 0) as Effect.Effect<unknown>)
  }

  readonly logs = Logger.layer([
    Logger.make(({ cause, logLevel, message }) => {
      if (logLevel !== "Warn" && logLevel !== "Error" && logLevel !== "Fatal") return
      const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
      const why = cause.reasons.length === 0 ? "" : `: ${String(Cause.squash(cause))}`
      this.note({ _tag: "Log", at: this.world.now, level: logLevel, text: `${text}${why}` })
    })
  ])

  /** The process is gone from one moment to the next; another starts a little later. */
  crash(life: Life, stale?: number): void {
    if (life.dead) return
    life.dead = true
    this.note({ _tag: "Crash", at: this.world.now, life: life.number })
    const scope = this.process!
    this.world.fork(
      Effect.andThen(
        Effect.andThen(Effect.yieldNow, Effect.forkDetach(Scope.close(scope, Exit.void))),
        Effect.andThen(Effect.sleep(defaults.restart), Effect.sync(() => this.start(stale)))
      )
    )
  }

  mischief(fault: "podFailed" | "podRemoved" | "orphaned", object: KubeObject | undefined): Effect.Effect<void> {
    const act = fault === "orphaned" ? this.orphan(object) : this.harm(fault)
    return Effect.ignore(Effect.provideContext(act, this.people))
  }

  harm(fault: "podFailed" | "podRemoved"): Effect.Effect<unknown, unknown, KubeClient | Kubelet.Kubelet> {
    return Effect.gen(function*() {
      const client = yield* KubeClient
      const { items } = yield* client.listPage(Pod, { limit: 0 })
      const victim = items.find((pod) => !isTerminating(pod))
      if (victim === undefined) return
      yield* fault === "podFailed" ? Kubelet.fail(victim) : client.delete(Pod, victim, { gracePeriodSeconds: 0 })
    })
  }

  orphan(object: KubeObject | undefined): Effect.Effect<unknown, unknown, KubeClient> {
    if (object === undefined || object.kind === "Event") return Effect.void
    const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["", object.apiVersion]
    const known = this.scenario.resources.find(({ kind }) => kind === object.kind)
    const resource = Resource.make<KubeObject>()({
      group: group!,
      version: version!,
      kind: object.kind,
      plural: known?.plural ?? `${object.kind.toLowerCase()}s`,
      scope: object.metadata.namespace === undefined ? "Cluster" : "Namespaced"
    })
    const patch = Patch.merge({ metadata: { labels: null, ownerReferences: null } })
    return KubeClient.use((client) => client.patch(resource, object.metadata, patch))
  }

  /** Lets time pass until nothing has happened for a while; false if that never comes. */
  rest(): boolean {
    const deadline = this.world.now + defaults.patience
    this.active = this.world.now
    let revision = this.world.run(this.server.revision)
    while (this.world.now < deadline) {
      this.world.advance(1_000)
      const now = this.world.run(this.server.revision)
      if (now !== revision) this.active = this.world.now
      revision = now
      if (this.world.now - this.active >= defaults.rest) return true
    }
    return false
  }
}

/** Runs a scenario. Never throws: what goes wrong is in the recording. */
export const run = (scenario: Scenario, plan: Plan, options: Options): Recording => {
  const stage = new Stage(scenario, plan, options)
  const { entries, wire, world } = stage
  let failure: string | undefined
  let restless: ReadonlyArray<Entry> = []
  let desired: boolean | undefined
  let objects: ReadonlyArray<KubeObject> = []
  try {
    stage.start()
    world.advance(1_000)
    for (const { act, name } of scenario.steps) {
      const fiber: Fiber.Fiber<unknown, unknown> = world.fork(Effect.provideContext(act, stage.people))
      world.advance(1)
      const exit = fiber.pollUnsafe()
      const failed = exit !== undefined && Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : undefined
      stage.note({ _tag: "Step", at: world.now, name, failed })
      if (!stage.rest()) failure ??= `the cluster does not come to rest after "${name}"`
    }
    objects = world.run(stage.server.snapshot)
    desired = scenario.steps.at(-1)?.desired?.(objects)
    if (options.quiet !== false && failure === undefined) {
      const before = entries.length
      world.advance(defaults.quiet)
      restless = entries.slice(before).filter((entry) =>
        entry._tag === "Call" && entry.request.method !== "GET" && !entry.request.path.includes("/leases")
      )
      const after = world.run(stage.server.snapshot)
      if (desired === true) desired = scenario.steps.at(-1)!.desired!(after)
      objects = after
    }
  } catch (defect) {
    failure = defect instanceof Restless ? `hot loop: ${defect.message}` : String(defect)
  }
  stage.life.dead = true
  return { entries, calls: wire.calls, events: wire.events, objects, desired, restless, failure, met: wire.met }
}
