import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, get, layer, patch, post } from "../support/server.ts"

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

const pem = Buffer.from("-----BEGIN CERTIFICATE REQUEST-----\neA==\n-----END CERTIFICATE REQUEST-----\n").toString(
  "base64"
)

const request = (name: string, more: object = {}) => ({
  metadata: { name },
  spec: { request: pem, signerName: "example.com/signer", usages: ["client auth"], ...more }
})

const causes = ({ body, status }: Answer): unknown => {
  assert.strictEqual(status, 422)
  return body.details.causes.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`)
}

describe("SigningRequestRules", () => {
  it.effect("a request bears the name of who creates it, and stays as it is", () =>
    Effect.gen(function*() {
      const { body, status } = yield* post(requests, request("a", { username: "somebody", groups: ["x"], uid: "5" }))
      assert.strictEqual(status, 201)
      assert.strictEqual(body.spec.username, "kubernetes-admin")
      assert.deepStrictEqual(body.spec.groups, ["system:masters", "system:authenticated"])
      assert.isUndefined(body.spec.uid)
      yield* patch(`${requests}/a`, "merge", { spec: { usages: ["server auth"] } })
      assert.deepStrictEqual((yield* get(`${requests}/a`)).body.spec.usages, ["client auth"])
    }).pipe(Effect.provide(layer)))

  it.effect("is refused without an envelope, a signer, or a use", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(causes(yield* post(requests, { metadata: { name: "a" }, spec: { request: "eA==" } })), [
        "spec.request: Invalid value: \"eA==\": PEM block type must be CERTIFICATE REQUEST",
        "spec.usages: Required value",
        "spec.signerName: Required value"
      ])
      assert.deepStrictEqual(causes(yield* post(requests, request("a", { signerName: "signer" }))), [
        "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form " +
        "'example.com/signer-name'"
      ])
      assert.match(
        String(causes(yield* post(requests, request("a", { signerName: "A.com/x" })))),
        /^spec.signerName: Invalid value: "A.com": validating label "A": /
      )
      assert.deepStrictEqual(
        causes(yield* post(requests, request("a", { usages: ["client auth", "client auth"] }))),
        ["spec.usages[1]: Duplicate value: \"client auth\""]
      )
      assert.match(
        String(causes(yield* post(requests, request("a", { usages: ["other"] })))),
        /^spec.usages\[0\]: Unsupp/
      )
      assert.match(
        String(causes(yield* post(requests, request("a", { expirationSeconds: 5 })))),
        /may not specify a duration less than 600 seconds/
      )
    }).pipe(Effect.provide(layer)))
})
