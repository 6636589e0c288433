/**
 * The body of one answer on its way to the client, and everything that can happen to it there.
 *
 * Pieces of the body come in as the server sent them and go out as chunks of HTTP, no faster than the socket takes them
 * (and the server is read no faster than that). A fault is inflicted at any time; it strikes after a number of bytes or
 * at the end of the body.
 */
import type { Chance } from "../differential/Chance.ts"
import type * as Net from "node:net"

/** What strikes: `raw` is the connection below TLS. */
export type Strike = "cut" | "stall" | "corrupt" | "garble"

const newline = 0x0a
const lastChunk = Buffer.from("0\r\n\r\n")
/** A byte that neither JSON nor a frame of HTTP may hold. */
const poison = 0x01
/** Above it the server is read no further. */
const highWater = 256 * 1024
/** So many pieces, each of which takes a turn of the event loop: a watch would never catch up in a busy process. */
const mostPieces = 1_000

const chunk = (bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])

const bookmark = Buffer.from(`{"type":"BOOKMARK"`)

export interface Options {
  /** The connection to the client, through TLS and below it. */
  readonly socket: Net.Socket
  readonly raw: Net.Socket
  /** Stops and resumes reading from the server. */
  readonly pause: (paused: boolean) => void
  /** Called once when nothing more will be sent; `alive` if the connection can be used again. */
  readonly over: (alive: boolean) => void
  /** Called when a fault has struck. */
  readonly struck: () => void
}

export class Wire {
  readonly #options: Options
  readonly #queue: Array<Buffer> = []
  #queued = 0
  #busy = false
  #ended = false
  #over = false
  /** Whether what was sent so far ends with a line. */
  #atLine = true
  #strike: { readonly what: Strike; left: number } | undefined
  #stalled = false
  /** Sizes of pieces, and pauses between them. */
  #pieces: { readonly random: Chance; readonly max: number; readonly pause: number; left: number } | undefined
  /** What to send in place of the rest, from the next line on. */
  #conclusion: Buffer | undefined
  #dropsBookmarks = false
  #half = Buffer.alloc(0)

  constructor(options: Options) {
    this.#options = options
  }

  /** Bytes of the body. */
  write(bytes: Buffer): void {
    if (this.#over || this.#ended) return
    for (const piece of this.#filter(bytes)) this.#push(piece)
    void this.#pump()
  }

  /** The end of the body. */
  end(): void {
    this.#ended = true
    void this.#pump()
  }

  /** The server cut the connection. */
  abort(): void {
    if (this.#over) return
    this.#finish(false)
    this.#options.socket.destroy()
  }

  strike(what: Strike, after: number): void {
    this.#strike = { what, left: after }
    void this.#pump()
  }

  /** Sends what comes next in pieces of at most `max` bytes with pauses between them, in milliseconds. */
  break(random: Chance, max: number, pause: number): void {
    this.#pieces = { random, max, pause, left: mostPieces }
    this.#options.struck()
  }

  /** Ends the body at the end of the line that is under way, with another line if there is one to send. */
  conclude(line = ""): void {
    this.#conclusion = Buffer.from(line)
    void this.#pump()
  }

  /** Lets no bookmark through from now on. */
  dropBookmarks(): void {
    this.#dropsBookmarks = true
  }

  #push(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#queue.push(bytes)
    this.#queued += bytes.length
    if (this.#queued > highWater) this.#options.pause(true)
  }

  /** Whole lines, without bookmarks, once those are not wanted. Begins with whatever line is under way. */
  #filter(bytes: Buffer): ReadonlyArray<Buffer> {
    if (!this.#dropsBookmarks) return [bytes]
    const all = Buffer.concat([this.#half, bytes])
    const lines: Array<Buffer> = []
    let from = 0
    for (let to = all.indexOf(newline); to >= 0; to = all.indexOf(newline, from)) {
      const line = all.subarray(from, to + 1)
      if (line.subarray(0, bookmark.length).equals(bookmark)) this.#options.struck()
      else lines.push(line)
      from = to + 1
    }
    this.#half = all.subarray(from)
    return lines
  }

  #take(): Buffer {
    const first = this.#queue[0]!
    const most = Math.min(
      first.length,
      this.#strike?.left || Infinity,
      this.#pieces === undefined ? Infinity : 1 + this.#pieces.random.int(this.#pieces.max),
      this.#conclusion === undefined || this.#atLine ? Infinity : (first.indexOf(newline) + 1) || Infinity
    )
    if (most === first.length) this.#queue.shift()
    else this.#queue[0] = first.subarray(most)
    this.#queued -= most
    return first.subarray(0, most)
  }

  async #pump(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    const { pause, socket } = this.#options
    while (!this.#over && !this.#stalled) {
      if (this.#strike?.left === 0 || (this.#strike !== undefined && this.#done)) {
        this.#strikeNow(this.#strike)
        continue
      }
      if (this.#conclusion !== undefined && this.#atLine) {
        if (this.#conclusion.length > 0) socket.write(chunk(this.#conclusion))
        socket.write(lastChunk)
        this.#options.struck()
        this.#finish(true)
        break
      }
      if (this.#done) {
        socket.write(lastChunk)
        this.#finish(true)
        break
      }
      if (this.#queue.length === 0) break
      const piece = this.#take()
      if (this.#strike !== undefined) this.#strike.left -= piece.length
      this.#atLine = piece[piece.length - 1] === newline
      if (!socket.write(chunk(piece))) await drained(socket)
      if (this.#queued === 0) pause(false)
      if (this.#pieces !== undefined) {
        await rest(this.#pieces.pause)
        this.#pieces = this.#pieces.left-- > 1 ? this.#pieces : undefined
      }
      if (socket.destroyed) this.#finish(false)
    }
    this.#busy = false
  }

  get #done(): boolean {
    return this.#ended && this.#queue.length === 0
  }

  #strikeNow({ what }: { readonly what: Strike }): void {
    const { raw, socket, struck } = this.#options
    this.#strike = undefined
    struck()
    switch (what) {
      case "cut":
        this.#finish(false)
        socket.destroySoon()
        break
      case "stall":
        this.#stalled = true
        break
      case "corrupt":
        // Inside a line, in the place of its end, or where a frame has to begin.
        socket.write(chunk(Buffer.from([poison, newline])))
        this.#finish(false)
        socket.end()
        break
      case "garble":
        // The client hangs up over it, unless it waits for the rest of a record.
        raw.write(Buffer.alloc(64, poison))
        this.#finish(false)
        setTimeout(() => socket.destroy(), 50)
        break
    }
  }

  #finish(alive: boolean): void {
    if (this.#over) return
    this.#over = true
    this.#queue.length = 0
    this.#options.over(alive)
  }
}

const drained = (socket: Net.Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      socket.off("drain", done)
      socket.off("close", done)
      resolve()
    }
    socket.on("drain", done)
    socket.on("close", done)
  })

/** Every piece goes out by itself. */
const rest = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    if (millis === 0) setImmediate(resolve)
    else setTimeout(resolve, millis)
  })
