/**
 * `PodLogs`: a kubelet's answers to requests for logs.
 *
 * A container prints the output of its script when it starts to run, and nothing more. Logs cannot be followed: a
 * response ends with what there is.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet (`validateContainerLogStatus`), kuberuntime/logs.
 */
import * as Result from "effect/Result"
import type { ContainerLife } from "./PodLife.ts"

/** The options of a request. */
export interface Query {
  /** Whether the logs of the previous run are requested. */
  readonly previous: boolean
  /** Whether each line is preceded by its time. */
  readonly timestamps: boolean
  /** Milliseconds since 1970. */
  readonly since: number
  readonly tailLines: number
  readonly limitBytes: number
}

/** The query of a request to a kubelet. */
export const query = (parameters: ReadonlyArray<readonly [string, string]>, now: number): Query => {
  const text = new Map(parameters)
  const is = (name: string) => text.get(name) === "true" || text.get(name) === "1"
  const number = (name: string) => Number(text.get(name) ?? Infinity)
  const sinceTime = text.get("sinceTime")
  return {
    previous: is("previous"),
    timestamps: is("timestamps"),
    since: sinceTime === undefined ? now - number("sinceSeconds") * 1000 : Date.parse(sinceTime),
    tailLines: number("tailLines"),
    limitBytes: number("limitBytes")
  }
}

/** A run of a container: the number of restarts before it, and its start time. */
interface Run {
  readonly attempt: number
  readonly startedAt: number
}

const waiting: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: "trying and failing to pull image"
}

const runOf = ({ container, last, restarts, state }: ContainerLife, pod: string, previous: boolean) => {
  const before = (attempt: number) => last === undefined ? undefined : { attempt, startedAt: last.startedAt }
  const found: Run | undefined = previous
    ? before(state._tag === "Waiting" ? restarts : restarts - 1)
    : state._tag === "Running"
    ? { attempt: restarts, startedAt: state.startedAt }
    : state._tag === "Terminated"
    ? { attempt: restarts, startedAt: state.ended.startedAt }
    : before(restarts)
  if (found !== undefined) return Result.succeed(found)
  const subject = `container ${JSON.stringify(container.name)} in pod ${JSON.stringify(pod)}`
  return Result.fail(
    previous || state._tag !== "Waiting"
      ? `previous terminated ${subject} not found`
      : `${subject} is waiting to start: ${waiting[state.reason] ?? state.reason}`
  )
}

const nanos = (millis: number): string => new Date(millis).toISOString().replace("Z", "000000Z")

/** The logs of a container, or why there are none. */
export const read = (
  life: ContainerLife,
  pod: string,
  outputOf: (attempt: number) => string | undefined,
  { limitBytes, previous, since, tailLines, timestamps }: Query
): Result.Result<string, string> =>
  Result.map(runOf(life, pod, previous), ({ attempt, startedAt }) => {
    const output = startedAt < since ? "" : outputOf(attempt) ?? ""
    const all = output.split(/(?<=\n)/).filter((line) => line !== "")
    const some = tailLines === Infinity ? all : all.slice(all.length - Math.min(tailLines, all.length))
    const text = some.map((line) => timestamps ? `${nanos(startedAt)} ${line}` : line).join("")
    return limitBytes === Infinity ? text : Buffer.from(text).subarray(0, limitBytes).toString()
  })
