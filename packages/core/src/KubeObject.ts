/**
 * `KubeObject`: what every Kubernetes object has, as the plain JSON that the API server sends.
 *
 * Objects are `readonly` data, never classes. Timestamps, quantities and resource versions stay strings. An object from
 * a server has a `KubeObject` type, with name, uid and resourceVersion. An object that a program writes has an `Input`
 * type (see `Resource.Input`), where the server fills these in.
 */

/** An owner of a dependent object; the garbage collector identifies owners by `uid`. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** True for the owner that manages the object; at most one reference may have it. */
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** One manager's claim on fields of an object (server-side apply). */
export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: unknown
  readonly subresource?: string
}

/** Metadata of an object that the server returned. */
export interface ObjectMeta {
  readonly name: string
  readonly generateName?: string
  readonly namespace?: string
  /** Unique over the whole cluster and all time: an object re-created under the same name has another uid. */
  readonly uid: string
  /** Grows with every write; opaque, but comparable as a decimal number within one resource (Kubernetes 1.35). */
  readonly resourceVersion: string
  /** Counts changes of the desired state; absent for kinds that have none. */
  readonly generation?: number
  /** RFC 3339, whole seconds, UTC. */
  readonly creationTimestamp: string
  /**
   * Set once deletion is requested; the object is removed when its finalizers are gone and its grace period is over.
   */
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: ReadonlyArray<OwnerReference>
  readonly finalizers?: ReadonlyArray<string>
  /** Never there in a cache, where they would be half of the memory: read them with the client. */
  readonly managedFields?: ReadonlyArray<ManagedFieldsEntry>
  readonly selfLink?: string
}

/** Metadata of an object that lives in a namespace. */
export interface NamespacedObjectMeta extends ObjectMeta {
  readonly namespace: string
}

/** Metadata as a program writes it: everything optional. Also the type of metadata in templates. */
export type PartialObjectMeta = { readonly [K in keyof ObjectMeta]?: ObjectMeta[K] | undefined }

/** Any object that a server returned. Fields beyond these exist at run time and survive a read-modify-write. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}

/** An object as a program writes it, before the server completes it. */
export interface PartialKubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata: PartialObjectMeta
}

/** Where an object is: its name, and its namespace unless the kind is cluster-scoped. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/** A reference to an object: its key, or the object itself. */
export type ObjectRef = ObjectKey | KubeObject

const isObject = (ref: ObjectRef | PartialKubeObject): ref is KubeObject => "metadata" in ref

/** The key of an object or key. */
export const key = (ref: ObjectRef): ObjectKey =>
  isObject(ref) ? { namespace: ref.metadata.namespace, name: ref.metadata.name } : ref

/** The uid, if the reference is an object rather than a key. */
export const uid = (ref: ObjectRef): string | undefined => isObject(ref) ? ref.metadata.uid : undefined

/** `namespace/name`, or `name` for a cluster-scoped object: the string key of caches and queues. */
export const keyString = (ref: ObjectRef): string => {
  const { name, namespace } = isObject(ref) ? ref.metadata : ref
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`
}

/** The inverse of `keyString`. */
export const parseKey = (text: string): ObjectKey => {
  const slash = text.indexOf("/")
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}

/** True once deletion was requested: the object only waits for finalizers or its grace period. */
export const isTerminating = (object: { readonly metadata: PartialObjectMeta }): boolean =>
  object.metadata.deletionTimestamp !== undefined

/**
 * Whether an object in the response to a write or deletion is no longer stored: it was being deleted, and nothing holds
 * it. A Namespace has finalizers in its spec, too.
 */
export const hasGone = (object: KubeObject & { readonly spec?: { readonly finalizers?: unknown } }): boolean => {
  const { deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata
  const waiting = Array.isArray(object.spec?.finalizers) && object.spec.finalizers.length > 0
  return isTerminating(object) && finalizers.length === 0 && deletionGracePeriodSeconds === 0 && !waiting
}

/** The reference with `controller: true`, if the object has one. */
export const controllerOf = (object: { readonly metadata: PartialObjectMeta }): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true)

/** Compares two resource versions of one resource: negative if `a` is older. Decimal strings of any length. */
export const compareResourceVersions = (a: string, b: string): number =>
  a.length === b.length ? (a < b ? -1 : a > b ? 1 : 0) : a.length - b.length

/** The object without its managed fields; the same object if it has none. */
export const withoutManagedFields = <A extends KubeObject>(object: A): A => {
  if (object.metadata.managedFields === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/**
 * An owner reference that makes `owner` the managing controller, blocking foreground deletion (client-go's default).
 */
export const controllerReference = (owner: KubeObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true
})

/**
 * An owner reference without control: the object goes with its last owner, but is no child of this one, which
 * `Sync.children` would delete if it is not wanted. For objects that somebody else has made (controller-runtime's
 * SetOwnerReference).
 */
export const ownerReference = (owner: KubeObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid
})
