/** Statement 129, the other half: who somebody is. */
import { assert } from "@effect/vitest"
import * as NodeCrypto from "node:crypto"
import { account, as, bearer, grant, isForbidden } from "../Access.ts"
import { statement } from "../Statement.ts"
import { Target } from "../Target.ts"

const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString("utf8"))

export const authentication = [
  statement(
    "129c",
    "who comes without credentials is system:anonymous, who comes with bad ones is nobody",
    {},
    function*() {
      const { bare } = yield* Target
      for (const path of ["/version", "/healthz", "/livez", "/readyz"]) {
        assert.strictEqual((yield* bare("GET", path)).status, 200, path)
      }
      isForbidden(
        yield* bare("GET", "/api/v1/pods"),
        "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
        { kind: "pods" }
      )
      for (const path of ["/", "/api", "/apis", "/openapi/v2", "/nothing"]) {
        isForbidden(yield* bare("GET", path), `forbidden: User "system:anonymous" cannot get path "${path}"`, {})
      }
      for (const path of ["/version", "/api/v1/pods", "/nothing"]) {
        const refused = yield* bare("GET", path, bearer("nobody"))
        assert.strictEqual(refused.status, 401)
        assert.deepStrictEqual(refused.body, {
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message: "Unauthorized",
          reason: "Unauthorized",
          code: 401
        })
      }
      const basic = yield* bare("GET", "/version", { headers: { authorization: "Basic Zm9vOmJhcg==" } })
      assert.strictEqual(basic.status, 200, "other schemes are no credentials at all")
    }
  ),

  statement("129g", "a token of a service account authenticates it until the account is gone", {
    note: "a real server remembers a good token for ten seconds"
  }, function*() {
    const { bare, minor, namespace, request, until } = yield* Target
    const ns = yield* namespace
    const { answer, name, token, uid } = yield* account(ns)
    const claims = claimsOf(token)
    const issuer = "https://kubernetes.default.svc"
    assert.deepStrictEqual(claims.aud, [issuer])
    assert.strictEqual(claims.iss, issuer)
    assert.strictEqual(claims.sub, `system:serviceaccount:${ns}:${name}`)
    assert.strictEqual(claims.exp - claims.iat, 3600)
    assert.strictEqual(claims.nbf, claims.iat)
    assert.deepStrictEqual(claims["kubernetes.io"], { namespace: ns, serviceaccount: { name, uid } })
    const { expirationTimestamp } = answer.object["status"]
    assert.isAtMost(Math.abs(Date.parse(expirationTimestamp) / 1000 - claims.exp), 1)
    assert.deepStrictEqual(answer.object["spec"], {
      audiences: [issuer],
      expirationSeconds: 3600,
      boundObjectRef: null
    })
    if (minor >= 35) {
      assert.strictEqual(answer.object.metadata.name, name)
      assert.strictEqual(answer.object.metadata.uid, uid)
    }
    const refused = yield* bare("GET", `/api/v1/namespaces/${ns}/pods`, bearer(token))
    isForbidden(
      refused,
      `pods is forbidden: User "system:serviceaccount:${ns}:${name}" cannot list resource "pods" in API group "" in ` +
        `the namespace "${ns}"`,
      { kind: "pods" }
    )
    assert.strictEqual((yield* bare("GET", "/api", bearer(token))).status, 200)
    assert.strictEqual((yield* bare("GET", "/api", bearer(`${token}x`))).status, 401)
    const path = `/api/v1/namespaces/${ns}/serviceaccounts`
    yield* request("DELETE", `${path}/${name}`)
    const gone = bare("GET", "/api", bearer(token))
    assert.strictEqual((yield* until(gone, ({ status }) => status === 401)).error.reason, "Unauthorized")
    yield* request("POST", path, { body: { metadata: { name } } })
    assert.strictEqual((yield* gone).status, 401, "another account of the same name")
  }),

  statement("129h", "a token is asked for with audiences, a lifetime and an object it is bound to", {}, function*() {
    const { bare, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const { name } = yield* account(ns)
    const path = `/api/v1/namespaces/${ns}/serviceaccounts`
    const ask = (spec: unknown, of = name) => request("POST", `${path}/${of}/token`, { body: { spec } })
    const brief = yield* ask({ expirationSeconds: 10 })
    assert.strictEqual(brief.status, 422)
    assert.strictEqual(
      brief.error.message,
      "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 10: may not specify a " +
        "duration less than 10 minutes"
    )
    assert.match(
      (yield* ask({ expirationSeconds: 10_000_000_000 })).error.message!,
      /Invalid value: 10000000000: may not specify a duration larger than 2\^32 seconds$/
    )
    const nobody = yield* ask({}, "nobody")
    assert.strictEqual(nobody.status, 404)
    assert.strictEqual(nobody.error.message, "serviceaccounts \"nobody\" not found")
    const bind = (kind: string, of: string, more = {}) =>
      ask({ boundObjectRef: { apiVersion: "v1", kind, name: of, ...more } })
    assert.strictEqual((yield* bind("Secret", "none")).error.message, "secrets \"none\" not found")
    const unbindable = yield* bind("ConfigMap", "none")
    assert.strictEqual(unbindable.status, 400)
    assert.strictEqual(unbindable.error.message, "cannot bind token to object of type /v1, Kind=ConfigMap")
    const secrets = `/api/v1/namespaces/${ns}/secrets`
    const { object: secret } = yield* request("POST", secrets, { body: { metadata: { name: "s" } } })
    const stale = yield* bind("Secret", "s", { uid: "x" })
    assert.strictEqual(stale.status, 409)
    const whose = minor < 35
      ? "the UID in the bound object reference (x) does not match the UID in record."
      : "the UID in the bound object reference (x) does not match the UID in record."
    assert.strictEqual(
      stale.error.message,
      `Operation cannot be fulfilled on Secret "s": ${whose} The object might have been deleted and then recreated`
    )
    const bound = yield* bind("Secret", "s")
    assert.strictEqual(bound.status, 201)
    const token = String(bound.object["status"].token)
    assert.deepStrictEqual(claimsOf(token)["kubernetes.io"].secret, { name: "s", uid: secret.metadata.uid })
    assert.strictEqual((yield* bare("GET", "/api", bearer(token))).status, 200)
    yield* request("POST", `/api/v1/namespaces/${ns}/pods`, {
      body: { metadata: { name: "p" }, spec: { serviceAccountName: "other", containers: [{ name: "c", image: "i" }] } }
    })
    assert.strictEqual(
      (yield* bind("Pod", "p")).error.message,
      `cannot bind token for serviceaccount "${name}" to pod running with different serviceaccount name.`
    )
    const foreign = yield* ask({ audiences: ["a", "b"], expirationSeconds: 600 })
    assert.deepStrictEqual(claimsOf(foreign.object["status"].token).aud, ["a", "b"])
    const elsewhere = yield* bare("GET", "/api", bearer(foreign.object["status"].token))
    assert.strictEqual(elsewhere.status, 401, "a token for others")
    assert.strictEqual((yield* request("GET", `${path}/${name}/token`)).status, 405)
    const odd = yield* request("POST", `${path}/${name}/token`, { body: { kind: "Foo" } })
    assert.match(
      odd.error.message!,
      /^Foo in version "v1" cannot be handled as a TokenRequest: no kind "Foo" is registered/
    )
  }),

  statement("129i", "whoever may impersonate is answered as somebody else; each header is a question of its own", {
    note: "groups without a user were 500 in plain text before 1.2x; uids are newer than 1.20"
  }, function*() {
    const { bare, minor, namespace, request } = yield* Target
    const ns = yield* namespace
    const { name, token } = yield* account(ns)
    const subject = { kind: "ServiceAccount", namespace: ns, name }
    yield* grant([
      { apiGroups: [""], resources: ["users"], resourceNames: ["bob"], verbs: ["impersonate"] },
      { apiGroups: ["authentication.k8s.io"], resources: ["userextras/scopes"], verbs: ["impersonate"] }
    ], [subject])
    const asked = (headers: Readonly<Record<string, string>>) =>
      bare("GET", "/api/v1/pods", { headers: { authorization: `Bearer ${token}`, ...headers } })
    const me = `User "system:serviceaccount:${ns}:${name}"`
    const { until } = yield* Target
    const bob = yield* until(asked(as("bob")), ({ error }) => error.message?.includes("\"bob\" cannot list") === true)
    isForbidden(
      bob,
      "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
      { kind: "pods" }
    )
    const cannot = (what: string, place = "at the cluster scope", api = "") =>
      `is forbidden: ${me} cannot impersonate resource "${what}" in API group "${api}" ${place}`
    isForbidden(yield* asked(as("jim")), `users "jim" ${cannot("users")}`, { name: "jim", kind: "users" })
    isForbidden(
      yield* asked(as("bob", { "impersonate-group": "ops" })),
      `groups "ops" ${cannot("groups")}`,
      { name: "ops", kind: "groups" }
    )
    isForbidden(
      yield* asked(as("bob", { "impersonate-extra-acme.com%2fproject": "x" })),
      `userextras.authentication.k8s.io "x" ${
        cannot("userextras/acme.com/project", "at the cluster scope", "authentication.k8s.io")
      }`,
      { name: "x", group: "authentication.k8s.io", kind: "userextras" }
    )
    assert.include(
      (yield* asked(as("bob", { "impersonate-extra-scopes": "x" }))).error.message!,
      "User \"bob\" cannot list"
    )
    isForbidden(
      yield* asked(as("system:serviceaccount:kube-system:default")),
      `serviceaccounts "default" ${cannot("serviceaccounts", "in the namespace \"kube-system\"")}`,
      { name: "default", kind: "serviceaccounts" }
    )
    const lost = yield* request("GET", "/version", { headers: { "impersonate-group": "g" } })
    const complaint = "requested [{Group  g    }] without impersonating a user"
    if (minor < 30) assert.strictEqual(lost.body, `Internal Server Error: "/version": ${complaint}\n`)
    else {
      assert.strictEqual(lost.status, 400)
      assert.strictEqual(lost.error.message, complaint)
    }
    const masters = yield* request("GET", "/api/v1/pods", {
      headers: as("jim", { "impersonate-group": "system:masters" })
    })
    assert.strictEqual(masters.status, 200, "an administrator may be anybody")
  }),

  statement("129j", "the keys that sign tokens are published for service accounts", {}, function*() {
    const { bare, namespace, request } = yield* Target
    const { token } = yield* account(yield* namespace)
    const configuration = yield* bare("GET", "/.well-known/openid-configuration", bearer(token))
    assert.strictEqual(configuration.status, 200)
    assert.strictEqual(configuration.headers["cache-control"], "public, max-age=3600")
    assert.strictEqual(configuration.object["issuer"], "https://kubernetes.default.svc")
    assert.match(configuration.object["jwks_uri"], /^https:\/\/[^/]+\/openid\/v1\/jwks$/)
    assert.deepStrictEqual(configuration.object["id_token_signing_alg_values_supported"], ["ES256"])
    const path = "/openid/v1/jwks"
    const json = yield* bare("GET", path, bearer(token))
    assert.strictEqual(json.status, 406, "keys have a media type of their own")
    assert.strictEqual((yield* bare("POST", path, bearer(token))).status, 403)
    const accept = "application/jwk-set+json"
    const keys = yield* bare("GET", path, { headers: { ...bearer(token).headers, accept } })
    assert.strictEqual(keys.headers["content-type"], accept)
    const [header, claims, signature] = token.split(".")
    const { kid } = JSON.parse(Buffer.from(header!, "base64url").toString("utf8"))
    // A document of a media type that no client of Kubernetes takes for JSON.
    const document = typeof keys.body === "string" ? JSON.parse(keys.body) : keys.body
    const key = document.keys.find((entry: { readonly kid: string }) => entry.kid === kid)
    assert.isTrue(NodeCrypto.verify(
      "sha256",
      Buffer.from(`${header}.${claims}`),
      { key: NodeCrypto.createPublicKey({ key, format: "jwk" }), dsaEncoding: "ieee-p1363" },
      Buffer.from(signature!, "base64url")
    ))
    assert.strictEqual((yield* request("GET", path, { headers: as("jane") })).status, 403)
  })
]
