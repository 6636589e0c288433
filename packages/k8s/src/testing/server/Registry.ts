/**
 * `Registry`: which resources are served, in which versions, and what is known about each.
 *
 * Built-in kinds are fixed; custom ones come and go with their definitions. A resource has one collection in the
 * store, whatever the number of its versions: events of the core group and of events.k8s.io are the same objects.
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
  /** The schema of the version. */
  readonly schema: Schema
  /** Every version of the definition by its apiVersion, whether it is served or not. */
  readonly versions: ReadonlyMap<string, Served>
  /** An object in another version, as the definition's converter makes it: nothing is pruned or filled in. */
  readonly convert: (object: KubeObject, apiVersion: string) => Effect.Effect<KubeObject, StatusError.StatusError>
}

/**
 * From the stored form to that of one version, and back. What a webhook converts takes a call and may fail; everything
 * else is a function, so that resources without a webhook pay nothing. See `Versions`, which treats both alike.
 */
export type Conversion =
  | {
    readonly _tag: "Local"
    readonly fromStorage: (stored: KubeObject) => KubeObject
    readonly toStorage: (object: KubeObject) => KubeObject
  }
  | {
    readonly _tag: "Effectful"
    /** What an object was converted to before, if it was. */
    readonly remembered: (stored: KubeObject) => KubeObject | undefined
    /** Objects of any stored versions, in order. `fresh` asks again about what was converted before. */
    readonly fromStorage: (
      stored: ReadonlyArray<KubeObject>,
      fresh: boolean
    ) => Effect.Effect<ReadonlyArray<KubeObject>, StatusError.StatusError>
    readonly toStorage: (object: KubeObject) => Effect.Effect<KubeObject, StatusError.StatusError>
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
  readonly decode: (
    body: JsonValue.JsonObject,
    /** Whether this is no body, but what a server-side apply or a strategic merge patch has merged. */
    merged?: boolean
  ) => Result.Result<Decoded, StatusError.StatusError>
  /** Faults against the schema; of an update, what was there before may be tolerated, at times with a warning. */
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
  /** The Warning of a deprecated version. */
  readonly deprecation: string | undefined
  readonly custom: Custom | undefined
}

const apiVersions = new WeakMap<object, string>()

/** `version`, or `group/version`. One text for each resource, which a comparison need not read. */
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

/** Kinds that have words of their own for fields that they do not offer. */
const unsupported: Readonly<Record<string, (field: string) => string>> = {
  "jobs.batch": (field) => `field label ${quote(field)} not supported for Job`,
  "resourceslices.resource.k8s.io": (field) =>
    `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: ${field}`
}

/** What field selectors may name of a resource. */
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

/** Built-in resources, made once for all servers. */
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
  /** Grows with every change of what is served. */
  generation = 0

  /** Of built-in resources, those that are served, and all that there are. */
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

  /** A built-in resource in a version that need not be served. */
  builtin(group: string, version: string, plural: string): Served | undefined {
    return this.known.resources.get(key(group, version, plural))
  }

  /** The groups that the server has by itself, with what it serves of them. */
  get builtinGroups(): ReadonlyArray<Tables.ServedGroup> {
    return this.builtins.groups
  }

  /** True for a group that the server has by itself. */
  isBuiltin(group: string): boolean {
    return this.builtinGroupNames.has(group)
  }

  /** What a definition would serve, were it ready. */
  setUnready(definition: string, paths: ReadonlyArray<ResourcePath>): void {
    if (paths.length === 0) this.unready.delete(definition)
    else this.unready.set(definition, new Set(paths.map((path) => key(path.group, path.version, path.plural))))
  }

  /** True for a path that a definition has taken, though it cannot serve it. */
  isUnready({ group, plural, version }: ResourcePath): boolean {
    return this.unready.get(`${plural}.${group}`)?.has(key(group, version, plural)) === true
  }

  /**
   * Serves the versions of a definition; none ends that. All paths of a group that the server has by itself lead to what
   * it has there: a definition in one is established, and nothing comes of it.
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

  /** The groups besides the core group: built-in ones in their order, then custom ones by name. */
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
