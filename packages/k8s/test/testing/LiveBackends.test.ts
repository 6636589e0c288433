import { assert, describe, it } from "@effect/vitest"
import { CustomResource, CustomResourceVersions, KubeClient } from "@effect-operator/core"
import { Deferred, Effect, Layer, Schema, Stream } from "effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { ValidatingWebhookConfiguration } from "../../src/kinds/admissionregistration.v1.ts"
import { ConfigMap } from "../../src/kinds/core.v1.ts"
import { ApiServer } from "../../src/testing/ApiServer.ts"
import * as Backends from "../../src/testing/Backends.ts"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as LiveBackends from "../../src/testing/LiveBackends.ts"
import * as TestClient from "../../src/testing/TestClient.ts"
import * as TestCluster from "../../src/testing/TestCluster.ts"
import * as Backend from "../conformance/Backend.ts"

const stored = (kind: string, name: string, fields: object) =>
  ({ apiVersion: "v1", kind, metadata: { name, namespace: "ns", uid: "", resourceVersion: "" }, ...fields }) as never

const empty: Backends.Directory = { service: () => undefined, endpoints: () => undefined }

const post = (target: Backends.Target, fields: Partial<Backends.Call> = {}): Backends.Call => ({
  target,
  method: "POST",
  headers: { "content-type": "application/json" },
  ...fields
})

const echo: Parameters<typeof Backend.start>[0] = Backends.answering((body, { path, query }) => ({ path, query, body }))

const value = ({ body }: Backends.Reply) => {
  const read = Backends.json(body)
  return read._tag === "Success" ? read.success : read.failure
}

const failure = (backends: Backends.Service, call: Backends.Call, directory = empty) =>
  Effect.map(Effect.flip(backends.call(call, directory)), ({ error }) => error)

describe("LiveBackends", () => {
  it.live("calls a URL, verified by its caBundle, and keeps the connection", () =>
    Effect.gen(function*() {
      const { caBundle, received, url } = yield* Backend.start(echo)
      const backends = yield* LiveBackends.make()
      const call = post({ url: `${url}/hook` }, { caBundle, body: { a: 1 }, query: [["timeout", "10s"]] })
      for (let n = 0; n < 3; n++) {
        const reply = yield* backends.call(call, empty)
        assert.strictEqual(reply.status, 200)
        assert.deepStrictEqual(value(reply), { path: "/hook", query: [["timeout", "10s"]], body: { a: 1 } })
      }
      assert.lengthOf(received, 3)
      assert.isTrue(received.every(({ peer }) => peer === undefined))
    }))

  it.live("a Service leads to its external name, to its Endpoints, or where it was said to", () =>
    Effect.gen(function*() {
      const { caBundle, port, received, url } = yield* Backend.start(echo, { hosts: ["hook.ns.svc"] })
      const service = { namespace: "ns", name: "hook", port, path: "/p" }
      const directory = (spec: object, endpoints?: object): Backends.Directory => ({
        service: () => stored("Service", "hook", { spec }),
        endpoints: () => endpoints === undefined ? undefined : stored("Endpoints", "hook", endpoints)
      })
      const backends = yield* LiveBackends.make()
      yield* backends.call(
        post({ service }, { caBundle }),
        directory({ type: "ExternalName", externalName: "localhost" })
      )
      assert.strictEqual(received[0]?.headers["host"], `hook.ns.svc:${port}`)
      const clusterIp = { clusterIP: "10.0.0.9", ports: [{ name: "https", port: 443 }] }
      const ready = {
        subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "other", port: 1 }, { name: "https", port }] }]
      }
      const reference = { service: { namespace: "ns", name: "hook" } }
      yield* backends.call(post(reference, { caBundle }), directory(clusterIp, ready))
      const mapped = yield* LiveBackends.make({ services: { "ns/hook": url } })
      yield* mapped.call(post(reference, { caBundle }), empty)
      assert.lengthOf(received, 3)

      assert.strictEqual(yield* failure(backends, post(reference)), "service \"hook\" not found")
      assert.strictEqual(
        yield* failure(backends, post({ service: { ...service, port: 1 } }), directory(clusterIp)),
        "no service port 1 found for service \"hook\""
      )
      assert.strictEqual(
        yield* failure(backends, post(reference), directory(clusterIp)),
        "dial tcp 10.0.0.9:443: connect: connection refused"
      )
      assert.strictEqual(
        yield* failure(backends, post(reference), directory({ ...clusterIp, clusterIP: "None" })),
        "cannot route to service with ClusterIP \"None\""
      )
    }))

  it.live("refusals, wrong names, unknown authorities and plain HTTP are worded as Go words them", () =>
    Effect.gen(function*() {
      const { caBundle, port, url } = yield* Backend.start(echo)
      const other = yield* Backend.start(echo)
      const backends = yield* LiveBackends.make({ services: { "ns/hook": url } })
      assert.strictEqual(
        yield* failure(backends, post({ url }, { caBundle: other.caBundle })),
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
      )
      assert.strictEqual(
        yield* failure(backends, post({ url })),
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
      )
      assert.strictEqual(
        yield* failure(backends, post({ service: { namespace: "ns", name: "hook" } }, { caBundle })),
        "tls: failed to verify certificate: x509: certificate is valid for localhost, not hook.ns.svc"
      )
      const trusting = yield* backends.call(post({ url }, { insecureSkipTlsVerify: true }), empty)
      assert.strictEqual(trusting.status, 200)
      const idle = yield* Effect.scoped(Effect.map(Backend.start(echo), (closed) => closed.url))
      assert.strictEqual(
        yield* failure(backends, post({ url: idle }, { caBundle })),
        `dial tcp ${new URL(idle).host}: connect: connection refused`
      )
      assert.notStrictEqual(port, other.port)
      const plain = yield* Effect.acquireRelease(
        Effect.callback<Http.Server>((resume) => {
          const server = Http.createServer((_, answer) => void answer.end("plain"))
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      assert.strictEqual(
        yield* failure(backends, post({ url: `https://127.0.0.1:${(plain.address() as AddressInfo).port}` })),
        "http: server gave HTTP response to HTTPS client"
      )
      const rude = yield* Backend.start(() => Effect.die("hangs up"))
      assert.strictEqual(yield* failure(backends, post({ url: rude.url }, { caBundle: rude.caBundle })), "EOF")
    }))

  it.effect("a time-out is real time, and ends the call on the wire", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const arrived = yield* Deferred.make<void>()
      const { caBundle, url } = yield* Backend.start((request) =>
        request.path === "/warm"
          ? echo(request)
          : Effect.andThen(
            Deferred.succeed(arrived, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
      )
      const backends = yield* LiveBackends.make()
      // On a busy machine the handshake alone may take longer than the call is given.
      yield* backends.call(post({ url: `${url}/warm` }, { caBundle }), empty)
      const error = yield* failure(backends, post({ url }, { caBundle, timeout: "1 second" }))
      assert.strictEqual(error, "context deadline exceeded")
      yield* Deferred.await(arrived)
      yield* Deferred.await(interrupted)
    }))

  it.live("a streamed reply comes as it is written; closing the scope ends it", () =>
    Effect.gen(function*() {
      let ended = 0
      const { caBundle, url } = yield* Backend.start(() =>
        Effect.succeed({
          status: 200,
          events: Stream.concat(Stream.make({ n: 1 }), Stream.never).pipe(Stream.ensuring(Effect.sync(() => ended++)))
        })
      )
      const backends = yield* LiveBackends.make()
      const first = yield* Effect.scoped(Effect.gen(function*() {
        const { body, status } = yield* backends.stream({ ...post({ url }, { caBundle }), method: "GET" }, empty)
        assert.strictEqual(status, 200)
        if (body._tag !== "Chunks") return assert.fail(body._tag)
        return yield* Stream.runCollect(Stream.take(body.chunks, 1))
      }))
      assert.strictEqual(Buffer.concat(first!).toString(), "{\"n\":1}\n")
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => ended > 0 })
      assert.strictEqual(ended, 1)
    }))
})

