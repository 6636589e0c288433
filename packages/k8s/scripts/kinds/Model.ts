/**
 * Reads the OpenAPI v2 document of Kubernetes into the model that the emitters need: the served resources with their
 * verbs and subresources, the group versions, and the definitions by module. Everything is sorted, so that the same
 * document gives the same output.
 */
import { categories, groupPriority, indexChoices, keyDefaults, shortNames } from "./Facts.ts"

export interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** A JSON schema as in the document. */
export interface OpenApiSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: ReadonlyArray<string>
  readonly items?: OpenApiSchema
  readonly additionalProperties?: OpenApiSchema
  readonly properties?: Readonly<Record<string, OpenApiSchema>>
  readonly required?: ReadonlyArray<string>
  readonly "x-kubernetes-group-version-kind"?: ReadonlyArray<Gvk>
  readonly "x-kubernetes-list-type"?: string
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: string
  readonly "x-kubernetes-patch-strategy"?: string
  readonly "x-kubernetes-patch-merge-key"?: string
}

interface Operation {
  readonly "x-kubernetes-action"?: string
  readonly "x-kubernetes-group-version-kind"?: Gvk
  readonly responses?: Readonly<Record<string, { readonly schema?: OpenApiSchema }>>
}

export interface Document {
  readonly definitions: Readonly<Record<string, OpenApiSchema>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export interface Subresource extends Gvk {
  readonly name: string
  readonly verbs: ReadonlyArray<string>
}

export interface Resource extends Gvk {
  readonly plural: string
  readonly singular: string
  readonly listKind: string
  readonly scope: "Namespaced" | "Cluster"
  readonly verbs: ReadonlyArray<string>
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  readonly subresources: ReadonlyArray<Subresource>
}

export interface Group {
  readonly name: string
  readonly versions: ReadonlyArray<string>
  /** The `groupPriorityMinimum` of its APIServices. */
  readonly priority: number
}

/** A definition, the module (`core.v1`) that exports its type, and the type's name there. */
export interface Definition {
  readonly id: string
  readonly module: string
  readonly name: string
  readonly schema: OpenApiSchema
  readonly kind: Gvk | undefined
}

export interface Model {
  readonly groups: ReadonlyArray<Group>
  readonly resources: ReadonlyArray<Resource>
  readonly definitions: ReadonlyMap<string, Definition>
}

export const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

/** Kubernetes' own order of versions: stable before beta before alpha, then the higher number first. */
export const compareVersions = (a: string, b: string): number => {
  const rank = (version: string) => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
    if (match === null) throw new Error(`not a Kubernetes version: ${version}`)
    const level = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0
    return [level, Number(match[1]), Number(match[3] ?? 0)] as const
  }
  const [x, y] = [rank(a), rank(b)]
  return y[0] - x[0] || y[1] - x[1] || y[2] - x[2]
}

export const isStable = (version: string): boolean => /^v\d+$/.test(version)

export const refId = (ref: string): string => ref.slice("#/definitions/".length)

