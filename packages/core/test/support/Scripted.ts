/**
 * A transport that answers from a script and remembers what it was asked.
 */
import { KubeError, type Transport } from "@effect-operator/core"
import { Effect, Stream } from "effect"

/** An answer: a status with a body and headers, or no answer at all. A watch answers with the chunks off the socket. */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly chunks?: ReadonlyArray<ReadonlyArray<unknown>>
  /** How the stream of a watch ends after its chunks; normally by default. */
  readonly broken?: string
  readonly down?: string
}

export type Script = ReadonlyArray<Answer> | ((request: Transport.Request, index: number) => Answer)

export const scripted = (script: Script) => {
  const requests: Array<Transport.Request> = []
  const next = (request: Transport.Request) =>
    Effect.suspend(() => {
      const index = requests.length
      requests.push(request)
      const answer = typeof script === "function" ? script(request, index) : script[index]
      if (answer === undefined) return Effect.die(new Error(`no answer for request ${index}: ${request.path}`))
      return answer.down === undefined
        ? Effect.succeed(answer)
        : Effect.fail(new KubeError.Transport({ message: answer.down }))
    })
  const response = ({ body, headers = {}, status = 200 }: Answer): Transport.Response => ({
    status,
    headers,
    ...(body === undefined ? {} : { body })
  })
  const transport: Transport.Transport["Service"] = {
    request: (request) => Effect.map(next(request), response),
    stream: (request) =>
      Effect.map(next(request), (answer) => ({
        ...response(answer),
        values: Stream.concat(
          Stream.flatMap(Stream.fromIterable(answer.chunks ?? []), (chunk) => Stream.fromArray([...chunk])),
          answer.broken === undefined
            ? Stream.empty
            : Stream.fail(new KubeError.Transport({ message: answer.broken }))
        )
      }))
  }
  return { requests, transport }
}

/** A 422, as a real server answers: a faulty field comes with causes. */
export const invalid = (details: object): Answer => ({
  status: 422,
  body: {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "Invalid",
    code: 422,
    message: "m",
    details
  }
})

/** As a real server answers a JSON patch that cannot be done. */
export const patchFailed = invalid({})
