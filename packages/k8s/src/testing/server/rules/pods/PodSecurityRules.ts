/**
 * `PodSecurityRules`: validates the security contexts of Pods and containers.
 *
 * Names of capabilities are not validated.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateSecurityContext` and
 * `validatePodSpecSecurityContext`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import * as GoStruct from "../../go/GoStruct.ts"
import * as WindowsRules from "./WindowsRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const maxId = 2_147_483_647

/** The id of a user or group. */
export const id = (path: string, value: unknown): Faults =>
  typeof value === "number" && (value < 0 || value > maxId)
    ? [FieldError.invalid(path, value, `must be between 0 and ${maxId}, inclusive`)]
    : []

const ids = (context: unknown, path: string, ...fields: ReadonlyArray<string>): Faults =>
  fields.flatMap((field) => id(`${path}.${field}`, at(context, field)))

/** An optional field with one of the values. */
const optional = (context: unknown, path: string, field: string, values: ReadonlyArray<string>): Faults => {
  const value = at(context, field)
  return value === undefined || values.includes(String(value))
    ? []
    : [FieldError.notSupported(`${path}.${field}`, value, values)]
}

const types = ["Localhost", "RuntimeDefault", "Unconfined"]

/** A seccomp or AppArmor profile: only those of type Localhost have a path. */
const profile = (context: unknown, path: string, field: string, name: string, within: Faults): Faults => {
  const value = at(context, field)
  if (value === undefined) return []
  const here = `${path}.${field}`
  const type = stringAt(value, "type")
  const local = at(value, "localhostProfile")
  const typed = type === ""
    ? [FieldError.required(`${here}.type`, `type is required when ${field} is set`)]
    : types.includes(type)
    ? []
    : [FieldError.notSupported(`${here}.type`, type, types)]
  const placed = type === "Localhost"
    ? local === undefined
      ? [FieldError.required(`${here}.localhostProfile`, `must be set when ${name} type is Localhost`)]
      : within
    : local === undefined
    ? []
    : [FieldError.invalidPrinted(
      `${here}.localhostProfile`,
      name === "seccomp" ? GoStruct.print(value, profileFields) : FieldError.quote(String(local)),
      `can only be set when ${name} type is Localhost`
    )]
  return [...typed, ...placed]
}

const seccomp = (context: unknown, path: string): Faults => {
  const local = at(context, "seccompProfile", "localhostProfile")
  const here = `${path}.seccompProfile.localhostProfile`
  const within = typeof local !== "string" ? [] : [
    ...(local.startsWith("/") ? [FieldError.invalid(here, local, "must be a relative path")] : []),
    ...(local.split("/").includes("..") ? [FieldError.invalid(here, local, "must not contain '..'")] : [])
  ]
  return profile(context, path, "seccompProfile", "seccomp", within)
}

const appArmor = (context: unknown, path: string): Faults => {
  const local = at(context, "appArmorProfile", "localhostProfile")
  const here = `${path}.appArmorProfile.localhostProfile`
  const within = typeof local === "string" && local.trim() !== local
    ? [FieldError.invalid(here, local, "must not be padded with whitespace")]
    : local === ""
    ? [FieldError.required(here, "must be set when AppArmor type is Localhost")]
    : []
  return profile(context, path, "appArmorProfile", "AppArmor", within)
}

const profileFields: GoStruct.Fields = [["type", "\"\""], ["localhostProfile", "null"]]

const contextFields: GoStruct.Fields = [
  ["capabilities", "null", [["add", "null"], ["drop", "null"]]],
  ["privileged", "null"],
  [
    "seLinuxOptions",
    "null",
    [["user", "\"\""], ["role", "\"\""], ["type", "\"\""], ["level", "\"\""]],
    "SELinuxOptions"
  ],
  ["windowsOptions", "null"],
  ["runAsUser", "null"],
  ["runAsGroup", "null"],
  ["runAsNonRoot", "null"],
  ["readOnlyRootFilesystem", "null"],
  ["allowPrivilegeEscalation", "null"],
  ["procMount", "null"],
  ["seccompProfile", "null", profileFields],
  ["appArmorProfile", "null", profileFields]
]

