/**
 * `InMemory`: a cluster in this process, served over HTTPS, with all simulated controllers, and a kubeconfig for it.
 *
 * `cluster` serves it until it is stopped, `dev` for as long as it runs.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Yaml from "yaml"
import type { Pod } from "../kinds/core.v1.ts"
import { ApiServer } from "../testing/ApiServer.ts"
import * as HttpFacade from "../testing/HttpFacade.ts"
import * as SimControllers from "../testing/SimControllers.ts"
import * as TestClient from "../testing/TestClient.ts"
import * as Failure from "./Failure.ts"
import { quoted } from "./quoted.ts"
import { serves } from "./Serves.ts"

export const defaults = {
  /** How long the Pods of Jobs run. */
  jobTime: "3 seconds",
  /** The minimum time for which history is kept for watches and the pages of lists; at most twice as long. */
  compactionInterval: "5 minutes"
} as const

/** Whether a kubeconfig has nothing but what this program writes: others may have been merged into it. */
const isOwn = (text: string): boolean => {
  try {
    const config = Yaml.parse(text) as Readonly<Record<string, ReadonlyArray<{ readonly name?: unknown }>>>
    return ["clusters", "users", "contexts"].every((field) =>
      config[field]?.length === 1 && config[field][0]?.name === HttpFacade.defaults.contextName
    )
  } catch {
    return false
  }
}

/** Writes a file that only its owner can read and write, even if it existed before. */
export const writeKubeconfig = Effect.fnUntraced(function*(file: string, text: string) {
  const files = yield* FileSystem.FileSystem
  const cannotWrite = Failure.ofFile("write the kubeconfig", file)
  const before = yield* files.readFileString(file).pipe(
    Effect.catchReason("PlatformError", "NotFound", () => Effect.succeed("")),
    Effect.mapError(cannotWrite)
  )
  if (before.trim() !== "" && !isOwn(before)) {
    return yield* Failure.make(
      `${file} was not written by this program and is not overwritten: choose another file`
    )
  }
  yield* Effect.mapError(
    Effect.andThen(files.writeFileString(file, text, { mode: 0o600 }), files.chmod(file, 0o600)),
    cannotWrite
  )
})

/** The given file, or a default one for this port. */
export const kubeconfigFile = (named: Option.Option<string>, port: number): string =>
  Path.resolve(Option.getOrElse(named, () => Path.join(Os.tmpdir(), `effect-operator-${port}.kubeconfig`)))

const announce = (url: string, file: string) =>
  Console.log([
    `ready ${url}`,
    "",
    "  Try it:",
    `    export KUBECONFIG=${quoted(file)}`,
    "    kubectl get namespaces",
    "    kubectl create deployment web --image=nginx --replicas=3 && kubectl rollout status deployment/web",
    "    kubectl get all",
    "",
    "  Pods start within a second and run nothing. Ctrl-C ends the cluster; nothing is kept."
  ].join("\n"))

const ending = ({ metadata }: Pod) =>
  metadata.ownerReferences?.some(({ kind }) => kind === "Job") === true
    ? { after: defaults.jobTime, exitCode: 0 }
    : undefined

const controllers = Layer.unwrap(Effect.map(HttpFacade.HttpFacade, ({ caPem }) =>
  SimControllers.layer({
    kubelet: { registerNodes: true, ending },
    with: SimControllers.onRequest,
    serviceAccounts: { rootCa: caPem }
  })))

/** The cluster on a port, for as long as the layer lives. */
export const layer = (options: HttpFacade.Options) =>
  controllers.pipe(
    Layer.provideMerge(HttpFacade.layer(options)),
    Layer.provideMerge(TestClient.layer),
    Layer.provideMerge(ApiServer.layerOptions({ compactionInterval: defaults.compactionInterval }))
  )

/** The failure if the port is taken. */
export const taken = ({ message }: HttpFacade.ListenFailed) => Effect.fail(Failure.make(message))

const announced = Effect.fnUntraced(function*(kubeconfig: Option.Option<string>) {
  const facade = yield* HttpFacade.HttpFacade
  const file = kubeconfigFile(kubeconfig, facade.port)
  yield* writeKubeconfig(file, facade.kubeconfig)
  yield* announce(facade.url, file)
  return yield* Effect.never
})

/** Serves until it is interrupted. */
export const serve = (options: { readonly port: number; readonly kubeconfig: Option.Option<string> }) =>
  Effect.andThen(serves, announced(options.kubeconfig)).pipe(
    Effect.provide(layer({ port: options.port })),
    Effect.catchTag("ListenFailed", taken)
  )
