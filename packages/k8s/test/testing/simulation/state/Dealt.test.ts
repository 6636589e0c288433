import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { State } from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { dealt } from "@effect-operator/k8s/testing/simulation/state/Dealt"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

type Statuses = Readonly<Record<string, object>>

const spec = { host: "example.com", weight: 7 }

const state = (statuses: Statuses, kind = "Route"): State =>
  new Map(
    Object.entries(statuses).map(([name, status]) => [`${kind} default/${name}`, [JSON.stringify({ spec, status })]])
  )

const run = (...told: ReadonlyArray<Statuses>): Recording => {
  const objects = told.flatMap((statuses) =>
    Object.entries(statuses).map(([name, status]) =>
      ({ kind: "Route", metadata: { name, uid: name }, spec, status }) as unknown as KubeObject
    )
  )
  return {
    ...blank,
    kinds: ["Route"],
    objects,
    entries: objects.map((object) => ({ _tag: "Change", at: 1, change: { object } }) as never)
  }
}

const one = { a: { shard: 0 }, b: { shard: 1 }, c: { shard: 0 } }
const two = { a: { shard: 1 }, b: { shard: 0 }, c: { shard: 0 } }

describe("Dealt", () => {
  it("which share each has is no difference where as many have each, and keep it", () => {
    assert.isTrue(dealt(run(two), state(one), state(two)))
    assert.isFalse(dealt(run(one, two), state(one), state(two)), "one that had 0 was told 1")
    assert.isFalse(dealt(run(two), state(one), state({ ...two, c: { shard: 1 } })))
  })

  it("who has none, where there are not enough, is whoever came last", () => {
    const [first, second] = [{ a: { shard: 0 }, b: {} }, { a: {}, b: { shard: 0 } }]
    assert.isTrue(dealt(run(second), state(first), state(second)))
    assert.isTrue(dealt(run(second), state({ ...first, b: undefined as never }), state(second)))
    assert.isFalse(dealt(run(second), state(first), state({ a: {}, b: {} })), "nobody has it")
    assert.isFalse(dealt(run(second), state(first), state({ a: { shard: 0 }, b: { shard: 0 } })), "both have it")
    assert.isFalse(dealt(run(first, second), state(first), state(second)), "it was taken away")
    const phases = [{ a: { phase: "Ready" }, b: {} }, { a: {}, b: { phase: "Ready" } }] as const
    assert.isFalse(dealt(run(phases[1]), state(phases[0]), state(phases[1])), "a phase is not given out")
  })

  it("nor of what follows from a spec, is said in words, or stands elsewhere", () => {
    const weights = (a: number, b: number) => ({ a: { shard: a }, b: { shard: b } })
    assert.isFalse(dealt(run(weights(1, 7)), state(weights(7, 1)), state(weights(1, 7))))
    const phases = (a: string, b: string) => ({ a: { phase: a }, b: { phase: b } })
    assert.isFalse(
      dealt(run(phases("Ready", "Failed")), state(phases("Failed", "Ready")), state(phases("Ready", "Failed")))
    )
    assert.isFalse(dealt(run(two), state(one, "Deployment"), state(two, "Deployment")))
    assert.isFalse(dealt(run(two), state(one), state({ a: two.a, b: two.b })))
  })
})
