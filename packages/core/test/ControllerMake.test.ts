import { Action, Controller, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Part, Region, Widget } from "./support/Kinds.ts"

describe("Controller.make refuses impossible options, naming the field, the value and a remedy", () => {
  const reconcile = () => Effect.succeed(Action.done)
  const base = { for: Widget, reconcile }
  const refused: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    [
      "a name no label could hold",
      () => Controller.make("My Widgets", base),
      /name: "My Widgets": must consist of lower-case/
    ],
    ["no worker", () => Controller.make("w", { ...base, concurrency: 0 }), /w: concurrency: 0: must be a whole number/],
    ["half a worker", () => Controller.make("w", { ...base, concurrency: 1.5 }), /w: concurrency: 1.5: must be/],
    [
      "no time to reconcile",
      () => Controller.make("w", { ...base, timeout: 0 }),
      /w: timeout: 0: must be above 0; leave/
    ],
    [
      "no time to fill caches",
      () => Controller.make("w", { ...base, cacheSyncTimeout: 0 }),
      /w: cacheSyncTimeout: 0: m/
    ],
    [
      "a resync without pause",
      () => Controller.make("w", { ...base, resync: 0 }),
      /w: resync: .*: must be at least 1 second/
    ],
    [
      "no namespace at all",
      () => Controller.make("w", { ...base, namespaces: [] }),
      /w: namespaces: \[\]: selects nothing/
    ],
    [
      "no namespace of a watch",
      () => Controller.make("w", { ...base, watches: [Watch.cached(Part, { namespaces: [] })] }),
      /w: namespaces: \[\]: selects nothing; leave it out/
    ],
    [
      "namespaces of what has none",
      () => Controller.make("w", { ...base, for: Region, reconcile, namespaces: ["shop", "web"] }),
      /w: namespaces: shop, web: Region is cluster-scoped: leave it out/
    ],
    [
      "namespaces of a watch of what has none",
      () => Controller.make("w", { ...base, watches: [Watch.cached(Region, { namespaces: ["shop"] })] }),
      /w: namespaces: shop: Region is cluster-scoped/
    ],
    [
      "an owner in a namespace of what has none",
      () => Controller.make("w", { ...base, owns: [Part, Region] }),
      /w: owns: Region.v1.test.io: Widget is namespaced and cannot own a cluster-scoped object: use Watch.labelled/
    ]
  ]
  for (const [what, make, message] of refused) {
    it(what, () => {
      assert.throws(make, message)
    })
  }

  it("and accepts all others", () => {
    const controller = Controller.make("w", { ...base, concurrency: 4, resync: "1 minute", namespaces: ["a", "b"] })
    assert.strictEqual(controller.concurrency, 4)
    assert.deepStrictEqual(controller.watches.map(({ namespaces }) => namespaces), [["a", "b"]])
    const owning = Controller.make("r", { for: Region, reconcile, owns: [Region, Widget] })
    assert.strictEqual(owning.watches.length, 3)
    const confined = Controller.make("r", { for: Region, reconcile, owns: [Region, Widget], namespaces: ["a"] })
    assert.deepStrictEqual(confined.watches.map(({ namespaces }) => namespaces), [undefined, undefined, ["a"]])
  })
})
