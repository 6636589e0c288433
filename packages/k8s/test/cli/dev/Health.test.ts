import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Health from "../../../src/cli/dev/Health.ts"

const controller = { name: "podset", inFlight: [], ready: [], queue: { failing: 0 } }
const watch = { resource: "pods", status: "Live" }
const report = (
  controllers: ReadonlyArray<Partial<typeof controller>>,
  watches: ReadonlyArray<Health.Report["managers"][number]["watches"][number]> = [watch]
) =>
  ({
    managers: [{ controllers: controllers.map((fields) => ({ ...controller, ...fields })), watches }]
  }) as Health.Report

it("an operator is settled when nothing is under way, nothing fails, and every watch is live", () => {
  assert.deepStrictEqual(Health.unsettled(report([{}])), [])
  assert.deepStrictEqual(
    Health.unsettled(report(
      [{ inFlight: [{}] as never, ready: [{}] as never }, { name: "db", queue: { failing: 2 } }],
      [{ resource: "pods", status: "Degraded", message: "forbidden" }, { resource: "jobs", status: "Listing" }]
    )),
    ["podset: 2 in progress", "db: 2 failing", "watch of pods: forbidden", "watch of jobs: Listing"]
  )
})

it.live("the checks of an operator are known by name, whether they pass or not", () =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(
      Effect.callback<Http.Server>((resume) => {
        const server = Http.createServer((_, response) => {
          response.end("[+]ping ok\n[-]webhooks failed: there is no certificate yet\nreadyz check failed\n")
        }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    )
    const { port } = server.address() as AddressInfo
    assert.deepStrictEqual([...yield* Health.checks({ metrics: 0, probes: port })], ["ping", "webhooks"])
  }))

it.live("waits until it is so for a while", () =>
  Effect.gen(function*() {
    let asked = 0
    const server = yield* Effect.acquireRelease(
      Effect.callback<Http.Server>((resume) => {
        const server = Http.createServer((_, response) => {
          asked++
          response.end(JSON.stringify(report([asked === 3 ? { queue: { failing: 1 } } : {}])))
        }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    )
    const { port } = server.address() as AddressInfo
    const told = new Set<string>()
    yield* Health.settled({ metrics: port, probes: 0 }, (why) => why.forEach((line) => told.add(line)))
    assert.strictEqual(asked, 3 + Health.defaults.quietLooks)
    assert.deepStrictEqual([...told], ["podset: 1 failing"])
  }))
