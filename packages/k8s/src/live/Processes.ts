/**
 * `Processes`: runs a process on a server (`exec`) over a WebSocket of its own, and collects its output.
 *
 * The first byte of a message is the stream: 0 standard input, 1 output, 2 errors, 3 the final `Status`. In version 5
 * of the protocol, 255 closes the stream that follows it. Version 4 cannot close the input, and a command that reads it
 * would never end; so for a command with input only version 5 is offered, and an older server does not start it.
 *
 * A refusal is an ordinary response with a body. Only connecting and the response to the upgrade have a timeout; how
 * long a command may take is the caller's business.
 *
 * Source: k8s.io/apiserver/pkg/util/proxy/websocket.go, k8s.io/apimachinery/pkg/util/remotecommand/constants.go.
 */
import type { Transport } from "@effect-operator/core/KubeError"
import { isStatus, type Status } from "@effect-operator/core/Status"
import type { Ended, Process } from "@effect-operator/core/Transport"
import type { WebSocket } from "@effect/platform-node/NodeWS"
import * as Effect from "effect/Effect"
import { Buffer } from "node:buffer"
import type * as Http from "node:http"
import { aborted, type Options, type Outgoing, unpermitted } from "./Connections.ts"
import { describing, type Outcome, toHeaders, toResponse } from "./Exchange.ts"
import type { Head } from "./HttpResponse.ts"

export const defaults = {
  /** The limit of a process's output in bytes; beyond it the process is abandoned. */
  largestOutput: 16 * 1024 * 1024,
  /** Bytes of input per message. */
  chunk: 32 * 1024,
  /** How long the server may take to close the connection after the status, in milliseconds. */
  linger: 1_000
} as const

/** The server's address and TLS settings, and the proxy, if any. */
export interface Settings extends Options {
  readonly proxy: string | undefined
  /** Aborted when the client closes: then every process is abandoned. */
  readonly closing: AbortSignal
}

const ending = "v5.channel.k8s.io"
const older = "v4.channel.k8s.io"

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const

/**
 * Starts a process, and reports its outcome once. Calling the returned function abandons the process, but does not end
 * it.
 */
