/**
 * Runs a plan: a server, the proxy, the live client and two reflectors, over real sockets and on a fast clock, and judges
 * what came of it.
 *
 * Nothing may be wrong with what the stores were told (see `Oracle`), nor with the stores themselves; every fault that
 * struck a list or a watch was visible in the status, unless the client asked again by itself and got its answer; nobody
 * was asked before the delay was over that the failures called for; a write whose answer was lost is not sent twice;
 * and when the client is closed, nothing of it is left: connections, watches, fibers.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import * as Reflector from "@effect-operator/core/Reflector"
import { Transport } from "@effect-operator/core/Transport"
import { Clock, Context, Effect, Exit, Layer, Metric, Random, References, Scope } from "effect"
import * as LiveClient from "../../src/LiveClient.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import { Chance } from "../differential/Chance.ts"
import * as FastClock from "./FastClock.ts"
import * as Fault from "./Fault.ts"
import * as Follower from "./Follower.ts"
import * as Oracle from "./Oracle.ts"
import type * as Plan from "./Plan.ts"
import * as Proxy from "./Proxy.ts"
import * as Subject from "./Subject.ts"
import * as Verdict from "./Verdict.ts"

export const defaults = {
  /** Virtual seconds per second. */
  speed: 20,
  /** How long a fault may take to strike, and a client to recover, in real milliseconds. */
  patience: 6_000,
  /** The same at the end, where only a lost client takes so long. */
  lastPatience: 60_000,
  /** How long the status may take to show the last fault, in real milliseconds. */
  settling: 1_000,
  /** How many requests on the wire one call of the transport may become, where it asks again by itself. */
  attempts: 5,
  /** A process that stood still for longer, in real milliseconds, cannot tell what came when. */
  lag: 300
} as const

/** What came of a plan. */
export interface Outcome {
  readonly seed: number
  /** What is wrong, if anything is. */
  readonly divergences: ReadonlyArray<string>
  /** What was not shown, or asked too soon; real milliseconds that the process stood still at most. */
  readonly mistimed: ReadonlyArray<string>
  readonly lag: number
  /** The kinds that struck, and how often. */
  readonly struck: ReadonlyMap<Fault.Kind, number>
  readonly requests: number
  readonly changes: number
  readonly relists: number
}

const { namespace, resources } = Subject

const clock = Clock.Clock.defaultValue()
const pause = (millis: number) => Effect.provideService(Effect.sleep(millis), Clock.Clock, clock)

/** Waits, in real time, until something is so; false if it takes too long. */
const until = (
  holds: () => boolean,
  patience: number = defaults.patience,
  meanwhile: Effect.Effect<void> = Effect.void
) =>
  Effect.gen(function*() {
    const end = clock.currentTimeMillisUnsafe() + patience
    while (!holds()) {
      if (clock.currentTimeMillisUnsafe() > end) return false
      yield* meanwhile
      yield* pause(10)
    }
    return true
  })

/**
 * Runs a plan by itself, against a server of its own; many can run at once. Where the machine was too busy to judge times
 * it runs again. What was lost or doubled is judged every time.
 */
export const run = (plan: Plan.Plan, again = 3): Effect.Effect<Outcome> =>
  Effect.flatMap(once(plan), (outcome) =>
    outcome.mistimed.length === 0
      ? Effect.succeed(outcome)
      : outcome.lag > defaults.lag && outcome.divergences.length === 0 && again > 0
      ? run(plan, again - 1)
      : Effect.succeed({ ...outcome, divergences: [...outcome.divergences, ...outcome.mistimed] }))

const once = (plan: Plan.Plan): Effect.Effect<Outcome> =>
  counted((fibers) =>
    Effect.flatMap(Subject.inMemory, (subject) => attempt(plan, subject, fibers)).pipe(
      Effect.provide(Layer.provideMerge(HttpFacade.layer(), ApiServer.layer)),
      Effect.orDie
    )
  ).pipe(timed(plan))

