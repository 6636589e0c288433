/**
 * `Proxied`: requests to one server through an HTTP or SOCKS proxy, over undici.
 *
 * Loaded only if there is a proxy.
 */
import Undici, { type Dispatcher } from "@effect/platform-node/Undici"
import type { Buffer } from "node:buffer"
import type { Body, Ending, Sink } from "./Body.ts"
import { aborted, type Connections, type Listener, type Options, type Outgoing, unpermitted } from "./Connections.ts"

/** Through an HTTP or SOCKS proxy, with at most `connections` connections; `null` for any number. */
export const make = (proxy: string, connections: number | null, options: Options): Connections => {
  const { bodyTimeout, connectTimeout, headersTimeout, idleTimeout, keepAliveDelay, origin, tls } = options
  const { servername, ...material } = tls
  const pool = {
    allowH2: false,
    connections,
    bodyTimeout,
    headersTimeout,
    keepAliveTimeout: idleTimeout,
    requestTls: {
      allowH2: false,
      timeout: connectTimeout,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveDelay,
      ...material,
      ...(servername === undefined ? {} : { servername })
    } as Undici.buildConnector.BuildOptions
  }
  return over(
    proxy.startsWith("socks")
      ? new Undici.Socks5ProxyAgent(proxy, pool)
      : new Undici.ProxyAgent({ ...pool, uri: proxy }),
    origin.origin
  )
}

/** Over any dispatcher. */
export const over = (dispatcher: Dispatcher, origin: string): Connections => ({
  request: ({ body, headers, method, path, permit }, listener) => {
    const dispatched = new Dispatched(listener, permit)
    try {
      const content = body === undefined ? {} : { body }
      dispatcher.dispatch({ origin, path, method, headers: changeable(headers), ...content }, dispatched)
    } catch (cause) {
      dispatched.onResponseError(undefined, cause)
    }
    return () => dispatched.abort()
  },
  close: () => dispatcher.close(),
  destroy: () => dispatcher.destroy()
})

/** Mutable, as undici's types require. */
const changeable = (headers: Outgoing["headers"]): Record<string, string | Array<string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]] as const)
  )

/** The handler that undici calls. */
class Dispatched implements Dispatcher.DispatchHandler, Body {
  readonly #listener: Listener
  readonly #permit: Outgoing["permit"]
  #controller: Dispatcher.DispatchController | undefined
  #isAborted = false
  #isAnswered = false
  #sink: Sink | undefined
  /** What arrived before the body had a reader, and how it ended. */
  readonly #early: Array<Buffer> = []
  #ending: Ending | undefined

  constructor(listener: Listener, permit: Outgoing["permit"]) {
    this.#listener = listener
    this.#permit = permit
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // A request that has not started yet is aborted as soon as it does.
    if (this.#isAborted) controller.abort(aborted)
    else if (this.#permit?.() === false) controller.abort(unpermitted)
    else this.#listener.sent?.()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Dispatcher.ResponseData["headers"]
  ): void {
    // Interim responses (1xx) are skipped.
    if (status < 200) return
    this.#isAnswered = true
    this.#listener.answered({ status, headers: headers as Record<string, string | Array<string>> }, this)
    if (this.#sink === undefined) controller.pause()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#sink === undefined) this.#early.push(chunk)
    else if (!this.#sink.bytes(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    this.#end({})
  }

  onResponseError(_: unknown, error: unknown): void {
    this.#end({ error })
  }

  read(sink: Sink): void {
    this.#sink = sink
    let more = true
    for (const chunk of this.#early.splice(0)) more = sink.bytes(chunk)
    if (this.#ending !== undefined) sink.end(this.#ending)
    else if (more) this.#controller?.resume()
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(): void {
    if (this.#ending !== undefined || this.#isAborted) return
    this.#isAborted = true
    this.#controller?.abort(aborted)
  }

  #end(how: Ending): void {
    if (this.#ending !== undefined) return
    this.#ending = how
    if (!this.#isAnswered) this.#listener.failed(how.error)
    this.#sink?.end(how)
  }
}
