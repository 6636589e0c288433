import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import * as Points from "@effect-operator/k8s/testing/simulation/exploring/Points"
import * as Pools from "@effect-operator/k8s/testing/simulation/exploring/Pools"
import type { Oracle } from "@effect-operator/k8s/testing/simulation/oracles/Oracle"
import * as Oracles from "@effect-operator/k8s/testing/simulation/oracles/Oracles"
import { blinds, type Plan } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { planted } from "../Planted.ts"
import * as B from "../planted/Box.ts"

/** Keeps the size in a ConfigMap, and says so. */
const controller = Controller.make("keeping", {
  for: B.Box,
  owns: [ConfigMap],
  reconcile: Effect.fnUntraced(function*(box) {
    const it = yield* KubeClient.KubeClient
    yield* it.apply(ConfigMap, {
      metadata: { ...B.named("size"), ownerReferences: [controllerReference(box)] },
      data: { size: `${box.spec.size}` }
    })
    if (box.status?.observedGeneration === box.metadata.generation) return Action.awaitChange
    return yield* B.done(B.status(box, { observedGeneration: box.metadata.generation! }))
  })
})

const scenario: Simulation.Scenario = {
  name: "keeping",
  resources: B.resources,
  operator: Manager.layer([controller]),
  steps: B.sized(1, 2, 3)
}

const story = whole(scenario)
const reference = Reference.of(scenario, story, 1)
const all = Points.of(reference.recording, 1).map((point) => ({ point, lived: story }))
const pooling = Pools.make(all, () => reference.recording)
const live = (plan: Plan) => Run.run(scenario, plan, { seed: 1, quiet: Run.defaults.shortQuiet })
const cleared = (pool: Pools.Pool, run: Recording, oracles: ReadonlyArray<Oracle> = Oracles.all) =>
  pooling.cleared(pool, run, reference, oracles)

const singlesOf = ({ members }: Pools.Pool) => [...members.values()].flat()

/** Makes a process forget, or list anew. */
const renews = /^crash|Restart$|Crash$|^watch(?:Expired|Stale|Skipped)$/
/** Nobody is to notice it. */
const unnoticed = /^watch(?:Closed|Duplicated)$/