/** Runs a plan against a server that is there, without the faults that cannot happen on it. */
export const runOn = (plan: Plan.Plan, subject: Subject.Subject): Effect.Effect<Outcome> => {
  const phases = plan.phases.filter(({ fault }) => !subject.without.has(fault.kind))
  return counted((fibers) => Effect.orDie(attempt({ ...plan, phases }, subject, fibers))).pipe(timed(plan))
}

/** How long the process stood still at most, while the scope is open. */
const longestLag = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const seen = { longest: 0, last: performance.now() }
      const tick = () => {
        const now = performance.now()
        seen.longest = Math.max(seen.longest, now - seen.last - 20)
        seen.last = now
      }
      return { seen, timer: setInterval(tick, 20) }
    }),
    ({ timer }) => Effect.sync(() => clearInterval(timer))
  ),
  ({ seen }) => () => Math.round(seen.longest)
)

const counted = <A>(effect: (fibers: () => number) => Effect.Effect<A, never, Scope.Scope>): Effect.Effect<A> => {
  let fibers = 0
  const count: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  }
  return Effect.provideService(Effect.scoped(effect(() => fibers)), Metric.FiberRuntimeMetrics, count)
}

const timed = (plan: Plan.Plan) => <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  effect.pipe(
    Effect.provideService(Clock.Clock, FastClock.make(defaults.speed)),
    Effect.provideService(References.MinimumLogLevel, "None"),
    Random.withSeed(String(plan.seed))
  )

const attempt = Effect.fnUntraced(function*(plan: Plan.Plan, subject: Subject.Subject, fibers: () => number) {
  const chance = new Chance(plan.seed + 1)
  const { change, put } = Subject.churner(subject, chance)
  for (const resource of resources) {
    for (let i = 0; i < plan.objects; i++) yield* put(resource, `o${i}`, "")
  }
  const logs = yield* subject.follow
  const services = yield* Effect.context<never>()
  const proxy = yield* Proxy.make({
    url: subject.url,
    caPem: subject.caPem,
    expire: () => void Effect.runForkWith(services)(Effect.andThen(change, subject.compact))
  })
  const now = (yield* Clock.Clock).currentTimeMillisUnsafe
  const atStart = { watchers: yield* subject.watchers, clients: proxy.open().clients, fibers: fibers() }
  const divergences: Array<string> = []
  const mistimed: Array<string> = []
  const lag = yield* longestLag
  const struck = new Map<Fault.Kind, number>()
  const calls: Array<Verdict.Call> = []

  const mistimes = (follower: Follower.Follower) => Verdict.judgeTimes(follower, proxy, calls, now())
  const session = yield* Scope.make()
  const followers = yield* Effect.gen(function*() {
    const layer = LiveClient.transportLayerOptions({
      kubeconfig: HttpFacade.kubeconfig({ url: proxy.url, caPem: proxy.caPem, token: subject.token }),
      connectTimeout: "2 seconds",
      // In proportion to the clock: the transport itself runs in real time.
      retry: { backoff: "5 millis", patience: "500 millis" }
    })
    const transport = Verdict.recorded(Context.get(yield* Layer.build(layer), Transport), calls, now)
    const client = KubeClient.make(transport)
    if (plan.startsWith !== undefined) proxy.inflict(plan.startsWith)
    const followers = yield* Effect.forEach(
      resources,
      (resource) => Effect.provideService(Follower.make(client, resource, { namespace }), Reflector.ListBy, plan.listBy)
    )
    yield* perform({ plan, proxy, client, change, struck, isCaughtUp: () => followers.every(isEqual) })
    // A watch may end in the last moment: the cache is equal, and the status has not said so yet.
    yield* until(
      () => followers.every((follower) => isEqual(follower) && mistimes(follower).length === 0),
      defaults.settling
    )
    return followers

    function isEqual(follower: Follower.Follower): boolean {
      return follower.status()._tag === "Live" &&
        Oracle.difference(follower.versions(), logs.get(follower.resource.plural)!.state) === undefined
    }
  }).pipe(Scope.provide(session))

  for (const follower of followers) {
    divergences.push(...Verdict.judge(follower, logs.get(follower.resource.plural)!))
    mistimed.push(...mistimes(follower))
  }
  divergences.push(...Verdict.writtenTwice(logs))
  yield* Scope.close(session, Exit.void)
  const atEnd = () => ({ watchers: 0, clients: proxy.open().clients, fibers: fibers() })
  const quiet = yield* until(() => atEnd().clients === atStart.clients && atEnd().fibers <= atStart.fibers, 3_000)
  const watchers = yield* subject.watchers
  if (!quiet || watchers !== atStart.watchers) {
    divergences.push(
      `left behind: ${JSON.stringify({ ...atEnd(), watchers })}, at the start ${JSON.stringify(atStart)}`
    )
  }
  if (calls.length > Verdict.defaults.calls) divergences.push(`a storm of more than ${Verdict.defaults.calls} calls`)
  if (proxy.exchanges.length > defaults.attempts * calls.length) {
    divergences.push(`${calls.length} calls became ${proxy.exchanges.length} requests`)
  }
  return {
    seed: plan.seed,
    divergences,
    mistimed,
    lag: lag(),
    struck,
    requests: proxy.exchanges.length,
    changes: [...logs.values()].reduce((sum, { changes }) => sum + changes.length, 0),
    relists: followers.reduce(
      (sum, { entries }) => sum + entries.filter(({ _tag }) => _tag === "Replaced").length - 1,
      0
    )
  } satisfies Outcome
})

