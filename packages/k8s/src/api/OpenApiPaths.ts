/**
 * `OpenApiPaths`: the operations of resources in an OpenAPI document: every verb of a resource and its subresources,
 * with parameters, request body, response and kind.
 *
 * Operations have the names of a real server (`listAppsV1NamespacedDeployment`), so that clients generated from the
 * document have the usual names. There are no descriptions.
 *
 * Source: k8s.io/apiserver/pkg/endpoints/{installer,openapi}, k8s.io/apiextensions-apiserver/pkg/controller/openapi.
 */
import type { ServedSubresource } from "../kinds/tables.ts"
import type { JsonObject } from "../schema/JsonValue.ts"

export type Dialect = "v2" | "v3"

/** A resource in one version, as the document needs it. */
export interface Resource {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: ReadonlyArray<string>
  readonly subresources: ReadonlyArray<Pick<ServedSubresource, "name" | "group" | "version" | "kind" | "verbs">>
  readonly custom: boolean
  /** False if server-side apply is not supported. */
  readonly applies?: boolean
  /** Names of the schemas; `listSchema` is undefined if there is no list. */
  readonly schema: string
  readonly listSchema: string | undefined
}

export const references: Record<Dialect, string> = { v2: "#/definitions/", v3: "#/components/schemas/" }

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

const groupName = (group: string): string => (group === "" ? "core" : group.replace(/\.k8s\.io$/, ""))

/** From `rbac.authorization.k8s.io` to `rbacAuthorization`. */
export const camel = (group: string): string => {
  const [first = "", ...rest] = groupName(group).split(/[^A-Za-z0-9]+/)
  return first + rest.map(capital).join("")
}

export const mediaTypes = (custom: boolean): ReadonlyArray<string> =>
  custom
    ? ["application/json", "application/yaml"]
    : ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]

const watchTypes = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]

const patchTypes = ({ applies, custom }: Pick<Resource, "applies" | "custom">): ReadonlyArray<string> => [
  "application/json-patch+json",
  "application/merge-patch+json",
  ...(custom ? [] : ["application/strategic-merge-patch+json"]),
  ...(applies === false ? [] : ["application/apply-patch+yaml"])
]

type Parameter = readonly [name: string, type: "string" | "boolean" | "integer"]

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => a < b ? -1 : a > b ? 1 : 0

const listParameters: ReadonlyArray<Parameter> = [
  ["allowWatchBookmarks", "boolean"],
  ["continue", "string"],
  ["fieldSelector", "string"],
  ["labelSelector", "string"],
  ["limit", "integer"],
  ["resourceVersion", "string"],
  ["resourceVersionMatch", "string"],
  ["sendInitialEvents", "boolean"],
  ["timeoutSeconds", "integer"],
  ["watch", "boolean"]
]

const writeParameters: ReadonlyArray<Parameter> = [
  ["dryRun", "string"],
  ["fieldManager", "string"],
  ["fieldValidation", "string"]
]

const deleteParameters: ReadonlyArray<Parameter> = [
  ["dryRun", "string"],
  ["gracePeriodSeconds", "integer"],
  ["ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"],
  ["orphanDependents", "boolean"],
  ["propagationPolicy", "string"]
]

/** One way to ask. */
interface Operation {
  readonly method: "get" | "post" | "put" | "patch" | "delete"
  readonly action: string
  readonly id: string
  readonly parameters: ReadonlyArray<Parameter>
  /** The schema of the request body; undefined if there is none. */
  readonly reads: string | undefined
  readonly answers: string
  readonly codes: ReadonlyArray<readonly [code: string, text: string]>
}

const ok = ["200", "OK"] as const
const created = ["201", "Created"] as const
const accepted = ["202", "Accepted"] as const

const query = (dialect: Dialect, [name, type]: Parameter): JsonObject =>
  dialect === "v2"
    ? { uniqueItems: true, type, name, in: "query" }
    : { name, in: "query", schema: { type, uniqueItems: true } }

const inPath = (dialect: Dialect, name: string): JsonObject =>
  dialect === "v2"
    ? { uniqueItems: true, type: "string", name, in: "path", required: true }
    : { name, in: "path", required: true, schema: { type: "string", uniqueItems: true } }

