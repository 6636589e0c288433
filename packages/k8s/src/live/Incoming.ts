/**
 * `Incoming`: an answer whose body is read as it comes.
 *
 * The socket is read only while less than `buffer` bytes wait for the reader, so that a slow one slows the server down
 * instead of filling the memory. Interrupting the request aborts it; so does closing the scope, body and all.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Buffer } from "node:buffer"
import type { Body } from "../WatchBody.ts"

export const defaults = {
  /** Bytes that may wait for the reader; what one read of the socket brought may come on top. */
  buffer: 256 * 1024
} as const

/** An answer that has begun. */
export interface Incoming {
  readonly status: number
  readonly headers: Dispatcher.ResponseData["headers"]
  /** For one reader, once. */
  readonly body: Body
  /** All of it, for a body that is short. */
  readonly text: Effect.Effect<string, unknown>
}

/** Sends a request; what goes wrong is as the dispatcher says it. */
export const open = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions
): Effect.Effect<Incoming, unknown, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(Effect.sync(() => new Arriving()), (arriving) => Effect.sync(() => arriving.abort())),
    (arriving) =>
      Effect.callback<Incoming, unknown>((resume) => {
        arriving.answered = (exit) => resume(exit)
        try {
          dispatcher.dispatch(request, arriving)
        } catch (cause) {
          resume(Effect.fail(cause))
        }
        return Effect.sync(() => arriving.abort())
      })
  )

type Listener = (error?: unknown) => void

/** What undici calls, and what `WatchBody` reads. */
class Arriving implements Dispatcher.DispatchHandler, Body {
  answered: (exit: Effect.Effect<Incoming, unknown>) => void = () => {}
  #controller: Dispatcher.DispatchController | undefined
  #aborted = false
  #chunks: Array<Buffer> = []
  /** The next chunk to read. */
  #next = 0
  #bytes = 0
  readonly #listeners = new Map<string, Array<Listener>>()
  #over: readonly ["end"] | readonly ["error", unknown] | undefined

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#aborted) controller.abort(closed)
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Dispatcher.ResponseData["headers"]
  ): void {
    // Of several answers (1xx) the last one counts.
    if (status < 200) return
    this.answered(Effect.succeed({ status, headers, body: this, text: this.#text }))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const waiting = this.#bytes > 0
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes >= defaults.buffer) controller.pause()
    if (!waiting) this.#emit("readable")
  }

  onResponseEnd(): void {
    this.#finish(["end"])
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    this.answered(Effect.fail(cause))
    this.#finish(["error", cause])
  }

  /** The next chunk, nothing if none is there. */
  read(): Buffer | null {
    const chunk = this.#chunks[this.#next]
    if (chunk === undefined) return null
    this.#next += 1
    this.#bytes -= chunk.length
    if (this.#next === this.#chunks.length) {
      this.#chunks = []
      this.#next = 0
      this.#controller?.resume()
    }
    return chunk
  }

  more(): boolean {
    return this.#next < this.#chunks.length
  }

  on(event: "readable" | "end" | "close" | "error", listener: Listener): void {
    const all = this.#listeners.get(event)
    if (all === undefined) this.#listeners.set(event, [listener])
    else all.push(listener)
    if (event === "readable" && this.#bytes > 0) listener()
    if (this.#over?.[0] === event) listener(this.#over[1])
  }

  abort(): void {
    if (this.#over !== undefined || this.#aborted) return
    this.#aborted = true
    this.#controller?.abort(closed)
  }

  #finish(how: readonly ["end"] | readonly ["error", unknown]): void {
    if (this.#over !== undefined) return
    this.#over = how
    this.#emit(how[0], how[1])
  }

  #emit(event: string, error?: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(error)
  }

  readonly #text: Effect.Effect<string, unknown> = Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    const take = () => {
      for (let chunk = this.read(); chunk !== null; chunk = this.read()) chunks.push(chunk)
    }
    this.on("readable", take)
    this.on("error", (cause) => resume(Effect.fail(cause)))
    this.on("end", () => {
      take()
      resume(Effect.succeed(Buffer.concat(chunks).toString("utf8")))
    })
  })
}

const closed = new Error("the request was interrupted")
