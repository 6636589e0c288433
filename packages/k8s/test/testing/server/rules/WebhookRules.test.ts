import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../../../src/schema/FieldError.ts"
import * as WebhookRules from "../../../../src/testing/server/rules/WebhookRules.ts"

const hook = (fields: object = {}) => ({
  name: "a.b.c",
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  clientConfig: { url: "https://h" },
  ...fields
})

const faults = (...webhooks: ReadonlyArray<object>) =>
  WebhookRules.validate({ webhooks } as never).map(FieldError.format)

const resources = (...names: ReadonlyArray<string>) =>
  WebhookRules.ruleFaults(
    { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: names },
    "r"
  ).map(FieldError.format)

describe("WebhookRules", () => {
  it("defaults are filled in where nothing is said, and stay", () => {
    const apply = WebhookRules.applyDefaults(true)
    const once = apply({ webhooks: [hook({ rules: [{}], failurePolicy: "Ignore" })] })
    const [webhook] = once["webhooks"] as ReadonlyArray<Record<string, unknown>>
    assert.deepInclude(webhook, {
      failurePolicy: "Ignore",
      matchPolicy: "Equivalent",
      timeoutSeconds: 10,
      reinvocationPolicy: "Never",
      rules: [{ scope: "*" }]
    })
    assert.deepStrictEqual(apply(once), once)
    assert.notProperty(
      (WebhookRules.applyDefaults(false)({ webhooks: [{}] })["webhooks"] as ReadonlyArray<object>)[0],
      "reinvocationPolicy"
    )
    assert.deepStrictEqual(apply({}), {})
  })

  it("a good configuration has no faults; names must differ", () => {
    assert.deepStrictEqual(faults(hook()), [])
    assert.deepStrictEqual(faults(hook(), hook()), ["webhooks[1].name: Duplicate value: \"a.b.c\""])
  })

  it("stars exclude what they include", () => {
    assert.deepStrictEqual(resources("pods", "pods/status"), [])
    assert.deepStrictEqual(resources("*", "pods/status"), [])
    assert.deepStrictEqual(resources("*/*", "pods"), [
      "r.resources: Invalid value: [\"*/*\",\"pods\"]: if '*/*' is present, must not specify other resources"
    ])
    assert.deepStrictEqual(resources("pods/*", "pods/exec"), [
      "r.resources[1]: Invalid value: \"pods/exec\": if 'pods/*' is present, must not specify pods/exec"
    ])
    assert.deepStrictEqual(resources("*/scale", "a/scale"), [
      "r.resources[1]: Invalid value: \"a/scale\": if '*/scale' is present, must not specify a/scale"
    ])
    assert.lengthOf(resources("*", "pods"), 1)
    assert.deepStrictEqual(resources(), ["r.resources: Required value"])
  })

  it("label selectors are judged", () => {
    const path = "webhooks[0].objectSelector.matchExpressions[0]"
    const expression = (fields: object) => faults(hook({ objectSelector: { matchExpressions: [fields] } }))
    assert.deepStrictEqual(expression({ key: "a", operator: "In" }), [
      `${path}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`
    ])
    assert.deepStrictEqual(expression({ key: "a", operator: "Exists", values: ["x"] }), [
      `${path}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`
    ])
    assert.deepStrictEqual(expression({ key: "a", operator: "Gt" }), [
      `${path}.operator: Invalid value: "Gt": not a valid selector operator`
    ])
  })

  it("a URL is https, a host and a path", () => {
    const url = (text: string) => faults(hook({ clientConfig: { url: text } }))
    const unread = (text: string, why: string) =>
      "webhooks[0].clientConfig.url: Required value: url must be a valid URL: " +
      `parse ${JSON.stringify(text)}: ${why}; desired format: https://host[/path]`
    for (const good of ["https://h", "https://h:8443/a/b/", "https://[::1]:1/x"]) assert.deepStrictEqual(url(good), [])
    assert.lengthOf(url("h"), 2)
    assert.deepStrictEqual(url("https://h:x/"), [unread("https://h:x/", "invalid port \":x\" after host")])
    assert.deepStrictEqual(url(":x"), [unread(":x", "missing protocol scheme")])
    assert.deepStrictEqual(url("https://h/%zz"), [unread("https://h/%zz", "invalid URL escape \"%zz\"")])
    assert.deepStrictEqual(url("https://h h/"), [unread("https://h h/", "invalid character \" \" in host name")])
  })

  it("faults of a Service name the other field, as the real server's do", () => {
    assert.deepStrictEqual(faults(hook({ clientConfig: { service: { namespace: "n" } } })), [
      "webhooks[0].clientConfig.service.namespace: Required value"
    ])
  })
})
