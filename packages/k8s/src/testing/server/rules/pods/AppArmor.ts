/**
 * `AppArmor`: AppArmor profiles in annotations of a Pod, which predate the field.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/util.go (`ApparmorFieldForAnnotation`), pkg/registry/core/pod/strategy.go
 * (`applyAppArmorVersionSkew`).
 */
import { at, objectAt, stringAt } from "../../../../api/Plain.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"

/** The prefix of the annotations, followed by the name of a container. */
export const prefix = "container.apparmor.security.beta.kubernetes.io/"

const local = "localhost/"

const annotationsOf = (pod: unknown): Readonly<Record<string, unknown>> => objectAt(pod, "metadata", "annotations")

/** Whether the annotations may matter. They do not in Windows Pods. */
export const isAnnotated = (pod: unknown): boolean =>
  stringAt(pod, "spec", "os", "name") !== "windows" &&
  Object.keys(annotationsOf(pod)).some((key) => key.startsWith(prefix))

const profileAt = (context: unknown): JsonValue.JsonObject | undefined =>
  at(context, "appArmorProfile") === undefined ? undefined : objectAt(context, "appArmorProfile")

/** The profile in the Pod's own field. */
export const profileOfPod = (pod: unknown): JsonValue.JsonObject | undefined =>
  profileAt(at(pod, "spec", "securityContext"))

/** The profile in a container's own field. */
export const profileOfContainer = (container: unknown): JsonValue.JsonObject | undefined =>
  profileAt(at(container, "securityContext"))

/** The annotation for a container; undefined if there is none. */
export const annotationOf = (pod: unknown, container: unknown): string | undefined => {
  const annotation = annotationsOf(pod)[prefix + stringAt(container, "name")]
  return annotation === undefined ? undefined : String(annotation)
}

/** Whether a container has an annotation, but no field of its own. */
export const speaksFor = (pod: unknown, container: unknown): boolean =>
  annotationOf(pod, container) !== undefined && profileOfContainer(container) === undefined

const ofAnnotation = (annotation: string): JsonValue.JsonObject | undefined => {
  if (annotation === "unconfined") return { type: "Unconfined" }
  if (annotation === "runtime/default") return { type: "RuntimeDefault" }
  const profile = annotation.slice(local.length)
  return annotation.startsWith(local) && profile !== "" && profile.trim() === profile
    ? { type: "Localhost", localhostProfile: profile }
    : undefined
}

/** The profile in the annotation of a container without a field of its own; undefined if there is none. */
export const namedFor = (pod: unknown, container: unknown): JsonValue.JsonObject | undefined => {
  const annotation = speaksFor(pod, container) ? annotationOf(pod, container) : undefined
  return annotation === undefined ? undefined : ofAnnotation(annotation)
}

/** The warning about the annotation for a container, in the metadata at a path. */
export const warning = (path: string, container: unknown): string =>
  `${path}.annotations[${prefix}${stringAt(container, "name")}]: deprecated since v1.30; use the "appArmorProfile" ` +
  "field instead"
