import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, layer, post } from "../support/server.ts"
import { masterRequest, requestPem } from "../support/certificates.ts"

const group = "certificates.k8s.io"
const rbac = "/apis/rbac.authorization.k8s.io/v1"
const requests = `/apis/${group}/v1/certificatesigningrequests`

const request = (name: string, signerName: string, content = requestPem("eA==")) =>
  post(requests, { metadata: { name }, spec: { request: content, signerName, usages: ["client auth"] } })

/** A user who may write all of requests, and these verbs on signers. */
const give = Effect.fnUntraced(function*(user: string, verbs: ReadonlyArray<string>, ...names: ReadonlyArray<string>) {
  const all = ["", "/approval", "/status"].map((part) => `certificatesigningrequests${part}`)
  const signers = { apiGroups: [group], resources: ["signers"], resourceNames: names, verbs }
  yield* post(`${rbac}/clusterroles`, {
    metadata: { name: user },
    rules: [{ apiGroups: [group], resources: all, verbs: ["*"] }, ...(verbs.length === 0 ? [] : [signers])]
  })
  yield* post(`${rbac}/clusterrolebindings`, {
    metadata: { name: user },
    roleRef: { kind: "ClusterRole", name: user },
    subjects: [{ kind: "User", name: user }]
  })
})

const write = (user: string, path: string, body: object) =>
  Effect.map(
    call("PATCH", `${requests}/${path}`, body, {
      "content-type": "application/merge-patch+json",
      "impersonate-user": user
    }),
    ({ body, status }) => status === 200 ? "fine" : body.message
  )

const refused = (verb: string) =>
  `certificatesigningrequests.certificates.k8s.io "c" is forbidden: user not permitted to ${verb} requests with ` +
  "signerName \"a.b/c\""

const conditions = (type: string) => ({ status: { conditions: [{ type, status: "True", reason: "r", message: "m" }] } })

describe("CertificatePlugins", () => {
  it.effect("approving takes the right to approve for the signer, or for all of its domain", () =>
    Effect.gen(function*() {
      yield* request("c", "a.b/c")
      yield* give("none", [])
      yield* give("other", ["approve"], "a.b/d", "a.b", "b/*")
      yield* give("signs", ["sign"], "a.b/c")
      for (const user of ["none", "other", "signs"]) {
        assert.strictEqual(yield* write(user, "c/approval", conditions("Approved")), refused("approve"))
      }
      yield* give("one", ["approve"], "a.b/c")
      yield* give("domain", ["approve"], "a.b/*")
      assert.strictEqual(yield* write("one", "c/approval", conditions("Approved")), "fine")
      assert.strictEqual(yield* write("domain", "c/approval", {}), "fine")
    }).pipe(Effect.provide(layer)))

  it.effect("signing takes the right to sign, and is what writes a certificate or conditions", () =>
    Effect.gen(function*() {
      yield* request("c", "a.b/c")
      yield* give("none", [])
      yield* give("signs", ["sign"], "a.b/*")
      const certificate = { status: { certificate: Buffer.from(block).toString("base64") } }
      assert.strictEqual(yield* write("none", "c/status", { metadata: { labels: { a: "b" } } }), "fine")
      assert.strictEqual(yield* write("none", "c/status", certificate), refused("sign"))
      assert.strictEqual(yield* write("none", "c/status", conditions("Failed")), refused("sign"))
      assert.strictEqual(yield* write("signs", "c/status", conditions("Failed")), "fine")
      assert.strictEqual(yield* write("signs", "c/status", certificate), "fine")
    }).pipe(Effect.provide(layer)))

  it.effect("nobody asks the signer of clients for a master", () =>
    Effect.gen(function*() {
      const { body, status } = yield* request("m", "kubernetes.io/kube-apiserver-client", masterRequest)
      assert.strictEqual(status, 403)
      assert.strictEqual(
        body.message,
        "certificatesigningrequests.certificates.k8s.io \"m\" is forbidden: use of kubernetes.io/kube-apiserver-client " +
          "signer with system:masters group is not allowed"
      )
      assert.strictEqual((yield* request("m", "a.b/c", masterRequest)).status, 201)
      assert.strictEqual((yield* request("n", "kubernetes.io/kube-apiserver-client")).status, 201)
    }).pipe(Effect.provide(layer)))
})

const block = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
