import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Net from "node:net"
import type { ClusterConfig } from "../src/KubeConfig.ts"
import * as Certificates from "../src/Certificates.ts"
import { cluster, ConfigMap, connect, json, key, object, serve } from "./support/liveServer.ts"

describe("Dispatcher", () => {
  // Certificates are checked against the real clock.
  const now = Date.now()
  const pki = Effect.gen(function*() {
    const ca = yield* Certificates.authority({ now })
    const hosts = ["kubernetes.example", "127.0.0.1"]
    return { ca, leaf: yield* Certificates.issue(ca, { now, commonName: "server", hosts }) }
  })
  const get = (url: string, more: Partial<ClusterConfig>) =>
    Effect.flatMap(connect(cluster(url, more)), ({ client }) => client.get(ConfigMap, key))

  it.live("trusts the cluster's CA, and only that", () =>
    Effect.gen(function*() {
      const { ca } = yield* pki
      const named = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["kubernetes.example"] })
      const server = yield* serve((_, response) => json(response, 200, object("a")), named)
      yield* get(server.url, { ca: ca.certPem, servername: "kubernetes.example" })
      yield* get(server.url, { skipTlsVerify: true })
      const otherName = yield* Effect.flip(get(server.url, { ca: ca.certPem }))
      assert.include(otherName.message, "ERR_TLS_CERT_ALTNAME_INVALID")
      const certificate = "the server's certificate"
      assert.include(
        otherName.message,
        `${certificate} is for DNS:kubernetes.example, not for 127.0.0.1: see tls-server-name`
      )
      const other = yield* Certificates.authority({ now })
      const otherCa = yield* Effect.flip(get(server.url, { ca: other.certPem, servername: "kubernetes.example" }))
      assert.strictEqual(otherCa.reason._tag, "Transport")
      assert.include(otherCa.message, `${certificate} is not of the CA that is to have signed it (`)
      const late = yield* Certificates.issue(ca, {
        now: now - 10 * 365 * 86_400_000,
        commonName: "old",
        hosts: ["127.0.0.1"]
      })
      const old = yield* serve((_, response) => json(response, 200, object("a")), late)
      const expired = yield* Effect.flip(get(old.url, { ca: ca.certPem }))
      assert.include(expired.message, `${certificate} has expired, by the clock of this machine (CERT_HAS_EXPIRED)`)
      const plain = yield* serve((_, response) => json(response, 200, object("a")))
      const noTls = yield* Effect.flip(get(plain.url.replace("http:", "https:"), { ca: ca.certPem }))
      assert.match(
        noTls.message,
        /: the server does not speak TLS: is its address one of http:\/\/\? \(ERR_SSL_WRONG_VERSION_NUMBER\)$/
      )
      assert.strictEqual(server.requests.length, 2)
    }))

  it.live("shows a client certificate", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const mutual = { ca: ca.certPem, requestCert: true, rejectUnauthorized: true }
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf, mutual)
      const alice = yield* Certificates.issue(ca, { now, commonName: "alice" })
      yield* get(server.url, { ca: ca.certPem, cert: alice.certPem, key: Redacted.make(alice.keyPem) })
      const without = yield* Effect.flip(get(server.url, { ca: ca.certPem }))
      assert.strictEqual(without.reason._tag, "Transport")
      assert.strictEqual(server.requests.length, 1)
    }))

  /** A proxy that joins two sockets once `greet` has found out where to, and counts what it joined. */
  const proxy = (greet: (socket: Net.Socket, join: (port: number, reply: string | Buffer) => void) => void) =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const joined: Array<number> = []
        const sockets: Array<Net.Socket> = []
        const server = Net.createServer((socket) => {
          sockets.push(socket.on("error", () => {}))
          greet(socket, (port, reply) => {
            joined.push(port)
            const upstream = Net.connect(port, "127.0.0.1", () => {
              socket.write(reply)
              upstream.pipe(socket)
              socket.pipe(upstream)
            })
            sockets.push(upstream.on("error", () => {}))
          })
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, sockets, joined, port: (server.address() as Net.AddressInfo).port }
      }),
      ({ server, sockets }) =>
        Effect.promise(() => {
          for (const socket of sockets) socket.destroy()
          return new Promise((resolve) => server.close(resolve))
        })
    )

  it.live("goes through an HTTP proxy", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf)
      let greeting = ""
      const { joined, port } = yield* proxy((socket, join) =>
        socket.once("data", (head: Buffer) => {
          greeting = head.toString()
          join(Number(/^CONNECT [^:]+:(\d+) /.exec(greeting)?.[1]), "HTTP/1.1 200 OK\r\n\r\n")
        })
      )
      yield* get(server.url, { ca: ca.certPem, proxy: Redacted.make(`http://me:pass@127.0.0.1:${port}`) })
      assert.deepStrictEqual(joined, [Number(new URL(server.url).port)])
      assert.include(greeting, `Basic ${Buffer.from("me:pass").toString("base64")}`)
      assert.notInclude(greeting, "s3cret")
    }))

  it.live("goes through a SOCKS proxy", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf)
      // RFC 1928: no authentication, then CONNECT to an IPv4 address.
      const { joined, port } = yield* proxy((socket, join) =>
        socket.once("data", () => {
          socket.write(Buffer.of(5, 0))
          socket.once(
            "data",
            (request: Buffer) =>
              join(request.readUInt16BE(request.length - 2), Buffer.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0))
          )
        })
      )
      yield* get(server.url, {
        ca: ca.certPem,
        servername: "kubernetes.example",
        proxy: Redacted.make(`socks5://127.0.0.1:${port}`)
      })
      assert.deepStrictEqual(joined, [Number(new URL(server.url).port)])
    }))
})
