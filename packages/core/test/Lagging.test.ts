import { Action, Cache, Controller, Watch } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Secret, Widget } from "./support/Kinds.ts"
import { operate } from "./support/Operating.ts"
import { parameter, Server } from "./support/Server.ts"
import { settle } from "./support/Time.ts"

const label = "of"
const wakes = { map: () => [{ namespace: "default", name: "w" }] } as const
const wakesNobody = { map: () => [] } as const

/** What a reconcile of a Widget reads of a Secret that two watches select, of which one alone wakes it. */
const reading = Effect.gen(function*() {
  const server = new Server(Widget, Secret)
  server.put(Widget, "w", { spec: { size: 1 } })
  server.put(Secret, "s", {}, { labels: { [label]: "w" } })
  const read: Array<string> = []
  yield* operate(server, [
    Controller.make("widgets", {
      for: Widget,
      watches: [Watch.make(Secret, { ...wakes, labels: { [label]: "w" } }), Watch.make(Secret, wakesNobody)],
      reconcile: () =>
        Effect.gen(function*() {
          const secret = yield* Cache.get(Secret, { namespace: "default", name: "s" })
          read.push(secret === undefined ? "none" : secret.metadata.labels?.[label] ?? "not labelled")
          return Action.done
        })
    })
  ])
  yield* settle
  const watches = server.watchesOf(Secret)
  assert.strictEqual(watches.length, 2)
  const labelled = watches.find(({ request }) => parameter(request, "labelSelector") !== undefined)!
  const all = watches.find((watch) => watch !== labelled)!
  server.hold()
  return { server, labelled, all, taken: () => read.splice(0) }
})

describe("overlapping watches of a kind", () => {
  it.effect("a deletion that one watch has shown wakes the same objects again when the other shows it, and no others", () =>
    Effect.gen(function*() {
      const { all, labelled, server, taken } = yield* reading
      taken()
      server.delete(Secret, "s")
      server.releaseTo(labelled)
      yield* settle
      assert.deepStrictEqual(taken(), ["w"])
      server.releaseTo(all)
      yield* settle
      assert.deepStrictEqual(taken(), ["none"])
    }))

  it.effect("so does an object that leaves one watch and is unchanged in the other", () =>
    Effect.gen(function*() {
      const { all, labelled, server, taken } = yield* reading
      taken()
      server.patch(Secret, "s", { metadata: { labels: null } })
      server.releaseTo(labelled)
      yield* settle
      assert.deepStrictEqual(taken(), ["w"])
      server.releaseTo(all)
      yield* settle
      assert.deepStrictEqual(taken(), ["not labelled"])
    }))

  it.effect("if the other watch was first, once is enough, and later changes wake nothing", () =>
    Effect.gen(function*() {
      const { all, labelled, server, taken } = yield* reading
      taken()
      server.patch(Secret, "s", { metadata: { labels: null } })
      server.releaseTo(all)
      yield* settle
      assert.deepStrictEqual(taken(), [])
      server.releaseTo(labelled)
      yield* settle
      assert.deepStrictEqual(taken(), ["not labelled"])
      server.patch(Secret, "s", { metadata: { labels: { other: "x" } } })
      server.release()
      yield* settle
      server.delete(Secret, "s")
      yield* settle
      assert.deepStrictEqual(taken(), [])
    }))
})
