import { Action, Controller, KubeClient, Manager } from "@effect-operator/core"
import { ConfigMap, type Endpoints, Job, Pod, Service } from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { none, type Plan } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import * as Canonical from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect } from "effect"
import { planted } from "../Planted.ts"
import * as B from "../planted/Box.ts"

const { resources } = B

class Lost extends Data.TaggedError("Lost")<{}> {}

/** Does a Job for each size, one after the other, and says outside that it is done. */
const working = (outside: (size: number) => Effect.Effect<unknown>) =>
  Controller.make("working", {
    for: B.Box,
    owns: [Job],
    reconcile: Effect.fnUntraced(function*(box) {
      const it = yield* KubeClient.KubeClient
      const { observedGeneration = 0 } = box.status ?? {}
      if (observedGeneration === box.metadata.generation) return Action.awaitChange
      yield* External.call("asks", () => new Lost(), outside(box.spec.size))
      yield* it.create(Job, {
        metadata: B.named(`work-${box.spec.size}`),
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } } }
      }).pipe(Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void))
      return yield* B.done(B.status(box, { observedGeneration: box.metadata.generation! }))
    })
  })

const scenario = (outside: Parameters<typeof working>[0]): Simulation.Scenario => ({
  name: "working",
  resources,
  operator: Manager.layer([working(outside)]),
  cluster: { kubelet: { ending: () => ({ after: "1 second", exitCode: 0 }) } },
  steps: B.sized(1, 2, 3)
})

const telling = (size: number) =>
  Effect.map(External.state("done", () => new Map<string, Set<number>>()), (done) => {
    done.set("sizes", (done.get("sizes") ?? new Set()).add(size))
  })

const trace = (run: Recording) => run.entries.map((entry) => JSON.stringify(entry))

const steps = (run: Recording) => run.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))

describe("Checkpoint", () => {
  it("a story that is taken up after any of its steps ends as it does in one go", () => {
    const told = scenario(telling)
    const whole = Run.run(told, none, { seed: 1 })
    const mask = Canonical.mask(whole, Run.run(told, none, { seed: 2 }))
    for (const given of [1, 2]) {
      const run = Run.run(told, none, { seed: 1, from: Run.upTo(told, given, 1) })
      assert.isUndefined(run.failure)
      assert.deepStrictEqual(steps(run), steps(whole))
      assert.deepStrictEqual([...Canonical.state(run, mask)], [...Canonical.state(whole, mask)])
      assert.deepStrictEqual(run.outside, whole.outside)
      // A process that has just started lists again; nothing else is asked for.
      assert.isAbove(run.calls, whole.calls)
      assert.isAtMost(run.calls, whole.calls + 2)
      assert.strictEqual(run.externals, whole.externals)
      assert.strictEqual(run.begun.step, given)
    }
  })

  it("nothing that was drawn before is drawn again, and time goes on", () => {
    const logging = Controller.make("logging", {
      for: B.Box,
      reconcile: Effect.fnUntraced(function*({ spec }) {
        const it = yield* KubeClient.KubeClient
        yield* it.create(ConfigMap, {
          metadata: { namespace: "default", generateName: "log-" },
          data: { size: `${spec.size}` }
        })
        return Action.awaitChange
      })
    })
    const told: Simulation.Scenario = { ...scenario(telling), operator: Manager.layer([logging]) }
    const { entries } = Run.run(told, none, { seed: 1, from: Run.upTo(told, 2, 1) })
    const made = entries.flatMap((entry) =>
      entry._tag === "Change" && entry.change.type === "ADDED" && entry.change.object.kind === "ConfigMap"
        ? [entry.change.object.metadata]
        : []
    )
    // One for each step, and one by the process that starts again.
    assert.strictEqual(made.length, 4)
    assert.strictEqual(new Set(made.map(({ uid }) => uid)).size, made.length)
    assert.strictEqual(new Set(made.map(({ name }) => name)).size, made.length)
    assert.isFalse(entries.some((entry) => entry._tag === "Call" && entry.status === 409))
    const times = entries.map(({ at }) => at)
    assert.deepStrictEqual(times, times.toSorted((a, b) => a - b))
  })

  it("the cluster's controllers go on with what was there", () => {
    const app = { app: "web" }
    const pod = (name: string) =>
      KubeClient.KubeClient.use((it) =>
        it.create(Pod, {
          metadata: { ...B.named(name), labels: app },
          spec: { containers: [{ name: "c", image: "x" }] }
        })
      )
    const service = KubeClient.KubeClient.use((it) =>
      it.create(Service, { metadata: B.named("web"), spec: { ports: [{ port: 80 }], selector: app } })
    )
    const told: Simulation.Scenario = {
      ...scenario(telling),
      cluster: {},
      steps: [
        { name: "a Service and a Pod", act: Effect.andThen(service, pod("one")) },
        { name: "another Pod", act: pod("two") }
      ]
    }
    const { objects } = Run.run(told, none, { seed: 1, from: Run.upTo(told, 1, 1) })
    const [endpoints] = objects.filter(({ kind }) => kind === "Endpoints") as ReadonlyArray<Endpoints>
    assert.strictEqual(endpoints!.subsets?.[0]?.addresses?.length, 2)
  })

  it("runs that go on from the same place do not see one another, and are the same for the same chance", () => {
    const told = scenario(telling)
    const from = Run.upTo(told, 1, 1)
    const [first, second] = [0, 1].map(() => Run.run(told, none, { seed: 1, from }))
    assert.deepStrictEqual(second!.outside, first!.outside)
    assert.deepStrictEqual(trace(second!), trace(first!))
    assert.deepStrictEqual(from!.outside, new Map([["done", new Map([["sizes", new Set([1])]])]]))
  })

  it("a fault before it is not met, one after it is", () => {
    const told = scenario(telling)
    const from = Run.upTo(told, 2, 1)!
    const met = (at: number) => {
      const plan: Plan = { points: [{ _tag: "Call", at, fault: "serverError" }], interleaving: 0 }
      return Run.run(told, plan, { seed: 1, from }).met
    }
    assert.strictEqual(met(from.reach.call), 0)
    assert.strictEqual(met(from.reach.call + 1), 1)
  })

  it("names what is kept outside that cannot be copied", () => {
    class Cloud {
      machines = 0
    }
    const told = scenario(() =>
      Effect.map(External.state("cloud", () => new Map([["one", [new Cloud()]]])), (clouds) => {
        clouds.get("one")![0]!.machines += 1
      })
    )
    const { failure } = Run.run(told, none, { seed: 1, from: Run.upTo(told, 1, 1) })
    assert.include(failure?.message, "the state \"cloud\" of External.state contains a Cloud, which cannot be copied")
    assert.isUndefined(Run.run(told, none, { seed: 1 }).failure)
  })

  it("a story whose beginning goes wrong cannot be gone on with, and says why", () => {
    // Writes something else each time, at one moment.
    const restless: Simulation.Scenario = {
      name: "restless",
      resources,
      operator: B.boxes((box) => Effect.as(B.status(box, { count: (box.status?.count ?? 0) + 1 }), Action.requeue)),
      steps: B.sized(1)
    }
    const failures = [...planted.map(({ wrong }) => wrong), restless].flatMap((wrong) => {
      const { failure } = Run.run({ ...wrong, steps: wrong.steps.slice(0, 1) }, none, { seed: 1, quiet: 0 })
      return failure === undefined ? [] : [{ wrong, failure }]
    })
    assert.isTrue(failures.some(({ failure }) => failure.message.startsWith("hot loop")))
    assert.isTrue(failures.some(({ failure }) => failure.message.startsWith("the cluster does not come to rest")))
    for (const { failure, wrong } of failures) {
      assert.deepStrictEqual(Run.run(wrong, none, { seed: 1, from: Run.upTo(wrong, 1, 1) }).failure, failure)
    }
  })
})

