/**
 * `Scheduler`: binds Pods to nodes.
 *
 * If the cluster has Node objects, a Pod goes to one that `Scheduling` selects. A Pod that fits no node reports that in
 * its condition PodScheduled and an event, and is retried when a node changes or another Pod frees resources. Without
 * Node objects, Pods are bound in turn to nodes that are not visible in the API. A Pod whose volume claim does not
 * exist or is being deleted waits for it; the claim need not be bound.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Binding, Node, PersistentVolumeClaim, Pod } from "../../kinds/core.v1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { timestamp } from "../server/Exchange.ts"
import * as Informers from "./Informers.ts"
import * as Loop from "./Loop.ts"
import * as PodFacts from "./PodFacts.ts"
import { minus, plus } from "./Quantities.ts"
import * as Recorder from "./Recorder.ts"
import * as Scheduling from "./Scheduling.ts"

export interface Options {
  /** The time from a Pod's creation until it is bound, in milliseconds. */
  readonly delay: number
  /** The nodes to use if the cluster has no Node objects. */
  readonly unseen: ReadonlyArray<string>
  /** Whether to record successful bindings, too. */
  readonly verbose: boolean
}

/** A binding is posted to a subresource of the Pod, but is a kind of its own. */
const PodBinding = Resource.make<Binding>()({
  group: "",
  version: "v1",
  kind: "Binding",
  plural: "pods",
  scope: "Namespaced",
  subresources: ["binding"]
})

/** Whether a Pod waits for a node, from this scheduler. */
const isPending = (pod: Pod): boolean =>
  (pod.spec.nodeName ?? "") === "" && PodFacts.isActive(pod) && (pod.spec.schedulingGates ?? []).length === 0 &&
  (pod.spec.schedulerName ?? "default-scheduler") === "default-scheduler"

/** Whether a Pod uses resources of its node. */
const isPlaced = (pod: Pod): boolean => (pod.spec.nodeName ?? "") !== "" && !PodFacts.isTerminal(pod)

