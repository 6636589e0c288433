import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Temporal } from "@effect-operator/k8s/testing"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "./recordings.ts"

/** A run in which Pods came (`+a`) and went (`-a`). */
const recording = (...changes: ReadonlyArray<string>): Recording => ({
  ...blank,
  entries: changes.map((word, index) => {
    const name = word.slice(1)
    const object = { apiVersion: "v1", kind: "Pod", metadata: { name, uid: name } } as unknown as KubeObject
    const type = word.startsWith("+") ? "ADDED" : "DELETED"
    return {
      _tag: "Change",
      at: index,
      change: { revision: index, type, collection: "pods", key: name, namespace: "", object, event: { type, object } }
    }
  })
})

const judge = (oracle: { judge: (run: Recording, reference: never) => string | undefined }, run: Recording) =>
  oracle.judge(run, undefined as never)

const some = ({ of }: Temporal.Moment) => of("Pod").length > 0
const two = ({ of }: Temporal.Moment) => of("Pod").length > 1

describe("Temporal", () => {
  it("always: after every change", () => {
    const oracle = Temporal.always("some", some)
    assert.isUndefined(judge(oracle, recording("+a", "+b", "-a")))
    assert.strictEqual(judge(oracle, recording("+a", "-a", "+b")), "does not hold after deleted Pod a")
  })

  it("never: after no change", () => {
    const oracle = Temporal.never("two", two)
    assert.isUndefined(judge(oracle, recording("+a", "-a", "+b")))
    assert.strictEqual(judge(oracle, recording("+a", "+b", "-a")), "holds after added Pod b")
  })

  it("eventually: at some time", () => {
    const oracle = Temporal.eventually("two", two)
    assert.isUndefined(judge(oracle, recording("+a", "+b", "-a")))
    assert.strictEqual(judge(oracle, recording("+a", "-a", "+b")), "never holds")
  })

  it("until: up to a moment that must come", () => {
    const oracle = Temporal.until("some until two", some, two)
    assert.isUndefined(judge(oracle, recording("+a", "+b", "-a", "-b")))
    assert.strictEqual(
      judge(oracle, recording("+a", "-a")),
      "does not hold after deleted Pod a, before the second condition holds"
    )
    assert.strictEqual(judge(oracle, recording("+a")), "the second condition never holds")
  })
})
