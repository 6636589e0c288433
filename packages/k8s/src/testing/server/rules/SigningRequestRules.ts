/**
 * `SigningRequestRules`: validates CertificateSigningRequests, and records who created them.
 *
 * A new request contains the user who creates it, whatever it says itself, and is not approved. Later it changes only
 * through its subresources: `approval` approves or denies it, `status` adds the certificate, and neither can revoke a
 * decision. Request and certificate are decoded only as far as their envelope; signatures are not verified.
 *
 * Source: k8s.io/kubernetes/pkg/apis/certificates/validation, pkg/apis/core/validation/names.go (`ValidateSignerName`)
 * and pkg/registry/certificates/certificates/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import * as Exchange from "../Exchange.ts"
import type { Strategy } from "../Strategy.ts"
import * as Pem from "./Pem.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const usages: ReadonlyArray<string> = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping"
]

const envelope = /-----BEGIN CERTIFICATE REQUEST-----\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE REQUEST-----/

const request = (object: KubeObject): Faults => {
  const value = at(object, "spec", "request")
  const text = typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : ""
  return envelope.test(text)
    ? []
    : [FieldError.invalid("spec.request", value ?? null, "PEM block type must be CERTIFICATE REQUEST")]
}

/** The first invalid label, and why. */
const labelFault = (
  path: string,
  segment: string,
  rule: (label: string) => ReadonlyArray<string>
): Faults => {
  const wrong = segment.split(".").find((label) => rule(label).length > 0)
  return wrong === undefined
    ? []
    : rule(wrong).map((why) => FieldError.invalid(path, segment, `validating label ${FieldError.quote(wrong)}: ${why}`))
}

const signerName = (name: string): Faults => {
  const path = "spec.signerName"
  if (name === "") return [FieldError.required(path, "")]
  if (name === "kubernetes.io/legacy-unknown") {
    return [FieldError.invalid(path, name, "the legacy signerName is not allowed via this API version")]
  }
  const [domain = "", signer = "", ...more] = name.split("/")
  if (!name.includes("/") || more.length > 0) {
    const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
    return [FieldError.invalid(path, name, form)]
  }
  return [
    ...labelFault(path, domain, Names.dnsLabel),
    ...(domain.includes(".")
      ? []
      : [FieldError.invalid(path, domain, "should be a domain with at least two segments separated by dots")]),
    ...labelFault(path, signer, Names.dnsSubdomain)
  ]
}

const used = (object: KubeObject): Faults => {
  const path = "spec.usages"
  const given = arrayAt(object, "spec", "usages").map(String)
  return [
    ...(given.length === 0 ? [FieldError.required(path, "")] : []),
    ...given.flatMap((usage, index) =>
      usages.includes(usage) ? [] : [FieldError.notSupported(`${path}[${index}]`, usage, usages)]
    ),
    ...given.flatMap((usage, index) =>
      given.indexOf(usage) < index ? [FieldError.duplicate(`${path}[${index}]`, usage)] : []
    )
  ]
}

/** Faults of a new request; its spec never changes later. */
export const validate: Strategy["validate"] = (object, previous) => {
  if (previous !== undefined) return []
  const seconds = at(object, "spec", "expirationSeconds")
  return [
    ...request(object),
    ...used(object),
    ...signerName(stringAt(object, "spec", "signerName")),
    ...(typeof seconds === "number" && seconds < 600
      ? [FieldError.invalid(
        "spec.expirationSeconds",
        seconds,
        "may not specify a duration less than 600 seconds (10 minutes)"
      )]
      : [])
  ]
}

/** Sets the user who created the request, replacing what it says itself. */
export const signed: Strategy["signed"] = (object, { extra = {}, groups, uid = "", username }) => {
  const { extra: _, groups: __, uid: ___, username: ____, ...spec } = objectAt(object, "spec")
  return {
    ...object,
    spec: {
      ...spec,
      ...(username === "" ? {} : { username }),
      ...(uid === "" ? {} : { uid }),
      ...(groups.length === 0 ? {} : { groups }),
      ...(Object.keys(extra).length === 0 ? {} : { extra })
    }
  }
}

/** Updates cannot change the spec. */
export const prepareUpdate: Strategy["prepareUpdate"] = (next, previous) => ({ ...next, spec: at(previous, "spec") })

const conditionsOf = (object: unknown): ReadonlyArray<unknown> => arrayAt(object, "status", "conditions")

const ofType = (object: unknown, type: string): ReadonlyArray<unknown> =>
  conditionsOf(object).filter((condition) => stringAt(condition, "type") === type)

const withConditions = (object: JsonValue.JsonObject, conditions: ReadonlyArray<unknown>): JsonValue.JsonObject =>
  conditions.length === 0
    ? object
    : { ...object, status: { ...objectAt(object, "status"), conditions } }

