import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { KubeSchema } from "../src/index.ts"

const accepts = (schema: Schema.Codec<any, any, never, never>, values: ReadonlyArray<unknown>, expected: boolean) => {
  for (const value of values) assert.strictEqual(Schema.is(schema)(value), expected, JSON.stringify(value))
}

it("quantities", () => {
  accepts(KubeSchema.Quantity, ["0", "500m", "2Gi", "1e3", "1E-3", ".5", "5.", "-1k", "+100n"], true)
  accepts(KubeSchema.Quantity, ["", "Gi", "1 Gi", "1gi", "1e", "1KiB", "0x1", 5], false)
})

it("times", () => {
  accepts(KubeSchema.DateTime, ["2026-01-31T12:00:00Z", "2024-02-29t00:00:00.123z", "0001-01-01T00:00:00+01:30"], true)
  accepts(
    KubeSchema.DateTime,
    ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01"],
    false
  )
})

it("integers or strings", () => {
  accepts(KubeSchema.IntOrString, [0, 8080, "http", "25%"], true)
  accepts(KubeSchema.IntOrString, [1.5, true, null], false)
})

it("integers or percentages, and what they come to", () => {
  accepts(KubeSchema.IntOrPercent, [0, 3, "0%", "25%", "150%"], true)
  accepts(KubeSchema.IntOrPercent, [-1, 1.5, "25", "-1%", "2.5%", "%", ""], false)
  const both = (value: number | string, total: number) =>
    (["down", "up"] as const).map((round) => KubeSchema.scaled(value, total, round))
  assert.deepStrictEqual(both(3, 10), [3, 3])
  assert.deepStrictEqual(both("25%", 10), [2, 3])
  assert.deepStrictEqual(both("25%", 8), [2, 2])
  assert.deepStrictEqual(both("1%", 0), [0, 0])
  assert.throws(() => KubeSchema.scaled("many", 10, "up"), "\"many\": must be a number or a percentage")
})

it("objects of other kinds, with the metadata that the server expects", () => {
  const pod = { apiVersion: "v1", kind: "Pod" }
  accepts(KubeSchema.EmbeddedResource, [
    pod,
    {
      ...pod,
      apiVersion: "apps/v1",
      metadata: { name: "a.b", labels: { "x/y": "z", e: "" }, annotations: { "X/y": "ä" } },
      spec: [1]
    }
  ], true)
  accepts(KubeSchema.EmbeddedResource, [
    { kind: "Pod" },
    { ...pod, kind: "" },
    { ...pod, metadata: { name: "A" } },
    { ...pod, metadata: { labels: { "a b": "" } } },
    { ...pod, metadata: { labels: { a: "b c" } } },
    { ...pod, metadata: { annotations: { "": "" } } }
  ], false)
})

it("lists with keys, and sets", () => {
  const Ports = KubeSchema.listMap("port", "protocol")(
    Schema.Array(Schema.Struct({ port: Schema.Int, protocol: Schema.String }))
  )
  accepts(Ports, [[{ port: 1, protocol: "TCP" }, { port: 1, protocol: "UDP" }]], true)
  accepts(Ports, [[{ port: 1, protocol: "TCP" }, { port: 1, protocol: "TCP" }]], false)
  const Names = KubeSchema.listSet(Schema.Array(Schema.String))
  accepts(Names, [[], ["a", "b"]], true)
  accepts(Names, [["a", "a"]], false)
  // @ts-expect-error the items have no such field
  KubeSchema.listMap("name")(Schema.Array(Schema.Struct({ port: Schema.Int })))
})

it("an object of an externally declared type has that type, and is kept unchanged", () => {
  interface Template {
    readonly labels: Readonly<Record<string, string>>
    readonly image?: string
  }
  const Job = Schema.Struct({ template: Schema.optionalKey(KubeSchema.objectOf<Template>()) })
  const template: Template = { labels: { a: "b" }, image: "c" }
  const job: typeof Job.Type = { template }
  assert.deepStrictEqual(Schema.decodeUnknownSync(Job)(job), { template })
  accepts(KubeSchema.objectOf<Template>(), [template, {}], true)
  accepts(KubeSchema.objectOf<Template>(), ["a", null, []], false)
})
