/**
 * `Cluster`: kinds of other clusters than the program's own, in one program.
 *
 * The cluster is part of a kind's identity: `Cluster.on(Pod, east)` is `Pod.v1@east`, another kind than `Pod.v1` to the
 * type checker and to the cache. A controller that reads Pods of the east must declare them; a declaration of its own
 * cluster's Pods does not help:
 *
 * ```ts
 * const east = Cluster.make("east")
 * const EastPod = Cluster.on(Pod, east)
 * Controller.make("pods", { for: Widget, watches: [Watch.make(EastPod, { map })], reconcile: () => Cache.list(EastPod) })
 *
 * Manager.layer([controller]).pipe(Layer.provide(Cluster.layer([[east, eastClient]])), Layer.provide(homeClient))
 * ```
 *
 * The client in context becomes one that sends each kind to its cluster, for reads and writes. Reads see own writes in
 * each cluster. A request for a kind of a cluster that was not added fails and says so; no other cluster answers it. A
 * watch of that kind is degraded until the cluster is added. Clusters can be added and removed while the program runs:
 * see `Clusters`. When a cluster is removed, its watches end; if one is added again under that name, its kinds are
 * listed anew.
 *
 * Leases are in the program's own cluster. So are events: an event about an object elsewhere is written here, in the
 * namespace of that name. Owner references do not cross clusters, and `owns` refuses it.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Client, type WatchOptions, type Write, Writing } from "./Client.ts"
import { idOf } from "./Informers.ts"
import { KubeClient } from "./KubeClient.ts"
import * as KubeError from "./KubeError.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Resource from "./Resource.ts"

/** A cluster, with its name in the type. */
export interface Cluster<out Name extends string = string> {
  readonly name: Name
}

export const make = <const Name extends string>(name: Name): Cluster<Name> => {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw new Error(`Cluster.make: ${JSON.stringify(name)}: must consist of lower-case letters, digits, "-" and "."`)
  }
  return { name }
}

/** The kind, in a cluster. */
export const on = <A extends KubeObject, Id extends string, Name extends string>(
  resource: Resource.Resource<A, Id>,
  cluster: Cluster<Name>
): Resource.Resource<A, `${Id}@${Name}`> => ({
  ...resource,
  id: `${resource.id}@${cluster.name}`,
  cluster: cluster.name
})

/** The clusters that the client in context reaches besides its own. */
export class Clusters extends Context.Service<Clusters, {
  /** Sends kinds of the cluster to this client until the scope closes. A name that is already in use is a defect. */
  readonly add: (cluster: Cluster, client: Client) => Effect.Effect<void, never, Scope.Scope>
  readonly names: () => ReadonlyArray<string>
}>()("@effect-operator/core/Cluster/Clusters") {}

/** The client in context, extended by those of other clusters. */
export const layer = <E = never, R = never>(
  clusters: ReadonlyArray<readonly [Cluster, Layer.Layer<KubeClient, E, R>]> = []
): Layer.Layer<KubeClient | Clusters, E, KubeClient | R> =>
  Layer.effectContext(Effect.gen(function*() {
    const { client, clusters: all } = router(yield* KubeClient)
    for (const [cluster, theirs] of clusters) {
      // Each cluster gets a client of its own, even if two use the same layer.
      yield* all.add(cluster, Context.get(yield* Layer.build(Layer.fresh(theirs)), KubeClient))
    }
    return Context.make(KubeClient, client).pipe(Context.add(Clusters, all))
  }))

type Observer = (write: Write) => void

/** A cluster that was added, until it is removed. */
interface Member {
  readonly client: Client
  /** Completes when the cluster is removed. */
  readonly left: Deferred.Deferred<void>
  /**
   * Selections that were read from this client; undefined if it is the first of its name. A later one may be of another
   * cluster, in which a resourceVersion that was read before means nothing.
   */
  readonly read: Set<string> | undefined
}

