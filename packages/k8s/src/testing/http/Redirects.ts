/**
 * `Redirects`: a call as Go's client makes it, which goes where a reply sends it on to.
 *
 * 307 and 308 have the same request made again, with its body; 301, 302 and 303 have it become a GET without one. A
 * reply that does not say where to go is the answer. Ten are followed. Each call has the time-out; what a Service sends
 * elsewhere must have a certificate for that name, where Go still wants the Service's.
 *
 * Source: net/http/client.go of Go (`redirectBehavior`, `do`).
 */
import * as Effect from "effect/Effect"
import * as Backends from "../Backends.ts"

const limit = 10

const codes: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The call that a reply asks for, if it does. */
const next = (call: Backends.Call, { headers, status }: Backends.Reply): Backends.Call | undefined => {
  const location = headers["location"] ?? ""
  if (!codes.has(status) || location === "") return undefined
  const from = Backends.urlOf(call)
  if (!URL.canParse(location, from)) return undefined
  const to = new URL(location, from)
  const { body, ...rest } = call
  const there = {
    ...rest,
    // What is in a `path` is asked for as it is; a target's own would be cleaned.
    target: to.origin === new URL(from).origin && "service" in call.target
      ? { service: { ...call.target.service, path: undefined } }
      : { url: `${to.origin}/` },
    path: to.pathname,
    query: [...to.searchParams]
  }
  return status >= 307 ? { ...there, ...(body === undefined ? {} : { body }) } : { ...there, method: "GET" }
}

/** Calls until a reply is no redirect. */
export const call = (
  calls: Backends.Calls,
  first: Backends.Call
): Effect.Effect<Backends.Reply, Backends.BackendFailed> =>
  Effect.gen(function*() {
    let current = first
    for (let followed = 0;; followed++) {
      const reply = yield* calls.call(current)
      const following = next(current, reply)
      if (following === undefined) return reply
      if (followed === limit) return yield* Backends.failed(following, `stopped after ${limit} redirects`)
      current = following
    }
  }).pipe(
    Effect.mapError(({ error, url }) => new Backends.BackendFailed({ method: first.method, url, error }))
  )
