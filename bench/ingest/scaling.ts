/**
 * The cost of one event, from its bytes to the store: `scaling.ts OBJECTS INDEXES` prints microseconds of CPU. All
 * objects are in the store at first, and every event changes a different one.
 */
import * as CacheIndex from "@effect-operator/core/CacheIndex"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import { Store } from "@effect-operator/core/Store"
import type { WatchEvent } from "@effect-operator/core/WatchEvent"
import * as WatchBody from "@effect-operator/k8s/WatchBody"
import * as Documents from "@effect-operator/k8s/live/Documents"
import { Buffer } from "node:buffer"
import { listVersion, renderWhole } from "../fixture/Objects.ts"

const [objects = 0, indexes = 0] = process.argv.slice(2).map(Number)
const events = 50_000

const Widget = Resource.make<KubeObject>()({
  group: "bench.example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

const store = new Store({ resource: Widget, matches: () => true })
for (let n = 0; n < indexes; n++) {
  store.lookup(CacheIndex.make(Widget, `index-${n}`, ({ metadata }) => [`${metadata.labels?.["app"]}-${n}`]), "none")
}

const read = Documents.line({ without: ["metadata.managedFields"] })
/** Processes one line after the other. Returns microseconds per line. */
const take = (from: number, count: number, type: string): number => {
  let state = WatchBody.initial
  let micros = 0
  for (let n = 0; n < count; n += 50) {
    const lines = Array.from({ length: 50 }, (_, at) => {
      // A prime stride, so that successive events are not neighbours in memory.
      const event = from + n + at
      return `{"type":"${type}","object":${renderWhole("widgets", event * 7919 % objects, listVersion + event)}}\n`
    })
    const chunk = Buffer.from(lines.join(""))
    const before = process.cpuUsage()
    const [next, values] = WatchBody.step(state, chunk, { read })
    store.apply(values as ReadonlyArray<WatchEvent>)
    const { system, user } = process.cpuUsage(before)
    state = next
    micros += system + user
  }
  return micros / count
}

take(0, objects, "ADDED")
take(objects, 10_000, "MODIFIED")
console.log(JSON.stringify(take(objects + 10_000, events, "MODIFIED")))
