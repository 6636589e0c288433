import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as KubeConfig from "../../src/KubeConfig.ts"
import { folder } from "../support/folder.ts"
import { json, serve } from "../support/liveServer.ts"

/** An id token that expires so many seconds from now. */
const idToken = (seconds: number, name = "t") =>
  [
    "e30",
    Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1000) + seconds, name })).toString("base64url"),
    "s"
  ]
    .join(".")

/** A provider that takes every refresh token once, and gives the next, after `pause` milliseconds. */
const provider = Effect.gen(function*() {
  const state = { pause: 0 }
  let valid = "refresh-1"
  let count = 0
  const forms: Array<Record<string, string>> = []
  const server = yield* serve((request, response) => {
    const base = `http://${request.headers.host}`
    if (request.url === "/realm/.well-known/openid-configuration") {
      return json(response, 200, { token_endpoint: `${base}/token` })
    }
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      const form = Object.fromEntries(new URLSearchParams(body))
      forms.push(form)
      if (form["refresh_token"] !== valid) {
        return json(response, 400, { error: "invalid_grant", hint: form["refresh_token"] })
      }
      count += 1
      valid = `refresh-${count + 1}`
      const answer = { id_token: idToken(3600, `new-${count}`), refresh_token: valid }
      setTimeout(() => json(response, 200, answer), state.pause)
    })
  })
  return { server, forms, state }
})

const kubeconfig = (issuer: string, config: Record<string, string>) => `
# keep this comment
current-context: c
clusters: [{ name: k, cluster: { server: "https://k8s.example" } }]
contexts: [{ name: c, context: { cluster: k, user: u } }]
users:
- name: u
  user:
    auth-provider:
      name: oidc
      config:
        idp-issuer-url: ${issuer}/realm/
        client-id: me
        client-secret: s3cret
${Object.entries(config).map(([name, value]) => `        ${name}: ${value}`).join("\n")}
`

const tokenOf = (config: KubeConfig.ClusterConfig) =>
  Effect.map(config.credentials.headers, (headers) => String(Redacted.value(headers)["authorization"]))

describe("Oidc", () => {
  it.live("uses an id token that holds, without asking anybody", () =>
    Effect.gen(function*() {
      const { forms, server } = yield* provider
      const token = idToken(3600)
      const config = yield* KubeConfig.load({ kubeconfig: kubeconfig(server.url, { "id-token": token }) })
      assert.strictEqual(yield* tokenOf(config), `Bearer ${token}`)
      assert.strictEqual(forms.length, 0)
    }))

  it.live("refreshes one that expired, once for many requests, and saves what it got", () =>
    Effect.gen(function*() {
      const { forms, server } = yield* provider
      const path = yield* folder({
        config: kubeconfig(server.url, { "id-token": idToken(5), "refresh-token": "refresh-1" })
      })
      const file = Path.join(path, "config")
      Fs.chmodSync(file, 0o600)
      const config = yield* KubeConfig.load({ file })
      const many = yield* Effect.all(Array.from({ length: 5 }, () => tokenOf(config)), { concurrency: "unbounded" })
      assert.strictEqual(new Set(many).size, 1)
      assert.deepStrictEqual(forms, [{
        grant_type: "refresh_token",
        refresh_token: "refresh-1",
        client_id: "me",
        client_secret: "s3cret"
      }])
      const saved = Fs.readFileSync(file, "utf8")
      assert.include(saved, "# keep this comment")
      assert.include(saved, "refresh-token: refresh-2")
      assert.include(saved, many[0]!.slice("Bearer ".length))
      assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
      assert.deepStrictEqual(Fs.readdirSync(path), ["config"])

      yield* config.credentials.fresh
      assert.strictEqual(forms[1]?.["refresh_token"], "refresh-2")
      const restarted = yield* KubeConfig.load({ file })
      yield* restarted.credentials.fresh
      assert.strictEqual(forms[2]?.["refresh_token"], "refresh-3")
    }))

  it.live("a refresh token that was taken is followed by the next, whoever is interrupted meanwhile", () =>
    Effect.gen(function*() {
      const { forms, server, state } = yield* provider
      const path = yield* folder({ config: kubeconfig(server.url, { "refresh-token": "refresh-1" }) })
      const config = yield* KubeConfig.load({ file: Path.join(path, "config") })
      state.pause = 200
      const asking = yield* Effect.forkChild(config.credentials.fresh)
      while (forms.length < 2) yield* Effect.sleep("5 millis")
      yield* Fiber.interrupt(asking)
      state.pause = 0
      assert.include(Fs.readFileSync(Path.join(path, "config"), "utf8"), "refresh-token: refresh-3")
      yield* config.credentials.fresh
      assert.strictEqual(forms[2]?.["refresh_token"], "refresh-3")
    }))

  it.live("uses what another client of the user has saved, whose refresh used up its own token", () =>
    Effect.gen(function*() {
      const { forms, server, state } = yield* provider
      const path = yield* folder({ config: kubeconfig(server.url, { "refresh-token": "refresh-1" }) })
      const file = Path.join(path, "config")
      const first = yield* KubeConfig.load({ file })
      const second = yield* KubeConfig.load({ file })
      assert.lengthOf(forms, 1, "the second has read what the first has saved")
      yield* first.credentials.fresh
      yield* second.credentials.fresh
      assert.strictEqual(yield* tokenOf(second), yield* tokenOf(first))
      assert.deepStrictEqual(forms.map((form) => form["refresh_token"]), ["refresh-1", "refresh-2"])
      // At the same moment: the provider takes the token of one of them, and the other goes on with what that one got.
      state.pause = 100
      const both = [Effect.exit(first.credentials.fresh), Effect.exit(second.credentials.fresh)]
      yield* Effect.all(both, { concurrency: "unbounded" })
      yield* second.credentials.fresh
      yield* first.credentials.fresh
    }))

  it.live("goes on where the kubeconfig is locked, and says what is wrong without a secret", () =>
    Effect.gen(function*() {
      const { server } = yield* provider
      const text = kubeconfig(server.url, { "refresh-token": "refresh-1" })
      const path = yield* folder({ "config": text, "config.lock": "" })
      const config = yield* KubeConfig.load({ file: Path.join(path, "config") })
      assert.include(yield* tokenOf(config), "Bearer ")
      assert.strictEqual(Fs.readFileSync(Path.join(path, "config"), "utf8"), text)
      // The refresh token is used up now.
      const error = yield* Effect.flip(KubeConfig.load({ kubeconfig: text }))
      assert.include(error.message, "the refresh token was refused (HTTP 400): log in again")
      assert.notMatch(error.message + JSON.stringify(error), /refresh-1|s3cret/)
      const expired = kubeconfig(server.url, { "id-token": idToken(-1) })
      assert.include(
        (yield* Effect.flip(KubeConfig.load({ kubeconfig: expired }))).message,
        "the id-token has expired, and there is no refresh-token: log in again"
      )
    }))
})
