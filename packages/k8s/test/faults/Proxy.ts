/**
 * A proxy that breaks things: between a client and an API server, over real sockets.
 *
 * It ends TLS with a certificate of its own authority, so that it can change what passes, and speaks HTTP/1.1 on both
 * sides. Towards the client every byte is its own: frames can be split anywhere, cut, held back, or broken below TLS.
 * What it does to whom is said by `inflict`; without faults it is transparent. Every exchange is on record, with the time
 * by the clock in context and the fault that struck it.
 *
 * One request at a time and connection, with a body of a known length: what HTTP clients do that do not pipeline.
 */
import { Clock, Effect, type Scope } from "effect"
import type * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as Certificates from "../../src/Certificates.ts"
import { Chance } from "../differential/Chance.ts"
import * as Fault from "./Fault.ts"
import { Wire } from "./Wire.ts"

/** One request and what became of it. */
export interface Exchange {
  readonly at: number
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly target: Fault.Target
  /** What struck it, and when. */
  fault?: { readonly kind: Fault.Kind; readonly at: number }
  over: boolean
}

/** A fault under way: who was struck so far. */
export interface Infliction {
  readonly fault: Fault.Fault
  /** How many more it may choose. */
  left: number
  /** How often it has struck. */
  struck: number
}

export interface Proxy {
  readonly url: string
  readonly caPem: string
  /** The last ones, as many as `keep` says. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** When a connection was turned away, before any request. The last ones, as many as `keep` says. */
  readonly refusals: ReadonlyArray<number>
  /** How many there were of each kind, and how many were struck. */
  readonly totals: Readonly<Record<Fault.Target | "struck", number>>
  /** Connections open to clients, and to the server. */
  readonly open: () => { readonly clients: number; readonly server: number }
  /** How many connections clients made. */
  readonly accepted: () => number
  readonly inflict: (fault: Fault.Fault) => Infliction
  /** Lets everything pass from now on, and what is held back fail. */
  readonly relent: () => void
  /** Cuts every connection. */
  readonly cutAll: () => void
  /** Has a certificate of another authority from now on, and cuts every connection; the authority's certificate. */
  readonly reissue: Effect.Effect<string>
}

export interface Options {
  /** The server. */
  readonly url: string
  readonly caPem: string
  /** What `expire` does before the request goes on: the server forgets its history. */
  readonly expire?: (() => void) | undefined
  /** How many exchanges stay on record; all by default. */
  readonly keep?: number | undefined
  /** Decides with which fault an exchange meets that no infliction has chosen. */
  readonly chance?: ((exchange: Exchange) => Fault.Fault | undefined) | undefined
}

/** A connection of a client. */
interface Client {
  readonly socket: Tls.TLSSocket
  readonly raw: Net.Socket
  /** What to do for the exchange under way if the client hangs up. */
  onClose: () => void
}

/** An answer under way. */
interface Answering {
  readonly exchange: Exchange
  readonly wire: Wire
}

const wall = Clock.Clock.defaultValue()

const targetOf = (method: string, path: string): Fault.Target =>
  method !== "GET" ? "write" : /[?&]watch=(?:true|1)\b/.test(path) ? "watch" : "list"

/** Certificates of a proxy: an authority, and server certificates, each with a key of its own. */
const makeCertificates = (count: number) =>
  Effect.gen(function*() {
    const now = wall.currentTimeMillisUnsafe()
    const authority = yield* Certificates.authority({ now, commonName: "proxy-ca" })
    const issue = Certificates.issue(authority, {
      now,
      commonName: "kube-apiserver",
      hosts: ["127.0.0.1", "localhost"]
    })
    return { caPem: authority.certPem, servers: yield* Effect.replicateEffect(issue, count) }
  })

