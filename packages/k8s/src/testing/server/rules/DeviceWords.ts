/**
 * `DeviceWords`: prints the spec of a ResourceClaim as the server does when it refuses a change of it.
 *
 * Source: k8s.io/kubernetes/pkg/apis/resource/types.go.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import { goJson } from "../../../schema/FieldError.ts"
import * as GoStruct from "../go/GoStruct.ts"

const text = "\"\""

const selectors: GoStruct.Field = ["selectors", "null", [["cel", "null", [["expression", text]], "CEL"]]]

const opaque: GoStruct.Field = ["opaque", "null", [["driver", text], ["parameters", "null"]]]

const claim: GoStruct.Fields = [
  ["devices", "{\"Requests\":null,\"Constraints\":null,\"Config\":null}", [
    ["requests", "null", [
      ["name", text],
      ["exactly", "null", [
        ["deviceClassName", text],
        selectors,
        ["allocationMode", text],
        ["count", "0"],
        ["adminAccess", "null"],
        ["tolerations", "null"],
        ["capacity", "null"]
      ]],
      ["firstAvailable", "null", [
        ["name", text],
        ["deviceClassName", text],
        selectors,
        ["allocationMode", text],
        ["count", "0"],
        ["tolerations", "null"],
        ["capacity", "null"]
      ]]
    ]],
    ["constraints", "null", [["requests", "null"], ["matchAttribute", "null"], ["distinctAttribute", "null"]]],
    ["config", "null", [["requests", "null"], opaque]]
  ]]
]

/** Prints the spec of a claim. */
export const claimSpec: GoStruct.Printer = (spec) => GoStruct.print(spec, claim)

/** Prints the spec of a claim template, which begins with metadata of an API type. */
export const templateSpec: GoStruct.Printer = (spec) => {
  const metadata = ["labels", "annotations"].flatMap((key) =>
    at(spec, "metadata", key) === undefined ? [] : [`"${key}":${goJson(at(spec, "metadata", key))},`]
  )
  return `{${metadata.join("")}"Spec":${claimSpec(objectAt(spec, "spec"))}}`
}