/** `plural`, or `plural.group` outside the core group. */
export const qualified = (resource: { readonly plural: string; readonly group: string }): string =>
  resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`

/** Types that several modules share and that have no group version of their own. */
const commonTypes: ReadonlySet<string> = new Set([
  "io.k8s.apimachinery.pkg.api.resource.Quantity",
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
  "io.k8s.apimachinery.pkg.runtime.RawExtension",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
  "io.k8s.apimachinery.pkg.version.Info",
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON"
])

const moduleOf = (id: string): string => {
  if (commonTypes.has(id)) return "common"
  const parts = id.split(".")
  return `${parts.at(-3)}.${parts.at(-2)}`
}

const readDefinitions = (document: Document): ReadonlyMap<string, Definition> =>
  new Map(
    Object.keys(document.definitions).sort(compare).map((id) => {
      const schema = document.definitions[id]!
      return [id, {
        id,
        module: moduleOf(id),
        name: id.slice(id.lastIndexOf(".") + 1),
        schema,
        // DeleteOptions and WatchEvent list every group version that ever existed; they belong to the first.
        kind: schema["x-kubernetes-group-version-kind"]?.[0]
      }]
    })
  )

const pathPattern =
  /^\/(?:api|apis\/([^/]+))\/(v[^/]+)\/(namespaces\/\{namespace\}\/)?([a-z]+)(\/\{name\})?(?:\/([a-z]+))?$/

const methodVerbs: Readonly<Record<string, string>> = {
  get: "get",
  put: "update",
  post: "create",
  delete: "delete",
  patch: "patch"
}

const actionVerbs: Readonly<Record<string, string>> = {
  get: "get",
  list: "list",
  post: "create",
  put: "update",
  patch: "patch",
  delete: "delete",
  deletecollection: "deletecollection"
}

interface Draft {
  readonly verbs: Set<string>
  readonly subresources: Map<string, { readonly kind: Gvk; readonly verbs: Set<string> }>
  readonly group: string
  readonly version: string
  readonly plural: string
  kind: string
  listKind: string
  namespaced: boolean
}

const readResources = (document: Document): ReadonlyArray<Resource> => {
  const drafts = new Map<string, Draft>()
  const watchable = new Set<string>()
  for (const [path, methods] of Object.entries(document.paths)) {
    if (path.includes("/watch/")) {
      for (const operation of Object.values(methods)) {
        if (operation["x-kubernetes-action"] !== "watchlist") continue
        const { group, kind, version } = operation["x-kubernetes-group-version-kind"]!
        watchable.add(`${group}/${version}/${kind}`)
      }
      continue
    }
    const match = pathPattern.exec(path)
    if (match === null) continue
    const [, group = "", version = "", namespaced, plural = "", named, subresource] = match
    const id = `${group}/${version}/${plural}`
    const draft: Draft = drafts.get(id) ?? {
      verbs: new Set(),
      subresources: new Map(),
      group,
      version,
      plural,
      kind: "",
      listKind: "",
      namespaced: false
    }
    drafts.set(id, draft)
    if (namespaced !== undefined) draft.namespaced = true
    for (const [method, operation] of Object.entries(methods)) {
      const kind = operation["x-kubernetes-group-version-kind"]
      const action = operation["x-kubernetes-action"]
      if (kind === undefined || action === undefined) continue
      if (named !== undefined && subresource !== undefined) {
        const verb = methodVerbs[method]
        if (verb === undefined) continue
        const sub = draft.subresources.get(subresource) ?? { kind, verbs: new Set() }
        draft.subresources.set(subresource, sub)
        sub.verbs.add(verb)
        continue
      }
      const verb = actionVerbs[action]
      if (verb === undefined) throw new Error(`${method} ${path}: unknown action ${action}`)
      draft.verbs.add(verb)
      draft.kind = kind.kind
      if (verb === "list") {
        const list = operation.responses?.["200"]?.schema?.$ref
        if (list !== undefined) draft.listKind = list.slice(list.lastIndexOf(".") + 1)
      }
    }
  }
  return [...drafts.values()].map((draft): Resource => {
    const { group, kind, plural, version } = draft
    if (watchable.has(`${group}/${version}/${kind}`)) draft.verbs.add("watch")
    const name = qualified(draft)
    return {
      group,
      version,
      kind,
      plural,
      // Since Kubernetes 1.27 discovery names the lower-cased kind as the singular of every built-in resource.
      singular: kind.toLowerCase(),
      listKind: draft.listKind === "" ? `${kind}List` : draft.listKind,
      scope: draft.namespaced ? "Namespaced" : "Cluster",
      verbs: [...draft.verbs].sort(compare),
      shortNames: shortNames[name] ?? [],
      categories: Object.keys(categories).filter((category) => categories[category]!.includes(name)),
      subresources: [...draft.subresources].sort(([a], [b]) => compare(a, b)).map(([subresource, { kind, verbs }]) => ({
        name: subresource,
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
        verbs: [...verbs].sort(compare)
      }))
    }
  })
}

const priorityOf = (group: string): number => {
  const priority = groupPriority[group]
  if (priority === undefined) throw new Error(`Facts.ts has no priority for the group ${group}`)
  return priority
}

/** A fact about something that does not exist is a mistake, or about a kind that the new version renamed. */
const checkFacts = (document: Document, resources: ReadonlyArray<Resource>): void => {
  const names = new Set(resources.map(qualified))
  const groups = new Set(resources.map(({ group }) => group))
  const kinds = new Set(resources.map(({ group, kind }) => `${group}/${kind}`))
  const wrong = [
    ...[...Object.keys(shortNames), ...Object.values(categories).flat()].filter((name) => !names.has(name)),
    ...Object.keys(groupPriority).filter((group) => !groups.has(group)),
    ...Object.entries(indexChoices).filter(([kind, group]) => !kinds.has(`${group}/${kind}`)).map(([kind]) => kind),
    ...Object.entries(keyDefaults).flatMap(([id, defaults]) =>
      Object.keys(defaults).filter((name) => document.definitions[id]?.properties?.[name] === undefined)
        .map((name) => `${id}.${name}`)
    )
  ]
  if (wrong.length > 0) throw new Error(`Facts.ts names what the document does not have: ${wrong.join(", ")}`)
}

export const read = (document: Document): Model => {
  const resources = [...readResources(document)].sort((a, b) =>
    priorityOf(b.group) - priorityOf(a.group) || compare(a.group, b.group) || compareVersions(a.version, b.version) ||
    compare(a.plural, b.plural)
  )
  checkFacts(document, resources)
  const groups = new Map<string, Array<string>>()
  for (const { group, version } of resources) {
    const versions = groups.get(group) ?? []
    groups.set(group, versions)
    if (!versions.includes(version)) versions.push(version)
  }
  return {
    resources,
    groups: [...groups].map(([name, versions]) => ({ name, versions, priority: priorityOf(name) })),
    definitions: readDefinitions(document)
  }
}
