/**
 * `KubeletApi`: what an API server asks the kubelets of simulated nodes: `/containerLogs/NAMESPACE/POD/CONTAINER` and
 * `/exec/NAMESPACE/POD/CONTAINER`, which tells by a GET whether a command would be taken: 501 where none ever is.
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

/** A container, and what its runs print: that which was restarted so often before. */
export interface Printing {
  readonly life: ContainerLife
  readonly output: (attempt: number) => string | undefined
  /** What comes of a command; undefined where none is taken. */
  readonly exec: ((command: ReadonlyArray<string>, stdin: string) => Effect.Effect<Executed>) | undefined
}

/** A command that somebody has a container carry out. */
export interface Command {
  readonly pod: Pod
  readonly container: Container
  /** The program, and its arguments. */
  readonly command: ReadonlyArray<string>
  /** All that it reads from its standard input. */
  readonly stdin: string
}

/** What a command has come to. */
export interface Executed {
  /** Nothing by default, here and there. */
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  /** 0 by default. */
  readonly exitCode?: number | undefined
}

export interface Options {
  /** Whether a node of that name answers now. */
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

/** Answers for the nodes until the scope closes. A server that is not in this process asks nobody here. */
export const serve = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<void, never, Scope.Scope> {
  const answer = handler(options)
  const server = yield* Effect.serviceOption(ApiServer)
  if (Option.isNone(server)) return
  yield* server.value.host((url) => options.isServed(URL.parse(url)?.hostname ?? "") ? answer : undefined)
})
