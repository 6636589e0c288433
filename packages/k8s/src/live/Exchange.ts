/**
 * `Exchange`: one request on the wire, and its whole answer.
 *
 * Interrupting it aborts it on the wire. A failure says whether the request may have reached the server: one that was
 * not begun to be written certainly has not. There is a deadline for the whole of it, because a body that trickles in
 * never meets the one between two pieces. A compressed answer is unpacked if it was asked for here (`unpack`); who asked
 * for it by a header of their own gets it as it came, as from Go's client.
 */
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Transport } from "@effect-operator/core/KubeError"
import type { Reading, Response } from "@effect-operator/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"
import * as Zlib from "node:zlib"
import * as Documents from "./Documents.ts"

/** Figures that hold unless the live client's options say otherwise. */
export const defaults = {
  /** From the request to the end of its answer; an API server itself gives up after a minute. */
  requestTimeout: "2 minutes"
} as const

/** No answer, or not a whole one. */
export interface Failure {
  readonly _tag: "Failure"
  /** Whether the server may have seen the request. */
  readonly sent: boolean
  /** The system's, TLS's or undici's code; `TIMEOUT` for the deadline. */
  readonly code: string | undefined
  readonly error: Transport
}

/** An answer with the size of its body on the wire. */
export interface Answer extends Response {
  readonly bytes: number
}

export interface Options {
  /** In milliseconds of real time; none if it is 0. */
  readonly timeout: number
  /** Whether compression was asked for here. */
  readonly unpack: boolean
  /** What the reader of a list does without. */
  readonly reading?: Reading | undefined
  /** Why there is no answer, in words: see `failure`. */
  readonly describe: (cause: unknown) => Transport
}

export const send = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: Options
): Effect.Effect<Answer, Failure> => {
  const { describe, timeout } = options
  const failed = (cause: unknown, sent: boolean): Failure => ({
    _tag: "Failure",
    sent,
    code: (cause as NodeJS.ErrnoException | undefined)?.code,
    error: describe(cause)
  })
  return Effect.callback<Received, Failure>((resume) => {
    const chunks: Array<Buffer> = []
    let sent = false
    let status = 0
    let headers: Dispatcher.ResponseData["headers"] = {}
    let controller: Dispatcher.DispatchController | undefined
    let given: Error | undefined
    /** What has not begun yet is aborted as soon as it does. */
    const giveUp = (reason: Error) => {
      given = reason
      controller?.abort(reason)
    }
    const timer = timeout > 0 && Number.isFinite(timeout)
      ? setTimeout(() => {
        const late = new Error(`no whole answer within ${Duration.format(Duration.millis(timeout))}`)
        end(Effect.fail(failed(Object.assign(late, { code: "TIMEOUT" }), sent)))
        giveUp(late)
      }, timeout)
      : undefined
    const end = (exit: Effect.Effect<Received, Failure>) => {
      clearTimeout(timer)
      resume(exit)
    }
    try {
      dispatcher.dispatch(request, {
        onRequestStart: (started) => {
          controller = started
          if (given !== undefined) return started.abort(given)
          sent = true
        },
        onResponseStart: (_, code, fields) => {
          status = code
          headers = fields
        },
        onResponseData: (_, chunk) => {
          chunks.push(chunk)
        },
        onResponseEnd: () => end(Effect.succeed({ status, headers, chunks })),
        onResponseError: (_, cause) => end(Effect.fail(failed(cause, sent)))
      })
    } catch (cause) {
      end(Effect.fail(failed(cause, false)))
    }
    return Effect.sync(() => {
      clearTimeout(timer)
      giveUp(interrupted)
    })
  }).pipe(
    Effect.flatMap((received) =>
      Effect.mapError(
        read(received, options),
        (error): Failure => ({ _tag: "Failure", sent: true, code: undefined, error })
      )
    )
  )
}

const interrupted = new Error("the request was interrupted")

interface Received {
  readonly status: number
  readonly headers: Dispatcher.ResponseData["headers"]
  readonly chunks: ReadonlyArray<Buffer>
}

const read = (
  { chunks, headers: fields, status }: Received,
  { describe, reading, unpack }: Options
): Effect.Effect<Answer, Transport> => {
  const headers = toHeaders(fields)
  const [only] = chunks
  const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
  const bytes = body.length
  const answer = (content: Buffer, fields = headers): Effect.Effect<Answer, Transport> =>
    reading !== undefined && status === 200 && content.length > 0 && isJson(fields["content-type"])
      ? Effect.map(
        Documents.page(reading, content, () => describe(noJson(bytes))),
        (body) => ({ status, headers: fields, body, bytes })
      )
      : Effect.try({
        try: (): Answer => ({ ...toResponse(status, fields, content.toString("utf8")), bytes }),
        catch: describe
      })
  const encoding = headers["content-encoding"] ?? "identity"
  if (!unpack || encoding === "identity" || bytes === 0) return answer(body)
  return encoding === "gzip"
    ? Effect.flatMap(unzip(body, describe), (content) => answer(content, unpacked(headers)))
    : Effect.fail(describe(new Error(`the answer is compressed with ${encoding}`)))
}

/** What the headers say once the body is unpacked. */
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
          : Effect.fail(describe(new Error(`the answer says it is gzip, but is not (${cause.message})`)))
      ))
  })

/** Header names in lower case, repeated headers joined. */
export const toHeaders = (headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> => {
  const result: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) result[name.toLowerCase()] = typeof value === "string" ? value : value.join(", ")
  }
  return result
}

/** Throws where an answer says it is JSON and is none. */
export const toResponse = (status: number, headers: Readonly<Record<string, string>>, text: string): Response => {
  if (text === "") return { status, headers }
  const type = headers["content-type"]
  const isDocument = type === undefined ? /^\s*[{[]/.test(text) : isJson(type)
  return { status, headers, body: isDocument ? parse(text) : text }
}

const isJson = (type: string | undefined): boolean => type !== undefined && /\bjson\b/.test(type)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the document, which may hold a Secret.
    throw noJson(text.length)
  }
}

const noJson = (characters: number): Error =>
  new Error(`the answer says it is JSON, but is not (${characters} characters)`)

/** Why there is no answer: the message and code of the cause, with the address. The cause is kept; it holds no headers. */
export const failure = (host: string) => (cause: unknown): Transport => {
  const text = describe(cause)
  return new Transport({ message: text.includes(host) ? text : `${host}: ${text}`, cause })
}

const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { code, message } = cause as NodeJS.ErrnoException
  // Several addresses tried (localhost): the error of the whole has no message, those of its parts do.
  const parts = cause instanceof AggregateError ? cause.errors.map(describe).join("; ") : ""
  const text = message !== "" ? message : parts !== "" ? parts : cause.name
  return code === undefined || text.includes(code) ? text : `${text} (${code})`
}
