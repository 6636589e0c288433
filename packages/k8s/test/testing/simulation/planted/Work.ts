/** Work that takes its time: Jobs that fail, and what is decided while something else is on its way. */
import { Action, Cache, KubeClient, Sync, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment, Job, PersistentVolumeClaim, Service } from "@effect-operator/k8s/kinds"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { Effect } from "effect"
import * as B from "./Box.ts"

const jobOf = (box: B.Box, name: string, backoffLimit: number) => ({
  metadata: { ...B.named(name), ownerReferences: [controllerReference(box)] },
  spec: { backoffLimit, template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox" }] } } }
})

const claim = (box: B.Box) => ({
  metadata: { ...B.named("data"), annotations: { of: box.metadata.uid } },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
})

const isOf = (box: B.Box, { metadata }: PersistentVolumeClaim) => metadata.annotations?.["of"] === box.metadata.uid

/** Has a volume, of which it makes a backup before that goes. */
const safe = (isBackedUp: (backup: Job) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      if ((yield* Cache.get(PersistentVolumeClaim, B.named("data"))) !== undefined) return Action.done
      return yield* B.done(B.unlessThere(it.create(PersistentVolumeClaim, claim(box))))
    }), {
    owns: [Job],
    watches: [Watch.make(PersistentVolumeClaim, { map: () => [B.key] })],
    finalize: (box: B.Box) =>
      Effect.gen(function*() {
        const it = yield* KubeClient.KubeClient
        const data = yield* B.unlessGone(it.get(PersistentVolumeClaim, B.named("data")))
        if (data === undefined || !isOf(box, data)) return Action.done
        const backup = yield* Cache.get(Job, B.named("backup"))
        if (backup === undefined) yield* B.unlessThere(it.create(Job, jobOf(box, "backup", 0)))
        else if (isBackedUp(backup)) yield* B.unlessGone(it.delete(PersistentVolumeClaim, data))
        else if (B.ends(backup, "Failed")) {
          yield* B.unlessGone(it.delete(Job, backup, { propagationPolicy: "Background" }))
        }
        return Action.requeueAfter("5 seconds")
      })
  })

/** Has a volume that goes with it, and stays until there is a backup of that. */
const held = (isBackedUp: (backup: Job) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      if ((yield* Cache.get(PersistentVolumeClaim, B.named("data"))) !== undefined) return Action.done
      const { metadata, spec } = claim(box)
      const owned = { ...metadata, ownerReferences: [controllerReference(box)] }
      return yield* B.done(B.unlessThere(it.create(PersistentVolumeClaim, { metadata: owned, spec })))
    }), {
    owns: [Job, PersistentVolumeClaim],
    finalize: (box: B.Box) =>
      Effect.gen(function*() {
        const it = yield* KubeClient.KubeClient
        if ((yield* Cache.get(PersistentVolumeClaim, B.named("data"))) === undefined) return Action.done
        const backup = yield* Cache.get(Job, B.named("backup"))
        if (backup === undefined) yield* B.unlessThere(it.create(Job, jobOf(box, "backup", 0)))
        else if (isBackedUp(backup)) return Action.done
        else if (B.ends(backup, "Failed")) {
          yield* B.unlessGone(it.delete(Job, backup, { propagationPolicy: "Background" }))
        }
        return Action.requeueAfter("5 seconds")
      })
  })

/** A Job that may be tried some times, and what came of it. */
const tried = (hasFailed: (job: Job) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      if (box.status?.phase !== undefined) return Action.done
      const job = yield* Cache.get(Job, B.named("set-up"))
      if (job === undefined) return yield* B.done(B.unlessThere(it.create(Job, jobOf(box, "set-up", 4))))
      const phase = B.ends(job, "Complete") ? "Ready" : hasFailed(job) ? "Failed" : undefined
      return yield* B.done(phase === undefined ? Effect.void : B.status(box, { phase }))
    }), { owns: [Job] })

