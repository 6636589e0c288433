/**
 * `Health`: the state of an operator in another process, according to its own endpoints (see `Endpoints`).
 *
 * It is ready when its caches are synced. It is settled when nothing has been running or due for a while, nothing
 * fails, and every watch is live: then it has nothing left to do.
 */
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import type * as Surroundings from "./Surroundings.ts"

export const defaults = {
  /** Between two checks. */
  interval: "100 millis",
  /** How many checks in a row must find the operator idle. */
  quietLooks: 10
} as const

/** The ports on which an operator serves metrics and probes. */
export type Ports = Pick<Surroundings.Ports, "metrics" | "probes">

/** A free port of this machine. */
export const freePort: Effect.Effect<number> = Effect.callback<number>((resume) => {
  const server = Net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as Net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** The body for a path, if there is one. */
const get = (
  port: number,
  path: string
): Effect.Effect<{ readonly status: number; readonly text: string } | undefined> =>
  Effect.orElseSucceed(
    Effect.tryPromise(async (signal) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal })
      return { status: response.status, text: await response.text() }
    }),
    () => undefined
  )

/** Waits until the operator is ready. */
export const ready = ({ probes }: Ports): Effect.Effect<void> =>
  get(probes, "/readyz").pipe(
    Effect.delay(defaults.interval),
    Effect.repeat({ until: (answer) => answer?.status === 200 }),
    Effect.asVoid
  )

/** The names of its checks: of its parts, such as the webhook server, and of its controllers. */
export const checks = ({ probes }: Ports): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(
    get(probes, "/readyz?verbose"),
    (answer) => new Set([...(answer?.text ?? "").matchAll(/^\[[-+]\](\S+) /gm)].map(([, name]) => name!))
  )

/** The fields of `/debug/operator` that matter here. */
export interface Report {
  readonly managers: ReadonlyArray<{
    readonly controllers: ReadonlyArray<{
      readonly name: string
      readonly inFlight: ReadonlyArray<unknown>
      readonly ready: ReadonlyArray<unknown>
      readonly queue: { readonly failing: number }
    }>
    readonly watches: ReadonlyArray<{ readonly resource: string; readonly status: string; readonly message?: string }>
  }>
}

/** What keeps an operator from being settled, for the user; empty if it is settled. */
export const unsettled = ({ managers }: Report): ReadonlyArray<string> =>
  managers.flatMap(({ controllers, watches }) => [
    ...controllers.flatMap(({ inFlight, name, queue, ready }) => {
      const under = inFlight.length + ready.length
      return [
        ...(under > 0 ? [`${name}: ${under} in progress`] : []),
        ...(queue.failing > 0 ? [`${name}: ${queue.failing} failing`] : [])
      ]
    }),
    ...watches.filter(({ status }) => status !== "Live").map(({ message, resource, status }) =>
      `watch of ${resource}: ${message ?? status}`
    )
  ])

/** Waits until the operator is settled; calls `tell` with what keeps it, whenever that changes. */
export const settled = (ports: Ports, tell: (why: ReadonlyArray<string>) => void): Effect.Effect<void> =>
  Effect.suspend(() => {
    let quiet = 0
    const look = Effect.map(get(ports.metrics, "/debug/operator"), (answer) => {
      const why = answer?.status === 200
        ? unsettled(JSON.parse(answer.text) as Report)
        : ["the operator does not answer on /debug/operator"]
      tell(why)
      quiet = why.length === 0 ? quiet + 1 : 0
      return quiet >= defaults.quietLooks
    })
    return Effect.asVoid(Effect.repeat(Effect.delay(look, defaults.interval), { until: (done) => done }))
  })
