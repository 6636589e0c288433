import type { ApiResponse, UserInfo } from "../../src/testing/ApiServer.ts"
import type { Request } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Scope, Stream } from "effect"
import { createHash, X509Certificate } from "node:crypto"
import * as Https from "node:https"
import type { IncomingMessage } from "node:http"
import * as Net from "node:net"
import { gunzipSync } from "node:zlib"
import * as Yaml from "yaml"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Certificates from "../../src/Certificates.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as Port from "../support/port.ts"
import { widgetDefinition } from "./support/server.ts"

type Handle = (request: Request, user?: UserInfo | undefined) => Effect.Effect<ApiResponse>

const json = (status: number, body: unknown, headers: Record<string, string> = {}): ApiResponse => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body
})

/** A server that answers every request by `handle`: these tests are about the translation to HTTP alone. */
const serving = (handle: Handle, options?: HttpFacade.Options) =>
  HttpFacade.layer(options).pipe(
    Layer.provide(Layer.mock(ApiServer, {
      reach: () => Effect.void,
      trust: () => Effect.void,
      introduce: () => Effect.void,
      publish: () => Effect.void,
      receive: (request, { body, certificate }) =>
        (body === undefined ? Effect.undefined : body("ConfigMap")).pipe(
          Effect.flatMap((value) =>
            handle(
              value === undefined ? request : { ...request, body: value },
              certificate === "refused" ? undefined : certificate
            )
          ),
          Effect.catch((error) => Effect.succeed(json(error.status, error.body)))
        )
    }))
  )

/** The facade of a real server in memory. */
const whole = (options?: HttpFacade.Options) => HttpFacade.layer(options).pipe(Layer.provideMerge(ApiServer.layer))

const echo: Handle = (request, user) => Effect.succeed(json(200, { ...request, user }))

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly bytes: Buffer
  readonly text: string
}

interface Call {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  readonly anonymous?: boolean
  readonly certificate?: Certificates.Certificate
}

const open = (facade: HttpFacade.HttpFacade["Service"], path: string, call: Call = {}) =>
  Effect.callback<IncomingMessage, Error>((resume) => {
    const authorization = call.anonymous === true ? {} : { authorization: `Bearer ${facade.token}` }
    const request = Https.request(`${facade.url}${path}`, {
      method: call.method ?? "GET",
      ca: facade.caPem,
      agent: false,
      ...(call.certificate === undefined ? {} : { cert: call.certificate.certPem, key: call.certificate.keyPem }),
      headers: {
        ...authorization,
        // Node leaves the length of a DELETE's body out.
        ...(call.body === undefined ? {} : { "content-length": String(Buffer.byteLength(call.body)) }),
        ...call.headers
      }
    }, (response) => resume(Effect.succeed(response)))
    request.on("error", (error) => resume(Effect.fail(error)))
    request.end(call.body)
  })

const fetch = (facade: HttpFacade.HttpFacade["Service"], path: string, call: Call = {}) =>
  Effect.flatMap(open(facade, path, call), (response) =>
    Effect.promise(async (): Promise<Answer> => {
      const chunks: Array<Buffer> = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const bytes = Buffer.concat(chunks)
      return {
        status: response.statusCode!,
        headers: response.headers as Record<string, string>,
        bytes,
        text: bytes.toString("utf8")
      }
    }))

const configMaps = "/api/v1/namespaces/default/configmaps"

