import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe as differences } from "./Compare.ts"
import { generate } from "./Generator.ts"
import { shrink } from "./Shrink.ts"
import * as Step from "./Step.ts"

const answers = new Map<number, Step.Answer>([
  [1, { status: 201, headers: {}, body: { kind: "A", metadata: { name: "a", uid: "u" }, spec: { list: [1, 2] } } }],
  [2, { status: 409, headers: {}, body: { kind: "Status" } }]
])
const context: Step.Context = { id: "id", namespace: "ns", answers }

const step = (id: number, fields: Partial<Step.Step> = {}): Step.Step => ({
  id,
  method: "GET",
  path: "/",
  query: [],
  headers: {},
  ...fields
})

describe("Step", () => {
  it("resolves references to the first answer that was a success", () => {
    const uid = Step.reference([2, 1], "metadata", "uid")
    const path = `/{{ns}}/{{id}}/${Step.reference([9], "metadata", "name")}`
    const resolved = Step.resolve(
      step(3, { path, query: [["uid", uid]], body: { _tag: "Json", value: [uid] } }),
      context
    )
    assert.strictEqual(resolved.path, "/ns/id/none?uid=u")
    assert.strictEqual(resolved.body, "[\"u\"]")
  })

  it("edits what an earlier step was answered with", () => {
    const edits: ReadonlyArray<Step.Edit> = [
      { path: ["metadata", "uid"] },
      { path: ["spec", "list", "0"], value: 7 },
      { path: ["spec", "deep", "er"], value: { a: 1 } }
    ]
    const { body } = Step.resolve(step(3, { body: { _tag: "Edited", of: [2, 1], edits } }), context)
    assert.deepStrictEqual(JSON.parse(body!), {
      kind: "A",
      metadata: { name: "a" },
      spec: { list: [7, 2], deep: { er: { a: 1 } } }
    })
    assert.deepStrictEqual(Step.needs(step(3, { body: { _tag: "Edited", of: [2, 1], edits } })), [2, 1])
  })
})

describe("Generator", () => {
  it("makes the same sequence of the same seed, and only refers to what came before", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const { steps } = generate(seed)
      assert.deepStrictEqual(steps, generate(seed).steps)
      for (const one of steps) assert.isTrue(Step.needs(one).every((id) => id < one.id), `seed ${seed}, step ${one.id}`)
    }
  })
})

describe("Compare", () => {
  it("tells what differs, absent from null", () => {
    assert.deepStrictEqual(differences({ a: 1, b: [1, { c: null }] }, { a: 1, b: [1, {}] }), [
      ".b[1].c: null <> absent"
    ])
    assert.deepStrictEqual(differences({ a: [1] }, { a: [1, 2] }), [".a: [1] <> [1,2]"])
  })
})

describe("Shrink", () => {
  it.effect("leaves the two steps that matter, and of their bodies the part that does", () =>
    Effect.gen(function*() {
      const value = { keep: 1, drop: { a: 1 } }
      const steps = Array.from({ length: 32 }, (_, id) =>
        step(id, { body: { _tag: "Json", value }, query: [["x", "1"]] }))
      const has = (all: ReadonlyArray<Step.Step>, id: number) =>
        all.some((one) =>
          one.id === id && JSON.stringify(one.body).includes("keep")
        )
      const small = yield* shrink(steps, (all) => Effect.succeed(has(all, 7) && has(all, 31)))
      const kept = (id: number) => step(id, { body: { _tag: "Json", value: { keep: 1 } } })
      assert.deepStrictEqual(
        small.map(({ body, id, query }) => ({ body, id, query })),
        [7, 31].map((id) => ({
          body: kept(id).body,
          id,
          query: []
        }))
      )
    }))
})
