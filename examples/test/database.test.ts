import { Conditions, KubeClient, KubeError, Manager, Resource } from "@effect-operator/core"
import {
  ConfigMap,
  CustomResourceDefinition,
  Job,
  PersistentVolumeClaim,
  Pod,
  Secret,
  StatefulSet
} from "@effect-operator/k8s/kinds"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { example } from "../src/database/example.ts"
import { controller } from "../src/database/reconciler.ts"
import { Database } from "../src/database/resource.ts"
import { completed, owner, purpose, remove } from "../src/database/tasks.ts"
import { all, assertQuiet, crashAtWrite } from "./support/Operator.ts"

const key = { namespace: "default", name: "orders" }
const spec = example.sample["spec"] as Database["spec"]

const create = (change: Partial<Database["spec"]> = {}, name = key.name) =>
  KubeClient.KubeClient.use((client) =>
    client.create(Database, { metadata: { ...key, name }, spec: { ...spec, ...change } })
  )

const change = (spec: Partial<Database["spec"]>) =>
  KubeClient.KubeClient.use((client) => client.patch(Database, key, KubeClient.Patch.merge({ spec })))

const status = KubeClient.KubeClient.use((client) => Effect.map(client.get(Database, key), ({ status }) => status!))

/** The claims of volumes of servers, and those of backups by what they are for; an incomplete one is marked. */
const claims = Effect.map(all(PersistentVolumeClaim), (claims) =>
  claims.map(({ metadata: { annotations, name } }) => {
    const what = annotations?.[purpose]
    return what === undefined ? name : `${what}${annotations?.[completed] === undefined ? " incomplete" : ""}`
  }).sort())

const data = ["data-orders-0", "data-orders-1"]

const images = Effect.map(
  all(Pod),
  (pods) =>
    pods.filter(({ metadata }) => owner.key in (metadata.labels ?? {})).map(({ spec }) => spec.containers[0]!.image)
)

const cluster = TestCluster.layer({
  resources: [Database],
  kubelet: example.kubelet,
  without: ["deployments", "replicaSets", "daemonSets", "cronJobs", "disruption", "endpoints", "nodes", "policyStatus"]
})
const operator = Manager.layer([controller])
const operated = operator.pipe(Layer.provideMerge(cluster))

/** The client with a quota on StatefulSets that is used up while `refused`. */
const refusing = Layer.effect(
  KubeClient.KubeClient,
  Effect.map(KubeClient.KubeClient, (client): KubeClient.KubeClient["Service"] => ({
    ...client,
    apply: (resource, object, options) =>
      refused && resource.kind === StatefulSet.kind
        ? Effect.fail(KubeError.make(
          { verb: "apply", resource: "statefulsets.apps", ...key },
          new KubeError.Forbidden({ message: "exceeded quota: servers, used: 2, limited: 2", code: 403 })
        ))
        : client.apply(resource, object, options)
  }))
)
let refused = false

it.effect("sets up servers, volumes, connection and credentials, then the database in it, once", () =>
  Effect.gen(function*() {
    yield* create()
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:17", initialized: true, readyReplicas: 2 })
    assert.deepStrictEqual(yield* claims, data)
    assert.deepStrictEqual(yield* images, ["postgres:17", "postgres:17"])
    const [connection] = yield* all(ConfigMap)
    assert.deepInclude(connection!.data, {
      DATABASE_HOST: "orders-0.orders",
      DATABASE_PORT: "5432",
      DATABASE_NAME: "orders"
    })
    const [before] = yield* all(Secret)
    const [job] = yield* all(Job)
    assert.deepStrictEqual(job!.spec!.template.spec!.containers[0]!.command, ["configure"])

    yield* change({ replicas: 3 })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* status).readyReplicas, 3)
    const [after] = yield* all(Secret)
    assert.deepStrictEqual(after!.data, before!.data, "the password is drawn once")
    assert.strictEqual((yield* all(Job)).length, 1, "what is configured is not configured again")
    yield* assertQuiet
  }).pipe(Effect.provide(operated)))