/** Faults of the security context of a container. */
export const ofContainer = (container: unknown, path: string, hostUsers = true): Faults => {
  const context = at(container, "securityContext")
  if (context === undefined) return []
  const here = `${path}.securityContext`
  const cannot = (what: string) => [
    FieldError.invalidPrinted(
      here,
      GoStruct.print(context, contextFields),
      `cannot set \`allowPrivilegeEscalation\` to false and ${what}`
    )
  ]
  const escalates = at(context, "allowPrivilegeEscalation") !== false
  return [
    ...ids(context, here, "runAsUser", "runAsGroup"),
    ...optional(context, here, "procMount", ["Default", "Unmasked"]),
    ...(hostUsers && at(context, "procMount") === "Unmasked"
      ? [FieldError.invalid(`${here}.procMount`, "Unmasked", "`hostUsers` must be false to use `Unmasked`")]
      : []),
    ...seccomp(context, here),
    ...(escalates || at(context, "privileged") !== true ? [] : cannot("`privileged` to true")),
    ...(escalates
      ? []
      : arrayAt(context, "capabilities", "add").filter((added) => added === "CAP_SYS_ADMIN").flatMap(() =>
        cannot("`capabilities.Add` CAP_SYS_ADMIN")
      )),
    ...WindowsRules.options(context, here),
    ...appArmor(context, here)
  ]
}

const longestSysctl = 253
const sysctlFormat = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
const sysctlName = new RegExp(sysctlFormat)

/** Kernel parameters that are namespaced with IPC. */
const ofIpc: ReadonlySet<string> = new Set([
  "kernel.sem",
  ...["", "all", "max", "mni", "_rmid_forced"].map((name) => `kernel.shm${name}`),
  ...["", "max", "mnb", "mni"].map((name) => `kernel.msg${name}`)
])

/** The field with which a Pod shares the namespace of a parameter with its node. */
const sharing = (sysctl: string): "hostNetwork" | "hostIPC" | undefined => {
  const swapped = /^[^./]*\//.test(sysctl)
  const name = swapped ? sysctl.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/")) : sysctl
  return name.startsWith("net.")
    ? "hostNetwork"
    : ofIpc.has(name) || name.startsWith("fs.mqueue.")
    ? "hostIPC"
    : undefined
}

/** A Pod that shares a namespace with its node cannot set its parameters. */
const hostSysctl = (spec: unknown, name: string, path: string): Faults => {
  const field = sharing(name)
  return field !== undefined && at(spec, field) === true
    ? [FieldError.invalid(path, name, `may not be specified when '${field}' is true`)]
    : []
}

/** Faults of the security context of a Pod. */
export const ofPod = (spec: unknown, path: string): Faults => {
  const context = at(spec, "securityContext")
  if (context === undefined) return []
  const here = `${path}.securityContext`
  const sysctls = new Set<unknown>()
  return [
    ...ids(context, here, "fsGroup", "runAsUser", "runAsGroup"),
    ...arrayAt(context, "supplementalGroups").flatMap((group, index) =>
      id(`${here}.supplementalGroups[${index}]`, group)
    ),
    ...(at(spec, "shareProcessNamespace") === true && at(spec, "hostPID") === true
      ? [FieldError.invalid(
        `${here}.shareProcessNamespace`,
        true,
        "ShareProcessNamespace and HostPID cannot both be enabled"
      )]
      : []),
    ...arrayAt(context, "sysctls").flatMap((sysctl, index) => {
      const name = stringAt(sysctl, "name")
      const repeated = sysctls.has(name)
      sysctls.add(name)
      const at = `${here}.sysctls[${index}].name`
      const own = name === ""
        ? [FieldError.required(at, "")]
        : name.length > longestSysctl || !sysctlName.test(name)
        ? [FieldError.invalid(
          at,
          name,
          `must have at most ${longestSysctl} characters and match regex ${sysctlFormat}`
        )]
        : repeated
        ? [FieldError.duplicate(at, name)]
        : []
      return [...own, ...hostSysctl(spec, name, at)]
    }),
    ...optional(context, here, "fsGroupChangePolicy", ["Always", "OnRootMismatch"]),
    ...seccomp(context, here),
    ...WindowsRules.options(context, here),
    ...appArmor(context, here),
    ...optional(context, here, "supplementalGroupsPolicy", ["Merge", "Strict"]),
    // "MountOption" belongs to the gate SELinuxMount, which is off in 1.35.
    ...optional(context, here, "seLinuxChangePolicy", ["Recursive"])
  ]
}
