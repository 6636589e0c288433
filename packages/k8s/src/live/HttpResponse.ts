/**
 * `HttpResponse`: parses the response to one HTTP/1.1 request from the bytes of its connection.
 *
 * A watch is one response that lasts for minutes, and an API server sends each event in a chunk of its own. A general
 * HTTP parser reports every chunk, which costs more than reading it. This one passes on what each read of the socket
 * brought in one piece, closing the gaps between chunks in place. It guarantees:
 * - headers, body and errors do not depend on how the network split the bytes;
 * - anything that is not a response by RFC 9112, or whose length is ambiguous, is an error: it is never read as
 *   something else;
 * - memory is bounded: by `maxHeadBytes` for the headers; the body is not kept.
 *
 * Interim responses (1xx) are skipped. Trailers and chunk extensions are discarded. Bytes after the response are not
 * parsed but noticed, since they were not requested.
 *
 * Source: RFC 9112 (HTTP/1.1), sections 4 to 8.
 */
import { Buffer } from "node:buffer"

/** Limits, in bytes. */
export const defaults = {
  /** Status line and headers together; as in Node and undici. */
  maxHeadBytes: 16 * 1024,
  /** The line before a chunk; also all trailers together. */
  maxLineBytes: 16 * 1024
} as const

export interface Head {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | Array<string>>>
}

/** What is expected next on the connection. */
type State =
  | "Head"
  /** A known number of bytes of the body or of a chunk. */
  | "Length"
  | "Chunk"
  /** The line with the size of a chunk: digits, then perhaps blanks and a semicolon with extensions. */
  | "Size"
  | "SizeOver"
  | "SizeBlank"
  | "Extension"
  | "SizeEnd"
  /** The line end after a chunk. */
  | "ChunkCr"
  | "ChunkLf"
  /** Lines after the last chunk, up to an empty one. */
  | "Trailer"
  | "TrailerLine"
  | "TrailerEnd"
  /** Everything until the connection is closed. */
  | "UntilClose"
  | "Done"

const [cr, lf, tab, space, semicolon] = [0x0d, 0x0a, 0x09, 0x20, 0x3b]
const headEnd = Buffer.from("\r\n\r\n")
const nothing = Buffer.alloc(0)

/** The response is invalid or incomplete. */
export class HttpResponseError extends Error {
  override readonly name = "HttpResponseError"
  /** Like the code of a system error; an incomplete response has that of a connection reset. */
  readonly code: string

  constructor(message: string, code = "EPROTO") {
    super(message)
    this.code = code
  }
}

export class HttpResponse {
  #state: State = "Head"
  /** The headers so far. */
  #begun: Buffer = nothing
  #head: Head | undefined
  /** The remaining bytes of the body or chunk. */
  #left = 0
  /** The bytes so far of a line, or of the trailers. */
  #line = 0
  readonly #method: string
  #isPersistent = false
  #hasExcess = false

  /** `method` is that of the request: a response to HEAD has no body. */
  constructor(method = "GET") {
    this.#method = method
  }

  /** Status and headers, once complete. */
  get head(): Head | undefined {
    return this.#head
  }

  /** Whether the response is complete. */
  get isDone(): boolean {
    return this.#state === "Done"
  }

  /** Whether it is complete, and its connection can be reused. */
  get isReusable(): boolean {
    return this.#state === "Done" && this.#isPersistent && !this.#hasExcess
  }

