/** An API over TLS: whom it believes, with which certificates it is reached, and how it ends. */
import { KubeClient } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import * as Https from "node:https"
import * as ApiService from "../../src/ApiService.ts"
import * as Certificates from "../../src/Certificates.ts"
import { APIService } from "../../src/kinds/apiregistration.v1.ts"
import { ConfigMap, Namespace, Secret } from "../../src/kinds/core.v1.ts"
import { ApiServer, TestClient } from "../../src/testing/index.ts"
import { Llama, llama, service } from "./support.ts"

const api = ApiService.make({ group: "farm.example.com", version: "v1alpha", kinds: [ApiService.stored(Llama)] })
const path = "/apis/farm.example.com/v1alpha/namespaces/farm/llamas"
const cluster = TestClient.layer.pipe(Layer.provideMerge(ApiServer.ApiServer.layer), Layer.fresh)
const configMap = { namespace: "kube-system", name: "extension-apiserver-authentication" }

/** An authority, and a certificate of it that names somebody. */
const proxy = Effect.fnUntraced(function*(commonName = "front-proxy-client") {
  const now = Clock.Clock.defaultValue().currentTimeMillisUnsafe()
  const authority = yield* Certificates.authority({ now })
  const { certPem: cert, keyPem: key } = yield* Certificates.issue(authority, { now, commonName })
  return { authority, cert, key }
})

const data = (authority: Certificates.Authority) => ({
  "requestheader-allowed-names": `["front-proxy-client"]`,
  "requestheader-client-ca-file": authority.certPem,
  "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
  "requestheader-group-headers": `["X-Remote-Group"]`,
  "requestheader-username-headers": `["X-Remote-User"]`
})

interface Reply {
  readonly status: number
  readonly body: string
}

/** Asks as an administrator, through whichever certificate. */
const ask = (
  port: number,
  options: Https.RequestOptions = {},
  query = "",
  body?: object,
  /** Is told when the answer begins, and when something comes of its body. */
  on: { readonly answer?: () => void; readonly data?: () => void } = {}
) =>
  Effect.callback<Reply, Error>((resume) => {
    const request = Https.request({
      host: "127.0.0.1",
      port,
      path: path + query,
      method: body === undefined ? "GET" : "POST",
      servername: "api.farm.svc",
      agent: false,
      rejectUnauthorized: options.ca !== undefined,
      ...options,
      headers: { "x-remote-user": "admin", "x-remote-group": "system:masters", "content-type": "application/json" }
    }, (response) => {
      let text = ""
      on.answer?.()
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString()
        on.data?.()
      })
      response.on("error", (error) => resume(Effect.fail(error)))
      response.on("end", () => resume(Effect.succeed({ status: response.statusCode ?? 0, body: text })))
    })
    request.on("error", (error) => resume(Effect.fail(error)))
    request.end(body === undefined ? undefined : JSON.stringify(body))
    return Effect.sync(() => request.destroy())
  })

const eventually = <A, E, R>(what: string, look: Effect.Effect<A, E, R>, is: (value: A) => boolean) =>
  Effect.gen(function*() {
    for (let n = 0; n < 300; n++) {
      const value = yield* look
      if (is(value)) return value
      yield* Effect.sleep("20 millis")
    }
    return yield* Effect.die(new Error(`never: ${what}`))
  })

const serve = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  yield* client.create(Namespace, { metadata: { name: "farm" } })
  yield* ApiService.install(api, { service, localhost: true })
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const options = { name: "farm", service, address: "127.0.0.1:0", closeGrace: "2 seconds" } as const
  const context = yield* Layer.buildWithScope(Layer.fresh(ApiService.layer(api, options)), scope)
  const server = Context.get(context, ApiService.ApiServiceServer)
  return { client, server, port: (yield* server.ready).port, stop: Scope.close(scope, Exit.void) }
})

