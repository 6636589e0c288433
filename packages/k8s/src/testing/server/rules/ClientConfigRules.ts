/**
 * `ClientConfigRules`: validates the `clientConfig` of admission and conversion webhooks: a URL or a Service, and the
 * caBundle.
 *
 * Source: k8s.io/apiserver/pkg/util/webhook/validation.go.
 */
import * as Result from "effect/Result"
import * as Names from "../../../api/Names.ts"
import { at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoBase64 from "../../../schema/GoBase64.ts"
import * as GoUrl from "../../../schema/GoUrl.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const form = "; desired format: https://host[/path]"

/** Faults of a URL, which must be https and have only a host and a path. */
export const urlFaults = (text: string, path: string): Faults => {
  const parsed = GoUrl.parse(text)
  if (Result.isFailure(parsed)) {
    return [FieldError.required(path, `url must be a valid URL: ${parsed.failure}${form}`)]
  }
  const { fragment, host, query, scheme, user } = parsed.success
  const refuse = (when: boolean, value: string, why: string) => (when ? [FieldError.invalid(path, value, why)] : [])
  return [
    ...refuse(scheme !== "https", scheme, `'https' is the only allowed URL scheme${form}`),
    ...refuse(host === "", host, `host must be specified${form}`),
    ...refuse(user !== undefined, user ?? "", "user information is not permitted in the URL"),
    ...refuse(fragment !== "", fragment, "fragments are not permitted in the URL"),
    ...refuse(query !== "", query, "query parameters are not permitted in the URL")
  ]
}

const pathFaults = (text: string, path: string): Faults => {
  if (text === "/" || text === "") return []
  const invalid = (why: string) => FieldError.invalid(path, text, why)
  if (text === "//") return [invalid("segment[0] may not be empty")]
  const segments = text.slice(1).replace(/\/$/, "").split("/")
  return [
    ...(text.startsWith("/") ? [] : [invalid("must start with a '/'")]),
    ...segments.flatMap((segment, index) =>
      segment === ""
        ? [invalid(`segment[${index}] may not be empty`)]
        : Names.dnsSubdomain(segment).map((fault) => invalid(`segment[${index}]: ${fault}`))
    )
  ]
}

/** Faults of a reference to a Service. */
export const serviceFaults = (service: unknown, path: string): Faults => {
  const port = at(service, "port")
  const where = at(service, "path")
  return [
    // The callers in the real server pass name and namespace in the wrong order, so each fault names the other one.
    ...(stringAt(service, "namespace") === "" ? [FieldError.required(`${path}.name`, "")] : []),
    ...(stringAt(service, "name") === "" ? [FieldError.required(`${path}.namespace`, "")] : []),
    ...(typeof port === "number" && (port < 1 || port > 65535)
      ? [FieldError.invalid(`${path}.port`, port, "port is not valid: must be between 1 and 65535, inclusive")]
      : []),
    ...(typeof where === "string" ? pathFaults(where, `${path}.path`) : [])
  ]
}

/** Faults of a base64-encoded bundle of certificates; an empty one is valid. */
export const caBundleFaults = (caBundle: string, path: string): Faults => {
  const bytes = GoBase64.decode(caBundle)
  const text = Result.isSuccess(bytes) ? new TextDecoder().decode(bytes.success) : ""
  return caBundle === "" || /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(text)
    ? []
    : [FieldError.invalid(path, caBundle, "unable to load root certificates: unable to parse bytes as PEM block")]
}
