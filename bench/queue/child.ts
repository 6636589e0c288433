/**
 * Runs keys through a controller's queue and a worker that does nothing: `child.ts MODE KEYS` prints microseconds of
 * CPU per key. Each key is added twice before it is taken, so that deduplication is included. Modes:
 *
 * - `ours`: the framework's queue and workers, with metrics and a timeout;
 * - `traced`: the same, with a tracer;
 * - `replica`, `crowd`: the same as one of 3, or 30, replicas that share the objects, with keys of its own;
 * - `shard`: the same as a shard of a ring, with objects that are assigned to it;
 * - `loops`: four async functions over an array and a set with the same deduplication, as one would write by hand.
 */
import * as Action from "@effect-operator/core/Action"
import * as Controller from "@effect-operator/core/Controller"
import * as EventRecorder from "@effect-operator/core/EventRecorder"
import * as KubeClient from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Leadership from "@effect-operator/core/Leadership"
import * as Metrics from "@effect-operator/core/Metrics"
import * as Resource from "@effect-operator/core/Resource"
import * as WorkQueue from "@effect-operator/core/WorkQueue"
import * as Assignment from "@effect-operator/core/internal/Assignment"
import * as ShardState from "@effect-operator/core/internal/shardState"
import * as Tracing from "@effect-operator/core/internal/tracing"
import * as Deadlines from "@effect-operator/core/internal/Deadlines"
import { Desk } from "@effect-operator/core/internal/Desk"
import { OwnWrites } from "@effect-operator/core/internal/OwnWrites"
import * as Worker from "@effect-operator/core/internal/worker"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Tracer from "effect/Tracer"

const [mode, count] = process.argv.slice(2)

/** The number of replicas that share the objects, by mode; their names are as long as those of pods. */
const crowds: Readonly<Record<string, number>> = { replica: 3, crowd: 30 }
const members = Array.from({ length: crowds[mode!] ?? 1 }, (_, index) => `widgets-7d4b9c8f6d-x2v${index}`)
const ground: ShardState.Ground = { me: members[0]!, lists: [members], others: [] }

const keys: Array<string> = []
for (let index = 0; keys.length < Number(count); index++) {
  const key = `ns-${index % 50}/widget-${index}`
  if (ShardState.owns(ground, key)) keys.push(key)
}

const Widget = Resource.make<KubeObject>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const ring = { ring: "widgets", shard: "widgets-7d4b9c8f6d-x2v0" }

const object: KubeObject = {
  apiVersion: "bench.example.com/v1",
  kind: "Widget",
  metadata: {
    name: "a",
    namespace: "b",
    uid: "c",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { [Assignment.shardLabel(ring.ring)]: ring.shard }
  }
}

const unused = (): Effect.Effect<never> => Effect.die(new Error("a reconcile of nothing sends nothing"))

const cpu = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

/** Which objects this process reconciles: all, or its share. */
const leadership = (): Leadership.Leadership => {
  if (mode === "shard") {
    const place = {
      ...ring,
      desk: new Desk(),
      mains: new Set([Resource.qualifiedName(Widget)]),
      tell: Effect.void,
      hear: Effect.void
    }
    return { ...Leadership.always, confine: (controller) => Assignment.confine(controller, place) }
  }
  return members.length === 1
    ? Leadership.always
    : { ...Leadership.always, owns: (key) => ShardState.owns(ground, key) }
}

/** Confirms, once, that an object is still this process's own. */
const answering: KubeClient.Client = KubeClient.make({
  request: ({ method }) => method === "GET" ? Effect.succeed({ status: 200, headers: {}, body: object }) : unused(),
  stream: unused
})

const framework = Effect.scoped(Effect.gen(function*() {
  let left = 0
  let finish = () => {}
  const leads = leadership()
  const described = Controller.make("widgets", {
    for: Widget,
    concurrency: 4,
    timeout: "1 minute",
    reconcile: () =>
      Effect.sync(() => {
        left -= 1
        if (left === 0) finish()
        return Action.done
      })
  })
  const { admit, controller } = leads.confine(described)
  const metrics = yield* Metrics.forController(controller)
  const queue = yield* WorkQueue.make({ monitor: metrics.queue })
  const tracing = (yield* Tracing.make)?.of(controller.name)
  let id = 0
  const silent: EventRecorder.EventRecorder = {
    normal: () => Effect.void,
    warning: () => Effect.void,
    about: () => silent
  }
  const worker = Worker.make({
    controller,
    queue,
    find: () => Effect.succeed(object),
    events: EventRecorder.EventSink.of({ recorder: () => silent, flush: Effect.void }),
    metrics,
    leadership: leads,
    admit,
    unwritten: Effect.logDebug,
    ownWrites: new OwnWrites(),
    deadlines: yield* Deadlines.make(controller.timeout),
    underWay: new Map(),
    tracing,
    nextId: () => String(id++)
  })
  for (let n = 0; n < controller.concurrency; n++) yield* Effect.forkScoped(worker)
  const round = Effect.callback<void>((resume) => {
    left = keys.length
    finish = () => resume(Effect.void)
    for (const key of keys) queue.add(key, { _tag: "Source", source: "bench" })
    for (const key of keys) queue.add(key, { _tag: "Source", source: "bench" })
  })
  return yield* measured(round)
})).pipe(Effect.provideService(KubeClient.KubeClient, answering))

/** A tracer that keeps ended spans, as an exporter would until its next batch. */
const listening: Tracer.Tracer = (() => {
  let ended: Array<Tracer.Span> = []
  class Kept extends Tracer.NativeSpan {
    override end(at: bigint, exit: Exit.Exit<unknown, unknown>): void {
      super.end(at, exit)
      ended.push(this)
      if (ended.length >= 512) ended = []
    }
  }
  return Tracer.make({ span: (options) => new Kept(options) })
})()

const loops = measured(Effect.promise(async () => {
  const order: Array<string> = []
  const dirty = new Set<string>()
  const processing = new Set<string>()
  const add = (key: string) => {
    if (dirty.has(key)) return
    dirty.add(key)
    if (!processing.has(key)) order.push(key)
  }
  for (const key of keys) add(key)
  for (const key of keys) add(key)
  let at = 0
  const reconcile = async () => {}
  const work = async () => {
    while (at < order.length) {
      const key = order[at++]!
      dirty.delete(key)
      processing.add(key)
      await reconcile()
      processing.delete(key)
      if (dirty.has(key)) order.push(key)
    }
  }
  await Promise.all([work(), work(), work(), work()])
}))

/** Warm: the median of several rounds, without the first. */
function measured<E>(round: Effect.Effect<void, E>): Effect.Effect<number, E> {
  return Effect.gen(function*() {
    const rounds = keys.length > 100_000 ? 1 : Math.max(5, Math.ceil(100_000 / keys.length))
    const found: Array<number> = []
    for (let n = 0; n <= rounds; n++) {
      const before = cpu()
      yield* round
      if (n > 0) found.push((cpu() - before) / keys.length)
    }
    return found.toSorted((a, b) => a - b)[found.length >> 1]!
  })
}

const modes: Readonly<Record<string, Effect.Effect<number>>> = {
  ours: framework,
  replica: framework,
  crowd: framework,
  shard: framework,
  traced: Effect.provideService(framework, Tracer.Tracer, listening),
  loops
}

const chosen = modes[mode!]
if (chosen === undefined) throw new Error(`${mode}: no such mode: ${Object.keys(modes).join(", ")}`)
console.log(JSON.stringify(await Effect.runPromise(chosen)))
