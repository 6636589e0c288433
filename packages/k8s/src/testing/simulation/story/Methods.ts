/**
 * `it.effect.converges`: simulations as tests of a test framework's `it`.
 *
 * ```ts
 * import { it as base } from "@effect/vitest"
 *
 * const it = Simulation.extend(base)
 *
 * it.effect.converges("podset", {
 *   resource: PodSet,
 *   operator: Manager.layer([controller]),
 *   desired: (podSet, objects) => podsOf(objects).length === (podSet?.spec.replicas ?? 0)
 * })
 * ```
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Effect from "effect/Effect"
import type { Scenario } from "../Scenario.ts"
import * as Draw from "./Draw.ts"

/** `it.live` of a test framework. */
export type Test<E> = (name: string, run: () => Effect.Effect<unknown, E>, timeout: number) => void

/** An operator of one kind, whose stories are drawn from the kind's Schema; `resources` are additional kinds. */
export interface OfKind<A extends KubeObject>
  extends Draw.Options<A>, Omit<Scenario, "name" | "resources" | "steps" | "draws">
{
  readonly resource: CustomResource<A>
  readonly resources?: Scenario["resources"] | undefined
}

/** A scenario without its name, or an operator of one kind. */
export type Subject<A extends KubeObject> = Omit<Scenario, "name"> | OfKind<A>

/** Registers the test `<name> converges`: see `Simulation.converges`. */
export type Converges<O> = <A extends KubeObject>(name: string, subject: Subject<A>, options?: O) => void

/** The scenario of a subject. */
export const scenarioOf = <A extends KubeObject>(name: string, subject: Subject<A>): Scenario => {
  if (!("resource" in subject)) return { ...subject, name }
  const { desired, resource, resources = [], spec, ...rest } = subject
  return {
    ...rest,
    name,
    resources: [resource, ...resources],
    steps: [],
    draws: Draw.draws(resource, { desired, spec })
  }
}

/** The same `it`, with `converges` on its `effect`. */
export const extended = <E, O, It extends { readonly live: Test<E>; readonly effect: object }>(
  it: It,
  register: (test: Test<E>) => (scenario: Scenario, options?: O) => void
): It & { readonly effect: { readonly converges: Converges<O> } } => {
  const converges: Converges<O> = (name, subject, options) =>
    register((title, run, timeout) => it.live(title, run, timeout))(scenarioOf(name, subject), options)
  return withMembers(it, { effect: withMembers(it.effect, { converges }) })
}

/** The object or function with additional members; everything else is unchanged. */
const withMembers = <A extends object, B extends object>(base: A, more: B): A & B =>
  new Proxy(base, {
    get: (target, key) => Object.hasOwn(more, key) ? Reflect.get(more, key) : Reflect.get(target, key)
  }) as A & B
