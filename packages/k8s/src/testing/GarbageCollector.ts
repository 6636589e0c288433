/**
 * `GarbageCollector`: deletes objects whose owners are gone, as in kube-controller-manager.
 *
 * - Background: an object all of whose owners are gone is deleted. Owners are identified by uid: a recreated object of
 *   the same name is not the owner. If one of several owner references points nowhere, it is dropped.
 * - Foreground: an object with the finalizer `foregroundDeletion` stays until no dependent with `blockOwnerDeletion` is
 *   left; its dependents are deleted meanwhile. A dependent that would close a circle first stops blocking its owners.
 * - Orphan: an object with the finalizer `orphan` is removed from its dependents' references, then released.
 *
 * An owner counts as gone only if the server was asked for it, or if it was seen to go while it had dependents, as
 * custom objects do with their definition. Otherwise, an object whose owner is of a kind that the server does not serve
 * is never collected (until the kind is served), nor is a cluster-scoped object with a namespaced owner. An owner in
 * another namespace counts as gone. Every write is guarded by uid and resourceVersion.
 *
 * It costs a few map operations per change; nothing is listed, scanned or polled.
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
  /** Owners that were seen to go and are remembered, the latest. */
  absentOwners: 500
} as const

export interface Options {
  /**
   * Milliseconds until an object is looked at whose owners are not known: none by default. Where answers take no time,
   * whoever makes such objects anew would else do so for ever in one moment.
   */
  readonly patience?: number | undefined
}

/** Collects the garbage of the server until the scope closes. */
export const layerOptions = (options: Options): Layer.Layer<never, never, ApiServer | KubeClient> =>
  Layer.effectDiscard(Effect.suspend(() => run(options)))

export const layer = layerOptions({})

/** An owner as a reference names it, in a namespace, or in none. */
const identity = ({ apiVersion, kind, name, uid }: OwnerReference, namespace: string): string =>
  [apiVersion, kind, namespace, name, uid].join(" ")

/** What became of an owner. */
type Fate =
  | "Present"
  /** Present, but waiting for its dependents to go. */
  | "Waiting"
  | "Gone"
  /** Nothing can be said: its kind is not served, or it cannot own the object. */
  | "Unknown"

const run = Effect.fnUntraced(function*(
  { patience = 0 }: Options
): Effect.fn.Return<void, never, ApiServer | KubeClient | Scope.Scope> {
  const clock = yield* Clock.Clock
  const client = yield* KubeClient
  const kinds = yield* Inventory.kinds
  const graph = new OwnerGraph()
  /** Objects that wait for a kind of owner to be served. */
  const parked = new Set<string>()
  /** Owners that were seen to go, oldest first. */
  const absent = new Set<string>()

  /** Asks the server for the owner that a reference names. */
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

  /** Lets the owners go before the object; what it is then, if it is there. */
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

  /** An object that is not being deleted: is it anybody's? */
  const judge = Effect.fnUntraced(function*(node: Node): Effect.fn.Return<void, KubeError> {
    const fates = yield* Effect.forEach(node.owners, (reference) => fateOf(node, reference))
    if (fates.length === 0 || fates.includes("Unknown")) return
    const useless = new Set(node.owners.filter((_, at) => fates[at] !== "Present").map(({ uid }) => uid))
    if (useless.size === 0) return
    if (fates.includes("Present")) return yield* Effect.asVoid(dropOwners(node, useless))
    // An owner that waits for its dependents waits for theirs, too.
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