describe("Pools", () => {
  it("every fault is in one pool, or alone; a pool has one in a step or what nobody is to notice, in order", () => {
    const pooled = pooling.pools.flatMap(singlesOf)
    assert.sameMembers([...pooled, ...pooling.alone], [...all])
    assert.strictEqual(pooled.length + pooling.alone.length, all.length)
    assert.isBelow(pooling.pools.length, pooled.length / 2)
    for (const pool of pooling.pools) {
      const steps = [...pool.members.keys()]
      assert.isAbove(singlesOf(pool).length, 1)
      assert.deepStrictEqual(steps, steps.toSorted((a, b) => a - b))
      for (const share of pool.members.values()) {
        const [fault, ...others] = new Set(share.map(({ point }) => point.fault))
        assert.isEmpty(others)
        assert.isTrue(share.length === 1 || unnoticed.test(fault!))
        assert.deepStrictEqual(share, share.toSorted((a, b) => a.point.at - b.point.at))
      }
    }
  })

  it("who forgets what it has seen does so before what it may not have noticed, and blinding faults are by themselves", () => {
    for (const pool of pooling.pools) {
      const faults = singlesOf(pool).map(({ point }) => point)
      const first = faults.findIndex(({ fault }) => !renews.test(fault))
      assert.isTrue(first < 0 || faults.slice(first).every(({ fault }) => !renews.test(fault)))
      assert.strictEqual(new Set(faults.map(blinds)).size, 1)
    }
  })

  it("what renews goes with what does not where it comes before it, and not where it comes after", () => {
    const [one, two] = [0, 1].map((step) => {
      const isThen = Points.isBetween(reference.recording, step, step + 1)
      return (fault: string) => all.filter(({ point }) => isThen(point) && point.fault === fault).slice(0, 1)
    })
    const made = (...some: ReadonlyArray<typeof all>) => Pools.make(some.flat(), () => reference.recording)
    assert.strictEqual(made(one!("crashAfter"), two!("serverError")).pools.length, 1)
    assert.strictEqual(made(one!("serverError"), two!("crashAfter")).pools.length, 0)
    assert.strictEqual(made(one!("serverError"), two!("crashAfter")).alone.length, 2)
  })

  it("what changes the time of a step, or leaves something behind, is alone", () => {
    const kinds = new Set(pooling.alone.map(({ point }) => point.fault))
    for (const fault of ["hurried", "orphaned", "guarded"] as const) {
      if (all.some(({ point }) => point.fault === fault)) assert.isTrue(kinds.has(fault), fault)
      assert.isFalse(pooling.pools.some((pool) => singlesOf(pool).some(({ point }) => point.fault === fault)))
    }
  })

  it("what happens before the first step goes with later ones, not with the first, which nothing rests before", () => {
    const isEarly = Points.isBetween(reference.recording, -1, 0)
    const early = pooling.pools.filter((pool) => singlesOf(pool).some(({ point }) => isEarly(point)))
    assert.isNotEmpty(early)
    for (const { members } of early) {
      assert.strictEqual([...members.keys()][0], -1)
      assert.isFalse(members.has(0))
    }
  })

  it("what is at the time around a step is alone: no other has the operator live on from there", () => {
    const around = all.filter(({ point }) => point._tag === "Step")
    assert.isNotEmpty(around)
    assert.includeMembers([...pooling.alone], around)
  })

  it("each fault of a pool happens in its step, and is cleared of a run that nobody complains about", () => {
    for (const pool of pooling.pools) {
      const run = live(pooling.planOf(pool))
      const found = run.entries.flatMap((entry) => entry._tag === "Fault" ? [entry] : [])
      assert.deepStrictEqual(
        found.map(({ at, point }) => [run.steps.findLastIndex((begin) => begin <= at), point.fault]),
        [...pool.members].flatMap(([step, share]) => share.map(({ point }) => [step, point.fault]))
      )
      assert.deepStrictEqual(cleared(pool, run), new Set(singlesOf(pool)))
    }
  })

  const [pool] = pooling.pools
  const [first, ...others] = [...pool!.members]
  describe("of what nobody is to notice", () => {
    const scenario: Simulation.Scenario = {
      name: "crowded",
      resources: B.resources,
      operator: B.boxes(B.pods),
      steps: B.sized(3, 1)
    }
    const story = whole(scenario)
    const reference = Reference.of(scenario, story, 1)
    const all = Points.of(reference.recording, 1).map((point) => ({ point, lived: story }))
    const pooling = Pools.make(all, () => reference.recording)
    const isCrowd = ({ length }: ReadonlyArray<unknown>) => length > 2
    const crowd = pooling.pools.find(({ members }) => [...members.values()].some(isCrowd))!
    const [step, share] = [...crowd.members].find(([, share]) => isCrowd(share))!
    const run = Run.run(scenario, pooling.planOf(crowd), { seed: 1, quiet: Run.defaults.shortQuiet })
    const cleared = (run: Recording) => pooling.cleared(crowd, run, reference, Oracles.all)
    const faults = run.entries.filter((entry) => entry._tag === "Fault" && entry.at >= run.steps[step]!)
    const call = run.entries.find(({ _tag }) => _tag === "Call")!
    /** A recording in which something is asked for before one of the faults. */
    const asking = (index: number): Recording => ({
      ...run,
      entries: run.entries.toSpliced(run.entries.indexOf(faults[index]!), 0, { ...call, at: faults[index]!.at })
    })

    it("what came before the last that nobody did is cleared", () => {
      assert.deepStrictEqual(cleared(run), new Set(singlesOf(crowd)))
      // After the first of them there was something that is not there without faults: it was noticed.
      const none = cleared(asking(1))
      assert.isFalse(share.some((single) => none.has(single)))
      assert.strictEqual(none.size, singlesOf(crowd).length - share.length)
      const first = cleared(asking(2))
      assert.deepStrictEqual(share.map((single) => first.has(single)), share.map((_, index) => index === 0))
    })

    it("what comes next is not the same again", () => {
      const places = share.map(({ point }) => point.at)
      for (const [index, place] of places.slice(1).entries()) assert.isTrue(place > places[index]! + 1)
    })

    it("one at another event, or at one of another watch, is not met", () => {
      const told = (change: object): Recording => ({
        ...run,
        entries: run.entries.map((entry) =>
          entry === faults[0] && entry._tag === "Fault" ? { ...entry, told: { ...entry.told!, ...change } } : entry
        )
      })
      assert.isTrue(cleared(told({})).has(share[0]!))
      assert.isFalse(cleared(told({ watch: "/api/v1/secrets" })).has(share[0]!))
      assert.isFalse(cleared(told({ type: "DELETED" })).has(share[0]!))
    })
  })

  it("a fault that was not met is not cleared", () => {
    const { pooled } = pooling.planOf(pool!)
    const run = live({
      points: [],
      interleaving: 0,
      pooled: new Map([...pooled!].filter(([step]) => step !== first![0]))
    })
    assert.deepStrictEqual(cleared(pool!, run), new Set(others.flatMap(([, share]) => share)))
  })

  it("what a step is too short for does not happen in the next", () => {
    const [begin, end] = reference.recording.steps
    const isCall = ({ _tag, at }: Recording["entries"][number]) => _tag === "Call" && at >= begin! && at < end!
    const calls = reference.recording.entries.filter(isCall).length
    const run = live({
      points: [],
      interleaving: 0,
      pooled: new Map([[0, [{ _tag: "Call", at: calls + 1, fault: "serverError" }]]])
    })
    assert.isAbove(calls, 0)
    assert.strictEqual(run.met, 0)
    assert.isAbove(run.calls, reference.recording.calls - 1)
  })

  it("a fault that comes after something else than without the others is not cleared", () => {
    const run = live(pooling.planOf(pool!))
    const [step, [single]] = others.at(-1)!
    const begin = run.steps[step]!
    const at = run.entries.findIndex((entry) => entry.at >= begin)
    const strange = run.entries.find(({ _tag }) => _tag === "Call")!
    const entries = run.entries.toSpliced(at, 0, { ...strange, at: begin })
    const found = cleared(pool!, { ...run, entries })
    assert.isFalse(found.has(single!))
    assert.strictEqual(found.size, pool!.members.size - 1)
  })

  /** Runs of pools, each with a fault that comes after a request of its step. */
  const late = pooling.pools.flatMap((pool) => {
    const run = live(pooling.planOf(pool))
    return [...pool.members].flatMap(([step, [single, ...more]]) => {
      if (step < 0 || more.length > 0) return []
      const begin = run.entries.findIndex(({ at }) => at >= run.steps[step]!)
      const fault = run.entries.findIndex((entry, index) => entry._tag === "Fault" && index >= begin)
      const index = run.entries.findIndex((entry, index) => entry._tag === "Call" && index >= begin && index < fault)
      const call = run.entries[index]
      return call?._tag === "Call" ? [{ pool, run, single: single!, index, call }] : []
    })
  })

  it("nor is one that comes after another request than without the others, or another body or answer", () => {
    assert.isNotEmpty(late)
    for (const { call, index, pool, run, single } of late) {
      const other = (change: object) =>
        cleared(pool, { ...run, entries: run.entries.with(index, { ...call, ...change }) })
      assert.isTrue(other({}).has(single))
      assert.isFalse(other({ status: 299 }).has(single))
      assert.isFalse(other({ request: { ...call.request, method: "OPTIONS" } }).has(single))
      assert.isFalse(other({ request: { ...call.request, body: { other: true } } }).has(single))
    }
  })

  describe("told apart", () => {
    const begins = ({ entries, steps }: Recording, step: number) => entries.findIndex(({ at }) => at >= steps[step]!)
    /** A recording in which something else comes first in a step. */
    const preceded = (run: Recording, step: number, what: Partial<Recording["entries"][number]>): Recording => {
      const call = run.entries.find(({ _tag }) => _tag === "Call")!
      const entry = { ...call, at: run.steps[step]!, ...what } as Recording["entries"][number]
      return { ...run, entries: run.entries.toSpliced(begins(run, step), 0, entry) }
    }
    const event = (method: string, name = "") =>
      ({
        n: -1,
        request: { method, path: `/apis/events.k8s.io/v1/namespaces/default/events${name}`, query: [], headers: {} }
      }) as Partial<Recording["entries"][number]>
    const step = 1
    const told = preceded(reference.recording, step, event("POST"))
    const among = all.filter(({ point }) => Points.isBetween(reference.recording, 0, 3)(point))
    const withEvents = Pools.make(among, () => told)
    const [sharing] = withEvents.pools.filter(({ members }) => members.has(step))
    const [single] = sharing!.members.get(step)!
    const cleared = (run: Recording) => withEvents.cleared(sharing!, run, reference, []).has(single!)
    const run = live(pooling.planOf(sharing!))

    it("an Event is one, whatever its name, and whether it is the first or counts another", () => {
      assert.isFalse(cleared(run))
      assert.isTrue(cleared(preceded(run, step, event("POST"))))
      assert.isTrue(cleared(preceded(run, step, event("PATCH", "/other.17"))))
    })

    it("but a fault at the request for it is at that request", () => {
      const point = { _tag: "Call", at: -1, fault: "serverError" } as const
      const isThen = Points.isBetween(reference.recording, 2, 3)
      const later = among.find(({ point }) => isThen(point) && point.fault === "serverError")!
      const asked = { point, lived: story }
      const there = Pools.make([asked, later], () => told)
      const [pool] = there.pools
      const faulted = (method: string) => {
        const run = preceded(live({ points: [], interleaving: 0 }), step, event(method))
        const fault = { _tag: "Fault", at: run.steps[step]!, point } as const
        return { ...run, entries: run.entries.toSpliced(begins(run, step), 0, fault) }
      }
      assert.isTrue(there.cleared(pool!, faulted("POST"), reference, []).has(asked))
      assert.isFalse(there.cleared(pool!, faulted("PATCH"), reference, []).has(asked))
    })
  })

  it("nothing is cleared of a run that anybody complains about, or that was anywhere else at a rest", () => {
    const run = live(pooling.planOf(pool!))
    const complains: Oracle = { name: "never", judge: () => "something" }
    assert.strictEqual(cleared(pool!, run, [complains]).size, 0)
    const [rest] = run.rests
    const without = { ...rest!, objects: rest!.objects.filter(({ kind }) => kind !== "ConfigMap") }
    assert.strictEqual(cleared(pool!, { ...run, rests: [without, ...run.rests.slice(1)] }).size, 0)
    assert.strictEqual(cleared(pool!, { ...run, rests: [undefined, ...run.rests.slice(1)] }).size, 0)
  })

  it("is asked of each fault that oracles are lenient after as if there were no others", () => {
    const blinding = pooling.pools.find((pool) => singlesOf(pool).every(({ point }) => blinds(point)))!
    const seen: Array<number> = []
    const counts: Oracle = {
      name: "counts",
      judge: ({ entries, met }) => {
        seen.push(entries.filter(({ _tag }) => _tag === "Fault").length, met)
        return undefined
      }
    }
    cleared(blinding, live(pooling.planOf(blinding)), [counts])
    assert.deepStrictEqual(seen, [...blinding.members].flatMap(() => [1, 1]))
  })
})