/** Binds Pods until the scope closes. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<void, never, KubeClient | Informers.Informers | Scope.Scope> {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const pods = yield* informers.of(Pod)
  const nodes = yield* informers.of(Node)
  const recorder = yield* Recorder.make("default-scheduler")
  const loads = new Map<string, Scheduling.Load>()
  /** Pods that fit no node. */
  const stuck = new Set<string>()
  /** The nodes of bound Pods, by uid, until the watch reports the binding. */
  const reserved = new Map<string, string>()
  let bound = 0

  const now = () => clock.currentTimeMillisUnsafe()

  const decide = (pod: Pod): Scheduling.Decision => {
    const all = [...nodes.all()]
    return all.length === 0 && options.unseen.length > 0
      ? { _tag: "Node", name: options.unseen[bound++ % options.unseen.length]! }
      : Scheduling.decide(pod, all, (name) => loads.get(name) ?? Scheduling.noLoad)
  }

  const bind = Effect.fnUntraced(function*(pod: Pod, node: string): Effect.fn.Return<void, KubeError> {
    const { name, namespace, uid } = pod.metadata
    const target = { apiVersion: "v1", kind: "Node", name: node }
    // The resources are taken now, since the event of the binding may be late.
    reserved.set(uid, node)
    load(pod, node, 1)
    yield* client.create(PodBinding, { metadata: { name, namespace, uid }, target }, { subresource: "binding" }).pipe(
      Effect.tapError(() => Effect.sync(() => release(pod)))
    )
    if (!options.verbose) return
    yield* recorder.normal(pod, "Scheduled", `Successfully assigned ${namespace}/${name} to ${node}`)
  })

  const refuse = Effect.fnUntraced(function*(pod: Pod, message: string): Effect.fn.Return<void, KubeError> {
    stuck.add(keyString(pod))
    const before = PodFacts.condition(pod, "PodScheduled")
    yield* recorder.warning(pod, "FailedScheduling", message)
    if (before?.status === "False" && before.message === message) return
    const { generation } = pod.metadata
    const { resourceVersion, uid } = pod.metadata
    const condition = {
      type: "PodScheduled",
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status: "False",
      lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : timestamp(now()),
      reason: "Unschedulable",
      message
    }
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== "PodScheduled")
    yield* client.patch(
      Pod,
      pod,
      Patch.merge({ metadata: { uid, resourceVersion }, status: { conditions: [...others, condition] } }),
      { subresource: "status" }
    )
  })

  /** Retries unschedulable Pods when a claim is created. */
  const watchClaims = yield* Effect.cached(
    Effect.map(informers.of(PersistentVolumeClaim), (claims) =>
      claims.listen((claim, before) => {
        if (claim !== undefined && before === undefined) retry()
      }))
  )

  /** Why a Pod's claims make it unschedulable. */
  const unclaimed = Effect.fnUntraced(
    function*({ metadata: { namespace }, spec }: Pod): Effect.fn.Return<string | undefined, KubeError> {
      for (const { persistentVolumeClaim } of spec.volumes ?? []) {
        const name = persistentVolumeClaim?.claimName
        if (name === undefined) continue
        const claim = yield* client.get(PersistentVolumeClaim, { namespace, name }).pipe(
          Effect.catchReason("KubeError", "NotFound", () => Effect.undefined)
        )
        if (claim !== undefined && !isTerminating(claim)) continue
        yield* watchClaims
        return `persistentvolumeclaim "${name}" ${claim === undefined ? "not found" : "is being deleted"}`
      }
      return undefined
    }
  )

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError> {
    const pod = pods.get(parseKey(key))
    if (pod === undefined || !isPending(pod)) return
    // Marked first, so that a claim created during the request is not missed.
    stuck.add(key)
    const problem = yield* unclaimed(pod)
    if (problem !== undefined) {
      const count = [...nodes.all()].length || options.unseen.length
      return yield* refuse(pod, `0/${count} nodes are available: ${problem}.`)
    }
    stuck.delete(key)
    const decision = decide(pod)
    yield* decision._tag === "Node" ? bind(pod, decision.name) : refuse(pod, decision.message)
  })

  const agenda = yield* Loop.make({ sync, reads: [pods, nodes], manager: "kube-scheduler" })

  const load = (pod: Pod, node: string, sign: 1 | -1): void => {
    const { pods: count, requested } = loads.get(node) ?? Scheduling.noLoad
    const requests = Scheduling.requestsOf(pod)
    loads.set(node, {
      pods: count + sign,
      requested: sign > 0 ? plus(requested, requests) : minus(requested, requests)
    })
  }

  const release = (pod: Pod): void => {
    const node = reserved.get(pod.metadata.uid)
    if (node === undefined) return
    reserved.delete(pod.metadata.uid)
    load(pod, node, -1)
  }

  const retry = (): void => {
    // A copy, because Pods that are retried may be added again.
    const keys = [...stuck]
    stuck.clear()
    for (const key of keys) agenda.now(key)
  }

  pods.listen((pod, before) => {
    const placed = pod !== undefined && isPlaced(pod) ? pod : undefined
    const placedBefore = before !== undefined && isPlaced(before) ? before : undefined
    if (placed !== undefined && placedBefore === undefined) {
      release(placed)
      load(placed, placed.spec.nodeName!, 1)
    } else if (placed === undefined && placedBefore !== undefined) {
      load(placedBefore, placedBefore.spec.nodeName!, -1)
      retry()
    }
    const key = keyString((pod ?? before)!)
    if (pod === undefined) {
      release(before!)
      stuck.delete(key)
      agenda.forget(key)
    } else if (isPending(pod) && !stuck.has(key)) {
      // Other changes do not restart the delay.
      if (before === undefined || !isPending(before)) agenda.at(key, now() + options.delay)
    }
  })
  nodes.listen((node, before) => {
    const same = node !== undefined && before !== undefined && JsonValue.equals(node.spec, before.spec) &&
      JsonValue.equals(node.metadata.labels, before.metadata.labels) &&
      JsonValue.equals(node.status?.allocatable, before.status?.allocatable)
    if (!same) retry()
  })
})
