/**
 * `SimControllers`: what a cluster has besides its API server, as far as it is simulated: Pods that run
 * (`Kubelet`), the garbage collector and the draining of namespaces.
 */
import type { KubeClient } from "@effect-operator/core/KubeClient"
import * as Layer from "effect/Layer"
import type { ApiServer } from "./ApiServer.ts"
import * as GarbageCollector from "./GarbageCollector.ts"
import * as Kubelet from "./Kubelet.ts"
import * as NamespaceController from "./NamespaceController.ts"

export interface Options {
  readonly kubelet?: Kubelet.Options | undefined
  readonly namespaces?: NamespaceController.Options | undefined
}

/** All of them. */
export const layer = (options: Options = {}): Layer.Layer<Kubelet.Kubelet, never, ApiServer | KubeClient> =>
  Layer.mergeAll(
    Kubelet.layer(options.kubelet),
    GarbageCollector.layer,
    NamespaceController.layer(options.namespaces)
  )
