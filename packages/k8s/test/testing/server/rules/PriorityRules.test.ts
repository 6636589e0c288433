import type { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as PriorityRules from "../../../../src/testing/server/rules/PriorityRules.ts"
import { del, get, layer, post } from "../../support/server.ts"

const priorityClass = (name: string, fields: object) =>
  ({ metadata: { name }, preemptionPolicy: "Never", ...fields }) as unknown as KubeObject.KubeObject

const prefix = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use " +
  "only. error: "

describe("a PriorityClass", () => {
  const cases: ReadonlyArray<readonly [string, object, ReadonlyArray<string>]> = [
    ["a", { value: 1_000_000_000 }, []],
    ["a", { value: 1_000_000_001 }, [
      "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]],
    ["system-a", { value: 5 }, [`${prefix}system-a is not a known system priority class`]],
    ["system-node-critical", { value: 2_000_001_000 }, []],
    ["system-node-critical", { value: 1 }, [`${prefix}value of system-node-critical PriorityClass must be 2000001000`]],
    ["system-cluster-critical", { value: 2_000_000_000, globalDefault: true }, [
      `${prefix}globalDefault of system-cluster-critical PriorityClass must be false`
    ]],
    ["a", { value: 1, preemptionPolicy: "Maybe" }, [
      "preemptionPolicy: Unsupported value: \"Maybe\": supported values: \"PreemptLowerPriority\", \"Never\""
    ]]
  ]
  for (const [name, fields, faults] of cases) {
    it(`${name} ${JSON.stringify(fields)}`, () => {
      const found = PriorityRules.strategy.validate!(priorityClass(name, fields))
      assert.deepStrictEqual(found.map(FieldError.format), faults)
    })
  }

  it.effect("is there from the start and stays, if it is the system's own", () =>
    Effect.gen(function*() {
      const classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
      const { body: { items } } = yield* get(classes)
      assert.deepStrictEqual(
        items.map(({ metadata: { generation, name }, value }: any) => [name, value, generation]),
        [["system-cluster-critical", 2_000_000_000, 1], ["system-node-critical", 2_000_001_000, 1]]
      )
      for (const name of ["system-cluster-critical", "system-node-critical"]) {
        const { body, status } = yield* del(`${classes}/${name}?dryRun=All`)
        assert.strictEqual(status, 403)
        assert.strictEqual(
          body.message,
          `priorityclasses.scheduling.k8s.io "${name}" is forbidden: this is a system priority class and cannot be deleted`
        )
      }
      yield* post(classes, { metadata: { name: "own" }, value: 5 })
      assert.strictEqual((yield* del(`${classes}/own`)).status, 200)
    }).pipe(Effect.provide(layer)))

  it("keeps its value", () => {
    const found = PriorityRules.strategy.validateUpdate!(
      priorityClass("a", { value: 2 }),
      priorityClass("a", { value: 1 })
    )
    assert.deepStrictEqual(found.map(FieldError.format), ["value: Forbidden: may not be changed in an update."])
  })
})