/** A report each hour; when the next one is due is in the status. */
const reporting = (of: (hour: number) => { readonly name: string } | { readonly generateName: string }) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const hour = Math.floor(now / 3_600_000)
      if ((box.status?.count ?? 0) <= hour) {
        const metadata = { namespace: "default", ...of(hour), ownerReferences: [controllerReference(box)] }
        yield* B.unlessThere(it.create(ConfigMap, { metadata }))
        yield* B.status(box, { count: hour + 1 })
      }
      return Action.requeueAfter((hour + 1) * 3_600_000 - now)
    })
  )

const names = ["a", "b", "c"]

const boxed = (name: string): B.Steps[number] => ({
  name: `box ${name}`,
  act: B.client.use((it) => it.create(B.Box, { metadata: B.named(name), spec: { size: 1 } }))
})

const seats = B.named("seats")

/** Gives every Box a seat of its own: the first that is free. */
const seated = (seatOf: (box: B.Box) => Effect.Effect<number, unknown, any>) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      if (box.status?.count !== undefined) return Action.done
      return yield* B.done(B.status(box, { count: yield* seatOf(box) }))
    }), { concurrency: 3, owns: [] })

const firstFree = (taken: ReadonlyArray<number | undefined>): number => {
  let seat = 1
  while (taken.includes(seat)) seat++
  return seat
}

/** The seat that is written down for a Box; who was overtaken looks again. */
const reserved = ({ metadata: { name } }: B.Box) =>
  Effect.gen(function*() {
    const it = yield* KubeClient.KubeClient
    const { data = {}, metadata } = yield* it.get(ConfigMap, seats)
    const seat = firstFree(Object.values(data).map(Number))
    if (data[name] !== undefined) return Number(data[name])
    const { resourceVersion } = metadata
    yield* it.patch(ConfigMap, seats, B.merge({ metadata: { resourceVersion }, data: { [name]: String(seat) } }))
    return seat
  }).pipe(Effect.retry({ times: 5, while: (error) => error.reason._tag === "Conflict" }))

const orders = External.state("orders", (): Array<string> => [])
const noAnswer = () => new Error("the shop does not answer")
const known = (of: string) => External.call("known", noAnswer, Effect.map(orders, (all) => all.includes(of)))
const order = (of: string) => External.call("order", noAnswer, Effect.map(orders, (all) => void all.push(of)))

/** Orders something, and what it does when that takes long. */
const ordering = (late: (of: string) => Effect.Effect<void, unknown, any>) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      if (box.status?.phase !== undefined) return Action.done
      const { uid } = box.metadata
      if (!(yield* known(uid))) yield* late(uid)
      return yield* B.done(B.status(box, { phase: "ordered" }))
    })
  )

/** Keeps a field for every Box in one ConfigMap, by several workers at once. */
const listing = (
  fieldsOf: (map: ConfigMap, own: Readonly<Record<string, string>>) => Record<string, string | null>
) => {
  const write = (name: string, value: string | null) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      const map = yield* it.get(ConfigMap, B.named("list"))
      if ((map.data?.[name] ?? null) === value) return Action.done
      const data = value === null ? { [name]: null } : fieldsOf(map, { [name]: value })
      return yield* B.done(it.patch(ConfigMap, B.named("list"), B.merge({ data })))
    })
  return B.boxes(({ metadata, spec }) => write(metadata.name, `size ${spec.size}`), {
    concurrency: 2,
    owns: [],
    finalize: ({ metadata }: B.Box) => write(metadata.name, null)
  })
}

const list = { name: "a list", act: B.client.use((it) => it.create(ConfigMap, B.map("list", {}))) }

const atOnce = {
  name: "one goes, the other changes",
  act: B.client.use((it) =>
    Effect.andThen(it.delete(B.Box, B.named("a")), it.patch(B.Box, B.named("b"), B.merge({ spec: { size: 2 } })))
  )
}

