import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Logger, Metric, References, Schema, Tracer } from "effect"
import * as Util from "node:util"
import * as KubeConfig from "../../src/KubeConfig.ts"
import { folder } from "../support/folder.ts"
import { ConfigMap, connect, key, serve, status } from "../support/liveServer.ts"

/** Where a secret can be in a kubeconfig. */
const places = {
  token: (secret: string) => ({ user: { token: secret } }),
  password: (secret: string) => ({ user: { username: "bob", password: secret } }),
  key: (secret: string) => ({
    user: {
      "client-certificate-data": base64(pem("CERTIFICATE", "MA==")),
      "client-key-data": base64(pem("PRIVATE KEY", secret))
    }
  }),
  proxy: (secret: string) => ({ cluster: { "proxy-url": `http://me:${encodeURIComponent(secret)}@127.0.0.1:1` } }),
  environment: (secret: string) => ({
    cluster: { server: "https://k8s.example" },
    env: { HTTPS_PROXY: `http://me:${encodeURIComponent(secret)}@127.0.0.1:1` }
  }),
  exec: (secret: string) => ({
    user: {
      exec: exec(
        `console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "${version}",
      status: { token: process.argv[1] } }))`,
        secret
      )
    }
  }),
  badExec: (secret: string) => ({ user: { exec: exec(`console.log(process.argv[1])`, secret) } }),
  failingExec: (secret: string) => ({ user: { exec: exec(`process.exit(1)`, secret) } }),
  noExec: (secret: string) => ({ user: { exec: { ...exec("", secret), command: "no-such-plugin" } } }),
  oidc: (secret: string) => ({
    user: {
      "auth-provider": {
        name: "oidc",
        config: {
          "idp-issuer-url": "http://127.0.0.1:1",
          "client-id": "me",
          "client-secret": secret,
          "id-token": `e30.${secret}.x`,
          "refresh-token": secret
        }
      }
    }
  }),
  provider: (secret: string) => ({
    user: { "auth-provider": { name: "gcp", config: { "access-token": secret, "expiry": "2000-01-01T00:00:00Z" } } }
  }),
  impersonated: (secret: string) => ({ user: { token: secret, as: "root" } }),
  twoLines: (secret: string) => ({ user: { token: `${secret}\n${secret}` } }),
  wrongType: (secret: string) => ({ user: { "client-certificate-data": secret, "client-key-data": secret } })
}

const version = "client.authentication.k8s.io/v1"
const exec = (program: string, secret: string) => ({
  apiVersion: version,
  command: process.execPath,
  args: ["--eval", program, secret],
  env: [{ name: "SECRET", value: secret }]
})
const base64 = (text: string) => Buffer.from(text).toString("base64")
const pem = (kind: string, text: string) => `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----\n`

type Place = keyof typeof places

interface Parts {
  readonly user?: object
  readonly cluster?: object
  readonly env?: Record<string, string>
}

/** Does what a program does with a kubeconfig, and gives everything that anybody gets to see of it. */
const shown = (place: Place, secret: string, how: "good" | "cut", code: number) =>
  Effect.gen(function*() {
    const seen: Array<unknown> = []
    const logger = Logger.make((entry) => {
      seen.push(entry.message, Cause.pretty(entry.cause), Util.inspect(entry, { depth: 20 }))
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        seen.push(span)
        return span
      }
    })
    const at: (secret: string) => Parts = places[place]
    const parts = at(secret)
    yield* Effect.gen(function*() {
      const server = yield* serve((request, response) => {
        const echoed = `${request.headers.authorization}`
        if (code === 200) response.writeHead(200, { "content-type": "application/json" }).end(`{"echo":"${echoed}"`)
        else response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(status(code, "No")))
      })
      const text = JSON.stringify({
        "current-context": "c",
        "clusters": [{ name: "k", cluster: { server: server.url, ...parts.cluster } }],
        "contexts": [{ name: "c", context: { cluster: "k", user: "u" } }],
        "users": [{ name: "u", user: parts.user ?? {} }]
      })
      const path = yield* folder({ config: how === "cut" ? text.slice(0, -3) : text })
      const environment = ConfigProvider.layer(ConfigProvider.fromUnknown(parts.env ?? {}))
      const loaded = Effect.provide(KubeConfig.load({ file: `${path}/config` }), environment)
      const config = yield* Effect.exit(loaded)
      seen.push(config)
      if (config._tag === "Failure") return
      seen.push(
        yield* Effect.exit(config.value.credentials.headers),
        yield* Effect.exit(config.value.credentials.fresh)
      )
      const { client } = yield* connect(config.value, { retry: { times: 0 } })
      seen.push(yield* Effect.exit(client.get(ConfigMap, key)))
      seen.push(yield* Metric.snapshot)
    }).pipe(
      Effect.scoped,
      Effect.withTracer(tracer),
      Effect.provide(Logger.layer([logger])),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
    return seen.map(render).join("\n")
  })

const render = (value: unknown): string =>
  [
    String(value),
    JSON.stringify(value, (_, inner: unknown) => typeof inner === "bigint" ? String(inner) : inner),
    Util.inspect(value, { depth: 20 })
  ].join("\n")

const Secret = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+=_.!-]{12,40}$/u))

describe("Secrets", () => {
  for (const place of Object.keys(places) as ReadonlyArray<Place>) {
    it.live.prop(
      `of the kind ${place} are in no error, log, span or metric`,
      { secret: Secret, how: Schema.Literals(["good", "good", "cut"]), code: Schema.Literals([200, 401, 403, 500]) },
      ({ code, how, secret }) =>
        Effect.map(shown(place, secret, how, code), (text) => {
          for (const form of [secret, base64(secret), encodeURIComponent(secret), base64(`me:${secret}`)]) {
            assert.notInclude(text, form)
          }
        }),
      { arbitrary: { runs: /exec/i.test(place) ? 6 : 15 } }
    )
  }
})
