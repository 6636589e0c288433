/**
 * A soak: an informer of a thousand custom resources, through the proxy and its faults, while ten writes a second go on,
 * for as long as one likes. Every minute the writes rest until the cache equals the server, object by object; if that
 * does not come about, the soak has failed. Memory, sockets and fibers are counted each time.
 *
 * The writes come from the same client, through the same faults: what they answer does not matter, what the server has
 * does. One request in a hundred meets a fault, and with one write in a hundred the open watch does; when the writes rest,
 * a fault that has struck stays, and one that has not is called off.
 */
import * as CustomResource from "@effect-operator/core/CustomResource"
import * as Informers from "@effect-operator/core/Informers"
import * as KubeClient from "@effect-operator/core/KubeClient"
import { keyString, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Supervisor from "@effect-operator/core/Supervisor"
import { Clock, Context, Duration, Effect, Layer, Metric, Queue, Random, Schema, SubscriptionRef } from "effect"
import * as Crd from "../../../src/Crd.ts"
import * as LiveClient from "../../../src/LiveClient.ts"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as HttpFacade from "../../../src/testing/HttpFacade.ts"
import { Chance } from "../../differential/Chance.ts"
import * as FastClock from "../FastClock.ts"
import * as Fault from "../Fault.ts"
import * as Proxy from "../Proxy.ts"

export const defaults = {
  objects: 1_000,
  writesPerSecond: 10,
  /** Of a request, and of the open watch with every write. */
  faults: 0.01,
  /** How long the cache may take to be equal once the writes rest: an idle deadline, and the longest delay after it. */
  patience: "5 minutes",
  /** Writes under way at a time. */
  writers: 20,
  /** By how much memory may have grown in the second half of a soak, beside what the first half ended with. */
  growth: 0.2,
  /** Beside that, in bytes: what does not matter. */
  noise: 16 * 1024 * 1024
} as const

export interface Options {
  readonly minutes: number
  readonly seed: number
  /** Virtual seconds per second. */
  readonly speed: number
  readonly writesPerSecond?: number | undefined
  readonly onCheck: (check: Check) => void
}

/** What was seen at the end of a minute. */
export interface Check {
  readonly minute: number
  readonly equal: boolean
  /** How long it took until it was, in milliseconds. */
  readonly after: number
  /** The first difference, if it was not. */
  readonly difference: string | undefined
  readonly status: string
  readonly heap: number
  readonly sockets: { readonly clients: number; readonly server: number }
  readonly fibers: number
  readonly writes: number
  readonly failedWrites: number
  readonly requests: number
  readonly faults: number
  readonly lists: number
}

/** The custom kind of the soak. */
export const Widget = CustomResource.make({
  group: "soak.example.com",
  version: "v1",
  kind: "Widget",
  spec: Schema.Struct({ size: Schema.Int, note: Schema.String })
})

const namespace = "default"

/** Faults of a request. A plan can afford more of some: here every minute has to end in time. */
const ofRequest: ReadonlyArray<Fault.Kind> = Fault.kinds.filter((kind) =>
  !["rotate", "outage", "refuse", "reorder", "expire", ...Fault.ofWatch].includes(kind)
)
const ofOpenWatch: ReadonlyArray<readonly [number, Fault.Kind]> = [
  ...["cut", "slow", "corrupt", "garble", "split", "end", "error500"].map((kind) => [4, kind as Fault.Kind] as const),
  ...["error410", "rotate", "refuse"].map((kind) => [2, kind as Fault.Kind] as const),
  ...["stall", "noBookmarks"].map((kind) => [1, kind as Fault.Kind] as const)
]

const faultOf = (chance: Chance, kind: Fault.Kind, on: Fault.Target): Fault.Fault => ({
  kind,
  on: [on],
  times: 1,
  after: chance.int(2_000),
  seed: chance.int(1_000_000)
})

const memory = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/**
 * The first difference between the cache and the server. What is in them is looked at only once their versions are the
 * same: it takes the time that the proxy needs for what it sends in pieces.
 */
const difference = (cached: Iterable<KubeObject>, stored: ReadonlyArray<KubeObject>): string | undefined => {
  const own = new Map([...cached].map((object) => [keyString(object), object]))
  const pairs = stored.map((object) => [keyString(object), own.get(keyString(object)), object] as const)
  const missing = pairs.find(([, cached]) => cached === undefined)
  if (missing !== undefined) return `${missing[0]} is missing`
  const keys = new Set(pairs.map(([key]) => key))
  const surplus = [...own.keys()].find((key) => !keys.has(key))
  if (surplus !== undefined) return `${surplus} should not be there`
  const version = ({ metadata }: KubeObject) => metadata.resourceVersion
  const old = pairs.find(([, cached, object]) => version(cached!) !== version(object))
  if (old !== undefined) return `${old[0]} is of version ${version(old[1]!)}, not ${version(old[2])}`
  for (const [key, cached, { metadata: { managedFields: _, ...metadata }, ...object }] of pairs) {
    const expected = JSON.stringify({ ...object, metadata })
    if (sorted(JSON.stringify(cached)) !== sorted(expected)) {
      return `${key} is ${JSON.stringify(cached)}, not ${expected}`
    }
  }
  return undefined
}

/** The same text for the same fields in whatever order. */
const sorted = (text: string): string => JSON.stringify(order(JSON.parse(text)))
const order = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(order)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(
      Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, part]) => [key, order(part)])
    )
    : value

