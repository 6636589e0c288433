import { Trigger } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import * as Reasons from "../src/internal/Reasons.ts"
import { Prng } from "./support/Prng.ts"

const tags = ["Added", "Updated", "Deleted", "Requeue", "Retry", "Resync", "Source"] as const

/** A reason out of few, so that some come twice. */
const reasonOf = (random: Prng): Trigger.Reason => {
  const _tag = random.pick(tags)
  switch (_tag) {
    case "Added":
    case "Updated":
    case "Deleted":
      return { _tag, kind: random.pick(["Pod", "Node"]), object: `default/${random.int(0, 3)}` }
    case "Source":
      return { _tag, source: random.pick(["a", "b"]) }
    default:
      return { _tag }
  }
}

describe("Reasons", () => {
  it("keeps each once, in order of arrival, whether few or many", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new Prng(seed)
      const all = Array.from({ length: random.int(1, 40) }, () => reasonOf(random))
      const reasons = Reasons.list(all.reduce<Reasons.Reasons | undefined>(Reasons.and, undefined))
      const expected = [...new Map(all.toReversed().map((reason) => [Trigger.id(reason), reason])).values()]
        .toReversed()
      const inOrder = all.filter((reason, index) => all.findIndex((other) => Trigger.same(other, reason)) === index)
      assert.deepStrictEqual(reasons, inOrder, `seed ${seed}`)
      assert.sameDeepMembers([...reasons], expected, `seed ${seed}`)
    }
  })

  it("of very many changed objects keeps the first, and every other reason", () => {
    const changes = Array.from({ length: 100_000 }, (_, n): Trigger.Reason => ({
      _tag: "Deleted",
      kind: "Pod",
      object: `default/${n}`
    }))
    const others: ReadonlyArray<Trigger.Reason> = [{ _tag: "Source", source: "a" }, { _tag: "Resync" }]
    const all = [...changes, ...others, ...others]
    const reasons = Reasons.list(all.reduce<Reasons.Reasons | undefined>(Reasons.and, undefined))
    assert.deepStrictEqual(reasons, [...changes.slice(0, 100), ...others])
  })

  it("two are equal if their identities are", () => {
    const random = new Prng(1)
    for (let n = 0; n < 5_000; n++) {
      const [a, b] = [reasonOf(random), reasonOf(random)]
      assert.strictEqual(Trigger.same(a, b), Trigger.id(a) === Trigger.id(b), `${Trigger.id(a)}, ${Trigger.id(b)}`)
    }
  })
})
