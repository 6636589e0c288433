/**
 * `ContentRules`: what a ConfigMap and a Secret may hold: keys that can be file names, and at most 1 MiB of values.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation `ValidateConfigMap`, `ValidateSecret`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../schema/FieldError.ts"
import { byteLength } from "../../api/Names.ts"
import { objectAt } from "../../api/Plain.ts"
import type { Strategy } from "./Strategy.ts"

/** Bytes of all values together; keys are not counted. */
const total = 1024 * 1024

export const keyFaults = (key: string): ReadonlyArray<string> => {
  const faults: Array<string> = []
  if (byteLength(key) > 253) faults.push("must be no more than 253 bytes")
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
    faults.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  " +
        "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
    )
  }
  if (key === ".") faults.push("must not be '.'")
  else if (key === "..") faults.push("must not be '..'")
  else if (key.startsWith("..")) faults.push("must not start with '..'")
  return faults
}

/** Bytes that a text in base64 stands for. */
const decodedLength = (text: string): number => Math.floor(text.replace(/[\r\n=]/g, "").length * 3 / 4)

const faultsOfKeys = (object: KubeObject, field: string): ReadonlyArray<FieldError.FieldError> =>
  Object.keys(objectAt(object, field)).flatMap((key) =>
    keyFaults(key).map((fault) => FieldError.invalid(`${field}[${key}]`, key, fault))
  )

const bytes = (object: KubeObject, field: string, length: (text: string) => number): number =>
  Object.values(objectAt(object, field)).reduce<number>((sum, value) => sum + length(String(value)), 0)

export const configMap: Strategy["validate"] = (object) => {
  const binary = objectAt(object, "binaryData")
  return [
    ...faultsOfKeys(object, "data"),
    ...Object.keys(objectAt(object, "data")).filter((key) => Object.hasOwn(binary, key)).map((key) =>
      FieldError.invalid(`data[${key}]`, key, "duplicate of key present in binaryData")
    ),
    ...faultsOfKeys(object, "binaryData"),
    ...(bytes(object, "data", byteLength) + bytes(object, "binaryData", decodedLength) > total
      // The server's path is the empty one, and this is how it prints.
      ? [FieldError.tooLong("[]", total)]
      : [])
  ]
}

export const secret: Strategy["validate"] = (object) => [
  ...faultsOfKeys(object, "data"),
  ...(bytes(object, "data", decodedLength) > total ? [FieldError.tooLong("data", total)] : [])
]