describe("over TLS", () => {
  it.live(
    "believes the cluster's front proxy, and nobody else, also after it has changed",
    () =>
      Effect.gen(function*() {
        const { client, port, server } = yield* serve
        const [first, second, stranger] = [yield* proxy(), yield* proxy(), yield* proxy()]
        assert.strictEqual((yield* ask(port, first)).status, 401, "nobody has said yet whom to believe")
        assert.include((yield* server.status).trouble, "extension-apiserver-authentication")
        yield* client.create(ConfigMap, { metadata: configMap, data: data(first.authority) })
        const status = (options: Https.RequestOptions) => Effect.map(ask(port, options), ({ status }) => status)
        yield* eventually("it is believed", status(first), (code) => code === 200)
        assert.strictEqual(yield* status({}), 401)
        assert.strictEqual(yield* status(stranger), 401)
        const now = Clock.Clock.defaultValue().currentTimeMillisUnsafe()
        const { certPem: cert, keyPem: key } = yield* Certificates.issue(first.authority, {
          now,
          commonName: "somebody"
        })
        assert.strictEqual(yield* status({ cert, key }), 401, "of the authority, but with another name")
        assert.strictEqual((yield* server.status).trouble, undefined)

        const agent = new Https.Agent({ keepAlive: true, maxSockets: 1 })
        yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
        assert.strictEqual(yield* status({ ...first, agent }), 200)
        // Busy while the change comes, and there to be used again afterwards.
        const letIn = yield* Deferred.make<void>()
        const busy = ask(port, { ...first, agent }, "?watch=true&timeoutSeconds=2", undefined, {
          answer: () => Deferred.doneUnsafe(letIn, Effect.void)
        })
        const watching = yield* Effect.forkChild(busy, { startImmediately: true })
        yield* Deferred.await(letIn)
        yield* client.patch(ConfigMap, configMap, KubeClient.Patch.merge({ data: data(second.authority) }))
        yield* eventually("another is believed", status(second), (code) => code === 200)
        assert.strictEqual(yield* status(first), 401)
        assert.strictEqual((yield* Fiber.join(watching)).status, 200, "what was let in goes on")
        assert.strictEqual(yield* status({ ...first, agent }), 401, "nor by a connection that was open")
      }).pipe(Effect.provide(cluster))
  )

  it.live(
    "beside the cluster, takes its registration with it, but not that of the next process",
    () =>
      Effect.gen(function*() {
        const client = yield* KubeClient.KubeClient
        const port = Effect.map(
          Effect.option(client.get(APIService, { name: api.name })),
          (found) => Option.getOrUndefined(found)?.spec.service?.port
        )
        const start = Effect.fnUntraced(function*() {
          const scope = yield* Scope.fork(yield* Effect.scope)
          const options = { name: "farm", service, localhost: true, closeGrace: "1 second" } as const
          const context = yield* Layer.buildWithScope(Layer.fresh(ApiService.layer(api, options)), scope)
          const address = yield* Context.get(context, ApiService.ApiServiceServer).ready
          yield* eventually("it is registered", port, (registered) => registered === address.port)
          return { port: address.port, stop: Scope.close(scope, Exit.void) }
        })
        const first = yield* start()
        const next = yield* start()
        yield* first.stop
        assert.strictEqual(yield* port, next.port)
        yield* next.stop
        assert.isUndefined(yield* port)
      }).pipe(Effect.provide(cluster))
  )

  it.live("keeps its certificate in a Secret, and the caBundle in its APIService", () =>
    Effect.gen(function*() {
      const { client, port } = yield* serve
      const bundle = Effect.map(client.get(APIService, { name: api.name }), ({ spec }) => spec.caBundle)
      const ca = yield* eventually("a caBundle", bundle, (text) => text !== undefined)
      const secret = yield* client.get(Secret, { namespace: "farm", name: "farm-api-tls" })
      assert.strictEqual(secret.data?.["ca.crt"], ca)
      const trusted = { ca: Buffer.from(ca!, "base64").toString() }
      assert.strictEqual((yield* ask(port, trusted)).status, 401, "the certificate is that of the Service")
      yield* client.patch(
        APIService,
        { name: api.name },
        KubeClient.Patch.merge({ spec: { caBundle: null, insecureSkipTLSVerify: true } })
      )
      yield* eventually("the caBundle again", bundle, (text) => text === ca)
      const { spec } = yield* client.get(APIService, { name: api.name })
      assert.notProperty(spec, "insecureSkipTLSVerify")
    }).pipe(Effect.provide(cluster)))

  it.live("ends watches in good order when it stops", () =>
    Effect.gen(function*() {
      const { client, port, stop } = yield* serve
      const front = yield* proxy()
      yield* client.create(ConfigMap, { metadata: configMap, data: data(front.authority) })
      yield* eventually("it is believed", ask(port, front), ({ status }) => status === 200)
      assert.strictEqual((yield* ask(port, front, "", llama("a"))).status, 201)
      const added = yield* Deferred.make<void>()
      const watch = ask(port, front, "?watch=true", undefined, { data: () => Deferred.doneUnsafe(added, Effect.void) })
      const watching = yield* Effect.forkChild(watch, { startImmediately: true })
      yield* Deferred.await(added)
      yield* stop
      // The answer is complete: a connection that was cut off would be an error.
      const { body, status } = yield* Fiber.join(watching)
      assert.strictEqual(status, 200)
      assert.lengthOf(body.trim().split("\n"), 1)
    }).pipe(Effect.provide(cluster)))
})
