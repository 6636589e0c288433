/**
 * `SigningRequestRules`: what a CertificateSigningRequest must be, and whose it is.
 *
 * It bears the name of whoever creates it, whatever it says, and is not approved by him. Later only its subresources
 * change it. The request within is read as far as its envelope: that its signature is good is taken for granted.
 *
 * Source: k8s.io/kubernetes/pkg/apis/certificates/validation, pkg/apis/core/validation/names.go (`ValidateSignerName`)
 * and pkg/registry/certificates/certificates/strategy.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as FieldError from "../../schema/FieldError.ts"
import * as Names from "../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../api/Plain.ts"
import type { Strategy } from "./Strategy.ts"

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

/** The first label that is none, and why. */
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

/** Faults of a new request; nobody changes it later. */
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

/** Says who asked, and leaves out what he said of himself. */
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

/** A client's own change of the spec is lost. */
export const prepareUpdate: Strategy["prepareUpdate"] = (next, previous) => ({ ...next, spec: at(previous, "spec") })
