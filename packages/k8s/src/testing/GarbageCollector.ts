/**
 * `GarbageCollector`: deletes objects whose owners are gone, as in kube-controller-manager.
 *
 * - Background: an object all of whose owners are gone is deleted. Owners are identified by uid, so a re-created object
 *   of the same name is not the owner. If only some of several owners are gone, their references are removed.
 * - Foreground: an object with the finalizer `foregroundDeletion` stays until no dependent with `blockOwnerDeletion` is
 *   left; its dependents are deleted meanwhile. A dependent that would close a circle first stops blocking its owners.
 * - Orphan: an object with the finalizer `orphan` is removed from the owner references of its dependents, then from the
 *   server.
 *
 * An owner counts as gone only if the server said so when asked, or if it was deleted while it had dependents (such as
 * custom objects with their definition). Otherwise, an object with an owner of a kind that is not served is not
 * collected until the kind is served. A cluster-scoped object with a namespaced owner is never collected. An owner in
 * another namespace counts as gone. Every write has uid and resourceVersion as preconditions.
 *
 * Each change costs a few map operations; nothing is listed, scanned or polled. It reads the server's log of changes,
 * which is ahead of every watch, so it has a client of its own: if its deletions counted at once for the controllers
 * that share the client in context (see `sim/Informers`), a controller that has not yet seen the deletion of an owner
 * would make its dependents again, again and again.
 *
 * Not simulated: the Events `OwnerRefInvalidNamespace`.
 *
 * Source: k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go.
 */
