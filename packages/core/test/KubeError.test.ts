import { KubeError, type Status } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const status = (code: number, reason?: string, more: Partial<Status.Status> = {}): Status.Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `message of ${code}`,
  code,
  ...(reason === undefined ? {} : { reason }),
  ...more
})
const answer = (code: number, body?: unknown, headers: Readonly<Record<string, string>> = {}): KubeError.Reason =>
  KubeError.fromAnswer({ status: code, headers, body })

describe("fromAnswer", () => {
  it.each<readonly [code: number, reason: string | undefined, tag: KubeError.Reason["_tag"], retryable: boolean]>([
    [400, "BadRequest", "BadRequest", false],
    [401, "Unauthorized", "Unauthorized", true],
    [403, "Forbidden", "Forbidden", false],
    [404, "NotFound", "NotFound", false],
    [405, "MethodNotAllowed", "MethodNotAllowed", false],
    [406, "NotAcceptable", "UnexpectedStatus", false],
    [409, "AlreadyExists", "AlreadyExists", false],
    [409, "Conflict", "Conflict", true],
    [410, "Expired", "Gone", false],
    [410, "Gone", "Gone", false],
    [413, "RequestEntityTooLarge", "UnexpectedStatus", false],
    [415, "UnsupportedMediaType", "UnexpectedStatus", false],
    [422, "Invalid", "Invalid", false],
    [429, "TooManyRequests", "TooManyRequests", true],
    [500, "InternalError", "ServerError", true],
    [500, "ServerTimeout", "Timeout", true],
    [500, undefined, "ServerError", true],
    [503, "ServiceUnavailable", "ServerError", true],
    [504, "Timeout", "Timeout", true]
  ])("takes %i %s for %s", (code, reason, tag, retryable) => {
    const body = status(code, reason)
    const found = answer(code, body)
    assert.strictEqual(found._tag, tag)
    assert.strictEqual(found.message, `message of ${code}`)
    assert.deepStrictEqual("code" in found && found.code, code)
    assert.deepStrictEqual("status" in found && found.status, body)
    assert.strictEqual(KubeError.make({ verb: "get", resource: "pods" }, found).isRetryable, retryable)
  })

  it("goes by the status code if a proxy answered", () => {
    const cases = [[404, "NotFound"], [409, "Conflict"], [410, "Gone"], [502, "ServerError"], [504, "Timeout"]] as const
    for (const [code, tag] of cases) {
      const found = answer(code, " upstream says no\n")
      assert.strictEqual(found._tag, tag)
      assert.strictEqual(found.message, "upstream says no")
      assert.isFalse("status" in found && found.status !== undefined)
    }
    assert.strictEqual(answer(503).message, "HTTP 503 without a message")
    assert.strictEqual(answer(503, "").message, "HTTP 503 without a message")
    assert.strictEqual(answer(500, { not: "a Status" }).message, "HTTP 500 without a message")
    assert.strictEqual(answer(302)._tag, "UnexpectedStatus")
    assert.strictEqual(
      answer(302, "Found", { location: "https://login.example/" }).message,
      "HTTP 302 to https://login.example/: redirects are not followed: is the server address that of an API server?"
    )
    const page = answer(502, `<html>\n  <body>${"x".repeat(100_000)}`).message
    assert.isTrue(page.startsWith("<html> <body>xxx"))
    assert.isBelow(page.length, 400)
  })

  it("keeps the causes of an Invalid", () => {
    const details = { causes: [{ reason: "FieldValueInvalid", field: "spec.a", message: "bad" }] }
    const found = answer(422, status(422, "Invalid", { details }))
    assert.deepStrictEqual(found._tag === "Invalid" && (found.status as Status.Status).details, details)
  })
})

