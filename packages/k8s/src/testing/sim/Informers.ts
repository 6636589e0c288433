/**
 * `Informers`: the simulated controllers' view of the cluster, with one watch per kind for all of them.
 *
 * An informer holds the objects of a kind, indexed by namespace and by controlling owner, and reports every change to
 * its listeners, in order. The controllers' own writes count at once: the response to a write is in the informer before
 * the caller continues, so a controller never acts twice on a state that it has already changed. (A real controller
 * waits for its "expectations" instead; to others it looks the same.) Events that are older than the known state, and
 * events of objects known to be deleted, are ignored.
 *
 * The layer is a constant, so controllers that are built together share it. Wait for `synced` before reading: before
 * its first list an informer is empty.
 *
 * Source of the contract: k8s.io/client-go/tools/cache; k8s.io/kubernetes/pkg/controller/controller_utils.go
 * (ControllerExpectations, PodControllerIndex).
 */
import { KubeClient } from "@effect-operator/core/KubeClient"
import {
  compareResourceVersions,
  controllerOf,
  hasGone,
  keyString,
  type KubeObject,
  type ObjectRef
} from "@effect-operator/core/KubeObject"
import type * as Resource from "@effect-operator/core/Resource"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { follow } from "./Follow.ts"

/** Called synchronously; must not throw. `now` is undefined if the object was deleted, `before` if it is new. */
export type Listener<A> = (now: A | undefined, before: A | undefined) => void

/** The objects of one kind. */
export interface Informer<A extends KubeObject> {
  readonly get: (ref: ObjectRef) => A | undefined
  /** All objects, in all namespaces. */
  readonly all: () => Iterable<A>
  readonly inNamespace: (namespace: string) => Iterable<A>
  /** The objects whose controlling owner has this uid. */
  readonly controlledBy: (uid: string) => ReadonlyArray<A>
  /** The objects of a namespace that have no controlling owner. */
  readonly orphans: (namespace: string) => ReadonlyArray<A>
  /** Reports every existing object, then every change. */
  readonly listen: (listener: Listener<A>) => void
  /** Completes after the first list. */
  readonly synced: Effect.Effect<void>
}

export class Informers extends Context.Service<Informers, {
  /** The informer of a kind, shared by all callers. It starts watching at the first call. */
  readonly of: <A extends KubeObject>(resource: Resource.Resource<A>) => Effect.Effect<Informer<A>>
}>()("@effect-operator/k8s/testing/sim/Informers") {}

/** Watches until the scope closes. */
export const layer: Layer.Layer<Informers, never, KubeClient> = Layer.effect(
  Informers,
  Effect.suspend(() => make)
)

const make = Effect.gen(function*() {
  const client = yield* KubeClient
  const scope = yield* Effect.scope
  const stores = new Map<string, Store>()

  yield* client.observe((write) => {
    const store = stores.get(write.resource.id)
    if (store === undefined) return
    if (write._tag === "Written") store.written(write.object)
    else if (write._tag === "Deleted") store.deleted(keyString(write.key), write.uid)
  })

  return Informers.of({
    of: <A extends KubeObject>(resource: Resource.Resource<A>) =>
      Effect.suspend(() => {
        const known = stores.get(resource.id)
        // The id of a resource determines its type.
        if (known !== undefined) return Effect.succeed(known.informer as Informer<A>)
        const store = makeStore()
        stores.set(resource.id, store)
        return follow(resource, store.handlers).pipe(
          Effect.provideService(KubeClient, client),
          Effect.forkIn(scope),
          Effect.as(store.informer as Informer<A>)
        )
      })
  })
})

interface Store {
  readonly informer: Informer<KubeObject>
  readonly handlers: {
    readonly onPresent: (object: KubeObject) => void
    readonly onGone: (object: KubeObject) => void
    readonly onListed: () => void
  }
  readonly written: (object: KubeObject) => void
  readonly deleted: (key: string, uid: string | undefined) => void
}

const makeStore = (): Store => {
  const objects = new Map<string, KubeObject>()
  const namespaces = new Map<string, Map<string, KubeObject>>()
  /** By the uid of the controlling owner, or by `orphan/NAMESPACE`. */
  const owners = new Map<string, Map<string, KubeObject>>()
  /** Objects deleted according to the response to a deletion, until the watch reports it. */
  const deleted = new Set<string>()
  const listeners: Array<Listener<KubeObject>> = []
  const synced = Latch.makeUnsafe()

  const ownerKey = (object: KubeObject): string =>
    controllerOf(object)?.uid ?? `orphan/${object.metadata.namespace ?? ""}`

  const index = (object: KubeObject, key: string): void => {
    objects.set(key, object)
    put(namespaces, object.metadata.namespace ?? "", key, object)
    put(owners, ownerKey(object), key, object)
  }

  const unindex = (object: KubeObject, key: string): void => {
    objects.delete(key)
    drop(namespaces, object.metadata.namespace ?? "", key)
    drop(owners, ownerKey(object), key)
  }

  const tell = (now: KubeObject | undefined, before: KubeObject | undefined): void => {
    for (const listener of listeners) listener(now, before)
  }

  const remove = (key: string, before: KubeObject): void => {
    unindex(before, key)
    tell(undefined, before)
  }

  const present = (object: KubeObject): void => {
    const { resourceVersion, uid } = object.metadata
    if (deleted.has(uid)) return
    const key = keyString(object)
    const before = objects.get(key)
    if (before === undefined) {
      index(object, key)
      return tell(object, undefined)
    }
    if (compareResourceVersions(resourceVersion, before.metadata.resourceVersion) <= 0) return
    unindex(before, key)
    index(object, key)
    if (before.metadata.uid === uid) return tell(object, before)
    tell(undefined, before)
    tell(object, undefined)
  }

  const removed = (key: string, uid: string | undefined): void => {
    const before = objects.get(key)
    if (before === undefined || (uid !== undefined && before.metadata.uid !== uid)) return
    deleted.add(before.metadata.uid)
    remove(key, before)
  }

  return {
    informer: {
      get: (ref) => objects.get(keyString(ref)),
      all: () => objects.values(),
      inNamespace: (namespace) => namespaces.get(namespace)?.values() ?? [],
      controlledBy: (uid) => [...owners.get(uid)?.values() ?? []],
      orphans: (namespace) => [...owners.get(`orphan/${namespace}`)?.values() ?? []],
      listen: (listener) => {
        for (const object of objects.values()) listener(object, undefined)
        listeners.push(listener)
      },
      synced: synced.await
    },
    handlers: {
      onPresent: present,
      onGone: (object) => {
        const { uid } = object.metadata
        deleted.delete(uid)
        const key = keyString(object)
        const before = objects.get(key)
        if (before?.metadata.uid === uid) remove(key, before)
      },
      onListed: () => synced.openUnsafe()
    },
    written: (object) => {
      if (hasGone(object)) removed(keyString(object), object.metadata.uid)
      else present(object)
    },
    deleted: removed
  }
}

const put = <A>(groups: Map<string, Map<string, A>>, group: string, key: string, object: A): void => {
  const members = groups.get(group)
  if (members === undefined) groups.set(group, new Map([[key, object]]))
  else members.set(key, object)
}

const drop = <A>(groups: Map<string, Map<string, A>>, group: string, key: string): void => {
  const members = groups.get(group)
  members?.delete(key)
  if (members?.size === 0) groups.delete(group)
}
