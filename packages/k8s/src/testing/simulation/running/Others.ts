/**
 * `Others`: other parties in the cluster, who do something to the objects of an operator when a plan says so.
 *
 * They make Pods fail and remove them, annotate objects, take away labels and owner references, hold objects with their
 * own finalizers, make the work of Jobs fail, and have objects of their own. They are not the people who take the steps
 * of a story.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import { isTerminating, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Pod } from "../../../kinds/core.v1.ts"
import type { ApiServer, Change } from "../../ApiServer.ts"
import * as Declared from "../../Declared.ts"
import * as Kubelet from "../../Kubelet.ts"
import type { Scenario } from "../Scenario.ts"
import { guard, isElected, touched } from "../recording/Fault.ts"
import { type Entry, isOver, madeByPeople, phaseOf } from "../recording/Recording.ts"
import { isRemains } from "../state/Canonical.ts"
import type { World } from "../world/World.ts"
import * as Strangers from "./Strangers.ts"

export const defaults = {
  /** How long somebody else holds a deleted object, in milliseconds. */
  guard: 50_000,
  /** How many Pods fail of a Job whose work fails; more than a Job has that is tried only once or twice. */
  failures: 2
} as const

/**
 * Whether somebody has to replace a Pod: its owner, or the operator that created it. Pods that people create are not
 * replaced.
 */
const isReplaced = (entries: ReadonlyArray<Entry>, { metadata }: KubeObject): boolean =>
  (metadata.ownerReferences?.length ?? 0) > 0 ||
  entries.some((entry) =>
    entry._tag === "Call" && entry.request.method === "POST" && entry.object?.metadata.uid === metadata.uid
  )

/** Whether a Pod may fail or be removed by hand, and is then missed. A finished or terminating Pod is not. */
export const isVictim = (entries: ReadonlyArray<Entry>, pod: KubeObject): boolean =>
  !isTerminating(pod) && !isOver(pod) && isReplaced(entries, pod)

/** The uid of the object that an Event is about. */
const subjectOf = (object: KubeObject): string | undefined => {
  const { involvedObject, regarding } = object as KubeObject & {
    readonly involvedObject?: { readonly uid?: string }
    readonly regarding?: { readonly uid?: string }
  }
  return object.kind === "Event" ? (regarding ?? involvedObject)?.uid : undefined
}

/** The declared kind of an object, if it has one. */
export const declaredOf = (
  resources: Scenario["resources"],
  { apiVersion, kind }: KubeObject
): CustomResource | undefined =>
  Declared.versions(resources).find((resource) =>
    resource.kind === kind && apiVersion === `${resource.group}/${resource.version}`
  )

/** The cluster they are in. */
export interface Cluster {
  readonly world: World
  readonly resources: Scenario["resources"]
  /** What is stored, by place. */
  readonly stored: ReadonlyMap<string, KubeObject>
  readonly entries: ReadonlyArray<Entry>
  /** The services for acting in the cluster. */
  readonly access: () => Context.Context<ApiServer | KubeClient | Kubelet.Kubelet>
}

export class Others {
  readonly #cluster: Cluster
  /** Objects, by uid, that somebody else holds and will soon release. */
  readonly #releasing = new Set<string>()
  /** What somebody removes at the next rest, and the request that created it. */
  #doomed: { readonly n: number; readonly uid: string } | undefined
  /** Pods that they made fail, by uid. */
  readonly #failed = new Set<string>()
  /** Jobs whose work fails, with those of their Pods that have failed; by uid. */
  readonly #hindered = new Map<string, Set<string>>()
  /** Their own objects and what results from them, by uid. */
  readonly #strange = new Set<string>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** Something has changed, whoever did it. */
  saw(change: Change): void {
    this.#released(change)
    this.#fails(change)
  }

