/**
 * `KubeletApi`: the endpoints of simulated kubelets that the API server uses: `/containerLogs/NAMESPACE/POD/CONTAINER`
 * and `/exec/NAMESPACE/POD/CONTAINER`. A GET of the latter tells whether a command would be accepted: 501 if commands
 * never are.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet/server; k8s.io/kubelet/pkg/cri/streaming/remotecommand/exec.go.
 */
import type { ObjectRef } from "@effect-operator/core/KubeObject"
import type { Ended, Process, Request } from "@effect-operator/core/Transport"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type { Container, Pod } from "../../kinds/core.v1.ts"
import { ApiServer } from "../ApiServer.ts"
import type { Handler } from "../Backends.ts"
import type { ContainerLife } from "./PodLife.ts"
import * as PodLogs from "./PodLogs.ts"

/** A container, and the output of its runs by number of restarts. */
export interface Printing {
  readonly life: ContainerLife
  readonly output: (attempt: number) => string | undefined
  /** Runs a command; undefined if commands are not accepted. */
  readonly exec: ((command: ReadonlyArray<string>, stdin: string) => Effect.Effect<Executed>) | undefined
}

/** A command to run in a container. */
export interface Command {
  readonly pod: Pod
  readonly container: Container
  /** The program and its arguments. */
  readonly command: ReadonlyArray<string>
  /** Its complete standard input. */
  readonly stdin: string
}

/** The result of a command. */
export interface Executed {
  /** Empty by default, like `stderr`. */
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  /** 0 by default. */
  readonly exitCode?: number | undefined
}

export interface Options {
  /** Whether the node with this name answers at the moment. */
  readonly isServed: (node: string) => boolean
  readonly printing: (pod: ObjectRef, container: string) => Printing | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const handler = ({ now, printing }: Options): Handler => (request) =>
  Effect.suspend(() => {
    const { path, query } = request
    const [what, namespace, name = "", container = ""] = path.split("/").slice(1)
    const found = printing({ namespace, name }, container)
    if (what === "exec") return exec(found, container, request)
    if (what !== "containerLogs" || found === undefined) return Effect.succeed({ status: 404, body: "" })
    return Effect.succeed(Result.match(PodLogs.read(found.life, name, found.output, PodLogs.query(query, now())), {
      onFailure: (body) => ({ status: 400, body }),
      onSuccess: (body) => ({ status: 200, body })
    }))
  })

const exec = (
  found: Printing | undefined,
  container: string,
  { body, method, query }: Request
): ReturnType<Handler> => {
  if (found !== undefined && found.exec === undefined) return Effect.succeed({ status: 501, body: "" })
  if (found?.exec === undefined || found.life.state._tag !== "Running") {
    return Effect.succeed({ status: 500, body: `container not found (${JSON.stringify(container)})` })
  }
  if (method === "GET") return Effect.succeed({ status: 200, body: {} })
  const command = query.flatMap(([name, value]) => name === "command" ? [value] : [])
  const { stdin = "" } = (body ?? {}) as Process
  return Effect.map(found.exec(command, stdin), (executed) => ({ status: 200, body: ended(command, executed) }))
}

const ended = (command: ReadonlyArray<string>, { exitCode = 0, stderr = "", stdout = "" }: Executed): Ended => {
  const common = { kind: "Status", apiVersion: "v1", metadata: {} } as const
  const how = `error executing command [${command.join(" ")}], exit code ${exitCode}`
  return {
    stdout,
    stderr,
    status: exitCode === 0 ? { ...common, status: "Success" } : {
      ...common,
      status: "Failure",
      message: `command terminated with non-zero exit code: ${how}`,
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] }
    }
  }
}

/** Serves the nodes until the scope closes. Only a server in this process calls it. */
export const serve = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<void, never, Scope.Scope> {
  const answer = handler(options)
  const server = yield* Effect.serviceOption(ApiServer)
  if (Option.isNone(server)) return
  yield* server.value.host((target) =>
    "url" in target && options.isServed(URL.parse(target.url)?.hostname ?? "") ? answer : undefined
  )
})
