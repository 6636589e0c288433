/**
 * `Conditions`: the conditions in an object's status, by Kubernetes' conventions.
 *
 * `set` and `remove` are pure. They return a new list, with a transition time only if the status changed, or the same
 * list if nothing did, so that an unchanged status is not written. `ObjectStatus.write` writes it.
 *
 * Source: kubernetes/community, sig-architecture/api-conventions.md, "Typical status properties".
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { KubeObject } from "./KubeObject.ts"

/** A `metav1.Condition`, for the status Schema of a custom resource. */
export const Condition = Schema.Struct({
  type: Schema.String,
  status: Schema.Literals(["True", "False", "Unknown"]),
  /** One word in CamelCase, for programs. */
  reason: Schema.String,
  /** For people. */
  message: Schema.String,
  lastTransitionTime: Schema.String,
  observedGeneration: Schema.optionalKey(Schema.Int)
})
export type Condition = typeof Condition.Type

/** A condition as a controller states it. */
export interface Statement {
  readonly type: string
  readonly status: boolean | "Unknown"
  readonly reason: string
  readonly message?: string | undefined
}

/** The condition of that type, of any kind: those of a Pod or a Deployment have fields of their own. */
export const get = <C extends { readonly type: string }>(
  conditions: ReadonlyArray<C> | undefined,
  type: string
): C | undefined => conditions?.find((condition) => condition.type === type)

/** Whether there is a condition of that type, and it is true: `isTrue(pod.status?.conditions, "Ready")`. */
export const isTrue = (
  conditions: ReadonlyArray<{ readonly type: string; readonly status: string }> | undefined,
  type: string
): boolean => get(conditions, type)?.status === "True"

/** The list with a statement about the object at its generation, made at `now`; the same list if nothing changes. */
export const set = (
  conditions: ReadonlyArray<Condition> | undefined,
  statement: Statement,
  about: { readonly generation?: number | undefined },
  now: string
): ReadonlyArray<Condition> => {
  const list = conditions ?? []
  const old = get(list, statement.type)
  const status = statement.status === true ? "True" : statement.status === false ? "False" : "Unknown"
  const next: Condition = {
    type: statement.type,
    status,
    reason: statement.reason,
    message: statement.message ?? "",
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
    ...(about.generation === undefined ? {} : { observedGeneration: about.generation })
  }
  if (old === undefined) return [...list, next]
  return same(old, next) ? list : list.map((condition) => (condition === old ? next : condition))
}

const same = (a: Condition, b: Condition): boolean =>
  a.status === b.status && a.reason === b.reason && a.message === b.message &&
  a.lastTransitionTime === b.lastTransitionTime && a.observedGeneration === b.observedGeneration

export const remove = (
  conditions: ReadonlyArray<Condition> | undefined,
  type: string
): ReadonlyArray<Condition> => {
  const list = conditions ?? []
  return get(list, type) === undefined ? list : list.filter((condition) => condition.type !== type)
}

/** The list with several statements about an object, made at the current time of the Clock. */
export const state = (
  object: KubeObject,
  conditions: ReadonlyArray<Condition> | undefined,
  ...statements: ReadonlyArray<Statement>
): Effect.Effect<ReadonlyArray<Condition>> =>
  Effect.map(Clock.currentTimeMillis, (millis) => {
    const now = `${new Date(millis).toISOString().slice(0, 19)}Z`
    return statements.reduce(
      (list, statement) => set(list, statement, object.metadata, now),
      conditions ?? []
    )
  })
