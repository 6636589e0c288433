/**
 * `Registry`: which resources are served, in which versions, and what is known about each.
 *
 * Built-in kinds are fixed; custom ones come and go with their definitions. A resource has one collection in the
 * store, whatever the number of its versions: events of the core group and of events.k8s.io are the same objects.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Result from "effect/Result"
import * as Tables from "../../kinds/tables.ts"
import type { FieldError } from "../schema/FieldError.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import type { NameRule } from "./MetadataRules.ts"
import type { StatusError } from "../StatusError.ts"
import type { Strategy } from "./Strategy.ts"

/** A body as the resource's type reads it. */
export interface Decoded {
  readonly object: JsonValue.JsonObject
  /** Paths of unknown fields that were left out. */
  readonly unknown: ReadonlyArray<string>
}

/** A column of a table. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0 for what is always shown. */
  readonly priority: number
  readonly value: (object: KubeObject, now: number) => unknown
}

/** Where a custom resource keeps its replicas. */
export interface ScalePaths {
  readonly specReplicas: ReadonlyArray<string>
  readonly statusReplicas: ReadonlyArray<string>
  readonly labelSelector: ReadonlyArray<string> | undefined
}

/** What only custom resources have. */
export interface Custom {
  /** Name of the definition. */
  readonly definition: string
  /** True once the definition is being deleted: nothing new is created. */
  readonly terminating: boolean
  readonly scale: ScalePaths | undefined
  /** The Warning of a deprecated version. */
  readonly deprecation: string | undefined
}

/** A resource in one version. */
export interface Served extends Tables.ServedResource {
  /** Where its objects are stored. */
  readonly collection: string
  /** The version they are stored in. */
  readonly storageVersion: string
  readonly nameRule: NameRule
  readonly strategy: Strategy
  /** Reads, prunes and defaults a body of this version. */
  readonly decode: (body: JsonValue.JsonObject) => Result.Result<Decoded, StatusError>
  /** Faults against the schema; of an update, what was there before may be tolerated. */
  readonly schemaFaults: (
    next: KubeObject,
    previous: KubeObject | undefined,
    part: "object" | "status"
  ) => ReadonlyArray<FieldError>
  /** From the stored form to this version's, and back. */
  readonly fromStorage: (object: KubeObject) => KubeObject
  readonly toStorage: (object: KubeObject) => KubeObject
  readonly columns: ReadonlyArray<Column> | undefined
  readonly custom: Custom | undefined
}

/** `version`, or `group/version`. */
export const apiVersionOf = (resource: { readonly group: string; readonly version: string }): string =>
  resource.group === "" ? resource.version : `${resource.group}/${resource.version}`

/** The subresource of that name, if it is served. */
export const subresource = (resource: Served, name: string): Tables.ServedSubresource | undefined =>
  resource.subresources.find((entry) => entry.name === name)

/** A group in the order of `/apis`. */
export interface Group {
  readonly name: string
  /** The preferred one first. */
  readonly versions: ReadonlyArray<string>
}

const versionRank = (version: string): readonly [stage: number, major: number, minor: number] => {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (match === null) return [3, 0, 0]
  const stage = match[2] === undefined ? 0 : match[2] === "beta" ? 1 : 2
  return [stage, Number(match[1]), Number(match[3] ?? 0)]
}

/** v10, v2, v1, v2beta1, v1alpha1, then other names. */
export const compareVersions = (a: string, b: string): number => {
  const [stageA, majorA, minorA] = versionRank(a)
  const [stageB, majorB, minorB] = versionRank(b)
  return stageA - stageB || majorB - majorA || minorB - minorA || (a < b ? -1 : a > b ? 1 : 0)
}

const key = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`

export class Registry {
  private readonly builtins: ReadonlyMap<string, Served>
  private readonly builtinGroups: ReadonlySet<string> = new Set(Tables.groups.map((group) => group.name))
  /** By name of the definition. */
  private readonly customs = new Map<string, ReadonlyArray<Served>>()
  private readonly byPath = new Map<string, Served>()

  constructor(builtins: ReadonlyArray<Served>) {
    this.builtins = new Map(builtins.map((served) => [key(served.group, served.version, served.plural), served]))
  }

  /** The resource at a path. */
  lookup(group: string, version: string, plural: string): Served | undefined {
    const path = key(group, version, plural)
    return this.builtins.get(path) ?? this.byPath.get(path)
  }

  /** True for a group that the server has by itself. */
  isBuiltin(group: string): boolean {
    return this.builtinGroups.has(group)
  }

  /** Serves the versions of a definition; none ends that. */
  setCustom(definition: string, served: ReadonlyArray<Served>): void {
    for (const old of this.customs.get(definition) ?? []) this.byPath.delete(key(old.group, old.version, old.plural))
    if (served.length === 0) this.customs.delete(definition)
    else this.customs.set(definition, served)
    for (const next of served) this.byPath.set(key(next.group, next.version, next.plural), next)
  }

  /** Every served resource in every version. */
  all(): ReadonlyArray<Served> {
    return [...this.builtins.values(), ...this.byPath.values()]
  }

  /** The resources of a group version, by plural. */
  inVersion(group: string, version: string): ReadonlyArray<Served> {
    return this.all().filter((served) => served.group === group && served.version === version)
      .sort((a, b) => (a.plural < b.plural ? -1 : 1))
  }

  /** The groups besides the core group: built-in ones in their order, then custom ones by name. */
  groups(): ReadonlyArray<Group> {
    const custom = new Map<string, Set<string>>()
    for (const served of this.byPath.values()) {
      const versions = custom.get(served.group)
      if (versions === undefined) custom.set(served.group, new Set([served.version]))
      else versions.add(served.version)
    }
    return [
      ...Tables.groups.filter((group) => group.name !== ""),
      ...[...custom].filter(([name]) => !this.builtinGroups.has(name)).sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, versions]) => ({ name, versions: [...versions].sort(compareVersions) }))
    ]
  }
}
