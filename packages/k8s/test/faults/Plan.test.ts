import { assert, it } from "@effect/vitest"
import * as Fault from "./Fault.ts"
import * as Plan from "./Plan.ts"

const plans = Array.from({ length: 1000 }, (_, index) => Plan.make(index + 1))

it("a seed decides the whole plan", () => {
  assert.deepStrictEqual(Plan.make(7), Plan.make(7))
  assert.notDeepEqual(Plan.make(7).phases, Plan.make(8).phases)
})

it("a thousand plans have every kind of fault in more than fifty of them, on every target it can strike", () => {
  for (const kind of Fault.kinds) {
    const having = plans.filter(({ phases }) => phases.some(({ fault }) => fault.kind === kind))
    assert.isAbove(having.length, 80, kind)
  }
  const targets = new Set(plans.flatMap(({ phases }) => phases.map(({ fault }) => `${fault.kind} ${fault.on.join()}`)))
  for (const text of ["cut watch", "cut list", "cut write", "drop write", "answer410 watch", "answer410 list"]) {
    assert.isTrue(targets.has(text), text)
  }
})
