/**
 * `Refused`: what the server refuses permanently, without anybody being told.
 *
 * An immutable field, a value out of range: a retry is refused again. An operator that swallows this leaves the cluster
 * unchanged and reports that all is well. It does so in every run, so the ends do not differ. Source: Acto (SOSP'23),
 * whose largest class of alarms are states that the operator silently fails to reach.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { isElection, isEvent, isRead } from "../recording/Fault.ts"
import { type Call, cited, type Entry, type Recording } from "../recording/Recording.ts"
import { conditionsOf, isWarning } from "../recording/Writes.ts"
import type { Oracle } from "./Oracle.ts"

/** The request is wrong and stays wrong: Bad Request, Unsupported Media Type, Unprocessable Entity. */
const final: ReadonlySet<number> = new Set([400, 415, 422])

const isWrite = ({ request }: Call): boolean => !isRead(request) && !isElection(request) && !isEvent(request.path)

/** The path of the object that a request is about, without its subresource. */
const target = ({ request: { body, method, path } }: Call): string => {
  if (method !== "POST") return path.replace(/\/(?:status|scale)$/, "")
  const { name } = (body as { readonly metadata?: { readonly name?: string } } | undefined)?.metadata ?? {}
  return name === undefined ? path : `${path}/${name}`
}

/** Words by which a status, in any field, says that something is wrong. */
const bad = /fail|error|invalid|immutable|forbid|refus|reject|denied|cannot|unable|unsupported|degrad|\bnot\b/i

/** What a status says is wrong: conditions that are not true, and texts with such words. */
const complaints = (object: KubeObject): ReadonlyArray<string> => {
  const texts: Array<string> = []
  const walk = (value: unknown): void => {
    if (typeof value === "string" && bad.test(value)) texts.push(value)
    else if (typeof value === "object" && value !== null) { for (const item of Object.values(value)) walk(item) }
  }
  walk((object as { readonly status?: unknown }).status)
  return [
    ...texts,
    ...conditionsOf(object).flatMap(({ status, type }) => (status === "True" ? [] : [`${type} is ${status}`]))
  ]
}

/** Whether people are told of it, in any of the usual ways. */
const tells = (known: ReadonlySet<string>) => (entry: Entry): boolean => {
  switch (entry._tag) {
    case "Log":
      return true
    case "Call":
      return isWarning(entry)
    case "Change":
      return complaints(entry.change.object).some((text) => !known.has(text))
    default:
      return false
  }
}

/** Whether people are told, from a given time on, that something is wrong that was not reported before. */
export const tellsOf = ({ entries }: Recording, since: number): boolean => {
  const known = new Set(
    entries.flatMap((entry) => entry._tag === "Change" && entry.at < since ? complaints(entry.change.object) : [])
  )
  return entries.some((entry) => entry.at >= since && tells(known)(entry))
}

/**
 * Whether people are told at the end that something is not as they want it: since the last step; or since an earlier
 * one except the first, if it is still reported.
 */
export const isTold = (run: Recording): boolean => {
  const [first, second] = run.steps
  if (first === undefined) return false
  const known = new Set(
    run.entries.flatMap((entry) =>
      entry._tag === "Change" && entry.at < (second ?? Infinity) ? complaints(entry.change.object) : []
    )
  )
  return tellsOf(run, run.steps.at(-1)!) ||
    run.objects.some((object) => complaints(object).some((text) => !known.has(text)))
}

const silent = ({ entries, steps }: Recording): string | undefined => {
  const known = new Set<string>()
  const seen = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    if (entry._tag === "Change") { for (const text of complaints(entry.change.object)) known.add(text) }
    if (entry._tag !== "Call" || !final.has(entry.status) || !isWrite(entry)) continue
    const path = target(entry)
    // What was reported once about an object need not be reported again.
    if (seen.has(path)) continue
    seen.add(path)
    const next = steps.find((begin) => begin > entry.at) ?? Infinity
    const after = entries.slice(index + 1).filter(({ at }) => at < next)
    const mended = after.some((other) =>
      other._tag === "Call" && isWrite(other) && other.status >= 200 && other.status < 300 && target(other) === path
    )
    if (mended || after.some(tells(known))) continue
    return `${cited(entry)} was answered ${entry.status}, without any fault: ${entry.said ?? "no message"}; and ` +
      "nothing reports it: no line in the log, no Warning event, nothing in a status, and no later write of it succeeds"
  }
  return undefined
}

export const refused: Oracle = {
  name: "rejections are reported",
  judge: (run) => (run.met > 0 ? undefined : silent(run))
}
