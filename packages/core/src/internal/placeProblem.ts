/** What is wrong with the target of a request, before anything is sent. */
import type * as Resource from "../Resource.ts"

export interface Target {
  readonly namespace?: string | undefined
  /** Present, even if undefined, where a name is required. */
  readonly name?: string | undefined
}

export const placeProblem = (resource: Resource.Any, target: Target): string | undefined =>
  strangeness(resource) ??
    (resource.scope === "Namespaced" ? segmentProblem("namespace", target.namespace, resource) : undefined) ??
    ("name" in target ? segmentProblem("name", target.name, resource) : undefined)

/** Why a kind is not for this client: it is of another cluster, and would be looked for in the wrong one. */
const strangeness = ({ cluster, id }: Resource.Any): string | undefined =>
  cluster === undefined
    ? undefined
    : `${id} is of cluster ${cluster}, and this client is for another: use the client of Cluster.layer`

/** What is wrong with a segment of a path. `.` and `..` would lead to another object. */
const segmentProblem = (field: string, value: string | undefined, resource: Resource.Any): string | undefined => {
  if (value === undefined || value === "") {
    return field === "namespace"
      ? `metadata.namespace: missing: ${resource.kind} is namespaced; give a namespace`
      : `metadata.name: missing: give the name of the ${resource.kind}`
  }
  return value === "." || value === ".."
    ? `metadata.${field}: ${JSON.stringify(value)}: is not a valid ${field}: give another`
    : undefined
}
