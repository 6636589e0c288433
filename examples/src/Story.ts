/**
 * Plays an example's story on the cluster of the client in context: installs the kinds, runs the operator, performs
 * step after step, and waits after each until the cluster has reached the expected state.
 */
import { Manager } from "@effect-operator/core"
import { Crd } from "@effect-operator/k8s"
import { Event } from "@effect-operator/k8s/kinds/events.v1"
import { Context, Effect, Layer } from "effect"
import type { Example } from "./Example.ts"
import { follow, paint, say } from "./Narrator.ts"
import * as Serving from "./Serving.ts"
import * as Steps from "./Steps.ts"

/** Defaults, unless options override them. */
export const defaults = {
  /** How long a step may take to converge, at least. */
  stepTimeout: "30 seconds",
  /** The time between two checks. The objects come from a cache, so a check sends no request. */
  pollInterval: "20 millis"
} as const

export interface Options {
  /** Whether the story removes at its end what it created. */
  readonly cleanup: boolean
  /** Runs when the story has ended, while the operator still runs. */
  readonly afterwards: Effect.Effect<void>
}

/** Installs the example's kinds, runs its operator and plays its story. */
export const play = Effect.fnUntraced(function*(example: Example, options: Options) {
  for (const resource of example.resources) {
    yield* Crd.install(resource)
    yield* say(`installed the CustomResourceDefinition of ${resource.kind} (${resource.plural}.${resource.group})`)
  }
  if (example.serves !== undefined) yield* Serving.beside(example.serves)
  const manager = Context.get(yield* Layer.build(Manager.layer(example.controllers)), Manager.Manager)
  const { objects } = yield* follow([...example.follows, Event], (object) =>
    object.kind === "Event"
      ? example.controllers.some(({ name }) => name === (object as Event).reportingController)
      : example.concerns(object))

  const story = Effect.gen(function*() {
    yield* manager.ready
    yield* say(`the ${example.name} operator runs, its caches are in sync`)
    yield* Steps.perform(example.story.filter(({ cleanup }) => options.cleanup || cleanup !== true), {
      look: Effect.sync(objects),
      every: defaults.pollInterval,
      within: defaults.stepTimeout,
      begun: ({ title }) => say(paint("cyan", `> ${title}`)),
      done: ({ title }) => say(paint("bold", `✓ ${title}`))
    })
    yield* options.afterwards
  })
  yield* Effect.raceFirst(story, manager.failure)
}, Effect.scoped)
