/**
 * `OwnerGraph`: the ownership of objects, for the garbage collector.
 *
 * A pure index of every object's owner references, updated in constant time per reference. Each change returns the
 * objects that the collector has to process because of it.
 *
 * Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go.
 */
import { isTerminating, type KubeObject, type OwnerReference } from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"

/** Keeps an object until its dependents are gone. */
export const foregroundFinalizer = "foregroundDeletion"
/** Keeps an object until its dependents no longer refer to it. */
export const orphanFinalizer = "orphan"

/** An object, as far as ownership is concerned. */
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

/** Whether an object is being deleted after its dependents. */
export const awaitsDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(foregroundFinalizer)

/** Whether an object is being deleted without its dependents. */
export const orphansDependents = (node: Node): boolean => node.deleting && node.finalizers.includes(orphanFinalizer)

const groupOf = (apiVersion: string): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : ""

/**
 * Whether a reference in an object of `namespace` refers to a node: uid, group, kind and name are equal, and the node
 * is cluster-scoped or in the same namespace.
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

  /** Whether any dependent blocks the foreground deletion of the owner. */
  isBlocked(owner: string): boolean {
    for (const uid of this.owned.get(owner) ?? noNodes) {
      if (this.nodes.get(uid)!.owners.some((ref) => ref.uid === owner && ref.blockOwnerDeletion === true)) return true
    }
    return false
  }

  /** Adds or updates an object. Returns the uids of the objects to process. */
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
    // A removed or no longer blocking reference may unblock an owner.
    for (const { uid } of before?.owners ?? []) if (this.isWaiting(uid)) look.push(uid)
    return look
  }

  /** Removes an object. Returns the uids of the objects to process. */
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
