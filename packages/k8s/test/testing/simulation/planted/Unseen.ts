/** What is seen too late, in part, or never: stale and unobserved states. */
import { Action, Cache, KubeClient, type KubeError, ObjectStatus, Predicate, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, NetworkPolicy, Pod, Service } from "@effect-operator/k8s/kinds"
import { Temporal } from "@effect-operator/k8s/testing"
import { Effect } from "effect"
import * as B from "./Box.ts"

const spoil = B.client.use((it) => it.patch(ConfigMap, B.named("settings"), B.merge({ data: { size: "spoilt" } })))

const settings: B.Reconcile = (box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) }))

const watchingIf = (predicate: Predicate.Predicate | undefined) =>
  B.boxes(settings, { watches: [Watch.owned(ConfigMap, B.Box, predicate === undefined ? {} : { predicate })] })

const told = (objects: ReadonlyArray<any>) => objects.find(({ kind }) => kind === "ConfigMap")?.data?.["size"] === "1"

const byChance = (scaleDown: boolean): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const good = (yield* B.living(box)).filter((pod) => !B.isFailed(pod))
    for (let i = good.length; i < box.spec.size; i++) {
      yield* it.create(Pod, B.podOf(box, { generateName: "box-" }))
    }
    for (const pod of (yield* B.living(box)).filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, pod))
    if (scaleDown) { for (const pod of good.slice(box.spec.size)) yield* B.unlessGone(it.delete(Pod, pod)) }
    return Action.done
  })

/** As many Pods as the size says, of those that a reader of the cache is shown. */
const counting = (consistency: "own-writes" | "watched"): B.Reconcile => (box) =>
  Effect.flatMap(Cache.list(Pod, { owner: box, consistency }), (pods) => B.asMany(box, pods))

/** The data of a Box goes with it, and not a moment before. */
const lost = Temporal.never(
  "no data loss",
  ({ change, of }) =>
    change.type === "DELETED" && change.object.kind === "ConfigMap" &&
    of("Box").some((box) => box.metadata.deletionTimestamp === undefined)
)

const data: B.Reconcile = (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const annotations = { of: box.metadata.uid }
    const found = yield* B.cached("data")
    if (found === undefined) {
      yield* B.unlessThere(it.create(ConfigMap, { metadata: { ...B.named("data"), annotations }, data: {} }))
    } else if (found.metadata.annotations?.["of"] !== annotations.of) {
      yield* it.patch(ConfigMap, found, B.merge({ metadata: { annotations } }))
    }
    return Action.done
  })

/** Makes the next Pod when all before it run. */
const oneByOne = (meanwhile: Action.Action): B.Reconcile => (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const { items } = yield* it.listPage(Pod, { namespace: "default", labels: { box: box.metadata.name } })
    if (items.length >= box.spec.size) return Action.done
    if (items.some(({ status }) => status?.phase !== "Running")) return meanwhile
    yield* B.unlessThere(it.create(Pod, B.podOf(box, { name: `box-${items.length}` })))
    return items.length + 1 < box.spec.size ? Action.requeueAfter("5 seconds") : Action.done
  })

type WriteStatus = (
  box: B.Box,
  status: ObjectStatus.StatusOf<B.Box>
) => Effect.Effect<unknown, KubeError.KubeError, KubeClient.KubeClient>

/** Says which generation it has seen. */
const saysSo = (write: WriteStatus) =>
  B.boxes((box) => B.done(B.unlessGone(write(box, { observedGeneration: box.metadata.generation ?? 0 }))))

const anew = {
  name: "anew",
  act: B.client.use((it) =>
    Effect.andThen(it.delete(B.Box, B.key), it.create(B.Box, { metadata: B.key, spec: { size: 9 } }))
  )
}

/** A Service for each Box, applied each time. */
const served = (owns: ReadonlyArray<typeof Service>) =>
  B.boxes((box) =>
    B.done(B.client.use((it) =>
      it.apply(Service, {
        metadata: { ...B.named("web"), ownerReferences: [controllerReference(box)] },
        spec: { selector: { app: "web" }, ports: [{ port: box.spec.size }] }
      }, { force: true })
    )), { owns })

/** A Service for each Box, each under the number that follows that of the last one, which the status names. */
const numbered = (predicate: Predicate.Predicate | undefined) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const [found] = yield* Cache.list(Service, { owner: box })
      const last = Number(box.status?.phase?.slice(4) ?? 0)
      const name = found?.metadata.name ?? `web-${last + 1}`
      if (found === undefined) {
        yield* B.unlessThere(it.create(Service, {
          metadata: { ...B.named(name), ownerReferences: [controllerReference(box)] },
          spec: { selector: { app: "web" }, ports: [{ port: box.spec.size }] }
        }))
      }
      return yield* B.done(B.status(box, { phase: name }))
    }), { watches: [Watch.owned(Service, B.Box, predicate === undefined ? {} : { predicate })] })

