import { assert, describe, it } from "@effect/vitest"
import type { Deployment, ReplicaSet } from "../../../src/kinds/apps.v1.ts"
import { scaled, withoutZeros } from "../../../src/testing/sim/Numbers.ts"
import * as Rollout from "../../../src/testing/sim/Rollout.ts"
import * as RolloutStatus from "../../../src/testing/sim/RolloutStatus.ts"

const template = (image: string) => ({
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "main", image }] }
})

const deployment = (
  replicas: number,
  rollingUpdate: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string },
  more: Partial<Deployment["spec"]> = {}
): Deployment => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "web",
    namespace: "default",
    uid: "d",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z"
  },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: template("new"),
    strategy: { type: "RollingUpdate", rollingUpdate },
    ...more
  }
})

const set = (
  name: string,
  replicas: number,
  available: number = replicas,
  annotations: Readonly<Record<string, string>> = {}
): ReplicaSet => ({
  apiVersion: "apps/v1",
  kind: "ReplicaSet",
  metadata: {
    name,
    namespace: "default",
    uid: name,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: `2026-01-01T00:00:0${name.length}Z`,
    annotations
  },
  spec: { replicas, selector: {}, template: template(name) },
  status: { replicas, readyReplicas: available, availableReplicas: available, observedGeneration: 1 }
})

const sizes = (resizes: ReadonlyArray<Rollout.Resize>) =>
  Object.fromEntries(resizes.map(({ replicas, set }) => [set.metadata.name, replicas]))

describe("Rollout", () => {
  it("rounds a surge up and unavailability down, and never lets both be nothing", () => {
    const limits = (replicas: number, maxSurge: number | string, maxUnavailable: number | string) => {
      const of = deployment(replicas, { maxSurge, maxUnavailable })
      return [Rollout.maxSurge(of), Rollout.maxUnavailable(of)]
    }
    assert.deepStrictEqual(limits(10, "25%", "25%"), [3, 2])
    assert.deepStrictEqual(limits(3, "25%", "25%"), [1, 0])
    assert.deepStrictEqual(limits(3, 0, "25%"), [0, 1])
    assert.deepStrictEqual(limits(2, 0, 5), [0, 2])
    assert.deepStrictEqual(limits(0, 1, 1), [1, 0])
    assert.deepStrictEqual([scaled("101%", 3, "up"), scaled("x", 3, "up"), scaled(undefined, 3, "up")], [4, 0, 0])
  })

  it("the current ReplicaSet grows into the room there is", () => {
    const of = deployment(10, { maxSurge: 3, maxUnavailable: 2 })
    const current = set("new", 0)
    assert.deepStrictEqual(sizes(Rollout.resizeCurrent(of, [set("old", 10), current], current)), { new: 3 })
    assert.deepStrictEqual(Rollout.resizeCurrent(of, [set("old", 13), current], current), [])
    const large = set("new", 12)
    assert.deepStrictEqual(sizes(Rollout.resizeCurrent(of, [large], large)), { new: 10 })
  })

  it("old ones give up what is not available first, then what may be missing, the oldest first", () => {
    const of = deployment(10, { maxSurge: 3, maxUnavailable: 2 })
    assert.deepStrictEqual(sizes(Rollout.resizeOld(of, [set("old", 10)], set("new", 3, 0))), { old: 8 })
    // Pods of the current one that are not available yet count as missing.
    assert.deepStrictEqual(sizes(Rollout.resizeOld(of, [set("old", 8, 6)], set("new", 5, 0))), {})
    assert.deepStrictEqual(sizes(Rollout.resizeOld(of, [set("old", 8, 6)], set("new", 5, 5))), { old: 3 })
    assert.deepStrictEqual(sizes(Rollout.resizeOld(of, [set("b", 4), set("older", 4)], set("new", 5, 3))), { b: 1 })
    assert.deepStrictEqual(Rollout.resizeOld(of, [set("old", 3, 5)], set("new", 5)), [], "it is still shrinking")
  })

  it("scaling is shared in proportion, and the largest takes what rounding leaves", () => {
    const told = { "deployment.kubernetes.io/max-replicas": "13", "deployment.kubernetes.io/desired-replicas": "10" }
    const of = deployment(15, { maxSurge: 3, maxUnavailable: 2 })
    const [old, current] = [set("old", 8, 8, told), set("new", 5, 0, told)]
    assert.isTrue(Rollout.wasScaled(of, [old, current]))
    assert.deepStrictEqual(sizes(Rollout.rescale(of, current, [old])), { old: 11, new: 7 })
    const smaller = deployment(5, { maxSurge: 3, maxUnavailable: 2 })
    const shrunk = sizes(Rollout.rescale(smaller, current, [old]))
    assert.strictEqual(shrunk["old"]! + shrunk["new"]!, 8)
    assert.deepStrictEqual(
      sizes(Rollout.rescale(deployment(0, { maxSurge: 3, maxUnavailable: 2 }), current, [old])),
      { old: 0, new: 0 }
    )
    assert.deepStrictEqual(sizes(Rollout.rescale(of, set("new", 3), [set("old", 0)])), { new: 15 })
  })

  it("keeps as many old ReplicaSets as it is told to, by revision, and none that still has Pods", () => {
    const old = ["1", "2", "3"].map((revision) =>
      set(`r${revision}`, revision === "1" ? 1 : 0, 0, { "deployment.kubernetes.io/revision": revision })
    )
    const outdated = (limit: number) =>
      Rollout.outdated(deployment(1, {}, { revisionHistoryLimit: limit }), old).map(({ metadata }) => metadata.name)
    assert.deepStrictEqual(outdated(3), [])
    assert.deepStrictEqual(outdated(1), ["r2"])
    assert.deepStrictEqual(outdated(0), ["r2", "r3"])
  })

  it("a template is the same but for its hash", () => {
    const { metadata, spec } = template("x")
    const hashed = { spec, metadata: { labels: { ...metadata.labels, "pod-template-hash": "abc" } } }
    assert.isTrue(Rollout.sameTemplate(template("x"), hashed))
    assert.isFalse(Rollout.sameTemplate(template("x"), template("y")))
  })
})

