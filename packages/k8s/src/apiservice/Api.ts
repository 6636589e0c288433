/**
 * `Api`: one group version that an operator serves by itself, behind the cluster's aggregator.
 *
 * The aggregator sends everything below `/apis/GROUP/VERSION` to whoever an APIService names. One for a group of the
 * cluster's own would take the cluster's own objects away: such a group is refused when it is declared, and so are kinds
 * of another group version than the one they are served in, which break discovery of the whole cluster.
 */
import * as Tables from "../kinds/tables.ts"
import type { Any, Kind } from "./Kind.ts"

export const defaults = {
  /** Where the group stands among those that have a resource of the same name: as custom resources. */
  groupPriorityMinimum: 1000,
  /** Where the version stands in its group. */
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
  /** Of its APIService: `version.group`. */
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

/** Declares a group version. Throws where serving it would disturb the cluster: that is a mistake in the program. */
export const make = <R = never>(options: Options<R>): Api<R> => {
  const { group, groupPriorityMinimum, kinds, version, versionPriority } = { ...defaults, ...options }
  const groupVersion = `${group}/${version}`
  if (reserved(group)) {
    refuse(
      "group",
      group,
      "belongs to Kubernetes: an APIService for it would take over the cluster's own objects; choose a group in a domain of your own"
    )
  }
  if (kinds.length === 0) refuse("kinds", "[]", "must name at least one")
  const plurals = new Set<string>()
  for (const [i, { resource }] of (kinds as ReadonlyArray<Any>).entries()) {
    if (resource.apiVersion !== groupVersion) {
      refuse(`kinds[${i}]`, resource.id, `must be of ${groupVersion}, in which it is served`)
    }
    if (plurals.has(resource.plural)) refuse(`kinds[${i}]`, resource.id, `there is a kind ${resource.plural} already`)
    plurals.add(resource.plural)
    if (resource.subresources.includes("scale")) {
      refuse(`kinds[${i}]`, resource.id, "has the subresource scale, which is not served here: leave it out")
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