/** A port for each of the size; those that are missing are appended, `guarded` to the list that was seen. */
const appended = (guarded: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const rule = (port: number) => ({ ports: [{ port, protocol: "TCP" as const }] })
      const wanted = Array.from({ length: box.spec.size }, (_, index) => 8000 + index)
      const found = yield* Cache.get(NetworkPolicy, B.named("ports"))
      const seen = found?.spec?.ingress ?? []
      const missing = wanted.filter((port) => !seen.some(({ ports }) => ports?.[0]?.port === port))
      if (found === undefined) {
        yield* it.create(NetworkPolicy, {
          metadata: { ...B.named("ports"), ownerReferences: [controllerReference(box)] },
          spec: { podSelector: {}, ingress: wanted.map(rule) }
        })
      } else if (missing.length > 0) {
        const test = { op: "test", path: "/spec/ingress", value: seen } as const
        const more = missing.map((port) => ({ op: "add", path: "/spec/ingress/-", value: rule(port) }) as const)
        yield* it.patch(NetworkPolicy, found, KubeClient.Patch.json(guarded ? [test, ...more] : more))
      }
      return Action.done
    }), { owns: [NetworkPolicy] })

/** A Service whose port is the size; it is made anew at each size. `what` is what is told to delete. */
const anewAt = (what: (found: Service) => Service | ReturnType<typeof B.named>) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const found = yield* Cache.get(Service, B.named("web"))
      const port = 80 + box.spec.size
      if (found?.spec?.ports?.[0]?.port === port) return Action.done
      if (found !== undefined) yield* B.unlessGone(it.delete(Service, what(found)))
      return yield* B.done(it.create(Service, {
        metadata: { ...B.named("web"), ownerReferences: [controllerReference(box)] },
        spec: { selector: { app: "web" }, ports: [{ port }] }
      }))
    }), { owns: [Service] })

/** Copies what people have made, if it is newer than what was copied last. */
const copying = (isNewer: (version: string, copied: string) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const source = yield* B.cached("source")
      const copy = yield* B.cached("copy")
      if (source === undefined) return Action.done
      const { data = {}, metadata: { resourceVersion } } = source
      const annotations = { copied: resourceVersion }
      if (copy === undefined) {
        const { metadata } = B.map("copy", {}, box)
        yield* B.unlessThere(it.create(ConfigMap, { metadata: { ...metadata, annotations }, data }))
      } else if (isNewer(resourceVersion, copy.metadata.annotations?.["copied"] ?? "")) {
        yield* it.patch(ConfigMap, copy, B.merge({ metadata: { annotations }, data }))
      }
      return Action.done
    }), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