/** As many ConfigMaps as the size says, at least: none is taken back. */
const collected = (nameOf: (number: number) => { readonly name: string } | { readonly generateName: string }) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const numbers = new Set((yield* Cache.list(ConfigMap, { owner: box })).map(({ data }) => data?.["number"]))
      for (let number = 1; number <= box.spec.size; number++) {
        if (numbers.has(String(number))) continue
        const metadata = { namespace: "default", ownerReferences: [controllerReference(box)], ...nameOf(number) }
        yield* B.unlessThere(it.create(ConfigMap, { metadata, data: { number: String(number) } }))
      }
      return yield* B.done(B.status(box, { count: box.spec.size }))
    })
  )

/** Work that is done once for each version of somebody's settings, and written down. */
const migrating = (versionOf: (settings: ConfigMap) => string | undefined) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      const settings = yield* Cache.get(ConfigMap, B.named("settings"))
      const version = settings === undefined ? undefined : versionOf(settings)
      if (version === undefined || box.status?.phase === version) return Action.done
      const job = yield* Cache.get(Job, B.named(`migration-${version}`))
      if (job === undefined) {
        return yield* B.done(B.unlessThere(it.create(Job, jobOf(box, `migration-${version}`, 4))))
      }
      return yield* B.done(B.ends(job, "Complete") ? B.status(box, { phase: version }) : Effect.void)
    }), { owns: [Job], watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

const settings: B.Steps = [1, 2].map((version) => ({
  name: `settings ${version}`,
  act: B.client.use((it) =>
    it.apply(ConfigMap, { metadata: B.named("settings"), data: { version: String(version) } }, { force: true })
  )
}))

/** Runs with a token of its own, which the template speaks of, so that Pods that have the last one are replaced. */
const tokened = (speaksOf: (token: ConfigMap) => string) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* KubeClient.KubeClient
      yield* B.keep(box, "token", { size: String(box.spec.size) })
      const token = yield* B.cached("token")
      const labels = { app: "box" }
      const annotations = { token: token === undefined ? "" : speaksOf(token) }
      const template = { metadata: { labels, annotations }, spec: { containers: [{ name: "c", image: "busybox" }] } }
      const metadata = { ...B.named("box"), ownerReferences: [controllerReference(box)] }
      const found = yield* Cache.get(Deployment, metadata)
      if (found?.spec.template.metadata?.annotations?.["token"] === annotations.token) return Action.done
      return yield* B.done(
        it.apply(Deployment, { metadata, spec: { selector: { matchLabels: labels }, template } }, { force: true })
      )
    }), { owns: [ConfigMap, Deployment] })

const plan = { name: "a plan of the seats", act: B.client.use((it) => it.create(ConfigMap, B.map("seats", {}))) }

/** Servers with a Service, and work whose Pods have these labels. */
const manned = (labels: Readonly<Record<string, string>>): Simulation.Scenario => ({
  ...B.worked(
    `work-manned-${Object.values(labels).join()}`,
    B.boxes((box) =>
      Effect.gen(function*() {
        const app = { app: "box" }
        const containers = [{ name: "c", image: "busybox" }]
        yield* Sync.children(box, [Deployment, Service, Job], [
          Sync.child(Deployment, {
            metadata: { name: "box" },
            spec: { selector: { matchLabels: app }, template: { metadata: { labels: app }, spec: { containers } } }
          }),
          Sync.child(Service, {
            metadata: { name: "box" },
            spec: { selector: app, ports: [{ port: 80, protocol: "TCP" }] }
          }),
          Sync.once(Sync.child(Job, {
            metadata: { name: "box-work" },
            spec: { template: { metadata: { labels }, spec: { restartPolicy: "Never", containers } } }
          }))
        ])
        return Action.done
      }), { owns: [Deployment, Service, Job] }),
    B.sized(1)
  ),
  cluster: {
    kubelet: {
      ending: ({ metadata }) => metadata.name.startsWith("box-work") ? { after: "9 seconds", exitCode: 0 } : undefined
    }
  }
})

