import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Fiber, Redacted, Stream } from "effect"
import * as Fs from "node:fs"
import type * as Http from "node:http"
import * as Path from "node:path"
import type * as Tls from "node:tls"
import * as Credentials from "../../src/Credentials.ts"
import * as Certificates from "../../src/Certificates.ts"
import { folder } from "../support/folder.ts"
import { arrive, cluster, connect, json, object, serve, status } from "../support/liveServer.ts"

// Certificates are checked against the real clock.
const now = Date.now()

/** Reads and writes by many at once, until the rest is done; succeeds with how many there were. All must succeed. */
/** Does the rest while calls go on. */
const underLoad = (calls: ReturnType<typeof caller>, rest: Effect.Effect<void>) =>
  Effect.gen(function*() {
    const busy = yield* Effect.forkChild(load(calls), { startImmediately: true })
    yield* rest
    yield* Fiber.interrupt(busy)
  })

/** Lets a time pass in which calls are answered, however busy the machine is. */
const goOn = (calls: ReturnType<typeof caller>, time: Duration.Input) =>
  Effect.suspend(() => {
    const enough = calls.count() + calls.failures.length + 40
    return Effect.andThen(
      Effect.sleep(time),
      Effect.repeat(Effect.sleep("1 millis"), { until: () => calls.count() + calls.failures.length >= enough })
    )
  })

const load = (
  transport: { readonly call: (nth: number) => Effect.Effect<void, unknown>; readonly count: () => number }
) =>
  Effect.all(
    Array.from({ length: 16 }, (_, nth) => Effect.forever(transport.call(nth))),
    { concurrency: "unbounded" }
  )

const caller = (client: Effect.Success<ReturnType<typeof connect>>) => {
  let count = 0
  const failures: Array<string> = []
  return {
    count: () => count,
    failures,
    call: (nth: number) =>
      client.transport.request({ method: nth % 2 === 0 ? "GET" : "POST", path: "/x", query: [], headers: {} }).pipe(
        Effect.match({
          onFailure: (error) => failures.push(error.message),
          onSuccess: (answer) => answer.status === 200 ? count += 1 : failures.push(String(answer.status))
        }),
        Effect.andThen(Effect.sleep("1 millis"))
      )
  }
}

