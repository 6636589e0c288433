/** Posts to a webhook server as an API server does: trusting a bundle, and naming a Service. */
import { Effect } from "effect"
import * as Https from "node:https"

export interface Reply {
  readonly status: number
  readonly body: string
  /** Serial number of the certificate that was shown. */
  readonly serial: string
}

export const post = (
  port: number,
  path: string,
  body: string | Uint8Array,
  options: Https.RequestOptions = {}
): Effect.Effect<Reply, Error> =>
  Effect.callback((resume) => {
    const request = Https.request({
      host: "127.0.0.1",
      port,
      path,
      method: "POST",
      servername: "webhooks.shop.svc",
      agent: false,
      ...options,
      headers: { "content-type": "application/json", ...options.headers as Record<string, string> }
    }, (response) => {
      const chunks: Array<Buffer> = []
      const socket = response.socket as import("node:tls").TLSSocket
      const serial = socket.getPeerCertificate().serialNumber ?? ""
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () =>
        resume(Effect.succeed({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString("utf8"),
          serial
        })))
    })
    request.on("error", (error) => resume(Effect.fail(error)))
    request.end(body)
    return Effect.sync(() => request.destroy())
  })
