import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, layer, patch, post } from "../../support/server.ts"

const events = "/apis/events.k8s.io/v1/namespaces/default/events"
const core = "/api/v1/namespaces/default/events"

const event = (name: string, more: object = {}) => ({
  metadata: { name },
  eventTime: "2020-01-01T00:00:00.000000Z",
  reportingController: "example.com/c",
  reportingInstance: "c-1",
  action: "Do",
  reason: "Done",
  type: "Normal",
  regarding: { kind: "Pod", name: "a", namespace: "default" },
  ...more
})

const fieldsOf = ({ body, status }: Answer): unknown => {
  assert.strictEqual(status, 422)
  return body.details.causes.map(({ field }: { field: string }) => field)
}

describe("EventRules", () => {
  it.effect("the API of the new form takes Events of the new form only", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* post(events, event("a"))).status, 201)
      const refused = yield* post(events, event("b", { eventTime: null, type: "Other", deprecatedCount: 3 }))
      assert.deepStrictEqual(fieldsOf(refused), ["eventTime", "type", "count"])
      // Whichever API they come by, they are refused as Events of the core group.
      assert.match(refused.body.message, /^Event "b" is invalid: /)
      const series = { count: 1 }
      assert.deepStrictEqual(fieldsOf(yield* post(events, event("b", { series }))), [
        "series.count",
        "series.lastObservedTime"
      ])
      assert.strictEqual(
        (yield* post(core, { metadata: { name: "c" }, involvedObject: { namespace: "default" } })).status,
        201
      )
    }).pipe(Effect.provide(layer)))

  it.effect("in which nothing changes but the series", () =>
    Effect.gen(function*() {
      yield* post(events, event("a"))
      const lastObservedTime = "2020-01-01T00:00:02.000000Z"
      const counted = yield* patch(`${events}/a`, "merge", { series: { count: 2, lastObservedTime } })
      assert.strictEqual(counted.status, 200)
      const refused = yield* patch(`${events}/a`, "merge", { action: "Other", type: "Warning" })
      assert.deepStrictEqual(fieldsOf(refused), ["type", "action"])
      assert.strictEqual(
        refused.body.message,
        "Event \"a\" is invalid: [type: Invalid value: \"Warning\": field is immutable, " +
          "action: Invalid value: \"Other\": field is immutable]"
      )
      assert.include(
        (yield* patch(`${events}/a`, "merge", { regarding: { fieldPath: "x" } })).body.message,
        "\"UID\":\"\",\"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"x\"}: field is immutable"
      )
      assert.strictEqual((yield* patch(`${core}/a`, "merge", { action: "Other" })).status, 200)
    }).pipe(Effect.provide(layer)))
})
