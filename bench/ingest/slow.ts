/**
 * A controller that is much slower than its watch: `slow.ts URL OBJECTS EVENTS`. A reconcile takes a millisecond,
 * events arrive as fast as they are read. Prints how much more memory was in use than during the first tenth, and how
 * many objects were not reconciled in their last state.
 */
import * as Action from "@effect-operator/core/Action"
import * as Controller from "@effect-operator/core/Controller"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Manager from "@effect-operator/core/Manager"
import * as Resource from "@effect-operator/core/Resource"
import * as LiveClient from "@effect-operator/k8s/LiveClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { listVersion } from "../fixture/Objects.ts"

const [url, ...sizes] = process.argv.slice(2)
const [objects = 0, events = 0] = sizes.map(Number)

/** Memory in use. */
export interface Slow {
  readonly steady: number
  readonly peak: number
  readonly lost: number
}

const Widget = Resource.make<KubeObject>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

/** The version in which an object must be reconciled: that of the last event that changed it. */
const lastOf = (index: number): number => {
  const rest = events % objects
  const rounds = Math.floor(events / objects)
  const event = index <= rest ? rounds * objects + index : (rounds - 1) * objects + index
  return listVersion + event
}

const reconciled = new Map<string, string>()
let highest = 0
let reconciles = 0
let steady = 0
let peak = 0

const look = setInterval(() => {
  const { rss } = process.memoryUsage()
  if (highest < listVersion + events / 10) steady = Math.max(steady, rss)
  else peak = Math.max(peak, rss)
  const lost = Array.from({ length: objects }, (_, index) => index).filter((index) => {
    const version = reconciled.get(`widget-${String(index).padStart(6, "0")}`)
    return version !== String(lastOf(index === 0 ? objects : index))
  }).length
  quiet = reconciles === before ? quiet + 1 : 0
  before = reconciles
  if ((lost === 0 || quiet > 200) && highest > listVersion) {
    clearInterval(look)
    process.stdout.write(`${JSON.stringify({ steady, peak: Math.max(peak, steady), lost })}\n`, () => process.exit(0))
  }
}, 50)
let before = 0
let quiet = 0

const controller = Controller.make("widgets", {
  for: Widget,
  reconcile: ({ metadata }) =>
    Effect.sync(() => {
      reconciles += 1
      reconciled.set(metadata.name, metadata.resourceVersion)
      highest = Math.max(highest, Number(metadata.resourceVersion))
    }).pipe(Effect.andThen(Effect.sleep("1 millis")), Effect.as(Action.done))
})

Effect.runFork(
  Manager.layer([controller]).pipe(Layer.provide(LiveClient.layerOptions({ server: url })), Layer.launch)
)
