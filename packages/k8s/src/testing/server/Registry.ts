/**
 * `Registry`: the resources that are served, with their versions and everything that depends on the kind.
 *
 * Built-in resources are fixed; custom ones come and go with their definitions. All versions of a resource share one
 * collection in the store, and so do events of the core group and of events.k8s.io.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import * as Tables from "../../kinds/tables.ts"
import { type FieldError, quote } from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import type { NameRule } from "../../api/MetadataRules.ts"
import type { Schema } from "../../schema/Schema.ts"
import type { Decoded } from "../../api/CustomBody.ts"
import type { Group } from "../../api/DiscoveryDocuments.ts"
import type { Column } from "../../api/PrinterColumns.ts"
import { type Selectable, unsupportedField } from "../../api/Selecting.ts"
import * as StatusError from "../../api/StatusError.ts"
import type { Strategy } from "./Strategy.ts"

export type { Group } from "../../api/DiscoveryDocuments.ts"

/** The paths of the scale subresource of a custom resource. */
export interface ScalePaths {
  readonly specReplicas: ReadonlyArray<string>
  readonly statusReplicas: ReadonlyArray<string>
  readonly labelSelector: ReadonlyArray<string> | undefined
}

/** What only custom resources have. */
export interface Custom {
  /** The name of the definition. */
  readonly definition: string
  /** True once the definition is being deleted: nothing can be created any more. */
  readonly terminating: boolean
  readonly scale: ScalePaths | undefined
  /** The schema of the version. */
  readonly schema: Schema
  /** All versions of the definition by apiVersion, whether served or not. */
  readonly versions: ReadonlyMap<string, Served>
  /** An object in another version, as the definition's converter returns it, without pruning and defaulting. */
  readonly convert: (object: KubeObject, apiVersion: string) => Effect.Effect<KubeObject, StatusError.StatusError>
}

/**
 * Conversion between the stored form and that of one version. A conversion webhook is a call that may fail. All other
 * conversions are plain functions, so resources without a webhook have no overhead. See `Versions`, which handles both
 * alike.
 */
export type Conversion =
  | {
    readonly _tag: "Local"
    readonly fromStorage: (stored: KubeObject) => KubeObject
    readonly toStorage: (object: KubeObject) => KubeObject
  }
  | {
    readonly _tag: "Effectful"
    /** The previous conversion of an object, if any. */
    readonly remembered: (stored: KubeObject) => KubeObject | undefined
    /**
     * Converts objects of any stored versions, in order. With `fresh`, objects that were converted before are converted
     * again.
     */
    readonly fromStorage: (
      stored: ReadonlyArray<KubeObject>,
      fresh: boolean
    ) => Effect.Effect<ReadonlyArray<KubeObject>, StatusError.StatusError>
    readonly toStorage: (object: KubeObject) => Effect.Effect<KubeObject, StatusError.StatusError>
  }

/** A resource in one version. */
export interface Served extends Tables.ServedResource {
  /** The collection of its objects in the store. */
  readonly collection: string
  /** The version they are stored in. */
  readonly storageVersion: string
  readonly nameRule: NameRule
  readonly strategy: Strategy
  /** Reads, prunes and defaults a body of this version. */
  readonly decode: (
    body: JsonValue.JsonObject,
    /** True if this is the result of a server-side apply or strategic merge patch rather than a body. */
    merged?: boolean
  ) => Result.Result<Decoded, StatusError.StatusError>
  /** Reads what mutating admission has made of an object of this version. */
  readonly adopt: (object: JsonValue.JsonObject) => Result.Result<JsonValue.JsonObject, StatusError.StatusError>
  /** Faults against the schema. In an update, faults that existed before may be tolerated, sometimes with a warning. */
  readonly schemaFaults: (
    next: KubeObject,
    previous: KubeObject | undefined,
    part: "object" | "status",
    warn: (text: string) => void,
    /** Faults of the metadata. */
    found: ReadonlyArray<FieldError>
  ) => ReadonlyArray<FieldError>
  readonly conversion: Conversion
  readonly columns: ReadonlyArray<Column> | undefined
  /** The warning of a deprecated version. */
  readonly deprecation: string | undefined
  readonly custom: Custom | undefined
}

const apiVersions = new WeakMap<object, string>()

/** `version` or `group/version`. The same string instance for each resource, which is quick to compare. */
export const apiVersionOf = (resource: { readonly group: string; readonly version: string }): string => {
  let text = apiVersions.get(resource)
  if (text === undefined) {
    text = resource.group === "" ? resource.version : `${resource.group}/${resource.version}`
    apiVersions.set(resource, text)
  }
  return text
}

/** The subresource of that name, if it is served. */
export const subresource = (resource: Served, name: string): Tables.ServedSubresource | undefined =>
  resource.subresources.find((entry) => entry.name === name)

/** The messages of kinds that have their own for unsupported field labels. */
const unsupported: Readonly<Record<string, (field: string) => string>> = {
  "jobs.batch": (field) => `field label ${quote(field)} not supported for Job`,
  "resourceslices.resource.k8s.io": (field) =>
    `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`
}

