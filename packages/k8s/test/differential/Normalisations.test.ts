import { assert, describe, it } from "@effect/vitest"
import { at } from "./Path.ts"
import { normalise } from "./Normalisations.ts"
import type { Step } from "./Step.ts"

describe("Normalisations", () => {
  it("keep of an object of too many properties only what is not in it", () => {
    const step: Step = { id: 1, method: "POST", path: "/apis/x.example.com/v1/xs", query: [], headers: {} }
    const cause = (field: string, message: string) => ({ reason: "FieldValueInvalid", field, message })
    const causes = [
      cause("spec.a", "Too many: 4: must have at most 3 items"),
      cause("spec.a.b", "Required value"),
      cause("<nil>", "Invalid value: \"\": \"spec.a.c\" must validate at least one schema (anyOf)"),
      cause("<nil>", "Invalid value: \"\": \"spec.a\" must not validate the schema (not)"),
      cause("<nil>", "Invalid value: \"\": \"spec.b\" must validate all the schemas (allOf)")
    ]
    const { body } = normalise({ status: 422, headers: {}, body: { kind: "Status", details: { causes } } }, step)
    const kept = at(body, ["details", "causes"]) as ReadonlyArray<{ readonly message: string }>
    assert.deepStrictEqual(kept.map(({ message }) => message), [
      "too much",
      "Invalid value: \"\": \"spec.a\" must not validate the schema (not)",
      "Invalid value: \"\": \"spec.b\" must validate all the schemas (allOf)"
    ])
  })

  it("make one of what options and what forms of a list are refused, where there is neither", () => {
    const asked = (accept: string, ...query: Step["query"]): Step => ({
      id: 1,
      method: "GET",
      path: "/api/v1/pods",
      query,
      headers: { accept }
    })
    const [options, form] = [422, 406].map((status) => ({
      status,
      headers: {},
      body: { kind: "Status", code: status }
    }))
    const both = (step: Step) => [options!, form!].map((answer) => normalise(answer, step).status)
    assert.deepStrictEqual(both(asked("text/html", ["resourceVersionMatch", "Nope"])), [406, 406])
    assert.deepStrictEqual(both(asked("text/html")), [422, 406])
    assert.deepStrictEqual(both(asked("text/html", ["pretty", "true"])), [422, 406])
    assert.deepStrictEqual(both(asked("*/*", ["resourceVersionMatch", "Nope"])), [422, 406])
  })
})
