import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { call, configMap, configMaps, get, layer, post, watch } from "../support/server.ts"

describe("Gate", () => {
  it.effect("a time that no request can take is refused before it is asked who comes, but for what lasts", () =>
    Effect.gen(function*() {
      const said = "invalid timeout specified in the request URL - time: "
      for (const path of [configMaps, "/version", "/apis/nobody/v1/things"]) {
        const { body, status } = yield* get(`${path}?timeout=bad`, { authorization: "Bearer nobody" })
        assert.deepStrictEqual([status, body.reason, body.message], [
          400,
          "BadRequest",
          `${said}invalid duration "bad"`
        ])
      }
      const { body } = yield* call("DELETE", `${configMaps}/a?timeout=5`)
      assert.strictEqual(body.message, `${said}missing unit in duration "5"`)
      for (const timeout of ["", "0", "1h", "-1s"]) {
        assert.strictEqual((yield* get(`${configMaps}?timeout=${timeout}`)).status, 200, timeout)
      }
      yield* post(configMaps, configMap("a"))
      const [event] = yield* Stream.runCollect(Stream.take(watch(`${configMaps}?timeout=bad`), 1))
      assert.strictEqual(event?.type, "ADDED")
    }).pipe(Effect.provide(layer)))
})
