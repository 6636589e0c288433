/**
 * `DaemonSetController`: runs a Pod of each DaemonSet on every eligible node, as in kube-controller-manager.
 *
 * Pods are pinned to their node by affinity and bound by the scheduler. The controller reacts to nodes that come, go or
 * are tainted. Failed Pods are replaced after a delay that doubles from 1 s to 15 min. A rolling update replaces Pods
 * within `maxUnavailable`, or starts new ones beside the old ones within `maxSurge`; with OnDelete, Pods are replaced
 * only when a client deletes them. Templates are kept as ControllerRevisions.
 *
 * `DaemonPods` decides which Pods run where.
 *
 * Source: k8s.io/kubernetes/pkg/controller/daemon.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerReference, isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ControllerRevision, DaemonSet } from "../kinds/apps.v1.ts"
import { Node, Pod } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { claim, matcher } from "./sim/Claims.ts"
import * as DaemonPods from "./sim/DaemonPods.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import * as PodControl from "./sim/PodControl.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import * as Revisions from "./sim/Revisions.ts"
import { templateHash } from "./sim/TemplateHash.ts"
import { wakeOwners } from "./sim/Triggers.ts"

export const defaults = {
  /** The maximum number of Pods created or deleted in one sync. */
  burst: 250,
  /** The first and the maximum delay before a failed Pod is replaced, in milliseconds. */
  backoffFirst: 1000,
  backoffLongest: 900_000
} as const

