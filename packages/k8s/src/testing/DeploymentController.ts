/**
 * `DeploymentController`: rolls out the templates of Deployments, as in kube-controller-manager.
 *
 * Every template has a ReplicaSet whose name contains the template's hash. A rolling update moves replicas from the old
 * ReplicaSets to the current one within `maxSurge` and `maxUnavailable`; Recreate waits until the old Pods are gone. A
 * Deployment that was scaled or is paused is only resized proportionally. Revisions, conditions, counts, events and the
 * cleanup of old ReplicaSets equal those of the real controller, word for word. Each sync makes one step; the resulting
 * change of a ReplicaSet triggers the next one. A rollout without progress is resynced when its deadline has passed.
 *
 * `Rollout` contains the arithmetic, `RolloutStatus` the status.
 *
 * Not simulated: the rollback annotation of extensions/v1beta1 (kubectl undoes a rollout with a patch).
 *
 * Source: k8s.io/kubernetes/pkg/controller/deployment.
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerOf, controllerReference, isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { Deployment, type DeploymentStatus, ReplicaSet } from "../kinds/apps.v1.ts"
import { Pod } from "../kinds/core.v1.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { claim, matcher } from "./sim/Claims.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import { namespaceEnds, said } from "./sim/PodControl.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import * as Rollout from "./sim/Rollout.ts"
import * as RolloutStatus from "./sim/RolloutStatus.ts"
import { templateHash } from "./sim/TemplateHash.ts"
import { ownerKey, wakeOwners } from "./sim/Triggers.ts"

/** Reconciles the Deployments of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

/** A Deployment with its ReplicaSet of the current template and its other ReplicaSets. */
interface Rolling {
  readonly deployment: Deployment
  readonly current: ReplicaSet | undefined
  readonly old: ReadonlyArray<ReplicaSet>
}

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const deployments = yield* informers.of(Deployment)
  const sets = yield* informers.of(ReplicaSet)
  const pods = yield* informers.of(Pod)
  const recorder = yield* Recorder.make("deployment-controller")

  const now = () => clock.currentTimeMillisUnsafe()

  const writeStatus = (deployment: Deployment) => client.replace(Deployment, deployment, { subresource: "status" })

  /** Writes the Deployment's status if the Deployment changed. */
  const writeChanged = (next: Deployment, before: Deployment) =>
    next === before ? Effect.succeed(before) : writeStatus(next)

  const setStatus = (deployment: Deployment, status: DeploymentStatus): Effect.Effect<boolean, KubeError> =>
    JsonValue.equals(RolloutStatus.plain(deployment.status), status)
      ? Effect.succeed(false)
      : Effect.as(writeStatus({ ...deployment, status }), true)

  /** Finds the ReplicaSet of the current template and updates its annotations; creates it on request. */
  const syncRevision = Effect.fnUntraced(function*(
    deployment: Deployment,
    owned: ReadonlyArray<ReplicaSet>,
    create: boolean
  ): Effect.fn.Return<Rolling, KubeError> {
    const { current, old } = Rollout.divide(deployment, owned)
    const revision = RolloutStatus.nextRevision(old)
    if (current === undefined) {
      return create ? yield* createSet(deployment, old, revision) : { deployment, current, old }
    }
    const annotations = RolloutStatus.setAnnotations(deployment, current, revision)
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0
    if (
      !JsonValue.equals(annotations, current.metadata.annotations ?? {}) ||
      (current.spec.minReadySeconds ?? 0) !== minReadySeconds
    ) {
      const { minReadySeconds: _, ...spec } = current.spec
      const updated = yield* client.replace(ReplicaSet, {
        ...current,
        metadata: { ...current.metadata, annotations },
        spec: minReadySeconds === 0 ? spec : { ...spec, minReadySeconds }
      })
      return { deployment, current: updated, old }
    }
    let next = RolloutStatus.setRevision(deployment, annotations[Rollout.annotation.revision] ?? "")
    const unknown = RolloutStatus.condition(deployment.status, "Progressing") === undefined
    if (RolloutStatus.hasDeadline(deployment) && unknown) {
      next = progressing(next, "FoundNewReplicaSet", `Found new replica set "${current.metadata.name}"`)
    }
    return { deployment: yield* writeChanged(next, deployment), current, old }
  })

  const progressing = (deployment: Deployment, reason: string, message: string): Deployment =>
    RolloutStatus.setCondition(
      deployment,
      RolloutStatus.conditionNow(now(), "Progressing", "True", reason, message)
    )

  const createSet = Effect.fnUntraced(function*(
    deployment: Deployment,
    old: ReadonlyArray<ReplicaSet>,
    revision: bigint
  ): Effect.fn.Return<Rolling, KubeError> {
    const { name, namespace } = deployment.metadata
    const { minReadySeconds, selector, template } = deployment.spec
    const hash = templateHash(template, deployment.status?.collisionCount)
    const labels = { ...template.metadata?.labels, [Rollout.hashLabel]: hash }
    const replicas = Rollout.growth(deployment, old, 0)
    const setName = `${name.slice(0, 252 - hash.length)}-${hash}`
    const created = yield* Effect.result(client.create(ReplicaSet, {
      metadata: {
        namespace,
        name: setName,
        labels,
        annotations: {
          ...RolloutStatus.setAnnotations(deployment, undefined, revision),
          ...Rollout.sizeAnnotations(deployment)
        },
        ownerReferences: [controllerReference(deployment)]
      },
      spec: {
        replicas,
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [Rollout.hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } }
      }
    }))
    if (Result.isFailure(created)) return yield* explain(deployment, setName, created.failure)
    if (replicas > 0) yield* recordScaling(deployment, setName, 0, replicas)
    let next = RolloutStatus.setRevision(deployment, String(revision))
    if (RolloutStatus.hasDeadline(deployment)) {
      next = progressing(next, "NewReplicaSetCreated", `Created new replica set "${setName}"`)
    }
    return { deployment: yield* writeChanged(next, deployment), current: created.success, old }
  })

  /**
   * Handles a failed creation. A name that is taken is a hash collision: the next sync uses another hash. Other
   * failures are reported.
   */
  const explain = Effect.fnUntraced(function*(
    deployment: Deployment,
    name: string,
    error: KubeError
  ): Effect.fn.Return<never, KubeError> {
    const { status } = deployment
    if (error.reason._tag === "AlreadyExists") {
      yield* writeStatus({ ...deployment, status: { ...status, collisionCount: (status?.collisionCount ?? 0) + 1 } })
    } else if (!namespaceEnds(error)) {
      const message = `Failed to create new replica set "${name}": ${said(error)}`
      const failed = RolloutStatus.conditionNow(now(), "Progressing", "False", "ReplicaSetCreateError", message)
      if (RolloutStatus.hasDeadline(deployment)) {
        yield* Effect.ignore(writeChanged(RolloutStatus.setCondition(deployment, failed), deployment))
      }
      yield* recorder.warning(deployment, "ReplicaSetCreateError", message)
    }
    return yield* error
  })

  const recordScaling = (deployment: Deployment, name: string, from: number, to: number) =>
    recorder.normal(
      deployment,
      "ScalingReplicaSet",
      `Scaled ${to > from ? "up" : "down"} replica set ${name} from ${from} to ${to}`
    )

  /** Resizes a ReplicaSet and annotates it with the size of the Deployment; returns the updated set. */
  const resize = Effect.fnUntraced(function*(
    deployment: Deployment,
    { replicas, set }: Rollout.Resize
  ): Effect.fn.Return<ReplicaSet, KubeError> {
    const before = Rollout.replicasOf(set)
    const annotations = { ...set.metadata.annotations, ...Rollout.sizeAnnotations(deployment) }
    if (before === replicas && JsonValue.equals(annotations, set.metadata.annotations ?? {})) return set
    const updated = yield* client.replace(ReplicaSet, {
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, replicas }
    })
    if (before !== replicas) yield* recordScaling(deployment, set.metadata.name, before, replicas)
    return updated
  })

  /** Applies the resizes; returns the Rolling with the updated sets. */
  const resizeAll = Effect.fnUntraced(function*(
    rolling: Rolling,
    resizes: ReadonlyArray<Rollout.Resize>
  ): Effect.fn.Return<Rolling, KubeError> {
    const resized = new Map<string, ReplicaSet>()
    for (const change of resizes) resized.set(change.set.metadata.uid, yield* resize(rolling.deployment, change))
    const latest = (set: ReplicaSet) => resized.get(set.metadata.uid) ?? set
    return {
      ...rolling,
      current: rolling.current === undefined ? undefined : latest(rolling.current),
      old: rolling.old.map(latest)
    }
  })

  const cleanUp = ({ deployment, old }: Rolling) =>
    Effect.forEach(
      Rollout.outdated(deployment, old),
      (set) => Effect.catchReason(client.delete(ReplicaSet, set), "KubeError", "NotFound", () => Effect.void),
      { discard: true }
    )

  /** Syncs a Deployment that is paused or was scaled: updates sizes and counts without rolling out. */
  const keep = Effect.fnUntraced(function*(rolling: Rolling): Effect.fn.Return<void, KubeError> {
    const { current, deployment, old } = yield* resizeAll(
      rolling,
      Rollout.rescale(rolling.deployment, rolling.current, rolling.old)
    )
    if (deployment.spec.paused === true) yield* cleanUp(rolling)
    yield* setStatus(deployment, RolloutStatus.counts(deployment, old, current, now()))
  })

  /** Writes the status of a rollout. If that changes nothing, schedules the next sync for the deadline. */
  const setRolloutStatus = Effect.fnUntraced(function*(
    { current, deployment, old }: Rolling
  ): Effect.fn.Return<void, KubeError> {
    const status = RolloutStatus.rollout(deployment, old, current, now())
    if (yield* setStatus(deployment, status)) return
    if (RolloutStatus.isComplete(deployment, status)) return
    if (RolloutStatus.condition(status, "Progressing")?.reason === "ProgressDeadlineExceeded") return
    const deadline = RolloutStatus.deadline(deployment, status)
    if (deadline === Infinity) return
    // If the deadline has already passed, as with a scaling long after the last rollout, syncs again in a second.
    agenda.soon(
      keyString(deployment),
      deadline > now() ? deadline + (deadline - now() < 1000 ? 1 : 1000) : now() + 1000
    )
  })

  /** True if unfinished Pods of ReplicaSets other than the current one exist. */
  const oldPodsRun = ({ current, deployment, old }: Rolling): boolean =>
    Rollout.counted(old, "replicas") > 0 ||
    old.some((set) =>
      set !== current && pods.controlledBy(set.metadata.uid).some((pod) =>
        matcher(deployment.spec.selector)(pod) && !PodFacts.isTerminal(pod)
      )
    )

  const recreate = Effect.fnUntraced(function*(
    deployment: Deployment,
    owned: ReadonlyArray<ReplicaSet>
  ): Effect.fn.Return<void, KubeError> {
    const found = yield* syncRevision(deployment, owned, false)
    const shrunk = found.old.filter(Rollout.isActive).map((set) => ({ set, replicas: 0 }))
    if (shrunk.length > 0) return yield* setRolloutStatus(yield* resizeAll(found, shrunk))
    if (oldPodsRun(found)) return yield* setRolloutStatus(found)
    const rolling = found.current === undefined ? yield* syncRevision(found.deployment, owned, true) : found
    const { current } = rolling
    const grown = current === undefined || Rollout.replicasOf(current) === Rollout.replicasOf(deployment)
      ? rolling
      : yield* resizeAll(rolling, [{ set: current, replicas: Rollout.replicasOf(deployment) }])
    if (RolloutStatus.isComplete(rolling.deployment, rolling.deployment.status)) yield* cleanUp(rolling)
    yield* setRolloutStatus(grown)
  })

  const roll = Effect.fnUntraced(function*(
    deployment: Deployment,
    owned: ReadonlyArray<ReplicaSet>
  ): Effect.fn.Return<void, KubeError> {
    const rolling = yield* syncRevision(deployment, owned, true)
    const { current, old } = rolling
    if (current !== undefined) {
      const grown = Rollout.resizeCurrent(rolling.deployment, [...old, current], current)
      if (grown.length > 0) return yield* setRolloutStatus(yield* resizeAll(rolling, grown))
      const shrunk = Rollout.resizeOld(rolling.deployment, old, current)
      if (shrunk.length > 0) return yield* setRolloutStatus(yield* resizeAll(rolling, shrunk))
    }
    if (RolloutStatus.isComplete(rolling.deployment, rolling.deployment.status)) yield* cleanUp(rolling)
    yield* setRolloutStatus(rolling)
  })

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const known = deployments.get(parseKey(key))
    if (known === undefined) return
    const owned = yield* claim({
      owner: known,
      ownerResource: Deployment,
      resource: ReplicaSet,
      candidates: [...sets.controlledBy(known.metadata.uid), ...sets.orphans(known.metadata.namespace)],
      matches: matcher(known.spec.selector)
    })
    if (isTerminating(known)) {
      const { current, deployment, old } = yield* syncRevision(known, owned, false)
      return yield* Effect.asVoid(setStatus(deployment, RolloutStatus.counts(deployment, old, current, now())))
    }
    const deployment = yield* writeChanged(RolloutStatus.setPaused(known, now()), known)
    if (deployment.spec.paused === true || Rollout.wasScaled(deployment, owned)) {
      return yield* keep(yield* syncRevision(deployment, owned, false))
    }
    yield* Rollout.isRolling(deployment) ? roll(deployment, owned) : recreate(deployment, owned)
  })

  const agenda = yield* Loop.make({ sync, reads: [deployments, sets, pods] })

  wakeOwners(agenda, Deployment, deployments, sets, ({ spec }) => spec.selector)
  // Recreate waits until the last old Pod is gone.
  pods.listen((now, before) => {
    if (now !== undefined || before === undefined) return
    const owner = controllerOf(before)
    const key = owner === undefined
      ? undefined
      : ownerKey(Deployment, sets.get({ namespace: before.metadata.namespace, name: owner.name }))
    const deployment = key === undefined ? undefined : deployments.get(parseKey(key))
    if (deployment !== undefined && !Rollout.isRolling(deployment)) agenda.now(key!)
  })
})