describe("stories in windows", () => {
  const [bug] = planted
  const window = 1

  it.live("each fault is run in a stretch of the story, those around the steps in all of it", () =>
    Effect.gen(function*() {
      const told = scenario(telling)
      const faults = ["away", "restarted", "guarded", "serverError", "crashAfter", "externalFails"] as const
      const options = { depth: 1, interleavings: 0, faults } as const
      const whole = yield* Simulation.checkConvergence(told, options)
      const part = yield* Simulation.checkConvergence(told, { ...options, window })
      assert.isTrue(part.exhaustive)
      assert.strictEqual(part.window, window)
      // A process that starts again where the story is taken up lists two kinds more.
      const more = part.byFault["serverError"]!.found - whole.byFault["serverError"]!.found
      assert.strictEqual(more, 2 * (told.steps.length - 1))
      for (const kind of faults.filter((kind) => kind !== "serverError")) {
        assert.deepStrictEqual(part.byFault[kind], whole.byFault[kind], kind)
      }
      assert.include(Simulation.summary(part), "in 1 steps of the story each")
    }))

  it.live("refuses a window without steps, and says what it may be", () =>
    Effect.gen(function*() {
      for (const window of [0, -1, 1.5, Number.NaN]) {
        const exit = yield* Effect.exit(Simulation.checkConvergence(bug!.right, { window }))
        assert.include(String(exit), `window: ${window}: must be a whole number from 1`)
      }
    }))

  it.live("a failure is replayed from its token, to the letter, and tells what was before", () =>
    Effect.gen(function*() {
      const late = { ...bug!.wrong, steps: [...B.sized(0), ...bug!.wrong.steps] }
      const failure = yield* Effect.flip(Simulation.checkConvergence(late, { depth: 1, window, shrinking: 0 }))
      assert.strictEqual(failure.oracle, bug!.oracle)
      const again = yield* Effect.flip(Simulation.checkConvergence(late, { replay: failure.replay }))
      assert.strictEqual(again.message, failure.message)
      assert.deepStrictEqual(Simulation.story(late, failure.replay), Simulation.story(late, failure.replay))
      assert.include(failure.message, "size 0")
    }))
})
