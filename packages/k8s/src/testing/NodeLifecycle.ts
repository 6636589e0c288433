/**
 * `NodeLifecycle`: what the control plane does about unhealthy nodes and their Pods.
 *
 * - A node whose Lease was not renewed for 50 s is silent: its conditions become Unknown.
 * - Conditions and `unschedulable` become taints: NoSchedule at once. A node that is not ready or unreachable also gets
 *   NoExecute, unless every node is in that state (then it is more likely that the control plane is cut off).
 * - Pods of a node that is no longer ready are marked as not ready.
 * - Pods are deleted from nodes with a NoExecute taint: at once if they do not tolerate it, otherwise when their
 *   `tolerationSeconds` are over (300 for not ready and unreachable, set by admission), unless the taint is removed
 *   before.
 *
 * A node without a Lease is never considered silent, since nothing renews one for nodes created by hand.
 *
 * Not simulated: zones, and the rate at which a real controller taints nodes (one every 10 s).
 *
 * Source: k8s.io/kubernetes/pkg/controller/{nodelifecycle,tainteviction}.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Lease } from "../kinds/coordination.v1.ts"
import { Node, Pod } from "../kinds/core.v1.ts"
import { timestamp } from "./server/Exchange.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import * as NodeHealth from "./sim/NodeHealth.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import { leaseNamespace } from "./sim/SimNodes.ts"

export const defaults = {
  /** How long a node may be silent, in milliseconds. */
  gracePeriod: 50_000
} as const

