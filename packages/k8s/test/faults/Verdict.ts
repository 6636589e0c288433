/**
 * What is wrong with a reflector after a plan: what it did is held against the server's log (see `Oracle`), what it showed
 * against the faults that struck, and when it asked against its own delays.
 */
import * as Reflector from "@effect-operator/core/Reflector"
import type { Request, Transport } from "@effect-operator/core/Transport"
import { Effect, Exit } from "effect"
import * as Fault from "./Fault.ts"
import type * as Follower from "./Follower.ts"
import * as Oracle from "./Oracle.ts"
import type * as Proxy from "./Proxy.ts"
import type * as Subject from "./Subject.ts"

/** In virtual milliseconds. */
export const defaults = {
  /** How exact times are: a few real milliseconds. */
  slack: 2_000,
  /** How late a status may be seen, after the next fault even, where many plans share a processor. */
  delay: 10_000,
  /** By how much a timer may be early. */
  tolerance: 150,
  /** More calls than any plan needs: a storm, which is held up so that it can be told of. */
  calls: 2_000
} as const

/** One call of the transport. */
export interface Call {
  readonly target: Fault.Target
  readonly path: string
  readonly at: number
  end: number
  ok: boolean
}

/** The transport, with its calls on record. */
export const recorded = (
  transport: Transport["Service"],
  calls: Array<Call>,
  now: () => number
): Transport["Service"] => {
  const record = <A extends { readonly status: number }, E, R>(
    { path }: Request,
    target: Fault.Target,
    answer: Effect.Effect<A, E, R>
  ) =>
    Effect.suspend(() => {
      const call: Call = { target, path, at: now(), end: Infinity, ok: false }
      calls.push(call)
      if (calls.length > defaults.calls) return Effect.never
      return Effect.onExit(answer, (exit) =>
        Effect.sync(() => {
          call.end = now()
          call.ok = Exit.isSuccess(exit) && exit.value.status === 200
        }))
    })
  return {
    request: (request) => record(request, request.method === "GET" ? "list" : "write", transport.request(request)),
    stream: (request) => record(request, "watch", transport.stream(request))
  }
}

/** Everything wrong with what one reflector did. */
export const judge = (follower: Follower.Follower, log: Subject.Log): ReadonlyArray<string> => {
  const wrong: Array<string | undefined> = [Oracle.judge(log.changes, follower.entries)]
  const replayed = Oracle.replay(follower.deltas)
  wrong.push(typeof replayed === "string" ? replayed : Oracle.difference(replayed, log.state))
  wrong.push(Oracle.difference(follower.versions(), log.state))
  if (follower.store.unconfirmed > 0) wrong.push(`${follower.store.unconfirmed} own writes were never confirmed`)
  const status = follower.status()
  if (status._tag !== "Live") wrong.push(`the status at the end is ${status._tag}`)
  return named(follower, wrong)
}

/** What of a reflector is held against the clock. */
type Timed = Pick<Follower.Follower, "resource" | "statuses">

/** Everything wrong with what it showed, and when it asked. */
export const judgeTimes = (
  follower: Timed,
  proxy: Pick<Proxy.Proxy, "exchanges" | "refusals">,
  calls: ReadonlyArray<Call>,
  ended: number
): ReadonlyArray<string> => {
  const { plural } = follower.resource
  const own = proxy.exchanges.filter(({ path, target }) => target !== "write" && path.includes(`/${plural}?`))
  const { refusals } = proxy
  return named(follower, [...invisible(follower, { exchanges: own, refusals }, calls, ended), tooSoon(follower, calls)])
}

const named = (
  { resource }: Pick<Timed, "resource">,
  wrong: ReadonlyArray<string | undefined>
): ReadonlyArray<string> => wrong.flatMap((problem) => problem === undefined ? [] : [`${resource.plural}: ${problem}`])

/** Answers after which the transport asks again by itself, if they say when. */
const mayRepeat: ReadonlySet<Fault.Kind> = new Set(["answer429", "answer503"])

/** What a connection that is refused has to show. */
const noWayIn: Fault.Trace = ["Transport"]

/** Faults that the status did not show. */
const invisible = (
  { statuses }: Timed,
  { exchanges, refusals }: Pick<Proxy.Proxy, "exchanges" | "refusals">,
  calls: ReadonlyArray<Call>,
  ended: number
): ReadonlyArray<string> => {
  const { delay, slack } = defaults
  const hits = exchanges.flatMap(({ fault, path, target }) => fault === undefined ? [] : [{ ...fault, path, target }])
  return hits.flatMap(({ at, kind, path, target }, index) => {
    if (Fault.beforeAnswer(kind) || target === "list") {
      const asking = calls.findLast((call) =>
        call.target === target && path.startsWith(`${call.path}?`) && call.at <= at
      )
      // The client had given up already, or asked again by itself: then it shows what that came to.
      if (asking === undefined || asking.ok || asking.end < at - slack) return []
      if (exchanges.some((later) => later.at > at && later.path === path && later.at < asking.end)) return []
      // The same where it did not get that far: a list that is told to come again and finds no way in has failed of that.
      if (target === "list" && mayRepeat.has(kind) && refusals.some((later) => later > at && later <= asking.end)) {
        const failed = statuses.find((entry) => entry.at >= asking.end && entry.status._tag !== "Listing")
        if (failed !== undefined && failed.at <= asking.end + delay && Fault.shows(noWayIn, failed.status, at)) {
          return []
        }
      }
    }
    // Silence is found out after its deadline, and the plan may be over sooner if there was nothing to tell.
    if (kind === "stall" && target === "watch" && ended < at + Reflector.defaults.idleTimeout + delay) return []
    const trace = Fault.trace(kind, target)
    const end = (hits[index + 2]?.at ?? Infinity) + delay
    // An idle connection is found out after its deadline, whatever else happens meanwhile.
    const shown = statuses.some((entry) =>
      entry.at >= at - slack && (entry.at <= end || kind === "stall") && Fault.shows(trace, entry.status, at)
    )
    // A new list is no news of a reflector that is degraded already.
    const before = statuses.findLast((entry) => entry.at < at)?.status._tag
    if (trace === "nothing" || shown || (trace === "relist" && before === "Degraded")) return []
    const seen = statuses.filter((entry) => entry.at >= at - slack && entry.at <= end)
    return [`${kind} of a ${target} at ${at} was not visible: ${JSON.stringify(seen)}`]
  })
}

/** A request before the delay after a failure was over. */
const tooSoon = ({ resource, statuses }: Timed, calls: ReadonlyArray<Call>): string | undefined => {
  const { initial, max } = Reflector.defaults.backoff
  const own = calls.filter(({ path, target }) => target !== "write" && path.endsWith(`/${resource.plural}`))
  for (const { at, status } of statuses) {
    if (status._tag !== "Degraded") continue
    const delay = Math.min(max, initial * 2 ** (status.failures - 1))
    const early = own.find((call) => call.at > at && call.at < at + delay - defaults.tolerance)
    if (early !== undefined) {
      return `${early.path} ${Math.round(early.at - at)} ms after failure ${status.failures}, instead of ${delay}`
    }
  }
  return undefined
}

/** Writes that the server has done more often than they were asked for. */
export const writtenTwice = (logs: ReadonlyMap<string, Subject.Log>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return [...logs.values()].flatMap(({ changes }) =>
    changes.flatMap(({ object, type }) => {
      const call = type === "ADDED" ? object.metadata.labels?.["call"] : undefined
      if (call === undefined) return []
      if (seen.has(call)) return [`the write ${call} was sent twice`]
      seen.add(call)
      return []
    })
  )
}
