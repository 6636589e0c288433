/**
 * `TestClient`: a `KubeClient` whose server is the `ApiServer` in the same process.
 *
 * Requests and answers are handed over as they are: no text, no socket, no promise, and so no time passes that a
 * `TestClock` does not know of. What is read is deep-frozen: a program that changes an object it was given throws.
 *
 * `layer` is an administrator's client. With `layerAs` a program has the rights of its own user or service account and
 * is told 403 where they end:
 *
 * ```ts
 * const asOperator = TestClient.layerAs(TestClient.serviceAccount("operators", "autoscaler"))
 * ```
 *
 * Its Roles and bindings are ordinary objects, created by an administrator before; the account itself need not exist.
 * `ApiServer.audit` tells which binding allowed each request, and which requests were refused.
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

/** The transport alone, for programs that put something between it and the client (faults, counters). */
export const transportLayer: Layer.Layer<Transport, never, ApiServer> = transport()

/** The transport of a user's requests. */
export const transportLayerAs = (user: UserInfo): Layer.Layer<Transport, never, ApiServer> => transport(user)

/** The client every program uses, on the server in context. */
export const layer: Layer.Layer<KubeClient.KubeClient, never, ApiServer> = KubeClient.KubeClient.layerOver(
  transportLayer
)

/** The client of a program that has a user's rights and no others. */
export const layerAs = (user: UserInfo): Layer.Layer<KubeClient.KubeClient, never, ApiServer> =>
  KubeClient.KubeClient.layerOver(transport(user))
