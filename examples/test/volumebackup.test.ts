import { Controller, KubeClient, Manager, Resource } from "@effect-operator/core"
import { CustomResourceDefinition, Job, PersistentVolumeClaim, Pod } from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { annotation } from "../src/volumebackup/backup.ts"
import { controllers } from "../src/volumebackup/controllers.ts"
import { example } from "../src/volumebackup/example.ts"
import { Machine } from "../src/volumebackup/resource.ts"
import { all, assertQuiet, cluster, crashAtWrite, operated } from "./support/Operator.ts"

const key = { namespace: "default", name: "worker" }
const create = KubeClient.KubeClient.use((client) =>
  client.create(Machine, { metadata: key, spec: { image: "nginx:1.27", volumeSize: "1Gi" } })
)
const remove = KubeClient.KubeClient.use((client) => client.delete(Machine, key))
const succeeded = Effect.map(all(Job), (jobs) => jobs.filter(({ status }) => status?.succeeded === 1).length)

/** All of the Machine is gone but its backup, which belongs to nobody. */
const assertGone = Effect.gen(function*() {
  assert.deepStrictEqual(yield* all(Machine), [])
  const claims = yield* all(PersistentVolumeClaim)
  assert.deepStrictEqual(claims.map(({ metadata: { annotations } }) => annotations?.[annotation]), ["default/worker"])
  const [{ metadata, spec }] = claims as [PersistentVolumeClaim]
  assert.match(metadata.name, /^backup-/)
  assert.isUndefined(metadata.ownerReferences)
  assert.isUndefined(metadata.deletionTimestamp)
  assert.deepStrictEqual(spec!.resources!.requests, { storage: "1Gi" })
  assert.deepStrictEqual((yield* all(Pod)).filter(({ metadata }) => metadata.name === key.name), [])
  assert.strictEqual(yield* succeeded, 1)
})

it.effect("runs a Machine, and backs its volume up before it goes", () =>
  Effect.gen(function*() {
    yield* create
    yield* TestClock.adjust("1 minute")
    const [machine] = yield* all(Machine)
    assert.deepStrictEqual(machine!.status, { ready: true })
    assert.deepStrictEqual(machine!.metadata.finalizers, ["machines.example.com/volume-backup"])
    yield* assertQuiet
    yield* remove
    yield* TestClock.adjust("1 second")
    assert.strictEqual(
      (yield* all(Pod)).filter(({ metadata }) => metadata.name === key.name).length,
      1,
      "it runs meanwhile"
    )
    yield* TestClock.adjust("2 minutes")
    yield* assertGone
    const [job] = yield* all(Job)
    const { containers: [container], volumes } = job!.spec!.template.spec!
    const claimAt = Object.fromEntries(container!.volumeMounts!.map(({ mountPath, name }) => [
      mountPath,
      volumes!.find((volume) => volume.name === name)?.persistentVolumeClaim?.claimName
    ]))
    assert.deepStrictEqual(claimAt, { "/disk": key.name, "/backup": `backup-${machine!.metadata.uid}` })
    yield* assertQuiet
  }).pipe(Effect.provide(operated(example))))

it.effect("a backup is as large as the disk is, whatever was asked for before the kind forbade it", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const [machines, backups] = controllers as [Controller.Controller, Controller.Controller]
    yield* create
    yield* Effect.scoped(Effect.andThen(Layer.build(Manager.layer([machines])), TestClock.adjust("1 minute")))
    const grow = client.patch(Machine, key, KubeClient.Patch.merge({ spec: { volumeSize: "5Gi" } }))
    assert.include((yield* Effect.flip(grow)).message, "volumeSize is immutable: create another Machine")
    const rule =
      "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/volumeSize/x-kubernetes-validations"
    yield* client.patch(
      CustomResourceDefinition,
      { name: Resource.qualifiedName(Machine) },
      KubeClient.Patch.json([{ op: "remove", path: rule }])
    )
    yield* TestClock.adjust("1 second")
    yield* grow
    yield* Layer.build(Manager.layer([backups]))
    yield* TestClock.adjust("1 second")
    yield* remove
    yield* TestClock.adjust("2 minutes")
    yield* assertGone
  }).pipe(Effect.scoped, Effect.provide(cluster(example))))