describe("Rotation under load fails no call", () => {
  it.live("of a token in a file", () =>
    Effect.gen(function*() {
      const path = yield* folder({ token: "token-0" })
      const file = Path.join(path, "token")
      let valid = ["Bearer token-0"]
      const server = yield* serve((request, response) =>
        valid.includes(request.headers.authorization ?? "")
          ? json(response, 200, object("a"))
          : json(response, 401, status(401, "Unauthorized"))
      )
      const calls = caller(yield* connect(cluster(server.url, { credentials: Credentials.tokenFile(file) })))
      yield* underLoad(
        calls,
        Effect.gen(function*() {
          for (let at = 1; at <= 4; at++) {
            yield* goOn(calls, "300 millis")
            Fs.writeFileSync(`${file}.new`, `token-${at}\n`)
            Fs.renameSync(`${file}.new`, file)
            // The last one holds a while longer, as a pod's does.
            valid = [`Bearer token-${at}`, `Bearer token-${at - 1}`]
          }
          yield* goOn(calls, "300 millis")
        })
      )
      assert.deepStrictEqual(calls.failures, [])
    }))

  it.live("of a client certificate and key, each written at a time of its own", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const leaf = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] })
      const names = ["alice-0", "alice-1", "alice-2"]
      const pairs = yield* Effect.forEach(names, (commonName) => Certificates.issue(ca, { now, commonName }))
      const path = yield* folder({ "tls.crt": pairs[0]!.certPem, "tls.key": pairs[0]!.keyPem })
      const files = { cert: Path.join(path, "tls.crt"), key: Path.join(path, "tls.key") }
      let valid = names.slice(0, 1)
      const seen = new Set<string>()
      const server = yield* serve(
        (request: Http.IncomingMessage, response) => {
          const { CN } = (request.socket as Tls.TLSSocket).getPeerCertificate().subject
          seen.add(String(CN))
          if (valid.includes(String(CN)) && request.url !== "/refused") json(response, 200, object("a"))
          else json(response, 401, status(401, "Unauthorized"))
        },
        leaf,
        { ca: ca.certPem, requestCert: true, rejectUnauthorized: true }
      )
      const config = cluster(server.url, {
        ca: ca.certPem,
        cert: pairs[0]!.certPem,
        key: Redacted.make(pairs[0]!.keyPem),
        files,
        credentials: Credentials.fixed({})
      })
      const client = yield* connect(config)
      const calls = caller(client)
      yield* underLoad(
        calls,
        Effect.gen(function*() {
          for (const at of [1, 2]) {
            yield* goOn(calls, "400 millis")
            Fs.writeFileSync(files.cert, pairs[at]!.certPem)
            // A refusal makes it look at the files, which do not go together now.
            yield* Effect.ignore(client.transport.request({ method: "GET", path: "/refused", query: [], headers: {} }))
            yield* Effect.sleep("50 millis")
            Fs.writeFileSync(files.key, pairs[at]!.keyPem)
            valid = names.slice(at - 1, at + 1)
          }
          yield* goOn(calls, "300 millis")
        })
      )
      assert.deepStrictEqual(calls.failures, [])
      assert.deepStrictEqual([...seen], ["alice-0", "alice-2"])
      // The old pools go once nothing runs on them.
      while (server.sockets.filter((socket) => !socket.destroyed).length > 16) yield* Effect.sleep("10 millis")
    }))

  it.live("of the CA and the server's certificate", () =>
    Effect.gen(function*() {
      const authorities = yield* Effect.forEach([0, 1], () => Certificates.authority({ now }))
      const leaves = yield* Effect.forEach(authorities, (ca) =>
        Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] }))
      const path = yield* folder({ "ca.crt": authorities[0]!.certPem })
      const file = Path.join(path, "ca.crt")
      const server = yield* serve((_, response) =>
        json(response, 200, object("a")), leaves[0])
      const calls = caller(
        yield* connect(cluster(server.url, { ca: authorities[0]!.certPem, files: { ca: file } }))
      )
      yield* calls.call(0)
      Fs.writeFileSync(file, authorities[1]!.certPem)
      server.renew(leaves[1]!)
      for (const socket of server.sockets) socket.destroy()
      yield* arrive
      // A write too: nothing of it was sent to a server that is not trusted.
      yield* Effect.forEach([1, 3, 5], calls.call, { concurrency: "unbounded" })
      assert.deepStrictEqual(calls.failures, [])
      assert.strictEqual(server.requests.length, 4)
    }))

  it.live("of what an exec plugin issues: token and certificate", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const leaf = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] })
      let issued = 0
      const ask = Effect.gen(function*() {
        const commonName = `alice-${++issued}`
        const { certPem, keyPem } = yield* Certificates.issue(ca, { now, commonName })
        return { token: Redacted.make(commonName), certificate: { cert: certPem, key: Redacted.make(keyPem) } }
      })
      let valid = "alice-1"
      const server = yield* serve(
        (request: Http.IncomingMessage, response) => {
          const { CN } = (request.socket as Tls.TLSSocket).getPeerCertificate().subject
          if (CN === valid && request.headers.authorization === `Bearer ${valid}`) json(response, 200, object("a"))
          else json(response, 401, status(401, "Unauthorized"))
        },
        leaf,
        { ca: ca.certPem, requestCert: true, rejectUnauthorized: false }
      )
      const credentials = Credentials.issued(ask, { name: "the plugin" })
      const calls = caller(yield* connect(cluster(server.url, { ca: ca.certPem, credentials })))
      yield* underLoad(
        calls,
        Effect.gen(function*() {
          yield* goOn(calls, "200 millis")
          valid = "alice-2"
          yield* goOn(calls, "300 millis")
        })
      )
      assert.deepStrictEqual(calls.failures, [])
      assert.strictEqual(issued, 2)
    }))

  it.live("and ends nothing that runs on the old connections: neither a slow request nor a watch", () =>
    Effect.gen(function*() {
      const ca = yield* Certificates.authority({ now })
      const leaf = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] })
      const path = yield* folder({ "ca.crt": ca.certPem })
      const file = Path.join(path, "ca.crt")
      const open: Array<Http.ServerResponse> = []
      const server = yield* serve((request, response) => {
        if (request.url === "/refused") return json(response, 401, status(401, "Unauthorized"))
        if (request.url === "/quick") return json(response, 200, object("a"))
        response.writeHead(200, { "content-type": "application/json" }).flushHeaders()
        open.push(response)
      }, leaf)
      const { transport } = yield* connect(cluster(server.url, { ca: ca.certPem, files: { ca: file } }))
      const get = (path: string) => transport.request({ method: "GET", path, query: [], headers: {} })
      const slow = yield* Effect.forkChild(get("/slow"))
      const watched = yield* Effect.forkChild(Effect.scoped(
        Effect.flatMap(
          transport.stream({ method: "GET", path: "/watch", query: [], headers: {} }),
          ({ values }) => Stream.runHead(values)
        )
      ))
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => open.length === 2 })
      Fs.writeFileSync(file, `${ca.certPem}\n`)
      yield* get("/refused")
      assert.strictEqual((yield* get("/quick")).status, 200)
      assert.isAtLeast(server.sockets.length, 3)
      for (const response of open) response.end("{}\n")
      assert.strictEqual((yield* Fiber.join(slow)).status, 200)
      assert.strictEqual((yield* Fiber.join(watched))._tag, "Some")
    }))
})
