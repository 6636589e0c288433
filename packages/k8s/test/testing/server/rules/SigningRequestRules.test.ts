import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Answer, get, layer, patch, post } from "../../support/server.ts"

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

const condition = (type: string, status = "True") => ({ type, status, reason: "r", message: "m" })

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

  it.effect("a decision is dated, and is never taken back", () =>
    Effect.gen(function*() {
      yield* post(requests, request("a"))
      const approval = (conditions: ReadonlyArray<object>) =>
        patch(`${requests}/a/approval`, "merge", { status: { conditions, certificate: "eA==" } })
      const status = (conditions: ReadonlyArray<object>) =>
        patch(`${requests}/a/status`, "merge", { status: { conditions } })
      assert.deepStrictEqual(causes(yield* approval([condition("Approved", "False"), condition("X", "Maybe")])), [
        "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\"",
        "status.conditions[1].status: Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\""
      ])
      assert.deepStrictEqual(
        causes(yield* approval([condition("Approved"), condition("Denied"), condition("Denied")])),
        [
          "status.conditions[1].type: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive",
          "status.conditions[2].type: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive",
          "status.conditions[2].type: Duplicate value: \"Denied\""
        ]
      )
      assert.deepStrictEqual(causes(yield* status([condition("Approved")])), [
        "status.conditions: Forbidden: updates may not add a condition of type \"Approved\""
      ])
      const { body: { status: { conditions: [{ lastTransitionTime, lastUpdateTime }], certificate } } } =
        yield* approval([
          condition("Approved")
        ])
      assert.match(lastUpdateTime, /Z$/)
      assert.strictEqual(lastTransitionTime, lastUpdateTime)
      assert.isUndefined(certificate, "who approves gives no certificate")
      assert.deepStrictEqual(causes(yield* status([condition("Failed")])), [
        "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\""
      ])
      const kept = yield* status([{ ...condition("Approved"), message: "another" }])
      assert.strictEqual(kept.body.status.conditions[0].message, "m")
    }).pipe(Effect.provide(layer)))

  it.effect("a certificate is one, and is given once", () =>
    Effect.gen(function*() {
      yield* post(requests, request("a"))
      const give = (text: string) =>
        patch(`${requests}/a/status`, "merge", { status: { certificate: Buffer.from(text).toString("base64") } })
      assert.deepStrictEqual(causes(yield* give("foo")), [
        "status.certificate: Invalid value: \"<certificate data>\": must contain at least one CERTIFICATE PEM block"
      ])
      const certificate = (content: string) => `-----BEGIN CERTIFICATE-----\n${content}\n-----END CERTIFICATE-----\n`
      assert.strictEqual((yield* give(certificate("MAA="))).status, 200)
      assert.deepStrictEqual(causes(yield* give(certificate("MAEA"))), [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
      ])
      yield* patch(`${requests}/a/approval`, "merge", { status: { certificate: null } })
      assert.isString((yield* get(`${requests}/a`)).body.status.certificate)
    }).pipe(Effect.provide(layer)))
})
