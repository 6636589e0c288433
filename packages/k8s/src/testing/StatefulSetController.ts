/**
 * `StatefulSetController`: runs Pods with stable names for StatefulSets, as in kube-controller-manager.
 *
 * Every ordinal has at most one Pod, with its claims. With OrderedReady, Pods start one after the other, each when
 * those before it are available, and stop from the last to the first. With Parallel, all start and stop at once.
 * Templates are kept as ControllerRevisions. A rolling update replaces Pods from the last ordinal down to the
 * partition, with at most `maxUnavailable` of them unavailable at once; with OnDelete, Pods are replaced only when a
 * client deletes them. Finished Pods are replaced. Claims follow the retention policy through owner references.
 *
 * `StatefulPods` contains identities, `Revisions` revisions, `ClaimRetention` the owners of claims.
 *
 * Source: k8s.io/kubernetes/pkg/controller/statefulset.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import { controllerReference, isTerminating, keyString, parseKey } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { ControllerRevision, StatefulSet } from "../kinds/apps.v1.ts"
import { PersistentVolumeClaim, Pod } from "../kinds/core.v1.ts"
import * as FieldError from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import * as ClaimRetention from "./sim/ClaimRetention.ts"
import { claim, matcher } from "./sim/Claims.ts"
import * as Informers from "./sim/Informers.ts"
import * as Loop from "./sim/Loop.ts"
import * as PodControl from "./sim/PodControl.ts"
import * as PodFacts from "./sim/PodFacts.ts"
import * as Recorder from "./sim/Recorder.ts"
import * as Revisions from "./sim/Revisions.ts"
import * as StatefulPods from "./sim/StatefulPods.ts"
import * as StatefulStatus from "./sim/StatefulStatus.ts"
import { wakeOwners } from "./sim/Triggers.ts"

/** Reconciles the StatefulSets of the server until the scope closes. */
export const layer: Layer.Layer<never, never, KubeClient> = Layer.effectDiscard(Effect.suspend(() => run)).pipe(
  Layer.provide(Informers.layer)
)

/** All revisions of a set, with the current one and the update revision. */
interface History {
  readonly all: ReadonlyArray<ControllerRevision>
  readonly current: ControllerRevision
  readonly update: ControllerRevision
  readonly collisions: number
}

type ClaimOfPod = ReturnType<typeof StatefulPods.claimsOf>[number]["claim"]

type Verb = "Create" | "Update" | "Delete"

/** Why a claim is missing: the server refused it, or it is still being deleted. */
interface Missing {
  readonly why: string
  readonly error?: KubeError
}

/** Fails with the first refusal among these claims, if any. */
const refused = (missing: ReadonlyArray<Missing>): Effect.Effect<void, KubeError> => {
  const error = missing.find((claim) => claim.error !== undefined)?.error
  return error === undefined ? Effect.void : Effect.fail(error)
}

