/**
 * `Redirects`: a call that follows redirects as Go's client does.
 *
 * 307 and 308 repeat the request with its body; 301, 302 and 303 turn it into a GET without a body. A reply without a
 * location is the result. At most ten redirects are followed, each with the same time limit. The target of a redirect
 * away from a Service must have a certificate for its own name, where Go still requires that of the Service.
 *
 * Source: net/http/client.go of Go (`redirectBehavior`, `do`).
 */
import * as Effect from "effect/Effect"
import * as Backends from "../Backends.ts"

const limit = 10

const codes: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The call that a redirect asks for; undefined if the reply is not a redirect. */
const next = (call: Backends.Call, { headers, status }: Backends.Reply): Backends.Call | undefined => {
  const location = headers["location"] ?? ""
  if (!codes.has(status) || location === "") return undefined
  const from = Backends.urlOf(call)
  if (!URL.canParse(location, from)) return undefined
  const to = new URL(location, from)
  const { body, ...rest } = call
  const there = {
    ...rest,
    // The `path` of a call is used as it is, while the path of a target would be cleaned.
    target: to.origin === new URL(from).origin && "service" in call.target
      ? { service: { ...call.target.service, path: undefined } }
      : { url: `${to.origin}/` },
    path: to.pathname,
    query: [...to.searchParams]
  }
  return status >= 307 ? { ...there, ...(body === undefined ? {} : { body }) } : { ...there, method: "GET" }
}

/** Calls until a reply is not a redirect. */
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
