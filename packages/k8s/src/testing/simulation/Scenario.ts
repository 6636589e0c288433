/**
 * `Scenario`: an operator, the cluster it works in, and what people do to it.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { JsonObject } from "../../schema/JsonValue.ts"
import type { Declared } from "../Declared.ts"
import type * as SimControllers from "../SimControllers.ts"
import type { Kind } from "./recording/Fault.ts"

/** The cluster at a moment, and what there is outside of it. */
export type Desired = (
  objects: ReadonlyArray<KubeObject>,
  /** The objects before the step. */
  before: ReadonlyArray<KubeObject>,
  outside: ReadonlyMap<string, unknown>
) => boolean

/** One thing a person does; the next follows when the cluster has come to rest. */
export interface Step {
  /** `scale up to 5`. */
  readonly name: string
  readonly act: Effect.Effect<unknown, KubeError, KubeClient>
  /** Whether the cluster is as it should be once it has come to rest after this step. */
  readonly desired?: Desired | undefined
}

/** One process of the operator among its replicas. */
export interface Replica {
  /** From 0. */
  readonly index: number
  /** `replica-0`: who it is in an election. */
  readonly identity: string
}

/** A program that runs controllers: what it provides is of no concern, unless it is a `Manager`, whose failure ends it. */
export type Operator = Layer.Layer<unknown, unknown, KubeClient> | Layer.Layer<never, unknown, KubeClient>

/** A drawn change: the object's next spec; `null` deletes it. */
export type Change = JsonObject | null

/** How stories about one object are drawn: made by `Simulation.draws`. */
export interface Draws {
  readonly resource: CustomResource
  /** So many specs; the same ones for the same seed. */
  readonly specs: (seed: number, count: number) => ReadonlyArray<JsonObject>
  /** Whether it is a spec of the Schema they are drawn from. */
  readonly fits: (spec: JsonObject) => boolean
  readonly desired: Desired | undefined
}

export interface Scenario {
  readonly name: string
  /** Kinds to install, alone or with their versions. */
  readonly resources: ReadonlyArray<Declared>
  /** The operator. It is built anew for every life of its process. */
  readonly operator: Operator | ((replica: Replica) => Operator)
  /** How many processes of it run at once; 1 by default. */
  readonly replicas?: number | undefined
  readonly steps: ReadonlyArray<Step>
  /** Changes of an object that are drawn from a Schema, and follow the steps. Every exploration draws several. */
  readonly draws?: Draws | undefined
  /** Faults that the steps do not allow for: Pods that fail where Pods are what the people of the story make. */
  readonly without?: ReadonlyArray<Kind> | undefined
  /** Kinds that the operator leaves behind, or holds by a finalizer, with reason when the last custom resource is gone. */
  readonly keeps?: ReadonlyArray<string> | undefined
  /**
   * How long nothing happens before the cluster has come to rest. By default a minute, or a minute more than the operator
   * ever lets pass without faults before it goes on with something, if that is five minutes at most.
   */
  readonly rest?: Duration.Input | undefined
  /** What else the cluster has; by default Pods that run, and every controller that there is something to do for. */
  readonly cluster?: SimControllers.Options | undefined
}
