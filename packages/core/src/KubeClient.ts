/**
 * `KubeClient`: every verb of the Kubernetes API, typed by `Resource`, over a `Transport`.
 *
 * Guarantees:
 * - Plain JSON in and out, with unknown fields kept.
 * - Exactly one request of the transport per call. Retrying is the caller's `Schedule`; the live transport repeats only
 *   what cannot do anything twice.
 * - Every failure is a `KubeError`.
 * - A namespaced kind without a namespace fails before anything is sent.
 * - `delete` of an object (rather than of a key) deletes only that object: its uid is sent as precondition, so a
 *   recreated object of the same name survives.
 *
 * The client reads from the server. To read from the operator's cache, use `Cache`.
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
  /** A new layer on each call: a shared one would be built once and reused for another transport. */
  private static inContext(): Layer.Layer<KubeClient, never, Transport> {
    return Layer.effect(KubeClient, Effect.map(Transport, (transport) => make(transport)))
  }

  /**
   * The client over the transport in context. Like any layer it is built once; for several transports use `layerOver`.
   */
  static readonly layer: Layer.Layer<KubeClient, never, Transport> = KubeClient.inContext()

  /** The client over this transport, independent of clients over others. */
  static readonly layerOver = <E, R>(transport: Layer.Layer<Transport, E, R>): Layer.Layer<KubeClient, E, R> =>
    Layer.provide(KubeClient.inContext(), transport)
}
