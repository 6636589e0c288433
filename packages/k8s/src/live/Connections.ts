/**
 * `Connections`: requests to one server over HTTP/1.1, on connections that are kept and reused.
 *
 * A request uses an idle connection or opens a new one; limiting their number is the caller's business. It guarantees:
 * - a response is read into memory that the next read reuses, and passed on in the pieces that each read of the socket
 *   brought (see `HttpResponse`); nothing is read while the reader has paused;
 * - a connection is reused only after a response that was complete, had a definite end and allowed it; not if its
 *   server has closed it or has sent unexpected bytes;
 * - a request of which anything was written is never sent again here: the caller learns that it may have arrived;
 * - each phase has a timeout: connecting, waiting for the response, and each piece of its body while the reader wants
 *   it;
 * - a request without an answer casts doubt on the idle connections, which lead to the same machine or load balancer:
 *   the next request opens a new one, however its predecessor ended;
 * - headers are sent exactly as given, or the request is refused before any byte is sent; no failure quotes a header.
 *
 * Why not undici: it copies a response into WebAssembly and reports each HTTP chunk separately, and an API server sends
 * one chunk per event. That takes ten times the CPU of reading the socket for a list, and four times for a watch.
 */
import { monotonicMillis } from "@effect-operator/core/internal/monotonic"
import * as Duration from "effect/Duration"
import { Buffer } from "node:buffer"
import * as Net from "node:net"
import * as Tls from "node:tls"
import type { Body, Ending, Sink } from "./Body.ts"
import { type Head, HttpResponse, text, token } from "./HttpResponse.ts"
import { clock } from "./realTime.ts"

/** Defaults of a connection; sizes in bytes. */
export const defaults = {
  /** The size of one read of the socket. A connection starts with the smallest and grows once a read fills it. */
  smallestRead: 4 * 1024,
  largestRead: 64 * 1024,
  /** How long before its server closes it an idle connection is no longer used, in milliseconds. */
  margin: 1_000,
  /** How long a request waits for an answer before it casts doubt on the idle connections, in milliseconds. */
  doubt: 3_000,
  /** The longest delay of Node's timers, in milliseconds: they treat a longer one as 1 ms. */
  longestTimer: 2 ** 31 - 1
} as const

/** A request. Only GET and HEAD are sent without a content length. */
export interface Outgoing {
  readonly method: string
  /** Includes the query; percent-encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body?: string | undefined
  /** Whether it may still be sent; called right before sending. */
  readonly permit?: (() => boolean) | undefined
}

/**
 * The caller of a request. Exactly one of `answered` and `failed` is called, and `sent` before that if the request was
 * sent.
 */
export interface Listener {
  /** From now on the server may see the request. */
  readonly sent?: (() => void) | undefined
  /** The headers have arrived. Nothing more is read until the body has a reader. */
  readonly answered: (head: Head, body: Body) => void
  /** There is no response. */
  readonly failed: (cause: unknown) => void
}

export interface Connections {
  /** Starts a request. Calling the returned function aborts it, unless it is over. */
  readonly request: (outgoing: Outgoing, listener: Listener) => () => void
  /** Accepts no more requests; resolves when the last one is over. */
  readonly close: () => Promise<void>
  /** Aborts everything. */
  readonly destroy: () => Promise<void>
}

/** The error of a request that the caller aborted. */
export const aborted = new Error("the request was interrupted")

/** The error of a request that may no longer be sent. */
export const unpermitted: Error = Object.assign(new Error("the request may no longer be sent"), {
  code: "ERR_NOT_PERMITTED"
})

/** The server and its settings. Times are in milliseconds; 0 means no limit. */
export interface Options {
  readonly origin: URL
  readonly tls: Pick<Tls.SecureContextOptions, "ca" | "cert" | "key"> & {
    readonly rejectUnauthorized: boolean
    readonly servername: string | undefined
  }
  /** TCP and TLS together. */
  readonly connectTimeout: number
  readonly headersTimeout: number
  readonly bodyTimeout: number
  readonly idleTimeout: number
  readonly keepAliveDelay: number
}

