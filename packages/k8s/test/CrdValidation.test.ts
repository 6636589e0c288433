/** Objects are judged on the client as the server judges them, rules in CEL included. */
import {
  Action,
  CelRule,
  Controller,
  CustomResource,
  KubeClient,
  KubeSchema,
  Manager,
  Resource
} from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Crd from "../src/Crd.ts"
import * as CrdValidation from "../src/CrdValidation.ts"
import { Event } from "../src/kinds/events.v1.ts"
import { checkStructural } from "../src/schema/StructuralSchema.ts"
import * as TestCluster from "../src/testing/TestCluster.ts"

const Box = CustomResource.make({
  group: "example.com",
  version: "v1",
  kind: "Box",
  spec: Schema.Struct({
    name: Schema.String.check(Schema.isMaxLength(20)).pipe(CelRule.rules(CelRule.immutable("name is immutable"))),
    size: KubeSchema.Quantity.pipe(
      CelRule.rules(CelRule.quantityBetween("1Gi", "1Ti"), CelRule.quantityNeverDecreases())
    ),
    request: Schema.optionalKey(KubeSchema.Quantity),
    limit: Schema.optionalKey(KubeSchema.Quantity),
    low: Schema.optionalKey(Schema.Int),
    high: Schema.optionalKey(Schema.Int.pipe(CelRule.rules(CelRule.neverDecreases()))),
    image: Schema.optionalKey(Schema.String),
    build: Schema.optionalKey(Schema.String),
    mode: Schema.optionalKey(Schema.Literals(["Cron", "Once"])),
    schedule: Schema.optionalKey(Schema.String),
    "storage-class": Schema.optionalKey(Schema.String),
    namespace: Schema.optionalKey(Schema.String)
  }).pipe(CelRule.rules(
    CelRule.atMostOneOf("image", "build"),
    CelRule.requiredWhen("schedule", { field: "mode", is: "Cron" }),
    CelRule.forbiddenWhen("schedule", { field: "mode", is: "Once" }),
    CelRule.atMost("low", "high"),
    CelRule.quantityAtMost("request", "limit"),
    CelRule.immutableOnceSet("storage-class"),
    CelRule.atMostOneOf("namespace", "build")
  )),
  rules: [CelRule.make<"metadata">("self.metadata.name != 'forbidden'", "the name is forbidden")]
})

const spec = { name: "a", size: "2Gi" }
const box = (more: object = {}, name = "x") =>
  ({ metadata: { name, namespace: "default" }, spec: { ...spec, ...more } }) as never

const issues = (object: never, previous?: never) => {
  const result = CrdValidation.validate(Box, object, previous === undefined ? {} : { previous })
  return Result.isSuccess(result) ? [] : result.failure.issues
}

