/**
 * `ConversionRules`: validates `spec.conversion` of a CustomResourceDefinition.
 *
 * Faults contain field names of the server's internal type, in which the webhook is not nested. A definition with an
 * invalid caBundle does not become established; an established definition cannot be changed to an invalid one.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as ClientConfigRules from "../rules/ClientConfigRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const path = "spec.conversion"
const strategies = ["None", "Webhook"]
/** The versions of ConversionReview that the server sends. */
const known = ["v1", "v1beta1"]

const conversionOf = (definition: unknown): unknown => at(definition, "spec", "conversion")

const bundleOf = (definition: unknown): string =>
  stringAt(conversionOf(definition), "webhook", "clientConfig", "caBundle")

/** Whether the webhook's caBundle is invalid. */
export const hasBrokenBundle = (definition: unknown): boolean =>
  ClientConfigRules.caBundleFaults(bundleOf(definition), "").length > 0

const versionsFaults = (versions: ReadonlyArray<string>): Faults => {
  const at_ = `${path}.conversionReviewVersions`
  if (versions.length === 0) return [FieldError.required(at_, "")]
  return [
    ...versions.flatMap((version, index) =>
      versions.indexOf(version) < index
        ? [FieldError.invalid(`${at_}[${index}]`, version, "duplicate version")]
        : Names.dns1035Label(version).map((fault) => FieldError.invalid(`${at_}[${index}]`, version, fault))
    ),
    ...(versions.some((version) => known.includes(version))
      ? []
      : [FieldError.invalid(at_, versions, `must include at least one of ${known.join(", ")}`)])
  ]
}

const configFaults = (config: unknown): Faults => {
  const at_ = `${path}.webhookClientConfig`
  if (config === undefined) return [FieldError.required(at_, "required when strategy is set to Webhook")]
  const [service, url] = [at(config, "service"), at(config, "url")]
  if ((service === undefined) === (url === undefined)) {
    return [FieldError.required(at_, "exactly one of url or service is required")]
  }
  return service === undefined
    ? ClientConfigRules.urlFaults(String(url), `${at_}.url`)
    : ClientConfigRules.serviceFaults(service, `${at_}.service`)
}

/** An invalid caBundle cannot replace a valid one. */
export const updateFaults = (next: KubeObject, previous: KubeObject): Faults =>
  stringAt(conversionOf(next), "strategy") !== "Webhook" || hasBrokenBundle(previous)
    ? []
    : ClientConfigRules.caBundleFaults(bundleOf(next), `${path}.webhookClientConfig.caBundle`)

/** The faults of a definition's conversion. */
export const faults = (definition: KubeObject): Faults => {
  const conversion = conversionOf(definition)
  if (conversion === undefined) return []
  const strategy = stringAt(conversion, "strategy")
  const config = at(conversion, "webhook", "clientConfig")
  const versions = arrayAt(conversion, "webhook", "conversionReviewVersions").map(String)
  const should = "should not be set when strategy is not set to Webhook"
  return [
    ...(strategy !== "None" && at(definition, "spec", "preserveUnknownFields") === true
      ? [FieldError.invalid(`${path}.strategy`, strategy, "must be None if spec.preserveUnknownFields is true")]
      : []),
    ...(strategy === ""
      ? [FieldError.required(`${path}.strategy`, "")]
      : strategies.includes(strategy)
      ? []
      : [FieldError.notSupported(`${path}.strategy`, strategy, strategies)]),
    ...(strategy === "Webhook"
      ? [...configFaults(config), ...versionsFaults(versions)]
      : [
        ...(config === undefined ? [] : [FieldError.forbidden(`${path}.webhookClientConfig`, should)]),
        ...(versions.length === 0 ? [] : [FieldError.forbidden(`${path}.conversionReviewVersions`, should)])
      ])
  ]
}
