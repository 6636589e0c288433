import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as AdmissionReview from "../../../src/testing/admission/AdmissionReview.ts"

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const review = (response: object | undefined, fields: object = {}) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  ...(response === undefined ? {} : { response }),
  ...fields
})

const verified = (
  mutating: boolean,
  response: object | undefined,
  fields?: object,
  version: "v1" | "v1beta1" = "v1"
) => {
  const result = AdmissionReview.verify(version, "u", mutating, review(response, fields))
  return Result.isSuccess(result) ? result.success : result.failure
}

describe("AdmissionReview", () => {
  it("takes the first version that both sides know", () => {
    assert.strictEqual(AdmissionReview.version(["v2", "v1beta1", "v1"]), "v1beta1")
    assert.strictEqual(AdmissionReview.version(["v1", "v1beta1"]), "v1")
    assert.isUndefined(AdmissionReview.version(["v2"]))
  })

  it("reads a response", () => {
    assert.deepStrictEqual(
      verified(true, {
        uid: "u",
        allowed: true,
        patch: base64("[]"),
        patchType: "JSONPatch",
        warnings: ["w"],
        auditAnnotations: { k: "v" },
        status: { message: "m" }
      }),
      {
        allowed: true,
        patch: "[]",
        patchType: "JSONPatch",
        status: { message: "m" },
        warnings: ["w"],
        auditAnnotations: [["k", "v"]]
      }
    )
  })

  it("says what a v1 response lacks", () => {
    const patch = base64("[]")
    assert.strictEqual(verified(true, undefined), "webhook response was absent")
    assert.strictEqual(verified(true, { uid: "x" }), "expected response.uid=\"u\", got \"x\"")
    assert.strictEqual(
      verified(true, { uid: "u" }, { kind: "Other" }),
      "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind=Other"
    )
    assert.strictEqual(
      verified(true, { uid: "u", patch }),
      "webhook returned response.patch but not response.patchType"
    )
    assert.strictEqual(
      verified(false, { uid: "u", patchType: "JSONPatch" }),
      "validating webhook may not return response.patchType"
    )
  })

  it("checks nothing of a v1beta1 response but that it is there", () => {
    const response = verified(true, { uid: "x", allowed: true, patch: base64("[1]") }, { kind: "Other" }, "v1beta1")
    assert.deepInclude(response as object, { allowed: true, patch: "[1]", patchType: "JSONPatch" })
    assert.strictEqual(verified(true, undefined, {}, "v1beta1"), "webhook response was absent")
  })

  it("finds the byte that is no base64, as Go does", () => {
    const fault = (patch: string) => AdmissionReview.decodeFault(review({ patch }))
    assert.isUndefined(fault(base64("hello, world")))
    assert.isUndefined(fault("aGVs\nbG8=\n"))
    assert.strictEqual(fault("%%%"), "illegal base64 data at input byte 0")
    assert.strictEqual(fault("abcde"), "illegal base64 data at input byte 4")
    assert.strictEqual(fault("ab=c"), "illegal base64 data at input byte 2")
    assert.strictEqual(
      AdmissionReview.decodeFault(review({ warnings: [1] })),
      "json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string"
    )
  })

  it("a denial is at least 400 and never a success", () => {
    const denied = (status: object | undefined) => AdmissionReview.denied("n", status as never)
    assert.strictEqual(denied(undefined).body.message, "admission webhook \"n\" denied the request without explanation")
    assert.deepInclude(denied({ code: 302, status: "Success" }), { status: 400 })
    assert.strictEqual(denied({ status: "Success" }).body.status, "Failure")
    assert.deepInclude(denied({ code: 429, details: { retryAfterSeconds: 2 } }), { headers: { "retry-after": "2" } })
    assert.deepStrictEqual(denied({ metadata: { resourceVersion: "1" } }).body.metadata, { resourceVersion: "1" })
  })
})