export const make = (options: Options): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { caPem, servers } = yield* makeCertificates(2)
    const clock = yield* Clock.Clock
    const started = yield* Effect.acquireRelease(
      Effect.promise(() => start(options, caPem, servers, () => clock.currentTimeMillisUnsafe())),
      ({ close }) => Effect.promise(close)
    )
    const reissue = Effect.map(makeCertificates(1), ({ caPem, servers }) => {
      started.present(servers)
      return caPem
    })
    return { ...started.proxy, reissue }
  })

const start = async (
  options: Options,
  caPem: string,
  certificates: ReadonlyArray<Certificates.Certificate>,
  now: () => number
): Promise<{
  readonly proxy: Omit<Proxy, "reissue">
  readonly present: (certificates: ReadonlyArray<Certificates.Certificate>) => void
  readonly close: () => Promise<void>
}> => {
  const exchanges: Array<Exchange> = []
  const refusals: Array<number> = []
  const totals = { list: 0, watch: 0, write: 0, struck: 0 }
  let inflictions: Array<Infliction> = []
  const clients = new Set<Net.Socket>()
  const upstream = new Set<Net.Socket>()
  const answering = new Set<Answering>()
  let accepted = 0
  let rotation = 0
  let outage = false

  const agent = new Https.Agent({ keepAlive: true, ca: options.caPem })
  const server = new URL(options.url)

  const strike = (exchange: Exchange, infliction: Pick<Infliction, "fault" | "struck">): void => {
    infliction.struck += 1
    if (exchange.fault === undefined) totals.struck += 1
    exchange.fault ??= { kind: infliction.fault.kind, at: now() }
  }

  /** The fault that an exchange is to meet. */
  const choose = (exchange: Exchange): Infliction | undefined => {
    const chosen = inflictions.find(({ fault, left }) =>
      left > 0 && !Fault.ofConnection.has(fault.kind) && fault.on.includes(exchange.target) &&
      (fault.kind !== "expire" || exchange.path.includes("continue="))
    )
    if (chosen !== undefined) {
      chosen.left -= 1
      return chosen
    }
    const fault = options.chance?.(exchange)
    return fault === undefined ? undefined : { fault, left: 0, struck: 0 }
  }

  /** Has a fault of an answer's body happen to one. */
  const apply = ({ exchange, wire }: Answering, chosen: Infliction, toStrike: Map<Wire, () => void>): void => {
    const { after, kind, seed } = chosen.fault
    const random = new Chance(seed)
    toStrike.set(wire, () => strike(exchange, chosen))
    switch (kind) {
      case "cut":
      case "stall":
      case "corrupt":
      case "garble":
        wire.strike(kind, after)
        break
      case "slow":
        wire.break(random, 2000, 2)
        break
      case "split":
        wire.break(random, 40, 0)
        break
      case "end":
        wire.conclude()
        break
      case "noBookmarks":
        wire.dropBookmarks()
        break
      case "error410":
        wire.conclude(errorLine(410, "Expired"))
        break
      case "error500":
        wire.conclude(errorLine(500, "InternalError"))
        break
    }
  }
  const toStrike = new Map<Wire, () => void>()

  const answer = (client: Client, code: number, type: string, body: string, more = ""): void => {
    const length = Buffer.byteLength(body)
    client.socket.write(
      `HTTP/1.1 ${code} Fault\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n${more}\r\n${body}`
    )
  }

  /** What happens instead of the exchange; false if it goes on. */
  const instead = (client: Client, exchange: Exchange, infliction: Infliction): boolean => {
    const { kind, seed } = infliction.fault
    if (Fault.ofBody.has(kind) || kind === "drop") return false
    strike(exchange, infliction)
    if (kind === "expire") {
      options.expire?.()
      return false
    }
    exchange.over = true
    if (kind === "hangUp") client.socket.destroy()
    else if (kind === "notJson") answer(client, seed % 2 === 0 ? 200 : 502, "text/html", "<html>Please log in</html>")
    else {
      const { code, reason } = Fault.answers[kind] ?? { code: 500, reason: "InternalError" }
      const wait = kind === "answer429" || kind === "answer503" ? `retry-after: ${seed % 2}\r\n` : ""
      answer(client, code, "application/json", JSON.stringify(statusOf(code, reason)), wait)
    }
    return true
  }

  const exchange = (client: Client, head: Head, body: Buffer): void => {
    const { method, path } = head
    const exchange: Exchange = { at: now(), method, path, target: targetOf(method, path), over: false }
    exchanges.push(exchange)
    totals[exchange.target] += 1
    if (exchanges.length > 2 * (options.keep ?? Infinity)) exchanges.splice(0, exchanges.length - options.keep!)
    const chosen = choose(exchange)
    if (chosen !== undefined && instead(client, exchange, chosen)) return
    const request = Https.request({
      agent,
      host: server.hostname,
      port: server.port,
      method,
      path,
      headers: { ...head.headers, host: server.host }
    })
    client.onClose = () => request.destroy()
    request.on("socket", (socket) => {
      if (upstream.has(socket)) return
      upstream.add(socket)
      socket.once("close", () => upstream.delete(socket))
    })
    request.on("error", () => client.socket.destroy())
    request.on("response", (response) => {
      if (chosen?.fault.kind === "drop") {
        // The server has done what was asked.
        strike(exchange, chosen)
        exchange.over = true
        client.socket.destroy()
        return
      }
      const wire = new Wire({
        socket: client.socket,
        raw: client.raw,
        pause: (paused) => paused ? response.pause() : response.resume(),
        struck: () => toStrike.get(wire)?.(),
        over: () => {
          exchange.over = true
          toStrike.delete(wire)
          answering.delete(own)
          client.onClose = () => {}
          if (!response.complete) request.destroy()
        }
      })
      const own = { exchange, wire }
      answering.add(own)
      client.onClose = () => wire.abort()
      client.socket.write(headOf(response))
      if (chosen !== undefined && Fault.ofBody.has(chosen.fault.kind)) apply(own, chosen, toStrike)
      response.on("data", (bytes: Buffer) => wire.write(bytes))
      response.on("end", () => wire.end())
      response.on("error", () => wire.abort())
    })
    request.end(body)
  }

  const accept = (raw: Net.Socket): void => {
    accepted += 1
    clients.add(raw)
    raw.on("error", () => raw.destroy())
    raw.once("close", () => clients.delete(raw))
    raw.setNoDelay(true)
    const chosen = inflictions.find(({ fault, left }) => left > 0 && Fault.ofConnection.has(fault.kind))
    if (outage || chosen?.fault.kind === "refuse") {
      if (chosen !== undefined) {
        chosen.left -= 1
        chosen.struck += 1
      }
      refusals.push(now())
      if (refusals.length > (options.keep ?? Infinity)) refusals.shift()
      raw.resetAndDestroy()
      return
    }
    if (chosen === undefined) return secure(raw)
    // Who comes first waits longest.
    const delay = 60 * chosen.left
    chosen.left -= 1
    chosen.struck += 1
    setTimeout(() => raw.destroyed ? undefined : secure(raw), delay)
  }

  const contextOf = ({ certPem, keyPem }: Certificates.Certificate) =>
    Tls.createSecureContext({ cert: certPem, key: keyPem })
  let contexts = certificates.map(contextOf)
  const present = (certificates: ReadonlyArray<Certificates.Certificate>) => {
    contexts = certificates.map(contextOf)
    cutAll()
  }
  const secure = (raw: Net.Socket): void => {
    const socket = new Tls.TLSSocket(raw, {
      isServer: true,
      secureContext: contexts[rotation % contexts.length]!,
      ALPNProtocols: ["http/1.1"]
    })
    socket.on("error", () => socket.destroy())
    const client: Client = { socket, raw, onClose: () => {} }
    socket.once("close", () => {
      raw.destroy()
      client.onClose()
    })
    read(socket, (head, body) => exchange(client, head, body))
  }

  const listener = Net.createServer(accept)
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve))
  const { port } = listener.address() as Net.AddressInfo

  const cutAll = () => {
    for (const socket of clients) socket.destroy()
  }

  const inflict = (fault: Fault.Fault): Infliction => {
    const infliction = { fault, left: fault.times, struck: 0 }
    inflictions = [...inflictions.filter(({ left }) => left > 0), infliction]
    if (fault.kind === "rotate") {
      rotation += 1
      infliction.struck += 1
      cutAll()
    } else if (fault.kind === "outage") {
      outage = true
      infliction.struck += 1
      cutAll()
    } else if (Fault.ofBody.has(fault.kind)) {
      for (const own of answering) {
        if (infliction.left === 0) break
        if (own.exchange.target !== "watch" || !fault.on.includes("watch") || toStrike.has(own.wire)) continue
        infliction.left -= 1
        apply(own, infliction, toStrike)
      }
    } else if (fault.kind === "refuse" || fault.kind === "reorder" || fault.on.includes("watch")) {
      // Watches are asked for again only once they are gone.
      for (const { exchange, wire } of answering) {
        if (exchange.target === "watch" && !toStrike.has(wire)) wire.conclude()
      }
      if (Fault.ofConnection.has(fault.kind)) cutAll()
    }
    return infliction
  }

  const relent = () => {
    outage = false
    for (const infliction of inflictions) infliction.left = 0
  }

  const close = async () => {
    cutAll()
    agent.destroy()
    for (const socket of upstream) socket.destroy()
    await new Promise((resolve) => listener.close(resolve))
  }

  return {
    close,
    present,
    proxy: {
      url: `https://127.0.0.1:${port}`,
      caPem,
      exchanges,
      refusals,
      totals,
      open: () => ({
        clients: clients.size,
        server: [...upstream].filter((socket) => !Object.values(agent.freeSockets).flat().includes(socket)).length
      }),
      accepted: () => accepted,
      inflict,
      relent,
      cutAll
    }
  }
}

