import { Action, Cache, Reconciler, Sync } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, CronJob, Lease, Namespace, Role, Service } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { sameEnd } from "@effect-operator/k8s/testing/simulation/oracles/SameEnd"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Canonical from "@effect-operator/k8s/testing/simulation/state/Canonical"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as B from "../planted/Box.ts"
import { planted } from "../planted/Others.ts"
import { blank } from "../recordings.ts"

/** What is said of an operator in a run without faults. */
const said = (operator: Simulation.Operator, steps: B.Steps) =>
  Effect.map(
    Effect.flip(Simulation.checkConvergence({ name: "said", resources: B.resources, operator, steps }, {
      depth: 1,
      shrinking: "0 seconds"
    })),
    ({ complaint }) => complaint
  )

describe("the documentation", () => {
  it("says of each when it complains, by its name", () => {
    const path = Path.join(import.meta.dirname, "../../../../../../docs/simulation-reference.md")
    const page = Fs.readFileSync(path, "utf8")
    for (const { name } of Simulation.oracles) assert.include(page, name)
  })
})

describe("what oracles say", () => {
  it("of data that is lost is told before what is seen of it: a claim that waits for its Pod", () => {
    const names = Simulation.oracles.map(({ name }) => name)
    assert.strictEqual(names.filter((name) => name === "no data loss").length, 1)
    assert.isBelow(names.indexOf("no data loss"), names.indexOf("finalizers released"))
    assert.isBelow(names.indexOf("no data loss"), names.indexOf("same end state"))
  })

  it("of an owner in another namespace is told before what comes of it: the garbage collector takes what is made, again and again", () => {
    const names = Simulation.oracles.map(({ name }) => name)
    assert.strictEqual(names.filter((name) => name === "valid owner references").length, 1)
    assert.isBelow(names.indexOf("valid owner references"), names.indexOf("comes to rest"))
  })

  it("nothing of what follows at once upon a fault in the quiet time, such as that another takes over", () => {
    const quiet = Simulation.oracles.find(({ name }) => name === "quiet once stable")!
    const write = (at: number) => ({
      _tag: "Call",
      at,
      n: 7,
      request: { method: "PATCH", path: "/x", query: [] },
      status: 200
    })
    const told = (at: number, faultAt: number) => {
      const fault = { _tag: "Fault", at: faultAt, point: { _tag: "Call", at: 1, fault: "cutOff" } }
      const run = { entries: [fault], quietAt: 1_000, restless: [write(at)] }
      return quiet.judge(run as never, {} as never)
    }
    assert.isUndefined(told(15_000, 2_000))
    assert.include(told(15_000, 500), "1 writes in a quiet time, the first: #7 PATCH /x")
    assert.include(told(90_000, 2_000), "1 writes in a quiet time, the first: #7 PATCH /x")
  })

  it.live("of a spec that the server refuses, that it does, and not that more is there than without what was wanted before", () =>
    Effect.gen(function*() {
      const operator = B.boxes((box) =>
        B.done(Sync.children(box, [Role, Service], [
          Sync.child(Role, {
            metadata: { name: "reads" },
            rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"].slice(0, box.spec.size) }]
          }),
          Sync.child(Service, { metadata: { name: "front" }, spec: { selector: { box: "b" }, ports: [{ port: 80 }] } })
        ])), { owns: [Role, Service] })
      assert.include(yield* said(operator, B.sized(1, 0)), "verbs must contain at least one value")
    }))

  it("of a write in a quiet time that changes nothing, that it does not", () => {
    const quiet = Simulation.oracles.find(({ name }) => name === "quiet once stable")!
    const judged = (before: number, after: number) => {
      const request = { method: "PATCH", path: "/x", query: [] }
      const write = {
        _tag: "Call",
        at: 301_000,
        n: 7,
        request,
        status: 200,
        object: { kind: "ConfigMap" },
        before,
        after
      }
      return quiet.judge({ entries: [write], quietAt: 60_000, restless: [write] } as never, {} as never)
    }
    assert.include(judged(3, 3), "#7 PATCH /x (200), which changes nothing: write only what differs")
    assert.notInclude(judged(3, 4), "changes nothing")
  })

  it("nothing of a warning that is repeated as long as what it is about lasts", () => {
    const quiet = Simulation.oracles.find(({ name }) => name === "quiet once stable")!
    const told = (at: number, reason: string, type = "Warning") => ({
      _tag: "Call",
      at,
      n: 7,
      request: { method: "POST", path: "/apis/events.k8s.io/v1/namespaces/default/events" },
      status: 201,
      object: { kind: "Event", type, reason, regarding: { uid: "u" } }
    })
    const judged = (before: object, after: { readonly at: number }) =>
      quiet.judge({ entries: [before], quietAt: 60_000, restless: [after] } as never, {} as never)
    assert.isUndefined(judged(told(1_000, "NameTaken"), told(600_000, "NameTaken")))
    assert.include(judged(told(1_000, "NameTaken"), told(600_000, "Lost")), "1 writes in a quiet time")
    assert.include(
      judged(told(1_000, "Synced", "Normal"), told(600_000, "Synced", "Normal")),
      "1 writes in a quiet time"
    )
  })

  it.live("nothing of who says again what is there when a CronJob has come to its time, but of who does so by himself", () =>
    Effect.gen(function*() {
      const nightly = (box: B.Box) => ({
        metadata: { ...B.named("nightly"), ownerReferences: [controllerReference(box)] },
        spec: {
          schedule: "*/10 * * * *",
          jobTemplate: {
            spec: {
              template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "busybox" }] } }
            }
          }
        }
      })
      const operator = (again: Action.Action) =>
        B.boxes((box) =>
          B.client.use((it) =>
            it.apply(CronJob, nightly(box), { force: true }).pipe(
              Effect.andThen(it.apply(ConfigMap, B.map("settings", {}, box), { force: true })),
              Effect.as(again)
            )
          ), { owns: [CronJob, ConfigMap] })
      const scenario = (again: Action.Action) =>
        ({ name: "nightly", resources: B.resources, operator: operator(again), steps: B.sized(1) }) as const
      yield* Simulation.checkConvergence(scenario(Action.done), { depth: 1, runs: 0 })
      const failure = yield* Effect.flip(
        Simulation.checkConvergence(scenario(Action.requeueAfter("6 minutes")), { depth: 1, runs: 0 })
      )
      assert.strictEqual(failure.oracle, "quiet once stable")
    }))

  it("nothing of how much is made for who is gone, and for what was made for him: all of it goes again", () => {
    const creates = Simulation.oracles.find(({ name }) => name === "creates and deletes")!
    const story = (rootLives: boolean) => {
      const entries: Array<object> = []
      let revision = 0
      const change = (type: string, metadata: object) =>
        entries.push({ _tag: "Change", change: { type, revision: ++revision, object: { metadata } } })
      const make = (uid: string, owner: string) => {
        const metadata = { uid, ownerReferences: [{ uid: owner }] }
        const before = revision
        change("ADDED", metadata)
        const request = { method: "POST", path: "/api/v1/namespaces/default/configmaps", query: [] }
        entries.push({ _tag: "Call", request, status: 201, before, after: revision, object: { metadata } })
      }
      change("ADDED", { uid: "root" })
      if (!rootLives) change("DELETED", { uid: "root" })
      make("set", "root")
      for (let n = 0; n < 50; n++) make(`child-${n}`, "set")
      return creates.judge({ entries, met: 1 } as never, { recording: { entries: [] } } as never)
    }
    assert.isUndefined(story(false))
    assert.strictEqual(story(true), "51 objects created; without faults, 0")
  })

  it.live("nothing of what goes with its owner before anybody could let it go", () =>
    Effect.gen(function*() {
      const adopts = planted.find(({ name }) => name.startsWith("others: what it has adopted"))!
      const { run } = yield* Simulation.checkConvergence(adopts.right, { depth: 1, faults: ["forestalled", "hurried"] })
      assert.isAtLeast(run, 2)
    }))

  it.live("nothing of what was there before people asked for it to be left alone", () =>
    Effect.gen(function*() {
      const annotations = { "example.com/paused": "true" }
      const paused = {
        name: "pause",
        act: B.client.use((it) => it.patch(B.Box, B.key, B.merge({ metadata: { annotations } })))
      }
      const spec = { selector: { app: "box" }, ports: [{ port: 80 }] }
      const serving = (box: B.Box) =>
        Sync.children(box, [Service], [Sync.child(Service, { metadata: { name: "box" }, spec })])
      const operator = B.boxes(
        (box) => B.done(box.metadata.annotations === undefined ? serving(box) : Effect.void),
        { owns: [Service] }
      )
      const scenario = { name: "paused", resources: B.resources, operator, steps: [...B.sized(1), paused] }
      yield* Simulation.checkConvergence(scenario, { depth: 1, runs: 1 })
    }))

  it.live("of what is held for ever, also who has asked for it to go", () =>
    Effect.gen(function*() {
      const metadata = { ...B.named("held"), finalizers: ["example.com/people"] }
      const held = { name: "held", act: B.client.use((it) => it.create(ConfigMap, { metadata })) }
      const tidy = B.boxes(() => B.done(B.client.use((it) => B.unlessGone(it.delete(ConfigMap, B.named("held"))))))
      assert.strictEqual(
        yield* said(tidy, [held, ...B.sized(1)]),
        "ConfigMap held is still being deleted, held by example.com/people; the operator requested the deletion: " +
          "#4 DELETE /api/v1/namespaces/default/configmaps/held"
      )
    }))

  it.live("nothing of what people hold, and have asked to go, themselves, nor of a namespace that it is in", () =>
    Effect.gen(function*() {
      const metadata = { namespace: "stuck", name: "held", finalizers: ["example.com/people"] }
      const stuck = B.client.use((it) =>
        Effect.andThen(
          Effect.andThen(it.create(Namespace, { metadata: { name: "stuck" } }), it.create(ConfigMap, { metadata })),
          it.delete(Namespace, { name: "stuck" })
        )
      )
      yield* Simulation.checkConvergence({
        name: "stuck",
        resources: B.resources,
        operator: B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) }))),
        steps: [{ name: "a namespace that does not go", act: stuck }, ...B.sized(1)]
      }, { depth: 1, runs: 3, interleavings: 0 })
    }))

  it.live("nothing of who is cut off while all else rests, and goes on when he is back", () =>
    Effect.gen(function*() {
      const lock = B.named("lock")
      const locking = B.boxes((box) =>
        B.done(B.client.use((it) =>
          Effect.gen(function*() {
            if (box.status?.count === box.spec.size) return
            const renewTime = new Date(yield* Clock.currentTimeMillis).toISOString().replace("Z", "000Z")
            yield* it.apply(Lease, { metadata: lock, spec: { holderIdentity: "me", renewTime } }, { force: true })
            yield* B.status(box, { count: box.spec.size })
            yield* B.unlessGone(it.delete(Lease, lock))
          })
        ))
      )
      const scenario = { name: "locking", resources: B.resources, operator: locking, steps: B.sized(1) }
      const { run } = yield* Simulation.checkConvergence(scenario, { depth: 1, faults: ["cutOff"], interleavings: 0 })
      assert.isAbove(run, 0)
    }))

  it.live("nothing of who waits for what somebody has taken from it, which goes without anybody being told", () =>
    Effect.gen(function*() {
      const last = B.named("last")
      const operator = B.boxes((box) => B.done(B.keep(box, "last", {})), {
        owns: [ConfigMap],
        finalize: () =>
          B.client.use((it) =>
            Effect.gen(function*() {
              const there = yield* it.get(ConfigMap, last).pipe(Effect.option)
              if (there._tag === "None") return Action.done
              yield* B.unlessGone(it.delete(ConfigMap, last))
              return Action.awaitChange
            })
          )
      })
      const scenario = { name: "bereft", resources: B.resources, operator, steps: [...B.sized(1), ...B.deleted] }
      const { run } = yield* Simulation.checkConvergence(scenario, { depth: 1, faults: ["orphaned"], interleavings: 0 })
      assert.isAbove(run, 0)
    }))

  it("nothing of who outlives its owner as it waits so", () => {
    const object = (uid: string, metadata: object) => ({
      apiVersion: "v1",
      kind: "Thing",
      metadata: { ...B.named(uid), uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", ...metadata }
    })
    const owner = (uid: string) => ({ ownerReferences: [{ apiVersion: "v1", kind: "Thing", name: uid, uid }] })
    const waits = object("waits", {
      ...owner("gone"),
      deletionTimestamp: "2026-01-01T00:01:00Z",
      finalizers: ["example.com/waits"]
    })
    const lived = (child: object): Recording => ({
      ...blank,
      objects: [waits],
      entries: [
        { _tag: "Call", n: 1, object: child },
        { _tag: "Fault", at: 0, point: { _tag: "Call", at: 1, fault: "orphaned" } }
      ] as never
    })
    const orphans = Simulation.oracles.find(({ name }) => name === "no orphans")!
    assert.isUndefined(orphans.judge(lived(object("child", owner("waits"))), {} as never))
    assert.isDefined(orphans.judge(lived(object("child", owner("another"))), {} as never))
  })

  it("nothing of which of several was given which number outside, if each tells the one that it was given", () => {
    const lived = (outside: readonly [number, number], told: readonly [number, number]): Recording => ({
      ...blank,
      kinds: ["Box"],
      objects: ["a", "b"].map((name, index) => ({
        apiVersion: "planted.example.com/v1",
        kind: "Box",
        metadata: {
          ...B.named(name),
          uid: `uid-of-${name}`,
          resourceVersion: "1",
          creationTimestamp: "2026-01-01T00:00:00Z",
          annotations: { port: String(told[index]) }
        }
      })),
      outside: new Map([[
        "given",
        new Map(outside.map((port, index) => ["ab"[index], { port: String(port), size: 3 }]))
      ]])
    })
    const recording = lived([4001, 4002], [4001, 4002])
    const mask = new Set<string>()
    const reference = { recording, mask, rests: [], tied: [], state: Canonical.state(recording, mask) }
    const said = (run: Recording) => sameEnd.judge(run, reference as never)
    assert.isUndefined(said(lived([4002, 4001], [4002, 4001])))
    assert.isDefined(said(lived([4002, 4001], [4001, 4002])), "outside alone")
    assert.isDefined(said(lived([4001, 4002], [4002, 4001])), "in the cluster alone")
    assert.isDefined(said(lived([4002, 4003], [4002, 4003])), "another one")
  })

  it("nothing of who looks every few seconds whether what somebody has taken comes back", () => {
    const retries = Simulation.oracles.find(({ name }) => name === "bounded retries")!
    const told = (method: string, fault: string) => {
      const request = { method, path: "/x", headers: {}, query: [] }
      const call = (n: number) => ({ _tag: "Call", n, at: n, status: 200, request, before: 1, after: 1 })
      const taken = { _tag: "Fault", at: 0, point: { _tag: "Call", at: 1, fault } }
      const entries = [taken, ...Array.from({ length: 700 }, (_, n) => call(n))]
      return retries.judge({ entries, met: 1 } as never, { recording: { entries: [] } } as never)
    }
    assert.isUndefined(told("GET", "orphaned"))
    assert.include(told("PUT", "orphaned"), "700 requests; without faults, 0")
    assert.include(told("GET", "serverError"), "700 requests; without faults, 0")
  })

  it("of what is made again only by another process, whether its kind is watched", () => {
    const removed = Simulation.oracles.find(({ name }) => name === "removed objects are recreated")!
    const told = (entries: ReadonlyArray<object>) =>
      removed.judge({ unnoticed: ["Service default/web"], entries } as never, {} as never)
    assert.include(told([]), "the operator does not watch Service at all")
    assert.include(told([{ _tag: "Event", object: { kind: "Service" } }]), "a predicate hides the deletion")
  })

  it("nothing of who merges in what is there each time he looks, but where the server fills in what it says no more than", () => {
    const pingPong = Simulation.oracles.find(({ name }) => name === "no ping-pong")!
    const told = (body: object, fields: object, contentType = "application/merge-patch+json") => {
      const object = { kind: "Service", metadata: { uid: "1", name: "web" }, ...fields }
      const request = { method: "PATCH", path: "/x", query: [], headers: { "content-type": contentType }, body }
      const call = (n: number, more: object = {}) => ({
        _tag: "Call",
        n,
        at: n,
        status: 200,
        object,
        request,
        before: 7,
        after: 7,
        ...more
      })
      const made = { ...object, spec: { ports: [] } }
      const entries = [call(1, { object: made, before: 5, after: 6 }), ...[2, 3, 4, 5, 6].map((n) => call(n))]
      return pingPong.judge({ entries, kinds: [], met: 0 } as never, {} as never)
    }
    const ports = [{ port: 80 }]
    assert.isUndefined(told({ spec: { ports } }, { spec: { ports, clusterIP: "10.0.0.1" } }))
    assert.include(
      told({ spec: { ports } }, { spec: { ports: [{ port: 80, protocol: "TCP" }] } }),
      "Service web was given the same content 4 times"
    )
    assert.isDefined(told({ spec: { ports } }, { spec: { ports } }, "application/json"))
  })

  it.live("of what is deleted in vain, also who has asked for it to go, and when", () =>
    Effect.gen(function*() {
      const labels = { part: "settings" }
      const make = B.client.use((it) =>
        it.create(ConfigMap, { metadata: { ...B.named("settings"), labels }, data: {} })
      )
      const sweeping = B.boxes((box) =>
        B.done(B.client.use((it) =>
          Effect.gen(function*() {
            if (box.status?.count === box.spec.size) return
            yield* it.deleteCollection(ConfigMap, { namespace: "default", labels })
            yield* make
            yield* B.status(box, { count: box.spec.size })
          })
        ))
      )
      assert.strictEqual(
        yield* said(sweeping, B.sized(1, 2)),
        "ConfigMap settings was deleted after \"size 2\" (#7 DELETE /api/v1/namespaces/default/configmaps " +
          "labelSelector=part=settings), and is created again unchanged: #8 POST /api/v1/namespaces/default/configmaps"
      )
    }))

  it.live("of what is left behind what the operator made, not what the cluster has made of that", () =>
    Effect.gen(function*() {
      const spec = { selector: { app: "box" }, ports: [{ port: 80 }] }
      const service = { metadata: B.named("box"), spec }
      const operator = B.boxes(() => B.done(B.client.use((it) => it.apply(Service, service, { force: true }))), {
        owns: [Service]
      })
      assert.include(
        yield* said(operator, [...B.sized(1), ...B.deleted]),
        "Service box still exists, but the custom resource that it was created for is gone: #3 PATCH /api/v1/namespaces/default/services/box"
      )
    }))

  it.live("of what is not made when another is gone, that it is not", () =>
    Effect.gen(function*() {
      const inTurn = B.boxes((box) =>
        Effect.gen(function*() {
          const boxes = yield* Cache.list(B.Box)
          const { name } = box.metadata
          if (boxes.some((other) => other.metadata.name < name)) return Action.done
          return yield* B.done(B.keep(box, name, {}))
        })
      )
      const comes = (name: string) => ({ name: `${name} comes`, act: B.write(1, B.named(name)) })
      const goes = { name: "a goes", act: B.client.use((it) => it.delete(B.Box, B.named("a"))) }
      assert.strictEqual(
        yield* said(inTurn, [comes("a"), comes("b"), goes]),
        "after Box a is deleted, what exists in the end if it is never created is not made, although nothing is in its way " +
          "any more (the deletion triggers no reconcile, or something remembers it): ConfigMap default/b"
      )
    }))

  it.live("of what is not as it should be, also why nobody puts it right", () =>
    Effect.gen(function*() {
      const [step] = B.sized(1)
      const stubborn = B.boxes(() => Effect.fail("the disk is full"))
      const complaint = yield* said(stubborn, [{ ...step!, desired: (objects) => B.count("ConfigMap", objects) > 0 }])
      assert.match(
        complaint,
        /^the desired state is not reached.*; the log says: reconcile failed .*the disk is full/
      )
      const hopeless = B.boxes(() => Effect.fail(new Reconciler.Terminal({ message: "there is one already" })))
      assert.match(
        yield* said(hopeless, [{ ...step!, desired: (objects) => B.count("ConfigMap", objects) > 0 }]),
        /^the desired state is not reached.*; the log says: gave up .*there is one already/
      )
      const once = B.boxes(
        (box) =>
          box.status?.count === undefined
            ? B.done(Effect.andThen(B.keep(box, "settings", {}), B.status(box, { count: 1 })))
            : B.done(Effect.void)
      )
      assert.match(
        yield* said(once, [{ ...step!, desired: (objects) => B.count("ConfigMap", objects) > 0 }]),
        /; somebody has removed ConfigMap default\/settings, and it is never created again, not even after a restart of the process$/
      )
    }))
})
