/**
 * `Server`: the API server with which the runs of a scenario begin: one with the scenario's kinds and hooks installed.
 *
 * It is created once for each list of kinds and hooks, and all runs share it as an image.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Request, Transport } from "@effect-operator/core/Transport"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Representation from "../../../api/Representation.ts"
import { type ApiResponse, ApiServer, type Image } from "../../ApiServer.ts"
import * as Declared from "../../Declared.ts"
import * as TestClient from "../../TestClient.ts"
import * as TestWebhooks from "../../TestWebhooks.ts"
import type { Scenario } from "../Scenario.ts"
import { World } from "./World.ts"

/** Runs a program to its end, however long it takes. */
export const complete = <A, E>(world: World, program: Effect.Effect<A, E>): A => {
  const fiber = world.fork(program)
  world.settle()
  for (let waited = 0; fiber.pollUnsafe() === undefined && waited < 600; waited++) world.advance(100)
  const exit = fiber.pollUnsafe()
  if (exit === undefined) throw new Error("the program waits for something outside the simulation")
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  return exit.value
}

/** What is installed on a server. */
type Installed = Pick<Scenario, "resources" | "webhooks">

/** Serves conversions and hooks until the scope closes. What a hook logs, its caller gets as its response, too. */
export const served = ({ resources, webhooks = [] }: Installed) =>
  Effect.andThen(Declared.serve(resources), TestWebhooks.serve(webhooks)).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )

/** The images of new servers with these kinds, and these hooks. */
const images = new WeakMap<Scenario["resources"], Map<Scenario["webhooks"], Image>>()

export const imageOf = ({ resources, webhooks }: Installed): Image => {
  const known = images.get(resources) ?? new Map<Scenario["webhooks"], Image>()
  images.set(resources, known)
  let image = known.get(webhooks)
  if (image === undefined) {
    const world = new World({ seed: 0, interleaving: 0 })
    const install = Effect.andThen(Declared.install(resources), TestWebhooks.install(webhooks ?? []))
    image = complete(
      world,
      Effect.andThen(install, ApiServer.use((server) => server.image)).pipe(
        Effect.provide(Layer.fresh(Layer.provideMerge(TestClient.layer, ApiServer.layer))),
        Effect.scoped
      )
    )
    known.set(webhooks, image)
  }
  return image
}

/** This many writes get versions with as many digits as the image's, or one more; later versions are longer. */
const short = 5

/** In another order of tasks, as many at most: versions become longer elsewhere in the story. */
const longest = 60

/**
 * The image for a run of a seed. Nothing may depend on how much a server has seen before: runs of successive seeds have
 * different versions. In each run versions become longer, so a program that compares them as texts takes the newer one
 * for the older. Without another order of tasks that is early, and always at the same place: what goes wrong there goes
 * wrong in the run without faults, too, and only the runs in which it is elsewhere differ from that.
 */
export const begun = (image: Image, seed: number, interleaving = 0): Image => {
  const writes = interleaving === 0 ? short : 1 + interleaving % longest
  const digits = String(image.revision + longest).length + (seed % 2 === 0 ? 1 : 0)
  return { ...image, revision: 10 ** digits - writes }
}

/** The transport to a server; `tell` gets the uid of each object that is created through it. */
export const making = (server: ApiServer["Service"], tell: (uid: string) => void): Transport["Service"] => ({
  request: (request) =>
    Effect.tap(server.handle(request), ({ body, status }) =>
      Effect.sync(() => {
        const { uid } = (body as Partial<KubeObject> | undefined)?.metadata ?? {}
        if (status === 201 && uid !== undefined) tell(uid)
      })),
  stream: (request) => Effect.map(server.handle(request), (response) => Representation.streamed(request, response))
})

/** Where an object is stored, as one string. */
export const placeOf = (collection: string, key: string): string => `${collection} ${key}`

const inhabitants = new WeakMap<Image, ReadonlyMap<string, KubeObject>>()

/** The objects that a server has from its start and that stories may be about, by place: its namespaces. */
export const inhabitantsOf = (image: Image): ReadonlyMap<string, KubeObject> => {
  let objects = inhabitants.get(image)
  if (objects === undefined) {
    const all = [...image.collections].flatMap(([collection, objects]) =>
      [...objects].map(([key, object]) => [placeOf(collection, key), object] as const)
    )
    objects = new Map(all.filter(([, { kind }]) => kind === "Namespace"))
    inhabitants.set(image, objects)
  }
  return objects
}

const contentTypes: Readonly<Record<string, string>> = { PATCH: "application/json-patch+json" }

/** A separate server without controllers that answers at once. */
export const make = (
  installed: Installed
): (method: Request["method"], path: string, body?: unknown) => ApiResponse => {
  const image = imageOf(installed)
  const world = new World({ seed: 0, interleaving: 0 })
  const layer = Layer.effectDiscard(served(installed)).pipe(
    Layer.provideMerge(TestClient.layer),
    Layer.provideMerge(ApiServer.layerOptions({ image }))
  )
  const server = Context.get(complete(world, Layer.buildWithScope(layer, Scope.makeUnsafe())), ApiServer)
  return (method, path, body) =>
    complete(
      world,
      server.handle({
        method,
        path,
        query: [],
        headers: { "content-type": contentTypes[method] ?? "application/json" },
        body
      })
    )
}