it.effect("a password has 24 letters, whatever is drawn", () =>
  Effect.gen(function*() {
    for (let i = 0; i < 20; i++) yield* create({ replicas: 1 }, `orders-${i}`)
    yield* TestClock.adjust("100 millis")
    const passwords = (yield* all(Secret)).map(({ data }) => atob(data!["DATABASE_PASSWORD"]!))
    assert.strictEqual(new Set(passwords).size, 20)
    for (const password of passwords) assert.match(password, /^[A-Za-z2-9]{24}$/)
  }).pipe(Effect.provide(operated)))

it.effect("upgrades after a backup; an upgrade that fails is rolled back, and not tried again", () =>
  Effect.gen(function*() {
    yield* create()
    yield* TestClock.adjust("1 minute")
    yield* change({ image: "postgres:18" })
    yield* TestClock.adjust("3500 millis")
    assert.strictEqual((yield* status).phase, "Upgrading")
    assert.deepStrictEqual(yield* images, ["postgres:17", "postgres:17"], "the servers wait for the Job")
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:18", revision: 1 })
    assert.deepStrictEqual(yield* images, ["postgres:18", "postgres:18"])
    assert.deepStrictEqual(yield* claims, ["before-1", ...data])

    yield* change({ image: "postgres:19-broken" })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, {
      phase: "Ready",
      image: "postgres:18",
      rejectedImage: "postgres:19-broken",
      revision: 2
    })
    assert.deepStrictEqual(yield* images, ["postgres:18", "postgres:18"])
    const { conditions } = yield* status
    assert.deepInclude(conditions[1], { type: "UpToDate", status: "False", reason: "UpgradeRolledBack" })
    const notes = (yield* all(Event)).map(({ note }) => note)
    assert.include(notes, "could not upgrade to postgres:19-broken, goes on with postgres:18")
    yield* assertQuiet

    yield* change({ image: "postgres:20" })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:20", revision: 3 })
    assert.isUndefined((yield* status).rejectedImage)
    assert.deepStrictEqual(yield* claims, ["before-3", ...data])
    yield* assertQuiet
  }).pipe(Effect.provide(operated)))

it.effect("an upgrade that was rejected is not tried again by a process that is shown a status from before", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Layer.build(Layer.fresh(operator))
      yield* create()
      yield* TestClock.adjust("1 minute")
      yield* change({ image: "postgres:19-broken" })
    }))
    const old = yield* client.get(Database, key)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Layer.build(Layer.fresh(operator))
      yield* TestClock.adjust("1 minute")
    }))
    const rejected = { phase: "Ready", rejectedImage: "postgres:19-broken", revision: 1 } as const
    assert.deepInclude(yield* status, rejected)
    const aged: typeof client = {
      ...client,
      listPage: (resource, options) =>
        Effect.map(
          client.listPage(resource, options),
          (page) =>
            resource.kind === Database.kind ? { ...page, items: [old as unknown as typeof page.items[number]] } : page
        ),
      watch: (resource, options) => resource.kind === Database.kind ? Stream.never : client.watch(resource, options)
    }
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Layer.build(Layer.fresh(operator).pipe(Layer.provide(Layer.succeed(KubeClient.KubeClient, aged))))
      yield* TestClock.adjust("1 minute")
    }))
    assert.deepInclude(yield* status, rejected)
    assert.isUndefined((yield* status).upgradingTo)
    assert.deepStrictEqual(yield* claims, ["before-1", ...data])
  }).pipe(Effect.provide(cluster)))

it.effect("a spec that changes during an upgrade waits for its end", () =>
  Effect.gen(function*() {
    yield* create()
    yield* TestClock.adjust("1 minute")
    yield* change({ image: "postgres:18" })
    yield* TestClock.adjust("4500 millis")
    yield* change({ image: "postgres:19-broken" })
    yield* TestClock.adjust("2 minutes")
    assert.deepInclude(yield* status, { image: "postgres:18", rejectedImage: "postgres:19-broken", revision: 2 })
    yield* assertQuiet
  }).pipe(Effect.provide(operated)))