  /** Whether an object is one of their own or results from one: no story is about it. */
  isStrange(object: KubeObject): boolean {
    const { name, ownerReferences = [], uid } = object.metadata
    const about = subjectOf(object)
    const strange = name === Strangers.name || ownerReferences.some((owner) => this.#strange.has(owner.uid)) ||
      (about !== undefined && this.#strange.has(about))
    if (strange) this.#strange.add(uid)
    return strange
  }

  /** The remains of a Pod that they made fail, if the cluster itself has replaced it. */
  isLeft(object: KubeObject): boolean {
    return this.#failed.has(object.metadata.uid) && isRemains(object)
  }

  /** Has the object that a request created removed at the next rest. */
  doom(n: number, object: KubeObject | undefined): void {
    if (object !== undefined) this.#doomed = { n, uid: object.metadata.uid }
  }

  /** Makes the work of a Job fail. */
  hinder(job: KubeObject | undefined): void {
    if (job !== undefined) this.#hindered.set(job.metadata.uid, new Set())
  }

  /** Somebody else adds a finalizer to every custom resource. */
  get guard(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { resources, stored } = this.#cluster
      const held = [...stored.values()].filter((object) =>
        declaredOf(resources, object) !== undefined && !isTerminating(object)
      )
      return Effect.forEach(held, ({ metadata }) => this.#hold(metadata.uid, true), { discard: true })
    })
  }

  /**
   * People annotate everything that they or the operator created, and label what they created themselves. Custom
   * resources get no label, because some operators give those of a custom resource to what they create for it.
   */
  get annotate(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { access, entries, resources, stored } = this.#cluster
      const made = entries.flatMap((entry) =>
        entry._tag === "Call" && entry.status === 201 ? entry.object?.metadata.uid ?? [] : []
      )
      const [peoples, operators] = [new Set(madeByPeople(entries)), new Set(made)]
      const noteOn = (uid: string): string | undefined =>
        peoples.has(uid) ? "by somebody, at rest" : operators.has(uid) ? "by somebody, on what was made" : undefined
      const act = Effect.forEach([...stored.values()], (object) => {
        const note = noteOn(object.metadata.uid)
        return note === undefined || isElected(object)
          ? Effect.void
          : Effect.ignore(this.#edit(object, {
            annotations: { [touched]: note },
            ...(peoples.has(object.metadata.uid) && declaredOf(resources, object) === undefined
              ? { labels: { [touched]: "by-somebody" } }
              : {})
          }))
      }, { discard: true })
      return Effect.provideContext(act, access())
    })
  }

  /** They create objects of their own like those of the operator. */
  get settle(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { access, entries, resources, stored } = this.#cluster
      const kinds = Declared.stored(resources).map(({ kind }) => kind)
      const make = (model: KubeObject) =>
        KubeClient.use((client) => client.create(this.#resourceFor(model), Strangers.like(model) as KubeObject))
      const act = Effect.forEach(
        Strangers.models({ entries, kinds }, [...stored.values()]),
        (model) => Effect.ignore(make(model)),
        { discard: true }
      )
      return Effect.provideContext(act, access())
    })
  }

  /** Adds the finalizer of somebody else to an object in its current state, or removes it. */
  #hold(uid: string, held: boolean): Effect.Effect<void> {
    const change = Effect.suspend(() => {
      const object = this.#find(uid)?.[1]
      if (object === undefined) return Effect.void
      const { finalizers = [], resourceVersion } = object.metadata
      const others = finalizers.filter((finalizer) => finalizer !== guard)
      return this.#edit(object, { resourceVersion, finalizers: held ? [...others, guard] : others })
    })
    return Effect.ignore(Effect.provideContext(Effect.retry(change, { times: 3 }), this.#cluster.access()))
  }

  /** Somebody who held an object releases it some time after its deletion. */
  #released({ object, type }: Change): void {
    const { finalizers, uid } = object.metadata
    if (type === "DELETED" || !isTerminating(object) || finalizers?.includes(guard) !== true) return
    if (this.#releasing.has(uid)) return
    this.#releasing.add(uid)
    this.#cluster.world.fork(Effect.andThen(Effect.sleep(defaults.guard), this.#hold(uid, false)))
  }

  /** A Pod of a Job whose work fails does so as soon as it runs. */
  #fails({ object, type }: Change): void {
    if (this.#hindered.size === 0 || type === "DELETED" || phaseOf(object) !== "Running") return
    const { ownerReferences = [], uid } = object.metadata
    const [failed] = ownerReferences.flatMap((owner) => this.#hindered.get(owner.uid) ?? [])
    if (failed === undefined || failed.has(uid) || failed.size === defaults.failures) return
    failed.add(uid)
    this.#failed.add(uid)
    this.#cluster.world.fork(
      Effect.ignore(Effect.provideContext(Kubelet.fail(object.metadata), this.#cluster.access()))
    )
  }

  mischief(
    fault: "podFailed" | "podRemoved" | "orphaned" | "annotated",
    object: KubeObject | undefined
  ): Effect.Effect<void> {
    const act = fault === "orphaned"
      ? this.#edit(object, { labels: null, ownerReferences: null })
      : fault === "annotated"
      ? this.#edit(object, { annotations: { [touched]: "by somebody" } })
      : this.#harm(fault)
    return Effect.ignore(Effect.provideContext(act, this.#cluster.access()))
  }

  #harm(fault: "podFailed" | "podRemoved"): Effect.Effect<unknown, unknown, KubeClient | Kubelet.Kubelet> {
    return Effect.gen({ self: this }, function*() {
      const client = yield* KubeClient
      const { items } = yield* client.listPage(Pod, { limit: 0 })
      const victim = items.find((pod) => isVictim(this.#cluster.entries, pod))
      if (victim === undefined) return
      if (fault === "podFailed") this.#failed.add(victim.metadata.uid)
      yield* fault === "podFailed" ? Kubelet.fail(victim) : client.delete(Pod, victim, { gracePeriodSeconds: 0 })
    })
  }

  #edit(object: KubeObject | undefined, metadata: object): Effect.Effect<unknown, unknown, KubeClient> {
    if (object === undefined || object.kind === "Event") return Effect.void
    return KubeClient.use((client) =>
      client.patch(this.#resourceFor(object), object.metadata, Patch.merge({ metadata }))
    )
  }

  /** The resource by which an object is requested. */
  #resourceFor(object: KubeObject): Resource.Resource<KubeObject> {
    const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["", object.apiVersion]
    const place = this.#find(object.metadata.uid)?.[0]
    return Resource.make<KubeObject>()({
      group: group!,
      version: version!,
      kind: object.kind,
      plural: place?.split(/[. ]/)[0] ?? `${object.kind.toLowerCase()}s`,
      scope: object.metadata.namespace === undefined ? "Cluster" : "Namespaced"
    })
  }

  /**
   * Somebody removes by hand what a request of the plan created, if it still exists. Returns the number of the request,
   * and a function that says whether it was created again.
   */
  remove(): { readonly n: number; readonly name: string; readonly again: () => boolean } | undefined {
    const doomed = this.#doomed
    this.#doomed = undefined
    const found = doomed === undefined ? undefined : this.#find(doomed.uid)
    if (doomed === undefined || found === undefined || isTerminating(found[1])) return undefined
    const [place, object] = found
    const { generateName, name, namespace, ownerReferences = [], uid } = object.metadata
    const collection = place.slice(0, place.indexOf(" ") + 1)
    const peers = () =>
      [...this.#cluster.stored].filter(([at, { metadata }]) =>
        at.startsWith(collection) && metadata.deletionTimestamp === undefined &&
        metadata.ownerReferences?.some((owner) => ownerReferences.some((own) => own.uid === owner.uid)) === true
      ).length
    const before = peers()
    const again = () => {
      const now = this.#cluster.stored.get(place)
      // It is there all the time if it may not be removed.
      const there = now !== undefined && !isTerminating(now)
      // Another object may take its place, under a drawn or counted name.
      return there || ((generateName !== undefined || ownerReferences.length > 0) && peers() >= before)
    }
    // An object that owns others is removed last: a new one would meet what is left of the first one's.
    const owns = [...this.#cluster.stored.values()].some(({ metadata }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
    )
    const propagationPolicy = owns ? "Foreground" : "Background"
    const act = KubeClient.use((client) =>
      client.delete(this.#resourceFor(object), object.metadata, { propagationPolicy })
    )
    this.#cluster.world.fork(Effect.ignore(Effect.provideContext(act, this.#cluster.access())))
    return { n: doomed.n, name: `${object.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`, again }
  }

  /** A stored object and its place. */
  #find(uid: string): readonly [place: string, object: KubeObject] | undefined {
    return [...this.#cluster.stored].find(([, { metadata }]) => metadata.uid === uid)
  }
}
