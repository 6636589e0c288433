/**
 * `TestClient`: a `KubeClient` on the `ApiServer` in the same process.
 *
 * Requests and responses are passed as values, without text, sockets or promises, so no time passes that a `TestClock`
 * does not control. Objects that are read are deep-frozen: a program that mutates one throws.
 *
 * `layer` is an administrator's client. With `layerAs` a program has only the permissions of its own user or service
 * account, and gets 403 for anything else:
 *
 * ```ts
 * const asOperator = TestClient.layerAs(TestClient.serviceAccount("operators", "autoscaler"))
 * ```
 *
 * Its Roles and bindings are ordinary objects that an administrator creates first; the account itself need not exist.
 * `ApiServer.audit` reports which binding allowed each request, and which requests were refused.
 */
import * as KubeClient from "@effect-operator/core/KubeClient"
import { Transport } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Representation from "../api/Representation.ts"
import { ApiServer, type UserInfo } from "./ApiServer.ts"

export { serviceAccount } from "../api/UserInfo.ts"

const transport = (user?: UserInfo): Layer.Layer<Transport, never, ApiServer> =>
  Layer.effect(
    Transport,
    Effect.map(ApiServer, (server) =>
      Transport.of({
        request: (request) => server.handle(request, user),
        stream: (request) =>
          Effect.map(server.handle(request, user), (response) => Representation.streamed(request, response))
      }))
  )

/** The transport alone, for programs that put something between it and the client, such as faults or counters. */
export const transportLayer: Layer.Layer<Transport, never, ApiServer> = transport()

/** The transport for requests of a user. */
export const transportLayerAs = (user: UserInfo): Layer.Layer<Transport, never, ApiServer> => transport(user)

/** An administrator's client of the server in context. */
export const layer: Layer.Layer<KubeClient.KubeClient, never, ApiServer> = KubeClient.KubeClient.layerOver(
  transportLayer
)

/** A client with the permissions of a user and no others. */
export const layerAs = (user: UserInfo): Layer.Layer<KubeClient.KubeClient, never, ApiServer> =>
  KubeClient.KubeClient.layerOver(transport(user))
