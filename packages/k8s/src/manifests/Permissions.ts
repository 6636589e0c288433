/**
 * `Permissions`: the minimal permissions of an operator, each with its reason.
 *
 * Reads follow from what the controllers (`for`, `owns`, `watches`) and caches declare. The framework's own writes
 * follow from the features in use (status, finalizers, events, a lease, certificates). All other reads and writes of
 * reconcilers are declared. A watch of certain namespaces needs a Role in each of them, everything else a ClusterRole.
 * Objects with known names are granted by name if the verb has one, which includes a list or watch of a single object.
 *
 * Every permission has an origin, so that a test can find declared ones that were not used (see `RbacProof`).
 */
import * as Cache from "@effect-operator/core/Cache"
import type * as Controller from "@effect-operator/core/Controller"
import * as Resource from "@effect-operator/core/Resource"
import type { Watch } from "@effect-operator/core/Watch"
import type { Api } from "../apiservice/Api.ts"
import { CustomResourceDefinition } from "../kinds/apiextensions.v1.ts"
import { APIService } from "../kinds/apiregistration.v1.ts"
import { groups } from "../kinds/tables.ts"
import type * as Lease from "./Lease.ts"
import * as CaBundle from "../webhook/CaBundle.ts"
import type { Any as AnyHook } from "../webhook/Hook.ts"

/** `bind` and `escalate` are needed to write a binding or role that grants more than the writer has. */
export type Verb =
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | "get"
  | "list"
  | "watch"
  | "bind"
  | "escalate"
  | "impersonate"

/** What the reconcilers do, in addition to what follows from their declarations. */
export interface Write {
  readonly resource: Resource.Any
  readonly verbs: ReadonlyArray<Verb>
  /** `status`, `scale`, `eviction`; the object itself if absent. */
  readonly subresource?: string | undefined
  /** Only in these namespaces; everywhere by default. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** Only objects with these names. Ignored for `create`, which RBAC cannot restrict by name. */
  readonly names?: ReadonlyArray<string> | undefined
}

export interface Options {
  readonly name: string
  readonly namespace: string
  readonly controllers: ReadonlyArray<Controller.Controller<any>>
  /** The kinds of its `Cache.layer`. */
  readonly cached?: ReadonlyArray<Cache.Selected> | undefined
  readonly writes: ReadonlyArray<Write>
  /** Kinds whose objects it rewrites in the storage version: see `StoredVersions`. */
  readonly migrates?: ReadonlyArray<Resource.Any> | undefined
  /** The names of its leases; none without election. */
  readonly leases?: Lease.Names | undefined
  /** The hooks, if the operator maintains their certificates itself. */
  readonly webhooks?: { readonly hooks: ReadonlyArray<AnyHook>; readonly secret: string } | undefined
  /** Its own API, if the operator maintains its certificates itself. */
  readonly apiService?: { readonly api: Api<any>; readonly secret: string } | undefined
  /** Whether reading its metrics needs the API server's permission. */
  readonly authentication?: boolean | undefined
}

/** A permission. */
export interface Permission {
  /** `""` for all namespaces, or for cluster-scoped resources. */
  readonly namespace: string
  readonly group: string
  /** Includes the subresource: `pods/status`. */
  readonly resource: string
  readonly verb: string
  readonly names: ReadonlyArray<string> | undefined
  /** Where it comes from: a watch, a declared write, or the framework itself. */
  readonly origin: "watch" | "declared" | "framework"
}

export interface Rule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

const everywhere = [""] as const

