/**
 * The story of a run for a person: what was done to the cluster, what the operator saw, did, and was answered, and
 * where it went wrong.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Divergence } from "./Explore.ts"
import * as Fault from "./Fault.ts"
import type { Entry, Recording } from "./Recording.ts"
import * as Token from "./Token.ts"

/** `00:01:02.001`: since the beginning of the run. */
const clock = (millis: number): string => {
  const text = new Date(Math.max(0, millis)).toISOString().slice(11, 23)
  return text.startsWith("00:") ? text.slice(3) : text
}

const named = ({ kind, metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`

const short = (value: unknown, length = 160): string => {
  const text = JSON.stringify(value) ?? ""
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/** What a write says, without what every object has. */
const content = (body: unknown): string => {
  if (typeof body !== "object" || body === null) return ""
  if (Array.isArray(body)) return short(body)
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = body as Record<string, unknown>
  return Object.keys(rest).length === 0 ? "" : short(rest)
}

const text = (entry: Entry): string => {
  switch (entry._tag) {
    case "Call": {
      const { n, object, request, status } = entry
      const answer = status === 0 ? "no answer" : String(status)
      const what = request.method === "GET" ? "" : ` ${content(request.body)}`
      const made = request.method === "POST" && object !== undefined ? ` ${named(object)}` : ""
      return `  asks    #${n} ${request.method} ${request.path}${what} -> ${answer}${made}`
    }
    case "Event":
      return `  sees    #${entry.n} ${entry.type} ${named(entry.object)}`
    case "Change":
      return `${entry.type.toLowerCase()} ${named(entry.object)}`
    case "Step":
      return `STEP      ${entry.name}${entry.failed === undefined ? "" : `: ${entry.failed}`}`
    case "Fault":
      return `FAULT     ${Fault.describe(entry.point)}`
    case "Crash":
      return `  process ${entry.life} dies`
    case "Start":
      return `  process ${entry.life} starts`
    case "Log":
      return `  logs    ${entry.level} ${entry.text.split("\n")[0]}`
  }
}

/** A line for each entry. Equal entries in a row are told once, with their number. */
export const timeline = (recording: Recording): ReadonlyArray<string> => {
  const start = recording.entries[0]?.at ?? 0
  const lines: Array<string> = []
  let repeated = 0
  let last = ""
  const flush = () => {
    if (repeated > 0) lines.push(`${" ".repeat(10)}… ${repeated} more like this`)
    repeated = 0
  }
  for (const entry of recording.entries) {
    const words = text(entry)
    const shape = words.replace(/\d+/g, "")
    if (shape === last) {
      repeated += 1
      continue
    }
    flush()
    last = shape
    lines.push(`${clock(entry.at - start)} ${words}`)
  }
  flush()
  return lines
}

/** At most so many lines: the beginning, and what is around the faults and the end. */
const abridged = (lines: ReadonlyArray<string>, limit: number): ReadonlyArray<string> => {
  if (lines.length <= limit) return lines
  const head = Math.floor(limit * 0.6)
  return [
    ...lines.slice(0, head),
    `   … ${lines.length - limit} lines left out …`,
    ...lines.slice(lines.length - (limit - head))
  ]
}

export const token = (scenario: string, { plan, seed, steps }: Divergence): string =>
  Token.format({ scenario, seed, plan, steps })

/** The report of a divergence. */
export const report = (scenario: string, divergence: Divergence, lines = 120): string =>
  [
    `${scenario} does not converge: ${divergence.oracle}: ${divergence.complaint}`,
    "",
    divergence.plan.points.length === 0
      ? "Without any fault."
      : `With ${divergence.plan.points.map(Fault.describe).join(", and ")}${
        divergence.plan.interleaving === 0 ? "" : `, in interleaving ${divergence.plan.interleaving}`
      }.`,
    "",
    ...abridged(timeline(divergence.recording), lines),
    "",
    `Replay: ${token(scenario, divergence)}`
  ].join("\n")
