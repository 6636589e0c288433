/**
 * `Exchange`: one request on the wire, and its whole response.
 *
 * Interruption aborts it on the wire. A failure says whether the request may have reached the server; one of which
 * nothing was written certainly has not. There is a deadline for the whole exchange, because a body that trickles in
 * never exceeds the timeout between two pieces. A compressed response is decompressed if this module requested
 * compression (`unpack`). A caller that requested it with a header of its own gets it unchanged, as from Go's client.
 */
import { Transport } from "@effect-operator/core/KubeError"
import type { Reading, Response } from "@effect-operator/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Buffer } from "node:buffer"
import * as Zlib from "node:zlib"
import * as Body from "./Body.ts"
import { type Connections, defaults as timers, type Outgoing } from "./Connections.ts"
import * as Documents from "./Documents.ts"
import type { Head } from "./HttpResponse.ts"
import { tlsProblem } from "./tlsProblem.ts"

/** Defaults, unless the live client's options override them. */
export const defaults = {
  /** From sending the request to the end of its response; an API server itself gives up after a minute. */
  requestTimeout: "2 minutes"
} as const

/** There is no response, or not a complete one. */
export interface Failure {
  readonly _tag: "Failure"
  /** Whether the server may have seen the request. */
  readonly sent: boolean
  /** The code of the system, TLS or undici; `TIMEOUT` for the deadline. */
  readonly code: string | undefined
  readonly error: Transport
}

/** A response with the size of its body on the wire. */
export interface Answer extends Response {
  readonly bytes: number
}

export interface Options {
  /** In milliseconds of real time; no limit if it is 0, or longer than timers can wait. */
  readonly timeout: number
  /** Whether this module requested compression. */
  readonly unpack: boolean
  /** What the reader of a list does not need. */
  readonly reading?: Reading | undefined
  /** Describes why there is no response: see `failure`. */
  readonly describe: (cause: unknown) => Transport
}

/** The outcome: an effect that completes synchronously, unless the response must be decompressed or is a list. */
export type Outcome = Effect.Effect<Answer, Failure>

/**
 * Starts a request, and reports its outcome once, possibly synchronously. Calling the returned function aborts it; then
 * nothing is reported.
 */
export const begin = (
  connections: Connections,
  outgoing: Outgoing,
  options: Options,
  done: (outcome: Outcome) => void
): () => void => {
  const { describe, timeout } = options
  let sent = false
  let isOver = false
  const end = (outcome: Outcome) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    done(outcome)
  }
  const fail = (cause: unknown) => end(Effect.fail(describing(describe)(cause, sent)))
  const timer = timeout > 0 && timeout <= timers.longestTimer
    ? setTimeout(() => {
      const late = new Error(`no complete answer within ${Duration.format(Duration.millis(timeout))}`)
      fail(Object.assign(late, { code: "TIMEOUT" }))
      abort()
    }, timeout)
    : undefined
  const abort = connections.request(outgoing, {
    sent: () => {
      sent = true
    },
    answered: (head, body) =>
      Body.whole(
        body,
        lengthOf(head),
        (how, bytes) => "error" in how ? fail(how.error) : end(read(head, bytes, options))
      ),
    failed: fail
  })
  return () => {
    isOver = true
    clearTimeout(timer)
    abort()
  }
}

/** Turns the cause of a missing response into a failure. */
export const describing = (describe: Options["describe"]) => (cause: unknown, sent: boolean): Failure => ({
  _tag: "Failure",
  sent,
  code: (cause as NodeJS.ErrnoException | undefined)?.code,
  error: describe(cause)
})

const lengthOf = ({ headers }: Head): number | undefined => {
  const length = Number(headers["content-length"])
  return Number.isSafeInteger(length) ? length : undefined
}

/** A complete response that cannot be interpreted. */
const unreadable = (error: Transport): Failure => ({ _tag: "Failure", sent: true, code: undefined, error })

