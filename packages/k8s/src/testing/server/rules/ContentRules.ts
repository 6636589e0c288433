/**
 * `ContentRules`: validates ConfigMaps and Secrets: keys that are valid file names, at most 1 MiB of values, and the
 * data that the type of a Secret requires.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation `ValidateConfigMap`, `ValidateSecret`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Result from "effect/Result"
import { byteLength, longName } from "../../../api/Names.ts"
import * as Negotiation from "../../../api/Negotiation.ts"
import { at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoBase64 from "../../../schema/GoBase64.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"

/** The maximum size of all values together, without keys, in bytes. */
const total = 1024 * 1024

export const keyFaults = (key: string): ReadonlyArray<string> => {
  const faults = [...longName(key, 253)]
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

/** The size of base64-encoded data, in bytes. */
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
      // The server's path is empty, and printed like this.
      ? [FieldError.tooLong("[]", total)]
      : [])
  ]
}

/** Go's error if base64-encoded data is not a JSON object. */
const jsonFault = (text: string): string | undefined => {
  const value = Result.flatMap(
    GoBase64.decode(text),
    (bytes) => Negotiation.decode("json", Buffer.from(bytes).toString("utf8"), bytes)
  )
  if (Result.isFailure(value)) return value.failure
  return value.success === null || JsonValue.isObject(value.success) ? undefined : Negotiation.noMap(value.success)
}

const dockerFaults = (key: string) => (object: KubeObject): ReadonlyArray<FieldError.FieldError> => {
  const text = at(object, "data", key)
  const path = `data[${key}]`
  if (text === undefined) return [FieldError.required(path, "")]
  const fault = jsonFault(String(text))
  return fault === undefined ? [] : [FieldError.invalid(path, "<secret contents redacted>", fault)]
}

const keys = (...wanted: ReadonlyArray<string>) => (object: KubeObject): ReadonlyArray<FieldError.FieldError> =>
  wanted.filter((key) => at(object, "data", key) === undefined).map((key) => FieldError.required(`data[${key}]`, ""))

const account = "kubernetes.io/service-account.name"

/** The required data by type of Secret. */
const types: Readonly<Record<string, (object: KubeObject) => ReadonlyArray<FieldError.FieldError>>> = {
  "kubernetes.io/service-account-token": (object) =>
    (object.metadata.annotations?.[account] ?? "") === ""
      ? [FieldError.required(`metadata.annotations[${account}]`, "")]
      : [],
  "kubernetes.io/dockercfg": dockerFaults(".dockercfg"),
  "kubernetes.io/dockerconfigjson": dockerFaults(".dockerconfigjson"),
  // One of the two is enough.
  "kubernetes.io/basic-auth": (object) => {
    const missing = keys("username", "password")(object)
    return missing.length === 2 ? missing : []
  },
  "kubernetes.io/ssh-auth": (object) =>
    stringAt(object, "data", "ssh-privatekey") === "" ? [FieldError.required("data[ssh-privatekey]", "")] : [],
  "kubernetes.io/tls": keys("tls.crt", "tls.key")
}

export const secret: Strategy["validate"] = (object) => [
  ...faultsOfKeys(object, "data"),
  ...(bytes(object, "data", decodedLength) > total ? [FieldError.tooLong("data", total)] : []),
  ...(types[stringAt(object, "type")]?.(object) ?? [])
]
