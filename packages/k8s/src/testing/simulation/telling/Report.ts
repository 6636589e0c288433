/**
 * `Report`: the story of a run for a person: what was done to the cluster, what the operator saw and did and was
 * answered, and where it went wrong.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { Change } from "../../ApiServer.ts"
import type { Scenario } from "../Scenario.ts"
import type { Divergence } from "../exploring/Explore.ts"
import * as Fault from "../recording/Fault.ts"
import type { Entry, Recording } from "../recording/Recording.ts"
import * as Token from "../story/Token.ts"

/** `00:01:02.001` since the beginning of the run. */
export const clock = (millis: number): string => {
  const text = new Date(Math.max(0, millis)).toISOString().slice(11, 23)
  return text.startsWith("00:") ? text.slice(3) : text
}

export const named = ({ kind, metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`

const short = (value: unknown, length = 160): string => {
  const text = JSON.stringify(value) ?? ""
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

/**
 * The content of a write, without what every object has; metadata only if there is nothing else. Of an Event, what it
 * tells people.
 */
const content = (body: unknown): string => {
  if (typeof body !== "object" || body === null) return ""
  if ("regarding" in body && "reason" in body && "note" in body) return ` ${body.reason}: ${short(body.note)}`
  if (Array.isArray(body)) {
    return ` ${short(body.filter((operation: { readonly op?: unknown }) => operation.op !== "test"))}`
  }
  const { apiVersion: _, kind: __, metadata, ...rest } = body as Record<string, unknown>
  if (Object.keys(rest).length > 0) return ` ${short(rest)}`
  return metadata === undefined ? "" : ` ${short({ metadata })}`
}

/** An entry in words, without its time and process. */
export const words = (entry: Entry): string => {
  switch (entry._tag) {
    case "Call": {
      const { at, n, object, request, said, sent, status } = entry
      const answer = status === 0 ? "no answer" : said === undefined ? String(status) : `${status} ${short(said)}`
      const what = request.method === "GET" ? "" : content(request.body)
      const made = request.method === "POST" && object !== undefined ? ` ${named(object)}` : ""
      const late = at > sent ? ` (sent ${(at - sent) / 1000} s before)` : ""
      const dry = request.query.some(([name]) => name === "dryRun") ? " (dry run)" : ""
      return `#${n} ${request.method} ${request.path}${what}${dry} -> ${answer}${made}${late}`
    }
    case "Event":
      return `#${entry.n} ${entry.type} ${named(entry.object)}`
    case "External":
      return `#${entry.n} ${entry.name}${entry.failed ? ": failed" : ""}`
    case "Change":
      return `${entry.change.type.toLowerCase()} ${named(entry.change.object)}${phase(entry.change)}`
    case "Step":
      return `${entry.name}${entry.failed === undefined ? "" : `: ${entry.failed}`}`
    case "Fault":
      return Fault.describe(entry.point)
    case "Chance":
      return `${entry.what} at ${entry.where}`
    case "Exit":
      return entry.why
    case "Log":
      return `${entry.level} ${entry.text.split("\n")[0]}`
    default:
      return ""
  }
}

const phase = ({ object }: Change): string => {
  const { status } = object as { readonly status?: { readonly phase?: unknown } }
  return typeof status?.phase === "string" ? ` (${status.phase})` : ""
}

const text = (entry: Entry, several: boolean): string => {
  const who = several && "replica" in entry ? `[${entry.replica}] ` : ""
  const said = words(entry)
  switch (entry._tag) {
    case "Call":
      return `  asks    ${who}${said}`
    case "Event":
      return `  sees    ${who}${said}`
    case "External":
      return `  outside ${who}${said}`
    case "Change":
      return `    ${said}`
    case "Step":
      return `STEP      ${said}`
    case "Fault":
      return `FAULT     ${said}`
    case "Crash":
      return `  process ${who}${entry.life} dies`
    case "Start":
      return `  process ${who}${entry.life} starts`
    case "Exit":
      return `  process ${who}${entry.life} ends by itself: ${said}`
    case "Chance":
      return `CHANCE    ${said}`
    case "Log":
      return `  logs    ${who}${said}`
  }
}

/** A lease is renewed all the time, so a renewal is not shown. */
const renewal = (entry: Entry): boolean =>
  entry._tag === "Event"
    ? Fault.isElected(entry.object) && entry.type === "MODIFIED"
    : entry._tag === "Call" && entry.request.method === "PUT" && entry.status === 200 &&
      Fault.isElection(entry.request)

