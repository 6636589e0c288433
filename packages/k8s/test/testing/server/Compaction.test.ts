import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ApiServer } from "../../../src/testing/ApiServer.ts"
import { configMap, configMaps, get, post } from "../support/server.ts"

describe("Compaction", () => {
  it.effect("keeps history for one interval at least, and for two at most", () =>
    Effect.gen(function*() {
      yield* TestClock.adjust("1 minute")
      yield* post(configMaps, configMap("a"))
      yield* post(configMaps, configMap("b"))
      const { body: { metadata: { continue: token } } } = yield* get(`${configMaps}?limit=1`)
      const next = get(`${configMaps}?limit=1&continue=${token}`)
      yield* post(configMaps, configMap("c"))
      yield* TestClock.adjust("8 minutes")
      assert.strictEqual((yield* next).status, 200)
      yield* TestClock.adjust("2 minutes")
      const refused = yield* next
      assert.deepInclude(refused.body, { code: 410, reason: "Expired" })
      assert.strictEqual((yield* get(configMaps)).body.items.length, 3)
    }).pipe(Effect.provide(ApiServer.layerOptions({ compactionInterval: "5 minutes" }))))
})