/** Runs a soak: whether the cache was equal at the end of every minute, and what was seen. */
export const run = (options: Options): Effect.Effect<ReadonlyArray<Check>> => {
  let fibers = 0
  const count: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  }
  const server = ApiServer.layerOptions({ historyLimit: 2_000 })
  const clock = options.speed === 1 ? Clock.Clock.defaultValue() : FastClock.make(options.speed)
  return Effect.scoped(soak(options, () => fibers)).pipe(
    Effect.provide(Layer.provideMerge(HttpFacade.layer(), server)),
    Effect.orDie,
    Effect.provideService(Metric.FiberRuntimeMetrics, count),
    Effect.provideService(Clock.Clock, clock),
    Random.withSeed(String(options.seed))
  )
}

const soak = Effect.fnUntraced(function*(options: Options, fibers: () => number) {
  const { minutes, onCheck, seed, speed, writesPerSecond = defaults.writesPerSecond } = options
  const chance = new Chance(seed)
  const server = yield* ApiServer
  const facade = yield* HttpFacade.HttpFacade
  let faulty = false
  const proxy = yield* Proxy.make({
    url: facade.url,
    caPem: facade.caPem,
    keep: 100,
    chance: ({ target }) =>
      faulty && chance.chance(defaults.faults) ? faultOf(chance, chance.pick(ofRequest), target) : undefined
  })
  const kubeconfig = HttpFacade.kubeconfig({ url: proxy.url, caPem: proxy.caPem, token: facade.token })
  const client = yield* Effect.map(
    Layer.build(LiveClient.layerOptions({ kubeconfig })),
    (context) => Context.get(context, KubeClient.KubeClient)
  )
  yield* Effect.provideService(Crd.install(Widget), KubeClient.KubeClient, client)
  const supervisor = yield* Supervisor.make
  const informers = yield* Effect.map(
    Layer.build(Layer.provide(Informers.layer(supervisor), Layer.succeed(KubeClient.KubeClient, client))),
    (context) => Context.get(context, Informers.Informers)
  )
  const { status, store, synced } = yield* informers.get({ resource: Widget, namespace })
  yield* synced

  let offered = 0
  let writes = 0
  let failed = 0
  const names = Array.from({ length: defaults.objects }, (_, index) => `widget-${index}`)
  const spec = () => ({ size: chance.int(1_000_000), note: "x".repeat(chance.int(400)) })
  const apply = (name: string) => client.apply(Widget, { metadata: { namespace, name }, spec: spec() }, { force: true })
  const write = Effect.suspend(() => {
    writes += 1
    const name = chance.pick(names)
    const action: Effect.Effect<unknown, unknown> = chance.chance(0.2)
      ? client.delete(Widget, { namespace, name })
      : apply(name)
    return Effect.matchEffect(action, {
      onSuccess: () => Effect.void,
      onFailure: () => Effect.sync(() => void failed++)
    })
  })
  yield* Effect.forEach(names, apply, { concurrency: defaults.writers, discard: true })

  const queue = yield* Queue.bounded<void>(defaults.writers)
  yield* Effect.forEach(
    Array.from({ length: defaults.writers }),
    () => Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(queue), write))),
    { discard: true }
  )
  const strikeWatch = Effect.sync(() => {
    proxy.inflict(faultOf(chance, chance.weighted(ofOpenWatch), "watch"))
  })
  const clock = yield* Clock.Clock
  const churn = Effect.gen(function*() {
    const begin = clock.currentTimeMillisUnsafe()
    for (let n = 0; n < 60 * writesPerSecond; n++) {
      offered += 1
      yield* Queue.offer(queue, undefined)
      if (chance.chance(defaults.faults)) yield* strikeWatch
      // In step with the clock, however long a write takes.
      const due = begin + ((n + 1) * 1_000) / writesPerSecond
      yield* Effect.sleep(Math.max(0, due - clock.currentTimeMillisUnsafe()))
    }
  })
  const stored = Effect.map(server.snapshot, (objects) => objects.filter(({ kind }) => kind === Widget.kind))
  // A fast clock does not make the machine any faster.
  const patience = Math.max(Duration.toMillis(defaults.patience), 30_000 * speed)
  const equalize = Effect.gen(function*() {
    const begin = clock.currentTimeMillisUnsafe()
    for (;;) {
      // What still waits for a writer would make another difference.
      const wrong = writes < offered ? "writes wait" : difference(store.values(), yield* stored)
      const after = clock.currentTimeMillisUnsafe() - begin
      if (wrong === undefined || after > patience) return { after, difference: wrong }
      yield* Effect.sleep(20 * speed)
    }
  })

  faulty = true
  const checks: Array<Check> = []
  for (let minute = 1; minute <= minutes; minute++) {
    yield* churn
    // What could not strike, because there was no watch to strike, would strike one watch after the other now.
    proxy.relent()
    const { after, difference } = yield* equalize
    const { list, struck, watch, write } = proxy.totals
    const check: Check = {
      minute,
      equal: difference === undefined,
      after: Math.round(after),
      difference,
      status: (yield* SubscriptionRef.get(status))._tag,
      heap: memory(),
      sockets: proxy.open(),
      fibers: fibers(),
      writes,
      failedWrites: failed,
      requests: list + watch + write,
      faults: struck,
      lists: list
    }
    checks.push(check)
    onCheck(check)
    if (!check.equal) break
  }
  return checks
})

/** Whether memory was flat: the most of the second half against the most of the first, without its beginning. */
export const isFlat = (checks: ReadonlyArray<Check>): boolean => {
  const half = Math.floor(checks.length / 2)
  const first = checks.slice(Math.min(1, half), half).map(({ heap }) => heap)
  const second = checks.slice(half).map(({ heap }) => heap)
  if (first.length === 0) return true
  return Math.max(...second) <= Math.max(...first) * (1 + defaults.growth) + defaults.noise
}

/** A check for people. */
export const format = (check: Check): string => {
  const { after, equal, faults, fibers, heap, lists, minute, requests, sockets, status, writes } = check
  return [
    `minute ${String(minute).padStart(3)}`,
    equal ? `equal after ${(after / 1000).toFixed(1)} s` : `NOT EQUAL: ${check.difference}`,
    status.padEnd(8),
    `heap ${(heap / 1024 / 1024).toFixed(1)} MB`,
    `sockets ${sockets.clients}`,
    `fibers ${fibers}`,
    `writes ${writes} (${check.failedWrites} failed)`,
    `requests ${requests}`,
    `faults ${faults}`,
    `lists ${lists}`
  ].join("  ")
}