/** A client that sends each kind to its cluster. */
export const router = (home: Client): { readonly client: Client; readonly clusters: Clusters["Service"] } => {
  const members = new Map<string, Member>()
  const before = new Set<string>()
  const observers = new Set<Observer>()

  const clusters = Clusters.of({
    names: () => [...members.keys()],
    add: ({ name }, client) =>
      Effect.gen(function*() {
        yield* Effect.acquireRelease(
          Effect.suspend(() => {
            if (members.has(name)) {
              return Effect.die(
                new Error(`Cluster: ${name}: a cluster of this name has already been added: give each its own name`)
              )
            }
            const member: Member = {
              client,
              left: Deferred.makeUnsafe(),
              read: before.has(name) ? new Set() : undefined
            }
            members.set(name, member)
            before.add(name)
            return Effect.succeed(member)
          }),
          ({ left }) =>
            Effect.suspend(() => {
              members.delete(name)
              return Deferred.succeed(left, undefined)
            })
        )
        yield* client.observe((write) => {
          const ours = { ...write, resource: on(write.resource, { name }) }
          for (const observer of observers) observer(ours)
        })
      })
  })

  /** The client of a kind, and the kind as that client knows it. */
  const at = <A extends KubeObject, Id extends string, X>(
    verb: KubeError.Call["verb"],
    resource: Resource.Resource<A, Id>,
    known: (client: Client, resource: Resource.Resource<A, Id>) => X,
    unknown: (failure: KubeError.KubeError) => X
  ): X => {
    const { cluster } = resource
    if (cluster === undefined) return known(home, resource)
    const member = members.get(cluster)
    return member === undefined ? unknown(unreachable(verb, resource, cluster)) : known(member.client, local(resource))
  }

  /** A watch ends when its cluster is removed. It does not resume on a client that has not listed its selection. */
  const follow: Client["watch"] = <A extends KubeObject>(resource: Resource.Resource<A>, options: WatchOptions = {}) =>
    Stream.suspend(() => {
      const { cluster } = resource
      const member = cluster === undefined ? undefined : members.get(cluster)
      const watched = at("watch", resource, (to, it) => to.watch(it, options), Stream.fail)
      if (cluster === undefined || member === undefined) return watched
      const { left, read } = member
      const selection = idOf({ ...options, resource })
      if (options.resourceVersion === undefined) read?.add(selection)
      else if (read?.has(selection) === false) return Stream.fail(replaced(resource, cluster))
      return Stream.interruptWhen(
        watched,
        Effect.andThen(Deferred.await(left), Effect.fail(unreachable("watch", resource, cluster)))
      )
    })

  /** A write, marked and reported under the id by which the program knows the kind. */
  const write = <A extends KubeObject, Id extends string, X>(
    verb: KubeError.Call["verb"],
    resource: Resource.Resource<A, Id>,
    known: (client: Client, resource: Resource.Resource<A, Id>) => Effect.Effect<X, KubeError.KubeError>
  ): Effect.Effect<X, KubeError.KubeError> => {
    const sent = at(verb, resource, known, Effect.fail)
    return resource.cluster === undefined ? sent : Effect.updateService(sent, Writing, (writing) => ({
      ...writing,
      mark: writing.mark && ((_, object) => writing.mark!(resource, object)),
      wrote: (write, fields) =>
        writing.wrote({ ...write, resource: on(write.resource, { name: resource.cluster! }) }, fields)
    }))
  }

  // Every method by name: one that is forgotten here would go to the program's own cluster.
  const client: Client = {
    get: (resource, ...rest) => at("get", resource, (to, it) => to.get(it, ...rest), Effect.fail),
    list: (resource, ...rest) => at("list", resource, (to, it) => to.list(it, ...rest), Stream.fail),
    listPage: (resource, options) =>
      Effect.suspend(() => {
        const page = at("list", resource, (to, it) => to.listPage(it, options), Effect.fail)
        const read = resource.cluster === undefined ? undefined : members.get(resource.cluster)?.read
        return read === undefined
          ? page
          : Effect.tap(page, () => Effect.sync(() => read.add(idOf({ ...options, resource }))))
      }),
    watch: follow,
    create: (resource, ...rest) => write("create", resource, (to, it) => to.create(it, ...rest)),
    replace: (resource, ...rest) => write("replace", resource, (to, it) => to.replace(it, ...rest)),
    patch: (resource, ...rest) => write("patch", resource, (to, it) => to.patch(it, ...rest)),
    apply: (resource, ...rest) => write("apply", resource, (to, it) => to.apply(it, ...rest)),
    delete: (resource, ...rest) => write("delete", resource, (to, it) => to.delete(it, ...rest)),
    deleteCollection: (resource, ...rest) =>
      write("deletecollection", resource, (to, it) => to.deleteCollection(it, ...rest)),
    connect: (resource, ...rest) => at("connect", resource, (to, it) => to.connect(it, ...rest), Effect.fail),
    lines: (resource, ...rest) => at("connect", resource, (to, it) => to.lines(it, ...rest), Stream.fail),
    kinds: (apiVersion) => home.kinds(apiVersion),
    observe: (onWrite) =>
      Effect.andThen(
        home.observe(onWrite),
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => observers.add(onWrite)),
          () => Effect.sync(() => observers.delete(onWrite))
        ))
      )
  }
  return { client, clusters }
}

const unreachable = (verb: KubeError.Call["verb"], resource: Resource.Any, cluster: string): KubeError.KubeError =>
  KubeError.make(
    { verb, resource: Resource.qualifiedName(resource) },
    new KubeError.Transport({
      message: `there is no client for cluster ${cluster}: add one with Cluster.layer or Clusters.add`
    })
  )

const replaced = (resource: Resource.Any, cluster: string): KubeError.KubeError =>
  KubeError.make(
    { verb: "watch", resource: Resource.qualifiedName(resource) },
    new KubeError.Gone({ message: `cluster ${cluster} has a new client: list again`, code: 410 })
  )

const locals = new WeakMap<Resource.Any, Resource.Any>()

/** The kind as its own cluster names it. */
const local = <A extends KubeObject, Id extends string>(
  resource: Resource.Resource<A, Id>
): Resource.Resource<A, Id> => {
  const known = locals.get(resource)
  if (known !== undefined) return known as Resource.Resource<A, Id>
  const { cluster, ...rest } = resource
  const own = { ...rest, id: rest.id.slice(0, rest.id.lastIndexOf(`@${cluster}`)) as Id }
  locals.set(resource, own)
  return own
}
