import { assert, describe, it } from "@effect/vitest"
import * as FieldError from "../../src/schema/FieldError.ts"
import * as StatusError from "../../src/api/StatusError.ts"

const pods = { group: "", plural: "pods" }
const deployments = { group: "apps", plural: "deployments" }

describe("bodies", () => {
  it("an object that is not there", () => {
    assert.deepStrictEqual(StatusError.notFound(deployments, "a"), {
      status: 404,
      body: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "deployments.apps \"a\" not found",
        reason: "NotFound",
        details: { name: "a", group: "apps", kind: "deployments" },
        code: 404
      }
    })
  })

  it("the core group is not mentioned", () => {
    assert.deepStrictEqual(StatusError.notFound(pods, "a").body.details, { name: "a", kind: "pods" })
  })

  it("the validation of an object speaks of its kind", () => {
    const { body } = StatusError.invalid("Widget", "g", "a", [FieldError.required("spec.x", "")])
    assert.strictEqual(body.message, "Widget.g \"a\" is invalid: spec.x: Required value")
    assert.deepStrictEqual(body.details, {
      name: "a",
      group: "g",
      kind: "Widget",
      causes: [{ reason: "FieldValueRequired", message: "Required value", field: "spec.x" }]
    })
  })

  it("every cause is listed, the message has none twice", () => {
    const error = FieldError.required("spec.x", "")
    const { body } = StatusError.invalid("Widget", "g", "a", [error, error])
    assert.strictEqual(body.message, "Widget.g \"a\" is invalid: spec.x: Required value")
    assert.strictEqual(body.details?.causes?.length, 2)
  })

  it("options have neither name nor value in their head", () => {
    const { body } = StatusError.invalidOptions("ListOptions", [FieldError.forbidden("continue", "no")])
    assert.strictEqual(body.message, "ListOptions.meta.k8s.io \"\" is invalid: continue: Forbidden: no")
    assert.isUndefined(body.details?.name)
  })

  it("a future resourceVersion", () => {
    const error = StatusError.tooLargeResourceVersion("9", "3")
    assert.strictEqual(error.status, 504)
    assert.strictEqual(error.body.message, "Timeout: Too large resource version: 9, current: 3")
    assert.deepStrictEqual(error.body.details, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1
    })
    assert.deepStrictEqual(error.headers, { "retry-after": "1" })
  })

  it("errors without a code of their own have neither reason nor details", () => {
    assert.deepStrictEqual(Object.keys(StatusError.plain("x").body), [
      "kind",
      "apiVersion",
      "metadata",
      "status",
      "message",
      "code"
    ])
  })

  it("some have empty details, some none", () => {
    assert.deepStrictEqual(StatusError.methodNotAllowed.body.details, {})
    assert.deepStrictEqual(StatusError.unsupportedMediaType.body.details, {})
    assert.isUndefined(StatusError.unsupportedMediaTypes(["a"]).body.details)
    assert.isUndefined(StatusError.badRequest("x").body.details)
    assert.isUndefined(StatusError.unauthorized.body.details)
  })

  it("forbidden: an object, a collection, a path", () => {
    assert.strictEqual(StatusError.forbidden(pods, "a", "no").body.message, "pods \"a\" is forbidden: no")
    assert.strictEqual(StatusError.forbidden(pods, "", "no").body.message, "pods is forbidden: no")
    assert.strictEqual(StatusError.forbidden(undefined, "", "no").body.message, "forbidden: no")
  })

  it("an expired list may come with a token to go on with", () => {
    assert.propertyVal(StatusError.expired("too old", "token").body.metadata, "continue", "token")
    assert.strictEqual(StatusError.tooOldResourceVersion("1", "5").body.message, "too old resource version: 1 (5)")
  })

  it("the code is the same in head and body", () => {
    for (const error of [StatusError.gone("x"), StatusError.internal("x"), StatusError.conflict(pods, "a", "x")]) {
      assert.strictEqual(error.status, error.body.code)
    }
  })
})