  /**
   * Parses received bytes. Returns the part of the body that they contain, moved together in the same memory, which is
   * overwritten. Throws `HttpResponseError`, after which nothing more can be parsed.
   */
  read(bytes: Buffer): Buffer {
    if (this.#state !== "Head") return this.#body(bytes, 0)
    if (this.#begun.length > 0) bytes = Buffer.concat([this.#begun, bytes])
    let from = 0
    while (this.#state === "Head") {
      const to = bytes.indexOf(headEnd, from)
      if ((to < 0 ? bytes.length : to) - from > defaults.maxHeadBytes) throw tooLong("head", defaults.maxHeadBytes)
      if (to < 0) {
        this.#begun = Buffer.from(bytes.subarray(from))
        return nothing
      }
      this.#begin(parseHead(bytes.toString("latin1", from, to)))
      from = to + headEnd.length
    }
    this.#begun = nothing
    return this.#body(bytes, from)
  }

  /** The connection was closed properly. Throws if the response is incomplete. */
  end(): void {
    if (this.#state === "UntilClose") this.#state = "Done"
    if (this.#state === "Done") return
    const where = this.#head === undefined ? "before it answered" : "in the middle of its answer"
    throw new HttpResponseError(`the server closed the connection ${where}`, "ECONNRESET")
  }

  /** Determines how the body is framed. */
  #begin({ headers, isPersistent, status }: ReturnType<typeof parseHead>): void {
    if (status === 101) throw fault("it switches protocols, which was not requested")
    if (status < 200) return
    this.#head = { status, headers }
    this.#isPersistent = isPersistent
    const [coding, length] = [headers["transfer-encoding"], headers["content-length"]]
    if (status === 204 || status === 304 || this.#method === "HEAD") this.#state = "Done"
    else if (coding !== undefined) {
      if (length !== undefined) throw fault("it has both a Transfer-Encoding and a Content-Length")
      if (typeof coding !== "string" || coding.toLowerCase() !== "chunked") {
        throw fault(`its Transfer-Encoding is ${JSON.stringify(coding)}, not chunked`)
      }
      this.#expectSize()
    } else if (length === undefined) {
      this.#isPersistent = false
      this.#state = "UntilClose"
    } else {
      this.#left = lengthOf(length)
      this.#state = this.#left === 0 ? "Done" : "Length"
    }
  }

  #expectSize(): void {
    this.#state = "Size"
    this.#left = 0
    this.#line = 0
  }

  /** Moves the parts of the body together, to where the first one starts. */
  #body(bytes: Buffer, from: number): Buffer {
    const end = bytes.length
    let at = from
    let to = from
    while (at < end) {
      switch (this.#state) {
        case "Length":
        case "Chunk": {
          const length = Math.min(this.#left, end - at)
          if (to !== at) bytes.copyWithin(to, at, at + length)
          to += length
          at += length
          this.#left -= length
          if (this.#left > 0) break
          this.#state = this.#state === "Chunk" ? "ChunkCr" : "Done"
          break
        }
        case "UntilClose":
          return bytes.subarray(at)
        case "Size": {
          const digit = digitOf(bytes[at]!)
          if (digit >= 0) {
            this.#left = this.#left * 16 + digit
            at += 1
            if (!Number.isSafeInteger(this.#left)) throw fault("it has a chunk whose length is not a number")
            this.#count("line before a chunk")
          } else if (this.#line === 0) throw fault("it has a chunk without a length")
          else this.#state = "SizeOver"
          break
        }
        case "SizeOver":
        case "SizeBlank": {
          const byte = bytes[at]!
          if (byte === semicolon) this.#state = "Extension"
          else if (byte === space || byte === tab) this.#state = "SizeBlank"
          else if (byte === cr && this.#state === "SizeOver") this.#state = "SizeEnd"
          else throw fault("it has a chunk whose length is not a number")
          at += 1
          this.#count("line before a chunk")
          break
        }
        case "Extension":
          if (bytes[at] === cr) this.#state = "SizeEnd"
          at += 1
          this.#count("line before a chunk")
          break
        case "SizeEnd":
          expect(bytes[at], lf)
          at += 1
          this.#line = 0
          this.#state = this.#left === 0 ? "Trailer" : "Chunk"
          break
        case "ChunkCr":
          expect(bytes[at], cr)
          at += 1
          this.#state = "ChunkLf"
          break
        case "ChunkLf":
          expect(bytes[at], lf)
          at += 1
          this.#expectSize()
          break
        case "Trailer":
          this.#state = bytes[at] === cr ? "TrailerEnd" : "TrailerLine"
          at += 1
          this.#count("trailer")
          break
        case "TrailerLine":
          if (bytes[at] === lf) this.#state = "Trailer"
          at += 1
          this.#count("trailer")
          break
        case "TrailerEnd":
          expect(bytes[at], lf)
          at += 1
          this.#state = "Done"
          break
        case "Head":
        case "Done":
          this.#hasExcess = true
          return bytes.subarray(from, to)
      }
    }
    return bytes.subarray(from, to)
  }

  /** Lines that are discarded are limited nevertheless. */
  #count(what: string): void {
    this.#line += 1
    if (this.#line > defaults.maxLineBytes) throw tooLong(what, defaults.maxLineBytes)
  }
}

const fault = (what: string): HttpResponseError => new HttpResponseError(`the answer is not HTTP/1.1: ${what}`)

const tooLong = (what: string, limit: number): HttpResponseError => fault(`its ${what} is longer than ${limit} bytes`)

const expect = (byte: number | undefined, expected: number): void => {
  if (byte !== expected) throw fault("a line end is missing")
}

/** The value of a hexadecimal digit; -1 for anything else. */
const digitOf = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** The content length may be repeated if the values are equal. */
const lengthOf = (header: string | Array<string>): number => {
  if (typeof header === "string" && /^\d{1,15}$/.test(header)) return Number(header)
  const all = (typeof header === "string" ? [header] : header).flatMap((value) => value.split(","))
  const [first = "", ...others] = all.map((value) => value.trim())
  const length = Number(first)
  if (!/^\d+$/.test(first) || !Number.isSafeInteger(length) || others.some((other) => other !== first)) {
    throw fault(`its Content-Length is ${JSON.stringify(header)}`)
  }
  return length
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/

/** The characters of header names and values. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
export const text = /^[\t\x20-\x7e\x80-\xff]*$/

/** Header names in lower case, by their spelling: servers use few. */
const names = new Map<string, string>()
const mostNames = 256

const nameOf = (written: string): string => {
  const known = names.get(written)
  if (known !== undefined) return known
  // A name that every object inherits would not be an own property of the headers.
  if (!token.test(written) || written.toLowerCase() in {}) throw fault("it has a malformed header line")
  const name = written.toLowerCase()
  if (names.size < mostNames) names.set(written, name)
  return name
}

/** Characters that headers must not contain, and incomplete line ends. */
const alien = /[^\t\x20-\x7e\x80-\xff\r\n]|\r(?!\n)|(?<!\r)\n/
const closing = /(?:^|[,\s])close(?:$|[,\s])/i

const parseHead = (head: string): Head & { readonly isPersistent: boolean } => {
  let end = head.indexOf("\r\n")
  const [, minor, status] = statusLine.exec(end < 0 ? head : head.slice(0, end)) ?? []
  // What does not start with a status line may be anything, so it is not quoted.
  if (status === undefined) throw fault("it does not begin with a status line")
  if (alien.test(head)) throw fault("it has a malformed header line")
  const headers: Record<string, string | Array<string>> = {}
  while (end >= 0) {
    const from = end + 2
    end = head.indexOf("\r\n", from)
    const to = end < 0 ? head.length : end
    const colon = head.indexOf(":", from)
    if (colon < 0 || colon > to) throw fault("it has a malformed header line")
    const name = nameOf(head.slice(from, colon))
    const known = headers[name]
    const given = head.slice(colon + 1, to).trim()
    headers[name] = known === undefined ? given : [...(typeof known === "string" ? [known] : known), given]
  }
  const { connection } = headers
  const isPersistent = minor === "1" && (connection === undefined || !closing.test(String(connection)))
  return { status: Number(status), headers, isPersistent }
}
