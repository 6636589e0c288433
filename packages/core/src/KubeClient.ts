/**
 * `KubeClient`: every verb of the Kubernetes API, typed by `Resource`, over a `Transport`.
 *
 * Guarantees: plain JSON in and out, unknown fields kept; exactly one request of the transport per call (retrying is the
 * caller's `Schedule`; the live transport repeats only what cannot do anything twice); every failure is a `KubeError`; a namespaced kind without a namespace fails before anything
 * is sent. `delete` of an object (rather than of a key) deletes only that object: its uid goes along as precondition,
 * so that a re-created namesake survives.
 *
 * The client reads from the server. Reading from the operator's cache is `Cache`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Client } from "./Client.ts"
import { make } from "./internal/verbs.ts"
import { Transport } from "./Transport.ts"

export * from "./Client.ts"
export { make } from "./internal/verbs.ts"

export class KubeClient extends Context.Service<KubeClient, Client>()("@effect-operator/core/KubeClient") {
  /** The client over the transport in context. */
  static readonly layer: Layer.Layer<KubeClient, never, Transport> = Layer.effect(
    KubeClient,
    Effect.map(Transport, (transport) => make(transport))
  )
}
