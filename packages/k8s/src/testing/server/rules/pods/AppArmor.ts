/**
 * `AppArmor`: profiles of AppArmor as annotations of a Pod named them before there was a field.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/util.go (`ApparmorFieldForAnnotation`), pkg/registry/core/pod/strategy.go
 * (`applyAppArmorVersionSkew`).
 */
import { at, objectAt, stringAt } from "../../../../api/Plain.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"

/** What the names of the annotations begin with, before a container's. */
export const prefix = "container.apparmor.security.beta.kubernetes.io/"

const local = "localhost/"

const annotationsOf = (pod: unknown): Readonly<Record<string, unknown>> => objectAt(pod, "metadata", "annotations")

/** Whether there may be anything to do: a Pod of Windows has none of this. */
export const isAnnotated = (pod: unknown): boolean =>
  stringAt(pod, "spec", "os", "name") !== "windows" &&
  Object.keys(annotationsOf(pod)).some((key) => key.startsWith(prefix))

const profileAt = (context: unknown): JsonValue.JsonObject | undefined =>
  at(context, "appArmorProfile") === undefined ? undefined : objectAt(context, "appArmorProfile")

/** The profile of a Pod, by its field. */
export const profileOfPod = (pod: unknown): JsonValue.JsonObject | undefined =>
  profileAt(at(pod, "spec", "securityContext"))

/** The profile of a container, by its own field. */
export const profileOfContainer = (container: unknown): JsonValue.JsonObject | undefined =>
  profileAt(at(container, "securityContext"))

/** What the annotations say of a container; undefined for nothing. */
export const annotationOf = (pod: unknown, container: unknown): string | undefined => {
  const annotation = annotationsOf(pod)[prefix + stringAt(container, "name")]
  return annotation === undefined ? undefined : String(annotation)
}

/** Whether an annotation speaks for a container that does not speak for itself. */
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

/** The profile that an annotation names for a container without one; undefined if it names none. */
export const namedFor = (pod: unknown, container: unknown): JsonValue.JsonObject | undefined => {
  const annotation = speaksFor(pod, container) ? annotationOf(pod, container) : undefined
  return annotation === undefined ? undefined : ofAnnotation(annotation)
}

/** What is said of the annotation for a container, in the metadata at a path. */
export const warning = (path: string, container: unknown): string =>
  `${path}.annotations[${prefix}${stringAt(container, "name")}]: deprecated since v1.30; use the "appArmorProfile" ` +
  "field instead"
