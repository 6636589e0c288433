import { KubeClient, KubeError, type KubeObject, Reflector, type Transport } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Part } from "./support/Kinds.ts"

const parameter = ({ query }: Transport.Request, name: string) => query.find(([key]) => key === name)?.[1]

const item = (name: string) => ({
  apiVersion: "v1",
  kind: "Part",
  metadata: { name, namespace: "a", uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" }
})

/** Lists of three pages, each of which takes a second to read once its token is known; `fails` the first time at a page. */
const listing = (fails?: string) =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    let failed = false
    const transport: Transport.Transport["Service"] = {
      request: (request) =>
        Effect.gen(function*() {
          const page = parameter(request, "continue") ?? "1"
          asked.push(`${page} at ${(yield* Clock.currentTimeMillis) / 1000}`)
          if (page === fails && !failed) {
            failed = true
            return yield* new KubeError.Transport({ message: "lost" })
          }
          const next = page === "3" ? undefined : String(Number(page) + 1)
          if (next !== undefined) yield* request.reading!.onContinue!(next)
          yield* Effect.sleep("1 second")
          const metadata = { resourceVersion: "7", ...(next === undefined ? {} : { continue: next }) }
          return { status: 200, headers: {}, body: { kind: "PartList", metadata, items: [item(page)] } }
        }),
      stream: () => Effect.succeed({ status: 200, headers: {}, values: Stream.never })
    }
    const lists: Array<ReadonlyArray<string>> = []
    const reflector = yield* Reflector.make(KubeClient.make(transport), Part, {}, {
      replace: (items: ReadonlyArray<KubeObject.KubeObject>) =>
        void lists.push(items.map(({ metadata }) => metadata.name)),
      apply: () => {}
    })
    yield* Effect.forkScoped(reflector.run)
    return { asked, lists }
  })

describe("Reflector pages", () => {
  it.effect("requests a page while the previous one is read, each once, at most one ahead", () =>
    Effect.gen(function*() {
      const { asked, lists } = yield* listing()
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lists, [["1", "2", "3"]])
      assert.deepStrictEqual(asked.map((line) => line.split(" ")[0]), ["1", "2", "3"])
      assert.strictEqual(asked[1], "2 at 0")
    }))

  it.effect("treats the failure of a prefetched page as that of the list", () =>
    Effect.gen(function*() {
      const { asked, lists } = yield* listing("2")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lists, [["1", "2", "3"]])
      assert.deepStrictEqual(asked.map((line) => line.split(" ")[0]), ["1", "2", "1", "2", "3"])
    }))
})
