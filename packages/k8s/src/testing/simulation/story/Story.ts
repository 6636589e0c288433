/**
 * `Story`: the part of a scenario that is run: some of its steps, followed by drawn changes.
 *
 * A story is plain JSON: a token contains all of it, and shrinking makes it smaller.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Resource from "@effect-operator/core/Resource"
import * as Effect from "effect/Effect"
import type { Change, Draws, Scenario, Step } from "../Scenario.ts"
import { name } from "./Draw.ts"

export interface Story {
  /** Number of first steps that have no faults; a `Checkpoint` follows them. */
  readonly given: number
  /** Steps of the scenario, by their numbers. */
  readonly steps: ReadonlyArray<number>
  readonly changes: ReadonlyArray<Change>
}

/** All steps, and these changes. */
export const whole = ({ steps }: Scenario, changes: ReadonlyArray<Change> = []): Story => ({
  given: 0,
  steps: steps.map((_, index) => index),
  changes
})

/** Only its first steps. */
export const beginning = ({ changes, given, steps }: Story, length: number): Story => ({
  given: Math.min(given, length),
  steps: steps.slice(0, length),
  changes: changes.slice(0, Math.max(0, length - steps.length))
})

/** The number of steps and changes. */
export const lengthOf = ({ changes, steps }: Story): number => steps.length + changes.length

/** Stories are the same if their keys are. */
export const key = ({ changes, given, steps }: Story): string => JSON.stringify([given, steps, changes])

/** The same without one of the scenario's steps. */
export const without = ({ changes, given, steps }: Story, step: number): Story => ({
  given: steps.indexOf(step) < given ? given - 1 : given,
  steps: steps.filter((other) => other !== step),
  changes
})

const stepOf = ({ desired, resource }: Draws, change: Change): Step => {
  const kind = Resource.make<KubeObject>()({
    group: resource.group,
    version: resource.version,
    kind: resource.kind,
    plural: resource.plural,
    scope: resource.scope
  })
  const ref = resource.scope === "Namespaced" ? { namespace: "default", name } : { name }
  const named = `${resource.kind} ${name}`
  if (change === null) {
    const act = KubeClient.use((client) => client.delete(kind, ref)).pipe(
      Effect.catchReason("KubeError", "NotFound", () => Effect.void)
    )
    return { name: `delete ${named}`, act, desired }
  }
  const act = KubeClient.use((client) =>
    client.create(kind, { apiVersion: resource.apiVersion, kind: resource.kind, metadata: ref, spec: change } as never)
      .pipe(
        Effect.catchReason(
          "KubeError",
          "AlreadyExists",
          () => client.patch(kind, ref, Patch.json([{ op: "replace", path: "/spec", value: change }]))
        )
      )
  )
  return { name: `${named}: ${JSON.stringify(change)}`, act, desired }
}

/** The scenario with the steps and changes of the story. */
export const tell = (scenario: Scenario, { changes, steps }: Story): Scenario => {
  const { draws } = scenario
  const drawn = draws === undefined ? [] : changes.map((change) => stepOf(draws, change))
  return { ...scenario, draws: undefined, steps: [...steps.flatMap((index) => scenario.steps[index] ?? []), ...drawn] }
}
