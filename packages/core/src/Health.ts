/**
 * `Health`: turns a manager's report into named checks for the kubelet.
 *
 * Ready means that the program can do its work: every watch has its list and is not degraded, every lease can be read
 * and written, every controller has its caches, and nobody has asked the process to stop. A failing check says what is
 * wrong and why, and recovers by itself when the kind or the permission is there again. A standby is ready: it waits as
 * it should.
 *
 * Alive means that a restart would not help. Only the end of a background part is a reason to restart. A cluster that
 * cannot be reached is none, and a restart of all operators is the last thing it needs.
 *
 * `answer` works like an endpoint of the kube-apiserver: `?verbose`, `?exclude=name`, and a single check by its name.
 */
import type * as Manager from "./Manager.ts"
import { hint } from "./Reflector.ts"

export interface Check {
  readonly name: string
  /** What is wrong; undefined if all is well. */
  readonly failure: string | undefined
}

export type Watch = Pick<
  Manager.Report["watches"][number],
  "resource" | "plural" | "namespace" | "selector" | "cluster"
>

/** `watch:pods`, `watch:widgets.test.io@shop[app=web]`: distinct for distinct watches of a manager. */
export const watchName = ({ cluster, namespace, plural, selector }: Watch): string =>
  `watch:${plural}${namespace === undefined ? "" : `@${namespace}`}${selector === "" ? "" : `[${selector}]`}${
    cluster === undefined ? "" : `/${cluster}`
  }`

const ping: Check = { name: "ping", failure: undefined }

/** Whether the process can do its work. */
export const readiness = (report: Manager.Report): ReadonlyArray<Check> => [
  ping,
  { name: "shutdown", failure: report.stopping ? "the process is stopping" : undefined },
  ...report.watches.map((watch) => ({ name: watchName(watch), failure: watchFailure(watch) })),
  ...report.leases.map(({ lease, trouble }) => ({ name: `lease:${lease}`, failure: trouble })),
  ...report.controllers.map(({ name, waitingFor }) => ({
    name: `controller:${name}`,
    failure: waitingFor.length === 0 ? undefined : `waiting for ${waitingFor.join("; ")}`
  }))
]

/** Whether the process works at all. */
export const liveness = (report: Manager.Report): ReadonlyArray<Check> => [
  ping,
  { name: "parts", failure: report.failed }
]

const watchFailure = ({ plural, status, synced }: Manager.Report["watches"][number]): string | undefined => {
  if (status._tag === "Degraded") {
    const { _tag, message } = status.reason
    return `${_tag}: ${message}${hint(status.reason, plural)}, since ${new Date(status.since).toISOString()}`
  }
  return synced ? undefined : "the API server has not answered the list request"
}

/** A request to an endpoint. */
export interface Question {
  /** `readyz`, as it appears in the response text. */
  readonly endpoint: string
  /** Only this check, by name; empty for all. */
  readonly only?: string | undefined
  readonly verbose?: boolean | undefined
  readonly exclude?: ReadonlyArray<string> | undefined
}

export interface Answer {
  readonly status: 200 | 404 | 500
  readonly body: string
}

/** The response of an endpoint, in the kube-apiserver's format, with the reasons. */
export const answer = (checks: ReadonlyArray<Check>, question: Question): Answer => {
  const { endpoint, exclude = [], only, verbose = false } = question
  if (only !== undefined && only !== "") {
    const check = checks.find(({ name }) => name === only)
    if (check === undefined) return { status: 404, body: "404 page not found\n" }
    return check.failure === undefined
      ? { status: 200, body: "ok" }
      : { status: 500, body: `internal server error: ${check.failure}\n` }
  }
  const lines: Array<string> = []
  const unused = new Set(exclude)
  let failed = false
  for (const { failure, name } of checks) {
    if (exclude.includes(name)) {
      unused.delete(name)
      lines.push(`[+]${name} excluded: ok`)
    } else if (failure === undefined) {
      lines.push(`[+]${name} ok`)
    } else {
      failed = true
      lines.push(`[-]${name} failed: ${failure.replaceAll("\n", " ")}`)
    }
  }
  if (unused.size > 0) {
    const names = [...unused].map((name) => JSON.stringify(name)).join(",")
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`)
  }
  if (failed) return { status: 500, body: `${lines.join("\n")}\n${endpoint} check failed\n` }
  return { status: 200, body: verbose ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok" }
}
