import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import * as Jwt from "../../../src/testing/auth/Jwt.ts"
import { call, get, pod, pods, post } from "../support/server.ts"

const accounts = "/api/v1/namespaces/default/serviceaccounts"

const token = Effect.fnUntraced(function*(spec: object = {}) {
  const { body, status } = yield* post(`${accounts}/robot/token`, { spec })
  assert.strictEqual(status, 201, JSON.stringify(body))
  return body.status.token as string
})

const use = (token: string) => Effect.map(get("/api", { authorization: `Bearer ${token}` }), ({ status }) => status)

const account = post(accounts, { metadata: { name: "robot" } })

describe("TokenRequests", () => {
  it.effect("gives tokens that end by the server's clock", () =>
    Effect.gen(function*() {
      yield* account
      const [short, long] = [yield* token({ expirationSeconds: 600 }), yield* token()]
      assert.deepStrictEqual([yield* use(short), yield* use(long)], [200, 200])
      yield* TestClock.adjust("662 seconds")
      assert.deepStrictEqual([yield* use(short), yield* use(long)], [401, 200])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* use(long), 401)
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("binds to a Pod of the account, tells its node, and gives such tokens a year", () =>
    Effect.gen(function*() {
      yield* account
      yield* post(pods, pod("p", { spec: { serviceAccountName: "robot", nodeName: "n" } }))
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "p" }
      const bound = yield* token({ boundObjectRef, expirationSeconds: 3607 })
      const claims = Jwt.read(bound) as any
      assert.strictEqual(claims.exp - claims.iat, 365 * 24 * 3600)
      assert.strictEqual(claims["kubernetes.io"].warnafter - claims.iat, 3607)
      assert.deepStrictEqual(claims["kubernetes.io"].node, { name: "n" })
      const review = yield* post("/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: bound } })
      assert.deepStrictEqual(review.body.status.user.extra["authentication.kubernetes.io/pod-name"], ["p"])
      yield* call("DELETE", `${pods}/p`, { gracePeriodSeconds: 0 })
      assert.strictEqual(yield* use(bound), 401)
      const plain = Jwt.read(yield* token({ expirationSeconds: 3607 })) as any
      assert.strictEqual(plain.exp - plain.iat, 3607)
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("refuses what is not about the account", () =>
    Effect.gen(function*() {
      yield* account
      const ask = (metadata: object) => post(`${accounts}/robot/token`, { metadata, spec: {} })
      assert.match(
        (yield* ask({ name: "other" })).body.message,
        /^TokenRequest\.authentication\.k8s\.io "robot" is invalid: metadata\.name: .* must match the service account name/
      )
      const elsewhere = yield* ask({ namespace: "other" })
      assert.strictEqual(elsewhere.status, 400)
      assert.match(elsewhere.body.message, /^the namespace of the provided object does not match/)
      const stale = yield* ask({ uid: "x" })
      assert.strictEqual(stale.status, 409)
      assert.match(
        stale.body.message,
        /the UID in the token request \(x\) does not match the UID of the service account/
      )
    }).pipe(Effect.provide(ApiServer.layer)))

  it.effect("publishes its keys in their own media types", () =>
    Effect.gen(function*() {
      const keys = yield* get("/openid/v1/jwks", { accept: "application/jwk-set+json" })
      assert.strictEqual(keys.status, 200)
      assert.strictEqual(keys.body.keys.length, 1)
      assert.isUndefined(keys.body.keys[0].d)
      const configuration = yield* get("/.well-known/openid-configuration", { host: "localhost:1" })
      assert.strictEqual(configuration.body.jwks_uri, "https://localhost:1/openid/v1/jwks")
      assert.strictEqual((yield* get("/openid/v1/jwks")).status, 406)
      assert.strictEqual((yield* call("POST", "/openid/v1/jwks", {})).status, 405)
    }).pipe(Effect.provide(ApiServer.layer)))
})
