/**
 * `npm start`: shows an operator at work, with nothing else installed: an in-memory API server on a loopback port, an
 * operator that reaches it over HTTPS with the live client, and a story that shows what the operator does.
 */
import { LiveClient, Main } from "@effect-operator/k8s"
import { ApiServer, HttpFacade, SimControllers, TestClient } from "@effect-operator/k8s/testing"
import { NodeServices } from "@effect/platform-node"
import { Effect, FileSystem, Layer, Option, References } from "effect"
import { Command, Flag } from "effect/cli"
import type { Example } from "./Example.ts"
import { examples } from "./examples.ts"
import { paint, print, say } from "./Narrator.ts"
import { NotConverged } from "./Steps.ts"
import * as Story from "./Story.ts"

/** The time limit for everything with `--once`. */
const onceTimeout = "60 seconds"

/** Runs the operator and plays its story. Keeps running afterwards unless `once`. */
const tell = (example: Example, once: boolean, kubectl: string) => {
  const keepRunning = Effect.andThen(
    say("the operator keeps running; try it from another terminal, Ctrl-C stops it:"),
    Effect.andThen(
      Effect.forEach(example.tryIt, (line) => print(`    ${line.replace("kubectl", kubectl)}`), { discard: true }),
      Effect.never
    )
  )
  const watchIt = say(`watch it from another terminal: ${example.tryIt[0]!.replace("kubectl", kubectl)}`)
  const told = Effect.andThen(
    watchIt,
    Story.play(example, { cleanup: once, afterwards: once ? Effect.void : keepRunning })
  )
  return once
    ? told.pipe(
      Effect.timeoutOrElse({
        duration: onceTimeout,
        orElse: () => Effect.fail(new NotConverged({ message: `the story was not over within ${onceTimeout}` }))
      }),
      Effect.andThen(say(paint("green", `converged: the ${example.name} operator did what it should`)))
    )
    : told
}

/** The in-memory server, served over HTTPS, and a client for it. */
const memory = ({ kubelet }: Example) =>
  HttpFacade.layer().pipe(
    Layer.provideMerge(SimControllers.layer({ kubelet }).pipe(Layer.provide(TestClient.layer))),
    Layer.provide(ApiServer.ApiServer.layer)
  )

const onMemory = Effect.fnUntraced(
  function*(example: Example, once: boolean) {
    const facade = yield* HttpFacade.HttpFacade
    const fs = yield* FileSystem.FileSystem
    const directory = yield* fs.makeTempDirectoryScoped({ prefix: "effect-operator-" })
    const file = `${directory}/kubeconfig`
    yield* fs.writeFileString(file, facade.kubeconfig, { mode: 0o600 })
    yield* say(`an in-memory Kubernetes API server runs at ${facade.url}`)
    yield* tell(example, once, `kubectl --kubeconfig ${file}`).pipe(
      Effect.provide(LiveClient.layerOptions({ kubeconfig: facade.kubeconfig }))
    )
  },
  (told, example) => Effect.provide(told, memory(example)),
  Effect.scoped
)

const onCluster = (example: Example, once: boolean, context: string) =>
  Effect.andThen(
    say(`the operator runs here, against the cluster of context ${context}`),
    tell(example, once, `kubectl --context ${context}`)
  ).pipe(Effect.provide(LiveClient.layerOptions({ context })))

const command = Command.make("start", {
  example: Flag.Literals("example", examples.map(({ name }) => name)).pipe(
    Flag.withDescription("Which operator to run"),
    Flag.withDefault("autoscaler")
  ),
  once: Flag.Boolean("once").pipe(
    Flag.withDescription("Stop once the story is told: exit code 0 if everything converged within 60 s"),
    Flag.withDefault(false)
  ),
  context: Flag.String("context").pipe(
    Flag.withDescription("Use this context of your kubeconfig instead of the in-memory API server"),
    Flag.optional
  )
}, ({ context, example: name, once }) => {
  const example = examples.find((example) => example.name === name)!
  return Option.isSome(context) ? onCluster(example, once, context.value) : onMemory(example, once)
}).pipe(Command.withDescription("Runs an example operator and shows what it does"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  Effect.provide(NodeServices.layer),
  Main.makeRunMain({ report: Main.reportToPerson("start") })
)
