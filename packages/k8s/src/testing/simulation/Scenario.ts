/**
 * `Scenario`: an operator, the cluster it works in, and what people do to it.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeClient } from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { JsonObject } from "../../schema/JsonValue.ts"
import type { Declared } from "../Declared.ts"
import type * as SimControllers from "../SimControllers.ts"
import type { Webhooks } from "../TestWebhooks.ts"
import type { Kind } from "./recording/Fault.ts"

/** Whether this state is desired: the objects of the cluster, those before the step, and the state of the outside. */
export type Desired = (
  objects: ReadonlyArray<KubeObject>,
  /** The objects before the step. */
  before: ReadonlyArray<KubeObject>,
  outside: ReadonlyMap<string, unknown>
) => boolean

/** One thing that a person does. The next step follows when the cluster has come to rest. */
export interface Step {
  /** `scale up to 5`. */
  readonly name: string
  /** If it fails, the scenario is not valid, and the failure says why. */
  readonly act: Effect.Effect<unknown, unknown, KubeClient>
  /** Whether the cluster is as it should be when it has come to rest after this step. */
  readonly desired?: Desired | undefined
}

/** One process of the operator among its replicas. */
export interface Replica {
  /** From 0. */
  readonly index: number
  /** `replica-0`: its identity in an election. */
  readonly identity: string
}

/**
 * A program that runs controllers. What it provides does not matter, unless it is a `Manager`: a failure of that ends
 * the process.
 */
export type Operator = Layer.Layer<unknown, unknown, KubeClient> | Layer.Layer<never, unknown, KubeClient>

/** A drawn change: the object's next spec; `null` deletes the object. */
export type Change = JsonObject | null

/** How stories about one object are drawn; made by `Simulation.draws`. */
export interface Draws {
  readonly resource: CustomResource
  /** Draws this many specs; the same seed gives the same ones. */
  readonly specs: (seed: number, count: number) => ReadonlyArray<JsonObject>
  /** Whether the spec fits the Schema from which they are drawn. */
  readonly fits: (spec: JsonObject) => boolean
  readonly desired: Desired | undefined
}

export interface Scenario {
  readonly name: string
  /** The kinds to install, each alone or with all its versions. */
  readonly resources: ReadonlyArray<Declared>
  /**
   * Hooks that the server calls, as if a program beside the operator served them: they are there also while the
   * operator is not. Changes that they deny are not drawn. What the operator serves itself (`Webhook.layer`) listens to
   * nobody.
   */
  readonly webhooks?: Webhooks | undefined
  /** The operator, built anew for each life of its process. */
  readonly operator: Operator | ((replica: Replica) => Operator)
  /** Number of processes of it that run at once; 1 by default. */
  readonly replicas?: number | undefined
  readonly steps: ReadonlyArray<Step>
  /** Changes of an object that are drawn from a Schema and follow the steps. Each exploration draws several stories. */
  readonly draws?: Draws | undefined
  /**
   * Faults that the steps do not allow for: failing Pods, for example, if the people of the story create Pods
   * themselves.
   */
  readonly without?: ReadonlyArray<Kind> | undefined
  /** Kinds that the operator may leave behind, or hold with a finalizer, when the last custom resource is gone. */
  readonly keeps?: ReadonlyArray<string> | undefined
  /**
   * How long nothing must happen before the cluster counts as at rest. By default one minute, or one minute more than
   * the operator's longest pause without faults before it continues with something, if that is at most five minutes.
   */
  readonly rest?: Duration.Input | undefined
  /**
   * What else the cluster has. By default: Pods that run, and every controller that has something to do. Registered
   * nodes renew no Lease, unless `kubelet: { leases: true }` asks for it, because those renewals would be most of a
   * run.
   */
  readonly cluster?: SimControllers.Options | undefined
}
