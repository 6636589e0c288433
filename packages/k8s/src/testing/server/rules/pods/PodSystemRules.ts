/**
 * `PodSystemRules`: validates the operating system and the user namespace of a Pod.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `validateOS`, `validateLinux`, `validateWindows`,
 * `validateHostUsers`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, when } from "../Checks.ts"

/** A container of a Pod, and its path. */
export type Placed = readonly [container: unknown, path: string]

/** All containers of a Pod. */
export const containersOf = (spec: unknown, path: string): ReadonlyArray<Placed> =>
  ["initContainers", "containers", "ephemeralContainers"].flatMap((field) =>
    arrayAt(spec, field).map((container, index) => [container, `${path}.${field}[${index}]`] as const)
  )

/** Fields that are no pointers in Go, whose zero counts as missing. */
const nought: Readonly<Record<string, (value: unknown) => boolean>> = {
  hostPID: (value) => value === false,
  hostIPC: (value) => value === false,
  "securityContext.sysctls": (value) => Array.isArray(value) && value.length === 0
}

const isGiven = (value: unknown, field: string): boolean => value !== undefined && nought[field]?.(value) !== true

const refused = (object: unknown, path: string, fields: ReadonlyArray<string>, why: string): Faults =>
  fields.filter((field) => isGiven(at(object, ...field.split(".")), field)).map((field) =>
    FieldError.forbidden(`${path}.${field}`, why)
  )

const notOfWindowsPods = [
  "securityContext.appArmorProfile",
  "securityContext.seLinuxOptions",
  "hostUsers",
  "hostPID",
  "hostIPC",
  "securityContext.seccompProfile",
  "securityContext.fsGroup",
  "securityContext.fsGroupChangePolicy",
  "securityContext.sysctls",
  "shareProcessNamespace",
  "securityContext.runAsUser",
  "securityContext.runAsGroup",
  "securityContext.supplementalGroups",
  "securityContext.supplementalGroupsPolicy",
  "securityContext.seLinuxChangePolicy"
]

const notOfWindowsContainers = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup"
]

const everywhere = (
  spec: unknown,
  path: string,
  ofPod: ReadonlyArray<string>,
  ofContainers: ReadonlyArray<string>,
  why: string
): Faults => [
  ...refused(spec, path, ofPod, why),
  ...containersOf(spec, path).flatMap(([container, here]) =>
    refused(at(container, "securityContext"), `${here}.securityContext`, ofContainers, why)
  )
]

/** Faults of a Pod that names its operating system. */
export const system = (spec: unknown, path: string): Faults => {
  if (at(spec, "os") === undefined) return []
  const name = stringAt(spec, "os", "name")
  switch (name) {
    case "":
      return [FieldError.required(`${path}.os.name`, "")]
    case "linux":
      return everywhere(
        spec,
        path,
        ["securityContext.windowsOptions"],
        ["windowsOptions"],
        "windows options cannot be set for a linux pod"
      )
    case "windows":
      return everywhere(
        spec,
        path,
        notOfWindowsPods,
        notOfWindowsContainers,
        "cannot be set for a windows pod"
      )
    default:
      return [FieldError.notSupported(`${path}.os`, name, ["linux", "windows"])]
  }
}

const shared: Readonly<Record<string, string>> = { hostNetwork: "hostNetwork", hostPID: "HostPID", hostIPC: "HostIPC" }

/** Faults of a Pod with a user namespace of its own. */
export const hostUsers = (spec: unknown, path: string): Faults => {
  if (at(spec, "hostUsers") !== false) return []
  const why = "when `hostUsers` is false"
  return [
    ...Object.entries(shared).filter(([field]) => at(spec, field) === true).map(([, told]) =>
      FieldError.forbidden(`${path}.${told}`, why)
    ),
    ...containersOf(spec, path).flatMap(([container, here]) =>
      when(arrayAt(container, "volumeDevices").length > 0, FieldError.forbidden(`${here}.volumeDevices`, why))
    )
  ]
}