/** Watches over the nodes of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const nodes = yield* informers.of(Node)
  const pods = yield* informers.of(Pod)
  const leases = yield* informers.of(Lease)
  const lifecycle = yield* Recorder.make("node-controller")
  const eviction = yield* Recorder.make("taint-eviction-controller")
  /** The known nodes by name, with their last readiness. */
  const known = new Map<string, string | undefined>()
  /** Pods that are to be evicted, and since when. */
  const leaving = new Map<string, number>()

  const now = () => clock.currentTimeMillisUnsafe()

  /** When a node counts as silent; Infinity if it has no Lease. */
  const silentAt = (name: string): number => {
    const renewed = leases.get({ namespace: leaseNamespace, name })?.spec?.renewTime
    return renewed === undefined ? Infinity : Date.parse(renewed) + defaults.gracePeriod
  }

  const podsOn = (name: string): ReadonlyArray<Pod> => [...pods.all()].filter(({ spec }) => spec.nodeName === name)

  /** Marks the Pods of a node as not ready, since nothing reports on them any more. */
  const markPods = Effect.fnUntraced(function*(node: Node): Effect.fn.Return<void, KubeError> {
    for (const pod of podsOn(node.metadata.name)) {
      if (!PodFacts.isReady(pod)) continue
      const { resourceVersion, uid } = pod.metadata
      const conditions = pod.status?.conditions?.map((condition) =>
        condition.type === "Ready"
          ? { ...condition, status: "False", lastTransitionTime: timestamp(now()) }
          : condition
      )
      yield* client.patch(Pod, pod, Patch.merge({ metadata: { uid, resourceVersion }, status: { conditions } }), {
        subresource: "status"
      })
      yield* lifecycle.warning(pod, "NodeNotReady", "Node is not ready")
    }
  })

  const introduce = Effect.fnUntraced(function*(node: Node) {
    const { name } = node.metadata
    if (known.has(name)) return
    known.set(name, NodeHealth.readiness(node))
    yield* lifecycle.normal(node, "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`)
  })

  const syncNode = Effect.fnUntraced(function*(name: string): Effect.fn.Return<void, KubeError> {
    let node = nodes.get({ name })
    if (node === undefined) return
    yield* introduce(node)
    const silent = silentAt(name)
    if (silent <= now() && NodeHealth.readiness(node) !== "Unknown") {
      const conditions = NodeHealth.silent(node, timestamp(now()))
      const { resourceVersion } = node.metadata
      node = yield* client.patch(Node, node, Patch.merge({ metadata: { resourceVersion }, status: { conditions } }), {
        subresource: "status"
      })
    } else if (silent < Infinity && silent > now()) agenda.soon(name, silent)

    const before = known.get(name)
    known.set(name, NodeHealth.readiness(node))
    if (before === "True" && NodeHealth.isBad(node)) {
      yield* lifecycle.normal(node, "NodeNotReady", `Node ${name} status is now: NodeNotReady`)
      yield* markPods(node)
    }
    const drives = [...nodes.all()].some((other) => !NodeHealth.isBad(other))
    const taints = NodeHealth.taints(node, drives, timestamp(now()))
    if (taints === node.spec?.taints || taints.length + (node.spec?.taints ?? []).length === 0) return
    const spec = { taints: taints.length === 0 ? null : taints }
    const { resourceVersion } = node.metadata
    yield* client.patch(Node, node, Patch.merge({ metadata: { resourceVersion }, spec }))
  })

  const about = (pod: Pod) => `${pod.metadata.namespace}/${pod.metadata.name}`

  const syncPod = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const pod = pods.get(parseKey(key))
    const node = pod?.spec.nodeName === undefined ? undefined : nodes.get({ name: pod.spec.nodeName })
    const since = leaving.get(key)
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return void leaving.delete(key)
    const patience = NodeHealth.patience(pod, node?.spec?.taints)
    if (patience === Infinity) {
      if (!leaving.delete(key)) return
      return yield* eviction.normal(pod, "TaintManagerEviction", `Cancelling deletion of Pod ${about(pod)}`)
    }
    const start = since ?? now()
    leaving.set(key, start)
    if (now() < start + patience) return evictions.at(key, start + patience)
    yield* eviction.normal(pod, "TaintManagerEviction", `Marking for deletion Pod ${about(pod)}`)
    yield* evict(pod)
  })

  const evict = Effect.fnUntraced(function*(pod: Pod): Effect.fn.Return<void, KubeError> {
    const { generation, resourceVersion, uid } = pod.metadata
    const condition = {
      type: "DisruptionTarget",
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status: "True",
      lastTransitionTime: timestamp(now()),
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint"
    }
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type)
    yield* client.patch(
      Pod,
      pod,
      Patch.merge({ metadata: { uid, resourceVersion }, status: { conditions: [...others, condition] } }),
      { subresource: "status" }
    )
    yield* client.delete(Pod, pod)
  })

  const agenda = yield* Loop.make({ sync: syncNode, reads: [nodes, pods, leases] })
  const evictions = yield* Loop.make({ sync: syncPod, reads: [nodes, pods] })

  nodes.listen((node, before) => {
    const { name } = (node ?? before)!.metadata
    if (node === undefined) {
      known.delete(name)
      agenda.forget(name)
    } else agenda.now(name)
    const drives = (candidate: Node | undefined) =>
      candidate?.spec?.taints?.some(({ effect }) => effect === "NoExecute") === true
    if (drives(node) || drives(before)) { for (const pod of podsOn(name)) evictions.now(keyString(pod)) }
    // Whether other nodes are healthy decides whether Pods are evicted from those that are not.
    if ((node === undefined || NodeHealth.isBad(node)) === (before === undefined || NodeHealth.isBad(before))) return
    for (const other of nodes.all()) if (NodeHealth.isBad(other)) agenda.now(other.metadata.name)
  })
  leases.listen((lease) => {
    if (lease === undefined || lease.metadata.namespace !== leaseNamespace) return
    const { name } = lease.metadata
    // The first renewal starts the wait, later ones only extend it.
    agenda.soon(name, silentAt(name))
  })
  pods.listen((pod, before) => {
    const key = keyString((pod ?? before)!)
    if (pod === undefined) {
      leaving.delete(key)
      return evictions.forget(key)
    }
    const taints = nodes.get({ name: pod.spec.nodeName ?? "" })?.spec?.taints
    if (taints?.some(({ effect }) => effect === "NoExecute") === true) evictions.now(key)
  })
})