const statusOf = (code: number, reason: string) => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: `the proxy says ${reason}`,
  reason,
  code
})

const errorLine = (code: number, reason: string): string =>
  `${JSON.stringify({ type: "ERROR", object: statusOf(code, reason) })}\n`

// --- HTTP -----------------------------------------------------------------------------------------------------------

interface Head {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

const parseHead = (text: string): Head => {
  const [first = "", ...lines] = text.split("\r\n")
  const [method = "", path = ""] = first.split(" ")
  const headers = Object.fromEntries(lines.map((line) => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  }))
  return { method, path, headers }
}

/** Reads requests off a connection. */
const read = (socket: Net.Socket, onRequest: (head: Head, body: Buffer) => void): void => {
  let bytes = Buffer.alloc(0)
  socket.on("data", (more: Buffer) => {
    bytes = Buffer.concat([bytes, more])
    for (;;) {
      const end = bytes.indexOf("\r\n\r\n")
      if (end < 0) return
      const head = parseHead(bytes.toString("latin1", 0, end))
      const body = end + 4
      const length = Number(head.headers["content-length"] ?? 0)
      if (head.headers["transfer-encoding"] !== undefined) {
        socket.end("HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        return
      }
      if (bytes.length < body + length) return
      const content = bytes.subarray(body, body + length)
      bytes = bytes.subarray(body + length)
      onRequest(head, content)
    }
  })
}

const notPassedOn = new Set(["connection", "keep-alive", "transfer-encoding", "content-length"])

const headOf = (response: Http.IncomingMessage): string => {
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`]
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    const name = response.rawHeaders[i]!
    if (!notPassedOn.has(name.toLowerCase())) lines.push(`${name}: ${response.rawHeaders[i + 1]}`)
  }
  return [...lines, "transfer-encoding: chunked", "", ""].join("\r\n")
}