describe("HttpFacade", () => {
  it.live("documents have one form, and what they are not written in is refused", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const yaml = { headers: { accept: "application/yaml" } }
      const status = (path: string, call: Call) =>
        Effect.map(fetch(facade, path, call), ({ status, text }) => [status, text])
      for (const path of ["/openapi/v2", "/openapi/v3/api/v1"]) {
        for (const accept of ["application/yaml", "text/html"]) {
          assert.deepStrictEqual(yield* status(path, { headers: { accept } }), [406, ""], path)
        }
      }
      for (const path of ["/openapi/v3/nope", "/openapi/v3/apis/apps/v9", "/openapi/v3/"]) {
        for (const call of [{}, yaml]) assert.deepStrictEqual(yield* status(path, call), [404, ""], path)
      }
      const index = yield* fetch(facade, "/openapi/v3", yaml)
      assert.strictEqual(index.headers["content-type"], "text/plain; charset=utf-8", "of what it is nothing is said")
      assert.isObject((JSON.parse(index.text) as { readonly paths: unknown }).paths)
      const preferring = yield* fetch(facade, "/openapi/v2", {
        headers: { accept: "application/json;q=0.5, application/yaml", "accept-encoding": "gzip;q=0" }
      })
      assert.deepStrictEqual([preferring.text.slice(0, 2), preferring.text.at(-1)], ["{\"", "}"])
      for (const path of ["/version", "/", "/index.html"]) {
        const { text } = yield* fetch(facade, path)
        assert.strictEqual(text, JSON.stringify(JSON.parse(text), null, 2), path)
      }
      assert.strictEqual((yield* fetch(facade, "/index.html")).status, 200)
      for (const path of ["/nope", "/metrics/"]) {
        for (const call of [{}, yaml]) {
          assert.deepStrictEqual(yield* status(path, call), [404, "404 page not found\n"], path)
        }
      }
      const version = yield* fetch(facade, "/version", yaml)
      assert.strictEqual(version.status, 406)
      assert.match(version.text, /Available representations: application\/json\n/)
    }).pipe(Effect.provide(whole())))

  it.live("warnings come in headers of their own", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const response = yield* open(facade, configMaps, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ metadata: { name: "warned", x: 1 }, bar: 2 })
      })
      response.resume()
      assert.strictEqual(response.statusCode, 201)
      const warnings = response.rawHeaders.filter((_, at, raw) => raw[at - 1]?.toLowerCase() === "warning")
      assert.strictEqual(warnings.length, 2)
      assert.isTrue(
        warnings.every((warning) => /^299 - "unknown field \\"[a-z.]+\\""$/.test(warning)),
        String(warnings)
      )
    }).pipe(Effect.provide(whole())))

  it.live("hands method, path, query, headers and body to the server", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const answer = yield* fetch(facade, `${configMaps}/a%2Fb?x=1&x=2&labelSelector=a%3Db%2Cc`, {
        method: "PUT",
        headers: { "content-type": "application/json", "X-Other": "y" },
        body: `{"a":[1,null]}`
      })
      assert.strictEqual(answer.status, 200)
      const seen = JSON.parse(answer.text) as Request
      assert.strictEqual(seen.method, "PUT")
      assert.strictEqual(seen.path, `${configMaps}/a%2Fb`)
      assert.deepStrictEqual(seen.query, [["x", "1"], ["x", "2"], ["labelSelector", "a=b,c"]])
      assert.strictEqual(seen.headers["x-other"], "y")
      assert.deepStrictEqual(seen.body, { a: [1, null] })
    }).pipe(Effect.provide(serving(echo))))

  it.live("passes the server's headers on", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const answer = yield* fetch(facade, configMaps)
      assert.strictEqual(answer.status, 429)
      assert.strictEqual(answer.headers["content-type"], "application/json")
      assert.strictEqual(answer.headers["warning"], `299 - "old"`)
      assert.strictEqual(answer.headers["retry-after"], "1")
      assert.strictEqual(answer.text, `{"kind":"X"}\n`)
    }).pipe(
      Effect.provide(
        serving(() => Effect.succeed(json(429, { kind: "X" }, { warning: `299 - "old"`, "retry-after": "1" })))
      )
    ))

  it.live("says what kind of JSON it sends where the server does: aggregated discovery is told by that alone", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
      const answer = yield* fetch(facade, "/apis", { headers: { accept } })
      assert.strictEqual(
        answer.headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
      )
      assert.strictEqual((JSON.parse(answer.text) as { kind: string }).kind, "APIGroupDiscoveryList")
    }).pipe(Effect.provide(HttpFacade.layer().pipe(Layer.provide(ApiServer.layer)))))

  it.live("knows its tokens; who has none is anonymous, who has another is nobody", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const { minor } = JSON.parse((yield* fetch(facade, "/version", { anonymous: true })).text) as { minor: string }
      assert.strictEqual(minor, "35")
      const anonymous = yield* fetch(facade, configMaps, { anonymous: true })
      assert.strictEqual(anonymous.status, 403)
      assert.include(anonymous.text, "system:anonymous")
      const nobody = yield* fetch(facade, "/version", { anonymous: true, headers: { authorization: "Bearer nobody" } })
      assert.strictEqual(nobody.status, 401)
      assert.match(nobody.headers["audit-id"]!, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.strictEqual((yield* fetch(facade, configMaps)).status, 200)
      const jane = { anonymous: true, headers: { authorization: "Bearer t" } }
      assert.include((yield* fetch(facade, configMaps, jane)).text, "User \\\"jane\\\" cannot list")
      const as = { ...jane, headers: { ...jane.headers, "impersonate-user": "bob" } }
      assert.include((yield* fetch(facade, configMaps, as)).text, "User \\\"jane\\\" cannot impersonate")
    }).pipe(Effect.provide(whole({ tokens: { t: { username: "jane", groups: ["dev"] } } }))))

  it.live("knows people by certificates of its own authority", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const config = Yaml.parse(yield* facade.kubeconfigFor({ username: "jane", groups: ["dev", "ops"] }))
      const pem = (name: string) => Buffer.from(config.users[0].user[name], "base64").toString()
      const certificate = { certPem: pem("client-certificate-data"), keyPem: pem("client-key-data") }
      const review = { method: "POST", headers: { "content-type": "application/json" }, body: "{}", anonymous: true }
      const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
      const answer = yield* fetch(facade, path, { ...review, certificate })
      const { extra, ...user } = JSON.parse(answer.text).status.userInfo
      assert.deepStrictEqual(user, { username: "jane", groups: ["dev", "ops", "system:authenticated"] })
      const [id] = extra["authentication.kubernetes.io/credential-id"] as [string]
      const hash = createHash("sha256").update(new X509Certificate(certificate.certPem).raw).digest("hex")
      assert.strictEqual(id, `X509SHA256=${hash}`)
      const token = { headers: { ...review.headers, authorization: "Bearer nobody" } }
      assert.strictEqual((yield* fetch(facade, path, { ...review, ...token, certificate })).status, 201)

      const now = yield* Clock.currentTimeMillis
      const stranger = yield* Certificates.issue(yield* Certificates.authority({ now }), { now, commonName: "jane" })
      assert.strictEqual((yield* fetch(facade, "/version", { anonymous: true, certificate: stranger })).status, 401)
      assert.strictEqual((yield* fetch(facade, "/version", { certificate: stranger })).status, 200, "but a good token")
    }).pipe(Effect.provide(whole())))

  it.live("gives people tokens where there is no TLS", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const { users: [{ user: { token } }] } = Yaml.parse(yield* facade.kubeconfigFor({ username: "jane", groups: [] }))
      const ask = (path: string) =>
        Effect.promise(() =>
          globalThis.fetch(`${facade.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
        )
      assert.strictEqual((yield* ask("/api")).status, 200)
      assert.strictEqual((yield* ask("/api/v1/pods")).status, 403)
    }).pipe(Effect.provide(whole({ http: true }))))

  it.live("reads no body of who may not send one, nor of what is not there", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const call = { method: "POST", headers: { "content-type": "text/plain" }, body: "{" }
      assert.strictEqual((yield* fetch(facade, configMaps, { ...call, anonymous: true })).status, 403)
      assert.strictEqual((yield* fetch(facade, "/apis/none.example/v1/things", call)).status, 404)
      assert.strictEqual((yield* fetch(facade, `${configMaps}/a`, call)).status, 405)
      assert.strictEqual((yield* fetch(facade, configMaps, call)).status, 415)
      const openApi = yield* fetch(facade, "/openapi/v2", { anonymous: true })
      assert.strictEqual(openApi.status, 403)
      assert.strictEqual((yield* fetch(facade, "/openapi/v2")).status, 200)
    }).pipe(Effect.provide(whole())))

  it.live("reads and writes YAML by Go's rules", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const sent = "a: yes\nmode: 0644\nwhen: 2026-01-01T00:00:00Z\nratio: 1:30\nmerged:\n  <<: {x: 1}\n"
      const answer = yield* fetch(facade, `${configMaps}/a`, {
        method: "PUT",
        headers: { "content-type": "application/yaml", accept: "application/yaml" },
        body: sent
      })
      assert.strictEqual(answer.headers["content-type"], "application/yaml")
      assert.deepStrictEqual(Yaml.parse(answer.text).body, {
        a: true,
        mode: 420,
        when: "2026-01-01T00:00:00Z",
        ratio: "1:30",
        merged: { x: 1 }
      })
    }).pipe(Effect.provide(serving(echo))))

  it.live("repeated keys of YAML are warned of one by one, before unknown fields in order", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const body = "metadata: {name: a}\nzoo: 1\ndata: {a: b}\ndata: {e: f, e: g}\nboo: 2\n"
      const send = (fieldValidation: string) =>
        fetch(facade, `${configMaps}?dryRun=All&fieldValidation=${fieldValidation}`, {
          method: "POST",
          headers: { "content-type": "application/yaml" },
          body
        })
      const repeated = [`line 4: key "e" already set in map`, `line 4: key "data" already set in map`]
      const warned = (yield* send("Warn")).headers["warning"]
      assert.deepStrictEqual(
        Array.from(String(warned).matchAll(/299 - "((?:[^"\\]|\\.)*)"/g), ([, text]) => text!.replaceAll("\\", "")),
        [...repeated, `unknown field "boo"`, `unknown field "zoo"`]
      )
      assert.include((yield* send("Strict")).text, "already set in map, unknown field \\\"boo\\\", unknown field")
    }).pipe(Effect.provide(whole())))

  it.live("an integer of a built-in kind is written as one, of a custom kind as any whole number", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const send = (path: string, body: string) =>
        Effect.map(
          fetch(facade, path, { method: "POST", headers: { "content-type": "application/json" }, body }),
          ({ text }) => JSON.parse(text) as { message?: string; code?: number; spec: { replicas: number } }
        )
      const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
      const lease = (seconds: string) =>
        send(leases, `{"metadata":{"generateName":"a"},"spec":{"leaseDurationSeconds":${seconds},"x":1.0}}`)
      assert.isUndefined((yield* lease("10")).code)
      for (const seconds of ["10.0", "1e1", "1.5"]) {
        assert.deepInclude(yield* lease(seconds), {
          code: 400,
          message:
            `Lease in version "v1" cannot be handled as a Lease: json: cannot unmarshal number ${seconds} into Go ` +
            "struct field LeaseSpec.spec.leaseDurationSeconds of type int32"
        })
      }
      yield* send("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", JSON.stringify(widgetDefinition()))
      const widgets = "/apis/example.com/v1/namespaces/default/widgets"
      const head = `"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}`
      assert.strictEqual((yield* send(widgets, `{${head},"spec":{"replicas":2.0}}`)).spec.replicas, 2)
    }).pipe(Effect.provide(whole())))

  it.live("words malformed bodies as the real server does", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const refusal = (call: Call, path = configMaps) =>
        Effect.map(
          fetch(facade, path, { method: "POST", headers: { "content-type": "application/json" }, ...call }),
          (answer) => {
            const body = JSON.parse(answer.text) as { code: number; reason: string; message: string }
            assert.strictEqual(answer.status, body.code)
            return `${body.code} ${body.reason} ${body.message}`
          }
        )
      const unrecognized = "400 BadRequest the object provided is unrecognized (must be of type ConfigMap): "
      const json = `${unrecognized}couldn't get version/kind; json parse error: `
      assert.strictEqual(yield* refusal({ body: `{"a":` }), `${json}unexpected end of JSON input ({"a":)`)
      assert.strictEqual(
        yield* refusal({ body: `{"a":x}` }),
        `${json}invalid character 'x' looking for beginning of value ({"a":x})`
      )
      assert.strictEqual(
        yield* refusal({ body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},}` }),
        `${json}invalid character '}' looking for beginning of object key string ({"kind":"ConfigMap","apiVersio ...)`
      )
      assert.strictEqual(yield* refusal({ body: "" }), `${json}unexpected end of JSON input (<empty>)`)
      assert.strictEqual(
        yield* refusal({ body: "[1]" }),
        `${json}json: cannot unmarshal array into Go value of type struct { APIVersion string ` +
          `"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b315d)`
      )
      assert.match(
        yield* refusal({ headers: { "content-type": "application/yaml" }, body: "a: [b" }),
        /^400 BadRequest the object provided is unrecognized \(must be of type ConfigMap\): yaml: line 1: .* \(613a205b62\)$/
      )
      assert.strictEqual(
        yield* refusal({ method: "DELETE", body: "{" }, `${configMaps}/a`),
        "400 BadRequest couldn't get version/kind; json parse error: unexpected end of JSON input"
      )
      for (const contentType of ["text/plain", "application/cbor"]) {
        assert.strictEqual(
          yield* refusal({ headers: { "content-type": contentType }, body: "{}" }),
          "415 UnsupportedMediaType the body of the request was in an unknown format - accepted media types include: " +
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
      }
      assert.strictEqual(
        yield* refusal({ headers: { "content-type": "application/vnd.kubernetes.protobuf" }, body: "{}" }),
        `${unrecognized}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})`
      )
      assert.strictEqual(
        yield* refusal({ body: `{"a":"${"x".repeat(3 * 1024 * 1024)}"}` }),
        "413 RequestEntityTooLarge Request entity too large: limit is 3145728"
      )
    }).pipe(Effect.provide(serving(() => Effect.succeed(json(200, {}))))))

  it.live("refuses clients that accept nothing it speaks, and serves JSON to those that offer it second", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const accept = (type: string, path = configMaps) => fetch(facade, path, { headers: { accept: type } })
      const protobuf = "application/vnd.kubernetes.protobuf"
      const refused = yield* accept("text/html")
      assert.strictEqual(refused.status, 406)
      assert.strictEqual(
        (JSON.parse(refused.text) as { message: string }).message,
        [
          "406: Not Acceptable",
          "",
          "Available representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, " +
          "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        ].join("\n")
      )
      assert.strictEqual(
        (JSON.parse((yield* accept(protobuf, "/apis/apps/v1")).text) as { message: string }).message,
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
      )
      const watch = yield* accept("application/yaml", `${configMaps}?watch=true`)
      assert.strictEqual(watch.status, 406)
      assert.match(watch.text, /^apiVersion: v1\ncode: 406\nkind: Status\n/)
      const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
      for (const type of [`${protobuf},application/json`, table, "*/*"]) {
        assert.strictEqual((yield* accept(type)).status, 200)
      }
      // What is refused in no form that the client accepts is written down, for people.
      for (const [type, path] of [["text/html", configMaps], [table, `${configMaps}/none`]] as const) {
        const { text } = yield* accept(type, path)
        assert.strictEqual(text, JSON.stringify(JSON.parse(text), null, 2), type)
      }
      const json = yield* accept("application/json", `${configMaps}/none`)
      assert.strictEqual(json.text, `${JSON.stringify(JSON.parse(json.text))}\n`)
    }).pipe(Effect.provide(whole())))

  it.live("looks at the options of a list before it looks for a form, and at a watch before its encoding", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const status = (accept: string, query: string) =>
        Effect.map(fetch(facade, `${configMaps}?${query}`, { headers: { accept } }), (answer) => answer.status)
      const formless = "application/json;as=Other;v=v1;g=meta.k8s.io"
      assert.strictEqual(yield* status(formless, "limit=x"), 400)
      assert.strictEqual(yield* status(formless, "resourceVersionMatch=Exact"), 422)
      assert.strictEqual(yield* status(formless, "fieldSelector=a.b%3Dc"), 406)
      assert.strictEqual(yield* status("text/html", "limit=x"), 406, "the router comes first")
      assert.strictEqual(yield* status("application/yaml", "watch=1&resourceVersion=x"), 500)
      assert.strictEqual(yield* status("application/yaml", "watch=1"), 406)
    }).pipe(Effect.provide(whole())))

  it.live("a log is text, which its route lets pass, beside a form of objects", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const log = (accept: string) =>
        Effect.map(
          fetch(facade, "/api/v1/namespaces/default/pods/none/log", { headers: { accept } }),
          ({ text }) => (JSON.parse(text) as { readonly message: string }).message
        )
      assert.strictEqual(yield* log("text/plain, application/json"), `pods "none" not found`)
      assert.match(yield* log("text/plain"), /^only the following media types are accepted: /)
      assert.strictEqual(
        yield* log("text/html"),
        "406: Not Acceptable\n\nAvailable representations: text/plain, application/json, application/yaml, " +
          "application/vnd.kubernetes.protobuf"
      )
    }).pipe(Effect.provide(whole())))

  it.live("compresses long answers for clients that accept it, and indents for people", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const plain = yield* fetch(facade, configMaps)
      const zipped = yield* fetch(facade, configMaps, { headers: { "accept-encoding": "gzip" } })
      assert.isUndefined(plain.headers["content-encoding"])
      assert.strictEqual(zipped.headers["content-encoding"], "gzip")
      assert.isBelow(zipped.bytes.length, plain.bytes.length / 10)
      assert.isTrue(gunzipSync(zipped.bytes).equals(plain.bytes))
      const text = (path: string, headers: Record<string, string> = {}) =>
        Effect.map(fetch(facade, path, { headers }), ({ text }) => text)
      const [indented, compact] = [/^\{\n {2}"data": "x/, /^\{"data":"x/]
      const curl = { "user-agent": "curl/8" }
      for (const yes of ["true", "1", "T", "TRUE"]) {
        assert.match(yield* text(`${configMaps}?pretty=${yes}`), indented, yes)
      }
      assert.match(yield* text(configMaps, curl), indented)
      assert.match(yield* text(`${configMaps}?pretty=`, curl), indented, "nothing was asked")
      assert.match(yield* text(`${configMaps}?pretty=no`, curl), compact)
      assert.match(yield* text(`${configMaps}?pretty=false`, { accept: "application/json;pretty=1" }), indented)
      assert.match(yield* text(configMaps, { accept: "application/json;pretty=true" }), compact)
    }).pipe(Effect.provide(serving(() => Effect.succeed(json(200, { data: "x".repeat(200_000) }))))))

  it.live("writes each watch event as it happens, and ends the watch when the client goes away", () =>
    Effect.gen(function*() {
      const events = yield* Queue.unbounded<WireEvent>()
      const ended = yield* Deferred.make<void>()
      const stream = Stream.fromQueue(events).pipe(Stream.ensuring(Deferred.succeed(ended, undefined)))
      yield* Effect.gen(function*() {
        const facade = yield* HttpFacade.HttpFacade
        // The headers arrive although nothing has happened yet.
        const response = yield* open(facade, `${configMaps}?watch=1`)
        assert.strictEqual(response.statusCode, 200)
        assert.strictEqual(response.headers["transfer-encoding"], "chunked")
        const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
        for (const name of ["a", "b"]) {
          const event = { type: "ADDED", object: { metadata: { name } } }
          yield* Queue.offer(events, event as WireEvent)
          const chunk = yield* Effect.promise(() => chunks.next())
          assert.strictEqual((chunk.value as Buffer).toString(), `${JSON.stringify(event)}\n`)
        }
        response.destroy()
        yield* Deferred.await(ended)
      }).pipe(Effect.provide(serving(() => Effect.succeed({ status: 200, headers: {}, events: stream }))))
    }))

  it.live("closing ends open watches cleanly and frees the port", () =>
    Effect.gen(function*() {
      const handle: Handle = () => Effect.succeed({ status: 200, headers: {}, events: Stream.never })
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(serving(handle), scope)
      const facade = Context.get(context, HttpFacade.HttpFacade)
      const watch = yield* Effect.forkChild(fetch(facade, `${configMaps}?watch=1`), { startImmediately: true })
      yield* open(facade, `${configMaps}?watch=1`)
      yield* Scope.close(scope, Exit.void)
      const answer = yield* Fiber.join(watch)
      assert.strictEqual(answer.text, "")
      const again = yield* Layer.build(serving(handle, { port: facade.port }))
      assert.strictEqual(Context.get(again, HttpFacade.HttpFacade).port, facade.port)
    }))

  it.effect("closing cuts off a client that stays in the middle of a request, whatever the test's clock", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(serving(echo, { http: true }), scope)
      const { port } = Context.get(context, HttpFacade.HttpFacade)
      const socket = Net.connect(port, "127.0.0.1").on("error", () => {})
      const gone = new Promise((resolve) => socket.once("close", resolve))
      yield* Effect.promise(() => new Promise((resolve) => socket.write("GET /version HTTP/1.1\r\n", resolve)))
      // An answer to a later request shows that the server knows of the earlier connection.
      yield* Effect.promise(() => globalThis.fetch(`http://127.0.0.1:${port}/version`).then((answer) => answer.text()))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => gone)
    }))

  it.live("a server that is interrupted while it begins to listen leaves no port open", () =>
    Effect.gen(function*() {
      const port = yield* Port.free
      const scope = yield* Scope.make()
      const beginning = Layer.buildWithScope(whole({ http: true, port }), scope)
      const fiber = yield* Effect.forkChild(beginning, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(yield* Port.isFree(port))
    }))

  it.live("says which port it could not have", () =>
    Effect.gen(function*() {
      const first = yield* HttpFacade.HttpFacade
      const failure = yield* Effect.flip(Layer.build(Layer.fresh(serving(echo, { port: first.port }))))
      assert.strictEqual(failure._tag, "ListenFailed")
      assert.strictEqual(
        failure.message,
        `port ${first.port} of 127.0.0.1 is in use: choose another, or 0 for any free port`
      )
    }).pipe(Effect.provide(serving(echo))))

  it.live("the kubeconfig names the server, its authority and the administrator's token", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const config = Yaml.parse(facade.kubeconfig)
      assert.strictEqual(config["current-context"], "effect-operator")
      assert.deepStrictEqual(config.users, [{ name: "effect-operator", user: { token: "secret" } }])
      const [{ cluster }] = config.clusters
      assert.strictEqual(cluster.server, facade.url)
      assert.strictEqual(Buffer.from(cluster["certificate-authority-data"], "base64").toString(), facade.caPem)
    }).pipe(Effect.provide(serving(echo, { token: "secret" }))))

  it.live("takes long selectors, and says nothing of its connections", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}`).join(",")
      const query = new URLSearchParams({ labelSelector: `app in (${names})` })
      const response = yield* Effect.promise(() => globalThis.fetch(`${facade.url}${configMaps}?${query}`))
      assert.strictEqual(response.status, 200)
      assert.isNull(response.headers.get("keep-alive"))
      assert.isNull(response.headers.get("connection"))
    }).pipe(Effect.provide(serving(echo, { http: true }))))

  it.live("serves plain HTTP on request", () =>
    Effect.gen(function*() {
      const facade = yield* HttpFacade.HttpFacade
      assert.match(facade.url, /^http:\/\/127\.0\.0\.1:\d+$/)
      const response = yield* Effect.promise(() => globalThis.fetch(`${facade.url}/healthz`))
      assert.strictEqual(response.status, 200)
    }).pipe(Effect.provide(serving(echo, { http: true }))))
})
