/**
 * The differences between the OpenAPI document and Kubernetes 1.35: the document is slightly newer than the release
 * that the server stands for.
 *
 * Newer kinds (`MutatingAdmissionPolicy` in `v1`) stay, because programs may use servers that have them.
 */
import type { Document, OpenApiSchema } from "./Model.ts"

/** Fields that are newer than the release, by the ends of their types' names. */
const later: Readonly<Record<string, ReadonlyArray<string>>> = {
  "meta.v1.ListMeta": ["shardInfo"],
  "core.v1.PodSpec": ["schedulingGroup"],
  "core.v1.PodStatus": ["nodeAllocatableResourceClaimStatuses"],
  "core.v1.ResourceHealth": ["message"],
  "core.v1.VolumeMountStatus": ["volumeStatus"],
  "resource.v1.Device": ["nodeAllocatableResourceMappings"],
  "resource.v1.DeviceAttribute": ["bools", "ints", "strings", "versions"],
  "resource.v1beta1.BasicDevice": ["nodeAllocatableResourceMappings"],
  "resource.v1beta1.DeviceAttribute": ["bools", "ints", "strings", "versions"],
  "resource.v1beta2.Device": ["nodeAllocatableResourceMappings"],
  "resource.v1beta2.DeviceAttribute": ["bools", "ints", "strings", "versions"],
  "storage.v1.CSIDriverSpec": ["preventPodSchedulingIfMissing"]
}

/** Fields of the release that the document no longer has, by type. */
const gone: Readonly<Record<string, Readonly<Record<string, OpenApiSchema>>>> = {
  "core.v1.PodSpec": { workloadRef: { $ref: "#/definitions/io.k8s.api.core.v1.WorkloadReference" } }
}

const goneTypes: Readonly<Record<string, OpenApiSchema>> = {
  "io.k8s.api.core.v1.WorkloadReference": {
    type: "object",
    required: ["name", "podGroup"],
    properties: { name: { type: "string" }, podGroup: { type: "string" }, podGroupReplicaKey: { type: "string" } }
  }
}

const find = <A>(table: Readonly<Record<string, A>>, id: string): A | undefined =>
  Object.entries(table).find(([name]) => id.endsWith(`.${name}`))?.[1]

const corrected = (id: string, schema: OpenApiSchema): OpenApiSchema => {
  const [without = [], more = {}] = [find(later, id), find(gone, id)]
  const unknown = without.filter((field) => schema.properties?.[field] === undefined)
  if (unknown.length > 0) throw new Error(`Release.ts takes away what ${id} does not have: ${unknown.join(", ")}`)
  if (without.length === 0 && Object.keys(more).length === 0) return schema
  const kept = Object.entries(schema.properties ?? {}).filter(([field]) => !without.includes(field))
  return { ...schema, properties: { ...Object.fromEntries(kept), ...more } }
}

const referred = (schema: OpenApiSchema): ReadonlyArray<string> => [
  ...(schema.$ref === undefined ? [] : [schema.$ref.slice("#/definitions/".length)]),
  ...[schema.items, schema.additionalProperties, ...Object.values(schema.properties ?? {})].flatMap((inner) =>
    inner === undefined ? [] : referred(inner)
  )
]

const referredIn = (definitions: Document["definitions"]): ReadonlySet<string> =>
  new Set(Object.values(definitions).flatMap(referred))

/** The document as of the release; definitions used only by newer fields are removed, too. */
export const correct = (document: Document): Document => {
  let definitions: Document["definitions"] = Object.fromEntries(
    Object.entries({ ...document.definitions, ...goneTypes }).map(([id, schema]) => [id, corrected(id, schema)])
  )
  const before = referredIn(document.definitions)
  for (;;) {
    const now = referredIn(definitions)
    const kept = Object.entries(definitions).filter(([id]) => !before.has(id) || now.has(id))
    if (kept.length === Object.keys(definitions).length) return { ...document, definitions }
    definitions = Object.fromEntries(kept)
  }
}
