/**
 * `Webhook`: admission and conversion as Effects on a kind's Schema, served by the operator itself.
 *
 * ```ts
 * const hooks = [
 *   Webhook.validating(Database, {
 *     validate: Effect.fnUntraced(function*({ object, old }) {
 *       if (old !== undefined && object.spec.size < old.spec.size) {
 *         return yield* Webhook.deny("a database may not shrink")
 *       }
 *     })
 *   }),
 *   Webhook.mutating(Database, { mutate: ({ object }) => Effect.succeed(withLabels(object)) })
 * ]
 * const server = Webhook.layer(hooks, { name: "databases", service: { namespace: "databases", name: "webhook" } })
 * ```
 *
 * `Hook` has the declarations, `Faults` the words for what is wrong with a field, `WebhookServer` serves the hooks,
 * `Configurations` registers them with the API server, and `Manifests` deploys all of it.
 */
export { install, make as configurations } from "./webhook/Configurations.ts"
export { denyFaults, duplicate, type Fault, forbidden, invalid, notSupported, required } from "./webhook/Faults.ts"
export {
  conversion,
  defaults,
  Denied,
  deny,
  type Hook,
  mutating,
  type Operation,
  type Options,
  type Request,
  type RequirementsOf,
  validating
} from "./webhook/Hook.ts"
export type { Cause, User } from "./webhook/Review.ts"
export type { Status } from "./webhook/Serving.ts"
export { layer, Listener, type Options as ServerOptions, WebhookServer } from "./webhook/WebhookServer.ts"
