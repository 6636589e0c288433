/**
 * Plays the steps of a story. After each step it waits until the cluster has reached the expected state. The caller
 * decides how to read the cluster and how time passes between two reads: on a real cluster or in virtual time, with or
 * without narration.
 */
import { KubeClient, type KubeError, type KubeObject, type Resource } from "@effect-operator/core"
import { Data, Duration, Effect, Stream } from "effect"
import type { Step } from "./Example.ts"

type Objects = ReadonlyArray<KubeObject.KubeObject>

/** The cluster did not reach the state that a step expects; the message has its actual state. */
export class NotConverged extends Data.TaggedError("NotConverged")<{ readonly message: string }> {}

export interface Options<E, R> {
  /** The current objects that the story is about. */
  readonly look: Effect.Effect<Objects, E, R>
  /** The time between two reads, and the time limit of a step. */
  readonly every: Duration.Input
  readonly within: Duration.Input
  /** How time passes; by itself by default, while a test adjusts its clock. */
  readonly pass?: (time: Duration.Input) => Effect.Effect<void>
  readonly begun?: (step: Step) => Effect.Effect<void>
  readonly done?: (step: Step) => Effect.Effect<void>
}

export const perform = Effect.fnUntraced(function*<E, R>(steps: ReadonlyArray<Step>, options: Options<E, R>) {
  for (const step of steps) {
    if (options.begun !== undefined) yield* options.begun(step)
    const before = yield* options.look
    yield* step.act
    yield* converge(step, before, options)
    if (options.done !== undefined) yield* options.done(step)
  }
})

const converge = Effect.fnUntraced(
  function*<E, R>(step: Step, before: Objects, { every, look, pass = Effect.sleep, within }: Options<E, R>) {
    const end = Duration.toMillis(Duration.fromInputUnsafe(within))
    const between = Duration.toMillis(Duration.fromInputUnsafe(every))
    let objects = before
    for (let waited = 0; waited < end; waited += between) {
      yield* pass(every)
      objects = yield* look
      if (step.done(objects, before)) return
    }
    const there = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(", ")
    return yield* new NotConverged({
      message: `"${step.title}" did not converge within ${
        Duration.format(Duration.fromInputUnsafe(within))
      }; there are: ${there || "no objects"}`
    })
  }
)

/** The objects of these kinds, listed from the server. */
export const listed = (
  kinds: ReadonlyArray<Resource.Any>
): Effect.Effect<Objects, KubeError.KubeError, KubeClient.KubeClient> =>
  KubeClient.KubeClient.use((client) =>
    Effect.map(Effect.forEach(kinds, (resource) => Stream.runCollect(client.list(resource))), (lists) => lists.flat())
  )
