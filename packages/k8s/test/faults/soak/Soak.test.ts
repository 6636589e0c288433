import { assert, it } from "@effect/vitest"
import { Effect, References } from "effect"
import * as Soak from "./Soak.ts"

const check = (heap: number): Soak.Check => ({
  minute: 1,
  equal: true,
  after: 0,
  difference: undefined,
  status: "Live",
  heap: heap * 1024 * 1024,
  sockets: { clients: 1, server: 1 },
  fibers: 1,
  writes: 0,
  failedWrites: 0,
  requests: 0,
  faults: 0,
  lists: 0
})

it("memory is flat if the second half needs no more than the first, but for what the first minute is", () => {
  assert.isTrue(Soak.isFlat([]))
  assert.isTrue(Soak.isFlat([40, 60, 61, 60, 62, 61].map(check)))
  assert.isTrue(Soak.isFlat([200, 60, 61, 60, 62, 61].map(check)))
  assert.isFalse(Soak.isFlat([200, 60, 70, 80, 90, 120].map(check)))
})

it.live("two minutes of a soak, twenty times as fast: equal at the end of each, and few fibers", () =>
  Effect.gen(function*() {
    const checks = yield* Soak.run({ minutes: 2, seed: 1, speed: 20, onCheck: () => {} })
    assert.deepStrictEqual(checks.map(({ difference, equal }) => [equal, difference]), [[true, undefined], [
      true,
      undefined
    ]])
    const [first, last] = checks as [Soak.Check, Soak.Check]
    assert.strictEqual(last.writes, 1_200)
    assert.isAbove(last.faults, 3)
    assert.isBelow(last.fibers, first.fibers + 30)
    assert.isBelow(last.sockets.clients, 60)
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