/** The entries that make up a story. Changes by the operator itself are left out: its requests show them. */
export const telling = (recording: Recording): ReadonlyArray<Entry> => {
  const own = new Set<number>()
  for (const entry of recording.entries) {
    if (entry._tag === "Call" && entry.after > entry.before) own.add(entry.after)
  }
  return recording.entries.filter((entry) =>
    entry._tag !== "Change"
      ? !renewal(entry)
      : (!own.has(entry.change.revision) && entry.change.object.kind !== "Event" &&
        !Fault.isElected(entry.change.object))
  )
}

/** Groups of up to this many lines that repeat are shown once, such as a retried request and its answer. */
const longest = 4

/** How often a group of entries of this length, at `from`, repeats right after itself. */
const repeats = (shapes: ReadonlyArray<string>, from: number, length: number): number => {
  let count = 0
  for (let at = from + length; at + length <= shapes.length; at += length, count++) {
    for (let i = 0; i < length; i++) if (shapes[at + i] !== shapes[from + i]) return count
  }
  return count
}

/**
 * One line per entry. Equal entries in a row, and groups that occur at least three times, are shown once with their
 * count.
 */
export const timeline = (recording: Recording): ReadonlyArray<string> => {
  const entries = telling(recording)
  const start = entries[0]?.at ?? 0
  const several = entries.some((entry) => "replica" in entry && entry.replica > 0)
  const said = entries.map((entry) => text(entry, several))
  const shapes = said.map((line) => line.replace(/\d+/g, ""))
  const lines: Array<string> = []
  for (let at = 0; at < entries.length;) {
    let [length, more] = [1, repeats(shapes, at, 1)]
    for (let longer = 2; more === 0 && longer <= longest; longer++) {
      const found = repeats(shapes, at, longer)
      if (found > 1) [length, more] = [longer, found]
    }
    for (const end = at + length; at < end; at++) lines.push(`${clock(entries[at]!.at - start)} ${said[at]}`)
    if (more > 0) lines.push(`${" ".repeat(10)}… ${more} more like ${length === 1 ? "this" : `these ${length}`}`)
    at += length * more
  }
  return lines
}

/** The lines that a reader looks for: the first fault, and the request that the complaint cites by its number. */
const telltale = (lines: ReadonlyArray<string>, complaint: string): ReadonlyArray<number> => {
  const [, cited] = /#(\d+) [A-Z]+ \//.exec(complaint) ?? []
  const asked = new RegExp(`  asks +(\\[\\d+\\] )?#${cited} `)
  const found = [
    lines.findIndex((line) => line.includes(" FAULT ")),
    cited === undefined ? -1 : lines.findIndex((line) => asked.test(line))
  ]
  return found.filter((index) => index >= 0)
}

/**
 * Shortens the lines to a limit: the beginning, the lines around those that tell most, and the end. Says what is left
 * out.
 */
const abridged = (lines: ReadonlyArray<string>, limit: number, complaint: string): ReadonlyArray<string> => {
  if (lines.length <= limit) return lines
  const part = Math.floor(limit / 4)
  const places = telltale(lines, complaint)
  const width = 2 * part / Math.max(1, places.length)
  const keep = (index: number) =>
    index < part || index >= lines.length - part ||
    places.some((place) => index >= place - width / 4 && index < place + 0.75 * width)
  const out: Array<string> = []
  let left = 0
  for (const [index, line] of [...lines.entries(), [lines.length, undefined] as const]) {
    if (line !== undefined && !keep(index)) {
      left += 1
      continue
    }
    if (left > 0) out.push(`          … ${left} lines left out …`)
    left = 0
    if (line !== undefined) out.push(line)
  }
  return out
}

export const token = (scenario: Scenario, { plan, seed, story }: Divergence): string =>
  Token.format({ scenario: scenario.name, seed, plan, story, fingerprint: Token.fingerprint(scenario) })

/** What the run needs to go wrong. */
export const takes = ({ plan }: Divergence): string => {
  const order = plan.interleaving === 0 ? "" : `in another order of tasks (${plan.interleaving})`
  if (plan.points.length === 0) return order === "" ? "Without any fault." : `Without any fault, ${order}.`
  return `With ${plan.points.map(Fault.describe).join(", and ")}${order === "" ? "" : `, ${order}`}.`
}

/** The report of a divergence. */
export const report = (scenario: Scenario, divergence: Divergence, lines = 120): string =>
  [
    `${scenario.name} does not converge: ${divergence.oracle}: ${divergence.complaint}`,
    "",
    takes(divergence),
    "",
    ...abridged(timeline(divergence.recording), lines, divergence.complaint),
    "",
    `Replay: ${token(scenario, divergence)}`
  ].join("\n")
