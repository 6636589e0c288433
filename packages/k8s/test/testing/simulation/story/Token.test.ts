import { Webhook } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import * as Fault from "@effect-operator/k8s/testing/simulation/recording/Fault"
import * as Token from "@effect-operator/k8s/testing/simulation/story/Token"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { planted } from "../Planted.ts"

const scenario = planted[0]!.wrong

const token = (points: ReadonlyArray<Fault.Point>): Token.Token => ({
  scenario: scenario.name,
  story: { given: 1, steps: [0, 2], changes: [{ size: 3 }, null] },
  seed: 42,
  plan: { interleaving: 7, points },
  fingerprint: Token.fingerprint(scenario)
})

describe("Token", () => {
  it("says every kind of fault, and reads it again", () => {
    const points: ReadonlyArray<Fault.Point> = [
      ...(Object.keys(Fault.callFaults) as ReadonlyArray<Fault.CallFault>).map((fault, at) =>
        ({ _tag: "Call", at, fault }) as const
      ),
      ...Fault.allEventFaults.map((fault, at) => ({ _tag: "Event", at, fault }) as const),
      ...Fault.allExternalFaults.map((fault, at) => ({ _tag: "External", at, fault }) as const),
      ...Fault.allClockFaults.map((fault, at) => ({ _tag: "Clock", at, fault }) as const)
    ]
    assert.deepStrictEqual(Token.parse(Token.format(token(points))), token(points))
    for (const point of points) assert.include(Fault.describe(point), String(point.at))
  })

  it("refuses a fault of another kind, and one that nobody knows", () => {
    for (const fault of ["watchBroken", "toString", "nonsense"]) {
      const text = Token.format(token([{ _tag: "Call", at: 1, fault: fault as Fault.CallFault }]))
      assert.throws(() => Token.parse(text), /from another version, or changed/)
    }
  })

  it("knows a scenario whose kinds, hooks, steps or replicas have changed", () => {
    const known = Token.fingerprint(scenario)
    assert.strictEqual(Token.fingerprint({ ...scenario, operator: planted[1]!.wrong.operator }), known)
    assert.notStrictEqual(Token.fingerprint({ ...scenario, replicas: 2 }), known)
    assert.notStrictEqual(Token.fingerprint({ ...scenario, resources: [] }), known)
    assert.notStrictEqual(Token.fingerprint({ ...scenario, steps: [] }), known)
    const hook = Webhook.mutating(Pod, { mutate: () => Effect.void })
    assert.notStrictEqual(Token.fingerprint({ ...scenario, webhooks: [hook] }), known)
    assert.strictEqual(Token.fingerprint({ ...scenario, webhooks: [] }), known)
  })
})
