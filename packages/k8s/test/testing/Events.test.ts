import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import { get, layer, patch, post } from "./support/server.ts"

const core = "/api/v1/namespaces/default/events"
const events = "/apis/events.k8s.io/v1/namespaces/default/events"

const regarding = { kind: "Pod", name: "p", namespace: "default" }

const modern = (name: string) => ({
  metadata: { name },
  eventTime: "1970-01-01T00:00:00.000000Z",
  regarding,
  reason: "Started",
  note: "it runs",
  type: "Normal",
  reportingController: "example.com/op",
  reportingInstance: "op-0",
  action: "Start"
})

describe("Events", () => {
  it.effect("of both groups are the same objects", () =>
    Effect.gen(function*() {
      yield* post(events, modern("a"))
      const { body: old } = yield* get(`${core}/a`)
      assert.deepInclude(old, {
        apiVersion: "v1",
        involvedObject: regarding,
        message: "it runs",
        reportingComponent: "example.com/op",
        eventTime: "1970-01-01T00:00:00.000000Z"
      })
      yield* post(core, {
        metadata: { name: "b" },
        involvedObject: regarding,
        message: "old",
        reason: "R",
        source: { component: "c" },
        count: 3,
        firstTimestamp: "1970-01-01T00:00:00Z",
        lastTimestamp: "1970-01-01T00:00:00Z"
      })
      const { body: fresh } = yield* get(`${events}/b`)
      assert.deepInclude(fresh, {
        apiVersion: "events.k8s.io/v1",
        regarding,
        note: "old",
        deprecatedSource: { component: "c" },
        deprecatedCount: 3
      })
      yield* patch(`${events}/a`, "merge", { series: { count: 2, lastObservedTime: "1970-01-01T00:00:01.000000Z" } })
      assert.strictEqual((yield* get(`${core}/a`)).body.series.count, 2)
      assert.lengthOf((yield* get(core)).body.items, 2)
      const selected = yield* get(`${core}?fieldSelector=involvedObject.name%3Dp,reason%3DStarted`)
      assert.deepStrictEqual(selected.body.items.map(({ metadata }: any) => metadata.name), ["a"])
    }).pipe(Effect.provide(layer)))

  it.effect("lie in the namespace of what they are about", () =>
    Effect.gen(function*() {
      const refused = yield* post(core, {
        metadata: { name: "a" },
        involvedObject: { ...regarding, namespace: "other" }
      })
      assert.strictEqual(
        refused.body.message,
        "Event \"a\" is invalid: involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"
      )
      const { reportingController: _, ...anonymous } = modern("a")
      assert.include((yield* post(events, anonymous)).body.message, "reportingController: Required value")
    }).pipe(Effect.provide(layer)))

  it.effect("go an hour after they were last written", () =>
    Effect.gen(function*() {
      const server = yield* ApiServer
      yield* post(events, modern("a"))
      yield* post(events, modern("b"))
      yield* TestClock.adjust("30 minutes")
      yield* patch(`${events}/b`, "merge", { series: { count: 2, lastObservedTime: "1970-01-01T00:30:00.000000Z" } })
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual((yield* get(core)).body.items.map(({ metadata }: any) => metadata.name), ["b"])
      assert.strictEqual((yield* server.log()).at(-1)?.type, "DELETED")
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual((yield* get(core)).body.items, [])
    }).pipe(Effect.provide(layer)))
})
