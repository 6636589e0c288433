/**
 * `ApiService`: an operator's own API server behind the cluster's aggregator, for kinds that are computed when they are
 * read, or that must not be in the cluster's store.
 *
 * ```ts
 * const api = ApiService.make({
 *   group: "farm.example.com",
 *   version: "v1alpha",
 *   kinds: [
 *     ApiService.stored(Llama, { create: (llama) => Effect.succeed(llama) }),
 *     ApiService.derived(FarmPod, {
 *       from: Pod,
 *       make: ({ metadata: { name, namespace }, spec }) => ({
 *         metadata: { name: `farm-${name}`, namespace },
 *         spec: { containers: spec.containers.length }
 *       })
 *     })
 *   ]
 * })
 * const server = ApiService.layer(api, { name: "farm", service: { namespace: "farm", name: "api" } })
 * ```
 *
 * kubectl and other clients see no difference to a custom resource, except that server-side apply is refused.
 */
export { type Api, defaults, make, type Options } from "./apiservice/Api.ts"
export { ApiServiceServer, layer, Listener, type Options as ServerOptions } from "./apiservice/ApiServiceServer.ts"
export {
  type Computed,
  computed,
  derived,
  type Handlers,
  type Kind,
  Refused,
  stored,
  type UserInfo,
  type Write
} from "./apiservice/Kind.ts"
export { apiService as registration, install, type ServiceReference } from "./apiservice/Registration.ts"
export type { Status } from "./webhook/Serving.ts"
