/**
 * `Proxy`: forwards a request for a remote group version to its backend.
 *
 * The request is forwarded unchanged except for credentials: headers (`X-Remote-User` and the like) name the user, and
 * the backend trusts them because of the client certificate. The response is returned unchanged; a watch is streamed.
 * An APIService that is not available gives a 503, and so does a backend that cannot be reached.
 *
 * Source: k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go, k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go and
 * k8s.io/client-go/transport/round_trippers.go (`SetAuthProxyHeaders`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request } from "@effect-operator/core/Transport"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ApiServices from "./ApiServices.ts"
import { hostOf } from "./Availability.ts"
import * as Backends from "../Backends.ts"
import { storageKey } from "../server/Exchange.ts"
import { stringAt } from "../../api/Plain.ts"
import type { ApiResponse } from "../../api/Representation.ts"
import { flag } from "../../api/Routing.ts"
import type { Storage } from "../../api/Storage.ts"
import type { UserInfo } from "../../api/UserInfo.ts"

/** A request to forward. */
export interface Proxied {
  readonly apiService: KubeObject
  readonly request: Request
  readonly user: UserInfo
  readonly auditId: string
  readonly sourceIP: string | undefined
  /** The raw body, if it arrived over a network; otherwise the request's body is a JSON value. */
  readonly bytes: Effect.Effect<Uint8Array> | undefined
}

const text = (status: number, body: string): ApiResponse => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body: `${body}\n`
})

const unavailable = text(503, "service unavailable")

/** Hop-by-hop headers, and headers that identify the user. */
const dropped =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|content-length|accept-encoding|authorization|x-remote-.*)$/

/** A key of `extra` as part of a header name. */
const extraName = (key: string): string =>
  key.replace(/[^A-Za-z0-9!#$&'*+.^_`|~-]/g, (character) => encodeURIComponent(character))

/** The headers that tell backends who the user is. */
export const userHeaders = (user: UserInfo): Record<string, string | ReadonlyArray<string>> => ({
  "x-remote-user": user.username,
  ...((user.uid ?? "") === "" ? {} : { "x-remote-uid": user.uid! }),
  ...((user.groups ?? []).length === 0 ? {} : { "x-remote-group": user.groups! }),
  ...Object.fromEntries(
    Object.entries(user.extra ?? {}).map(([key, values]) => [`x-remote-extra-${extraName(key).toLowerCase()}`, values])
  )
})

const headersOf = (
  { auditId, request, sourceIP, user }: Proxied,
  host: string
): Record<string, string | ReadonlyArray<string>> => ({
  ...Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.test(name))),
  "audit-id": auditId,
  ...(sourceIP === undefined ? {} : { "x-forwarded-for": sourceIP }),
  "x-forwarded-host": host,
  "x-forwarded-proto": "https",
  "x-forwarded-uri": request.path,
  ...userHeaders(user)
})

const responseHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) =>
      !/^(?:connection|keep-alive|transfer-encoding|content-length|date)$/.test(name)
    )
  )

const isJson = (headers: Readonly<Record<string, string>>): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/.test(headers["content-type"] ?? "")

/** Callers in this process get values, callers over a network the bytes that the backend sent. */
const bodyOf = (reply: Backends.Reply, bytes: boolean): unknown => {
  if (reply.body._tag === "Json") return reply.body.value
  if (bytes) return reply.body.bytes.length === 0 ? undefined : reply.body.bytes
  const decoded = isJson(reply.headers) ? Backends.json(reply.body) : undefined
  return decoded !== undefined && Result.isSuccess(decoded)
    ? decoded.success
    : new TextDecoder().decode(reply.body.bytes)
}

/** The reply of a backend as a response of this server. */
export const responseOf = (reply: Backends.Reply, bytes = false): ApiResponse => ({
  status: reply.status,
  headers: responseHeaders(reply.headers),
  body: bodyOf(reply, bytes)
})

const lines = (chunks: Stream.Stream<Uint8Array, Backends.BackendFailed>): Stream.Stream<WireEvent> =>
  chunks.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.filter((line) => line !== ""),
    Stream.map((line) => JSON.parse(line) as WireEvent),
    // A broken connection ends a watch.
    Stream.catchCause(() => Stream.empty)
  )

/** Answers a request with the reply of its backend. */
export const answer = Effect.fnUntraced(function*(
  proxied: Proxied,
  storage: Storage,
  calls: Backends.Calls,
  certificate: Backends.Call["certificate"]
): Effect.fn.Return<ApiResponse> {
  const { apiService, bytes, request } = proxied
  const reference = ApiServices.serviceOf(apiService)!
  const service = storage.get("services", storageKey(reference.namespace, reference.name))
  if (!ApiServices.isAvailable(apiService) || service === undefined) return unavailable
  const body = bytes === undefined ? request.body : yield* bytes
  const call: Backends.Call = {
    target: { service: reference },
    ...trustOf(apiService),
    certificate,
    method: request.method,
    path: request.path,
    query: request.query,
    headers: headersOf(proxied, hostOf(service, reference.port)),
    ...(body === undefined || (body instanceof Uint8Array && body.length === 0) ? {} : { body })
  }
  const unreachable = ({ error }: Backends.BackendFailed) =>
    Effect.succeed(text(503, `error trying to reach service: ${error}`))
  if (!flag(request, "watch") && !flag(request, "follow") && !request.path.includes("/watch/")) {
    return yield* calls.call(call).pipe(
      Effect.map((reply) => responseOf(reply, bytes !== undefined)),
      Effect.catch(unreachable)
    )
  }
  // The call lasts as long as its response is read.
  const scope = yield* Scope.make()
  const reply = yield* Scope.provide(Effect.result(calls.stream(call)), scope).pipe(
    Effect.onInterrupt(() => Scope.close(scope, Exit.void))
  )
  if (Result.isFailure(reply)) {
    yield* Scope.close(scope, Exit.void)
    return yield* unreachable(reply.failure)
  }
  const { body: streamed, headers, status } = reply.success
  if (streamed._tag === "Json" || streamed._tag === "Bytes") {
    yield* Scope.close(scope, Exit.void)
    return responseOf({ status, headers, body: streamed }, bytes !== undefined)
  }
  const events = streamed._tag === "Chunks" ? lines(streamed.chunks) : streamed.values as Stream.Stream<WireEvent>
  return {
    status,
    headers: responseHeaders(headers),
    events: Stream.ensuring(events, Scope.close(scope, Exit.void))
  }
})

/** The trust settings of an APIService. */
export const trustOf = (apiService: KubeObject): Pick<Backends.Call, "caBundle" | "insecureSkipTlsVerify"> => {
  const caBundle = stringAt(apiService, "spec", "caBundle")
  const { insecureSkipTLSVerify: insecure } =
    (apiService as { readonly spec?: Readonly<Record<string, unknown>> }).spec ?? {}
  return {
    ...(caBundle === "" ? {} : { caBundle }),
    ...(insecure === true ? { insecureSkipTlsVerify: true } : {})
  }
}
