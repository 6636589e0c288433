import { modest } from "@effect-operator/k8s/testing/simulation/story/Modest"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const first = () => 0
const last = (n: number) => n - 1

const fitting = (schema: Schema.Codec<unknown, unknown>) => (value: unknown) =>
  Result.isSuccess(Schema.decodeUnknownResult(schema)(value))

const anything = () => true

describe("Modest", () => {
  it("has few things, some now and then, and plain words", () => {
    const drawn = { replicas: 653, image: "\u0000;X\n", list: [{ port: 8_080 }, -77, 0.25, true, null], none: "" }
    assert.deepStrictEqual(modest(drawn, last, anything), {
      replicas: 653 % 9,
      image: "ahxk",
      list: [{ port: 8_080 % 9 }, -77 % 9, 0.25, true, null],
      none: ""
    })
    assert.strictEqual(modest(drawn, first, anything)["replicas"], 653 % 41)
    assert.deepStrictEqual(modest({ replicas: 8, image: "nginx2" }, last, anything), { replicas: 8, image: "nginx2" })
  })

  it("says the same twice in a list only now and then, or where the Schema wants it", () => {
    const drawn = { teams: ["a", "b", "a"], ports: [{ of: ["x", "x"] }, { of: ["x", "x"] }] }
    assert.deepStrictEqual(modest(drawn, last, anything), { teams: ["a", "b"], ports: [{ of: ["x"] }] })
    assert.deepStrictEqual(modest(drawn, first, anything), drawn)
    assert.deepStrictEqual(modest(drawn, last, (value) => JSON.stringify(value) === JSON.stringify(drawn)), drawn)
  })

  it("asks for namespaces that there are", () => {
    const drawn = { targetNamespace: "q", watchNamespaces: ["x", "y"], from: { namespace: "z", name: "Z" } }
    assert.deepStrictEqual(modest(drawn, last, anything), {
      targetNamespace: "kube-public",
      watchNamespaces: ["kube-public", "kube-public"],
      from: { namespace: "kube-public", name: "z" }
    })
  })

  it("leaves what the Schema wants so, each value for itself", () => {
    const schema = Schema.Struct({
      port: Schema.Int.check(Schema.isBetween({ minimum: 1_024, maximum: 65_535 })),
      policy: Schema.Literals(["Allow", "Forbid"]),
      size: Schema.String.check(Schema.isPattern(/^[1-9][0-9]*Gi$/u)),
      replicas: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 999 })),
      namespace: Schema.Literals(["a", "b"])
    })
    const drawn = { port: 8_080, policy: "Forbid", size: "70Gi", replicas: 900, namespace: "b" }
    // 900 is 0 below 9, which is too few, and 39 below 41.
    assert.deepStrictEqual(modest(drawn, last, fitting(schema)), { ...drawn, replicas: 39 })
  })

  it("names what is named by chance plainly, and no field otherwise", () => {
    const schema = Schema.Struct({
      nodeSelector: Schema.Record(Schema.String, Schema.String),
      maxSurge: Schema.optionalKey(Schema.Int)
    })
    assert.deepStrictEqual(modest({ nodeSelector: { "~!": "A b", ok: "c" }, maxSurge: 1 }, last, fitting(schema)), {
      nodeSelector: { wh: "agb", ok: "c" },
      maxSurge: 1
    })
  })
})
