/**
 * Plays an example's story on whatever cluster the client in context reaches: installs the kinds, runs the operator,
 * does step after step, and waits after each until the cluster is as it should be.
 */
import { type KubeObject, Manager } from "@effect-operator/core"
import { Crd } from "@effect-operator/k8s"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Context, Data, Duration, Effect, Layer } from "effect"
import type { Example, Step } from "./Example.ts"
import { follow, paint, say } from "./Narrator.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** How long one step may take to converge. */
  stepTimeout: "30 seconds",
  /** Between two looks at whether it has; the objects are cached, so a look is no request. */
  pollInterval: "20 millis"
} as const

export interface Options {
  /** Whether the story removes at its end what it made. */
  readonly cleanup: boolean
  /** What to do when the story is told, while the operator still runs. */
  readonly afterwards: Effect.Effect<void>
}

/** The cluster did not become what a step of the story says; the message has what it is instead. */
export class NotConverged extends Data.TaggedError("NotConverged")<{ readonly message: string }> {}

const notConverged = (step: Step, objects: ReadonlyArray<KubeObject.KubeObject>) =>
  new NotConverged({
    message: `"${step.title}" did not converge within ${defaults.stepTimeout}; there are: ${
      objects.map((object) => `${object.kind} ${object.metadata.name}`).join(", ") || "no objects"
    }`
  })

/** Installs the example's kinds, runs its operator and tells its story. */
export const play = Effect.fnUntraced(function*(example: Example, options: Options) {
  for (const resource of example.resources) {
    yield* Crd.install(resource)
    yield* say(`installed the CustomResourceDefinition of ${resource.kind} (${resource.plural}.${resource.group})`)
  }
  const manager = Context.get(yield* Layer.build(Manager.layer(example.controllers)), Manager.Manager)
  const { objects } = yield* follow([...example.follows, Event], (object) =>
    object.kind === "Event"
      ? example.controllers.some(({ name }) => name === (object as Event).reportingController)
      : example.concerns(object))

  const story = Effect.gen(function*() {
    yield* manager.ready
    yield* say(`the ${example.name} operator runs, its caches are in sync`)
    for (const step of example.story.filter(({ cleanup }) => options.cleanup || cleanup !== true)) {
      yield* say(paint("cyan", `> ${step.title}`))
      const before = objects()
      yield* step.act
      yield* Effect.sleep(defaults.pollInterval).pipe(
        Effect.repeat({ until: () => step.done(objects(), before) }),
        Effect.timeoutOrElse({
          duration: Duration.fromInputUnsafe(defaults.stepTimeout),
          orElse: () => Effect.fail(notConverged(step, objects()))
        })
      )
      yield* say(paint("bold", `✓ ${step.title}`))
    }
    yield* options.afterwards
  })
  yield* Effect.raceFirst(story, manager.failure)
}, Effect.scoped)