describe("RolloutStatus", () => {
  const of = deployment(2, { maxSurge: 1, maxUnavailable: 0 }, { progressDeadlineSeconds: 10 })
  const progressing = (status: Deployment["status"]) => RolloutStatus.condition(status, "Progressing")

  it("tells progress, completion and lateness apart", () => {
    const start = RolloutStatus.rollout(of, [], set("new", 2, 0), 0)
    assert.strictEqual(progressing(start)?.reason, "ReplicaSetUpdated")
    const stuck = { ...of, status: start }
    assert.strictEqual(progressing(RolloutStatus.rollout(stuck, [], set("new", 2, 0), 10_000))?.status, "True")
    const late = RolloutStatus.rollout(stuck, [], set("new", 2, 0), 10_001)
    assert.deepInclude(progressing(late), {
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: "ReplicaSet \"new\" has timed out progressing."
    })
    const done = RolloutStatus.rollout({ ...of, status: late }, [], set("new", 2), 20_000)
    assert.strictEqual(progressing(done)?.reason, "NewReplicaSetAvailable")
    assert.isTrue(RolloutStatus.isComplete(of, done))
    assert.isUndefined(done.unavailableReplicas)
  })

  it("a revision that is taken again is remembered, as far as there is room", () => {
    const key = "deployment.kubernetes.io/revision"
    const of = deployment(1, {})
    const again = RolloutStatus.setAnnotations(of, set("a", 0, 0, { [key]: "2", [`${key}-history`]: "1" }), 5n)
    assert.deepStrictEqual(again, { [key]: "5", [`${key}-history`]: "1,2" })
    const long = Array.from({ length: 500 }, (_, at) => 1000 + at).join(",")
    const full = RolloutStatus.setAnnotations(of, set("a", 0, 0, { [key]: "1500", [`${key}-history`]: long }), 1501n)
    assert.isAtMost(full[`${key}-history`]!.length, 2000)
    assert.isTrue(full[`${key}-history`]!.endsWith("1499,1500"))
    assert.strictEqual(RolloutStatus.setAnnotations(of, set("a", 0, 0, { [key]: "9" }), 5n)[key], "9")
  })

  it("a revision is an int64, whatever a number of JavaScript can hold", () => {
    const key = "deployment.kubernetes.io/revision"
    const revisions = ["3546343826724305832", "7", "many", "9223372036854775808"]
    const old = revisions.map((revision) => set(`r${revision}`, 0, 0, { [key]: revision }))
    assert.strictEqual(RolloutStatus.nextRevision(old), 3546343826724305833n)
    const again = RolloutStatus.setAnnotations(deployment(1, {}), old[0], 3546343826724305833n)
    assert.strictEqual(again[key], "3546343826724305833")
    for (const text of ["many", "9223372036854775808"]) {
      const kept = RolloutStatus.setAnnotations(deployment(1, {}), set("a", 0, 0, { [key]: text }), 5n)
      assert.strictEqual(kept[key], text)
    }
    const limit = deployment(1, {}, { revisionHistoryLimit: 1 })
    const newer = ["3546343826724305833", "3546343826724305832"].map((revision) =>
      set(`r${revision}`, 0, 0, { [key]: revision })
    )
    const outdated = Rollout.outdated(limit, newer).map(({ metadata }) => metadata.name)
    assert.deepStrictEqual(outdated, ["r3546343826724305832"])
  })

  it("leaves out what Go leaves out", () => {
    assert.deepStrictEqual(withoutZeros({ a: 0, b: 0, c: [], d: 1, e: undefined }, ["b"]), { b: 0, d: 1 } as never)
  })
})
