import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Entry, Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Variants from "@effect-operator/k8s/testing/simulation/story/Variants"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

/** A step that creates or deletes a Box, and what it begins with. */
const told = ([type, name]: readonly ["ADDED" | "DELETED", string], index: number): ReadonlyArray<Entry> => {
  const object = { kind: "Box", metadata: { name, uid: `uid of ${name}`, namespace: "default" } } as KubeObject
  return [
    { _tag: "Step", at: 10 * index, name: `${index}`, failed: undefined, made: [] },
    { _tag: "Change", at: 10 * index, change: { type, object } }
  ] as never
}

const run = (...steps: ReadonlyArray<readonly ["ADDED" | "DELETED", string]>): Recording => ({
  ...blank,
  kinds: ["Box"],
  steps: steps.map((_, index) => 10 * index),
  entries: steps.flatMap(told)
})

const sooner = (...steps: ReadonlyArray<readonly ["ADDED" | "DELETED", string]>) =>
  Variants.sooner(run(...steps), { steps: steps.map((_, index) => index), changes: [], given: 0 } as never)
    .map(({ step, story }) => [step, story.steps])

describe("Variants", () => {
  it("what is created is deleted sooner: the steps in between are left out, with what they create and delete", () => {
    assert.deepStrictEqual(sooner(["ADDED", "a"], ["ADDED", "a"], ["DELETED", "a"]), [[0, [0, 2]]])
    assert.deepStrictEqual(
      sooner(["ADDED", "a"], ["ADDED", "b"], ["DELETED", "b"], ["DELETED", "a"]),
      [[0, [0, 2, 3]], [0, [0, 3]]]
    )
  })
})