it.effect("backs up by the clock, keeps as many as it is told to, and restores one into a new Database", () =>
  Effect.gen(function*() {
    yield* create({ backup: { schedule: "0 * * * *", keep: 2 } })
    yield* TestClock.adjust("4 hours")
    yield* TestClock.adjust("1 minute")
    const at = (hour: number) => `at-${hour * 3600}`
    assert.deepStrictEqual(yield* claims, [at(3), at(4), ...data])
    const [, newest] = (yield* status).backups
    assert.match(newest!, new RegExp(`^orders-[0-9a-f]{8}-backup-${at(4)}$`))

    yield* create({ restoreFrom: newest!, replicas: 1 }, "copy")
    yield* TestClock.adjust("1 minute")
    const restore = (yield* all(Job)).find(({ metadata }) => metadata.name.startsWith("copy-"))
    const { containers: [container], volumes } = restore!.spec!.template.spec!
    assert.deepStrictEqual(container!.command, ["restore", "--from", "/backup"])
    assert.deepStrictEqual(volumes![0]!.persistentVolumeClaim, { claimName: newest! })
    const client = yield* KubeClient.KubeClient
    assert.strictEqual((yield* client.get(Database, { ...key, name: "copy" })).status?.phase, "Ready")
  }).pipe(Effect.provide(operated)))

for (const [schedule, due] of [["@hourly", [1, 2]], ["@every 1h15m", [1.25, 2.5]]] as const) {
  it.effect(`backs up ${schedule}`, () =>
    Effect.gen(function*() {
      yield* create({ backup: { schedule, keep: 9 } })
      yield* TestClock.adjust("165 minutes")
      assert.deepStrictEqual(yield* claims, [...due.map((hours) => `at-${hours * 3600}`), ...data])
    }).pipe(Effect.provide(operated)))
}

it.effect("a backup schedule that is none is told of, and the Database goes on without backups", () =>
  Effect.gen(function*() {
    const backups = Effect.map(status, ({ conditions }) => Conditions.get(conditions, "BackupScheduled"))
    const told = Effect.map(all(Event), (events) => events.filter(({ reason }) => reason === "InvalidSchedule"))
    yield* create({ backup: { schedule: "every day", keep: 2 } })
    yield* TestClock.adjust("1 minute")
    const message = "spec.backup.schedule: \"every day\": Invalid number of segments in cron expression: write five " +
      "fields, such as \"30 2 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly, \"@every 90m\""
    assert.deepInclude(yield* backups, { status: "False", reason: "InvalidSchedule", message, observedGeneration: 1 })
    assert.deepStrictEqual((yield* told).map(({ note, type }) => [type, note]), [["Warning", message]])
    assert.strictEqual((yield* status).phase, "Ready")

    yield* change({ image: "postgres:18" })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:18" })
    assert.deepInclude(yield* backups, { status: "False", reason: "InvalidSchedule", observedGeneration: 2 })
    assert.deepStrictEqual((yield* told).map(({ series }) => series), [undefined], "once for one schedule")
    yield* assertQuiet

    yield* change({ backup: { schedule: "@daily", keep: 2 } })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* backups, { status: "True", reason: "Scheduled", message: "@daily in UTC" })
    yield* TestClock.adjust("1 day")
    assert.strictEqual((yield* claims).filter((claim) => claim.startsWith("at-")).length, 1)

    const client = yield* KubeClient.KubeClient
    yield* client.patch(Database, key, KubeClient.Patch.merge({ spec: { backup: null } }))
    yield* TestClock.adjust("1 minute")
    assert.isUndefined(yield* backups, "there is nothing to say where nobody asks for backups")
  }).pipe(Effect.provide(operated)))

it.effect("the size of its volumes is not changed, and whoever tries is told what to do instead", () =>
  Effect.gen(function*() {
    yield* create()
    yield* TestClock.adjust("1 minute")
    const { reason } = yield* Effect.flip(change({ "storage-size": "2Gi" }))
    assert.strictEqual(reason._tag, "Invalid")
    assert.include(
      reason.message,
      "spec.storage-size: Invalid value: \"2Gi\": storage-size is immutable: for volumes of another size, create " +
        "another Database with restoreFrom set to the name of a backup of this one"
    )
    yield* change({ image: "postgres:18", "storage-size": "1Gi" })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:18" })
  }).pipe(Effect.provide(operated)))

