import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, type Scope } from "effect"
import { Buffer } from "node:buffer"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as Certificates from "../../src/Certificates.ts"
import type { Body, Ending } from "../../src/live/Body.ts"
import { whole } from "../../src/live/Body.ts"
import * as Connections from "../../src/live/Connections.ts"
import type { Head } from "../../src/live/HttpResponse.ts"
import { eventually } from "../support/eventually.ts"

/** What a server saw: sockets, and the texts of requests with the number of the socket each came on. */
interface Raw {
  readonly url: URL
  readonly sockets: Array<Net.Socket>
  readonly requests: Array<readonly [socket: number, text: string]>
}

/** A server that answers what the test says, byte by byte; each piece of a request counts as one. */
const serve = (
  answer: (socket: Net.Socket, nth: number) => void,
  tls?: Certificates.Certificate
): Effect.Effect<Raw, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Raw & { readonly server: Net.Server }>((resume) => {
        const sockets: Array<Net.Socket> = []
        const requests: Array<readonly [number, string]> = []
        const take = (socket: Net.Socket) => {
          const number = sockets.push(socket) - 1
          socket.on("error", () => {}).on("data", (bytes: Buffer) => {
            requests.push([number, bytes.toString("latin1")])
            answer(socket, requests.length)
          })
        }
        const server = tls === undefined
          ? Net.createServer(take)
          : Tls.createServer({ cert: tls.certPem, key: tls.keyPem }, take)
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as Net.AddressInfo
          const url = new URL(`${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`)
          resume(Effect.succeed({ server, sockets, requests, url }))
        })
      }),
      ({ server, sockets }) =>
        Effect.promise(() => {
          for (const socket of sockets) socket.destroy()
          return new Promise((resolve) => server.close(resolve))
        })
    ),
    (raw) => raw
  )

const timeouts = { connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0, idleTimeout: 0, keepAliveDelay: 15_000 }
const open = (origin: URL, options: Partial<Connections.Options> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      Connections.make({
        origin,
        tls: { rejectUnauthorized: false, servername: undefined },
        ...timeouts,
        ...options
      })
    ),
    (connections) => Effect.promise(() => connections.destroy())
  )

const get: Connections.Outgoing = { method: "GET", path: "/", headers: {} }

/** Head and body of an answer; fails with what went wrong, and whether the request was sent before. */
const ask = (connections: Connections.Connections, outgoing: Connections.Outgoing = get) =>
  Effect.callback<Head & { readonly text: string }, { readonly sent: boolean; readonly error: Error }>((resume) => {
    let sent = false
    const fail = (error: unknown) => resume(Effect.fail({ sent, error: error as Error }))
    const abort = connections.request(outgoing, {
      sent: () => {
        sent = true
      },
      answered: (head, body) =>
        whole(
          body,
          undefined,
          (how, bytes) =>
            "error" in how ? fail(how.error) : resume(Effect.succeed({ ...head, text: bytes.toString("utf8") }))
        ),
      failed: fail
    })
    return Effect.sync(abort)
  })

