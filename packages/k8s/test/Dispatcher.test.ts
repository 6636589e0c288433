import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { ClusterConfig } from "../src/KubeConfig.ts"
import * as Certificates from "../src/Certificates.ts"
import * as Dispatcher from "../src/Dispatcher.ts"
import { eventually } from "./support/eventually.ts"
import { folder } from "./support/folder.ts"
import { arrive, cluster, ConfigMap, connect, json, key, object, serve, status } from "./support/liveServer.ts"
import { httpProxy, socksProxy } from "./support/proxies.ts"

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
      assert.include(otherCa.message, `${certificate} is not signed by the expected CA: check certificate-authority (`)
      const late = yield* Certificates.issue(ca, {
        now: now - 10 * 365 * 86_400_000,
        commonName: "old",
        hosts: ["127.0.0.1"]
      })
      const old = yield* serve((_, response) => json(response, 200, object("a")), late)
      const expired = yield* Effect.flip(get(old.url, { ca: ca.certPem }))
      assert.include(
        expired.message,
        `${certificate} has expired, according to this machine's clock (CERT_HAS_EXPIRED)`
      )
      const plain = yield* serve((_, response) => json(response, 200, object("a")))
      const noTls = yield* Effect.flip(get(plain.url.replace("http:", "https:"), { ca: ca.certPem }))
      assert.match(
        noTls.message,
        /: the server does not speak TLS: should its address begin with http:\/\/\? \(ERR_SSL_WRONG_VERSION_NUMBER\)$/
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

  it.live("goes through an HTTP proxy", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf)
      const { greetings, joined, port } = yield* httpProxy
      yield* get(server.url, { ca: ca.certPem, proxy: Redacted.make(`http://me:pass@127.0.0.1:${port}`) })
      assert.deepStrictEqual(joined, [Number(new URL(server.url).port)])
      const [greeting] = greetings
      assert.include(greeting, `Basic ${Buffer.from("me:pass").toString("base64")}`)
      assert.notInclude(greeting, "s3cret")
    }))

  it.live("goes through a SOCKS proxy", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf)
      const { joined, port } = yield* socksProxy
      yield* get(server.url, {
        ca: ca.certPem,
        servername: "kubernetes.example",
        proxy: Redacted.make(`socks5://127.0.0.1:${port}`)
      })
      assert.deepStrictEqual(joined, [Number(new URL(server.url).port)])
    }))

  it.live("closes what it keeps when the scope does", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const patient = { keepAliveTimeout: 60_000 }
      const server = yield* serve((_, response) => json(response, 200, object("a")), leaf, patient)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* get(server.url, { ca: ca.certPem })
        assert.isFalse(server.sockets[0]!.destroyed, "it is kept for the next request")
      }))
      yield* eventually(() => server.sockets[0]!.destroyed)
    }))

  it.live("connects anew once any of its files is another, be it a certificate for the same key", () =>
    Effect.gen(function*() {
      const { ca } = yield* pki
      const alice = yield* Certificates.issue(ca, { now, commonName: "alice", hosts: [] })
      const texts = { ca: ca.certPem, cert: alice.certPem, key: alice.keyPem }
      const at = yield* folder(texts)
      const files = Object.fromEntries(Object.keys(texts).map((name) => [name, Path.join(at, name)]))
      const { doubt, pools } = yield* Dispatcher.make(
        cluster("https://127.0.0.1:1", { ca: texts.ca, cert: texts.cert, key: Redacted.make(texts.key), files })
      )
      let last = yield* pools()
      for (const [name, text] of Object.entries(texts)) {
        // As good as before, and not the same.
        Fs.writeFileSync(files[name]!, `${text}\n`)
        assert.strictEqual(yield* pools(), last, "as long as nobody doubts it")
        doubt()
        const next = yield* pools()
        assert.notStrictEqual(next, last, name)
        assert.strictEqual(yield* pools(), next)
        last = next
      }
    }))

  it.live("trusts whom it has trusted until another CA is there as a whole", () =>
    Effect.gen(function*() {
      const { ca, leaf } = yield* pki
      const other = yield* Certificates.authority({ now })
      const path = yield* folder({ "ca.crt": ca.certPem })
      const file = Path.join(path, "ca.crt")
      const server = yield* serve(
        (request, response) =>
          request.url?.endsWith("/refused")
            ? json(response, 401, status(401, "Unauthorized"))
            : json(response, 200, object("a")),
        leaf
      )
      const { client } = yield* connect(cluster(server.url, { ca: ca.certPem, files: { ca: file } }))
      // What is refused makes it look at the file.
      const look = Effect.ignore(client.get(ConfigMap, { ...key, name: "refused" }))
      const both = `${ca.certPem}${other.certPem}`
      const broken = both.replace(/-----BEGIN CERTIFICATE-----\n[^-]+/, "-----BEGIN CERTIFICATE-----\nAAAA\n")
      for (const text of [other.certPem.slice(0, 300), both.slice(0, -100), broken]) {
        Fs.writeFileSync(file, text)
        yield* look
        for (const socket of server.sockets) socket.destroy()
        yield* arrive
        assert.strictEqual((yield* client.get(ConfigMap, key)).metadata.name, "a", JSON.stringify(text))
      }
      Fs.writeFileSync(file, other.certPem)
      // It is looked at again a second after what could not be used.
      yield* Effect.sleep("1100 millis")
      yield* look
      assert.include((yield* Effect.flip(client.get(ConfigMap, key))).message, "is not signed by the expected CA")
    }))
})