it.effect("what the server refuses of its servers is told by the status, tried again, and taken back once it is done", () =>
  Effect.gen(function*() {
    yield* create()
    yield* TestClock.adjust("1 minute")
    const before = yield* status
    refused = true
    yield* change({ replicas: 3 })
    yield* TestClock.adjust("1 minute")
    const { conditions, ...blocked } = yield* status
    assert.deepInclude(blocked, { phase: "Blocked", observedGeneration: 2, image: "postgres:17", initialized: true })
    assert.deepInclude(Conditions.get(conditions, "Ready"), {
      status: "False",
      reason: "Forbidden",
      message: "apply statefulsets.apps default/orders: Forbidden: exceeded quota: servers, used: 2, limited: 2",
      observedGeneration: 2
    })
    yield* change({ image: "postgres:18" })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(Conditions.get((yield* status).conditions, "UpToDate"), {
      status: "False",
      message: "runs postgres:17",
      observedGeneration: 3
    })
    refused = false
    yield* TestClock.adjust("20 minutes")
    const after = yield* status
    assert.deepInclude(after, { phase: "Ready", image: "postgres:18", readyReplicas: 3, observedGeneration: 3 })
    assert.deepStrictEqual(
      after.conditions.map(({ reason, status, type }) => ({ reason, status, type })),
      before.conditions.map(({ reason, status, type }) => ({ reason, status, type }))
    )
  }).pipe(Effect.provide(Layer.provideMerge(
    Layer.provide(operator, refusing),
    cluster
  ))))

it.effect("a size that was changed before the kind forbade it is told by the status, and how it is mended works", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create()
    yield* TestClock.adjust("1 minute")
    const path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/storage-size/" +
      "x-kubernetes-validations"
    yield* client.patch(
      CustomResourceDefinition,
      { name: Resource.qualifiedName(Database) },
      KubeClient.Patch.json([{ op: "remove", path }])
    )
    yield* TestClock.adjust("1 second")
    yield* change({ "storage-size": "2Gi", image: "postgres:18" })
    yield* TestClock.adjust("1 minute")
    const { conditions, ...blocked } = yield* status
    assert.deepInclude(blocked, { phase: "Blocked", observedGeneration: 2 })
    const { message, reason } = Conditions.get(conditions, "Ready")!
    assert.strictEqual(reason, "Invalid")
    assert.include(message, "updates to statefulset spec for fields other than")

    yield* client.delete(StatefulSet, key, { propagationPolicy: "Orphan" })
    yield* TestClock.adjust("20 minutes")
    assert.deepInclude(yield* status, { phase: "Ready", image: "postgres:18", readyReplicas: 2 })
    assert.deepStrictEqual(yield* claims, ["before-1", ...data], "with the volumes it had")
  }).pipe(Effect.provide(operated)))

it.effect("a name that somebody else has is told by the status", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* client.create(ConfigMap, { metadata: { namespace: key.namespace, name: "orders-connection" }, data: {} })
    yield* create()
    yield* TestClock.adjust("1 minute")
    const { conditions, phase } = yield* status
    assert.strictEqual(phase, "Blocked")
    const { message, reason } = Conditions.get(conditions, "Ready")!
    assert.strictEqual(reason, "NotOurs")
    assert.match(message, /^ConfigMap default\/orders-connection exists already/)
    yield* client.delete(ConfigMap, { namespace: key.namespace, name: "orders-connection" })
    yield* TestClock.adjust("5 minutes")
    assert.strictEqual((yield* status).phase, "Ready")
  }).pipe(Effect.provide(operated)))

it.effect("goes after a last backup, with its volumes; the backups stay", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create()
    yield* TestClock.adjust("1 minute")
    yield* client.delete(Database, key)
    yield* TestClock.adjust("1500 millis")
    assert.strictEqual((yield* all(StatefulSet)).length, 1, "nothing goes before it is backed up")
    yield* TestClock.adjust("5 minutes")
    assert.deepStrictEqual(yield* claims, ["final"])
    for (const kind of [Database, StatefulSet, Job, Pod, ConfigMap, Secret]) {
      assert.deepStrictEqual(yield* all(kind), [])
    }
    yield* assertQuiet
  }).pipe(Effect.provide(operated)))