/** A hook that allows every ConfigMap, served over TCP and registered by its URL. */
const hook = Effect.gen(function*() {
  const allow = Backends.answering((body) => ({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid: (body as { readonly request: { readonly uid: string } }).request.uid, allowed: true }
  }))
  const { caBundle, received, url } = yield* Backend.start(allow)
  const client = yield* KubeClient.KubeClient
  yield* client.create(ValidatingWebhookConfiguration, {
    metadata: { name: "maps" },
    webhooks: [{
      name: "maps.example.com",
      clientConfig: { url: `${url}/maps`, caBundle },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"]
    }]
  })
  const make = (name: string) => client.create(ConfigMap, { metadata: { namespace: "default", name } })
  return { make, received }
})

const facade = Layer.build(Layer.fresh(HttpFacade.layer({ http: true })))

describe("a server that is served over TCP", () => {
  it.live("calls hooks over TCP for as long as any facade of it is open", () =>
    Effect.gen(function*() {
      const { make, received } = yield* hook
      yield* Effect.scoped(Effect.andThen(facade, make("a")))
      // As the next start of an API server.
      yield* Effect.scoped(Effect.gen(function*() {
        yield* facade
        yield* make("b")
        yield* Effect.scoped(Effect.andThen(facade, make("c")))
        yield* make("d")
      }))
      assert.lengthOf(received, 4)
      assert.include((yield* Effect.flip(make("e"))).message, "connection refused")
    }).pipe(Effect.provide(TestClient.layer.pipe(Layer.provideMerge(ApiServer.layer)))))

  it.live("calls them also if others are served in this process", () => {
    const common = { group: "example.com", kind: "Shelf", spec: Schema.Struct({ size: Schema.Int }) }
    const [V1, V2] = [
      CustomResource.make({ ...common, version: "v1" }),
      CustomResource.make({ ...common, version: "v2" })
    ]
    const plain = { up: ({ spec }: typeof V1.Type) => ({ spec }), down: ({ spec }: typeof V2.Type) => ({ spec }) }
    const Shelves = CustomResourceVersions.make({ steps: [CustomResourceVersions.between(V1, V2, plain)] })
    return Effect.gen(function*() {
      yield* facade
      const { make, received } = yield* hook
      yield* make("a")
      assert.lengthOf(received, 1)
      const client = yield* KubeClient.KubeClient
      const key = { namespace: "default", name: "a" }
      yield* client.create(V1, { metadata: key, spec: { size: 3 } })
      assert.strictEqual((yield* client.get(V2, key)).spec.size, 3)
    }).pipe(Effect.provide(TestCluster.layer({ resources: [Shelves] })))
  })
})