const render = (dialect: Dialect, resource: Resource, operation: Operation, kind: Kind): JsonObject => {
  const { action, answers, codes, id, method, parameters, reads } = operation
  const { custom, group, version } = resource
  const reference = (name: string) => ({ $ref: `${references[dialect]}${name}` })
  // Lists of built-in kinds can be watched; the builder of custom kinds does not say so.
  const streamed = action === "list" && !custom ? watchTypes : []
  const produced = [...mediaTypes(custom), ...streamed]
  const consumed = method === "patch"
    ? patchTypes(resource)
    : dialect === "v2" && !custom
    ? ["*/*"]
    : mediaTypes(custom)
  const content = (types: ReadonlyArray<string>, name: string) =>
    Object.fromEntries(types.map((type) => [type, { schema: reference(name) }]))
  const queries = parameters.toSorted(byName).map((parameter) => query(dialect, parameter))
  const required = method !== "delete"
  const responses = Object.fromEntries([
    ...codes.map(([code, description]) => [
      code,
      dialect === "v2"
        ? { description, schema: reference(answers) }
        : { description, content: content(produced, answers) }
    ]),
    ["401", { description: "Unauthorized" }]
  ])
  const tail = {
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group: kind.group, kind: kind.kind, version: kind.version }
  }
  const tags = [`${camel(group)}_${version}`]
  if (dialect === "v2") {
    const body = reads === undefined
      ? []
      : [{ name: "body", in: "body", ...(required ? { required } : {}), schema: reference(reads) }]
    const all = [...body, ...queries]
    return {
      consumes: consumed,
      produces: produced,
      schemes: ["https"],
      tags,
      operationId: id,
      ...(all.length === 0 ? {} : { parameters: all }),
      responses,
      ...tail
    }
  }
  return {
    tags,
    operationId: id,
    ...(queries.length === 0 ? {} : { parameters: queries }),
    ...(reads === undefined
      ? {}
      : {
        requestBody: {
          content: content(method === "patch" ? consumed : custom ? produced : ["*/*"], reads),
          ...(required ? { required } : {})
        }
      }),
    responses,
    ...tail
  }
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** `AppsV1`, a part of the name of every operation of a version. */
const versionName = ({ group, version }: Resource): string => capital(camel(group)) + capital(version)

const listing = (resource: Resource, id: string): Operation => ({
  method: "get",
  action: "list",
  id,
  parameters: listParameters,
  reads: undefined,
  answers: resource.listSchema ?? resource.schema,
  codes: [ok]
})

const ofCollection = (resource: Resource): ReadonlyArray<Operation> => {
  const { custom, kind, namespaced, schema, verbs } = resource
  const name = versionName(resource)
  const scope = namespaced ? "Namespaced" : ""
  return [
    ...(verbs.includes("list") ? [listing(resource, `list${name}${scope}${kind}`)] : []),
    ...(verbs.includes("create")
      ? [
        {
          method: "post",
          action: "post",
          id: `create${name}${scope}${kind}`,
          parameters: writeParameters,
          reads: schema,
          answers: schema,
          codes: [ok, created, accepted]
        } as const
      ]
      : []),
    ...(verbs.includes("deletecollection")
      ? [
        {
          method: "delete",
          action: "deletecollection",
          id: `delete${name}Collection${scope}${kind}`,
          ...(custom
            // The builder of custom kinds knows only the options of a list.
            ? { parameters: listParameters, reads: undefined }
            : {
              parameters: [
                ...listParameters.filter(([key]) => key !== "watch" && key !== "allowWatchBookmarks"),
                ...deleteParameters
              ],
              reads: `${meta}DeleteOptions`
            }),
          answers: `${meta}Status`,
          codes: [ok]
        } as const
      ]
      : [])
  ]
}

