/**
 * `PodAnnotations`: validates annotations with a meaning for Pods, in Pods and templates.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (`ValidatePodSpecificAnnotations`,
 * `validateSeccompAnnotationsAndFields`, `validateAppArmorAnnotationsAndFieldsMatchOnCreate`).
 */
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, when } from "../Checks.ts"
import * as AppArmor from "./AppArmor.ts"
import * as PodSystemRules from "./PodSystemRules.ts"

const mirror = "kubernetes.io/config.mirror"
const cost = "controller.kubernetes.io/pod-deletion-cost"
const seccompOfPod = "seccomp.security.alpha.kubernetes.io/pod"
const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/"
const local = "localhost/"

type Annotations = Readonly<Record<string, unknown>>

const annotationsOf = (pod: unknown): Annotations => objectAt(pod, "metadata", "annotations")

const startingWith = (prefix: string, annotations: Annotations): ReadonlyArray<string> =>
  Object.keys(annotations).filter((key) => key.startsWith(prefix)).sort()

const isCost = (value: string): boolean =>
  /^(?:0|-\d+|[1-9]\d*)$/.test(value) && Math.abs(Number(value) + 0.5) <= 2 ** 31

const ofSeccomp = (key: string, profile: string, path: string): Faults => {
  const here = `${path}.${key}`
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return []
  if (!profile.startsWith(local)) return [FieldError.invalid(here, profile, "must be a valid seccomp profile")]
  const file = profile.slice(local.length)
  return [
    ...when(file.startsWith("/"), FieldError.invalid(here, file, "must be a relative path")),
    ...when(file.split("/").includes(".."), FieldError.invalid(here, file, "must not contain '..'"))
  ]
}

const ofAppArmor = (pod: unknown, annotations: Annotations, path: string): Faults => {
  const names = new Set(
    PodSystemRules.containersOf(at(pod, "spec"), "").map(([container]) => stringAt(container, "name"))
  )
  return startingWith(AppArmor.prefix, annotations).flatMap((key) => {
    const [here, name, profile] = [`${path}[${key}]`, key.slice(AppArmor.prefix.length), String(annotations[key])]
    return [
      ...when(!names.has(name), FieldError.invalid(here, name, "container not found")),
      ...when(
        !["", "runtime/default", "unconfined"].includes(profile) && !profile.startsWith(local),
        FieldError.invalid(here, profile, `invalid AppArmor profile name: ${FieldError.quote(profile)}`)
      )
    ]
  })
}

/** Faults of the annotations at a path. */
export const faults = (pod: unknown, path: string): Faults => {
  const annotations = annotationsOf(pod)
  if (Object.keys(annotations).length === 0) return []
  const [mirrored, costs] = [annotations[mirror], annotations[cost]]
  return [
    ...when(
      mirrored !== undefined && stringAt(pod, "spec", "nodeName") === "",
      FieldError.invalid(`${path}[${mirror}]`, mirrored, "must set spec.nodeName if mirror pod annotation is set")
    ),
    // Reported without a field path.
    ...(mirrored === undefined ?
      [] :
      arrayAt(pod, "spec", "resourceClaims").map(() =>
        FieldError.forbidden("[]", "static pods do not support resource claims")
      )),
    ...when(
      costs !== undefined && !isCost(String(costs)),
      FieldError.invalid(`${path}[${cost}]`, costs, "must be a 32bit integer")
    ),
    ...[seccompOfPod, ...startingWith(seccompPrefix, annotations)].filter((key) => annotations[key] !== undefined)
      .flatMap((key) => ofSeccomp(key, String(annotations[key]), path)),
    ...ofAppArmor(pod, annotations, path)
  ]
}

/** The annotations that match a profile of each type. */
const words: Readonly<Record<string, ReadonlyArray<string>>> = {
  Unconfined: ["unconfined"],
  RuntimeDefault: ["runtime/default", "docker/default"]
}

/** The fault of an annotation that contradicts the profile at a path. */
const mismatch = (profile: unknown, annotation: unknown, path: string, what: "apparmor" | "seccomp"): Faults => {
  if (profile === undefined || annotation === undefined) return []
  const other = (field: string, part: string) => [
    FieldError.forbidden(`${path}.${field}`, `${what} ${part} in annotation and field must match`)
  ]
  const [type, said] = [stringAt(profile, "type"), String(annotation)]
  if (type === "Localhost") {
    return !said.startsWith(local)
      ? other("type", "type")
      : at(profile, "localhostProfile") === said.slice(local.length)
      ? []
      : other("localhostProfile", "profile")
  }
  const allowed = what === "apparmor" ? words[type]?.slice(0, 1) : words[type]
  return allowed === undefined || allowed.includes(said) ? [] : other("type", "type")
}

/**
 * Faults of annotations that contradict the fields that replaced them, for a new Pod, or a template with its spec at a
 * path.
 */
export const mismatches = (pod: unknown, path: string): Faults => {
  const annotations = annotationsOf(pod)
  if (Object.keys(annotations).length === 0) return []
  const containers = PodSystemRules.containersOf(at(pod, "spec"), path)
  const profile = AppArmor.profileOfPod(pod)
  return [
    ...mismatch(
      at(pod, "spec", "securityContext", "seccompProfile"),
      annotations[seccompOfPod],
      `${path}.securityContext.seccompProfile`,
      "seccomp"
    ),
    ...containers.flatMap(([container, here]) =>
      mismatch(
        at(container, "securityContext", "seccompProfile"),
        annotations[seccompPrefix + stringAt(container, "name")],
        `${here}.securityContext.seccompProfile`,
        "seccomp"
      )
    ),
    ...(AppArmor.isAnnotated(pod)
      ? containers.flatMap(([container, here]) =>
        mismatch(
          AppArmor.profileOfContainer(container) ?? profile,
          AppArmor.annotationOf(pod, container),
          `${here}.securityContext.appArmorProfile`,
          "apparmor"
        )
      )
      : [])
  ]
}

/** Faults of an update of a Pod's annotations. */
export const updateFaults = (next: unknown, previous: unknown): Faults => {
  const [after, before] = [annotationsOf(next), annotationsOf(previous)]
  const kinds: ReadonlyArray<readonly [(key: string) => boolean, string]> = [
    [(key) => key.startsWith(AppArmor.prefix), "AppArmor annotations"],
    [(key) => key === mirror, "mirror pod annotation"]
  ]
  const told = (annotations: Annotations, isTold: (key: string) => boolean, verb: string): Faults =>
    Object.keys(annotations).filter(isTold).sort().flatMap((key) =>
      kinds.filter(([isKind]) => isKind(key)).map(([, name]) =>
        FieldError.forbidden(`metadata.annotations[${key}]`, `may not ${verb} ${name}`)
      )
    )
  return [
    ...told(before, (key) => after[key] !== before[key], "remove or update"),
    ...told(after, (key) => before[key] === undefined, "add"),
    // They are validated once more.
    ...faults(next, "metadata.annotations")
  ]
}