export const planted: ReadonlyArray<B.Planted> = [
  {
    name: "work: a backup that has failed counts as one",
    oracle: "no data loss",
    wrong: B.worked(
      "work-backup-wrong",
      safe((backup) => B.ends(backup, "Complete") || B.ends(backup, "Failed")),
      [...B.sized(1), ...B.deleted]
    ),
    right: B.worked("work-backup-right", safe((backup) => B.ends(backup, "Complete")), [...B.sized(1), ...B.deleted]),
    options: { faults: ["crashAfter", "workFails"] }
  },
  {
    name: "work: a backup that has failed counts as one, and the data goes with its owner",
    oracle: "no data loss",
    wrong: B.worked(
      "work-held-wrong",
      held((backup) => B.ends(backup, "Complete") || B.ends(backup, "Failed")),
      [...B.sized(1), ...B.deleted]
    ),
    right: B.worked("work-held-right", held((backup) => B.ends(backup, "Complete")), [...B.sized(1), ...B.deleted]),
    options: { faults: ["crashAfter", "workFails"] }
  },
  {
    name: "work: one Pod that fails is taken for the Job",
    oracle: "same end state",
    wrong: B.worked("work-tried-wrong", tried((job) => (job.status?.failed ?? 0) > 0), B.sized(1)),
    right: B.worked("work-tried-right", tried((job) => B.ends(job, "Failed")), B.sized(1))
  },
  {
    name: "work: what is free is looked up in a cache, by several at once",
    oracle: "same end state",
    wrong: B.worked(
      "work-seats-wrong",
      seated(() => Effect.map(Cache.list(B.Box), (boxes) => firstFree(boxes.map(({ status }) => status?.count)))),
      [plan, ...names.map(boxed)]
    ),
    right: B.worked("work-seats-right", seated(reserved), [plan, ...names.map(boxed)]),
    options: { faults: ["crashAfter", "forestalled"] }
  },
  B.bug(
    "work: a note on its own token is taken for another one",
    "an annotation changes nothing",
    B.sized(1),
    tokened(({ metadata }) => metadata.resourceVersion),
    tokened(({ data }) => data?.["size"] ?? ""),
    { faults: ["crashAfter", "annotated"] }
  ),
  {
    name: "work: a note on somebody's settings is taken for other settings",
    oracle: "an annotation changes nothing",
    wrong: B.worked(
      "work-note-wrong",
      migrating(({ metadata }) => metadata.resourceVersion),
      [...B.sized(1), ...settings]
    ),
    right: B.worked("work-note-right", migrating(({ data }) => data?.["version"]), [...B.sized(1), ...settings]),
    options: { faults: ["crashAfter", "annotated"] }
  },
  B.bug(
    "work: who dies before he has said so makes the report of an hour again",
    "same end state",
    B.sized(1),
    reporting(() => ({ generateName: "report-" })),
    reporting((hour) => ({ name: `report-${hour}` }))
  ),
  B.bug(
    "work: what takes long is taken for lost, and ordered again",
    "same end state",
    B.sized(1),
    ordering((of) => Effect.catchTag(Effect.timeout(order(of), "10 seconds"), "TimeoutError", () => order(of))),
    ordering(order),
    { faults: ["externalSlow", "externalLate"] }
  ),
  {
    name: "work: clients are sent to who does it",
    oracle: "Services select no Pods of Jobs",
    wrong: manned({ app: "box" }),
    right: manned({ work: "box" })
  },
  {
    name: "work: two at once, and one puts back what the other has taken out",
    oracle: "same end state",
    wrong: B.worked(
      "work-list-wrong",
      listing(({ data }, own) => ({ ...data, ...own })),
      [list, boxed("a"), boxed("b"), atOnce]
    ),
    right: B.worked("work-list-right", listing((_, own) => own), [list, boxed("a"), boxed("b"), atOnce]),
    options: { faults: ["crashAfter"] }
  },
  B.bug(
    "work: made again with another name by who does not see it yet, and the end hides it",
    "same end state",
    [...B.sized(1, 3), ...B.deleted],
    collected(() => ({ generateName: "item-" })),
    collected((number) => ({ name: `item-${number}` })),
    { faults: ["staleRestart", "oldRestart"] }
  )
]
