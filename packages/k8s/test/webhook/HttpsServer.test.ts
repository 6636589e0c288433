import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as Certificates from "../../src/Certificates.ts"
import * as Handler from "../../src/webhook/Handler.ts"
import * as HttpsServer from "../../src/webhook/HttpsServer.ts"
import { eventually } from "../support/eventually.ts"
import * as Port from "../support/port.ts"
import { post } from "./https.ts"
import { hooks } from "./support.ts"

const address = { host: "127.0.0.1", port: 0 }
const path = "/validate-shop-example-com-v1-database"

const certificates = Effect.gen(function*() {
  const now = Date.now()
  const ca = yield* Certificates.authority({ now })
  const issue = Certificates.issue(ca, { now, commonName: "webhooks", hosts: ["webhooks.shop.svc"] })
  return { ca: ca.certPem, first: yield* issue, second: yield* issue }
})

const review = (size: number, more: object = {}) =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u-1",
      name: "a",
      operation: "CREATE",
      object: { apiVersion: "shop.example.com/v1", kind: "Database", metadata: { name: "a" }, spec: { size } },
      userInfo: { username: "jane" }
    },
    ...more
  })

/** A server, and what waits until a request has come to it that says how long it waits for an answer. */
const serve = Effect.fnUntraced(function*(options: Partial<HttpsServer.Options> = {}) {
  const { ca, first, second } = yield* certificates
  const arrived = yield* Deferred.make<void>()
  const handler = yield* Handler.make(hooks)
  const told: Handler.Handler = (request) =>
    Effect.andThen(request.query.length > 0 ? Deferred.succeed(arrived, undefined) : Effect.void, handler(request))
  const server = yield* HttpsServer.make(told, { address, ...first, ...options })
  return { ca, second, server, port: server.address.port, arrived: Deferred.await(arrived) }
})

describe("HttpsServer", () => {
  it.live("answers reviews, and tells by the status why there is no answer", () =>
    Effect.gen(function*() {
      const { ca, port } = yield* serve({ maxBodyBytes: 2000 })
      const ok = yield* post(port, `${path}?timeout=10s`, review(1), { ca })
      assert.strictEqual(ok.status, 200)
      assert.deepStrictEqual(JSON.parse(ok.body), {
        kind: "AdmissionReview",
        apiVersion: "admission.k8s.io/v1",
        response: { uid: "u-1", allowed: true, auditAnnotations: { seen: "jane" } }
      })
      const mutated = JSON.parse((yield* post(port, "/mutate-shop-example-com-v1-database", review(1), { ca })).body)
      assert.strictEqual(mutated.response.patchType, "JSONPatch")
      assert.deepStrictEqual(JSON.parse(Buffer.from(mutated.response.patch, "base64").toString("utf8")), [
        { op: "add", path: "/metadata/annotations", value: { "example.com/engine": "defaulted" } },
        { op: "add", path: "/spec/engine", value: "pg" }
      ])
      const status = (at: string, body: string, options = {}) =>
        Effect.map(post(port, at, body, { ca, ...options }), ({ status }) => status)
      assert.strictEqual(yield* status("/nowhere", review(1)), 404)
      assert.strictEqual(yield* status(path, "", { method: "GET" }), 405)
      assert.strictEqual(yield* status(path, review(1), { headers: { "content-type": "text/plain" } }), 415)
      assert.strictEqual(yield* status(path, review(1, { padding: "x".repeat(2000) })), 413)
      assert.strictEqual(yield* status(path, "{"), 400)
      assert.strictEqual(yield* status(path, review(1, { apiVersion: "admission.k8s.io/v1beta1" })), 400)
      assert.strictEqual(yield* status(path, review(666)), 500)
      assert.strictEqual(yield* status(`${path}?timeout=200ms`, review(668)), 504)
    }))

  it.live("shows a new certificate to those who come from then on, and goes on with those who are there", () =>
    Effect.gen(function*() {
      const { arrived, ca, port, second, server } = yield* serve()
      const before = yield* post(port, path, review(1), { ca })
      const open = yield* Effect.forkChild(post(port, `${path}?timeout=500ms`, review(668), { ca }))
      yield* arrived
      yield* server.renew(second)
      const after = yield* post(port, path, review(1), { ca })
      assert.notStrictEqual(after.serial, before.serial)
      assert.strictEqual((yield* Fiber.join(open)).status, 504)
    }))

  it.live("a request that does not arrive in time is given up, and no other suffers", () =>
    Effect.gen(function*() {
      const { ca, port } = yield* serve({ requestTimeout: "300 millis" })
      const answer = yield* Effect.callback<string>((resume) => {
        const socket = Tls.connect({ host: "127.0.0.1", port, ca, servername: "webhooks.shop.svc" }, () => {
          socket.write(
            `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`
          )
        })
        let text = ""
        socket.on("data", (chunk: Buffer) => text += chunk.toString("utf8"))
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.succeed(text)))
      })
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.strictEqual((yield* post(port, path, review(1), { ca })).status, 200)
    }))

  it.live("plain text and old TLS are not spoken to, and do no harm", () =>
    Effect.gen(function*() {
      const { ca, port } = yield* serve()
      yield* Effect.callback<void>((resume) => {
        const socket = Net.connect(port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\n\r\n"))
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.void))
        socket.resume()
      })
      const old = yield* Effect.flip(post(port, path, review(1), { ca, maxVersion: "TLSv1.1", minVersion: "TLSv1" }))
      assert.instanceOf(old, Error)
      assert.strictEqual((yield* post(port, path, review(1), { ca })).status, 200)
    }))

  it.live("who is about to leave ends the connections whose requests it answers", () =>
    Effect.gen(function*() {
      const { ca, port, server } = yield* serve()
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Https.Agent({ keepAlive: true })),
        (agent) => Effect.sync(() => agent.destroy())
      )
      const ask = post(port, path, review(1), { ca, agent })
      const connections = ({ freeSockets, sockets }: Https.Agent) =>
        [sockets, freeSockets].map(Object.keys).flat().length
      yield* ask
      yield* eventually(() => Object.keys(agent.freeSockets).length === 1)
      yield* server.leave
      yield* ask
      yield* eventually(() => connections(agent) === 0)
      assert.strictEqual((yield* ask).status, 200, "and serves whoever comes anew")
    }))

  it.live("on close, answers under way go out", () =>
    Effect.gen(function*() {
      const open = yield* Effect.scoped(Effect.gen(function*() {
        const { arrived, ca, port } = yield* serve()
        const open = yield* Effect.forkDetach(post(port, `${path}?timeout=400ms`, review(668), { ca }), {
          startImmediately: true
        })
        yield* arrived
        return open
      }))
      assert.strictEqual((yield* Fiber.join(open)).status, 504)
    }))

  it.live("a server that is interrupted while it begins to listen leaves no port open", () =>
    Effect.gen(function*() {
      const port = yield* Port.free
      const { first } = yield* certificates
      const handler = yield* Handler.make(hooks)
      const scope = yield* Scope.make()
      const beginning = HttpsServer.make(handler, { ...first, address: { host: "127.0.0.1", port } })
      const fiber = yield* Effect.forkChild(Scope.provide(beginning, scope), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(yield* Port.isFree(port))
    }))
})
