import { Action, Cache, CelRule, Controller, CustomResource, Manager } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import * as Draw from "@effect-operator/k8s/testing/simulation/story/Draw"
import * as Token from "@effect-operator/k8s/testing/simulation/story/Token"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Schema } from "effect"
import * as B from "../planted/Box.ts"

/** A crate may not change its colour, nor shrink while it is marked. */
const Crate = CustomResource.make({
  group: "drawn.example.com",
  version: "v1",
  kind: "Crate",
  spec: Schema.Struct({
    size: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
    colour: Schema.Literals(["red", "green"]).pipe(CelRule.rules(CelRule.immutable())),
    label: Schema.optionalKey(Schema.String)
  })
})
type Crate = typeof Crate.Type

const settings = B.named("settings")

/** The size that the ConfigMap tells, as the operator sees fit. */
const crates = (
  size: (spec: Crate["spec"], before: number) => number,
  /** How long it has to have been smaller before it is made so. */
  cooling?: Duration.Input
): Simulation.Scenario => ({
  name: "crates",
  resources: [Crate],
  operator: Manager.layer([
    Controller.make("crates", {
      for: Crate,
      owns: [ConfigMap],
      reconcile: Effect.fnUntraced(function*(crate) {
        const { since, size: last = "0" } = (yield* Cache.get(ConfigMap, settings))?.data ?? {}
        const wanted = size(crate.spec, Number(last))
        if (cooling !== undefined && wanted < Number(last)) {
          const now = yield* Clock.currentTimeMillis
          const left = Number(since ?? now) + Duration.toMillis(Duration.fromInputUnsafe(cooling)) - now
          if (since === undefined) yield* B.keep(crate as never, "settings", { size: last, since: String(now) })
          if (left > 0) return Action.requeueAfter(left)
        }
        if (since === undefined) yield* B.keep(crate as never, "settings", { size: String(wanted) })
        else {
          const body = { data: { size: String(wanted), since: null } }
          yield* (yield* B.client).patch(ConfigMap, settings, B.merge(body))
        }
        return Action.done
      })
    })
  ]),
  steps: [],
  draws: Simulation.draws(Crate, {
    desired: (crate, objects) => {
      const map = objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "settings") as
        | ConfigMap
        | undefined
      return map?.data?.["size"] === (crate === undefined ? undefined : String(crate.spec.size))
    }
  })
})

const right = crates(({ size }) => size)

// Made smaller as far as it goes, however slow the machine.
const options: Simulation.Options = {
  depth: 1,
  runs: 12,
  interleavings: 0,
  stories: 4,
  seed: 3,
  shrinking: "1 minute"
}

const drawnOf = (failure: Simulation.ConvergenceFailure) => Token.parse(failure.replay).story.changes

