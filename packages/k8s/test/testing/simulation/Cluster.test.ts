import { Action, Cache, Controller, KubeClient, Manager, Watch } from "@effect-operator/core"
import { controllerReference, isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import { PodExec } from "@effect-operator/k8s"
import {
  ConfigMap,
  Deployment,
  Job,
  Node,
  PersistentVolumeClaim,
  Pod,
  Service,
  StatefulSet
} from "@effect-operator/k8s/kinds"
import { External, Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { none, type Plan } from "../../../src/testing/simulation/recording/Fault.ts"
import * as Run from "../../../src/testing/simulation/running/Run.ts"
import { Stage } from "../../../src/testing/simulation/running/Stage.ts"
import * as B from "./planted/Box.ts"
import { planted as course } from "./planted/Course.ts"
import { planted as ends } from "./planted/Ends.ts"

const app = { app: "web" }

/** Serves a Pod for each unit of size; ends everything at one moment. */
const serving = Controller.make("serving", {
  for: B.Box,
  reconcile: Effect.fnUntraced(function*(box) {
    const it = yield* B.client
    if (box.status?.phase === "Made") return yield* B.done(Effect.void)
    yield* it.create(Service, { metadata: B.named("web"), spec: { clusterIP: "None", selector: app } })
    const owner = yield* it.create(ConfigMap, { metadata: B.named("owner") })
    for (let i = 0; i < box.spec.size; i++) {
      yield* it.create(Pod, {
        metadata: { ...B.named(`web-${i}`), labels: app, ownerReferences: [controllerReference(owner)] },
        spec: { containers: [{ name: "c", image: "x" }] }
      })
    }
    return yield* B.done(B.status(box, { phase: "Made" }))
  }),
  finalize: () =>
    B.done(
      B.client.use((it) => Effect.andThen(it.delete(Service, B.named("web")), it.delete(ConfigMap, B.named("owner"))))
    )
})

describe("the cluster of a simulation", () => {
  it("makes no slices again for a Service of whose end only the garbage collector knows", () => {
    const { entries, failure, objects } = Simulation.record({
      name: "serving",
      resources: B.resources,
      operator: Manager.layer([serving]),
      steps: [...B.sized(2), ...B.deleted]
    })
    assert.isUndefined(failure)
    const made = entries.filter((entry) =>
      entry._tag === "Change" && entry.change.type === "ADDED" && entry.change.object.kind === "EndpointSlice"
    )
    assert.strictEqual(made.length, 1)
    assert.deepStrictEqual(objects.filter(({ kind }) => kind !== "Event" && kind !== "Namespace"), [])
  })

  it("forgets its history where a watch is told so", () => {
    const scenario = { name: "serving", resources: B.resources, operator: Manager.layer([serving]), steps: B.sized(1) }
    /** The answer to a question about how it was before the step. */
    const past = (plan: Plan): number => {
      const stage = new Stage(scenario, plan, 1)
      stage.start(0)
      stage.world.advance(1_000)
      const before = stage.world.run(stage.server.revision)
      stage.world.fork(Effect.provideContext(scenario.steps[0]!.act, stage.people))
      assert.isTrue(stage.rest())
      const query = [["resourceVersion", String(before)], ["resourceVersionMatch", "Exact"]] as const
      return stage.world.run(stage.server.handle({ method: "GET", path: "/api/v1/pods", query, headers: {} })).status
    }
    assert.strictEqual(past(none), 200)
    assert.strictEqual(past({ points: [{ _tag: "Event", at: 2, fault: "watchExpired" }], interleaving: 0 }), 410)
  })

  it("a step that is taken while a process starts again is not looked at as if nothing had been done", () => {
    const scenario = {
      name: "serving",
      resources: B.resources,
      operator: Manager.layer([serving]),
      steps: [
        ...B.sized(1).map((step) => ({
          ...step,
          desired: (objects: ReadonlyArray<KubeObject>) => objects.some(({ kind }) => kind === "Box")
        })),
        ...B.deleted
      ]
    }
    const restarted = { _tag: "Step", at: 1, fault: "restarted" } as const
    const run = (points: Plan["points"]) => Run.run(scenario, { points, interleaving: 0 }, { seed: 1, quiet: 60_000 })
    const first = run([restarted]).entries.find((entry) => entry._tag === "Call" && entry.life === 2)
    assert.isDefined(first)
    const { hurried, missed } = run([restarted, {
      _tag: "Call",
      at: first._tag === "Call" ? first.n : 0,
      fault: "hurried"
    }])
    assert.deepStrictEqual(hurried, [1])
    assert.deepStrictEqual(missed, [])
  })

  it.live("what is going or gone is not shown to a process as if it lived: what it did for it would stay", () => {
    const machines = External.state("machines", () => new Set<string>())
    const call = (name: string, act: (all: Set<string>, uid: string) => void): B.Reconcile => ({ metadata }) =>
      B.done(External.call(name, () => "no answer", Effect.map(machines, (all) => act(all, metadata.uid))))
    const buy = call("buy", (all, uid) => void all.add(uid))
    const scenario = {
      name: "buying",
      resources: B.resources,
      operator: B.boxes((box) => Effect.tap(buy(box), () => B.status(box, { phase: "bought" })), {
        owns: [],
        finalize: call("sell", (all, uid) => void all.delete(uid))
      }),
      steps: [...B.sized(1), ...B.deleted]
    }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["staleRestart", "oldRestart"] })
  })

  it.live("not even where the server has forgotten what was before, and shows the oldest that it knows", () => {
    const known = External.state("known", () => new Set<string>())
    const call = (name: string, act: (all: Set<string>, name: string) => void): B.Reconcile => ({ metadata }) =>
      B.done(External.call(name, () => "no answer", Effect.map(known, (all) => act(all, metadata.name))))
    const other = B.named("other")
    const scenario = {
      name: "listing",
      resources: B.resources,
      operator: B.boxes(call("list", (all, name) => void all.add(name)), {
        owns: [],
        finalize: call("strike", (all, name) => void all.delete(name))
      }),
      steps: [
        ...B.sized(1),
        { name: "another", act: B.client.use((it) => it.create(B.Box, { metadata: other, spec: { size: 1 } })) },
        { name: "which goes", act: B.client.use((it) => it.delete(B.Box, other)) }
      ]
    }
    const faults = ["watchExpired", "oldRestart"] as const
    return Simulation.checkConvergence(scenario, { depth: 2, faults, interleavings: 0, deeper: 40 })
  })

  it.live("nor what people have made in a story without custom resources", () => {
    const labels = { part: "yes" }
    const joinAll = Effect.gen(function*() {
      const it = yield* B.client
      const parts = (yield* Cache.list(ConfigMap, { labels })).filter((part) => !isTerminating(part))
      const there = yield* Cache.get(ConfigMap, B.named("joined"))
      const data = { parts: parts.map(({ metadata }) => metadata.name).sort().join() }
      if (parts.length > 0) yield* it.apply(ConfigMap, B.map("joined", data), { force: true })
      else if (there !== undefined) yield* B.unlessGone(it.delete(ConfigMap, there))
      return Action.done
    })
    const part = (name: string) =>
      B.client.use((it) => it.create(ConfigMap, { metadata: { ...B.named(name), labels }, data: {} }))
    const scenario = {
      name: "joining",
      resources: [],
      operator: Manager.layer([Controller.make("joining", {
        for: ConfigMap,
        labels,
        watches: [Watch.cached(ConfigMap, { fields: "metadata.name=joined" })],
        finalizer: "planted.example.com/part",
        reconcile: () => joinAll,
        finalize: () => joinAll
      })]),
      steps: [
        { name: "a part", act: part("one") },
        { name: "another", act: part("two") },
        ...["one", "two"].map((name) => ({
          name: `${name} goes`,
          act: B.client.use((it) => it.delete(ConfigMap, B.named(name)))
        }))
      ]
    }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["staleRestart", "oldRestart"], interleavings: 0 })
  })

  it.live("a Pod that people made is missed by nobody; what the cluster replaces leaves remains", () => {
    const pod = { metadata: B.named("mine"), spec: { containers: [{ name: "c", image: "busybox" }] } }
    const labels = { app: "web" }
    const template = { metadata: { labels }, spec: pod.spec }
    const web = { metadata: B.named("web"), spec: { replicas: 2, selector: { matchLabels: labels }, template } }
    const scenario = {
      name: "people",
      resources: B.resources,
      operator: B.boxes(() => Effect.succeed(Action.done)),
      steps: [
        { name: "a Pod", act: KubeClient.KubeClient.use((it) => it.create(Pod, pod)) },
        { name: "a Deployment", act: KubeClient.KubeClient.use((it) => it.create(Deployment, web)) }
      ]
    }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["podFailed", "podRemoved"] })
  })

  it.live("work that has failed for good may be left to people, and what comes of it be another", () => {
    const ended = (job: Job) => job.status?.conditions?.findLast(({ status }) => status === "True")?.type
    const container = { name: "c", image: "busybox" }
    const scenario: Simulation.Scenario = {
      name: "working",
      resources: B.resources,
      cluster: { kubelet: { ending: () => ({ after: "1 second", exitCode: 0 }) } },
      operator: Manager.layer([
        Controller.make("working", {
          for: B.Box,
          owns: [Job],
          reconcile: Effect.fnUntraced(function*(box) {
            const job = yield* Cache.get(Job, B.named("work"))
            if (job !== undefined) return yield* B.done(B.status(box, { phase: ended(job) ?? "Works" }))
            return yield* B.done(B.unlessThere((yield* B.client).create(Job, {
              metadata: { ...B.named("work"), ownerReferences: [controllerReference(box)] },
              spec: { backoffLimit: 0, template: { spec: { restartPolicy: "Never", containers: [container] } } }
            })))
          })
        })
      ]),
      steps: B.sized(1).map((step) => ({
        ...step,
        desired: (objects: ReadonlyArray<KubeObject>) =>
          objects.some((object) => (object as B.Box).status?.phase === "Complete")
      }))
    }
    return Effect.map(
      Simulation.checkConvergence(scenario, { depth: 1, faults: ["workFails"] }),
      ({ points }) => assert.strictEqual(points, 1)
    )
  })

  it.live("what people want after a step may have to do with the step before: not where nobody has seen that", () => {
    const counted: B.Reconcile = ({ metadata: { resourceVersion }, spec, status }) => {
      const phase = `size ${spec.size}`
      if (status?.phase === phase) return Effect.succeed(Action.done)
      const next = { metadata: { resourceVersion }, status: { phase, count: (status?.count ?? 0) + 1 } }
      return B.done(B.client.use((it) => it.patch(B.Box, B.key, B.merge(next), { subresource: "status" })))
    }
    const scenario = {
      name: "counting",
      resources: B.resources,
      operator: B.boxes(counted),
      steps: B.sized(1, 2).map((step, index) => ({
        ...step,
        desired: (objects: ReadonlyArray<KubeObject>) =>
          objects.some((object) => (object as B.Box).status?.count === index + 1)
      }))
    }
    return Effect.map(
      Simulation.checkConvergence(scenario, { depth: 1, faults: ["forestalled"] }),
      ({ points }) => assert.isAbove(points, 0)
    )
  })

  it.live("who asks every now and then meets faults when all is at rest, and gets over them", () => {
    const polling = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const { items } = yield* it.listPage(Node, {})
        yield* B.status(box, { count: items.length })
        return Action.requeueAfter("2 minutes")
      }), { owns: [] })
    const scenario = { name: "polling", resources: B.resources, operator: polling, steps: B.sized(1) }
    return Effect.gen(function*() {
      const options = { depth: 1, faults: ["serverError", "lostAnswer"] } as const
      const { points } = yield* Simulation.checkConvergence(scenario, options)
      assert.isAbove(points, 20)
    })
  })

  it.live("a claim that is held for a Pod that is nobody's any more is no orphan", () => {
    const claimed = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const ownerReferences = [controllerReference(box)]
        const metadata = { ...B.named("data"), ownerReferences }
        const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        yield* B.unlessThere(it.create(PersistentVolumeClaim, { metadata, spec }))
        const volumes = [{ name: "d", persistentVolumeClaim: { claimName: "data" } }]
        const containers = [{ name: "c", image: "busybox", volumeMounts: [{ name: "d", mountPath: "/d" }] }]
        const pod = { metadata: { ...B.named("p"), ownerReferences }, spec: { containers, volumes } }
        return yield* B.done(B.unlessThere(it.create(Pod, pod)))
      })
    )
    const steps = [...B.sized(1), ...B.deleted]
    const scenario = { name: "claimed", resources: B.resources, operator: claimed, steps }
    return Effect.gen(function*() {
      const { points } = yield* Simulation.checkConvergence(scenario, { depth: 1, faults: ["orphaned"] })
      assert.isAbove(points, 1)
    })
  })

  it.live("who got which of the addresses that are given out as they are asked for is no difference", () => {
    const addressing = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if (box.status?.phase !== undefined) return Action.done
        const { items } = yield* it.listPage(B.Box, {})
        const taken = new Set(items.map(({ status }) => status?.phase))
        const phase = ["10.0.0.1", "10.0.0.2"].find((address) => !taken.has(address))!
        return yield* B.done(B.status(box, { phase }))
      }), { concurrency: 1, owns: [] })
    const made = (name: string) =>
      B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size: 7 } }))
    const steps = [{ name: "two Boxes", act: Effect.andThen(made("a"), made("b")) }]
    const scenario = { name: "addressing", resources: B.resources, operator: addressing, steps }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["serverError"] })
  })

  it.live("of the claims of a StatefulSet that nobody waited for there may be any number", () => {
    const template = {
      metadata: { labels: app },
      spec: { containers: [{ name: "c", image: "x", volumeMounts: [{ name: "data", mountPath: "/d" }] }] }
    }
    const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
    const stateful = B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* Cache.get(StatefulSet, B.named("db"))) !== undefined) return Action.done
        const metadata = { ...B.named("db"), ownerReferences: [controllerReference(box)] }
        const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: claim }]
        const spec = { replicas: 2, serviceName: "db", selector: { matchLabels: app }, template, volumeClaimTemplates }
        return yield* B.done(B.unlessThere(it.create(StatefulSet, { metadata, spec: spec as never })))
      }), { owns: [StatefulSet] })
    const steps = [...B.sized(1), ...B.deleted]
    const scenario = { name: "stateful", resources: B.resources, operator: stateful, steps }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["forestalled", "hurried"] })
  })

  it.live("work begun for what was wanted a moment before may be left when that does not wait", () => {
    const { right } = ends.find(({ name }) => name === "ends: done, thrown away, and done again")!
    return Simulation.checkConvergence(right, { depth: 1, faults: ["hurried"] })
  })

  it.live("what is outside may be halfway, too, when a step does not wait: each thing as at rest, or as never seen", () => {
    const rooms = External.state("rooms", () => new Map<string, string>())
    const call = (name: string, act: (all: Map<string, string>) => void) =>
      External.call(name, () => "nobody answers", Effect.map(rooms, act))
    // A room is given back before another is rented, and what was given back stays what it is.
    const renting = B.boxes((box) =>
      Effect.gen(function*() {
        const [room, before] = [`room-${box.spec.size}`, box.status?.phase]
        if (before !== undefined && before !== "" && before !== room) {
          yield* call("giveBack", (all) => void all.set(before, "given back"))
          yield* B.status(box, { phase: "" })
          return Action.requeue
        }
        yield* call("rent", (all) => void (all.has(room) || all.set(room, "rented")))
        return yield* B.done(B.status(box, { phase: room }))
      }), { owns: [] })
    const scenario = { name: "renting", resources: B.resources, operator: renting, steps: B.sized(1, 2, 1) }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["externalHurried"] })
  })

  it.live("a status need not tell what a step came to for which nobody waited", () => {
    // An even size is there at once; an odd one takes the answer of somebody, and until then the last one counts.
    const dealing = B.boxes((box) =>
      Effect.gen(function*() {
        const { size } = box.spec
        const named = B.map(`deal-${size}`, { answer: size % 2 === 0 ? "yes" : "" }, box)
        const deal = yield* B.cached(named.metadata.name)
        if (deal === undefined) return yield* B.done((yield* B.client).create(ConfigMap, named))
        yield* B.status(box, {
          count: size,
          ...(deal.data?.["answer"] === "yes" && { phase: `size ${size}` }),
          observedGeneration: box.metadata.generation ?? 0
        })
        return Action.done
      }), { concurrency: 1, owns: [ConfigMap] })
    const scenario = { name: "dealing", resources: B.resources, operator: dealing, steps: B.sized(2, 3) }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["hurried", "forestalled"] })
  })

  it.live("a Pod that somebody removes is not the rollout's that is under way", () => {
    const { right } = course.find(({ oracle }) => oracle === "availability is kept")!
    return Simulation.checkConvergence(right, { depth: 1, faults: ["podRemoved", "podFailed"] })
  })

  it.live("a desired state does not see the finalizer of somebody else", () => {
    const desired = (objects: ReadonlyArray<KubeObject>) =>
      objects.filter(({ kind }) => kind === "Box").every(({ metadata }) => metadata.finalizers === undefined)
    const scenario = {
      name: "held",
      resources: B.resources,
      operator: B.boxes(() => Effect.succeed(Action.done)),
      steps: [...B.sized(1, 2), ...B.deleted].map((step) => ({ ...step, desired }))
    }
    return Simulation.checkConvergence(scenario, { depth: 1, faults: ["guarded"] })
  })

  it("has Pods wait for nodes that are not ready yet, and then run", () => {
    const template = { metadata: { labels: app }, spec: { containers: [{ name: "c", image: "x" }] } }
    const spec = { replicas: 2, selector: { matchLabels: app }, template }
    const { failure, objects } = Simulation.record({
      name: "registered",
      resources: [],
      operator: Manager.layer([]),
      cluster: { kubelet: { nodes: ["one", "two"], registerNodes: true } },
      steps: [{
        name: "a Deployment",
        act: B.client.use((it) => it.create(Deployment, { metadata: B.named("web"), spec }))
      }]
    })
    assert.isUndefined(failure)
    const pods = objects.filter(({ kind }) => kind === "Pod") as unknown as ReadonlyArray<Pod>
    assert.deepStrictEqual(pods.map(({ status }) => status?.phase), ["Running", "Running"])
    assert.isFalse(objects.some(({ kind }) => kind === "Lease"))
  })

  it.live("a command in a container is a request like others, with the faults of one", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const scenario: Simulation.Scenario = {
        name: "commanding",
        resources: B.resources,
        // What has failed it leaves to people.
        without: ["podFailed"],
        cluster: {
          kubelet: {
            registerNodes: true,
            exec: ({ command: [program = ""] }) =>
              Effect.sync(() => {
                asked.push(program)
                return { stdout: "done\n" }
              })
          }
        },
        operator: B.boxes((box) =>
          Effect.gen(function*() {
            const it = yield* B.client
            const pod = (yield* Cache.list(Pod)).find(({ metadata: { name } }) => name === "db")
            if (pod === undefined) {
              const metadata = { ...B.named("db"), ownerReferences: [controllerReference(box)] }
              return yield* B.done(
                B.unlessThere(it.create(Pod, { metadata, spec: { containers: [{ name: "c", image: "db" }] } }))
              )
            }
            if (pod.status?.phase !== "Running" || box.status?.phase !== undefined) return Action.done
            const { stdout } = yield* PodExec.run(pod, { command: ["init"] })
            return yield* B.done(B.status(box, { phase: stdout.trim() }))
          }), { owns: [Pod] }),
        steps: [...B.sized(1), ...B.deleted]
      }
      const { entries, failure } = Simulation.record(scenario)
      assert.isUndefined(failure)
      assert.deepStrictEqual([...new Set(asked)], ["init"])
      const at = entries.flatMap((entry) =>
        entry._tag === "Call" && entry.request.path.endsWith("/exec") && entry.status === 200 ? [entry.n] : []
      )
      assert.strictEqual(at.length, 1)
      const { byFault } = yield* Simulation.checkConvergence(scenario, { depth: 1, interleavings: 2 })
      assert.isAbove(byFault["lostAnswer"]!.run, 0)
      for (const fault of ["crashBefore", "crashAfter", "lostAnswer", "serverError"] as const) {
        const before = asked.length
        Run.run(scenario, { ...none, points: [{ _tag: "Call", at: at[0]!, fault }] }, { seed: 1 })
        const isLost = fault === "crashAfter" || fault === "lostAnswer"
        assert.strictEqual(asked.length - before, isLost ? 2 : 1, fault)
      }
    }))
})