/** The fields that field selectors of a resource may use. */
export const selectable = ({ collection, strategy: { fields, listsFields } }: Served): Selectable => ({
  fields,
  unsupported: (field) =>
    unsupported[collection] !== undefined
      ? StatusError.badRequest(unsupported[collection](field))
      : listsFields
      ? StatusError.badRequest(
        `${quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      )
      : unsupportedField(field)
})

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

export interface ResourcePath {
  readonly group: string
  readonly version: string
  readonly plural: string
}

const key = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`

interface Index {
  readonly groups: ReadonlyArray<Tables.ServedGroup>
  /** By `key`. */
  readonly resources: ReadonlyMap<string, Served>
  /** By `group/version`. */
  readonly versions: ReadonlyMap<string, ReadonlyArray<Served>>
}

/** Indexes of built-in resources, computed once for all servers. */
const indexes = new WeakMap<ReadonlyArray<Served>, Index>()

const indexOf = (builtins: ReadonlyArray<Served>): Index => {
  let index = indexes.get(builtins)
  if (index === undefined) {
    const versions = Map.groupBy(builtins, ({ group, version }) => `${group}/${version}`)
    index = {
      groups: Tables.groups
        .map((group) => ({
          ...group,
          versions: group.versions.filter((name) => versions.has(`${group.name}/${name}`))
        }))
        .filter((group) => group.versions.length > 0),
      resources: new Map(builtins.map((served) => [key(served.group, served.version, served.plural), served])),
      versions
    }
    indexes.set(builtins, index)
  }
  return index
}

export class Registry {
  private readonly builtins: Index
  private readonly known: Index
  private readonly builtinGroupNames: ReadonlySet<string>
  /** By name of the definition. */
  private readonly customs = new Map<string, ReadonlyArray<Served>>()
  private readonly byPath = new Map<string, Served>()
  /** By name of the definition. */
  private readonly unready = new Map<string, ReadonlySet<string>>()
  /** Increased with every change of the served resources. */
  generation = 0

  /** Takes the built-in resources that are served, and all that exist. */
  constructor(served: ReadonlyArray<Served>, all: ReadonlyArray<Served>) {
    this.builtins = indexOf(served)
    this.known = indexOf(all)
    this.builtinGroupNames = new Set(this.builtins.groups.map(({ name }) => name))
  }

  /** The resource at a path. */
  lookup(group: string, version: string, plural: string): Served | undefined {
    const path = key(group, version, plural)
    return this.builtins.resources.get(path) ?? this.byPath.get(path)
  }

  /** A built-in resource in a version that may not be served. */
  builtin(group: string, version: string, plural: string): Served | undefined {
    return this.known.resources.get(key(group, version, plural))
  }

  /** The built-in groups, with the versions that are served. */
  get builtinGroups(): ReadonlyArray<Tables.ServedGroup> {
    return this.builtins.groups
  }

  /** Whether a group is built in. */
  isBuiltin(group: string): boolean {
    return this.builtinGroupNames.has(group)
  }

  /** Sets the paths of a definition that cannot be served yet. */
  setUnready(definition: string, paths: ReadonlyArray<ResourcePath>): void {
    if (paths.length === 0) this.unready.delete(definition)
    else this.unready.set(definition, new Set(paths.map((path) => key(path.group, path.version, path.plural))))
  }

  /** Whether a path belongs to a definition that cannot serve it yet. */
  isUnready({ group, plural, version }: ResourcePath): boolean {
    return this.unready.get(`${plural}.${group}`)?.has(key(group, version, plural)) === true
  }

  /**
   * Serves the versions of a definition; an empty list stops that. In a built-in group only the built-in resources are
   * served: a definition in such a group becomes established, but has no effect.
   */
  setCustom(definition: string, served: ReadonlyArray<Served>): void {
    this.generation += 1
    for (const old of this.customs.get(definition) ?? []) this.byPath.delete(key(old.group, old.version, old.plural))
    if (served.length === 0) this.customs.delete(definition)
    else this.customs.set(definition, served)
    for (const next of served) {
      if (!this.isBuiltin(next.group)) this.byPath.set(key(next.group, next.version, next.plural), next)
    }
  }

  /** The group versions of custom resources. */
  customVersions(): ReadonlyArray<{ readonly group: string; readonly version: string }> {
    const seen = new Map(
      [...this.customs.values()].flat().map(({ group, version }) => [`${group}/${version}`, { group, version }])
    )
    return [...seen.values()].filter(({ group, version }) => !this.isBuiltinVersion(group, version))
  }

  private isBuiltinVersion(group: string, version: string): boolean {
    return this.builtins.versions.has(`${group}/${version}`)
  }

  /** Every served resource in every version. */
  all(): ReadonlyArray<Served> {
    return [...this.builtins.resources.values(), ...this.byPath.values()]
  }

  /** The resources of a group version, by plural. */
  inVersion(group: string, version: string): ReadonlyArray<Served> {
    const custom = [...this.byPath.values()].filter((served) => served.group === group && served.version === version)
    return [...this.builtins.versions.get(`${group}/${version}`) ?? [], ...custom]
      .sort((a, b) => (a.plural < b.plural ? -1 : 1))
  }

  /** All groups except the core group: built-in ones in their order, then custom ones by name. */
  groups(): ReadonlyArray<Group> {
    const custom = new Map<string, Set<string>>()
    for (const served of this.byPath.values()) {
      const versions = custom.get(served.group)
      if (versions === undefined) custom.set(served.group, new Set([served.version]))
      else versions.add(served.version)
    }
    return [
      ...this.builtins.groups.filter((group) => group.name !== ""),
      ...[...custom].filter(([name]) => !this.isBuiltin(name)).sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, versions]) => ({ name, versions: [...versions].sort(compareVersions) }))
    ]
  }
}
