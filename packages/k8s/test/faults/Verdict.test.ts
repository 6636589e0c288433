import { KubeError, type Reflector } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import type * as Fault from "./Fault.ts"
import { resources } from "./Subject.ts"
import * as Verdict from "./Verdict.ts"

const [resource] = resources
const path = "/api/v1/namespaces/default/configmaps"

/** A list or watch that is struck at 1,000 and ends at 2,000 as a failure, with what was seen of it. */
const verdict = (
  kind: Fault.Kind,
  { reason, refusals = [], target = "list" }: {
    readonly target?: Fault.Target
    /** When connections were turned away. */
    readonly refusals?: ReadonlyArray<number>
    /** What the status shows from 2,010 on. */
    readonly reason: KubeError.Reason
  }
) => {
  const watch = target === "watch" ? "watch=true" : "limit=500"
  const degraded: Reflector.Status = { _tag: "Degraded", since: 2_010, reason, failures: 1 }
  const exchange = { at: 999, method: "GET", path: `${path}?${watch}`, target, fault: { kind, at: 1_000 }, over: true }
  return Verdict.judgeTimes(
    { resource, statuses: [{ at: 900, status: { _tag: "Listing" } }, { at: 2_010, status: degraded }] },
    { exchanges: [exchange], refusals },
    [{ target, path, at: 990, end: 2_000, ok: false }],
    20_000
  )
}

const unavailable = new KubeError.ServerError({ message: "the proxy says so", code: 503 })
const noWayIn = new KubeError.Transport({ message: "connect ECONNRESET" })

describe("Verdict", () => {
  it("finds a fault in the status that shows it", () => {
    assert.deepStrictEqual(verdict("answer503", { reason: unavailable }), [])
    assert.deepStrictEqual(verdict("answer503", { reason: unavailable, target: "watch" }), [])
  })

  it("accepts that a list asked for again and turned away at the door shows that alone (plan 743)", () => {
    assert.deepStrictEqual(verdict("answer503", { reason: noWayIn, refusals: [1_500] }), [])
    assert.deepStrictEqual(verdict("answer429", { reason: noWayIn, refusals: [1_500] }), [])
  })

  it("accepts nothing else in a fault's place", () => {
    const hidden = (problems: ReadonlyArray<string>) =>
      assert.include(problems.join(), "at 1000 was not visible", String(problems))
    // Nobody was turned away, or only before or after.
    hidden(verdict("answer503", { reason: noWayIn }))
    hidden(verdict("answer503", { reason: noWayIn, refusals: [900, 2_500] }))
    // Of another reason.
    hidden(verdict("answer503", { reason: new KubeError.Forbidden({ message: "", code: 403 }), refusals: [1_500] }))
    // What the client does not ask for again.
    hidden(verdict("answer503", { reason: noWayIn, refusals: [1_500], target: "watch" }))
    hidden(verdict("answer500", { reason: noWayIn, refusals: [1_500] }))
    hidden(verdict("answer403", { reason: noWayIn, refusals: [1_500] }))
  })
})
