/** StatefulSets: statements 152. */
import { assert } from "@effect/vitest"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"
import { container, type Json, names, ownerOf, spec, workloads } from "../Workloads.ts"

export const statefulSets = [
  statement("152a", "a StatefulSet makes its Pods one after the other, with names and claims that last", {
    controllers: true
  }, function*() {
    const { create, events, items, listed, minor, ready, so } = yield* workloads
    const { object: set } = yield* create(
      "statefulsets",
      "db",
      spec("db", {
        replicas: 2,
        serviceName: "db-service",
        volumeClaimTemplates: [{
          metadata: { name: "data", labels: { own: "x" } },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }]
      })
    )
    const [first] = yield* listed("pods", ({ length }) => length === 1)
    assert.strictEqual(first!["metadata"].name, "db-0")
    assert.strictEqual(first!["metadata"].generateName, "db-")
    assert.strictEqual(first!["spec"].hostname, "db-0")
    assert.strictEqual(first!["spec"].subdomain, "db-service")
    const labels = first!["metadata"].labels
    assert.strictEqual(labels["statefulset.kubernetes.io/pod-name"], "db-0")
    assert.strictEqual(labels["apps.kubernetes.io/pod-index"], minor >= 28 ? "0" : undefined)
    assert.strictEqual(ownerOf(first!)["uid"], set.metadata.uid)
    assert.deepStrictEqual(
      first!["spec"].volumes.filter(({ name }: Json) => name === "data"),
      [{ name: "data", persistentVolumeClaim: { claimName: "data-db-0" } }]
    )
    const [claim] = yield* listed("persistentvolumeclaims", ({ length }) => length === 1)
    assert.strictEqual(claim!["metadata"].name, "data-db-0")
    assert.deepStrictEqual(claim!["metadata"].labels, { own: "x", app: "db" })
    assert.isUndefined(claim!["metadata"].ownerReferences)
    assert.deepStrictEqual(claim!["spec"].resources, { requests: { storage: "1Gi" } })
    yield* (yield* Target).sleep(200)
    assert.lengthOf(yield* items("pods"), 1, "the second waits for the first")
    yield* ready("db-0")
    const pods = yield* listed("pods", ({ length }) => length === 2)
    assert.deepStrictEqual(names(pods), ["db-0", "db-1"])
    yield* ready("db-1")
    const done = yield* so(
      "statefulsets",
      "db",
      ({ status }) => status.readyReplicas === 2 && status.currentReplicas === 2
    )
    const [revision] = yield* items("controllerrevisions")
    assert.strictEqual(revision!["metadata"].name, labels["controller-revision-hash"])
    assert.match(revision!["metadata"].name, /^db-[bcdfghjklmnpqrstvwxz2456789]{1,10}$/)
    assert.strictEqual(revision!["revision"], 1)
    assert.strictEqual(revision!["data"].spec.template.$patch, "replace")
    assert.strictEqual(
      `db-${revision!["metadata"].labels["controller.kubernetes.io/hash"]}`,
      revision!["metadata"].name
    )
    assert.strictEqual(done["status"].currentRevision, revision!["metadata"].name)
    assert.strictEqual(done["status"].updateRevision, revision!["metadata"].name)
    assert.strictEqual(done["status"].updatedReplicas, 2)
    assert.strictEqual(done["status"].collisionCount, 0)
    const create_ = minor >= 31 ? "Create" : "create"
    const told = yield* events("db", ({ length }) => length === 4)
    assert.sameMembers(
      told.map(({ message }) => message),
      [0, 1].flatMap((ordinal) => [
        `${create_} Claim data-db-${ordinal} Pod db-${ordinal} in StatefulSet db success`,
        `${create_} Pod db-${ordinal} in StatefulSet db successful`
      ])
    )
    for (const { reason, source } of told) {
      assert.strictEqual(reason, "SuccessfulCreate")
      assert.deepStrictEqual(source, { component: "statefulset-controller" })
    }
  }),

  statement("152b", "a StatefulSet is scaled down from the last ordinal on, and keeps the claims", {
    controllers: true
  }, function*() {
    const { create, items, listed, patch, ready, so } = yield* workloads
    const claims = [{
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
    }]
    const body = spec("db", { replicas: 3, podManagementPolicy: "Parallel", volumeClaimTemplates: claims })
    yield* create("statefulsets", "db", body)
    const pods = yield* listed("pods", ({ length }) => length === 3)
    assert.deepStrictEqual(names(pods), ["db-0", "db-1", "db-2"], "all at once")
    for (const name of names(pods)) yield* ready(name)
    yield* so("statefulsets", "db", ({ status }) => status.readyReplicas === 3)
    yield* patch("statefulsets", "db", { spec: { replicas: 1 } })
    const left = yield* listed("pods", ({ length }) => length === 1)
    assert.deepStrictEqual(names(left), ["db-0"])
    assert.lengthOf(yield* items("persistentvolumeclaims"), 3)
    const set = yield* so("statefulsets", "db", ({ status }) => status.replicas === 1)
    assert.strictEqual(set["status"].observedGeneration, 2)
  }),

  statement("152c", "a StatefulSet is updated from the last ordinal down to the partition", {
    controllers: true
  }, function*() {
    const { create, get, items, listed, patch, ready, so } = yield* workloads
    const strategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } }
    yield* create("statefulsets", "db", spec("db", { replicas: 3, updateStrategy: strategy }))
    for (const ordinal of [0, 1, 2]) {
      yield* so("pods", `db-${ordinal}`, () => true)
      yield* ready(`db-${ordinal}`)
    }
    const before = yield* so("statefulsets", "db", ({ status }) => status.currentReplicas === 3)
    const uids = (yield* items("pods")).map(({ metadata }) => metadata.uid)
    yield* patch("statefulsets", "db", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    for (const ordinal of [2, 1]) {
      const pod = yield* so("pods", `db-${ordinal}`, ({ metadata }) => metadata.uid !== uids[ordinal])
      assert.strictEqual(pod["spec"].containers[0].image, "nginx:2")
      assert.strictEqual((yield* get("pods", "db-0")).object.metadata.uid, uids[0])
      yield* ready(`db-${ordinal}`)
    }
    const after = yield* so(
      "statefulsets",
      "db",
      ({ status }) => status.updatedReplicas === 2 && status.readyReplicas === 3
    )
    assert.strictEqual(after["status"].currentRevision, before["status"].currentRevision)
    assert.notStrictEqual(after["status"].updateRevision, after["status"].currentRevision)
    assert.strictEqual(after["status"].currentReplicas, 1)
    yield* patch("statefulsets", "db", { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } })
    yield* so("pods", "db-0", ({ metadata }) => metadata.uid !== uids[0])
    yield* ready("db-0")
    const done = yield* so("statefulsets", "db", ({ status }) => status.currentRevision === status.updateRevision)
    assert.strictEqual(done["status"].currentReplicas, 3)
    const revisions = yield* listed("controllerrevisions", ({ length }) => length === 2)
    assert.sameMembers(revisions.map(({ revision }) => revision), [1, 2])
  }),

  statement("152d", "OnDelete replaces only what somebody deletes; a failed Pod is replaced at once", {
    controllers: true
  }, function*() {
    const { create, get, patch, ready, remove, so } = yield* workloads
    yield* create("statefulsets", "db", spec("db", { replicas: 1, updateStrategy: { type: "OnDelete" } }))
    const first = yield* so("pods", "db-0", () => true)
    yield* ready("db-0")
    // Changed before its first status is written, it would never have had another revision.
    yield* so("statefulsets", "db", ({ status }) => status.currentRevision !== undefined)
    yield* patch("statefulsets", "db", { spec: { template: { spec: { containers: [container("nginx:2")] } } } })
    // The revision is told of now and then by a later write than the generation.
    const updated = yield* so("statefulsets", "db", ({ status }) => status.updateRevision !== status.currentRevision)
    assert.strictEqual(updated["status"].observedGeneration, 2)
    yield* (yield* Target).sleep(200)
    assert.strictEqual((yield* get("pods", "db-0")).object.metadata.uid, first["metadata"].uid)
    yield* remove("pods", "db-0")
    const second = yield* so("pods", "db-0", ({ metadata }) => metadata.uid !== first["metadata"].uid)
    assert.strictEqual(second["spec"].containers[0].image, "nginx:2")
    yield* patch("pods", "db-0/status", { status: { phase: "Failed" } })
    const third = yield* so("pods", "db-0", ({ metadata }) => metadata.uid !== second["metadata"].uid)
    assert.strictEqual(third["status"].phase, "Pending")
  }),

  statement("152e", "claims go with their StatefulSet or their ordinal, if the retention policy says so", {
    controllers: true,
    since: 27
  }, function*() {
    const { until } = yield* Target
    const { create, get, gone, listed, patch, so } = yield* workloads
    yield* create(
      "statefulsets",
      "db",
      spec("db", {
        replicas: 2,
        podManagementPolicy: "Parallel",
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
        volumeClaimTemplates: [{
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
        }]
      })
    )
    const claims = yield* listed(
      "persistentvolumeclaims",
      (all) => all.length === 2 && all.every((claim) => ownerOf(claim)["kind"] === "StatefulSet")
    )
    assert.deepStrictEqual(names(claims), ["data-db-0", "data-db-1"])
    assert.strictEqual(ownerOf(claims[0]!)["controller"], true)
    yield* patch("statefulsets", "db", { spec: { replicas: 1 } })
    yield* gone("pods", "db-1")
    // It may be held by the finalizer that protects claims in use.
    yield* until(
      get("persistentvolumeclaims", "data-db-1"),
      ({ object, status }) => status === 404 || object.metadata.deletionTimestamp !== undefined
    )
    const left = yield* so("persistentvolumeclaims", "data-db-0", () => true)
    assert.strictEqual(ownerOf(left)["kind"], "StatefulSet")
  })
]
