import { CustomResource, CustomResourceVersions } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ConversionProof } from "../../src/testing/index.ts"

const names = { group: "example.com", kind: "Box" } as const

const V1 = CustomResource.make({
  ...names,
  version: "v1",
  spec: Schema.Struct({ size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })) }),
  status: Schema.Struct({ full: Schema.Boolean })
})
const V2 = CustomResource.make({
  ...names,
  version: "v2",
  spec: Schema.Struct({
    size: Schema.String.check(Schema.isPattern(/^(0|[1-9][0-9]?)cm$/u)),
    tags: Schema.Array(Schema.String)
  }),
  status: Schema.Struct({ full: Schema.Boolean })
})

const versions = (
  up: (size: number) => string = (size) => `${size}cm`,
  down: (size: string) => number = (size) => Number(size.slice(0, -2))
) =>
  CustomResourceVersions.make({
    steps: [CustomResourceVersions.between(V1, V2, {
      up: ({ spec, status }) => ({ spec: { size: up(spec.size), tags: [] }, status }),
      down: ({ spec, status }) => ({ spec: { size: down(spec.size) }, status })
    })]
  })

const fault = (broken: CustomResourceVersions.CustomResourceVersions) =>
  Effect.map(Effect.flip(ConversionProof.prove(broken, { seed: 7 })), ({ message }) => message)

it.effect("holds where what the other version cannot say comes back", () => ConversionProof.prove(versions()))

it.effect("says what happens to which object, and how it was drawn", () =>
  Effect.gen(function*() {
    const wrong = yield* fault(versions((size) => `${size + 1}cm`, (size) => Number(size.slice(0, -2))))
    assert.match(
      wrong,
      /^Box from v1 to v2 \(1000 objects, seed 7\): (the converted object is not valid in v2|the object is different)/
    )
    const thrown = yield* fault(versions((size) => {
      if (size > 90) throw new Error("too large")
      return `${size}cm`
    }))
    assert.match(thrown, /: the object cannot be converted: too large\n  v1: \{"spec":\{"size":9\d\}/)
    const strange = yield* fault(versions(() => "none"))
    assert.match(strange, /the converted object is not valid in v2: spec\.size: .*\n  v2: \{"spec":/)
    const stuck = yield* fault(versions(undefined, () => Number.NaN))
    assert.match(stuck, /: the object is different after conversion there and back\n  v2: /)
  }))

it.effect("an object that is changed and not kept does not come back", () =>
  Effect.gen(function*() {
    const step = CustomResourceVersions.between(V1, V2, {
      up: ({ spec, status }) => ({ spec: { size: `${spec.size}cm`, tags: [] }, status }),
      down: ({ spec, status }) => ({ spec: { size: Number(spec.size.slice(0, -2)) }, status, labels: { old: "yes" } })
    })
    const message = yield* fault(CustomResourceVersions.make({ steps: [step] }))
    assert.match(message, /the object is different after conversion there and back\n  v[12]: .*\n  back: /)
  }))
