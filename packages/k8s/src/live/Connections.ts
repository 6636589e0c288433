/**
 * `Connections`: requests to one server over HTTP/1.1, on connections that are kept and used again.
 *
 * A request goes out on an idle connection or on a new one: how many there are at a time is for those who ask to bound. It
 * guarantees:
 * - an answer is read into memory that is used again for the next read, and handed over in the pieces that a read of the
 *   socket brought (see `HttpResponse`); nothing is read while nobody wants more;
 * - a connection is used again only after an answer that was whole, framed and asked to keep it; one that its server has
 *   closed, or on which something comes that nobody asked for, is not;
 * - a request that was begun to be written is never sent again here: who asked is told that it may have arrived;
 * - each phase has an end: connecting, waiting for the answer, and each piece of its body while somebody wants it;
 * - headers hold what they were given, or the request is refused before a byte of it is sent; no failure quotes one.
 *
 * Why not undici: it copies an answer into WebAssembly and tells of each HTTP chunk by itself, of which an API server makes
 * one for each event. Reading a list so takes ten times the CPU of reading the socket, a watch four times.
 */
import * as Duration from "effect/Duration"
import { Buffer } from "node:buffer"
import * as Net from "node:net"
import * as Tls from "node:tls"
import type { Body, Ending, Sink } from "./Body.ts"
import { type Head, HttpResponse, text, token } from "./HttpResponse.ts"

/** Figures of a connection; sizes in bytes. */
export const defaults = {
  /** Of one read of the socket. A connection begins with the smallest, and has more once a read fills it. */
  smallestRead: 4 * 1024,
  largestRead: 64 * 1024,
  /** How long before its server closes it an idle connection is not used any more, in milliseconds. */
  margin: 1_000,
  /** The longest that node's timers wait, in milliseconds: of what is longer they make a single one. */
  longestTimer: 2 ** 31 - 1
} as const

/** A request. Only GET and HEAD go without a length of their body. */
export interface Outgoing {
  readonly method: string
  /** With its query, percent-encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body?: string | undefined
  /** Whether it may still go out: asked right before. */
  readonly permit?: (() => boolean) | undefined
}

/** Who waits for an answer: told of exactly one of `answered` and `failed`, and of `sent` before, if that is so. */
export interface Listener {
  /** From now on the server may see it. */
  readonly sent?: (() => void) | undefined
  /** The answer has begun; no more of it is read than the head until somebody reads its body. */
  readonly answered: (head: Head, body: Body) => void
  /** There is none. */
  readonly failed: (cause: unknown) => void
}

export interface Connections {
  /** Begins a request. What it answers ends it, unless it is over. */
  readonly request: (outgoing: Outgoing, listener: Listener) => () => void
  /** Takes no more requests; resolves when the last is over. */
  readonly close: () => Promise<void>
  /** Ends everything. */
  readonly destroy: () => Promise<void>
}

/** What a request ends with that somebody gave up. */
export const aborted = new Error("the request was interrupted")

/** What one ends with that may not go out any more. */
export const unpermitted: Error = Object.assign(new Error("the request may not go out any more"), {
  code: "ERR_NOT_PERMITTED"
})

/** Where to, and with what. Times in milliseconds; none where it is 0. */
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
  /** The last used at the end: the others may go. */
  readonly #idle: Array<Connection> = []
  readonly #all = new Set<Connection>()
  #isClosed = false
  #emptied = () => {}
  #context: Tls.SecureContext | undefined
  /** What TLS can begin with where it left off. */
  session: Buffer | undefined

  constructor(options: Options) {
    this.options = options
  }

  /** The same for all: making one reads the certificates. */
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

  /** A connection that could be used again. */
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

  close(): Promise<void> {
    this.#isClosed = true
    while (this.#idle.length > 0) this.#idle.at(-1)!.end({})
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

/** One socket, and what it carries at the moment. */
class Connection {
  readonly #pool: Pool
  #socket: Net.Socket | undefined
  #isReady = false
  #isOver = false
  #isPaused = false
  #call: Call | undefined
  #buffer = Buffer.allocUnsafeSlow(defaults.smallestRead)
  #timer: NodeJS.Timeout | undefined
  /** Ends it if it is idle then; set anew each time it becomes idle. */
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

  /** Bytes that came. Answers whether to go on reading. */
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
    // Of what was on its way some may come while it is paused.
    if (more) this.resume()
    else this.#isPaused = true
    return more
  }

  /** Goes on reading. */
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket?.resume()
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** What it carried is over, and the connection can carry more; `keptFor` is how long its server keeps it, if it says. */
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

  /** The server has no more to say. */
  #closed(): void {
    if (this.#isOver) return
    const fault = this.#call?.fault()
    this.end(fault === undefined ? {} : { error: fault })
  }

  /** Ends it, and what it carries. */
  end(how: Ending): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#idling?.timer)
    this.#socket?.destroy()
    this.#pool.forget(this)
    const call = this.#call
    this.#call = undefined
    call?.end(how)
  }
}

/** One request and its answer. */
class Call implements Body {
  readonly #options: Options
  readonly #listener: Listener
  readonly #head: string
  readonly #body: string | undefined
  readonly #permit: Outgoing["permit"]
  readonly #response: HttpResponse
  connection: Connection | undefined
  #isAnswered = false
  #timer: NodeJS.Timeout | undefined
  #sink: Sink | undefined
  /** What came before somebody read, and how it ended. */
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
    const body = this.#body ?? ""
    // One write where one encoding does for both: what has as many bytes as characters is ASCII.
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
      // Of a reader that wants no more the server is not at fault.
      if (this.connection!.isPaused) return void this.#wait(millis)
      const what = this.#isAnswered ? "nothing more of the answer" : "no answer"
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
    // Whoever hears of the end may ask for the next already.
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

  /** What is missing where the server has closed the connection. */
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

/** How long a server keeps an idle connection, in milliseconds, where it says so. */
const keptFor = (header: string | Array<string> | undefined): number | undefined => {
  const seconds = /(?:^|[,\s])timeout=(\d+)/i.exec(String(header ?? ""))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code })

/** An IPv6 address without its brackets. */
const bare = (hostname: string): string => hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Request line and headers. Throws where something would become more than it is. */
const headOf = (host: string, { body, headers, method, path }: Outgoing): string => {
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    throw coded("the path of the request has characters that no path has", "ERR_UNESCAPED_CHARACTERS")
  }
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  for (const name in headers) {
    const value = headers[name]!
    if (!token.test(name)) throw coded("the request has a header whose name is none", "ERR_INVALID_HTTP_TOKEN")
    for (const one of typeof value === "string" ? [value] : value) {
      if (!text.test(one)) {
        throw coded(`the request's header ${name} has characters that no header has`, "ERR_INVALID_CHAR")
      }
      head += `${name}: ${one}\r\n`
    }
  }
  if (body !== undefined || (method !== "GET" && method !== "HEAD")) {
    head += `content-length: ${body === undefined ? 0 : Buffer.byteLength(body)}\r\n`
  }
  return `${head}\r\n`
}