import { FieldManager, KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { OwnerReference } from "@effect-operator/core/KubeObject"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Agenda from "./sim/Agenda.ts"
import type { ApiServer } from "./ApiServer.ts"
import * as Inventory from "./sim/Inventory.ts"
import * as TestClient from "./TestClient.ts"
import {
  awaitsDependents,
  foregroundFinalizer,
  isMeant,
  type Node,
  nodeOf,
  orphanFinalizer,
  orphansDependents,
  OwnerGraph
} from "./sim/OwnerGraph.ts"

export const defaults = {
  /** The maximum number of deleted owners that are remembered. */
  absentOwners: 500
} as const

export interface Options {
  /**
   * Milliseconds before an object with unknown owners is processed; 0 by default. If responses take no time, a program
   * that re-creates such objects would otherwise loop forever in one moment.
   */
  readonly patience?: number | undefined
}

/** Collects the garbage of the server until the scope closes. */
export const layerOptions = (options: Options): Layer.Layer<never, never, ApiServer> =>
  Layer.effectDiscard(Effect.suspend(() => run(options))).pipe(Layer.provide(Layer.fresh(TestClient.layer)))

export const layer = layerOptions({})

/** An owner reference, qualified by namespace (`""` for none). */
const identity = ({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string =>
  [apiVersion, kind, namespace, name, uid].join(" ")

/** The state of an owner. */
type Fate =
  | "Present"
  /** Exists, but waits for its dependents to go. */
  | "Waiting"
  | "Gone"
  /** Unknown: its kind is not served, or it cannot own the object. */
  | "Unknown"

const run = Effect.fnUntraced(function*(
  { patience = 0 }: Options
): Effect.fn.Return<void, never, ApiServer | KubeClient | Scope.Scope> {
  const clock = yield* Clock.Clock
  const client = yield* KubeClient
  const kinds = yield* Inventory.kinds
  const graph = new OwnerGraph()
  /** Objects that wait until the kind of an owner is served. */
  const parked = new Set<string>()
  /** Owners that were deleted while they had dependents, oldest first. */
  const absent = new Set<string>()

  /** Gets the owner of a reference from the server. */
  const lookUp = Effect.fnUntraced(function*(node: Node, reference: OwnerReference): Effect.fn.Return<Fate, KubeError> {
    const resource = yield* kinds(reference.apiVersion, reference.kind)
    if (resource === undefined) {
      parked.add(node.uid)
      return "Unknown"
    }
    if (resource.scope === "Namespaced" && node.namespace === "") return "Unknown"
    const namespace = resource.scope === "Namespaced" ? node.namespace : undefined
    return yield* client.get(resource, { namespace, name: reference.name }).pipe(
      Effect.map((owner): Fate => owner.metadata.uid === reference.uid ? "Present" : "Gone"),
      Effect.catchReason("KubeError", "NotFound", () => Effect.succeed<Fate>("Gone"))
    )
  })

  const fateOf = (node: Node, reference: OwnerReference): Effect.Effect<Fate, KubeError> => {
    const owner = graph.get(reference.uid)
    if (owner === undefined && ["", node.namespace].some((place) => absent.has(identity(reference, place)))) {
      return Effect.succeed("Gone")
    }
    return owner !== undefined && isMeant(owner, reference, node.namespace)
      ? Effect.succeed(awaitsDependents(owner) ? "Waiting" : "Present")
      : lookUp(node, reference)
  }

  const patch = (node: Node, metadata: object) =>
    client.patch(
      node.resource,
      node,
      Patch.merge({ metadata: { uid: node.uid, resourceVersion: node.resourceVersion, ...metadata } })
    ).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.undefined))

  const dropFinalizer = (node: Node, finalizer: string) =>
    patch(node, { finalizers: node.finalizers.filter((name) => name !== finalizer) })

  const dropOwners = (node: Node, gone: ReadonlySet<string>) => {
    const left = node.owners.filter(({ uid }) => !gone.has(uid))
    return patch(node, { ownerReferences: left.length === 0 ? null : left })
  }

  /** Stops an object from blocking its owners; returns the updated object, if it still exists. */
  const unblock = (node: Node): Effect.Effect<Node | undefined, KubeError> =>
    Effect.map(
      patch(node, { ownerReferences: node.owners.map((owner) => ({ ...owner, blockOwnerDeletion: false })) }),
      (patched) => patched === undefined ? undefined : nodeOf(node.resource, patched)
    )

  const remove = (node: Node, propagationPolicy: "Background" | "Foreground" | "Orphan") =>
    client.delete(node.resource, node, {
      propagationPolicy,
      preconditions: { uid: node.uid, resourceVersion: node.resourceVersion }
    }).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))

  /** Processes an object that is not being deleted: deletes it if no owner is left. */
  const judge = Effect.fnUntraced(function*(node: Node): Effect.fn.Return<void, KubeError> {
    const fates = yield* Effect.forEach(node.owners, (reference) => fateOf(node, reference))
    if (fates.length === 0 || fates.includes("Unknown")) return
    const useless = new Set(node.owners.filter((_, at) => fates[at] !== "Present").map(({ uid }) => uid))
    if (useless.size === 0) return
    if (fates.includes("Present")) return yield* Effect.asVoid(dropOwners(node, useless))
    // If an owner waits for its dependents, it waits for their dependents, too.
    const dependents = graph.dependents(node.uid)
    const foreground = fates.includes("Waiting") && dependents.length > 0
    const removable = foreground && dependents.some(awaitsDependents) ? yield* unblock(node) : node
    if (removable === undefined) return
    yield* remove(
      removable,
      foreground || node.finalizers.includes(foregroundFinalizer)
        ? "Foreground"
        : node.finalizers.includes(orphanFinalizer)
        ? "Orphan"
        : "Background"
    )
  })

  const work = Effect.fnUntraced(function*(uid: string): Effect.fn.Return<void, KubeError> {
    const node = graph.get(uid)
    if (node === undefined) return
    if (!node.deleting) return yield* judge(node)
    if (orphansDependents(node)) {
      const mine = new Set([uid])
      yield* Effect.forEach(graph.dependents(uid), (dependent) => dropOwners(dependent, mine), { discard: true })
      yield* dropFinalizer(node, orphanFinalizer)
    } else if (awaitsDependents(node) && !graph.isBlocked(uid)) yield* dropFinalizer(node, foregroundFinalizer)
  }, Effect.provideService(FieldManager, "kube-controller-manager"))

  const agenda = yield* Agenda.make(work)
  yield* Inventory.follow({
    onPresent: (resource, object) => {
      const stray = patience > 0 &&
        object.metadata.ownerReferences?.some(({ uid }) => graph.get(uid) === undefined) === true
      for (const uid of graph.set(nodeOf(resource, object))) {
        if (stray) agenda.soon(uid, clock.currentTimeMillisUnsafe() + patience)
        else agenda.now(uid)
      }
      if (resource.kind === "CustomResourceDefinition") {
        parked.forEach(agenda.now)
        parked.clear()
      }
    },
    onGone: (_, { apiVersion, kind, metadata: { name, namespace = "", uid } }) => {
      agenda.forget(uid)
      parked.delete(uid)
      const dependents = graph.remove(uid)
      if (dependents.length === 0) return
      absent.add(identity({ apiVersion, kind, name, uid }, namespace))
      for (const oldest of absent) if (absent.size > defaults.absentOwners) absent.delete(oldest)
      dependents.forEach(agenda.now)
    }
  })
})
