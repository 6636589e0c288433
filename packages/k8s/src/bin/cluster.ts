#!/usr/bin/env node
/**
 * `npm run cluster -- --port P --kubeconfig FILE`: a cluster in one process, for kubectl and any operator.
 *
 * Serves the in-memory API server over HTTPS on 127.0.0.1 with the simulated controllers, in real time; writes a
 * kubeconfig that only its owner can read; prints `ready https://127.0.0.1:PORT` and what to try next; runs until
 * SIGINT or SIGTERM, then exits 0. Nothing is kept: the next run starts empty.
 *
 * A file that holds anything but a kubeconfig of this program is not overwritten: it may be somebody's credentials.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as CliError from "effect/cli/CliError"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Os from "node:os"
import * as Path from "node:path"
import { exitCode } from "../Main.ts"
import { ApiServer } from "../testing/ApiServer.ts"
import * as HttpFacade from "../testing/HttpFacade.ts"
import * as SimControllers from "../testing/SimControllers.ts"
import * as TestClient from "../testing/TestClient.ts"

const Port = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: 65_535 }, { message: "Expected a port between 0 and 65535" })
)

const port = Flag.Int("port").pipe(
  Flag.withDescription("Port of 127.0.0.1 to listen on; 0 for a free one"),
  Flag.withSchema(Port),
  Flag.withDefault(0)
)

const kubeconfig = Flag.String("kubeconfig").pipe(
  Flag.withDescription("File to write the kubeconfig to; by default one in the directory for temporary files"),
  Flag.withMetavar("FILE"),
  Flag.optional
)

const userError = (message: string) => new CliError.UserError({ cause: message, userMessage: message })

const cannotWrite = (file: string) => ({ message, reason }: PlatformError.PlatformError) =>
  userError(`cannot write the kubeconfig ${file}: ${reason.cause instanceof Error ? reason.cause.message : message}`)

/** Readable and writable by its owner only, also where the file was there before. */
const writeKubeconfig = Effect.fnUntraced(function*(file: string, text: string) {
  const files = yield* FileSystem.FileSystem
  const before = yield* files.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed("")),
    Effect.mapError(cannotWrite(file))
  )
  if (before.trim() !== "" && !before.includes(`current-context: ${HttpFacade.defaults.contextName}`)) {
    return yield* userError(`${file} is not a kubeconfig of this program and is not overwritten; name another file`)
  }
  yield* Effect.mapError(
    Effect.andThen(files.writeFileString(file, text, { mode: 0o600 }), files.chmod(file, 0o600)),
    cannotWrite(file)
  )
})

const announce = (url: string, file: string) =>
  Console.log([
    `ready ${url}`,
    "",
    "  Try it:",
    `    export KUBECONFIG=${file}`,
    "    kubectl get namespaces",
    "    kubectl create deployment web --image=nginx --replicas=3 && kubectl rollout status deployment/web",
    "    kubectl get all",
    "",
    "  Pods start within a second and run nothing. Ctrl-C ends the cluster; nothing is kept."
  ].join("\n"))

const controllers = Layer.unwrap(Effect.map(HttpFacade.HttpFacade, ({ caPem }) =>
  SimControllers.layer({
    kubelet: { registerNodes: true },
    with: SimControllers.onRequest,
    serviceAccounts: { rootCa: caPem }
  })))

const cluster = (port: number) =>
  controllers.pipe(
    Layer.provideMerge(HttpFacade.layer({ port })),
    Layer.provide(TestClient.layer),
    Layer.provide(ApiServer.layer)
  )

const serve = Effect.fnUntraced(function*(kubeconfig: Option.Option<string>) {
  const facade = yield* HttpFacade.HttpFacade
  const file = Path.resolve(
    Option.getOrElse(kubeconfig, () => Path.join(Os.tmpdir(), `effect-operator-${facade.port}.kubeconfig`))
  )
  yield* writeKubeconfig(file, facade.kubeconfig)
  yield* announce(facade.url, file)
  return yield* Effect.never
})

const command = Command.make(
  "cluster",
  { port, kubeconfig },
  (options) =>
    serve(options.kubeconfig).pipe(
      Effect.provide(cluster(options.port)),
      Effect.catchTag("ListenFailed", ({ message }) => Effect.fail(userError(message)))
    )
).pipe(Command.withDescription("Serves an in-memory Kubernetes cluster on this machine"))

Command.run(command, { version: "0.1.0" }).pipe(
  // The command tells the user of every failure; a defect is ours to tell.
  Effect.tapCause((cause) => Cause.hasDies(cause) ? Console.error(Cause.pretty(cause)) : Effect.void),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(exitCode(exit, true))
  })
)