interface Performance {
  readonly plan: Plan.Plan
  readonly proxy: Proxy.Proxy
  readonly client: KubeClient.Client
  readonly change: Effect.Effect<void>
  readonly struck: Map<Fault.Kind, number>
  readonly isCaughtUp: () => boolean
}

const perform = Effect.fnUntraced(function*({ change, client, isCaughtUp, plan, proxy, struck }: Performance) {
  let calls = 0
  const write = Effect.suspend(() =>
    client.create(resources[0], {
      metadata: { namespace, generateName: "w-", labels: { call: `${plan.seed}-${++calls}` } }
    }).pipe(Effect.timeoutOption("60 seconds"), Effect.ignore)
  )
  yield* until(isCaughtUp)
  for (const { before, during, fault, waits } of plan.phases) {
    for (let i = 0; i < before; i++) yield* change
    const infliction = proxy.inflict(fault)
    if (fault.on.includes("write")) {
      for (let i = 0; i <= fault.times; i++) yield* write
    }
    for (let i = 0; i < during; i++) {
      yield* change
      yield* pause(2)
    }
    if (fault.kind === "outage") {
      yield* pause(200 + (fault.seed % 300))
      proxy.relent()
    }
    const provoke = fault.on.includes("list")
      ? Effect.sync(() => {
        proxy.inflict({ kind: "error410", on: ["watch"], times: 2, after: 0, seed: 0 })
      })
      : Effect.void
    let turns = 0
    yield* until(
      () => infliction.struck > 0 && (infliction.left === 0 || turns > 50),
      defaults.patience,
      Effect.andThen(
        change,
        Effect.suspend(() => turns++ % 20 === 0 && infliction.struck === 0 ? provoke : Effect.void)
      )
    )
    if (infliction.struck > 0) struck.set(fault.kind, (struck.get(fault.kind) ?? 0) + infliction.struck)
    proxy.relent()
    if (waits) yield* until(isCaughtUp)
  }
  proxy.relent()
  yield* until(isCaughtUp, defaults.lastPatience)
  // What struck last has to reach the client, too.
  yield* pause(50)
  yield* until(isCaughtUp, defaults.lastPatience)
})
