import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as ConversionRules from "../../../../src/testing/server/definitions/ConversionRules.ts"
import * as ClientConfigRules from "../../../../src/testing/server/rules/ClientConfigRules.ts"

const definition = (conversion: unknown, spec: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "a.b", uid: "u", resourceVersion: "1", creationTimestamp: "" },
  spec: { ...spec, conversion }
})

const webhook = (clientConfig: unknown, conversionReviewVersions: ReadonlyArray<string> = ["v1"]) => ({
  strategy: "Webhook",
  webhook: { clientConfig, conversionReviewVersions }
})

const faults = (conversion: unknown, spec?: object) =>
  ConversionRules.faults(definition(conversion, spec)).map(FieldError.format)

const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
const bundle = (text: string) => Buffer.from(text).toString("base64")

describe("ConversionRules", () => {
  it("accept what a definition usually has", () => {
    assert.deepStrictEqual(faults(undefined), [])
    assert.deepStrictEqual(faults({ strategy: "None" }), [])
    assert.deepStrictEqual(faults(webhook({ url: "https://h.example.com/convert" })), [])
    assert.deepStrictEqual(faults(webhook({ service: { name: "a", namespace: "b", path: "/x/y", port: 1 } })), [])
  })

  it("a webhook says where it is, and in which versions it speaks", () => {
    assert.deepStrictEqual(faults({ strategy: "Webhook" }), [
      "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
      "spec.conversion.conversionReviewVersions: Required value"
    ])
    // Name and namespace are mixed up, as in the real server.
    assert.deepStrictEqual(faults(webhook({ service: { namespace: "b" } })), [
      "spec.conversion.webhookClientConfig.service.namespace: Required value"
    ])
    assert.deepStrictEqual(faults(webhook({ url: "https://h/" }, ["v1", "v1", "v7"])), [
      "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v1\": duplicate version"
    ])
    assert.deepStrictEqual(faults(webhook({ url: "https://h/" }, ["v7"])), [
      "spec.conversion.conversionReviewVersions: Invalid value: [\"v7\"]: must include at least one of v1, v1beta1"
    ])
    assert.deepStrictEqual(faults(webhook({ url: "https://h/" }), { preserveUnknownFields: true }), [
      "spec.conversion.strategy: Invalid value: \"Webhook\": must be None if spec.preserveUnknownFields is true"
    ])
  })

  it("a bundle that is none is for new definitions only", () => {
    const [good, bad] = [webhook({ url: "https://h/", caBundle: bundle(pem) }), webhook({ caBundle: bundle("foo") })]
    assert.isTrue(ConversionRules.hasBrokenBundle(definition(bad)))
    assert.isFalse(ConversionRules.hasBrokenBundle(definition(good)))
    const update = (next: unknown, previous: unknown) =>
      ConversionRules.updateFaults(definition(next), definition(previous)).map(FieldError.format)
    assert.deepStrictEqual(update(bad, good), [
      "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"Zm9v\": " +
      "unable to load root certificates: unable to parse bytes as PEM block"
    ])
    assert.deepStrictEqual(update(bad, bad), [])
    assert.deepStrictEqual(update(good, bad), [])
  })
})

describe("ClientConfigRules", () => {
  it("segments of a path are names", () => {
    const of = (path: string) =>
      ClientConfigRules.serviceFaults({ name: "a", namespace: "b", path }, "s").map(({ detail }) => detail)
    for (const path of ["", "/", "/a", "/a/", "/a.b/c-d"]) assert.deepStrictEqual(of(path), [], path)
    assert.deepStrictEqual(of("//"), ["segment[0] may not be empty"])
    assert.deepStrictEqual(of("/a//b"), ["segment[1] may not be empty"])
    assert.deepStrictEqual(of("x"), ["must start with a '/'", "segment[0] may not be empty"])
    assert.match(of("/A_")[0]!, /^segment\[0\]: a lowercase RFC 1123 subdomain/)
  })
})