const read = ({ headers: fields, status }: Head, body: Buffer, options: Options): Outcome => {
  const { describe, reading, unpack } = options
  const headers = toHeaders(fields)
  const bytes = body.length
  const understood = (content: Buffer, headers: Answer["headers"]): Outcome => {
    if (reading !== undefined && status === 200 && content.length > 0 && isJson(headers["content-type"])) {
      return Effect.mapBoth(Documents.page(reading, content, () => describe(noJson(bytes))), {
        onSuccess: (value) => answer(status, headers, value, body),
        onFailure: unreadable
      })
    }
    let response: Response
    try {
      response = toResponse(status, headers, content.toString("utf8"))
    } catch (cause) {
      return Effect.fail(unreadable(describe(cause)))
    }
    return Effect.succeed(answer(status, headers, response.body, body))
  }
  const encoding = headers["content-encoding"] ?? "identity"
  if (!unpack || encoding === "identity" || bytes === 0) return understood(body, headers)
  return encoding === "gzip"
    ? Effect.flatMap(
      Effect.mapError(unzip(body, describe), unreadable),
      (content) => understood(content, unpacked(headers))
    )
    : Effect.fail(unreadable(describe(new Error(`the answer has the unsupported Content-Encoding ${encoding}`))))
}

/** The response no longer refers to the bytes. */
const answer = (status: number, headers: Answer["headers"], value: unknown, bytes: Buffer): Answer => {
  Body.recycle(bytes)
  return value === undefined
    ? { status, headers, bytes: bytes.length }
    : { status, headers, body: value, bytes: bytes.length }
}

/** The headers once the body is decompressed. */
const unpacked = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const { "content-encoding": _, "content-length": __, ...rest } = headers
  return rest
}

const unzip = (body: Buffer, describe: Options["describe"]): Effect.Effect<Buffer, Transport> =>
  Effect.callback((resume) => {
    Zlib.gunzip(body, (cause, content) =>
      resume(
        cause === null
          ? Effect.succeed(content)
          : Effect.fail(
            describe(new Error(`the answer's Content-Encoding is gzip, but its body is not (${cause.message})`))
          )
      ))
  })

/** The headers, with repeated ones joined. */
export const toHeaders = (headers: Head["headers"]): Readonly<Record<string, string>> => {
  let result: Record<string, string> | undefined
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === "object") {
      result ??= { ...headers as Readonly<Record<string, string>> }
      result[name] = value.join(", ")
    }
  }
  return result ?? headers as Readonly<Record<string, string>>
}

/** Throws if a response declares JSON but is not. */
export const toResponse = (status: number, headers: Readonly<Record<string, string>>, text: string): Response => {
  if (text === "") return { status, headers }
  const type = headers["content-type"]
  const isDocument = type === undefined ? /^\s*[{[]/.test(text) : isJson(type)
  return { status, headers, body: isDocument ? parse(text) : text }
}

export const isJson = (type: string | undefined): boolean => type !== undefined && /\bjson\b/.test(type)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the document, which may contain a Secret.
    throw noJson(text.length)
  }
}

const noJson = (characters: number): Error =>
  new Error(`the answer's Content-Type is JSON, but its body is not (${characters} characters)`)

/**
 * Why there is no response: the message and code of the cause, with the address. The cause is kept; it has no headers.
 */
export const failure = (host: string) => (cause: unknown): Transport => {
  const text = describe(cause)
  return new Transport({ message: text.includes(host) ? text : `${host}: ${text}`, cause })
}

const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { code, message } = cause as NodeJS.ErrnoException
  // If several addresses were tried (localhost), the aggregate error has no message, but its parts do.
  const parts = cause instanceof AggregateError ? cause.errors.map(describe).join("; ") : ""
  const text = tlsProblem(cause) ?? (message !== "" ? message : parts !== "" ? parts : cause.name)
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}