const run: Effect.Effect<void, never, KubeClient | Informers.Informers | Scope.Scope> = Effect.gen(function*() {
  const client = yield* KubeClient
  const clock = yield* Clock.Clock
  const informers = yield* Informers.Informers
  const sets = yield* informers.of(StatefulSet)
  const pods = yield* informers.of(Pod)
  const volumes = yield* informers.of(PersistentVolumeClaim)
  const revisions = yield* informers.of(ControllerRevision)
  const recorder = yield* Recorder.make("statefulset-controller")

  const now = () => clock.currentTimeMillisUnsafe()

  const succeeded = (set: StatefulSet, verb: Verb, what: string, how: string) =>
    recorder.normal(set, `Successful${verb}`, `${verb} ${what} in StatefulSet ${set.metadata.name} ${how}`)

  const failed = (set: StatefulSet, verb: Verb, what: string, why: string) =>
    recorder.warning(set, `Failed${verb}`, `${verb} ${what} in StatefulSet ${set.metadata.name} failed error: ${why}`)

  /** Records the outcome of an operation on a Pod as an event, in the words of the real controller. */
  const told = <A>(
    set: StatefulSet,
    verb: Verb,
    pod: string,
    done: Effect.Effect<A, KubeError>
  ): Effect.Effect<A, KubeError> =>
    done.pipe(
      Effect.tap(succeeded(set, verb, `Pod ${pod}`, "successful")),
      Effect.tapError((error) => failed(set, verb, `Pod ${pod}`, PodControl.said(error)))
    )

  /** The revisions of the set. Orphans that match its selector are adopted. */
  const ownRevisions = Effect.fnUntraced(function*(
    set: StatefulSet
  ): Effect.fn.Return<ReadonlyArray<ControllerRevision>, KubeError> {
    const matches = matcher(set.spec.selector)
    const own = revisions.controlledBy(set.metadata.uid).filter(matches)
    const orphans = revisions.orphans(set.metadata.namespace).filter(matches)
    if (orphans.length === 0 || isTerminating(set)) return own.sort(Revisions.byRevision)
    const adopted = yield* Effect.forEach(orphans, (revision) =>
      client.patch(
        ControllerRevision,
        revision,
        Patch.strategic({ metadata: { uid: revision.metadata.uid, ownerReferences: [controllerReference(set)] } })
      ))
    return [...own, ...adopted].sort(Revisions.byRevision)
  })

  const createRevision = Effect.fnUntraced(function*(
    set: StatefulSet,
    data: unknown,
    revision: number,
    collisions: number
  ): Effect.fn.Return<readonly [ControllerRevision, number], KubeError> {
    const { annotations, namespace } = set.metadata
    const label = Revisions.hashOf(data, collisions)
    for (let tries = collisions;; tries++) {
      const name = Revisions.nameOf(set, Revisions.hashOf(data, tries))
      const made = yield* client.create(ControllerRevision, {
        metadata: {
          namespace,
          name,
          labels: { ...set.spec.template.metadata?.labels, [StatefulPods.label.hash]: label },
          ...(annotations === undefined ? {} : { annotations }),
          ownerReferences: [controllerReference(set)]
        },
        data,
        revision
      }).pipe(
        Effect.catchReason("KubeError", "AlreadyExists", () => client.get(ControllerRevision, { namespace, name }))
      )
      if (Revisions.sameData(made.data, data)) return [made, tries]
    }
  })

  /** Finds or creates the revision of the current template. */
  const history = Effect.fnUntraced(function*(set: StatefulSet): Effect.fn.Return<History, KubeError> {
    const all = yield* ownRevisions(set)
    const data = Revisions.dataOf(set.spec.template)
    const last = all.at(-1)
    const next = (last?.revision ?? 0) + 1
    const equal = all.filter((revision) => Revisions.sameData(revision.data, data)).at(-1)
    let collisions = set.status?.collisionCount ?? 0
    let update: ControllerRevision
    if (equal !== undefined) {
      update = Revisions.sameData(last?.data, data)
        ? last!
        : yield* client.replace(ControllerRevision, { ...equal, revision: next })
    } else [update, collisions] = yield* createRevision(set, data, next, collisions)
    const current = all.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update
    return { all, current, update, collisions }
  })

  const truncate = (set: StatefulSet, { all, current, update }: History, own: ReadonlyArray<Pod>) => {
    const live = new Set([current.metadata.name, update.metadata.name, ...own.map(StatefulPods.revisionOf)])
    const dead = all.filter(({ metadata }) => !live.has(metadata.name))
    const excess = dead.length - (set.spec.revisionHistoryLimit ?? 10)
    return Effect.forEach(
      dead.slice(0, Math.max(0, excess)),
      (revision) => client.delete(ControllerRevision, revision),
      {
        discard: true
      }
    )
  }

  /** Creates a claim, unless it exists by now. */
  const createClaim = (set: StatefulSet, pod: string, wanted: ClaimOfPod) => {
    const { name } = wanted.metadata
    return client.create(PersistentVolumeClaim, wanted).pipe(
      Effect.tap(succeeded(set, "Create", `Claim ${name} Pod ${pod}`, "success")),
      Effect.catchReason("KubeError", "AlreadyExists", () => Effect.void),
      Effect.tapError((error) => failed(set, "Create", `Claim ${name} for Pod ${pod}`, PodControl.said(error)))
    )
  }

  /**
   * Creates the missing claims of an ordinal; returns those that are still missing. One failure does not stop the
   * others.
   */
  const createClaims = Effect.fnUntraced(function*(
    set: StatefulSet,
    ordinal: number
  ): Effect.fn.Return<ReadonlyArray<Missing>> {
    const missing: Array<Missing> = []
    for (const { claim: wanted } of StatefulPods.claimsOf(set, ordinal)) {
      const { name } = wanted.metadata
      const known = volumes.get(wanted.metadata)
      if (known !== undefined) {
        if (isTerminating(known)) missing.push({ why: `pvc ${name} is being deleted` })
        continue
      }
      const done = yield* Effect.result(createClaim(set, `${set.metadata.name}-${ordinal}`, wanted))
      if (Result.isFailure(done)) {
        const why = `failed to create PVC ${name}: ${PodControl.said(done.failure)}`
        missing.push({ why, error: done.failure })
      }
    }
    return missing
  })

  /** Creates the claims of a Pod before the Pod is processed; false if it has to wait for them. */
  const prepareClaims = Effect.fnUntraced(function*(
    set: StatefulSet,
    verb: Verb,
    ordinal: number
  ): Effect.fn.Return<boolean, KubeError> {
    const missing = yield* createClaims(set, ordinal)
    if (missing.length === 0) return true
    yield* failed(
      set,
      verb,
      `Pod ${set.metadata.name}-${ordinal}`,
      FieldError.aggregateTexts(missing.map(({ why }) => why))
    )
    yield* refused(missing)
    return false
  })

  /** Gives the claims of a Pod the owners that the retention policy requires. */
  const retain = Effect.fnUntraced(function*(set: StatefulSet, pod: Pod): Effect.fn.Return<void, KubeError> {
    const ordinal = StatefulPods.ordinalOf(pod)
    for (const { claim: { metadata: { name, namespace } } } of StatefulPods.claimsOf(set, ordinal)) {
      const known = volumes.get({ namespace, name })
      if (known === undefined) continue
      if (ClaimRetention.isForeign(known, set, pod)) {
        const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging ` +
          "controller, the retention policy is ignored for this claim"
        yield* recorder.warning(set, "ConflictingController", message)
      }
      const ownerReferences = ClaimRetention.wanted(known, set, pod, !StatefulPods.isWanted(set, ordinal))
      if (ownerReferences === undefined) continue
      yield* client.replace(PersistentVolumeClaim, { ...known, metadata: { ...known.metadata, ownerReferences } })
    }
  })

  const createPod = Effect.fnUntraced(function*(
    set: StatefulSet,
    { current, update }: History,
    ordinal: number
  ): Effect.fn.Return<void, KubeError> {
    const of = StatefulPods.keepsCurrent(set, ordinal) ? current : update
    const pod = StatefulPods.make(set, Revisions.templateOf(of), of.metadata.name, ordinal)
    const name = `${set.metadata.name}-${ordinal}`
    if (!(yield* prepareClaims(set, "Create", ordinal))) return
    const created = yield* told(set, "Create", name, client.create(Pod, pod)).pipe(
      Effect.catchIf(PodControl.namespaceEnds, () => Effect.undefined)
    )
    if (created !== undefined) yield* retain(set, created)
  })

  const deletePod = (set: StatefulSet, pod: Pod) => told(set, "Delete", pod.metadata.name, client.delete(Pod, pod))

  /** Brings one ordinal closer to its desired state; true if the ordinals after it have to wait. */
  const settle = Effect.fnUntraced(function*(
    set: StatefulSet,
    versions: History,
    ordinal: number,
    pod: Pod | undefined
  ): Effect.fn.Return<boolean, KubeError> {
    if (pod === undefined) {
      const stale = ClaimRetention.deletesScaled(set) && StatefulPods.claimsOf(set, ordinal).some(({ claim }) => {
        const known = volumes.get(claim.metadata)
        return known !== undefined && ClaimRetention.isStale(known, {
          apiVersion: Pod.apiVersion,
          kind: Pod.kind,
          metadata: { name: `${set.metadata.name}-${ordinal}`, uid: "", resourceVersion: "", creationTimestamp: "" }
        })
      })
      if (!stale) yield* createPod(set, versions, ordinal)
      return true
    }
    if (PodFacts.isTerminal(pod)) {
      if (!isTerminating(pod)) yield* deletePod(set, pod)
      return true
    }
    if (pod.status?.phase === "Pending") {
      yield* refused(yield* createClaims(set, ordinal))
      yield* retain(set, pod)
    }
    const ordered = set.spec.podManagementPolicy !== "Parallel"
    if (ordered && !(StatefulPods.isRunningAndReady(pod) && StatefulPods.isAvailable(set, pod, now()))) return true
    const identified = StatefulPods.identified(set, pod)
    if (identified !== pod) {
      if (!(yield* prepareClaims(set, "Update", ordinal))) return true
      yield* told(set, "Update", pod.metadata.name, client.replace(Pod, identified))
    }
    yield* retain(set, pod)
    return false
  })

  /** Deletes a Pod whose ordinal is not wanted; true if those before it have to wait. */
  const condemn = Effect.fnUntraced(function*(
    set: StatefulSet,
    pod: Pod,
    firstUnavailable: Pod | undefined
  ): Effect.fn.Return<boolean, KubeError> {
    const ordered = set.spec.podManagementPolicy !== "Parallel"
    if (isTerminating(pod)) return ordered
    if (ordered && pod !== firstUnavailable && !StatefulPods.isAvailable(set, pod, now())) return true
    yield* deletePod(set, pod)
    return true
  })

  /** Processes each in turn. In order, it stops at the first that has to wait. True if it stopped. */
  const inTurn = Effect.fnUntraced(function*<A>(
    set: StatefulSet,
    items: ReadonlyArray<A>,
    act: (item: A) => Effect.Effect<boolean, KubeError>
  ): Effect.fn.Return<boolean, KubeError> {
    if (set.spec.podManagementPolicy === "Parallel") {
      const failure = yield* PodControl.slowStart(
        items.length,
        (index) => act(items[index]!),
        PodControl.defaults.burst
      )
      if (failure !== undefined) return yield* failure
      return false
    }
    for (const item of items) if (yield* act(item)) return true
    return false
  })

  /** Scales and updates; returns the number of Pods of the current revision that it gave up. */
  const manage = Effect.fnUntraced(function*(
    set: StatefulSet,
    versions: History,
    own: ReadonlyArray<Pod>
  ): Effect.fn.Return<number, KubeError> {
    const start = StatefulPods.startOf(set)
    const replicas = new Map(own.map((pod) => [StatefulPods.ordinalOf(pod), pod]))
    const ordinals = Array.from({ length: set.spec.replicas ?? 1 }, (_, index) => start + index)
    const condemned = own.filter((pod) => !StatefulPods.isWanted(set, StatefulPods.ordinalOf(pod)))
      .sort((a, b) => StatefulPods.ordinalOf(b) - StatefulPods.ordinalOf(a))
    const unavailable = (pod: Pod | undefined) => pod === undefined || !StatefulPods.isAvailable(set, pod, now())
    const firstUnavailable = ordinals.some((ordinal) => unavailable(replicas.get(ordinal)))
      ? replicas.get(ordinals.find((ordinal) => unavailable(replicas.get(ordinal)))!)
      : condemned.findLast(unavailable)

    if (yield* inTurn(set, ordinals, (ordinal) => settle(set, versions, ordinal, replicas.get(ordinal)))) return 0
    yield* Effect.forEach(condemned, (pod) => retain(set, pod), { discard: true })
    if (yield* inTurn(set, condemned, (pod) => condemn(set, pod, firstUnavailable))) return 0
    if ((set.spec.updateStrategy?.type ?? "RollingUpdate") !== "RollingUpdate") return 0

    const partition = set.spec.updateStrategy?.rollingUpdate?.partition ?? 0
    const budget = StatefulPods.maxUnavailable(set) -
      ordinals.filter((ordinal) => unavailable(replicas.get(ordinal))).length
    const outdated = ordinals.slice(partition).toReversed().flatMap((ordinal) => {
      const pod = replicas.get(ordinal)
      const old = pod !== undefined && StatefulPods.revisionOf(pod) !== versions.update.metadata.name
      return old && !isTerminating(pod) ? [pod] : []
    })
    const given = outdated.slice(0, Math.max(0, budget))
    yield* Effect.forEach(given, (pod) => deletePod(set, pod), { discard: true })
    return given.length
  })

  const sync = Effect.fnUntraced(function*(key: string): Effect.fn.Return<void, KubeError, KubeClient> {
    const set = sets.get(parseKey(key))
    if (set === undefined) return
    const matches = matcher(set.spec.selector)
    const own = yield* claim({
      owner: set,
      ownerResource: StatefulSet,
      resource: Pod,
      candidates: [...pods.controlledBy(set.metadata.uid), ...pods.orphans(set.metadata.namespace)],
      matches: (pod) => matches(pod) && StatefulPods.isMember(set, pod)
    })
    const versions = yield* history(set)
    const write = (deleted: number) => {
      const names = {
        current: versions.current.metadata.name,
        update: versions.update.metadata.name,
        collisions: versions.collisions
      }
      const status = StatefulStatus.counts(set, names, own, now(), deleted)
      return JsonValue.equals(StatefulStatus.plain(set.status), status)
        ? Effect.void
        : client.replace(StatefulSet, { ...set, status }, { subresource: "status" })
    }
    const deleted = isTerminating(set)
      ? 0
      : yield* Effect.tapError(manage(set, versions, own), () => write(0))
    yield* write(deleted)
    yield* truncate(set, versions, own)
    const next = PodFacts.nextAvailable(own, set.spec.minReadySeconds ?? 0, now())
    if (next < Infinity) agenda.soon(key, next)
  })

  const agenda = yield* Loop.make({ sync, reads: [sets, pods, volumes, revisions] })

  wakeOwners(agenda, StatefulSet, sets, pods, ({ spec }) => spec.selector)
  // A claim that is being deleted holds back the Pod that needs a new one.
  volumes.listen((now, before) => {
    if (now !== undefined || before === undefined) return
    for (const set of sets.inNamespace(before.metadata.namespace)) {
      const suffix = `-${set.metadata.name}-${StatefulPods.ordinalOf(before)}`
      if (before.metadata.name.endsWith(suffix)) agenda.now(keyString(set))
    }
  })
})
