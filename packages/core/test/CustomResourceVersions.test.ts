import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Result, Schema, SchemaTransformation } from "effect"
import { CustomResource, CustomResourceVersions, type KubeObject } from "../src/index.ts"

const names = { group: "example.com", kind: "Widget" } as const

/** Size as text with a unit. */
const V1 = CustomResource.make({
  ...names,
  version: "v1",
  spec: Schema.Struct({ size: Schema.String, note: Schema.optionalKey(Schema.String) }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

/** Size as a number; colours are new, the note is gone. */
const V2 = CustomResource.make({
  ...names,
  version: "v2",
  spec: Schema.Struct({
    size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })),
    colour: Schema.Struct({ name: Schema.String, depth: Schema.optionalKey(Schema.Int) })
  }),
  status: Schema.Struct({ ready: Schema.Boolean })
})

/** Size in an object of its own: nothing is lost between this one and the one before. */
const V3 = CustomResource.make({
  ...names,
  version: "v3",
  spec: Schema.Struct({
    extent: Schema.Struct({ size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })) }),
    colour: Schema.Struct({ name: Schema.String, depth: Schema.optionalKey(Schema.Int) })
  }),
  status: Schema.Struct({ state: Schema.Literals(["Ready", "Waiting"]) })
})

const first = CustomResourceVersions.between(V1, V2, {
  up: ({ spec, status }) => {
    if (!/^[0-9]{1,3}cm$/.test(spec.size)) throw new Error(`size ${spec.size} is no length`)
    return { spec: { size: Number(spec.size.slice(0, -2)), colour: { name: "grey" } }, status }
  },
  down: ({ spec, status }) => ({ spec: { size: `${spec.size}cm` }, status })
})

const second = CustomResourceVersions.transformed(V2, V3, {
  spec: SchemaTransformation.transform({
    decode: ({ colour, size }) => ({ colour, extent: { size } }),
    encode: ({ colour, extent }) => ({ colour, size: extent.size })
  }),
  status: SchemaTransformation.transform({
    decode: ({ ready }) => ({ state: ready ? "Ready" as const : "Waiting" as const }),
    encode: ({ state }) => ({ ready: state === "Ready" })
  })
})

const versions = CustomResourceVersions.make({ steps: [first, second], storage: V2, unserved: [V1] })

const object = (version: string, spec: unknown, more: object = {}): KubeObject.KubeObject =>
  ({
    apiVersion: `example.com/${version}`,
    kind: "Widget",
    metadata: { name: "a", namespace: "default", uid: "u", ...more },
    spec
  }) as never

const to = (from: KubeObject.KubeObject, version: string) =>
  Result.getOrThrow(CustomResourceVersions.convert(versions, from, `example.com/${version}`)) as any