/** People make a ConfigMap, and change it twice after a Box that is about it has come. */
const source: B.Steps = [
  { name: "a source", act: B.client.use((it) => it.create(ConfigMap, B.map("source", { text: "a" }))) },
  ...B.sized(1),
  ...["b", "c"].map((text) => ({
    name: `the source is ${text}`,
    act: B.client.use((it) => it.patch(ConfigMap, B.named("source"), B.merge({ data: { text } })))
  }))
]

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "stale state: versions are compared as texts",
    "same end state",
    source,
    copying((version, copied) => version > copied),
    copying((version, copied) => version !== copied),
    // Without faults, and after one that changes no more than this, it is always the same change that is missed.
    { faults: ["serverError"] }
  ),
  B.bug(
    "stale state: what is wanted now is seen, and not what has been done about it",
    "same end state",
    B.sized(1, 2),
    appended(false),
    appended(true)
  ),
  B.bug(
    "unobserved state: its own Pods are not watched",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        for (let i = 0; i < box.spec.size; i++) {
          const name = `box-${i}`
          const found = yield* it.get(Pod, B.named(name)).pipe(
            Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
          )
          if (found !== undefined && B.isFailed(found)) yield* it.delete(Pod, found)
          if (found === undefined || B.isFailed(found)) yield* B.unlessThere(it.create(Pod, B.podOf(box, { name })))
        }
        return Action.done
      }), { owns: [] }),
    B.boxes(B.pods)
  ),
  B.bug(
    "unobserved state: a dead Pod counts as one that runs",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const names = new Set((yield* B.living(box)).map(({ metadata }) => metadata.name))
        for (let i = 0; i < box.spec.size; i++) {
          if (!names.has(`box-${i}`)) yield* B.unlessThere(it.create(Pod, B.podOf(box, { name: `box-${i}` })))
        }
        return Action.done
      })
    ),
    B.boxes(B.pods)
  ),
  B.bug(
    "unobserved state: acts on changes of the size, not on what is there",
    "same end state",
    B.sized(2),
    B.remembering(() => new Map<string, number>(), (sizes) =>
      B.boxes((box) =>
        Effect.gen(function*() {
          if (sizes.get(box.metadata.uid) === box.spec.size) return Action.done
          yield* B.pods(box)
          sizes.set(box.metadata.uid, box.spec.size)
          return Action.done
        })
      )),
    B.boxes(B.pods)
  ),
  B.bug(
    "unobserved state: a predicate that hides what others do to its objects",
    "desired state",
    [...B.sized(1), { name: "somebody edits the settings", act: spoil, desired: told }],
    watchingIf(() => false),
    watchingIf(undefined)
  ),
  B.bug(
    "unobserved state: woken by what comes and changes, not by what goes",
    "removed objects are recreated",
    B.sized(1),
    watchingIf(({ _tag }) => _tag !== "Deleted"),
    watchingIf(undefined)
  ),
  B.bug(
    "unobserved state: a watch that wakes nobody",
    "removed objects are recreated",
    B.sized(1),
    watchingIf(() => false),
    watchingIf(undefined)
  ),
  B.bug(
    "unobserved state: no watch of what it makes",
    "removed objects are recreated",
    B.sized(80, 81),
    served([]),
    served([Service])
  ),
  B.bug(
    "unobserved state: what would come in the place of what is gone, under another name",
    "removed objects are recreated",
    B.sized(80),
    numbered(({ _tag }) => _tag !== "Deleted"),
    numbered(undefined),
    { faults: ["removed", "crashAfter"] }
  ),
  B.bug(
    "stale state: creates what it does not see yet, and never counts again",
    "same end state",
    B.sized(2),
    B.boxes(byChance(false)),
    B.boxes(byChance(true))
  ),
  B.bug(
    "stale state: counts without its own writes, and takes away what is too many",
    "no surplus objects",
    B.sized(2),
    B.boxes(counting("watched")),
    B.boxes(counting("own-writes"))
  ),
  B.bug(
    "stale state: what it wrote once is not looked at again",
    "desired state",
    [...B.sized(1), { name: "somebody edits the settings", act: spoil, desired: told }],
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("settings")) === undefined) {
          yield* B.unlessThere(it.create(ConfigMap, B.map("settings", { size: String(box.spec.size) }, box)))
        }
        return Action.done
      })
    ),
    B.boxes(settings)
  ),
  B.bug(
    "stale state: deletes by name, whoever has the name now",
    "no data loss",
    [...B.sized(1), ...B.deleted, { name: "again", act: B.write(1) }],
    B.boxes(data, {
      finalize: () => B.done(B.client.use((it) => B.unlessGone(it.delete(ConfigMap, B.named("data")))))
    }),
    B.boxes(data, {
      finalize: (box) =>
        Effect.gen(function*() {
          const it = yield* B.client
          const found = yield* it.get(ConfigMap, B.named("data")).pipe(
            Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
          )
          if (found?.metadata.annotations?.["of"] !== box.metadata.uid) return Action.done
          const { uid } = found.metadata
          return yield* B.done(B.unlessGone(it.delete(ConfigMap, found, { preconditions: { uid } })))
        })
    }),
    { oracles: [lost], faults: ["oldRestart", "staleRestart"] }
  ),
  B.bug(
    "stale state: what has come in the place of what it saw is deleted by its name",
    "deletes what it has seen",
    B.sized(1, 2),
    anewAt(() => B.named("web")),
    anewAt((found) => found)
  ),
  B.bug(
    "stale state: a status that speaks of an older spec",
    "observed generation",
    B.sized(1, 2),
    B.boxes((box) => B.done(B.status(box, { observedGeneration: 1 }))),
    B.boxes((box) => B.done(B.status(box, { observedGeneration: box.metadata.generation ?? 0 })))
  ),
  B.bug(
    "stale state: a status that speaks of a spec there never was",
    "observed generation",
    B.sized(1, 2),
    B.boxes((box) => B.done(B.status(box, { observedGeneration: (box.metadata.generation ?? 0) + 1 }))),
    B.boxes((box) => B.done(B.status(box, { observedGeneration: box.metadata.generation ?? 0 })))
  ),
  B.bug(
    "stale state: a status that comes to the next one of its name",
    "observed generation",
    [...B.sized(1, 2), anew],
    saysSo(B.status),
    saysSo((box, status) => ObjectStatus.write(B.Box, box, status)),
    { faults: ["crashAfter", "forestalled"] }
  ),
  B.bug(
    "stale state: the status keeps what was true once",
    "desired state",
    B.sized(2, 0).map((step, index) => ({
      ...step,
      desired: (objects) =>
        (objects.find(({ kind }) => kind === "Box") as B.Box | undefined)?.status?.count === (index === 0 ? 2 : 0)
    })),
    B.boxes((box) =>
      Effect.gen(function*() {
        yield* B.pods(box)
        const running = yield* Cache.list(Pod, { owner: box })
        // An empty list looks like a cache that is not filled yet.
        return yield* B.done(running.length === 0 ? Effect.void : B.status(box, { count: running.length }))
      })
    ),
    B.boxes((box) =>
      Effect.gen(function*() {
        yield* B.pods(box)
        return yield* B.done(B.status(box, { count: (yield* Cache.list(Pod, { owner: box })).length }))
      })
    )
  ),
  B.bug(
    "unobserved state: what is not ready yet is not looked at again",
    "desired state",
    B.sized(1, 2).map((step, index) => ({ ...step, desired: (objects) => B.count("Pod", objects) === index + 1 })),
    B.boxes(oneByOne(Action.done), { owns: [] }),
    B.boxes(oneByOne(Action.requeueAfter("5 seconds")), { owns: [] }),
    { faults: ["hurried"] }
  )
]