/** Reconciles the DaemonSets of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

/** The revision of the current template, and the earlier ones. */
interface History {
  readonly hash: string
  readonly old: ReadonlyArray<ControllerRevision>
}

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const sets = yield* informers.of(DaemonSet)
  const pods = yield* informers.of(Pod)
  const nodes = yield* informers.of(Node)
  const revisions = yield* informers.of(ControllerRevision)
  const recorder = yield* Recorder.make("daemonset-controller")
  /** When a failed Pod of a set was last replaced on a node, and the delay before the next time. */
  const backoffs = new Map<string, { readonly at: number; readonly delay: number }>()

  const now = () => clock.currentTimeMillisUnsafe()

  const snapshot = Effect.fnUntraced(function*(
    set: DaemonSet,
    data: unknown,
    revision: number
  ): Effect.fn.Return<ControllerRevision, KubeError> {
    const { annotations, namespace } = set.metadata
    const hash = templateHash(set.spec.template, set.status?.collisionCount)
    const name = `${set.metadata.name}-${hash}`
    const metadata = {
      namespace,
      name,
      labels: { ...set.spec.template.metadata?.labels, [DaemonPods.hashLabel]: hash },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [controllerReference(set)]
    }
    return yield* Effect.catchReason(
      client.create(ControllerRevision, { metadata, data, revision }),
      "KubeError",
      "AlreadyExists",
      Effect.fnUntraced(function*(_, error) {
        const taken = yield* client.get(ControllerRevision, { namespace, name })
        if (Revisions.sameData(taken.data, data)) return taken
        const status = { ...DaemonPods.plain(set.status), collisionCount: (set.status?.collisionCount ?? 0) + 1 }
        yield* client.replace(DaemonSet, { ...set, status }, { subresource: "status" })
        return yield* error
      })
    )
  })

  const history = Effect.fnUntraced(function*(
    set: DaemonSet
  ): Effect.fn.Return<History, KubeError, KubeClient> {
    const own = yield* claim({
      owner: set,
      ownerResource: DaemonSet,
      resource: ControllerRevision,
      candidates: [...revisions.controlledBy(set.metadata.uid), ...revisions.orphans(set.metadata.namespace)],
      matches: matcher(set.spec.selector)
    })
    const data = Revisions.dataOf(set.spec.template)
    const same = own.filter((revision) => Revisions.sameData(revision.data, data)).sort(Revisions.byRevision)
    const old = own.filter((revision) => !same.includes(revision)).sort(Revisions.byRevision)
    const number = (old.at(-1)?.revision ?? 0) + 1
    let current = same.at(-1)
    if (current === undefined) current = yield* snapshot(set, data, number)
    else {
      yield* dropTwins(set, current, same.slice(0, -1))
      if (current.revision < number) {
        current = yield* client.replace(ControllerRevision, { ...current, revision: number })
      }
    }
    return { hash: current.metadata.labels?.[DaemonPods.hashLabel] ?? current.metadata.name, old }
  })

  /** Merges revisions of the same template: Pods of the duplicates get the hash of the one that is kept. */
  const dropTwins = Effect.fnUntraced(function*(
    set: DaemonSet,
    current: ControllerRevision,
    twins: ReadonlyArray<ControllerRevision>
  ): Effect.fn.Return<void, KubeError> {
    if (twins.length === 0) return
    const hash = current.metadata.labels?.[DaemonPods.hashLabel]
    for (const pod of pods.controlledBy(set.metadata.uid)) {
      if (pod.metadata.labels?.[DaemonPods.hashLabel] === hash) continue
      yield* client.patch(Pod, pod, Patch.merge({ metadata: { labels: { [DaemonPods.hashLabel]: hash } } }))
    }
    for (const twin of twins) yield* client.delete(ControllerRevision, twin)
  })

  const cleanUp = (set: DaemonSet, { old }: History, own: ReadonlyArray<Pod>) => {
    const excess = old.length - (set.spec.revisionHistoryLimit ?? 10)
    if (excess <= 0) return Effect.void
    const live = new Set(own.map((pod) => pod.metadata.labels?.[DaemonPods.hashLabel]))
    const dead = old.filter((revision) => !live.has(revision.metadata.labels?.[DaemonPods.hashLabel]))
    return Effect.forEach(dead.slice(0, excess), (revision) => client.delete(ControllerRevision, revision), {
      discard: true
    })
  }

  /** Whether a finished Pod may be replaced now; records the event if so. A failed one may have to wait. */
  const mayReplace = Effect.fnUntraced(function*(key: string, set: DaemonSet, pod: Pod) {
    const node = DaemonPods.nodeOf(pod)
    const where = `${pod.metadata.namespace}/${pod.metadata.name} on node ${node}`
    if (pod.status?.phase === "Succeeded") {
      const message = `Found succeeded daemon pod ${where}, will try to delete it`
      yield* recorder.normal(set, "SucceededDaemonPod", message)
      return true
    }
    const backoffKey = `${set.metadata.uid}/${set.status?.observedGeneration ?? 0}/${node}`
    const last = backoffs.get(backoffKey)
    if (last !== undefined && now() < last.at + last.delay) {
      agenda.soon(key, last.at + last.delay)
      return false
    }
    const fresh = last === undefined || now() - last.at > 2 * defaults.backoffLongest
    const delay = fresh ? defaults.backoffFirst : Math.min(2 * last.delay, defaults.backoffLongest)
    backoffs.set(backoffKey, { at: now(), delay })
    yield* recorder.warning(set, "FailedDaemonPod", `Found failed daemon pod ${where}, will try to kill it`)
    return true
  })

  /** Creates and deletes Pods; true if there was anything to do. */
  const carryOut = Effect.fnUntraced(function*(
    set: DaemonSet,
    hash: string,
    { create, remove }: DaemonPods.Plan
  ): Effect.fn.Return<boolean, KubeError, KubeClient> {
    const failed = yield* PodControl.slowStart(Math.min(create.length, defaults.burst), (index) => {
      const template = DaemonPods.templateFor(set, hash, create[index]!)
      return PodControl.create(recorder, set, PodControl.fromTemplate(set, template))
    })
    const stuck = yield* PodControl.forAll(
      remove.slice(0, defaults.burst),
      (pod) => PodControl.remove(recorder, set, pod)
    )
    const failure = failed ?? stuck
    if (failure !== undefined) return yield* failure
    return create.length + remove.length > 0
  })

  /** What to create and delete on all nodes. */
  const plan = Effect.fnUntraced(function*(
    key: string,
    set: DaemonSet,
    hash: string,
    all: ReadonlyArray<Node>,
    there: ReadonlyMap<string, ReadonlyArray<Pod>>
  ) {
    const create: Array<string> = []
    const remove: Array<Pod> = []
    for (const node of all) {
      const needs = DaemonPods.planNode(set, hash, node, there.get(node.metadata.name), now())
      create.push(...needs.create)
      remove.push(...needs.remove)
      for (const pod of needs.finished) if (yield* mayReplace(key, set, pod)) remove.push(pod)
    }
    const names = new Set(all.map(({ metadata }) => metadata.name))
    for (const [node, unbound] of there) {
      if (!names.has(node)) remove.push(...unbound.filter(({ spec }) => (spec.nodeName ?? "") === ""))
    }
    return { create, remove }
  })

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const set = sets.get(parseKey(key))
    if (set === undefined || isTerminating(set)) return
    const versions = yield* history(set)
    const { hash } = versions
    const own = yield* claim({
      owner: set,
      ownerResource: DaemonSet,
      resource: Pod,
      candidates: [...pods.controlledBy(set.metadata.uid), ...pods.orphans(set.metadata.namespace)],
      matches: matcher(set.spec.selector)
    })
    const all = [...nodes.all()]
    const there = DaemonPods.byNode(own)
    const write = Effect.suspend(() => {
      const status = DaemonPods.statusOf(set, hash, all, there, now())
      return JsonValue.equals(DaemonPods.plain(set.status), status)
        ? Effect.void
        : client.replace(DaemonSet, { ...set, status }, { subresource: "status" })
    })
    const work = Effect.gen(function*() {
      if (yield* carryOut(set, hash, yield* plan(key, set, hash, all, there))) return
      yield* carryOut(set, hash, DaemonPods.planUpdate(set, hash, all, there, now()))
    })
    yield* Effect.tapError(work, () => write)
    yield* cleanUp(set, versions, own)
    yield* write
    const next = PodFacts.nextAvailable(own, set.spec.minReadySeconds ?? 0, now())
    if (next < Infinity) agenda.soon(key, next)
  })

  const agenda = yield* Loop.make({ sync, reads: [sets, pods, nodes, revisions] })
  wakeOwners(agenda, DaemonSet, sets, pods, ({ spec }) => spec.selector)
  nodes.listen((now, before) => {
    // Heartbeats change nothing that matters here.
    const same = now !== undefined && before !== undefined &&
      JsonValue.equals(now.metadata.labels, before.metadata.labels) &&
      JsonValue.equals(now.spec?.taints, before.spec?.taints)
    if (!same) { for (const set of sets.all()) agenda.now(keyString(set)) }
  })
})
