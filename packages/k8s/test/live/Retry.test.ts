import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Retry from "../../src/live/Retry.ts"

const request = (
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  more: Partial<Parameters<typeof Retry.isRepeatable>[0]> = {}
) => ({ method, path: "/api/v1/namespaces/ns/configmaps/a", query: [], headers: {}, ...more })

const apply = (metadata: object) =>
  request("PATCH", { headers: { "content-type": "application/apply-patch+yaml" }, body: { metadata } })

describe("Retry", () => {
  it("knows what may be repeated: reads, dry runs, and an apply that names no version", () => {
    assert.isTrue(Retry.isRepeatable(request("GET")))
    assert.isTrue(Retry.isRepeatable(request("POST", { query: [["dryRun", "All"]] })))
    assert.isTrue(Retry.isRepeatable(apply({ name: "a" })))
    assert.isFalse(Retry.isRepeatable(apply({ name: "a", resourceVersion: "1" })))
    assert.isFalse(Retry.isRepeatable(apply({ name: "a", uid: "u" })))
    assert.isFalse(Retry.isRepeatable(request("PATCH", { headers: { "content-type": "application/json-patch+json" } })))
    for (const method of ["POST", "PUT", "DELETE"] as const) assert.isFalse(Retry.isRepeatable(request(method)))
  })

  const answered = (status: number, retryAfter?: number): Retry.Outcome => ({ _tag: "Answered", status, retryAfter })
  const failed = (sent: boolean, code: string): Retry.Outcome => ({ _tag: "Failed", sent, code })
  const decide = (repeatable: boolean, outcome: Retry.Outcome, attempt = 0, policy?: Retry.Policy) => {
    const decision = Retry.decide(repeatable, outcome, attempt, 0, policy)
    return decision._tag === "Return" ? undefined : decision.after
  }

  it("comes again when the server asked for it, within its patience", () => {
    assert.strictEqual(decide(false, answered(429, 2000)), 2000)
    assert.isUndefined(decide(false, answered(429)), "an eviction that a budget forbids has no Retry-After")
    assert.isUndefined(decide(false, answered(429, 10_001)))
    assert.strictEqual(decide(false, answered(429, 10_001), 0, { patience: "1 minute" }), 10_001)
    assert.strictEqual(decide(true, answered(503, 1000)), 1000)
    assert.isUndefined(decide(false, answered(503, 1000)), "the write may have happened")
    assert.isUndefined(decide(true, answered(503)))
    for (const status of [200, 400, 401, 403, 404, 409, 410, 422]) assert.isUndefined(decide(true, answered(status, 1)))
  })

  it("repeats what was never sent, and reads whose connection broke; nothing that timed out or is not trusted", () => {
    assert.strictEqual(decide(false, failed(false, "ECONNREFUSED")), 100)
    assert.strictEqual(decide(false, failed(false, "ECONNREFUSED"), 2), 400)
    assert.isUndefined(decide(false, failed(false, "ECONNREFUSED"), 3))
    assert.strictEqual(decide(true, failed(true, "ECONNRESET")), 100)
    assert.isUndefined(decide(false, failed(true, "ECONNRESET")))
    for (const code of ["TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "HPE_INVALID_CONSTANT"]) {
      assert.isUndefined(decide(true, failed(true, code)), code)
    }
    for (
      const code of [
        "UND_ERR_CONNECT_TIMEOUT",
        "ERR_TLS_CERT_ALTNAME_INVALID",
        "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        "UND_ERR_INVALID_ARG",
        "CERT_HAS_EXPIRED"
      ]
    ) {
      assert.isUndefined(decide(true, failed(false, code)), code)
    }
  })

  it.prop(
    "never repeats a write that the server may have looked at, and nothing more than a few times",
    {
      status: Schema.Literals([200, 404, 409, 429, 500, 502, 503, 504]),
      retryAfter: Schema.UndefinedOr(Schema.Natural),
      code: Schema.Literals(["ECONNRESET", "ECONNREFUSED", "EPIPE", "TIMEOUT", "UND_ERR_SOCKET", ""]),
      attempt: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
      sent: Schema.Boolean
    },
    ({ attempt, code, retryAfter, sent, status }) => {
      const onAnswer = Retry.decide(false, { _tag: "Answered", status, retryAfter }, attempt, 0.5)
      const onFailure = Retry.decide(false, { _tag: "Failed", sent, code }, attempt, 0.5)
      if (onAnswer._tag === "Again") assert.strictEqual(status, 429)
      if (onFailure._tag === "Again") assert.isFalse(sent)
      for (const decision of [onAnswer, onFailure]) {
        if (decision._tag === "Again") {
          assert.isBelow(attempt, Retry.defaults.times)
          assert.isAtMost(decision.after, 10_000)
        }
      }
    },
    { arbitrary: { runs: 500 } }
  )

  it("reads Retry-After as seconds or as a date", () => {
    const at = Date.parse("Wed, 21 Oct 2015 07:28:00 GMT")
    assert.strictEqual(Retry.retryAfter({ "retry-after": "7" }, at), 7000)
    assert.strictEqual(Retry.retryAfter({ "retry-after": "Wed, 21 Oct 2015 07:28:05 GMT" }, at), 5000)
    assert.strictEqual(Retry.retryAfter({ "retry-after": "Wed, 21 Oct 2015 07:27:05 GMT" }, at), 0)
    assert.isUndefined(Retry.retryAfter({ "retry-after": "soon" }, at))
    assert.isUndefined(Retry.retryAfter({}, at))
  })
})