it.effect("a claim of the backup's name that somebody else has is left alone and told of; the Machine stays", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create
    yield* TestClock.adjust("1 minute")
    const [machine] = yield* all(Machine)
    const name = `backup-${machine!.metadata.uid}`
    yield* client.create(PersistentVolumeClaim, {
      metadata: { namespace: key.namespace, name },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } }
    })
    yield* remove
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual((yield* all(Machine)).length, 1)
    assert.deepStrictEqual(yield* all(Job), [])
    const told = (yield* all(Event)).find(({ reason }) => reason === "BackupClaimTaken")
    assert.strictEqual(
      told?.note,
      `PersistentVolumeClaim default/${name} is there, and is not of the backup of worker: delete it, ` +
        "once what it holds is somewhere else"
    )
    yield* client.delete(PersistentVolumeClaim, { namespace: key.namespace, name })
    yield* TestClock.adjust("5 minutes")
    yield* assertGone
  }).pipe(Effect.provide(operated(example))))

it.effect("a Machine without a volume goes without a backup", () =>
  Effect.gen(function*() {
    const [, backups] = controllers as [Controller.Controller, Controller.Controller]
    yield* Layer.build(Manager.layer([backups]))
    yield* create
    yield* TestClock.adjust("1 second")
    yield* remove
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual([...yield* all(Machine), ...yield* all(Job)], [])
    assert.deepStrictEqual((yield* all(Event)).map(({ reason }) => reason), ["NotBackedUp"])
  }).pipe(Effect.provide(cluster(example))))

it.effect("neither controller needs the other, or disturbs another's finalizer", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const [machines, backups] = controllers as [Controller.Controller, Controller.Controller]
    yield* create
    const finalizers = KubeClient.Patch.merge({ metadata: { finalizers: ["example.com/mine"] } })
    yield* client.patch(Machine, key, finalizers)
    yield* Effect.scoped(Effect.andThen(Layer.build(Manager.layer([machines])), TestClock.adjust("1 minute")))
    assert.deepInclude((yield* all(Machine))[0], { status: { ready: true } })
    yield* Layer.build(Manager.layer([backups]))
    yield* TestClock.adjust("1 minute")
    yield* remove
    yield* TestClock.adjust("2 minutes")
    assert.strictEqual(yield* succeeded, 1)
    const [machine] = yield* all(Machine)
    assert.deepStrictEqual(machine!.metadata.finalizers, ["example.com/mine"])
    yield* client.patch(Machine, key, KubeClient.Patch.merge({ metadata: { finalizers: null } }))
    yield* TestClock.adjust("1 minute")
    yield* assertGone
  }).pipe(Effect.scoped, Effect.provide(cluster(example))))

it.effect("a claim that is deleted while the backup is made, and goes with it, does not count: another is made", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create
    yield* TestClock.adjust("1 minute")
    yield* remove
    yield* TestClock.adjust("1 millis")
    const claims = yield* all(PersistentVolumeClaim)
    const [backup] = claims.filter(({ metadata }) => annotation in (metadata.annotations ?? {}))
    assert.strictEqual((yield* all(Job)).length, 1)
    yield* client.delete(PersistentVolumeClaim, backup!)
    yield* TestClock.adjust("5 minutes")
    yield* assertGone
    assert.include((yield* all(Event)).map(({ reason }) => reason), "BackupLost")
  }).pipe(Effect.provide(operated(example))))

it.effect("a backup that fails is tried again, and the Machine stays", () => {
  let broken = true
  return Effect.gen(function*() {
    yield* create
    yield* TestClock.adjust("1 minute")
    yield* remove
    yield* TestClock.adjust("10 minutes")
    assert.strictEqual((yield* all(Machine)).length, 1)
    assert.include((yield* all(Event)).map(({ reason }) => reason), "BackupFailed")
    broken = false
    yield* TestClock.adjust("5 minutes")
    yield* assertGone
  }).pipe(Effect.provide(
    Manager.layer(controllers).pipe(Layer.provideMerge(TestCluster.layer({
      resources: [Machine],
      kubelet: {
        ending: (pod) =>
          pod.spec.containers[0]?.name === "backup" ? { after: "1 second", exitCode: broken ? 1 : 0 } : undefined
      }
    })))
  ))
})

it.effect("a crash at any write of its end: one backup, and nothing is left", () =>
  Effect.gen(function*() {
    let n = 0
    let writes = 0
    do {
      n += 1
      yield* Effect.gen(function*() {
        yield* create
        yield* Effect.scoped(Effect.andThen(Layer.build(Manager.layer(controllers)), TestClock.adjust("1 minute")))
        yield* remove
        writes = yield* crashAtWrite(example, n, TestClock.adjust("2 minutes"))
        yield* Layer.build(Manager.layer(controllers))
        yield* TestClock.adjust("3 minutes")
        yield* assertGone
      }).pipe(Effect.scoped, Effect.provide(cluster(example)))
    } while (writes === n)
    assert.isAbove(n, 2)
  }))
