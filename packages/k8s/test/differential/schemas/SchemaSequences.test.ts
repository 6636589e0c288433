import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import { campaign, type Found } from "../Campaign.ts"
import * as Servers from "../Servers.ts"
import { generate } from "./SchemaSequences.ts"

type Service = ApiServer["Service"]

/** Definitions that set a bound have one less. */
const deviant = Layer.effect(
  ApiServer,
  Effect.map(ApiServer, (server): Service => ({
    ...server,
    receive: (request, arrival) => {
      const { body } = arrival
      return request.path.endsWith("/customresourcedefinitions") && body !== undefined
        ? server.receive(request, {
          ...arrival,
          body: (kind) =>
            Effect.map(
              body(kind),
              (value) => JSON.parse(JSON.stringify(value).replace(/"(min|max)Length":\d+,?/g, "").replaceAll(",}", "}"))
            )
        })
        : server.receive(request, arrival)
    }
  }))
).pipe(Layer.provide(ApiServer.layer))

const compared = Effect.fnUntraced(function*(other: Layer.Layer<ApiServer> | undefined) {
  const left = yield* Servers.inMemory()
  const right = yield* other === undefined ? Servers.inMemory() : Servers.inMemory(other)
  const today = yield* Clock.currentTimeMillis
  const found: Array<string> = []
  const statuses = new Set<string>()
  let wanted = true
  yield* campaign({ left, right, run: "schemas", today, concurrency: 4, sequence: generate }, [1, 2, 3, 4, 5, 6], {
    done: (_, steps, answers) => {
      for (const { id, method } of steps) statuses.add(`${method} ${answers.get(id)?.status}`)
    },
    wanted: () => {
      const first = wanted
      wanted = false
      return first
    },
    found: ({ script }: Found) => found.push(script)
  })
  return { found, statuses }
})

describe("sequences about definitions", () => {
  it("are the same of the same seed", () => {
    assert.deepStrictEqual(generate(7), generate(7))
    assert.notDeepEqual(generate(7), generate(8))
  })

  it.live("define kinds, and have objects taken and refused; a server does not differ from itself", () =>
    Effect.scoped(Effect.gen(function*() {
      const { found, statuses } = yield* compared(undefined)
      assert.deepStrictEqual(found, [])
      assert.includeMembers([...statuses], ["POST 201", "POST 422", "GET 200", "PUT 200", "PUT 422", "PATCH 200"])
      assert.notInclude([...statuses].join(), "GET 404", "all definitions are legal")
    })))

  it.live("find a server that forgets the bounds of texts", () =>
    Effect.scoped(Effect.gen(function*() {
      assert.lengthOf((yield* compared(deviant)).found, 1)
    })))
})
