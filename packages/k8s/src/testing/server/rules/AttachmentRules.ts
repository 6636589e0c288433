/**
 * `AttachmentRules`: validates VolumeAttachments: the volume, by name or inline, the Node, and the attacher.
 *
 * The spec is immutable; the status says whether the volume is attached.
 *
 * Source: k8s.io/kubernetes/pkg/apis/storage/validation/validation.go `ValidateVolumeAttachment`,
 * `ValidateVolumeAttachmentV1`, `ValidateVolumeAttachmentUpdate`.
 */
import * as Names from "../../../api/Names.ts"
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import { type Faults, invalids, when } from "./Checks.ts"
import * as StorageRules from "./StorageRules.ts"
import * as VolumeRules from "./pods/VolumeRules.ts"

const oneSource = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"

const sourceFaults = (source: unknown): Faults => {
  const path = "spec.source"
  const [inline, name] = [at(source, "inlineVolumeSpec"), at(source, "persistentVolumeName")]
  if (inline === undefined) {
    return name === undefined
      ? [FieldError.required(path, oneSource)]
      : when(
        name === "",
        FieldError.required(`${path}.persistentVolumeName`, "must specify non empty persistentVolumeName")
      )
  }
  return name === undefined
    ? StorageRules.inlineVolume(inline, `${path}.inlineVolumeSpec`)
    : [FieldError.forbidden(path, oneSource)]
}

/** The maximum length of an error message and of the attachment metadata, in bytes. */
const longest = { message: 1024, metadata: 256 * 1024 }

const errorFaults = (status: JsonValue.JsonObject, field: string): Faults => {
  const code = at(status, field, "errorCode")
  return [
    ...when(
      Names.byteLength(stringAt(status, field, "message")) > longest.message,
      // The real server reports the limit of the other field.
      FieldError.tooLong(`status.${field}.message`, longest.metadata)
    ),
    ...when(
      typeof code === "number" && code < 0,
      FieldError.invalid(`status.${field}.errorCode`, code, "must be between 0 and 2147483647, inclusive")
    )
  ]
}

const statusFaults = (object: unknown): Faults => {
  const status = objectAt(object, "status")
  const bytes = Object.entries(objectAt(status, "attachmentMetadata")).reduce(
    (sum, [key, value]) => sum + Names.byteLength(key) + Names.byteLength(String(value)),
    0
  )
  return [
    ...when(bytes > longest.metadata, FieldError.tooLong("status.attachmentMetadata", longest.metadata)),
    ...errorFaults(status, "attachError"),
    ...errorFaults(status, "detachError")
  ]
}

/** Rules that apply only to new objects. */
const newFaults = (object: unknown): Faults => {
  const attacher = stringAt(object, "spec", "attacher")
  const name = at(object, "spec", "source", "persistentVolumeName")
  return [
    ...VolumeRules.driverName(attacher, "spec.attacher"),
    ...(typeof name === "string" ? invalids("spec.source.persistentVolumeName", name, Names.dnsSubdomain(name)) : [])
  ]
}

const validate: Strategy["validate"] = (object, previous) => {
  const node = stringAt(object, "spec", "nodeName")
  return [
    ...when(stringAt(object, "spec", "attacher") === "", FieldError.required("spec.attacher", "")),
    ...sourceFaults(at(object, "spec", "source")),
    ...invalids("spec.nodeName", node, Names.dnsSubdomain(node)),
    ...statusFaults(object),
    ...(previous === undefined ? newFaults(object) : [])
  ]
}

const specFields: GoStruct.Fields = [
  ["attacher", "\"\""],
  ["source", "{}", [["persistentVolumeName", "null"], ["inlineVolumeSpec", "null"]]],
  ["nodeName", "\"\""]
]

export const strategy: Partial<Strategy> = {
  unconditionalUpdate: false,
  answersDeleted: true,
  statusMetadata: "kept",
  validate,
  validateUpdate: (next, previous) => {
    const [spec, before] = [at(next, "spec"), at(previous, "spec")]
    return when(!JsonValue.equals(spec, before), {
      ...FieldError.invalid("spec", spec, "field is immutable"),
      printed: GoStruct.print(spec, specFields)
    })
  },
  validateStatus: (object) => validate(object, object)
}