export const begin = (
  settings: Settings,
  { headers, path, permit }: Outgoing,
  { stdin }: Process,
  describe: (cause: unknown) => Transport,
  done: (outcome: Outcome) => void
): () => void => {
  let isOver = false
  let sent = false
  let socket: WebSocket | undefined
  const { closing } = settings
  const output = { [channels.stdout]: [] as Array<Buffer>, [channels.stderr]: [] as Array<Buffer> }
  let status: Status | undefined
  let bytes = 0
  let lingering: NodeJS.Timeout | undefined

  const end = (outcome: Outcome) => {
    if (isOver) return
    isOver = true
    clearTimeout(lingering)
    closing.removeEventListener("abort", close)
    done(outcome)
    socket?.terminate()
  }
  const fail = (cause: unknown) => end(Effect.fail(describing(describe)(cause, sent)))
  const close = () => fail(aborted)
  const finish = (status: Status) => {
    const text = (channel: 1 | 2) => Buffer.concat(output[channel]).toString("utf8")
    const body: Ended = { stdout: text(channels.stdout), stderr: text(channels.stderr), status }
    end(Effect.succeed({ status: 200, headers: {}, body, bytes }))
  }

  const received = (message: Buffer) => {
    bytes += message.length
    const channel = message[0]
    const content = message.subarray(1)
    if (bytes > defaults.largestOutput) fail(new Error(`the process wrote more than ${defaults.largestOutput} bytes`))
    else if (channel === channels.stdout || channel === channels.stderr) output[channel].push(content)
    else if (channel === channels.status && content.length > 0) {
      status = statusOf(content.toString("utf8"))
      lingering = setTimeout(finish, defaults.linger, status)
    }
  }

  const opened = (open: WebSocket) => {
    if (stdin === undefined) return
    const input = Buffer.from(stdin, "utf8")
    for (let from = 0; from < input.length; from += defaults.chunk) {
      open.send(Buffer.concat([Buffer.of(channels.stdin), input.subarray(from, from + defaults.chunk)]))
    }
    open.send(Buffer.of(channels.close, channels.stdin))
  }

  /** Sends the request once the connection is established, if it may still be sent. */
  const release = (request: Http.ClientRequest) => {
    const go = () => {
      if (permit?.() === false) return request.destroy(unpermitted)
      sent = true
      request.end()
    }
    request.once("socket", (stream) => {
      if (stream.connecting) stream.once(settings.origin.protocol === "https:" ? "secureConnect" : "connect", go)
      else go()
    })
  }

  const connect = async () => {
    const [{ WebSocket }, agent] = await Promise.all([
      import("@effect/platform-node/NodeWS"),
      settings.proxy === undefined ? undefined : agentOf(settings.proxy)
    ])
    if (isOver) return
    const { connectTimeout, headersTimeout, keepAliveDelay, origin, tls } = settings
    const url = new URL(path, origin)
    url.protocol = origin.protocol === "https:" ? "wss:" : "ws:"
    const { servername, ...material } = tls
    socket = new WebSocket(url, stdin === undefined ? [ending, older] : [ending], {
      ...material,
      ...(servername === undefined ? {} : { servername }),
      ...(agent === undefined ? {} : { agent }),
      headers: Object.fromEntries(
        Object.entries(headers).filter(([name]) => name !== "upgrade" && name !== "accept-encoding")
      ) as Http.OutgoingHttpHeaders,
      ...(connectTimeout > 0 && headersTimeout > 0 ? { handshakeTimeout: connectTimeout + headersTimeout } : {}),
      perMessageDeflate: false,
      maxPayload: defaults.largestOutput,
      finishRequest: release
    })
    const open = socket
    // A command may print nothing for hours.
    open.on("upgrade", (response) => response.socket.setKeepAlive(true, keepAliveDelay))
    open.on("open", () => opened(open))
    open.on("message", (data) => received(data as Buffer))
    open.on("unexpected-response", (_, response) => void refused(response))
    open.on("error", fail)
    open.on("close", () => {
      if (status !== undefined) finish(status)
      else fail(new Error("the connection ended before the process did"))
    })
  }

  /** No process was started: an ordinary response. */
  const refused = async (response: Http.IncomingMessage) => {
    try {
      const chunks: Array<Buffer> = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks)
      // What Go's WebSocket server responds if it supports none of the offered protocols; an API server sends a Status.
      if (stdin !== undefined && response.statusCode === 403 && body.length === 0) {
        return fail(
          new Error(
            `the server does not speak ${ending}, which can close standard input: use Kubernetes 1.30 or later`
          )
        )
      }
      const headers = toHeaders(response.headers as Head["headers"])
      end(Effect.succeed({
        ...toResponse(response.statusCode ?? 0, headers, body.toString("utf8")),
        bytes: body.length
      }))
    } catch (cause) {
      fail(cause)
    }
  }

  closing.addEventListener("abort", close)
  if (closing.aborted) close()
  else connect().catch(fail)
  return () => {
    if (isOver) return
    isOver = true
    clearTimeout(lingering)
    closing.removeEventListener("abort", close)
    socket?.on("error", () => {})
    socket?.terminate()
  }
}

/** The Status, completed with fields that older servers omit. */
const statusOf = (text: string): Status => {
  const common = { kind: "Status", apiVersion: "v1", metadata: {} } as const
  try {
    const told = { ...common, ...JSON.parse(text) as object }
    if (isStatus(told)) return told
  } catch {
    // Even older servers send plain text, and only on failure.
  }
  return { ...common, status: "Failure", message: text, reason: "InternalError", code: 500 }
}

/** The agent that connects through a proxy. */
const agentOf = async (proxy: string): Promise<Http.Agent> => {
  if (proxy.startsWith("socks")) {
    const { SocksProxyAgent } = await import("socks-proxy-agent")
    return new SocksProxyAgent(proxy)
  }
  const { HttpsProxyAgent } = await import("hpagent")
  return new HttpsProxyAgent({ proxy })
}