/** The operations on one object, or on a subresource of it. */
const ofObject = (
  resource: Resource,
  verbs: ReadonlyArray<string>,
  schema: string,
  subresource: string
): ReadonlyArray<Operation> => {
  const { custom, kind, namespaced } = resource
  const id = (verb: string) => `${verb}${versionName(resource)}${namespaced ? "Namespaced" : ""}${kind}${subresource}`
  const operations: ReadonlyArray<readonly [verb: string, operation: Operation]> = [
    ["get", {
      method: "get",
      action: "get",
      id: id("read"),
      parameters: custom ? [["resourceVersion", "string"]] : [],
      reads: undefined,
      answers: schema,
      codes: [ok]
    }],
    ["create", {
      method: "post",
      action: "post",
      id: id("create"),
      parameters: writeParameters,
      reads: schema,
      answers: schema,
      codes: [ok, created, accepted]
    }],
    ["update", {
      method: "put",
      action: "put",
      id: id("replace"),
      parameters: writeParameters,
      reads: schema,
      answers: schema,
      codes: [ok, created]
    }],
    ["delete", {
      method: "delete",
      action: "delete",
      id: id("delete"),
      parameters: deleteParameters,
      reads: `${meta}DeleteOptions`,
      answers: `${meta}Status`,
      codes: [ok, accepted]
    }],
    ["patch", {
      method: "patch",
      action: "patch",
      id: id("patch"),
      parameters: [...writeParameters, ["force", "boolean"]],
      reads: `${meta}Patch`,
      answers: schema,
      codes: custom ? [ok] : [ok, created]
    }]
  ]
  return operations.filter(([verb]) => verbs.includes(verb)).map(([, operation]) => operation)
}

const has = (parameters: ReadonlyArray<Parameter>, [name]: Parameter): boolean =>
  parameters.some(([other]) => other === name)

const without = (parameters: ReadonlyArray<Parameter>, others: ReadonlyArray<Parameter>): ReadonlyArray<Parameter> =>
  parameters.filter((parameter) => !has(others, parameter))

/** The parameters of all operations of a path, which the path lists. */
const common = ([first, ...others]: ReadonlyArray<Operation>): ReadonlyArray<Parameter> =>
  first!.parameters.filter((parameter) => others.every(({ parameters }) => has(parameters, parameter)))

const pretty: Parameter = ["pretty", "string"]

/** The paths of a resource. `schemaOf` returns the schemas that subresources read and write. */
export const of = (
  resource: Resource,
  dialect: Dialect,
  schemaOf: (kind: Kind) => string | undefined
): ReadonlyArray<readonly [path: string, item: JsonObject]> => {
  const { group, namespaced, plural, version } = resource
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  const base = `${root}/${namespaced ? "namespaces/{namespace}/" : ""}${plural}`
  const item = (
    path: string,
    operations: ReadonlyArray<Operation>,
    kind: Kind = resource
  ): ReadonlyArray<readonly [string, JsonObject]> =>
    operations.length === 0 ? [] : [[path, {
      ...Object.fromEntries(
        operations.map((operation) => [
          operation.method,
          render(
            dialect,
            resource,
            { ...operation, parameters: without(operation.parameters, common(operations)) },
            kind
          )
        ])
      ),
      parameters: [
        ...["name", "namespace"].filter((name) => path.includes(`{${name}}`)).map((name) =>
          [name, inPath(dialect, name)] as const
        ),
        ...[pretty, ...common(operations)].map((parameter) => [parameter[0], query(dialect, parameter)] as const)
      ].sort(byName).map(([, parameter]) => parameter)
    }]]
  const everywhere = `list${versionName(resource)}${resource.kind}ForAllNamespaces`
  return [
    ...item(base, ofCollection(resource)),
    ...item(
      `${base}/{name}`,
      ofObject(resource, resource.verbs.filter((verb) => verb !== "create"), resource.schema, "")
    ),
    ...resource.subresources.flatMap((entry) => {
      const schema = entry.name === "status" && resource.custom ? resource.schema : schemaOf(entry)
      return schema === undefined
        ? []
        : item(
          `${base}/{name}/${entry.name}`,
          ofObject(resource, entry.verbs, schema, capital(entry.name)),
          // The builder of custom kinds names only them.
          resource.custom ? resource : entry
        )
    }),
    ...(namespaced && resource.verbs.includes("list") ? item(`${root}/${plural}`, [listing(resource, everywhere)]) : [])
  ]
}