describe("rules", () => {
  it("are rules the server takes", () => assert.deepStrictEqual(checkStructural(Crd.schemaOf(Box) as never), []))

  const cases: ReadonlyArray<readonly [object, string]> = [
    [{ size: "1Mi" }, "spec.size: Invalid value: \"1Mi\": must be between 1Gi and 1Ti"],
    [{ image: "a", build: "b" }, "spec: Invalid value: at most one of image, build may be set"],
    [{ mode: "Cron" }, "spec: Required value: schedule is required when mode is Cron"],
    [{ mode: "Once", schedule: "x" }, "spec: Forbidden: schedule may not be set when mode is Once"],
    [{ low: 3, high: 2 }, "spec: Invalid value: low must be at most high"],
    [{ request: "1Gi", limit: "500Mi" }, "spec: Invalid value: request must be at most limit"],
    [{ namespace: "n", build: "b" }, "spec: Invalid value: at most one of namespace, build may be set"]
  ]
  for (const [more, expected] of cases) {
    it(expected, () => {
      assert.deepStrictEqual(issues(box(more)), [expected])
    })
  }

  it("hold for what is allowed", () => {
    for (
      const more of [{}, { image: "a" }, { mode: "Cron", schedule: "x" }, { low: 1, high: 1 }, {
        request: "1Gi",
        limit: "1Gi"
      }, { low: 9 }]
    ) assert.deepStrictEqual(issues(box(more)), [])
  })

  it("of transitions compare with what was", () => {
    const with_ = (more: object) => ({ ...box(more) as object, apiVersion: "example.com/v1", kind: "Box" }) as never
    assert.deepStrictEqual(issues(box({ name: "b" }), with_({})), [
      "spec.name: Invalid value: \"b\": name is immutable"
    ])
    assert.deepStrictEqual(issues(box({ size: "1Gi" }), with_({})), [
      "spec.size: Invalid value: \"1Gi\": may not decrease"
    ])
    assert.deepStrictEqual(issues(box({ high: 1 }), with_({ high: 2 })), [
      "spec.high: Invalid value: 1: may not decrease"
    ])
    const storage = ["spec: Invalid value: storage-class is immutable once set"]
    assert.deepStrictEqual(issues(box(), with_({ "storage-class": "a" })), storage)
    assert.deepStrictEqual(issues(box({ "storage-class": "b" }), with_({ "storage-class": "a" })), storage)
    assert.deepStrictEqual(issues(box({ "storage-class": "b" }), with_({})), [])
  })

  it("of the whole object, and faults of the Schema first", () => {
    assert.deepStrictEqual(issues(box({}, "forbidden")), ["<nil>: Invalid value: the name is forbidden"])
    const faults = issues(box({ size: "much", low: 1.5 }))
    assert.strictEqual(faults.length, 2)
    assert.match(faults[0]!, /^spec\.size: /)
    assert.match(faults[1]!, /^spec\.low: /)
  })

  it("let through as JSON what is right, and whoever cleans up after what breaks them", () => {
    const right = CrdValidation.validate(Box, box())
    assert.deepStrictEqual(Result.getOrThrow(right), {
      apiVersion: "example.com/v1",
      kind: "Box",
      metadata: { name: "x", namespace: "default" },
      spec
    })
    const json = (size: string, metadata: object) => ({
      apiVersion: "example.com/v1",
      kind: "Box",
      metadata: {
        name: "x",
        namespace: "default",
        uid: "u",
        resourceVersion: "1",
        creationTimestamp: "2026-01-01T00:00:00Z",
        ...metadata
      },
      spec: { ...spec, size }
    })
    const { decode } = CrdValidation.checked(Box)
    assert.isTrue(Result.isSuccess(decode(json("2Gi", {}))))
    assert.isTrue(Result.isFailure(decode(json("1Mi", {}))))
    assert.isTrue(Result.isSuccess(decode(json("1Mi", { deletionTimestamp: "2026-01-01T00:00:00Z" }))))
  })

  it("name only fields the struct has", () => {
    // @ts-expect-error there is no field of that name
    Schema.Struct({ a: Schema.Int }).pipe(CelRule.rules(CelRule.exactlyOneOf("a", "b")))
  })
})

it.effect("an object that breaks a rule is reported on itself and breaks nothing", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    // Stored before the rules came.
    const Old = {
      ...Box,
      schemas: { ...Box.schemas, spec: Schema.Struct({ name: Schema.String, size: Schema.String }) },
      rules: []
    }
    yield* Crd.install(Old as typeof Box)
    yield* client.create(Resource.unstructured(Box), box({ size: "1Mi" }, "bad"))
    yield* client.create(Resource.unstructured(Box), box({}, "good"))
    const seen: Array<string> = []
    const controller = Controller.make("boxes", {
      for: CrdValidation.checked(Box),
      reconcile: (object) =>
        Effect.sync(() => {
          seen.push(object.metadata.name)
          return Action.done
        })
    })
    yield* Layer.build(Manager.layer([controller]))
    yield* TestClock.adjust("10 seconds")
    const events = yield* client.listPage(Event, { namespace: "default" })
    const told = events.items.find(({ reason }) => reason === "Invalid")!
    assert.deepInclude(told.regarding, { kind: "Box", name: "bad" })
    assert.include(told.note!, "spec.size: Invalid value: \"1Mi\": must be between 1Gi and 1Ti")
    assert.deepStrictEqual([...new Set(seen)], ["good"])
  }).pipe(Effect.scoped, Effect.provide(TestCluster.layer())))