/** Fills in missing update and transition times of conditions. */
const dated = (object: JsonValue.JsonObject, previous: KubeObject, now: number): JsonValue.JsonObject => {
  const time = Exchange.timestamp(now)
  const since = (condition: unknown): unknown =>
    ofType(previous, stringAt(condition, "type"))
      .filter((old) => stringAt(old, "status") === stringAt(condition, "status"))
      .map((old) => at(old, "lastTransitionTime"))
      .find((date) => typeof date === "string") ?? time
  return withConditions(
    object,
    conditionsOf(object).map((condition) => ({
      ...objectAt(condition),
      lastUpdateTime: at(condition, "lastUpdateTime") ?? time,
      lastTransitionTime: at(condition, "lastTransitionTime") ?? since(condition)
    }))
  )
}

const decisions = ["Approved", "Denied"]

/** Keeps the previous decisions of each type if their number is unchanged. */
const decided = (object: JsonValue.JsonObject, previous: KubeObject): JsonValue.JsonObject =>
  decisions.reduce((next, type) => {
    const old = [...ofType(previous, type)]
    return old.length !== ofType(next, type).length ? next : withConditions(
      next,
      conditionsOf(next).map((condition) => stringAt(condition, "type") === type ? old.shift() : condition)
    )
  }, object)

/** The status subresource cannot approve or deny. */
export const prepareStatus: Strategy["prepareStatus"] = (next, previous, now) =>
  dated(decided(next, previous), previous, now)

/** The approval subresource cannot set the certificate. */
const prepareApproval: Strategy["prepareStatus"] = (next, previous, now) => {
  const { certificate: _, ...status } = objectAt(next, "status")
  const certificate = at(previous, "status", "certificate")
  return dated(
    { ...next, status: certificate === undefined ? status : { ...status, certificate } },
    previous,
    now
  )
}

const anyStatus = ["False", "True", "Unknown"]

const conditionFaults = (object: KubeObject): Faults => {
  const types = conditionsOf(object).map((condition) => stringAt(condition, "type"))
  return conditionsOf(object).flatMap((condition, index) => {
    const path = `status.conditions[${index}]`
    const [type, status] = [types[index]!, stringAt(condition, "status")]
    const allowed = [...decisions, "Failed"].includes(type) ? ["True"] : anyStatus
    const known = types.slice(0, index + 1)
    return [
      ...(type === "" ? [FieldError.required(`${path}.type`, "")] : []),
      ...(status === ""
        ? [FieldError.required(`${path}.status`, "")]
        : allowed.includes(status)
        ? []
        : [FieldError.notSupported(`${path}.status`, status, allowed)]),
      ...(decisions.includes(type) && decisions.every((decision) => known.includes(decision))
        ? [FieldError.invalid(`${path}.type`, type, "Approved and Denied conditions are mutually exclusive")]
        : []),
      ...(types.indexOf(type) < index ? [FieldError.duplicate(`${path}.type`, type)] : [])
    ]
  })
}

const certificateOf = (object: unknown): string => stringAt(object, "status", "certificate")

const certificateFaults = (next: KubeObject, previous: KubeObject): Faults => {
  const why = certificateOf(next) === certificateOf(previous) ? undefined : Pem.certificateFault(certificateOf(next))
  return why === undefined ? [] : [FieldError.invalid("status.certificate", "<certificate data>", why)]
}

/** Decisions cannot be removed. */
const removed = (next: KubeObject, previous: KubeObject): Faults =>
  [...decisions, "Failed"].flatMap((type) =>
    ofType(next, type).length < ofType(previous, type).length
      ? [FieldError.forbidden("status.conditions", `updates may not remove a condition of type "${type}"`)]
      : []
  )

const added = (next: KubeObject, previous: KubeObject): Faults =>
  decisions.flatMap((type) =>
    ofType(next, type).length > ofType(previous, type).length
      ? [FieldError.forbidden("status.conditions", `updates may not add a condition of type "${type}"`)]
      : []
  )

const replaced = (next: KubeObject, previous: KubeObject): Faults =>
  certificateOf(previous) !== "" && certificateOf(next) !== certificateOf(previous)
    ? [FieldError.forbidden("status.certificate", "updates may not modify existing certificate content")]
    : []

const validateApproval: Strategy["validateStatus"] = (next, previous) => [
  ...conditionFaults(next),
  ...removed(next, previous)
]

/** The certificate can be set once, and approval has its own subresource. */
export const validateStatus: Strategy["validateStatus"] = (next, previous) => [
  ...conditionFaults(next),
  ...certificateFaults(next, previous),
  ...removed(next, previous),
  ...added(next, previous),
  ...replaced(next, previous)
]

/** How the approval subresource differs from the status. */
export const approval: Pick<Strategy, "prepareStatus" | "validateStatus"> = {
  prepareStatus: prepareApproval,
  validateStatus: validateApproval
}