describe("between adjacent versions", () => {
  it("spec and status are converted; the rest stays", () => {
    const old = { ...object("v1", { size: "7cm" }, { labels: { a: "b" } }), status: { ready: true } } as never
    assert.deepStrictEqual(to(old, "v2"), {
      apiVersion: "example.com/v2",
      kind: "Widget",
      metadata: { name: "a", namespace: "default", uid: "u", labels: { a: "b" } },
      spec: { size: 7, colour: { name: "grey" } },
      status: { ready: true }
    })
    assert.deepStrictEqual(to(old, "v3").status, { state: "Ready" })
    assert.deepStrictEqual(to(to(old, "v3"), "v1"), old)
  })

  it("what the target cannot express is kept in an annotation, and restored", () => {
    const made = object("v2", { size: 3, colour: { name: "red", depth: 8 } })
    const older = to(made, "v1")
    assert.deepStrictEqual(older.spec, { size: "3cm" })
    assert.deepStrictEqual(Object.keys(older.metadata.annotations), ["conversion.example.com/v2"])
    assert.deepStrictEqual(to(older, "v2"), made)
  })

  it("changes made in the other version win; the rest is restored", () => {
    const older = to(object("v2", { size: 3, colour: { name: "red", depth: 8 } }), "v1")
    const changed = to({ ...older, spec: { size: "5cm" } }, "v2")
    assert.deepStrictEqual(changed.spec, { size: 5, colour: { name: "red", depth: 8 } })
    const noted = to(object("v1", { size: "1cm", note: "n" }), "v2")
    assert.deepStrictEqual(to({ ...noted, spec: { ...noted.spec, size: 2 } }, "v1").spec, { size: "2cm", note: "n" })
  })

  it("limits are not checked: an object stored before there were any would hide all others", () => {
    const limited = (version: string, minimum: number) =>
      CustomResource.make({
        ...names,
        version,
        spec: Schema.Struct({ size: Schema.Int.check(Schema.isGreaterThanOrEqualTo(minimum)) })
      })
    const [older, newer] = [limited("v1", 10), limited("v2", 20)]
    const step = CustomResourceVersions.between(older, newer, {
      up: ({ spec }) => ({ spec: { size: spec.size * 2 } }),
      down: ({ spec }) => ({ spec: { size: spec.size / 2 } })
    })
    const tight = CustomResourceVersions.make({ steps: [step] })
    const stored = object("v1", { size: 4 })
    const there = Result.getOrThrow(CustomResourceVersions.convert(tight, stored, newer.apiVersion))
    assert.deepInclude(there, { spec: { size: 8 } } as object)
    assert.deepStrictEqual(Result.getOrThrow(CustomResourceVersions.convert(tight, there, older.apiVersion)), stored)
    assert.isTrue(Result.isFailure(newer.decode(there)), "the operator is told all the same")
    const strange = CustomResourceVersions.convert(tight, object("v1", { size: "4" }), newer.apiVersion)
    assert.match(Result.isFailure(strange) ? strange.failure : "", /spec\.size: Expected number/)
  })

  it("an overwritten annotation is ignored", () => {
    const older = object("v1", { size: "3cm" }, { annotations: { "conversion.example.com/v2": "{", other: "x" } })
    assert.deepStrictEqual(to(older, "v2").spec, { size: 3, colour: { name: "grey" } })
    assert.deepStrictEqual(to(older, "v2").metadata.annotations, { other: "x" })
  })

  const seed = 20261121
  for (const [from, target] of [[V1, "v3"], [V2, "v1"], [V2, "v3"], [V3, "v1"], [V3, "v2"]] as const) {
    it.effect(`every ${from.version} is converted to ${target} and back unchanged (1,000 cases, seed ${seed})`, () =>
      Effect.gen(function*() {
        const source = from === V1
          ? Schema.Struct({
            size: Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]{0,2})cm$/u)),
            note: Schema.optionalKey(Schema.String)
          })
          : from.schemas.spec
        const specs = yield* Arbitrary.sampleEffect(Arbitrary.schema(source as Schema.Codec<any, any, never, never>), {
          count: 1000,
          seed
        })
        for (const spec of specs) {
          const given = object(from.version, JSON.parse(JSON.stringify(spec)))
          assert.deepStrictEqual(to(to(given, target), from.version), given, JSON.stringify(spec))
        }
      }))
  }
})

describe("reviews", () => {
  const review = (desired: string, ...objects: ReadonlyArray<unknown>) =>
    CustomResourceVersions.review(versions, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      request: { uid: "r1", desiredAPIVersion: desired, objects }
    }) as any

  it("answer with every object in its place", () => {
    const answer = review(
      "example.com/v2",
      object("v1", { size: "1cm" }),
      object("v2", { size: 2, colour: { name: "x" } })
    )
    assert.strictEqual(answer.kind, "ConversionReview")
    assert.strictEqual(answer.response.uid, "r1")
    assert.deepStrictEqual(answer.response.result, { status: "Success" })
    assert.deepStrictEqual(answer.response.convertedObjects.map(({ spec }: any) => spec.size), [1, 2])
  })

  it("say which object cannot be converted, and why", () => {
    const thrown = review("example.com/v2", object("v1", { size: "1cm" }), object("v1", { size: "big" }))
    assert.deepStrictEqual(thrown.response, {
      uid: "r1",
      result: { status: "Failure", message: "Widget default/a: size big is no length" }
    })
    assert.match(
      review("example.com/v2", object("v1", { size: 1 })).response.result.message,
      /spec\.size: Expected string/
    )
    assert.match(review("example.com/v2", object("v1", { size: "5000cm" })).response.result.message, /is no length/)
    assert.match(review("example.com/v9", object("v1", { size: "1cm" })).response.result.message, /v9 is not a version/)
  })
})

it("versions that do not belong together are refused", () => {
  const Other = CustomResource.make({ ...names, kind: "Other", version: "v2", spec: Schema.Struct({}) })
  const strange = CustomResourceVersions.between(V1, Other, {
    up: () => ({ spec: {} }),
    down: () => ({ spec: { size: "" } })
  })
  assert.throws(() => CustomResourceVersions.make({ steps: [strange] }), /the same group, kind, plural/)
  assert.throws(
    () => CustomResourceVersions.make({ steps: [second, first] }),
    /the step to v3 must be followed by the step from v3/
  )
  assert.throws(
    () => CustomResourceVersions.make({ steps: [second], storage: V1 }),
    /must be versions of the steps: v1 is not/
  )
  assert.throws(
    () => CustomResourceVersions.make({ steps: [second], unserved: [V2, V3] }),
    /at least one version must be served/
  )
  assert.deepStrictEqual([...versions.served], ["v2", "v3"])
})
