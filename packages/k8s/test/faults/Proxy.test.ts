import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type * as Http from "node:http"
import * as Https from "node:https"
import type * as Tls from "node:tls"
import * as Certificates from "../../src/Certificates.ts"
import { serve } from "../support/liveServer.ts"
import type * as Fault from "./Fault.ts"
import * as Proxy from "./Proxy.ts"

interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  /** The body did not come to its end. */
  readonly broken: boolean
}

const pages = Buffer.from("x".repeat(5_000))
const line = (type: string, name: string) => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`

/** A server that echoes writes, lists letters, and watches: a line now, a bookmark, and a line after each 20 ms. */
const scene = Effect.gen(function*() {
  const now = Date.now()
  const authority = yield* Certificates.authority({ now })
  const tls = yield* Certificates.issue(authority, { now, commonName: "server", hosts: ["127.0.0.1"] })
  const server = yield* serve((request, response) => {
    if (request.url?.includes("watch=true")) {
      response.writeHead(200, { "content-type": "application/json" })
      response.write(line("ADDED", "a") + line("BOOKMARK", ""))
      let n = 0
      const timer = setInterval(() => response.write(line("ADDED", `b${n++}`)), 20)
      response.on("close", () => clearInterval(timer))
      return
    }
    if (request.method === "GET") return void response.end(pages)
    let body = ""
    request.on("data", (part) => body += String(part))
    request.on("end", () => response.end(`${request.method} ${body} ${request.headers["x-test"]}`))
  }, tls)
  const proxy = yield* Proxy.make({ url: server.url, caPem: authority.certPem })
  return { server, proxy }
})

const agents = Effect.acquireRelease(
  Effect.sync(() => new Https.Agent({ keepAlive: true })),
  (agent) => Effect.sync(() => agent.destroy())
)

/** Sends a request. */
const ask = (
  proxy: Proxy.Proxy,
  path: string,
  options: {
    readonly method?: string
    readonly body?: string
    /** Reading ends a moment after there is so much. */
    readonly enough?: number
    readonly agent?: Https.Agent
    /** Once the answer has begun. */
    readonly onData?: () => void
  } = {}
) =>
  Effect.promise(() =>
    new Promise<Answer | Error>((resolve) => {
      const request = Https.request(`${proxy.url}${path}`, {
        method: options.method ?? "GET",
        ca: proxy.caPem,
        agent: options.agent ?? false,
        headers: options.body === undefined
          ? {}
          : { "content-length": Buffer.byteLength(options.body), "x-test": "yes" }
      }, (response) => {
        const parts: Array<Buffer> = []
        const { enough = Infinity } = options
        let length = 0
        const done = () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: Buffer.concat(parts).toString("utf8"),
            broken: !response.complete
          })
        response.on("data", (part: Buffer) => {
          parts.push(part)
          const before = length
          length += part.length
          if (before >= enough || length < enough) return
          setTimeout(() => {
            done()
            request.destroy()
          }, 200)
        })
        response.once("data", () => options.onData?.())
        response.on("end", done)
        response.on("error", done)
        response.on("close", done)
      })
      request.on("error", resolve)
      request.end(options.body)
    })
  )

/** Waits until no connection of a client is left. */
const nobody = (proxy: Proxy.Proxy) => Effect.repeat(Effect.sleep(5), { until: () => proxy.open().clients === 0 })

const answered = (answer: Answer | Error): Answer => {
  if (answer instanceof Error) throw answer
  return answer
}

const fault = (kind: Fault.Kind, on: Fault.Target, more: Partial<Fault.Fault> = {}): Fault.Fault => ({
  kind,
  on: [on],
  times: 1,
  after: 0,
  seed: 0,
  ...more
})

const live = (name: string, test: Effect.Effect<unknown, never, Scope.Scope>) => it.live(name, () => test)

describe("Proxy", () => {
  live(
    "without faults it is transparent, and keeps connections",
    Effect.gen(function*() {
      const { proxy, server } = yield* scene
      const agent = yield* agents
      const list = answered(yield* ask(proxy, "/list", { agent }))
      assert.strictEqual(list.body, pages.toString())
      const write = answered(yield* ask(proxy, "/write", { method: "POST", body: "ü", agent }))
      assert.strictEqual(write.body, "POST ü yes")
      assert.strictEqual(proxy.accepted(), 1)
      assert.strictEqual(server.requests.length, 2)
      assert.deepStrictEqual(proxy.exchanges.map(({ fault, target }) => [target, fault]), [
        ["list", undefined],
        ["write", undefined]
      ])
      const beginning = line("ADDED", "a") + line("BOOKMARK", "") + line("ADDED", "b0")
      const watch = answered(yield* ask(proxy, "/list?watch=true", { enough: beginning.length }))
      assert.isTrue(watch.body.startsWith(beginning))
      agent.destroy()
      yield* nobody(proxy)
    })
  )

  for (const [kind, expected] of [["cut", 1_234], ["stall", 1_234]] as const) {
    live(
      `${kind} lets so many bytes through, and no more`,
      Effect.gen(function*() {
        const { proxy } = yield* scene
        const infliction = proxy.inflict(fault(kind, "list", { after: expected }))
        const answer = answered(yield* ask(proxy, "/list", { enough: expected }))
        assert.strictEqual(answer.body.length, expected)
        assert.isTrue(answer.broken)
        assert.strictEqual(infliction.struck, 1)
        assert.strictEqual(answered(yield* ask(proxy, "/list")).body.length, pages.length)
      })
    )
  }

  live(
    "a fault that comes too late strikes at the end",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      proxy.inflict(fault("cut", "list", { after: 1_000_000 }))
      const answer = answered(yield* ask(proxy, "/list"))
      assert.strictEqual(answer.body.length, pages.length)
      assert.isTrue(answer.broken)
    })
  )

  live(
    "corrupt puts in what no JSON may hold; garble breaks TLS",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      proxy.inflict(fault("corrupt", "list", { after: 10 }))
      assert.include(answered(yield* ask(proxy, "/list")).body, "\u0001")
      proxy.inflict(fault("garble", "list", { after: 10 }))
      const answer = yield* ask(proxy, "/list")
      assert.isTrue(answer instanceof Error || answer.broken)
    })
  )

  for (const kind of ["split", "slow"] as const) {
    live(
      `${kind} changes nothing but the pieces`,
      Effect.gen(function*() {
        const { proxy } = yield* scene
        proxy.inflict(fault(kind, "list", { seed: 7 }))
        const answer = answered(yield* ask(proxy, "/list"))
        assert.strictEqual(answer.body, pages.toString())
        assert.isFalse(answer.broken)
      })
    )
  }

  live(
    "answers in the server's place, which hears nothing of it",
    Effect.gen(function*() {
      const { proxy, server } = yield* scene
      proxy.inflict(fault("answer429", "list", { seed: 1 }))
      const answer = answered(yield* ask(proxy, "/list"))
      assert.strictEqual(answer.status, 429)
      assert.strictEqual(answer.headers["retry-after"], "1")
      assert.strictEqual((JSON.parse(answer.body) as { readonly reason: string }).reason, "TooManyRequests")
      proxy.inflict(fault("notJson", "list"))
      assert.strictEqual(answered(yield* ask(proxy, "/list")).headers["content-type"], "text/html")
      assert.strictEqual(server.requests.length, 0)
      assert.strictEqual(proxy.exchanges[0]!.fault?.kind, "answer429")
    })
  )

  live(
    "drop: the server does what was asked, and the client never hears of it",
    Effect.gen(function*() {
      const { proxy, server } = yield* scene
      proxy.inflict(fault("drop", "write"))
      assert.instanceOf(yield* ask(proxy, "/write", { method: "POST", body: "a" }), Error)
      assert.strictEqual(server.requests.length, 1)
      proxy.inflict(fault("hangUp", "write"))
      assert.instanceOf(yield* ask(proxy, "/write", { method: "POST", body: "a" }), Error)
      assert.strictEqual(server.requests.length, 1)
    })
  )

  live(
    "watches end between two lines, with or without an error, also those under way",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      proxy.inflict(fault("end", "watch"))
      const ended = answered(yield* ask(proxy, "/?watch=true"))
      assert.isFalse(ended.broken)
      assert.isTrue(ended.body === "" || ended.body.endsWith("\n"))
      const failed = answered(
        yield* ask(proxy, "/?watch=true", { onData: () => proxy.inflict(fault("error410", "watch")) })
      )
      assert.isFalse(failed.broken)
      const last = JSON.parse(failed.body.trim().split("\n").at(-1)!) as Record<string, { readonly code?: number }>
      assert.deepStrictEqual([last["type"], last["object"]?.code], ["ERROR", 410])
    })
  )

  live(
    "noBookmarks leaves out bookmarks alone",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      const infliction = proxy.inflict(fault("noBookmarks", "watch"))
      const beginning = line("ADDED", "a") + line("ADDED", "b0")
      const { body } = answered(yield* ask(proxy, "/?watch=true", { enough: beginning.length }))
      assert.isTrue(body.startsWith(beginning))
      assert.strictEqual(infliction.struck, 1)
    })
  )

  live(
    "refuses connections, and lets those that come first wait longest",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      proxy.inflict(fault("refuse", "list"))
      assert.instanceOf(yield* ask(proxy, "/list"), Error)
      proxy.inflict(fault("reorder", "list", { times: 3 }))
      const order: Array<number> = []
      yield* Effect.forEach(
        [1, 2, 3],
        (n) => Effect.tap(ask(proxy, "/list"), () => Effect.sync(() => order.push(n))),
        { concurrency: 3 }
      )
      assert.deepStrictEqual(order, [3, 2, 1])
    })
  )

  live(
    "rotate shows another certificate of the same authority, to everybody",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      const fingerprint = Effect.promise(() =>
        new Promise<string>((resolve, reject) => {
          const request = Https.get(`${proxy.url}/list`, { ca: proxy.caPem, agent: false }, (response) => {
            resolve((response.socket as Tls.TLSSocket).getPeerCertificate().fingerprint256)
            response.resume()
          })
          request.on("error", reject)
        })
      )
      const before = yield* fingerprint
      proxy.inflict(fault("rotate", "list"))
      assert.notStrictEqual(yield* fingerprint, before)
    })
  )

  live(
    "an outage is an end of everything until it is over",
    Effect.gen(function*() {
      const { proxy } = yield* scene
      const watch = yield* ask(proxy, "/?watch=true", { onData: () => proxy.inflict(fault("outage", "list")) })
      assert.isTrue(watch instanceof Error || watch.broken)
      assert.instanceOf(yield* ask(proxy, "/list"), Error)
      proxy.relent()
      assert.strictEqual(answered(yield* ask(proxy, "/list")).status, 200)
      yield* nobody(proxy)
    })
  )
})