/** All permissions of an operator. */
export const of = (options: Options): ReadonlyArray<Permission> => {
  const { leases = [] } = options
  const permissions: Array<Permission> = []
  const allow = (
    origin: Permission["origin"],
    { group, scope }: Pick<Resource.Any, "group" | "scope">,
    resource: string,
    verbs: ReadonlyArray<string>,
    where: {
      readonly namespaces?: ReadonlyArray<string> | undefined
      readonly names?: ReadonlyArray<string> | undefined
    } = {}
  ) => {
    for (const namespace of scope === "Cluster" ? everywhere : where.namespaces ?? everywhere) {
      for (const verb of verbs) permissions.push({ namespace, group, resource, verb, names: where.names, origin })
    }
  }
  // Permissions in another cluster are granted by its administrators.
  const follow = (watch: Watch) => {
    if (watch.resource.cluster !== undefined) return
    allow("watch", watch.resource, watch.resource.plural, ["get", "list", "watch"], watch)
  }
  for (const kind of options.cached ?? []) follow(Cache.watchOf(kind))
  let confined: ReadonlyArray<string> | undefined = []
  for (const { finalize, resource, watches } of options.controllers) {
    const { namespaces } = watches[0]!
    confined = confined === undefined || namespaces === undefined || resource.scope === "Cluster"
      ? undefined
      : [...confined, ...namespaces]
    watches.forEach(follow)
    if (resource.cluster !== undefined) continue
    if (resource.subresources.includes("status") && !isBuiltIn(resource)) {
      allow("framework", resource, `${resource.plural}/status`, ["patch"], { namespaces })
    }
    if (finalize !== undefined) allow("framework", resource, resource.plural, ["patch"], { namespaces })
    if (leases === "shards") {
      // To release objects to another shard, and to label children like their owner.
      const follows = ({ owner }: Watch) => owner?.id === resource.id
      for (const watch of [watches[0]!, ...watches.filter(follows)]) {
        allow("framework", watch.resource, watch.resource.plural, ["patch"], watch)
      }
    }
    // Needed to set owner references that block deletion if OwnerReferencesPermissionEnforcement is enabled.
    allow("framework", resource, `${resource.plural}/finalizers`, ["update"], { namespaces })
  }
  for (const { names, namespaces, resource, subresource, verbs } of options.writes) {
    if (resource.cluster !== undefined) continue
    const what = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`
    for (const verb of verbs) {
      allow("declared", resource, what, [verb], { namespaces, names: verb === "create" ? undefined : names })
    }
  }
  for (const resource of options.migrates ?? []) {
    const names = [Resource.qualifiedName(resource)]
    const { plural } = CustomResourceDefinition
    allow("declared", CustomResourceDefinition, plural, ["get"], { names })
    allow("declared", CustomResourceDefinition, `${plural}/status`, ["update"], { names })
    allow("declared", resource, resource.plural, ["list", "update"])
  }
  // An operator with neither controllers nor a lease records no events.
  if (options.controllers.length > 0 || leases.length > 0) {
    allow("framework", { group: "events.k8s.io", scope: "Namespaced" }, "events", ["create", "patch"], {
      namespaces: options.controllers.length === 0 ? undefined : confined
    })
  }
  const own = { namespaces: [options.namespace] }
  const lease = { group: "coordination.k8s.io", scope: "Namespaced" } as const
  if (leases === "replicas" || leases === "shards") {
    allow("framework", lease, "leases", ["create", "get", "list", "watch", "update"], own)
    if (leases === "replicas") allow("framework", lease, "leases", ["delete"], own)
  } else if (leases.length > 0) {
    // A rule with an empty list of names would cover every lease.
    allow("framework", lease, "leases", ["create"], own)
    allow("framework", lease, "leases", ["get", "list", "watch", "update"], { ...own, names: leases })
  }
  const keeps = (secret: string) => {
    allow("framework", { group: "", scope: "Namespaced" }, "secrets", ["create"], own)
    allow("framework", { group: "", scope: "Namespaced" }, "secrets", ["list", "watch", "update"], {
      ...own,
      names: [secret]
    })
  }
  if (options.webhooks !== undefined) {
    const { hooks, secret } = options.webhooks
    keeps(secret)
    // A hook on the scale subresource reads the object behind the Scale.
    for (const { registration, resource } of hooks) {
      if (!registration?.resources.includes(`${resource.plural}/scale`)) continue
      allow("framework", resource, resource.plural, ["get"])
    }
    for (const { name, resource } of CaBundle.targets(hooks, options.name)) {
      allow("framework", resource, resource.plural, ["list", "watch", "patch"], { names: [name] })
    }
  }
  const reviews = { group: "authorization.k8s.io", scope: "Cluster" } as const
  if (options.apiService !== undefined) {
    const { api, secret } = options.apiService
    keeps(secret)
    allow("framework", APIService, APIService.plural, ["list", "watch", "patch"], { names: [api.name] })
    allow("framework", reviews, "subjectaccessreviews", ["create"])
    for (const { source } of api.kinds) {
      if (source._tag === "Derived") allow("watch", source.from, source.from.plural, ["get", "list", "watch"])
    }
  }
  if (options.authentication === true) {
    allow("framework", { group: "authentication.k8s.io", scope: "Cluster" }, "tokenreviews", ["create"])
    allow("framework", reviews, "subjectaccessreviews", ["create"])
  }
  return permissions
}

/** Whether one permission includes another. */
const covers = (by: Permission, permission: Permission): boolean =>
  by !== permission && by.group === permission.group && by.resource === permission.resource &&
  by.verb === permission.verb && (by.namespace === "" || by.namespace === permission.namespace) &&
  (by.names === undefined || (permission.names?.every((name) => by.names!.includes(name)) ?? false)) &&
  // Of two equal permissions one is kept.
  !(by.namespace === permission.namespace && JSON.stringify(by.names) === JSON.stringify(permission.names))

/** The rules by namespace, `""` for the ClusterRole: one per resource and list of names, in alphabetical order. */
export const rules = (permissions: ReadonlyArray<Permission>): Readonly<Record<string, ReadonlyArray<Rule>>> => {
  const places = new Map<string, Map<string, { readonly rule: Omit<Rule, "verbs">; readonly verbs: Set<string> }>>()
  for (const permission of permissions) {
    if (permissions.some((other) => covers(other, permission))) continue
    const { group, names, namespace, resource, verb } = permission
    const id = JSON.stringify([group, resource, names ?? []])
    const place = places.get(namespace) ?? new Map()
    places.set(namespace, place)
    const known = place.get(id) ?? {
      rule: { apiGroups: [group], resources: [resource], ...(names === undefined ? {} : { resourceNames: names }) },
      verbs: new Set()
    }
    place.set(id, known)
    known.verbs.add(verb)
  }
  const sorted = <A>(map: Map<string, A>) => [...map].sort(([a], [b]) => a < b ? -1 : 1)
  return Object.fromEntries(
    sorted(places).map(([namespace, place]) => [
      namespace,
      sorted(place).map(([, { rule, verbs }]) => ({ ...rule, verbs: [...verbs].sort() }))
    ])
  )
}

/** Whether a kind is built in, so that its status belongs to Kubernetes' own controllers. */
const isBuiltIn = ({ group }: Pick<Resource.Any, "group">): boolean => groups.some(({ name }) => name === group)
