/**
 * `MountRules`: validates volume mounts and volume devices of containers.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateVolumeMounts`, `ValidateVolumeDevices`.
 */
import { arrayAt, at, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import { type Faults, required, when } from "../Checks.ts"
import * as PathRules from "./PathRules.ts"

const propagations = ["Bidirectional", "HostToContainer", "None"]

const propagationFaults = (container: unknown, mount: unknown, path: string): Faults => {
  const mode = at(mount, "mountPropagation")
  return mode === undefined ? [] : [
    ...when(!propagations.includes(String(mode)), FieldError.notSupported(path, mode, propagations)),
    ...when(
      mode === "Bidirectional" && at(container, "securityContext", "privileged") !== true,
      FieldError.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")
    )
  ]
}

const readings = ["Disabled", "Enabled", "IfPossible"]

const readOnlyFaults = (mount: unknown, path: string): Faults => {
  const mode = at(mount, "recursiveReadOnly")
  if (mode === undefined || mode === "Disabled") return []
  if (!readings.includes(String(mode))) return [FieldError.notSupported(path, mode, readings)]
  return [
    ...when(
      at(mount, "readOnly") !== true,
      FieldError.forbidden(path, "may only be specified when readOnly is true")
    ),
    ...when(
      (at(mount, "mountPropagation") ?? "None") !== "None",
      FieldError.forbidden(path, "may only be specified when mountPropagation is None or not specified")
    )
  ]
}

const mountFaults = (container: unknown, path: string, volumes: ReadonlyMap<string, unknown>): Faults => {
  const seen = new Set<string>()
  const devices = arrayAt(container, "volumeDevices")
  const all = `${path}.volumeMounts`
  return arrayAt(container, "volumeMounts").flatMap((mount, index) => {
    const here = `${all}[${index}]`
    const [name, mounted, subPath, expression] = ["name", "mountPath", "subPath", "subPathExpr"].map((field) =>
      stringAt(mount, field)
    ) as [string, string, string, string]
    const repeated = seen.has(mounted)
    seen.add(mounted)
    const refused = (wrong: boolean, field: string, value: string, why: string) =>
      when(wrong, FieldError.invalid(`${here}.${field}`, value, why))
    return [
      ...required(mount, here, "name"),
      ...when(!volumes.has(name), FieldError.notFound(`${here}.name`, name)),
      ...required(mount, here, "mountPath"),
      ...refused(repeated, "mountPath", mounted, "must be unique"),
      ...refused(
        devices.some((device) => stringAt(device, "name") === name),
        "name",
        name,
        "must not already exist in volumeDevices"
      ),
      ...refused(
        devices.some((device) => stringAt(device, "devicePath") === mounted),
        "mountPath",
        mounted,
        "must not already exist as a path in volumeDevices"
      ),
      // From here on the server's paths do not include the index of the mount.
      ...(subPath === "" ? [] : PathRules.descending(subPath, `${all}.subPath`)),
      ...(expression === "" ? [] : [
        ...refused(subPath !== "", "subPathExpr", expression, "subPathExpr and subPath are mutually exclusive"),
        ...PathRules.descending(expression, `${all}.subPathExpr`)
      ]),
      ...propagationFaults(container, mount, `${all}.mountPropagation`),
      ...readOnlyFaults(mount, `${all}.recursiveReadOnly`)
    ]
  })
}

const isClaim = (volume: unknown): boolean =>
  ["persistentVolumeClaim", "ephemeral"].some((source) => at(volume, source) !== undefined)

const deviceFaults = (container: unknown, path: string, volumes: ReadonlyMap<string, unknown>): Faults => {
  const [names, paths] = [new Set<string>(), new Set<string>()]
  const mounts = arrayAt(container, "volumeMounts")
  return arrayAt(container, "volumeDevices").flatMap((device, index) => {
    const here = `${path}.volumeDevices[${index}]`
    const [name, devicePath] = [stringAt(device, "name"), stringAt(device, "devicePath")]
    const [namedTwice, placedTwice] = [names.has(name), paths.has(devicePath)]
    const upwards = devicePath.split("/").includes("..")
    if (name !== "") names.add(name)
    if (!upwards) paths.add(devicePath)
    const refused = (wrong: boolean, field: string, value: string, why: string) =>
      when(wrong, FieldError.invalid(`${here}.${field}`, value, why))
    return [
      ...required(device, here, "name"),
      ...refused(namedTwice, "name", name, "must be unique"),
      ...refused(
        volumes.has(name) && !isClaim(volumes.get(name)),
        "name",
        name,
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
      ),
      ...when(!volumes.has(name), FieldError.notFound(`${here}.name`, name)),
      ...required(device, here, "devicePath"),
      ...refused(placedTwice, "devicePath", devicePath, "must be unique"),
      ...refused(upwards, "devicePath", devicePath, "can not contain backsteps ('..')"),
      ...refused(
        mounts.some((mount) => stringAt(mount, "name") === name),
        "name",
        name,
        "must not already exist in volumeMounts"
      ),
      ...refused(
        mounts.some((mount) => stringAt(mount, "mountPath") === devicePath),
        "devicePath",
        devicePath,
        "must not already exist as a path in volumeMounts"
      )
    ]
  })
}

/** Faults of a container's mounts and devices. `volumes` are the valid volumes of its Pod. */
export const faults = (container: unknown, path: string, volumes: ReadonlyMap<string, unknown>): Faults => [
  ...mountFaults(container, path, volumes),
  ...deviceFaults(container, path, volumes)
]
