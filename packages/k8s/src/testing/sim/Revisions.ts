/**
 * `Revisions`: the templates a StatefulSet or DaemonSet had, as ControllerRevisions.
 *
 * A revision holds `{"spec":{"template":{…,"$patch":"replace"}}}` as Go writes JSON; its name ends with a hash of that
 * text, so that the same template always has the same name.
 *
 * Source: k8s.io/kubernetes/pkg/controller/history/controller_history.go, getPatch of pkg/controller/statefulset.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { ControllerRevision } from "../../kinds/apps.v1.ts"
import type { PodTemplateSpec } from "../../kinds/core.v1.ts"
import { at, dropNulls, objectAt } from "../../api/Plain.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { fnv1, safe, utf8 } from "./Hash.ts"

/** What a revision of the template holds, its keys in the order of Go: kubectl and others compare it byte by byte. */
export const dataOf = (template: PodTemplateSpec): unknown =>
  JSON.parse(FieldError.goJson({ spec: { template: { ...objectAt(dropNulls(template)), $patch: "replace" } } }))

/** True if two revisions hold the same. */
export const sameData = (a: unknown, b: unknown): boolean => JsonValue.equals(a, b)

/** The template that a revision holds. */
export const templateOf = (revision: ControllerRevision): PodTemplateSpec => {
  const { $patch: _, ...template } = objectAt(revision.data, "spec", "template")
  return template
}

/** The hash of what a revision holds; `collisions` makes it another one. */
export const hashOf = (data: unknown, collisions: number): string =>
  safe(fnv1(utf8(String(collisions)), fnv1(utf8(FieldError.goJson(data)))))

/** The name of a revision. */
export const nameOf = (owner: KubeObject, hash: string): string => `${owner.metadata.name.slice(0, 223)}-${hash}`

/** The order of revisions: by number, then age, then name. */
export const byRevision = (a: ControllerRevision, b: ControllerRevision): number => {
  if (a.revision !== b.revision) return a.revision - b.revision
  const [timeA, timeB] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp]
  return timeA === timeB ? (a.metadata.name < b.metadata.name ? -1 : 1) : (timeA < timeB ? -1 : 1)
}

/** True if a revision holds a template at all. */
export const holdsTemplate = (revision: ControllerRevision): boolean =>
  at(revision.data, "spec", "template") !== undefined
