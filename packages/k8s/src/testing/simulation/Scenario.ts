/**
 * `Scenario`: an operator, the cluster it works in, and what people do to it.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Manager } from "@effect-operator/core/Manager"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as SimControllers from "../SimControllers.ts"

/** One thing a person does; the next follows when the cluster has come to rest. */
export interface Step {
  /** `scale up to 5`. */
  readonly name: string
  readonly act: Effect.Effect<unknown, KubeError, KubeClient>
  /** Whether the cluster is as it should be after this step. Judged at the end of a run for its last step. */
  readonly desired?: ((objects: ReadonlyArray<KubeObject>) => boolean) | undefined
}

export interface Scenario {
  readonly name: string
  /** Kinds to install. */
  readonly resources: ReadonlyArray<CustomResource>
  /** The operator. It is built anew for every life of its process. */
  readonly operator: Layer.Layer<Manager, unknown, KubeClient>
  readonly steps: ReadonlyArray<Step>
  /** What else the cluster has; Pods that run and a garbage collector by default. */
  readonly cluster?: SimControllers.Options | undefined
}
