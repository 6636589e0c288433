import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { get, layer, post } from "../support/server.ts"

const components = "/api/v1/componentstatuses"

describe("Components", () => {
  it.effect("all are well, and can be picked, but not made", () =>
    Effect.gen(function*() {
      const { body } = yield* get(components)
      const names = ["scheduler", "controller-manager", "etcd-0"]
      assert.deepStrictEqual(body.items.map(({ metadata }: any) => metadata), names.map((name) => ({ name })))
      assert.deepStrictEqual(body.metadata, {}, "nothing of it has a version")
      for (const name of names) {
        assert.deepStrictEqual((yield* get(`${components}/${name}`)).body.conditions, [
          { type: "Healthy", status: "True", message: "ok" }
        ])
      }
      const picked = (query: string) => Effect.map(get(`${components}?${query}`), ({ body }) => body.items.length)
      assert.strictEqual(yield* picked("fieldSelector=metadata.name%3Detcd-0"), 1)
      assert.strictEqual(yield* picked("labelSelector=a%3Db"), 0)
      const missing = yield* get(`${components}/none`)
      assert.deepStrictEqual([missing.status, missing.body.message], [500, "Component not found: none"])
      const refused = yield* post(components, { metadata: { name: "x" } })
      assert.deepStrictEqual([refused.status, refused.headers["warning"]], [405, undefined])
      assert.match(missing.headers["warning"] ?? "", /ComponentStatus is deprecated in v1\.19\+/)
    }).pipe(Effect.provide(layer)))
})
