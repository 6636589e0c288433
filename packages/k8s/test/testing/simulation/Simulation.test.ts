import {
  Action,
  Cache,
  Controller,
  CustomResource,
  CustomResourceVersions,
  KubeClient,
  type KubeObject,
  Manager,
  Sync
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Job, StatefulSet } from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Console, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import { planted } from "./Planted.ts"
import * as B from "./planted/Box.ts"

const failing = (scenario: Simulation.Scenario, options: Simulation.Options = {}) =>
  Effect.flip(Simulation.checkConvergence(scenario, { depth: 1, ...options }))

const [bug] = planted

describe("Simulation", () => {
  it("has at least 36 planted bugs, each with a name of its own", () => {
    assert.isAtLeast(planted.length, 36)
    assert.strictEqual(new Set(planted.map(({ wrong }) => wrong.name)).size, planted.length)
  })

  it.live("is interrupted between two runs, and others have their turn meanwhile", () =>
    Effect.gen(function*() {
      const options = { depth: 1, budget: "30 seconds" } as const
      const exploring = yield* Effect.forkChild(Simulation.checkConvergence(bug!.right, options))
      for (let turn = 0; turn < 3; turn++) yield* Effect.sleep(1)
      yield* Fiber.interrupt(exploring)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(exploring)))
    }))

  it.live("replays a failure from its token, to the letter", () =>
    Effect.gen(function*() {
      const failure = yield* failing(bug!.wrong)
      const { replay } = failure
      const again = yield* failing(bug!.wrong, { replay })
      assert.strictEqual(again.message, failure.message)
      assert.strictEqual(again.html(), failure.html())
      // The token is of the bug: what is corrected converges.
      const corrected = { ...bug!.right, name: bug!.wrong.name }
      assert.strictEqual((yield* Simulation.checkConvergence(corrected, { replay })).runs, 1)
    }))

  it.live("printed, a failure is its story, without what it carries for programs", () =>
    Effect.gen(function*() {
      const failure = yield* failing(bug!.wrong)
      assert.strictEqual(inspect(failure), failure.stack)
      // As a logger prints it.
      const [pretty] = Cause.prettyErrors(Cause.fail(failure))
      assert.notInclude(inspect(pretty), "recording")
    }))

  it.live("whoever is shown an old cluster is never shown as alive what is going, and may repeat itself for so long", () =>
    Effect.gen(function*() {
      const { right } = planted.find(({ name }) =>
        name === "others: who owns it together is written down as it was seen"
      )!
      const blinding = {
        faults: ["watchStale", "watchDelayed", "staleRestart", "oldRestart"],
        interleavings: 0
      } as const
      const { exhaustive, points } = yield* Simulation.checkConvergence(right, { depth: 1, ...blinding })
      assert.isTrue(exhaustive)
      assert.isAbove(points, 20)
    }))

  it.live("replays a failure that takes no fault, too", () =>
    Effect.gen(function*() {
      const [left] = planted.filter(({ oracle }) => oracle === "nothing left of an earlier spec")
      const failure = yield* failing(left!.wrong, left!.options)
      assert.strictEqual(failure.faults, 0)
      const again = yield* failing(left!.wrong, { replay: failure.replay })
      assert.strictEqual(again.message, failure.message)
    }))

  it.live("a desired that throws is an error of the scenario, and is told with its place", () =>
    Effect.gen(function*() {
      const scenario: Simulation.Scenario = {
        ...bug!.right,
        steps: bug!.right.steps.slice(0, 1).map((step) => ({
          ...step,
          desired: (_objects, _before, outside) => (outside.get("nothing") as Map<string, string>).size === 0
        }))
      }
      const failure = yield* failing(scenario)
      assert.strictEqual(failure.oracle, "valid scenario")
      assert.include(
        failure.complaint,
        `\`desired\` of step ${JSON.stringify(scenario.steps[0]!.name)} threw TypeError: Cannot read properties`
      )
      assert.match(failure.complaint, /\n +at .*Simulation\.test\.ts:\d+/)
      assert.notMatch(failure.complaint, /running\/Play\./)
      const again = yield* failing(scenario, { replay: failure.replay })
      assert.strictEqual(again.message, failure.message)
    }))

  it.live("tells of a kind with several versions, too, and replays it", () =>
    Effect.gen(function*() {
      const common = { group: "example.com", kind: "Shelf" } as const
      const V1 = CustomResource.make({ ...common, version: "v1", spec: Schema.Struct({ size: Schema.Int }) })
      const V2 = CustomResource.make({ ...common, version: "v2", spec: Schema.Struct({ width: Schema.Int }) })
      const versions = CustomResourceVersions.make({
        steps: [
          CustomResourceVersions.between(V1, V2, {
            up: ({ spec }) => ({ spec: { width: spec.size } }),
            down: ({ spec }) => ({ spec: { size: spec.width } })
          })
        ]
      })
      const key = { namespace: "default", name: "a" }
      const scenario: Simulation.Scenario = {
        name: "shelves",
        resources: [versions],
        operator: Manager.layer([
          Controller.make("shelves", { for: V2, reconcile: () => Effect.succeed(Action.done) })
        ]),
        steps: [{
          name: "create",
          act: KubeClient.KubeClient.use((client) => client.create(V1, { metadata: key, spec: { size: 3 } })),
          desired: () => false
        }]
      }
      const failure = yield* failing(scenario)
      assert.include(failure.message, "create")
      const again = yield* failing(scenario, { replay: failure.replay })
      assert.strictEqual(again.message, failure.message)
      const defect = yield* Effect.exit(
        Simulation.checkConvergence({ ...scenario, resources: [V2] }, { replay: failure.replay })
      )
      assert.include(String(defect), "of the scenario have changed since the token was made")
    }))

  it.live("tells the same story of a token in another process", () =>
    Effect.gen(function*() {
      const { replay } = yield* failing(bug!.wrong)
      const told = execFileSync(
        process.execPath,
        ["--conditions=op-source", fileURLToPath(new URL("story.ts", import.meta.url)), bug!.wrong.name, replay],
        { encoding: "utf8", env: { PATH: process.env["PATH"] } }
      )
      assert.strictEqual(told, Simulation.story(bug!.wrong, replay).join("\n"))
      assert.include(told, "FAULT")
    }))

  it.live("refuses a token of another scenario, or a broken one, and says why", () =>
    Effect.gen(function*() {
      const { replay } = yield* failing(bug!.wrong)
      const defect = (scenario: Simulation.Scenario, replay: string) =>
        Effect.map(Effect.exit(Simulation.checkConvergence(scenario, { replay })), String)
      assert.include(yield* defect(bug!.right, replay), `the token is for scenario ${JSON.stringify(bug!.wrong.name)}`)
      assert.include(yield* defect(bug!.wrong, replay.slice(0, 12)), "truncated or changed")
      assert.include(yield* defect(bug!.wrong, "nonsense"), "must begin with kx1:")
      const changed = { ...bug!.wrong, steps: B.sized(7) }
      assert.include(yield* defect(changed, replay), "of the scenario have changed since the token was made")
    }))

  it.live("says how much it covered, and never calls a part the whole", () =>
    Effect.gen(function*() {
      const part = yield* Simulation.checkConvergence(bug!.right, { runs: 20, interleavings: 2 })
      assert.isFalse(part.exhaustive)
      assert.isFalse(part.complete)
      // Other orders of tasks are not left to the end.
      assert.strictEqual(part.interleavings, 2)
      assert.strictEqual(part.run, 18)
      assert.isAbove(part.points, 90)
      assert.strictEqual(Object.values(part.byFault).reduce((sum, { found }) => sum + found, 0), part.points)
      assert.include(Simulation.summary(part), `18 of ${part.points} single faults: NOT exhaustive`)
      const whole = yield* Simulation.checkConvergence(bug!.right, {
        depth: 1,
        faults: ["crashAfter"],
        interleavings: 3
      })
      assert.isTrue(whole.exhaustive)
      assert.isTrue(whole.complete)
      assert.deepStrictEqual(Object.keys(whole.byFault), ["crashAfter"])
      assert.strictEqual(whole.interleavings, 3)
      assert.include(Simulation.summary(whole), `all ${whole.points} single faults`)
    }))

  it.live("lets several replicas overlap before a short budget is over", () =>
    Effect.gen(function*() {
      const elected = planted.find(({ name }) => name === "replicas: writes before anybody is elected")!.right
      const { interleavings, run } = yield* Simulation.checkConvergence(elected, { runs: 6, interleavings: 2 })
      assert.deepStrictEqual([run, interleavings], [5, 1])
    }))

  it.live("explores in parts, which together are the whole", () =>
    Effect.gen(function*() {
      const options = { depth: 2, faults: ["crashAfter", "conflict"], interleavings: 3, runs: 12 } as const
      const [first, second] = yield* Effect.forEach(
        [0, 1],
        (index) => Simulation.checkConvergence(bug!.right, { ...options, part: { index, of: 2 } })
      )
      assert.isFalse(first!.exhaustive || second!.exhaustive)
      const report = Simulation.together([first!, second!])
      assert.isTrue(report.exhaustive)
      assert.strictEqual(report.run, report.points)
      assert.strictEqual(report.interleavings, 3)
      assert.strictEqual(report.runs, 24)
      assert.strictEqual(report.deeper, 24 - 3 - report.points)
    }))

  it.live("goes on with pairs and triples of faults", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(bug!.right, {
        depth: 3,
        runs: 40,
        faults: ["crashAfter", "conflict"],
        interleavings: 2
      })
      assert.isTrue(report.exhaustive)
      assert.strictEqual(report.runs, 40)
      assert.strictEqual(report.deeper, 40 - 2 - report.points)
    }))

  it.live("goes on with several faults so many times, shared out among the parts", () =>
    Effect.gen(function*() {
      const options = { depth: 2, faults: ["crashAfter", "conflict"], interleavings: 0, deeper: 7 } as const
      const report = yield* Simulation.checkConvergence(bug!.right, options)
      assert.isTrue(report.exhaustive)
      assert.isTrue(report.complete)
      assert.strictEqual(report.deeper, 7)
      const cut = yield* Simulation.checkConvergence(bug!.right, { ...options, runs: report.runs - 1 })
      assert.strictEqual(cut.deeper, 6)
      assert.isTrue(cut.exhaustive)
      assert.isFalse(cut.complete)
      const parts = yield* Effect.forEach(
        [0, 1],
        (index) => Simulation.checkConvergence(bug!.right, { ...options, part: { index, of: 2 } })
      )
      assert.strictEqual(Simulation.together(parts).deeper, 7)
      assert.isTrue(parts.every(({ complete, exhaustive }) => complete && !exhaustive))
    }))

  it.live("makes a story smaller: the steps that it does not need are gone", () =>
    Effect.gen(function*() {
      const longer = { ...bug!.wrong, steps: [...B.sized(2), ...B.sized(3, 4)] }
      const failure = yield* failing(longer)
      const steps = failure.recording.entries.filter(({ _tag }) => _tag === "Step")
      assert.strictEqual(steps.length, 1, failure.message)
    }))

  it.live("a smaller story misses the same step, and not one that rests upon what was left out", () =>
    Effect.gen(function*() {
      const make = (name: string) => B.client.use((it) => it.create(ConfigMap, B.map(name, {})))
      const has = (objects: ReadonlyArray<KubeObject.KubeObject>, name: string) =>
        objects.some(({ metadata }) => metadata.name === name)
      const idle = B.boxes(() => Effect.succeed(Action.done))
      const { complaint } = yield* Effect.flip(Simulation.checkConvergence({
        name: "rests-upon",
        resources: B.resources,
        operator: idle,
        steps: [
          { name: "first", act: make("first") },
          { name: "second", act: make("second"), desired: (objects) => has(objects, "first") },
          { name: "third", act: make("third"), desired: (objects) => !has(objects, "second") }
        ]
      }))
      assert.include(complaint, "\"third\"")
    }))

  it.live("where no fault is to blame, what people did before stays in the story, and what it came to is told", () =>
    Effect.gen(function*() {
      const steps = B.sized(1, 2, 3, 4).map((step, index) => ({
        ...step,
        desired: (objects: ReadonlyArray<KubeObject.KubeObject>) =>
          objects.some((object) => (object as B.Box).status?.count === Math.min(index, 2) + 1)
      }))
      // A step that asks for what the one before it has to do with would be missed at once without that.
      const counting: B.Reconcile = (box) =>
        box.status?.phase === `size ${box.spec.size}`
          ? Effect.succeed(Action.done)
          : B.done(
            B.status(box, {
              count: Math.min(2, (box.status?.count ?? 0) + 1),
              phase: `size ${box.spec.size}`
            })
          )
      const failure = yield* failing({
        name: "counts-to-two",
        resources: B.resources,
        operator: B.boxes(counting),
        steps
      })
      assert.strictEqual(failure.faults, 0)
      assert.include(failure.complaint, `after "size 3" (Box box: status {"count":2,"phase":"size 3"})`)
      const taken = failure.recording.entries.flatMap((entry) => (entry._tag === "Step" ? [entry.name] : []))
      assert.deepStrictEqual(taken, ["size 1", "size 2", "size 3"])
    }))

  it("a step is told before what comes of it, and whether people could", () => {
    const nobody = { name: "nobody", act: B.client.use((it) => it.delete(ConfigMap, B.named("nobody"))) }
    const { entries } = Simulation.record({
      name: "told",
      resources: B.resources,
      operator: B.boxes(B.pods),
      steps: [...B.sized(1), nobody]
    })
    const told = entries.flatMap((entry) =>
      entry._tag === "Step"
        ? [entry.failed === undefined ? entry.name : `${entry.name} fails`]
        : entry._tag === "Change"
        ? [`${entry.change.type} ${entry.change.object.kind}`]
        : []
    )
    assert.deepStrictEqual(told.slice(0, 3), ["size 1", "ADDED Box", "ADDED Pod"])
    assert.strictEqual(told.at(-1), "nobody fails")
  })

  it.live("draws the story as a page that loads nothing, and says nothing unescaped", () =>
    Effect.gen(function*() {
      const failure = yield* failing({ ...bug!.wrong, name: "<script>alert(1)</script>" })
      const page = failure.html()
      assert.isTrue(page.startsWith("<!doctype html>"))
      assert.notInclude(page, "<script")
      assert.notMatch(page, /(?:src|href)=/)
      assert.include(page, failure.replay)
      assert.include(page, "Box default/box")
    }))

  it.live("names the place where a program asks the real world", () =>
    Effect.gen(function*() {
      const { wrong } = planted.find(({ name }) => name.includes("the time of the machine"))!
      const failure = yield* failing(wrong)
      assert.match(failure.complaint, /Date\.now\(\) at .*Outside\.ts:\d+/)
      // The globals are themselves again.
      assert.isAbove(Date.now(), 1_767_225_600_000)
      assert.include(Function.prototype.toString.call(Date), "[native code]")
      assert.include(Function.prototype.toString.call(Math.random), "[native code]")
    }))

  it.live("names a program that is not the same twice", () =>
    Effect.gen(function*() {
      let n = 0
      const careless = Controller.make("careless", {
        for: B.Box,
        reconcile: () =>
          B.done(KubeClient.KubeClient.use((client) =>
            client.create(ConfigMap, { metadata: { namespace: "default", name: `chance-${n++}` } })
          ))
      })
      const failure = yield* failing({
        name: "careless",
        resources: B.resources,
        operator: Manager.layer([careless]),
        steps: B.sized(1)
      })
      assert.strictEqual(failure.oracle, "deterministic")
      assert.include(failure.complaint, "two runs with the same seed differ")
      // Two runs, of however many there were, each with its own.
      assert.isAbove(new Set(failure.complaint.match(/chance-\d+/g)).size, 1)
    }))

  it.live("lets an elected leader be followed by another, and complains about neither", () =>
    Effect.gen(function*() {
      const operator = ({ identity }: Simulation.Replica) =>
        Manager.layer([
          Controller.make("boxes", {
            for: B.Box,
            owns: [ConfigMap],
            reconcile: (box) => B.done(B.keep(box as B.Box, "settings", { size: String((box as B.Box).spec.size) }))
          }) as Controller.Controller
        ], { identity, leaderElection: { namespace: "default", name: "boxes", identity } })
      const report = yield* Simulation.checkConvergence(
        { name: "elected", resources: B.resources, operator, replicas: 2, steps: B.sized(1, 2) },
        { depth: 1, runs: 12, faults: ["cutOff", "clockAhead", "clockBehind", "crashBefore"], interleavings: 0 }
      )
      assert.strictEqual(report.byFault["clockAhead"]?.run, 2)
      assert.isAbove(report.byFault["cutOff"]!.run, 1)
      assert.isAbove(report.histories, 1)
    }))

  it.live("of the kinds that find most three are run for one of another", () =>
    Effect.gen(function*() {
      const options = {
        depth: 1,
        runs: 5,
        interleavings: 0,
        faults: ["crashBefore", "crashAfter", "throttled"]
      } as const
      const { byFault } = yield* Simulation.checkConvergence(bug!.right, options)
      assert.deepStrictEqual(Object.values(byFault).map(({ run }) => run).sort(), [1, 1, 3])
      assert.strictEqual(byFault["crashAfter"]?.run, 3)
    }))

  it.live("waits for who tries again minutes later", () =>
    Effect.gen(function*() {
      const book = External.state("book", () => new Map<string, number>())
      const enter = ({ metadata, spec }: B.Box) => Effect.map(book, (all) => void all.set(metadata.uid, spec.size))
      const operator = Manager.layer([Controller.make("patient", {
        for: B.Box,
        retry: Schedule.spaced("5 minutes"),
        reconcile: (box) =>
          box.status?.count === box.spec.size
            ? Effect.succeed(Action.done)
            : B.done(
              Effect.andThen(
                External.call("enter", () => "closed", enter(box)),
                B.status(box, { count: box.spec.size })
              )
            )
      })])
      const patient = { name: "patient", resources: B.resources, operator, steps: B.sized(1, 2) }
      const report = yield* Simulation.checkConvergence(patient, { depth: 1 })
      assert.isTrue(report.exhaustive)
    }))

  it.live("lets a Job end that a deletion waits for, and that somebody takes from its owner", () =>
    Effect.gen(function*() {
      const operator = B.boxes(() => Effect.succeed(Action.done), {
        owns: [Job],
        finalize: (box) =>
          Effect.gen(function*() {
            const it = yield* B.client
            const job = yield* Cache.get(Job, B.named("last"))
            if (job !== undefined) return B.ends(job, "Complete") ? Action.done : Action.awaitChange
            const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } }
            const metadata = { ...B.named("last"), ownerReferences: [controllerReference(box)] }
            yield* B.unlessThere(it.create(Job, { metadata, spec: { backoffLimit: 4, template } }))
            return Action.awaitChange
          })
      })
      const scenario = B.worked("last-job", operator, [...B.sized(1), ...B.deleted])
      const report = yield* Simulation.checkConvergence(scenario, { depth: 1, faults: ["orphaned", "crashAfter"] })
      assert.isTrue(report.exhaustive)
    }))

  it.live("lets a status follow a rollout, in which one Pod after the other is not ready for a while", () => {
    const rolls = Controller.make("rolls", {
      for: B.Box,
      owns: [StatefulSet],
      reconcile: Effect.fnUntraced(function*(box) {
        const labels = { app: "x" }
        const template = { metadata: { labels }, spec: { containers: [{ name: "x", image: `x:${box.spec.size}` }] } }
        const spec = { replicas: 4, serviceName: "x", selector: { matchLabels: labels }, template }
        yield* Sync.children(box, [StatefulSet], [Sync.child(StatefulSet, { metadata: { name: "set" }, spec })])
        const set = yield* Cache.get(StatefulSet, B.named("set"))
        yield* B.status(box, { count: set?.status?.readyReplicas ?? 0 })
        return Action.done
      })
    })
    return Simulation.checkConvergence({
      name: "rolls",
      resources: B.resources,
      operator: Manager.layer([rolls]),
      steps: B.sized(1, 2)
    }, { depth: 1, runs: 4, interleavings: 0 })
  })

  it("gives a test the time that its budget takes, and some more for shrinking", () => {
    const given: Array<number> = []
    const test = Simulation.converges((_, __, timeout) => void given.push(timeout))
    test(bug!.right, { budget: "20 seconds" })
    test(bug!.right)
    assert.deepStrictEqual(given, [120_000, 240_000])
  })

  Simulation.converges(it.live)(bug!.right, { depth: 1, runs: 3, interleavings: 0 })

  it.effect("a test prints what it had no time for, and is silent if there is no such thing", () =>
    Effect.gen(function*() {
      const printed: Array<string> = []
      const tests: Array<Effect.Effect<unknown, unknown>> = []
      const test = Simulation.converges((_, run) => void tests.push(run()))
      test(bug!.right, { depth: 1, runs: 3, interleavings: 0 })
      test(bug!.right, { depth: 1, faults: ["crashBefore"], interleavings: 0 })
      for (const one of tests) {
        yield* Effect.provideService(one, Console.Console, {
          ...globalThis.console,
          log: (line: string) => void printed.push(line)
        })
      }
      assert.strictEqual(printed.length, 1)
      assert.match(printed[0]!, /3 runs, .*\n3 of \d+ single faults: NOT exhaustive/)
    }))
})
