import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refuses, refusesUpdates } from "../../support/refusals.ts"
import { layer, post } from "../../support/server.ts"

const url = "/apis/apps/v1/namespaces/default/controllerrevisions"

const revision = (data: unknown, number = 1) => ({
  metadata: { name: "a" },
  ...(data === undefined ? {} : { data }),
  revision: number
})

describe("RevisionRules", () => {
  it.effect("asks for an object and a number", () =>
    refuses(
      url,
      [revision({ a: 1 })],
      [revision({}, -1), "revision: Invalid value: -1: must be greater than or equal to 0"],
      [revision(undefined), "data: Required value: data is mandatory"],
      [revision(null), "data: Required value: data is mandatory"],
      [revision([]), "data: Required value: data must be a valid JSON object"]
    ).pipe(Effect.provide(layer)))

  it.effect("keeps the object, also an empty one", () =>
    Effect.gen(function*() {
      const { body } = yield* post(url, revision({}))
      assert.deepStrictEqual(body.data, {})
      yield* refusesUpdates(
        `${url}/a`,
        body,
        [(object) => ({ ...object, revision: 2 })],
        [(object) => ({ ...object, data: { a: 1 } }), "data: Invalid value: {\"a\":1}: field is immutable"]
      )
    }).pipe(Effect.provide(layer)))
})
