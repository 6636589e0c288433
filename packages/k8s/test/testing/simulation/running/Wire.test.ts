import type { KubeObject } from "@effect-operator/core/KubeObject"
import type { WireEvent } from "@effect-operator/core/WatchEvent"
import { ApiServer } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope, Stream } from "effect"
import type { EventFault } from "../../../../src/testing/simulation/recording/Fault.ts"
import { type Life, Wire } from "../../../../src/testing/simulation/running/Wire.ts"
import { complete } from "../../../../src/testing/simulation/world/Server.ts"
import { World } from "../../../../src/testing/simulation/world/World.ts"

const collection = "/api/v1/namespaces/default/configmaps"

/** What a reader gets of a watch of three ConfigMaps, made a second apart, with a fault at the second, within a minute. */
const read = (fault: EventFault | undefined) => {
  const world = new World({ seed: 1, interleaving: 0 })
  const server = Context.get(
    complete(world, Layer.buildWithScope(ApiServer.ApiServer.layerOptions({}), Scope.makeUnsafe())),
    ApiServer.ApiServer
  )
  const from = world.run(server.revision)
  const start = world.now
  const handed: Array<string> = []
  const tell = (what: string) => {
    handed.push(`${(world.now - start) / 1000} s: ${what}`)
  }
  const wire = new Wire({
    server,
    from: undefined,
    revision: () => world.run(server.revision),
    plan: { points: fault === undefined ? [] : [{ _tag: "Event", at: 2, fault }], interleaving: 0 },
    now: () => world.now,
    note: () => {},
    crash: () => {},
    before: () => ({ revision: 0 }),
    haunted: () => false,
    hurry: Effect.void,
    stir: () => tell("stirs"),
    doom: () => {},
    hinder: () => {},
    mischief: () => Effect.void
  })
  const life: Life = { replica: 0, number: 1, dead: false, stale: undefined, cutUntil: 0 }
  const watch = wire.transport(life).stream({
    method: "GET",
    path: collection,
    query: [["watch", "true"], ["resourceVersion", String(from)]],
    headers: {}
  })
  const reader = world.fork(
    Effect.scoped(Effect.flatMap(watch, ({ values }) =>
      Stream.runForEach(values, (value) =>
        Effect.sync(() => {
          const { object, type } = value as WireEvent
          const what = type === "ERROR" ? type : `${type} ${(object as KubeObject).metadata.name}`
          tell(what)
        }))))
  )
  for (const name of ["a", "b", "c"]) {
    world.advance(1_000)
    world.run(server.handle({
      method: "POST",
      path: collection,
      query: [],
      headers: { "content-type": "application/json" },
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }
    }))
  }
  world.advance(60_000)
  const exit = reader.pollUnsafe()
  return { handed, end: exit === undefined ? "goes on" : Exit.isSuccess(exit) ? "ends" : "breaks" }
}

describe("a watch over a wire", () => {
  it("hands over what the server says", () => {
    assert.deepStrictEqual(read(undefined), {
      handed: ["1 s: ADDED a", "2 s: ADDED b", "3 s: ADDED c"],
      end: "goes on"
    })
  })

  it("breaks before an event", () => {
    assert.deepStrictEqual(read("watchBroken"), { handed: ["1 s: ADDED a"], end: "breaks" })
  })

  // A server ends every watch after some minutes, in good order: nothing is wrong then.
  it("ends before an event, without a failure", () => {
    assert.deepStrictEqual(read("watchClosed"), { handed: ["1 s: ADDED a"], end: "ends" })
  })

  it("is expired: an error event, and then the end, without a failure", () => {
    assert.deepStrictEqual(read("watchExpired"), { handed: ["1 s: ADDED a", "2 s: ERROR"], end: "ends" })
    assert.deepStrictEqual(read("watchStale"), { handed: ["1 s: ADDED a", "2 s: ERROR"], end: "ends" })
    assert.deepStrictEqual(read("watchSkipped"), {
      handed: ["1 s: ADDED a", "32 s: stirs", "32 s: ERROR"],
      end: "ends"
    })
  })

  it("is held up, or hands an event over twice", () => {
    assert.deepStrictEqual(read("watchDelayed"), {
      handed: ["1 s: ADDED a", "32 s: ADDED b", "32 s: ADDED c"],
      end: "goes on"
    })
    assert.deepStrictEqual(read("watchDuplicated"), {
      handed: ["1 s: ADDED a", "2 s: ADDED b", "2 s: ADDED b", "3 s: ADDED c"],
      end: "goes on"
    })
  })
})
