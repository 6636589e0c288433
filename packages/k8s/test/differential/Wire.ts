/**
 * `Wire`: requests to a server over connections that stay open.
 *
 * As thin as can be, because half a million requests go through it: HTTP/1.1 with keep-alive, JSON parsed where the
 * answer says it is JSON. A watch is read until the server ends it.
 */
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import * as Https from "node:https"
import type { Answer, Wire } from "./Step.ts"

/** How to reach a server as its administrator. */
export interface Access {
  readonly url: string
  readonly token: string
  /** PEM; `""` for plain HTTP. */
  readonly ca: string
}

export type Send = (request: Wire) => Effect.Effect<Answer>

/** No request of a sequence takes longer, unless something is wrong. */
const timeoutMillis = 60_000

/** What is left of a request that made the server panic. */
const hungUp: Answer = { status: 0, headers: {}, body: "the server hung up" }

const headersOf = (message: Http.IncomingMessage): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return headers
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const answerOf = (request: Wire, message: Http.IncomingMessage, text: string): Answer => {
  const status = message.statusCode ?? 0
  const headers = headersOf(message)
  if (request.watch && status === 200) {
    const events = text.split("\n").filter((line) => line !== "").map(parse)
    return { status, headers, body: undefined, events }
  }
  const json = (headers["content-type"] ?? "").includes("json")
  return { status, headers, body: text === "" ? undefined : json ? parse(text) : text }
}

/** Sends requests to a server, over as many connections as are needed at once. A server that does not answer is fatal. */
export const make = ({ ca, token, url }: Access): Send => {
  const secure = url.startsWith("https:")
  const options = { keepAlive: true, maxSockets: 512, scheduling: "lifo" as const }
  const agent = secure ? new Https.Agent({ ...options, ca }) : new Http.Agent(options)
  const { hostname, port } = new URL(url)
  const send: Send = (wire) =>
    Effect.callback<Answer>((resume) => {
      const body = wire.body === undefined ? undefined : Buffer.from(wire.body)
      const begun = performance.now()
      const request = (secure ? Https : Http).request({
        agent,
        hostname,
        port,
        method: wire.method,
        path: wire.path,
        timeout: timeoutMillis,
        headers: {
          authorization: `Bearer ${token}`,
          "user-agent": "differential/1",
          ...wire.headers,
          ...(body === undefined ? {} : { "content-length": body.length })
        }
      }, (message) => {
        const chunks: Array<Buffer> = []
        message.on("data", (chunk: Buffer) => chunks.push(chunk))
        message.on("end", () => resume(Effect.succeed(answerOf(wire, message, Buffer.concat(chunks).toString("utf8")))))
        message.on("error", (error) => resume(Effect.die(error)))
      })
      request.on("timeout", () => request.destroy(new Error(`no answer: ${wire.method} ${url}${wire.path}`)))
      request.on("error", (error: NodeJS.ErrnoException) =>
        // An idle connection that was closed just as it was taken is tried again; a fresh one is closed by a panic.
        resume(
          error.code === "ECONNRESET"
            ? performance.now() - begun < 50 && request.reusedSocket ? send(wire) : Effect.succeed(hungUp)
            : Effect.die(new Error(`${wire.method} ${url}${wire.path}`, { cause: error }))
        ))
      request.end(body)
      return Effect.sync(() => request.destroy())
    })
  return send
}
