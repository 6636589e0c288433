/**
 * `Replicas`: keeps a number of Pods of one template, as kube-controller-manager does for ReplicaSets and, by the same
 * rules, for ReplicationControllers.
 *
 * Pods without a controller that match the selector are adopted; owned ones that no longer match are released. Missing
 * Pods are created from the template in batches of 1, 2, 4, …; superfluous ones are deleted in the order of
 * `PodFacts.deletionOrder`. A failure is reported in the condition ReplicaFailure until the next success. The status
 * counts the Pods before that; the events of creations and deletions trigger the next sync. The controller's own writes
 * count at once (see `Informers`), so there are never more Pods than requested.
 *
 * It costs nothing while nothing changes. A ready Pod that is not available yet is synced when it becomes available.
 *
 * Source: k8s.io/kubernetes/pkg/controller/replicaset/replica_set.go, replica_set_utils.go; pkg/controller/replication.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerOf, isTerminating, type KubeObject, parseKey } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import type { LabelSelectorObject } from "@effect-operator/core/Selector"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { ReplicaSetCondition, ReplicaSetStatus } from "../../kinds/apps.v1.ts"
import { Pod, type PodTemplateSpec } from "../../kinds/core.v1.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { timestamp } from "../server/Exchange.ts"
import { claim, matcher } from "./Claims.ts"
import * as Informers from "./Informers.ts"
import * as Loop from "./Loop.ts"
import { withoutZeros } from "./Numbers.ts"
import * as PodControl from "./PodControl.ts"
import * as PodFacts from "./PodFacts.ts"
import * as Recorder from "./Recorder.ts"
import { wakeOwners } from "./Triggers.ts"

/** An object that requests Pods. */
export interface Replicated extends KubeObject {
  readonly spec?: {
    readonly minReadySeconds?: number
    readonly replicas?: number
    readonly template?: PodTemplateSpec
  }
  readonly status?: ReplicaSetStatus
}

export interface Kind<O extends Replicated> {
  readonly resource: Resource.Resource<O>
  /** The component that records its Events. */
  readonly component: string
  readonly selector: (object: O) => LabelSelectorObject | undefined
  readonly withStatus: (object: O, status: ReplicaSetStatus) => O
}

/** Reconciles the objects of a kind until the scope closes. */
export const layer = <O extends Replicated>(kind: Kind<O>): Layer.Layer<never, never, KubeClient> =>
  Layer.effectDiscard(Effect.suspend(() => run(kind))).pipe(Layer.provide(Informers.layer))

const run = Effect.fnUntraced(function*<O extends Replicated>(
  kind: Kind<O>
): Effect.fn.Return<void, never, KubeClient | Informers.Informers | Scope.Scope> {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const sets = yield* informers.of(kind.resource)
  const pods = yield* informers.of(Pod)
  const recorder = yield* Recorder.make(kind.component)

  /** Active Pods of all sets with the same controller, since their spread over nodes is considered together. */
  const related = (set: O): ReadonlyArray<Pod> => {
    const owner = controllerOf(set)
    const siblings = owner === undefined ? [set] : sets.controlledBy(owner.uid)
    return siblings.flatMap((sibling) => pods.controlledBy(sibling.metadata.uid))
  }

  /** Creates or deletes Pods until the requested number is active; returns the first failure. */
  const manage = (
    set: O,
    active: ReadonlyArray<Pod>
  ): Effect.Effect<KubeError | undefined, never, KubeClient> => {
    const excess = active.length - (set.spec?.replicas ?? 1)
    const count = Math.min(Math.abs(excess), PodControl.defaults.burst)
    if (excess < 0) {
      const pod = PodControl.fromTemplate(set, set.spec?.template)
      return PodControl.slowStart(count, () => PodControl.create(recorder, set, pod))
    }
    if (excess === 0) return Effect.undefined
    const order = count < active.length
      ? PodFacts.deletionOrder(active, related(set), clock.currentTimeMillisUnsafe())
      : active
    return PodControl.forAll(order.slice(0, count), (pod) => PodControl.remove(recorder, set, pod))
  }

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const set = sets.get(parseKey(key))
    if (set === undefined) return
    const namespace = set.metadata.namespace
    const matches = matcher(kind.selector(set))
    const candidates = [...pods.controlledBy(set.metadata.uid), ...pods.orphans(namespace ?? "")]
    const active = yield* claim({
      owner: set,
      ownerResource: kind.resource,
      resource: Pod,
      candidates: candidates.filter(PodFacts.isActive),
      matches
    })
    const terminating = candidates.filter((pod) =>
      PodFacts.isTerminating(pod) && controllerOf(pod)?.uid === set.metadata.uid && matches(pod)
    )
    const failure = isTerminating(set) ? undefined : yield* manage(set, active)
    const now = clock.currentTimeMillisUnsafe()
    const status = statusOf(set, active, terminating, failure, now)
    const next = kind.withStatus(set, status)
    if (!JsonValue.equals(plain(set.status), plain(next.status))) {
      yield* client.replace(kind.resource, next, { subresource: "status" })
    }
    if (failure !== undefined) return yield* failure
    const later = PodFacts.nextAvailable(active, set.spec?.minReadySeconds ?? 0, now)
    if (later < Infinity) agenda.soon(key, later)
  })

  const agenda = yield* Loop.make({ sync, reads: [sets, pods] })

  wakeOwners(agenda, kind.resource, sets, pods, kind.selector)
})

/** The canonical form of a status, without zeros. */
const plain = (status: ReplicaSetStatus | undefined): ReplicaSetStatus =>
  withoutZeros(status ?? { replicas: 0 }, ["replicas", "terminatingReplicas"])

const statusOf = (
  set: Replicated,
  active: ReadonlyArray<Pod>,
  terminating: ReadonlyArray<Pod>,
  failure: KubeError | undefined,
  now: number
): ReplicaSetStatus => {
  const labels = Object.entries(set.spec?.template?.metadata?.labels ?? {})
  const count = (holds: (pod: Pod) => boolean): number => active.filter(holds).length
  return plain({
    replicas: active.length,
    fullyLabeledReplicas: count((pod) => labels.every(([key, value]) => pod.metadata.labels?.[key] === value)),
    readyReplicas: count(PodFacts.isReady),
    availableReplicas: count((pod) => PodFacts.isAvailable(pod, set.spec?.minReadySeconds ?? 0, now)),
    terminatingReplicas: terminating.length,
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    conditions: conditionsOf(set, active.length, failure, now)
  })
}

const conditionsOf = (
  set: Replicated,
  active: number,
  failure: KubeError | undefined,
  now: number
): ReadonlyArray<ReplicaSetCondition> => {
  const conditions = set.status?.conditions ?? []
  const others = conditions.filter(({ type }) => type !== "ReplicaFailure")
  if (failure === undefined) return others
  if (others.length < conditions.length) return conditions
  return [...others, {
    type: "ReplicaFailure",
    status: "True",
    lastTransitionTime: timestamp(now),
    reason: active < (set.spec?.replicas ?? 1) ? "FailedCreate" : "FailedDelete",
    message: PodControl.said(failure)
  }]
}
