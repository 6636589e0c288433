import { assert, describe, it } from "@effect/vitest"
import * as SigningRequest from "../../../../src/testing/server/rules/SigningRequest.ts"
import { masterRequest, requestPem } from "../../support/certificates.ts"

describe("SigningRequest", () => {
  it("the organizations of the subject are told, and none of what cannot be read", () => {
    assert.deepStrictEqual(SigningRequest.organizations(masterRequest), ["devs", "system:masters"])
    for (const content of ["", "eA==", "MAA=", "MAIwAA=="]) {
      assert.deepStrictEqual(SigningRequest.organizations(requestPem(content)), [])
    }
    assert.deepStrictEqual(SigningRequest.organizations(""), [])
  })
})