describe("pooled", () => {
  it.live("every single fault counts as run, in fewer runs, and further ones are drawn as ever", () =>
    Effect.gen(function*() {
      const options = { depth: 2, interleavings: 0, deeper: 5 } as const
      const alone = yield* Simulation.checkConvergence(scenario, options)
      let several = 0
      const counts: Oracle = {
        name: "counts",
        judge: ({ met }) => {
          if (met > 1) several += 1
          return undefined
        }
      }
      const pooled = yield* Simulation.checkConvergence(scenario, { ...options, pooled: true, oracles: [counts] })
      // Not the pools: each of their faults is looked at as if it were the only one.
      assert.isAtLeast(several, 3)
      assert.isAtMost(several, 5)
      assert.isTrue(pooled.exhaustive && pooled.complete)
      assert.deepStrictEqual(pooled.byFault, alone.byFault)
      assert.isBelow(pooled.runs, alone.runs / 1.5)
      assert.strictEqual(pooled.deeper, 5)
      assert.include(Simulation.summary(pooled), `${pooled.pools} runs that faults of different steps shared`)
    }))

  it.live("parts make all of it together", () =>
    Effect.gen(function*() {
      const parts = yield* Effect.forEach([0, 1, 2], (index) =>
        Simulation.checkConvergence(scenario, { depth: 1, pooled: true, interleavings: 0, part: { index, of: 3 } }))
      const all = Simulation.together(parts)
      assert.isTrue(all.exhaustive && all.complete)
      assert.isTrue(parts.every(({ exhaustive }) =>
        !exhaustive
      ))
    }))

  it.live("what shares no run does not wait for all that do", () =>
    Effect.gen(function*() {
      const { byFault, pools } = yield* Simulation.checkConvergence(scenario, { depth: 1, pooled: true, runs: 20 })
      assert.isAbove(pools, 5)
      for (const kind of ["restarted", "removed", "away"]) assert.isAbove(byFault[kind]!.run, 0, kind)
    }))

  it.live("what there is no time for is not called complete", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(scenario, { depth: 1, pooled: true, runs: 3 })
      assert.isFalse(report.complete)
      assert.isFalse(report.exhaustive)
      assert.isAbove(report.pools, 0)
      assert.isAtMost(report.runs, 3)
      // Nor where what is left of the last pool has yet to share others.
      const crowded = { ...scenario, name: "crowded", operator: B.boxes(B.pods), steps: B.sized(3, 1) }
      const most: Oracle = {
        name: "not so many",
        judge: ({ entries }) => entries.filter(({ _tag }) => _tag === "Fault").length > 5 ? "too many" : undefined
      }
      const some = { depth: 1, interleavings: 0, pooled: true, faults: ["watchDuplicated"], oracles: [most] } as const
      for (const runs of [1, 2, 3, 4]) {
        const { complete, points, run } = yield* Simulation.checkConvergence(crowded, { ...some, runs })
        assert.strictEqual(complete, run === points, `${run} of ${points} in ${runs}`)
      }
    }))

  for (const { name, options, oracle, right, wrong } of planted) {
    // Of several replicas nothing is shared.
    if (options?.faults === undefined || (wrong.replicas ?? 1) > 1) continue
    it.live(`finds what a fault alone finds, by that fault and that oracle: ${name}`, () =>
      Effect.gen(function*() {
        const asked = { depth: 1, shrinking: 0, ...options, pooled: true } as const
        const failure = yield* Effect.flip(Simulation.checkConvergence(wrong, asked))
        assert.strictEqual(failure.oracle, oracle, failure.message)
        assert.isAtMost(failure.faults, 1)
        const again = yield* Effect.flip(Simulation.checkConvergence(wrong, { ...asked, replay: failure.replay }))
        assert.strictEqual(again.oracle, oracle)
        yield* Simulation.checkConvergence(right, { ...asked, interleavings: 0, runs: 8 })
      }))
  }

  it.live("refuses windows, and says why", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Simulation.checkConvergence(scenario, { pooled: true, window: 2 }))
      assert.include(String(exit), "pooled: true with window: 2: faults share runs of the whole story; leave one out")
    }))
})
