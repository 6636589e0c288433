/**
 * `Revisions`: previous templates of a StatefulSet or DaemonSet, as ControllerRevisions.
 *
 * A revision contains `{"spec":{"template":{…,"$patch":"replace"}}}` as Go encodes it. Its name ends with a hash of
 * that text, so the same template always has the same name.
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

/** The data of a template's revision, with keys in Go's order: kubectl and others compare it byte by byte. */
export const dataOf = (template: PodTemplateSpec): unknown =>
  JSON.parse(FieldError.goJson({ spec: { template: { ...objectAt(dropNulls(template)), $patch: "replace" } } }))

/** Whether the data of two revisions are equal. */
export const sameData = (a: unknown, b: unknown): boolean => JsonValue.equals(a, b)

/** The template in a revision. */
export const templateOf = (revision: ControllerRevision): PodTemplateSpec => {
  const { $patch: _, ...template } = objectAt(revision.data, "spec", "template")
  return template
}

/** The hash of a revision's data; `collisions` changes it. */
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

/** Whether a revision contains a template. */
export const holdsTemplate = (revision: ControllerRevision): boolean =>
  at(revision.data, "spec", "template") !== undefined