describe("retryAfter", () => {
  const after = (code: number, reason: string, headers: Readonly<Record<string, string>>, seconds?: number) =>
    KubeError.make(
      { verb: "list", resource: "pods" },
      answer(
        code,
        status(code, reason, seconds === undefined ? {} : { details: { retryAfterSeconds: seconds } }),
        headers
      )
    ).retryAfter

  it("is in milliseconds, from the header or else from the details", () => {
    assert.strictEqual(after(429, "TooManyRequests", { "retry-after": "7" }), 7_000)
    assert.strictEqual(after(429, "TooManyRequests", {}, 3), 3_000)
    assert.strictEqual(after(429, "TooManyRequests", { "retry-after": "7" }, 3), 7_000)
    assert.strictEqual(after(503, "ServiceUnavailable", { "retry-after": "1" }), 1_000)
    assert.strictEqual(after(500, "ServerTimeout", {}, 2), 2_000)
    assert.strictEqual(after(504, "Timeout", { "retry-after": "1" }), 1_000)
  })

  it("ignores a date, nonsense, and reasons that are not retryable", () => {
    assert.strictEqual(after(429, "TooManyRequests", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, 4), 4_000)
    assert.isUndefined(after(429, "TooManyRequests", { "retry-after": "soon" }))
    assert.isUndefined(after(429, "TooManyRequests", {}))
    assert.isUndefined(after(404, "NotFound", { "retry-after": "7" }))
  })
})

describe("KubeError", () => {
  const notFound = answer(404, status(404, "NotFound", { message: `pods "a" not found` }))

  it("says what was done to which object, where, and why it failed", () => {
    const message = (call: KubeError.Call) => KubeError.make(call, notFound).message
    assert.strictEqual(
      message({ verb: "get", resource: "pods", namespace: "d", name: "a" }),
      `get pods d/a: NotFound: pods "a" not found`
    )
    assert.strictEqual(
      message({ verb: "get", resource: "nodes", name: "a" }),
      `get nodes a: NotFound: pods "a" not found`
    )
    assert.strictEqual(
      message({ verb: "list", resource: "webs.test.io", namespace: "d" }),
      `list webs.test.io in d: NotFound: pods "a" not found`
    )
    assert.strictEqual(message({ verb: "watch", resource: "pods" }), `watch pods: NotFound: pods "a" not found`)
  })

  it("includes a webhook's field errors that are missing in the message", () => {
    const causes = [
      { field: "spec.schedule", message: "has not five fields" },
      { field: "spec.size", message: "is odd" },
      { message: "it is late" }
    ]
    const message = (text: string) =>
      KubeError.make(
        { verb: "create", resource: "webs.test.io" },
        answer(422, status(422, "Invalid", { message: text, details: { causes } }))
      ).message
    assert.strictEqual(
      message("no web: spec.size: is odd"),
      "create webs.test.io: Invalid: no web: spec.size: is odd (spec.schedule: has not five fields; it is late)"
    )
  })

  it.effect("is caught by reason", () =>
    Effect.gen(function*() {
      const failing = Effect.fail(KubeError.make({ verb: "get", resource: "pods", name: "a" }, notFound))
      const caught = yield* Effect.catchReason(failing, "KubeError", "NotFound", ({ code }) => Effect.succeed(code))
      assert.strictEqual(caught, 404)
      const other = yield* Effect.flip(Effect.catchReason(failing, "KubeError", "Gone", () => Effect.void))
      assert.strictEqual(other.reason._tag, "NotFound")
    }))

  it("survives a round trip through JSON", () => {
    const codec = Schema.toCodecJson(KubeError.KubeError)
    const error = KubeError.make(
      { verb: "patch", resource: "pods/status", namespace: "d", name: "a" },
      answer(429, status(429, "TooManyRequests"), { "retry-after": "1" })
    )
    const back = Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(Schema.encodeSync(codec)(error))))
    assert.strictEqual(back.message, error.message)
    assert.strictEqual(back.retryAfter, 1_000)
  })

  it("of a watch event is that of its Status", () => {
    assert.strictEqual(KubeError.fromStatus(status(410, "Expired"))._tag, "Gone")
    assert.strictEqual(KubeError.fromStatus(status(403, "Forbidden"))._tag, "Forbidden")
    const { code: _, ...rest } = status(410, "Expired")
    assert.strictEqual(KubeError.fromStatus(rest)._tag, "Gone")
    const { code: _code, ...unknown } = status(1)
    assert.strictEqual(KubeError.fromStatus(unknown)._tag, "ServerError")
  })
})