const ok = (text: string, headers = "") =>
  `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

describe("Connections", () => {
  it.live("are used again one after the other, and as many as are needed at a time", () =>
    Effect.gen(function*() {
      const server = yield* serve((socket, nth) => void setTimeout(() => socket.write(ok(`${nth}`)), 10))
      const connections = yield* open(server.url)
      for (let n = 1; n <= 5; n++) assert.strictEqual((yield* ask(connections)).text, `${n}`)
      assert.strictEqual(server.sockets.length, 1)
      yield* Effect.all([ask(connections), ask(connections), ask(connections)], { concurrency: "unbounded" })
      assert.strictEqual(server.sockets.length, 3)
      yield* Effect.all([ask(connections), ask(connections), ask(connections)], { concurrency: "unbounded" })
      assert.strictEqual(server.sockets.length, 3)
    }))

  it.live("find a server by name, at whichever address it is", () =>
    Effect.gen(function*() {
      const server = yield* serve((socket) => socket.write(ok("a")))
      const connections = yield* open(new URL(`http://localhost:${server.url.port}`))
      for (const _ of [1, 2]) assert.strictEqual((yield* ask(connections)).text, "a")
      assert.strictEqual(server.sockets.length, 1)
    }))

  it.live("are not used again when the server will close them, or has", () =>
    Effect.gen(function*() {
      const answers = [
        ok("a", "Connection: close\r\n"),
        "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
        `${ok("a")}HTTP/1.1 200 OK`,
        ok("a", "Keep-Alive: timeout=1\r\n")
      ]
      for (const answer of answers) {
        const server = yield* serve((socket) => socket.write(answer))
        const connections = yield* open(server.url)
        for (const _ of [1, 2]) assert.strictEqual((yield* ask(connections)).text, "a")
        assert.deepStrictEqual(server.requests.map(([socket]) => socket), [0, 1], answer)
        yield* eventually(() => server.sockets.every(({ destroyed }) => destroyed))
      }
      const server = yield* serve((socket) => socket.write(ok("a")))
      const connections = yield* open(server.url)
      yield* ask(connections)
      server.sockets[0]!.end()
      yield* eventually(() => server.sockets[0]!.destroyed)
      yield* ask(connections)
      server.sockets[1]!.write("what nobody asked for")
      yield* eventually(() => server.sockets[1]!.destroyed)
      yield* ask(connections)
      assert.deepStrictEqual(server.requests.map(([socket]) => socket), [0, 1, 2])
    }))

  it.live("close when they have been idle for too long, and keep no process alive meanwhile", () =>
    Effect.gen(function*() {
      const handles = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length
      // What tests before this one have yet to close.
      const others = handles()
      const server = yield* serve((socket) => socket.write(ok("a")))
      const connections = yield* open(server.url, { idleTimeout: 50 })
      yield* ask(connections)
      assert.isAtMost(handles() - others, 1)
      yield* eventually(() => server.sockets[0]!.destroyed)
      yield* ask(connections)
      assert.strictEqual(server.sockets.length, 2)
    }))

  it.live("are not idle while they carry a request, however long, and are after it", () =>
    Effect.gen(function*() {
      const answered = { late: false }
      const server = yield* serve((socket, nth) => {
        if (nth === 1) return void socket.write(ok("a"))
        setTimeout(() => {
          answered.late = true
          socket.write(ok("b"))
        }, 200)
      })
      const connections = yield* open(server.url, { idleTimeout: 50 })
      assert.strictEqual((yield* ask(connections)).text, "a")
      assert.strictEqual((yield* ask(connections)).text, "b")
      assert.isTrue(answered.late)
      assert.strictEqual(server.sockets.length, 1)
      yield* eventually(() => server.sockets[0]!.destroyed)
    }))

  it.live("send what they are given, each value on a line of its own, and the length of what follows", () =>
    Effect.gen(function*() {
      const server = yield* serve((socket) => socket.write(ok("a")))
      const connections = yield* open(server.url)
      const headers = { accept: "application/json", "impersonate-group": ["a", "b"] }
      yield* ask(connections, { method: "GET", path: "/a%2Fb?c=%20", headers })
      yield* ask(connections, { method: "POST", path: "/x", headers: {}, body: `{"a":"b"}` })
      yield* ask(connections, { method: "DELETE", path: "/x", headers: {} })
      const { host } = server.url
      assert.deepStrictEqual(server.requests.map(([, text]) => text), [
        `GET /a%2Fb?c=%20 HTTP/1.1\r\nhost: ${host}\r\naccept: application/json\r\nimpersonate-group: a\r\n` +
        "impersonate-group: b\r\n\r\n",
        `POST /x HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 9\r\n\r\n{"a":"b"}`,
        `DELETE /x HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\n\r\n`
      ])
      yield* ask(connections, { method: "PUT", path: "/x", headers: { "x-name": "Zoë" }, body: `{"a":"Zoë 🚀"}` })
      const last = Buffer.from(server.requests.slice(3).map(([, text]) => text).join(""), "latin1")
      assert.include(last.toString("latin1"), "x-name: Zo\xeb\r\ncontent-length: 17\r\n")
      assert.isTrue(last.toString("utf8").endsWith(`\r\n\r\n{"a":"Zoë 🚀"}`))
    }))

  it.live("refuse what would become another header or request, without a byte of it", () =>
    Effect.gen(function*() {
      const server = yield* serve((socket) => socket.write(ok("a")))
      const connections = yield* open(server.url)
      const wrong: ReadonlyArray<Partial<Connections.Outgoing>> = [
        { headers: { authorization: "Bearer s3cret\r\nx-other: 1" } },
        { headers: { authorization: ["a", "s3cret\n"] } },
        { headers: { "x-a: s3cret\r\nb": "1" } },
        { path: "/a b" },
        { path: "/s3cret\r\nx: 1" },
        { path: "/Zoë" },
        { path: "x" }
      ]
      for (const one of wrong) {
        const { error, sent } = yield* Effect.flip(ask(connections, { ...get, ...one }))
        assert.isFalse(sent)
        assert.match((error as NodeJS.ErrnoException).code!, /^ERR_/)
        if (one.headers !== undefined && "authorization" in one.headers) assert.notInclude(error.message, "s3cret")
      }
      assert.strictEqual(server.sockets.length, 0)
    }))

  it.live("tell whether a request that failed may have arrived", () =>
    Effect.gen(function*() {
      const nobody = yield* open(new URL("http://127.0.0.1:1"))
      const refused = yield* Effect.flip(ask(nobody))
      assert.deepInclude(refused, { sent: false })
      assert.strictEqual((refused.error as NodeJS.ErrnoException).code, "ECONNREFUSED")
      for (const answer of ["", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"]) {
        const server = yield* serve((socket) => void socket.end(answer))
        const lost = yield* Effect.flip(ask(yield* open(server.url)))
        assert.deepInclude(lost, { sent: true })
        assert.strictEqual((lost.error as NodeJS.ErrnoException).code, "ECONNRESET")
      }
      const strange = yield* serve((socket) => void socket.write("<html>s3cret\r\n\r\n"))
      const { error } = yield* Effect.flip(ask(yield* open(strange.url)))
      assert.strictEqual(error.message, "the answer is not HTTP/1.1: it does not begin with a status line")
      yield* eventually(() => strange.sockets[0]!.destroyed)
    }))

  it.live("give up on a server that does not shake hands, does not answer, or not to the end", () =>
    Effect.gen(function*() {
      const late = (answer: string, url: (server: URL) => URL, options: Partial<Connections.Options>) =>
        Effect.gen(function*() {
          const server = yield* serve((socket) => answer === "" ? undefined : void socket.write(answer))
          const { error } = yield* Effect.flip(ask(yield* open(url(server.url), options)))
          yield* eventually(() => server.sockets.every(({ destroyed }) => destroyed))
          return error.message
        })
      const same = (url: URL) => url
      const https = (url: URL) => new URL(url.href.replace("http:", "https:"))
      assert.strictEqual(yield* late("", https, { connectTimeout: 50 }), "no connection within 50ms")
      assert.strictEqual(yield* late("", same, { headersTimeout: 50 }), "no answer within 50ms")
      const part = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"
      assert.strictEqual(
        yield* late(part, same, { headersTimeout: 10_000, bodyTimeout: 50 }),
        "nothing further of the answer within 50ms"
      )
    }))

  it.live("after a request without an answer, the next one uses a new connection, not another that is idle", () =>
    Effect.gen(function*() {
      let isGone = false
      // What was connected before leads to a machine that is gone; a load balancer gives new connections to another.
      const server = yield* serve((socket) => {
        if (!isGone || server.sockets.indexOf(socket) > 2) setTimeout(() => socket.write(ok("a")), 10)
      })
      const connections = yield* open(server.url)
      const three = Effect.all([ask(connections), ask(connections), ask(connections)], { concurrency: "unbounded" })
      yield* three
      // Not after one that somebody has stopped awaiting soon.
      isGone = true
      yield* Effect.timeoutOption(ask(connections), "20 millis")
      isGone = false
      yield* Effect.all([ask(connections), ask(connections)], { concurrency: "unbounded" })
      assert.lengthOf(server.sockets, 3)
      isGone = true
      assert.isTrue(Option.isNone(yield* Effect.timeoutOption(ask(connections), Connections.defaults.doubt + 100)))
      assert.strictEqual((yield* ask(connections)).text, "a")
      assert.lengthOf(server.sockets, 4)
    }))

  it.live("end what is interrupted, at whatever it is", () =>
    Effect.gen(function*() {
      for (const answer of ["", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi"]) {
        const server = yield* serve((socket) => answer === "" ? undefined : void socket.write(answer))
        const connections = yield* open(server.url)
        yield* Effect.timeoutOption(ask(connections), 50)
        yield* eventually(() => server.sockets.length === 1 && server.sockets[0]!.destroyed)
        // While it connects.
        const told: Array<unknown> = []
        const abort = connections.request(get, { answered: () => told.push("answered"), failed: (e) => told.push(e) })
        abort()
        abort()
        assert.deepStrictEqual(told, [Connections.aborted])
      }
    }))

  it.live("close when the last answer is there, and take nothing more; destroyed at once", () =>
    Effect.gen(function*() {
      let answer = () => {}
      const server = yield* serve((socket) => {
        answer = () => void socket.write(ok("a"))
      })
      const connections = yield* open(server.url)
      const told: Array<string> = []
      const last = new Promise((resolve) => {
        connections.request(get, { answered: (_, body) => whole(body, 1, resolve), failed: resolve })
      })
      const closed = connections.close().then(() => told.push("closed"))
      const refused = yield* Effect.flip(ask(connections))
      assert.strictEqual(refused.error.message, "the connections are closed")
      yield* eventually(() => server.requests.length === 1)
      assert.deepStrictEqual(told, [])
      answer()
      assert.deepStrictEqual(yield* Effect.promise(() => last), {})
      yield* Effect.promise(() => closed)
      assert.deepStrictEqual(told, ["closed"])
      const other = yield* open(server.url)
      const pending = Effect.flip(ask(other))
      const [failure] = yield* Effect.all([
        pending,
        Effect.delay(Effect.promise(() => other.destroy()), 20)
      ], { concurrency: "unbounded" })
      assert.strictEqual(failure.error, Connections.aborted)
    }))

  /** The body of an answer that somebody reads by hand. */
  const body = (connections: Connections.Connections) =>
    Effect.callback<Body>((resume) => {
      connections.request(get, { answered: (_, body) => resume(Effect.succeed(body)), failed: () => {} })
    })

  it.live("read no more than is wanted, and lose nothing; a reader that rests is no silent server", () =>
    Effect.gen(function*() {
      const size = 8 * 1024 * 1024
      const text = Buffer.alloc(size, "0123456789abcdef")
      let drained = false
      const server = yield* serve((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`)
        if (!socket.write(text)) socket.once("drain", () => (drained = true))
      })
      const arrived = yield* body(yield* open(server.url, { bodyTimeout: 300 }))
      // Nobody reads.
      yield* Effect.sleep(400)
      assert.isFalse(drained)
      const pieces: Array<Buffer> = []
      let wanted = true
      let ending: Ending | undefined
      arrived.read({
        bytes: (chunk) => {
          pieces.push(Buffer.from(chunk))
          wanted = pieces.length !== 3
          return wanted
        },
        end: (how) => (ending = how)
      })
      yield* eventually(() => !wanted)
      yield* Effect.sleep(400)
      assert.strictEqual(pieces.length, 3)
      assert.isFalse(drained)
      assert.isUndefined(ending)
      arrived.resume()
      yield* eventually(() => ending !== undefined)
      assert.deepStrictEqual(ending, {})
      assert.isTrue(Buffer.concat(pieces).equals(text))
    }))

  it.live("read chunks of any size over TLS, and begin where an earlier session left off", () =>
    Effect.gen(function*() {
      const now = Date.now()
      const ca = yield* Certificates.authority({ now })
      const leaf = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] })
      const text = Array.from({ length: 20_000 }, (_, n) => `${n}:${"x".repeat(n % 97)}\n`).join("")
      const reused: Array<boolean> = []
      const server = yield* serve((socket, nth) => {
        reused.push((socket as Tls.TLSSocket).isSessionReused())
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for (let at = 0, size = 1; at < text.length; size = size * 7 % 9_973) {
          const part = text.slice(at, at + size)
          socket.write(`${part.length.toString(16)}\r\n${part}\r\n`)
          at += part.length
        }
        socket.write("0\r\n\r\n")
        if (nth === 1) socket.end()
      }, leaf)
      const connections = yield* open(server.url, {
        tls: { ca: ca.certPem, rejectUnauthorized: true, servername: undefined }
      })
      assert.isTrue((yield* ask(connections)).text === text)
      yield* eventually(() => server.sockets[0]!.destroyed)
      assert.isTrue((yield* ask(connections)).text === text)
      assert.isTrue((yield* ask(connections)).text === text)
      assert.deepStrictEqual(reused, [false, true, true])
      const stranger = yield* open(server.url, { tls: { rejectUnauthorized: true, servername: undefined } })
      const { error, sent } = yield* Effect.flip(ask(stranger))
      assert.isFalse(sent)
      assert.include((error as NodeJS.ErrnoException).code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE")
    }))

  it.live("are good for another request when an answer ends while its reader rests", () =>
    Effect.gen(function*() {
      const now = Date.now()
      const ca = yield* Certificates.authority({ now })
      const leaf = yield* Certificates.issue(ca, { now, commonName: "server", hosts: ["127.0.0.1"] })
      const server = yield* serve((socket) => {
        // Several records of TLS, which are there at once.
        socket.cork()
        for (const part of ["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "a", "b", "c", "d"]) socket.write(part)
        socket.uncork()
      }, leaf)
      const connections = yield* open(server.url)
      for (let nth = 1; nth <= 3; nth++) {
        const arrived = yield* body(connections)
        let text = ""
        let ending: Ending | undefined
        arrived.read({
          bytes: (chunk) => {
            text += chunk.toString()
            return false
          },
          end: (how) => (ending = how)
        })
        yield* eventually(() => {
          arrived.resume()
          return ending !== undefined
        })
        assert.strictEqual(text, "abcd")
      }
      assert.strictEqual(server.sockets.length, 1)
    }))

  it.live("carry nothing behind a request whose answer came before it was written", () =>
    Effect.gen(function*() {
      const server = yield* serve((socket, nth) => {
        // What is too large is refused at its first bytes, and never read.
        if (nth === 1) socket.pause()
        socket.write(ok(`${nth}`))
      })
      const connections = yield* open(server.url)
      const large = { method: "PUT", path: "/", headers: {}, body: "x".repeat(32 * 1024 * 1024) }
      assert.strictEqual((yield* ask(connections, large)).text, "1")
      assert.strictEqual((yield* ask(connections)).text, "2")
      assert.deepStrictEqual(server.requests.map(([socket]) => socket), [0, 1])
    }))
})
