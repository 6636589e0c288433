/**
 * `KubeletApi`: what an API server asks the kubelets of simulated nodes: `/containerLogs/NAMESPACE/POD/CONTAINER`.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet/server.
 */
import type { ObjectRef } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { ApiServer } from "../ApiServer.ts"
import type { Handler } from "../Backends.ts"
import type { ContainerLife } from "./PodLife.ts"
import * as PodLogs from "./PodLogs.ts"

/** A container, and what its runs print: that which was restarted so often before. */
export interface Printing {
  readonly life: ContainerLife
  readonly output: (attempt: number) => string | undefined
}

export interface Options {
  /** Whether a node of that name answers now. */
  readonly isServed: (node: string) => boolean
  readonly printing: (pod: ObjectRef, container: string) => Printing | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const handler = ({ now, printing }: Options): Handler => ({ path, query }) =>
  Effect.sync(() => {
    const [what, namespace, name = "", container = ""] = path.split("/").slice(1)
    const found = what === "containerLogs" ? printing({ namespace, name }, container) : undefined
    if (found === undefined) return { status: 404, body: "" }
    return Result.match(PodLogs.read(found.life, name, found.output, PodLogs.query(query, now())), {
      onFailure: (body) => ({ status: 400, body }),
      onSuccess: (body) => ({ status: 200, body })
    })
  })

/** Answers for the nodes until the scope closes. A server that is not in this process asks nobody here. */
export const serve = Effect.fnUntraced(function*(options: Options): Effect.fn.Return<void, never, Scope.Scope> {
  const answer = handler(options)
  const server = yield* Effect.serviceOption(ApiServer)
  if (Option.isNone(server)) return
  yield* server.value.host((url) => options.isServed(URL.parse(url)?.hostname ?? "") ? answer : undefined)
})