it.effect("goes although a Job of a backup has lost its owner: it is the Job's name that counts", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create()
    yield* TestClock.adjust("1 minute")
    yield* change({ image: "postgres:18" })
    yield* TestClock.adjust("1 millis")
    const backup = (yield* all(Job)).find(({ metadata }) => metadata.name.includes("-backup-"))
    assert.isDefined(backup, "it is being made")
    yield* client.patch(Job, backup!, KubeClient.Patch.merge({ metadata: { ownerReferences: null } }))
    yield* TestClock.adjust("1 minute")
    yield* client.delete(Database, key)
    yield* TestClock.adjust("5 minutes")
    assert.deepStrictEqual(yield* all(Database), [])
    assert.deepStrictEqual(yield* all(Job), [])
    assert.deepStrictEqual(yield* claims, ["before-1", "final"], "a backup that was made is kept")
  }).pipe(Effect.provide(operated)))

it.effect("a claim that has changed since it was seen is not removed: the backup in it may be complete by now", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const seen = yield* client.create(PersistentVolumeClaim, {
      metadata: { namespace: "default", name: "orders-backup" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
    })
    yield* client.patch(
      PersistentVolumeClaim,
      seen,
      KubeClient.Patch.merge({ metadata: { annotations: { [completed]: "2026-01-01T00:00:00Z" } } })
    )
    const { reason } = yield* Effect.flip(remove(seen))
    assert.strictEqual(reason._tag, "Conflict")
    const [left] = yield* all(PersistentVolumeClaim)
    yield* remove(left!)
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* all(PersistentVolumeClaim), [])
  }).pipe(Effect.provide(cluster)))

it.effect("is not let go while its last backup fails", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    yield* create()
    yield* TestClock.adjust("1 minute")
    broken = true
    yield* client.delete(Database, key)
    yield* TestClock.adjust("30 minutes")
    assert.strictEqual((yield* all(StatefulSet)).length, 1)
    broken = false
    yield* TestClock.adjust("5 minutes")
    assert.deepStrictEqual(yield* claims, ["final"])
    assert.deepStrictEqual(yield* all(Database), [])
  }).pipe(Effect.provide(operator.pipe(Layer.provideMerge(TestCluster.layer({
    resources: [Database],
    kubelet: {
      ending: (pod) =>
        broken && pod.spec.containers[0]!.name === "backup"
          ? { after: "1 second", exitCode: 1 }
          : example.kubelet!.ending!(pod)
    }
  }))))))
let broken = false

const lives: ReadonlyArray<{
  readonly what: string
  readonly act: Effect.Effect<unknown, unknown, KubeClient.KubeClient>
  readonly claims: ReadonlyArray<string>
  readonly image: string
}> = [
  { what: "creation", act: Effect.void, claims: data, image: "postgres:17" },
  { what: "an upgrade", act: change({ image: "postgres:18" }), claims: ["before-1", ...data], image: "postgres:18" },
  {
    what: "an upgrade that fails",
    act: change({ image: "x-broken" }),
    claims: ["before-1", ...data],
    image: "postgres:17"
  },
  {
    what: "a backup",
    act: change({ backup: { schedule: "2 0 1 1 *", keep: 1 } }),
    claims: ["at-120", ...data],
    image: "postgres:17"
  },
  {
    what: "deletion",
    act: KubeClient.KubeClient.use((client) => client.delete(Database, key)),
    claims: ["final"],
    image: "postgres:17"
  }
]

for (const { act, claims: expected, image, what } of lives) {
  it.effect(`a crash at any write of ${what} loses no volume and no backup, and leaks none`, () =>
    Effect.gen(function*() {
      let n = 0
      let writes = 0
      do {
        n += 1
        yield* TestClock.setTime(0)
        yield* Effect.gen(function*() {
          yield* create()
          if (what !== "creation") {
            yield* Effect.scoped(Effect.andThen(Layer.build(Layer.fresh(operator)), TestClock.adjust("1 minute")))
            yield* act
          }
          writes = yield* crashAtWrite(example, n, TestClock.adjust("90 seconds"))
          yield* Effect.scoped(Effect.andThen(Layer.build(Layer.fresh(operator)), TestClock.adjust("2 minutes")))
          assert.deepStrictEqual(yield* claims, [...expected], `write ${n}`)
          if (what === "deletion") assert.deepStrictEqual([...yield* all(Database), ...yield* all(Job)], [])
          else assert.deepInclude(yield* status, { phase: "Ready", image }, `write ${n}`)
        }).pipe(Effect.provide(cluster))
      } while (writes === n)
      assert.isAbove(n, 6)
    }))
}
