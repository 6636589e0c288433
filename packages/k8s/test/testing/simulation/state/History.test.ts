import { assert, describe, it } from "@effect/vitest"
import type { Recording } from "../../../../src/testing/simulation/recording/Recording.ts"
import type { State } from "../../../../src/testing/simulation/state/Canonical.ts"
import { counters, isHistory } from "../../../../src/testing/simulation/state/History.ts"

/** A run that has met these faults. */
const met = (...faults: ReadonlyArray<string>) =>
  ({ kinds: ["Box"], entries: faults.map((fault) => ({ _tag: "Fault", point: { fault } })) }) as unknown as Recording

const box = (status: object, spec: object = {}, kind = "Box"): State =>
  new Map([[`${kind} default/a`, [JSON.stringify({ kind, spec, status })]]])

describe("History", () => {
  it("a status may count what others' faults have done, once for each, and tell of it", () => {
    for (const fault of ["podFailed", "podRemoved", "workFails", "externalFails", "externalLost", "externalLate"]) {
      assert.isTrue(isHistory(met(fault), box({ timeline: 1 }), box({ timeline: 2 })), fault)
    }
    const failure = { failures: 1, lastFailure: { at: "(time)", reason: "Away" } }
    assert.isTrue(isHistory(met("externalFails"), box({}), box(failure)))
    assert.isFalse(isHistory(met("podFailed"), box({ timeline: 1 }), box({ timeline: 3 })))
    assert.isTrue(isHistory(met("podFailed", "podFailed"), box({ timeline: 1 }), box({ timeline: 3 })))
    assert.isTrue(isHistory(met("externalOutage"), box({}), box({ failures: 12 })))
  })

  it("a number that only grows may stand anywhere", () => {
    assert.isTrue(isHistory(met("podFailed"), box({ memberCounter: 3 }), box({ memberCounter: 4 })))
    assert.isTrue(
      isHistory(met("podRemoved"), box({ members: { nextOrdinal: 3 } }), box({ members: { nextOrdinal: 4 } }))
    )
    assert.isFalse(isHistory(met("podFailed"), box({ memberCounter: 3 }), box({ memberCounter: 5 })))
    assert.isFalse(isHistory(met("crashAfter"), box({ memberCounter: 3 }), box({ memberCounter: 4 })))
    assert.isFalse(isHistory(met("podFailed"), box({ members: 3 }), box({ members: 4 })))
  })

  it("so may one that has only grown, where at some rest there was not so much of anything", () => {
    const rest = (pods: number, status: object, size = pods) => ({
      objects: [
        { kind: "Box", metadata: { uid: "1" }, spec: { size }, status },
        ...Array.from({ length: pods }, (_, index) => ({ kind: "Pod", metadata: { uid: `pod ${index}` } }))
      ],
      outside: new Map()
    })
    const told = (
      ...rests: ReadonlyArray<object>
    ) => [...counters({ kinds: ["Box"], rests: rests.slice(0, -1), ...rests.at(-1)! } as never)]
    assert.deepStrictEqual(told(rest(3, { created: 3 }), rest(2, { created: 3 })), ["Box.status.created"])
    assert.deepStrictEqual(
      told(rest(2, { all: { made: 2 } }), rest(1, { all: { made: 2 } }), rest(3, { all: { made: 4 } })),
      [
        "Box.status.all.made"
      ]
    )
    assert.isEmpty(told(rest(3, { ready: 3 }), rest(2, { ready: 2 })), "it shrinks")
    assert.isEmpty(told(rest(2, { ready: 2 }), rest(3, { ready: 3 })), "so many are there")
    assert.isEmpty(told(rest(2, { peak: 4 }, 4), rest(2, { peak: 4 }, 4)), "so many are wanted")
    const grown = new Set(["Box.status.created"])
    assert.isTrue(isHistory(met("podFailed"), box({ created: 3 }), box({ created: 4 }), grown))
    assert.isFalse(isHistory(met("podFailed"), box({ created: 3 }), box({ created: 5 }), grown))
    assert.isFalse(isHistory(met("crashAfter"), box({ created: 3 }), box({ created: 4 }), grown))
  })

  it("not what the operator has counted twice: its own deaths, and answers that were lost", () => {
    for (const faults of [[], ["crashAfter"], ["lostAnswer"], ["podFailed", "crashAfter"]]) {
      assert.isFalse(isHistory(met(...faults), box({ timeline: 1 }), box({ timeline: 2 })), faults.join())
    }
  })

  it("not how much there is, what is less, other words, nor anything that is no status of a custom resource", () => {
    const different = (wanted: State, found: State) => assert.isFalse(isHistory(met("podRemoved"), wanted, found))
    different(box({ readyReplicas: 2 }), box({ readyReplicas: 3 }))
    different(box({ count: 1 }), box({ count: 0 }))
    different(box({ phase: "Ready" }), box({ phase: "Failed" }))
    different(box({}), box({ phase: "Failed" }))
    different(box({ count: 1 }, { size: 1 }), box({ count: 2 }, { size: 2 }))
    different(box({ failed: 0 }, {}, "Job"), box({ failed: 1 }, {}, "Job"))
    different(box({}), new Map())
  })
})