describe("Draw", () => {
  it("draws stories that the server accepts, rules about changes included, the same for a seed", () => {
    const { draws } = right
    const stories = Array.from({ length: 12 }, (_, turn) => Draw.changes(right, draws!, 7, turn))
    assert.deepStrictEqual(stories, Array.from({ length: 12 }, (_, turn) => Draw.changes(right, draws!, 7, turn)))
    assert.notDeepEqual(stories, Array.from({ length: 12 }, (_, turn) => Draw.changes(right, draws!, 8, turn)))
    for (const story of stories) {
      let colour: unknown
      assert.isAtMost(story.length, Draw.defaults.changes + 1)
      for (const change of story) {
        // A crate made anew may have another colour, one that is changed may not.
        if (change !== null && colour !== undefined) assert.strictEqual(change["colour"], colour)
        colour = change?.["colour"]
      }
    }
    assert.isTrue(stories.some((story) => story.includes(null) && story.at(-1) !== null), "made anew")
    assert.isTrue(stories.some((story) => story.filter((change) => change !== null).length > 2), "changed twice")
  })

  it("knows what happens to the object of a story, and to each of its fields", () => {
    const [one, two] = [{ size: 1 }, { size: 2 }]
    assert.deepStrictEqual([...Draw.happenings([one])], ["made"])
    assert.deepStrictEqual([...Draw.happenings([one, one, two])], [
      "made",
      "asked for again",
      "changed",
      "spec.size: more"
    ])
    assert.deepStrictEqual([...Draw.happenings([two, one, null, two])], [
      "made",
      "changed",
      "spec.size: less",
      "deleted",
      "made anew"
    ])
    assert.deepStrictEqual([
      ...Draw.happenings([{ size: 1, on: true, names: ["a"], of: { a: "b" }, word: "x" }, {
        size: 0,
        on: false,
        names: ["b"],
        of: {}
      }])
    ], [
      "made",
      "changed",
      "spec.size: nothing",
      "spec.on: nothing",
      "spec.names: other",
      "spec.of: nothing",
      "spec.word: gone"
    ])
  })

  it("knows what is changed alone, and what is changed back", () => {
    const [one, two, three] = [{ size: 1, on: true }, { size: 2, on: true }, { size: 2, on: false }]
    assert.includeMembers([...Draw.happenings([one, two])], ["spec.size: alone"])
    assert.notInclude([...Draw.happenings([one, three])], "spec.size: alone")
    assert.include([...Draw.happenings([one, two, one])], "changed back")
    assert.notInclude([...Draw.happenings([one, null, one])], "changed back")
  })

  it("draws changes of one field alone, and changes back", () => {
    const all = new Set(
      Array.from({ length: 24 }, (_, turn) => Draw.happenings(Draw.changes(right, right.draws!, 7, turn))).flatMap((
        one
      ) => [...one])
    )
    assert.includeMembers([...all], ["spec.size: alone", "spec.label: alone", "changed back"])
  })

  it("draws lists that lose or gain one item", () => {
    const Team = CustomResource.make({
      group: "drawn.example.com",
      version: "v1",
      kind: "Team",
      spec: Schema.Struct({ names: Schema.Array(Schema.Literals(["ann", "bob", "cy", "dee", "eve"])) })
    })
    const scenario = { name: "teams", resources: [Team], operator: Manager.layer([]), steps: [] }
    const all = Array.from({ length: 80 }, (_, turn) => Draw.changes(scenario, Simulation.draws(Team), 1, turn))
    const names = (change: (typeof all)[number][number]) => change === null ? [] : change["names"] as Array<string>
    const pairs = all.flatMap((changes) => changes.slice(1).map((after, at) => [names(changes[at]!), names(after)]))
    const isPart = (one: ReadonlyArray<string>, of: ReadonlyArray<string>) => one.every((name) => of.includes(name))
    const by = (more: number) =>
      pairs.filter(([one, two]) =>
        two!.length === one!.length + more && one!.length + two!.length > 2 &&
        (isPart(one!, two!) || isPart(two!, one!))
      ).length
    assert.isAbove(by(1), 3)
    assert.isAbove(by(-1), 3)
  })

  it.live("people wait as long as the story asks for in which most happens, whatever the first one is that is drawn", () =>
    Effect.gen(function*() {
      const slow = crates(({ size }) => size, "90 seconds")
      const report = yield* Simulation.checkConvergence(slow, { ...options, runs: 0, stories: 8 })
      assert.strictEqual(report.stories, 8)
    }))

  it("tells the story first in which most happens, then what has not been told", () => {
    const story = (...sizes: ReadonlyArray<number | null>) => ({
      changes: sizes.map((size) => (size === null ? null : { size }))
    })
    const [short, grows, ends, anew] = [story(1), story(1, 2), story(2, 1, 0, null), story(1, 2, null, 1)]
    assert.deepStrictEqual(Draw.telling([short, grows, ends, anew]), [ends, anew, grows, short])
    assert.deepStrictEqual(Draw.telling([]), [])
  })

  it("offers simpler stories only, and only such as the server accepts", () => {
    const story = [{ size: 9, colour: "red", label: "long" }, { size: 4, colour: "red" }]
    const simpler = [...Draw.smaller(right, right.draws!, story)]
    assert.deepInclude(simpler, [{ size: 4, colour: "red" }])
    assert.deepInclude(simpler, [{ size: 0, colour: "red", label: "long" }, { size: 4, colour: "red" }])
    assert.deepInclude(simpler, [{ size: 9, colour: "red" }, { size: 4, colour: "red" }])
    for (const changes of simpler) {
      assert.isTrue(changes.every((change) => change?.["colour"] === "red" && typeof change["size"] === "number"))
    }
  })

  it.live("finds the spec that an operator has not thought of, and makes it as small as it can be", () =>
    Effect.gen(function*() {
      const wrong = crates(({ size }) => Math.min(size, 4))
      const failure = yield* Effect.flip(Simulation.checkConvergence(wrong, options))
      assert.strictEqual(failure.oracle, "desired state")
      const [change, ...more] = drawnOf(failure)
      assert.deepStrictEqual(more, [])
      assert.strictEqual(change?.["size"], 5)
      assert.notProperty(change, "label")
      assert.include(failure.message, "Crate drawn: {\"size\":5")
      const again = yield* Effect.flip(Simulation.checkConvergence(wrong, { replay: failure.replay }))
      assert.strictEqual(again.message, failure.message)
    }))

  it.live("finds the sequence of changes that an operator gets wrong", () =>
    Effect.gen(function*() {
      const wrong = crates(({ size }, before) => Math.max(size, before))
      const failure = yield* Effect.flip(Simulation.checkConvergence(wrong, options))
      assert.deepStrictEqual(drawnOf(failure).map((change) => change?.["size"]), [1, 0])
    }))

  it.live("is content with an operator that is right, and says how many stories there were", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(right, options)
      assert.strictEqual(report.stories, 4)
      assert.strictEqual(report.runs, 12)
      assert.isFalse(report.exhaustive)
      assert.include(Simulation.summary(report), "4 drawn stories")
    }))

  it("says so if the server accepts nothing that the Schema makes", () => {
    const none = { ...right, draws: Simulation.draws(Crate, { spec: Schema.Struct({ size: Schema.Literal(41) }) }) }
    assert.throws(
      () => Draw.changes(none, none.draws, 1, 0),
      /the server accepted none of 50 specs of Crate .*narrow the spec/
    )
  })
})
