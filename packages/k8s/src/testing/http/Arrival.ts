/**
 * The arrival of an HTTP request: the credentials and the body, which the server reads when it needs it.
 *
 * A client certificate of the facade's authority stands for the user in its common name, in the groups in its
 * organizations. Bodies of more than 3 MiB are refused. They are read only once the request has been authorized.
 *
 * Source: k8s.io/apiserver/pkg/authentication/request/x509 (`CommonNameUserConversion`).
 */
import type { Request } from "@effect-operator/core/Transport"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as NodeCrypto from "node:crypto"
import type * as Net from "node:net"
import * as Tls from "node:tls"
import type { Arrival, UserInfo } from "../ApiServer.ts"
import * as RequestBody from "../../api/RequestBody.ts"
import { known } from "../../api/UserInfo.ts"
import { readBytes } from "../../api/HttpRequest.ts"

/** The user of a connection's client certificate, determined once per connection. */
const certified = new WeakMap<Tls.TLSSocket, { readonly user: Arrival["certificate"] }>()

const readCertificate = (socket: Tls.TLSSocket): Arrival["certificate"] => {
  const certificate = socket.getPeerCertificate()
  if (certificate?.raw === undefined) return undefined
  const { CN, O } = certificate.subject as { readonly CN?: string; readonly O?: string | ReadonlyArray<string> }
  if (!socket.authorized || typeof CN !== "string" || CN === "") return "refused"
  const hash = NodeCrypto.createHash("sha256").update(certificate.raw).digest("hex")
  const user: UserInfo = {
    username: CN,
    groups: O === undefined ? [] : typeof O === "string" ? [O] : O,
    extra: { "authentication.kubernetes.io/credential-id": [`X509SHA256=${hash}`] }
  }
  return known(user)
}

const certificateOf = (socket: Net.Socket): Arrival["certificate"] => {
  if (!(socket instanceof Tls.TLSSocket)) return undefined
  let entry = certified.get(socket)
  if (entry === undefined) certified.set(socket, entry = { user: readCertificate(socket) })
  return entry.user
}

/** Everything that arrives with a request. */
export const make = (
  http: HttpServerRequest.HttpServerRequest,
  { method }: Request,
  document: NonNullable<Arrival["document"]>
): Arrival => {
  const { socket } = NodeHttpServerRequest.toIncomingMessage(http)
  const body = (kind: string) =>
    Effect.flatMap(readBytes(http), (bytes) =>
      Effect.flatMap(
        RequestBody.decode({
          method,
          contentType: http.headers["content-type"],
          bytes,
          kind: Effect.succeed(kind)
        }),
        Effect.fromResult
      ))
  return {
    certificate: certificateOf(socket),
    sourceIPs: socket.remoteAddress === undefined ? [] : [socket.remoteAddress],
    document,
    ...(method === "GET" || method === "HEAD" ? {} : { body }),
    bytes: Effect.orElseSucceed(readBytes(http), () => new Uint8Array())
  }
}
