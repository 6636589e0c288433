/**
 * `Exchange`: one request on the wire, and its whole answer.
 *
 * Interrupting it aborts it on the wire. A failure says whether the request may have reached the server: one that was
 * not begun to be written certainly has not. There is a deadline for the whole of it, because a body that trickles in
 * never meets the one between two pieces. A compressed answer is unpacked if it was asked for here (`unpack`); who asked
 * for it by a header of their own gets it as it came, as from Go's client.
 */
import { Transport } from "@effect-operator/core/KubeError"
import type { Reading, Response } from "@effect-operator/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Buffer } from "node:buffer"
import * as Zlib from "node:zlib"
import * as Body from "./Body.ts"
import type { Connections, Outgoing } from "./Connections.ts"
import * as Documents from "./Documents.ts"
import type { Head } from "./HttpResponse.ts"

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
  connections: Connections,
  outgoing: Outgoing,
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
    let sent = false
    const end = (exit: Effect.Effect<Received, Failure>) => {
      clearTimeout(timer)
      resume(exit)
    }
    const timer = timeout > 0 && Number.isFinite(timeout)
      ? setTimeout(() => {
        const late = new Error(`no whole answer within ${Duration.format(Duration.millis(timeout))}`)
        end(Effect.fail(failed(Object.assign(late, { code: "TIMEOUT" }), sent)))
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
          (how, bytes) => end("error" in how ? Effect.fail(failed(how.error, sent)) : Effect.succeed({ head, bytes }))
        ),
      failed: (cause) => end(Effect.fail(failed(cause, sent)))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      abort()
    })
  }).pipe(
    Effect.flatMap((received) =>
      Effect.matchEffect(read(received, options), {
        onSuccess: (answer) => {
          // Of the bytes nothing is left in the answer.
          Body.recycle(received.bytes)
          return Effect.succeed(answer)
        },
        onFailure: (error) => Effect.fail<Failure>({ _tag: "Failure", sent: true, code: undefined, error })
      })
    )
  )
}

const lengthOf = ({ headers }: Head): number | undefined => {
  const length = Number(headers["content-length"])
  return Number.isSafeInteger(length) ? length : undefined
}

interface Received {
  readonly head: Head
  readonly bytes: Buffer
}

const read = (
  { bytes: body, head: { headers: fields, status } }: Received,
  { describe, reading, unpack }: Options
): Effect.Effect<Answer, Transport> => {
  const headers = toHeaders(fields)
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

/** The same with repeated headers joined. */
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
