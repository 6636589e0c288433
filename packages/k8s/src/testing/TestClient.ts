/**
 * `TestClient`: a `KubeClient` whose server is the `ApiServer` in the same process.
 *
 * Requests and answers are passed on as they are: no text, no socket, no promise, and so no time passes that a
 * `TestClock` does not know of. Objects that are read are deep-frozen: a program that changes one throws.
 *
 * `layer` is an administrator's client. With `layerAs` a program has the permissions of its own user or service account
 * and gets a 403 beyond them:
 *
 * ```ts
 * const asOperator = TestClient.layerAs(TestClient.serviceAccount("operators", "autoscaler"))
 * ```
 *
 * Its Roles and bindings are ordinary objects, created by an administrator beforehand; the account itself need not
 * exist. `ApiServer.audit` says which binding allowed each request, and which requests were refused.
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
