/**
 * `OwnerGraph`: who belongs to whom, for the garbage collector.
 *
 * A pure index of every object's owner references, kept up with changes in constant time per reference. Each change
 * names the objects that deserve a look because of it; how they fare is for the collector to decide.
 *
 * Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go.
 */
import { isTerminating, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"

/** Holds an object until its dependents are gone. */
export const foregroundFinalizer = "foregroundDeletion"
/** Holds an object until its dependents are free of it. */
export const orphanFinalizer = "orphan"

/** An object, as far as ownership goes. */
export interface Node {
  readonly uid: string
  readonly resource: Resource.Any
  /** `""` for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly owners: ReadonlyArray<OwnerReference>
  readonly finalizers: ReadonlyArray<string>
  readonly deleting: boolean
}

export const nodeOf = (resource: Resource.Any, { metadata }: KubeObject): Node => ({
  uid: metadata.uid,
  resource,
  namespace: metadata.namespace ?? "",
  name: metadata.name,
  resourceVersion: metadata.resourceVersion,
  owners: metadata.ownerReferences ?? [],
  finalizers: metadata.finalizers ?? [],
  deleting: isTerminating({ metadata })
})

/** Being deleted, but only after its dependents. */
export const awaitsDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(foregroundFinalizer)

/** Being deleted, and to let go of its dependents. */
export const orphansDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(orphanFinalizer)

const groupOf = (apiVersion: string): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : ""

/**
 * Whether a node is what a reference of an object in `namespace` means: uid, group, kind and name agree, and it is in
 * the same namespace or in none.
 */
export const isMeant = (node: Node, reference: OwnerReference, namespace: string): boolean =>
  node.uid === reference.uid && node.name === reference.name && node.resource.kind === reference.kind &&
  node.resource.group === groupOf(reference.apiVersion) && (node.namespace === "" || node.namespace === namespace)

const noNodes: ReadonlySet<string> = new Set()

export class OwnerGraph {
  private readonly nodes = new Map<string, Node>()
  private readonly owned = new Map<string, Set<string>>()

  get(uid: string): Node | undefined {
    return this.nodes.get(uid)
  }

  /** The objects that refer to an owner. */
  dependents(owner: string): ReadonlyArray<Node> {
    return [...this.owned.get(owner) ?? noNodes].map((uid) => this.nodes.get(uid)!)
  }

  /** Whether some object that refers to the owner holds up its foreground deletion. */
  isBlocked(owner: string): boolean {
    for (const uid of this.owned.get(owner) ?? noNodes) {
      if (this.nodes.get(uid)!.owners.some((ref) => ref.uid === owner && ref.blockOwnerDeletion === true)) return true
    }
    return false
  }

  /** An object is new or changed. The answer: uids of the objects to look at. */
  set(node: Node): ReadonlyArray<string> {
    const before = this.nodes.get(node.uid)
    this.nodes.set(node.uid, node)
    for (const { uid } of before?.owners ?? []) this.unlink(uid, node.uid)
    for (const { uid } of node.owners) this.link(uid, node.uid)
    const look: Array<string> = []
    if (this.deservesLook(node)) look.push(node.uid)
    if (awaitsDependents(node) && (before === undefined || !awaitsDependents(before))) {
      look.push(...this.owned.get(node.uid) ?? noNodes)
    }
    // A reference that went, or blocks no more, may let an owner go.
    for (const { uid } of before?.owners ?? []) if (this.isWaiting(uid)) look.push(uid)
    return look
  }

  /** An object is gone. The answer: uids of the objects to look at. */
  remove(uid: string): ReadonlyArray<string> {
    const node = this.nodes.get(uid)
    if (node === undefined) return []
    this.nodes.delete(uid)
    for (const owner of node.owners) this.unlink(owner.uid, uid)
    return [
      ...this.owned.get(uid) ?? noNodes,
      ...node.owners.map((owner) => owner.uid).filter((owner) => this.isWaiting(owner))
    ]
  }

  private deservesLook(node: Node): boolean {
    if (node.deleting) return awaitsDependents(node) || orphansDependents(node)
    return node.owners.some((reference) => {
      const owner = this.nodes.get(reference.uid)
      return owner === undefined || !isMeant(owner, reference, node.namespace) || awaitsDependents(owner)
    })
  }

  private isWaiting(uid: string): boolean {
    const node = this.nodes.get(uid)
    return node !== undefined && awaitsDependents(node)
  }

  private link(owner: string, dependent: string): void {
    const dependents = this.owned.get(owner)
    if (dependents === undefined) this.owned.set(owner, new Set([dependent]))
    else dependents.add(dependent)
  }

  private unlink(owner: string, dependent: string): void {
    const dependents = this.owned.get(owner)
    if (dependents?.delete(dependent) === true && dependents.size === 0) this.owned.delete(owner)
  }
}