/** Opens no connection yet. */
export const make = (options: Options): Connections => new Pool(options)

class Pool implements Connections {
  readonly options: Options
  /** The most recently used is last, so that the others can time out. */
  readonly #idle: Array<Connection> = []
  readonly #all = new Set<Connection>()
  #isClosed = false
  #emptied = () => {}
  #context: Tls.SecureContext | undefined
  /** The last TLS session, for resumption. */
  session: Buffer | undefined

  constructor(options: Options) {
    this.options = options
  }

  /** Shared by all connections, because creating one parses the certificates. */
  get secureContext(): Tls.SecureContext {
    const { ca, cert, key } = this.options.tls
    return this.#context ??= Tls.createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key })
    })
  }

  request(outgoing: Outgoing, listener: Listener): () => void {
    let call: Call
    try {
      if (this.#isClosed) throw coded("the connections are closed", "ERR_CLOSED")
      call = new Call(this.options, outgoing, listener)
    } catch (cause) {
      listener.failed(cause)
      return () => {}
    }
    const connection = this.#idle.pop() ?? this.#open()
    connection.carry(call)
    return () => call.abort()
  }

  #open(): Connection {
    const connection = new Connection(this)
    this.#all.add(connection)
    return connection
  }

  /** Takes back a connection that can be reused. */
  release(connection: Connection): void {
    if (this.#isClosed) connection.end({})
    else this.#idle.push(connection)
  }

  forget(connection: Connection): void {
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    this.#all.delete(connection)
    if (this.#all.size === 0) this.#emptied()
  }

  /** Closes the idle connections. */
  endIdle(): void {
    while (this.#idle.length > 0) this.#idle.at(-1)!.end({})
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.endIdle()
    return new Promise((resolve) => {
      this.#emptied = resolve
      if (this.#all.size === 0) resolve()
    })
  }

  destroy(): Promise<void> {
    const closed = this.close()
    for (const connection of this.#all) connection.end({ error: aborted })
    return closed
  }
}

/** A socket and the request that it currently carries. */
class Connection {
  readonly #pool: Pool
  #socket: Net.Socket | undefined
  #isReady = false
  #isOver = false
  #isPaused = false
  #call: Call | undefined
  #buffer = Buffer.allocUnsafeSlow(defaults.smallestRead)
  #timer: NodeJS.Timeout | undefined
  /** Closes the connection if it is idle by then; reset each time it becomes idle. */
  #idling: { readonly millis: number; readonly timer: NodeJS.Timeout } | undefined

  constructor(pool: Pool) {
    this.#pool = pool
  }

  carry(call: Call): void {
    this.#call = call
    call.connection = this
    if (this.#isReady) {
      this.#socket!.ref()
      return call.send(this.#socket!)
    }
    try {
      this.#connect()
    } catch (error) {
      this.end({ error })
    }
  }

  #connect(): void {
    const { connectTimeout, keepAliveDelay, origin, tls } = this.#pool.options
    const host = bare(origin.hostname)
    const isSecure = origin.protocol === "https:"
    const options = {
      host,
      port: Number(origin.port || (isSecure ? 443 : 80)),
      onread: { buffer: () => this.#buffer, callback: this.#took }
    }
    const { session } = this.#pool
    this.#socket = isSecure
      ? Tls.connect({
        ...options,
        secureContext: this.#pool.secureContext,
        ...(session === undefined ? {} : { session }),
        servername: tls.servername ?? (Net.isIP(host) === 0 ? host : ""),
        rejectUnauthorized: tls.rejectUnauthorized,
        ALPNProtocols: ["http/1.1"]
      } as Tls.ConnectionOptions)
      : Net.connect(options)
    if (connectTimeout > 0) {
      const late = () => this.end({ error: coded(`no connection within ${shown(connectTimeout)}`, "ETIMEDOUT") })
      this.#timer = setTimeout(late, connectTimeout)
    }
    this.#socket
      .setNoDelay(true)
      .setKeepAlive(true, keepAliveDelay)
      .on("session", (session: Buffer) => {
        this.#pool.session = session
      })
      .on(isSecure ? "secureConnect" : "connect", () => {
        clearTimeout(this.#timer)
        this.#isReady = true
        this.#call?.send(this.#socket!)
      })
      .on("error", (error) => this.end({ error }))
      .on("end", () => this.#closed())
      .on("close", () => this.#closed())
  }

  /** Handles received bytes. Returns whether to read on. */
  readonly #took = (count: number, buffer: Uint8Array): boolean => {
    if (this.#isOver) return false
    const call = this.#call
    if (call === undefined) {
      this.end({})
      return false
    }
    if (count === this.#buffer.length && count < defaults.largestRead) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.min(count * 4, defaults.largestRead))
    }
    const more = call.take(Buffer.from(buffer.buffer, buffer.byteOffset, count))
    // Bytes in flight may still arrive while the socket is paused.
    if (more) this.resume()
    else this.#isPaused = true
    return more
  }

  /** Resumes reading. */
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket?.resume()
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /**
   * Its request is over, and the connection can carry another. `keptFor`: how long the server keeps it idle, if known.
   */
  release(keptFor: number | undefined): void {
    const socket = this.#socket!
    const { idleTimeout } = this.#pool.options
    const millis = Math.min(idleTimeout || Infinity, (keptFor ?? Infinity) - defaults.margin)
    if (this.#isOver || socket.writableLength > 0 || millis <= 0) return this.end({})
    this.#call = undefined
    if (millis <= defaults.longestTimer) this.#idle(millis)
    socket.unref()
    this.#pool.release(this)
  }

  #idle(millis: number): void {
    if (this.#idling?.millis === millis) return void this.#idling.timer.refresh()
    clearTimeout(this.#idling?.timer)
    const timer = setTimeout(() => {
      if (this.#call === undefined) this.end({})
    }, millis).unref()
    this.#idling = { millis, timer }
  }

  /** The server has closed its side. */
  #closed(): void {
    if (this.#isOver) return
    const fault = this.#call?.fault()
    this.end(fault === undefined ? {} : { error: fault })
  }

  /** Closes the connection and ends its request. */
  end(how: Ending): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#idling?.timer)
    this.#socket?.destroy()
    this.#pool.forget(this)
    const call = this.#call
    this.#call = undefined
    // First, as the next request may follow at once. TCP does not notice while they are idle.
    if (call?.isOverdue === true) this.#pool.endIdle()
    call?.end(how)
  }
}

/** A request and its response. */
class Call implements Body {
  readonly #options: Options
  readonly #listener: Listener
  readonly #head: string
  readonly #body: string | undefined
  readonly #permit: Outgoing["permit"]
  readonly #response: HttpResponse
  connection: Connection | undefined
  #isAnswered = false
  /** When it was sent, by a monotonic clock. */
  #sentAt: number | undefined
  #timer: NodeJS.Timeout | undefined
  #sink: Sink | undefined
  /** What arrived before the body had a reader, and how it ended. */
  #early: Buffer | undefined
  #ending: Ending | undefined

  constructor(options: Options, outgoing: Outgoing, listener: Listener) {
    this.#options = options
    this.#listener = listener
    this.#body = outgoing.body
    this.#permit = outgoing.permit
    this.#head = headOf(options.origin.host, outgoing)
    this.#response = new HttpResponse(outgoing.method)
  }

  send(socket: Net.Socket): void {
    if (this.#permit?.() === false) return this.connection!.end({ error: unpermitted })
    this.#listener.sent?.()
    this.#sentAt = monotonicMillis(clock)
    const body = this.#body ?? ""
    // A single write if one encoding fits both: a body with as many bytes as characters is ASCII.
    if (Buffer.byteLength(body) === body.length) socket.write(this.#head + body, "latin1")
    else {
      socket.cork()
      socket.write(this.#head, "latin1")
      socket.write(body, "utf8")
      socket.uncork()
    }
    this.#wait(this.#options.headersTimeout)
  }

  #wait(millis: number): void {
    clearTimeout(this.#timer)
    this.#timer = millis === 0 ? undefined : setTimeout(() => {
      // While the reader has paused, silence is not the server's fault.
      if (this.connection!.isPaused) return void this.#wait(millis)
      const what = this.#isAnswered ? "nothing further of the answer" : "no answer"
      this.connection!.end({ error: coded(`${what} within ${shown(millis)}`, "TIMEOUT") })
    }, millis)
  }

  take(bytes: Buffer): boolean {
    const response = this.#response
    let chunk: Buffer
    try {
      chunk = response.read(bytes)
    } catch (error) {
      this.connection!.end({ error })
      return false
    }
    if (!this.#isAnswered && response.head !== undefined) {
      this.#isAnswered = true
      if (!response.isDone) this.#wait(this.#options.bodyTimeout)
      this.#listener.answered(response.head, this)
      if (this.#ending !== undefined) return false
    } else this.#timer?.refresh()
    const more = chunk.length === 0 ? this.#sink !== undefined || response.head === undefined : this.#give(chunk)
    if (!response.isDone) return more
    const connection = this.connection!
    // Release the connection first: a caller that learns of the end may send the next request at once.
    if (response.isReusable) connection.release(keptFor(response.head!.headers["keep-alive"]))
    this.end({})
    if (!response.isReusable) connection.end({})
    return true
  }

  #give(chunk: Buffer): boolean {
    if (this.#sink !== undefined) return this.#sink.bytes(chunk)
    this.#early = this.#early === undefined ? Buffer.from(chunk) : Buffer.concat([this.#early, chunk])
    return false
  }

  read(sink: Sink): void {
    this.#sink = sink
    const early = this.#early
    this.#early = undefined
    const more = early === undefined || sink.bytes(early)
    if (this.#ending !== undefined) sink.end(this.#ending)
    else if (more) this.resume()
  }

  resume(): void {
    if (this.#ending === undefined) this.connection!.resume()
  }

  /** Whether it has waited so long for its answer that the other end may be gone. */
  get isOverdue(): boolean {
    return !this.#isAnswered && this.#sentAt !== undefined && monotonicMillis(clock) - this.#sentAt >= defaults.doubt
  }

  /** What is missing when the server has closed the connection. */
  fault(): unknown {
    try {
      this.#response.end()
      return undefined
    } catch (error) {
      return error
    }
  }

  abort(): void {
    if (this.#ending === undefined) this.connection!.end({ error: aborted })
  }

  end(how: Ending): void {
    if (this.#ending !== undefined) return
    this.#ending = how
    clearTimeout(this.#timer)
    if (!this.#isAnswered) this.#listener.failed(how.error)
    this.#sink?.end(how)
  }
}

const shown = (millis: number): string => Duration.format(Duration.millis(millis))

/** How long a server keeps an idle connection, in milliseconds, if it tells. */
const keptFor = (header: string | Array<string> | undefined): number | undefined => {
  const seconds = /(?:^|[,\s])timeout=(\d+)/i.exec(String(header ?? ""))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code })

/** An IPv6 address without its brackets. */
const bare = (hostname: string): string => hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Request line and headers. Throws if a value could break out of its place. */
const headOf = (host: string, { body, headers, method, path }: Outgoing): string => {
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    throw coded("the path of the request has characters that are not allowed in a path", "ERR_UNESCAPED_CHARACTERS")
  }
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!token.test(name)) throw coded("the request has a header with an invalid name", "ERR_INVALID_HTTP_TOKEN")
    for (const one of typeof value === "string" ? [value] : value) {
      if (!text.test(one)) {
        throw coded(
          `the value of the request's header ${name} has characters that are not allowed in a header`,
          "ERR_INVALID_CHAR"
        )
      }
      head += `${name}: ${one}\r\n`
    }
  }
  if (body !== undefined || (method !== "GET" && method !== "HEAD")) {
    head += `content-length: ${body === undefined ? 0 : Buffer.byteLength(body)}\r\n`
  }
  return `${head}\r\n`
}
