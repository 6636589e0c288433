/**
 * `Api`: a group version that an operator serves itself, behind the cluster's aggregator.
 *
 * The aggregator forwards every request below `/apis/GROUP/VERSION` to the Service of the matching APIService. For one
 * of the cluster's own groups this would hide the cluster's objects, so such a group is refused when it is declared.
 * Kinds of a group version other than the one they are served in are refused as well: they would break discovery of the
 * whole cluster.
 */
import * as Tables from "../kinds/tables.ts"
import type { Any, Kind } from "./Kind.ts"

export const defaults = {
  /** The priority of the group among groups with a resource of the same name: that of custom resources. */
  groupPriorityMinimum: 1000,
  /** The priority of the version in its group. */
  versionPriority: 15
} as const

export interface Options<R> {
  readonly group: string
  readonly version: string
  readonly kinds: ReadonlyArray<Kind<R>>
  readonly groupPriorityMinimum?: number | undefined
  readonly versionPriority?: number | undefined
}

/** A group version with its kinds. */
export interface Api<out R = never> {
  readonly group: string
  readonly version: string
  /** `group/version`. */
  readonly groupVersion: string
  /** The name of its APIService: `version.group`. */
  readonly name: string
  readonly kinds: ReadonlyArray<Kind<R>>
  readonly groupPriorityMinimum: number
  readonly versionPriority: number
}

const reserved = (group: string): boolean =>
  group === "" || Tables.groups.some(({ name }) => name === group) ||
  /(^|\.)(k8s|kubernetes)\.io$/.test(group)

const refuse = (field: string, value: string, remedy: string): never => {
  throw new Error(`ApiService.make: ${field}: ${JSON.stringify(value)}: ${remedy}`)
}

/** Declares a group version. Throws if serving it would disturb the cluster, which is a mistake in the program. */
export const make = <R = never>(options: Options<R>): Api<R> => {
  const { group, groupPriorityMinimum, kinds, version, versionPriority } = { ...defaults, ...options }
  const groupVersion = `${group}/${version}`
  if (reserved(group)) {
    refuse(
      "group",
      group,
      "belongs to Kubernetes: an APIService for it would take over the cluster's own objects; choose a group in your own domain"
    )
  }
  if (kinds.length === 0) refuse("kinds", "[]", "must contain at least one kind")
  const plurals = new Set<string>()
  for (const [i, { resource }] of (kinds as ReadonlyArray<Any>).entries()) {
    if (resource.apiVersion !== groupVersion) {
      refuse(`kinds[${i}]`, resource.id, `must be of ${groupVersion}, the group version that is served`)
    }
    if (plurals.has(resource.plural)) {
      refuse(`kinds[${i}]`, resource.id, `another kind already has the plural ${resource.plural}`)
    }
    plurals.add(resource.plural)
    if (resource.subresources.includes("scale")) {
      refuse(
        `kinds[${i}]`,
        resource.id,
        "has the subresource scale, which an API service does not support: leave it out"
      )
    }
  }
  return {
    group,
    version,
    groupVersion,
    name: `${version}.${group}`,
    kinds,
    groupPriorityMinimum: groupPriorityMinimum ?? defaults.groupPriorityMinimum,
    versionPriority: versionPriority ?? defaults.versionPriority
  }
}
