import { CustomResource, type KubeObject, Resource } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Option, Result, Schema, SchemaTransformation } from "effect"
import { Prng } from "./support/Prng.ts"

const metadata: KubeObject.NamespacedObjectMeta = {
  name: "a",
  namespace: "d",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z"
}
const names = { group: "test.io", version: "v1", kind: "Web" } as const
const json = (spec: unknown, more: object = {}) => ({ apiVersion: "test.io/v1", kind: "Web", metadata, spec, ...more })

const success = <A>(result: Result.Result<A, Resource.Invalid>): A =>
  Result.getOrThrowWith(result, ({ issues }) => new Error(issues.join("\n")))
const issues = (result: Result.Result<unknown, Resource.Invalid>): ReadonlyArray<string> =>
  Result.isFailure(result) ? result.failure.issues : []

/** The spec after decode, a change, and encode. */
const trip = <Spec extends CustomResource.AnySchema>(
  spec: Spec,
  value: unknown,
  change: (spec: Spec["Type"]) => Spec["Type"] = (spec) => spec
) => {
  const resource = CustomResource.make({ ...names, spec })
  const decoded = success(resource.decode(json(value)))
  const encoded = success(resource.encode({ ...decoded, spec: change(decoded.spec) })) as { readonly spec: unknown }
  return { decoded: decoded.spec as Spec["Type"], encoded: encoded.spec }
}

class Port extends Schema.Class<Port>("Port")({ number: Schema.Int }) {
  get label(): string {
    return `:${this.number}`
  }
}
class WebSpec extends Schema.Class<WebSpec>("WebSpec")({
  size: Schema.Int,
  main: Port,
  ports: Schema.Array(Port)
}) {}

const Millis = Schema.String.pipe(Schema.decodeTo(
  Schema.Int,
  SchemaTransformation.transform({
    decode: (text: string) => text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000,
    encode: (n: number) => `${n}m`
  })
))

describe("CustomResource.make", () => {
  const Web = CustomResource.make({
    ...names,
    shortNames: ["w"],
    spec: Schema.Struct({ size: Schema.Int, cpu: Schema.optionalKey(Millis) }),
    status: Schema.Struct({ ready: Schema.Boolean }),
    scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" }
  })

  it("returns the type as data", () => {
    const web: typeof Web.Type = {
      apiVersion: "test.io/v1",
      kind: "Web",
      metadata,
      spec: { size: 1, cpu: 250 },
      status: { ready: true }
    }
    assert.deepStrictEqual(
      success(Web.decode(json({ size: 1, cpu: "250m" }, { status: { ready: true } }))),
      web
    )
    assert.deepStrictEqual(success(Web.encode(web)), json({ size: 1, cpu: "250m" }, { status: { ready: true } }))
    const id: "Web.v1.test.io" = Web.id
    assert.strictEqual(id, "Web.v1.test.io")
  })

  it("describes the kind", () => {
    assert.deepStrictEqual(
      [Web.plural, Web.singular, Web.listKind, Web.scope, Web.shortNames, Web.subresources],
      ["webs", "web", "WebList", "Namespaced", ["w"], ["status", "scale"]]
    )
    const plain = CustomResource.make({ ...names, spec: Schema.Struct({}), scope: "Cluster", plural: "webz" })
    assert.deepStrictEqual([plain.plural, plain.scope, plain.subresources], ["webz", "Cluster", []])
    // Cluster-scoped objects have no namespace, in the type either.
    const meta: KubeObject.ObjectMeta = {} as typeof plain.Type["metadata"]
    assert.isDefined(meta)
  })

  const make = (more: object) => () => CustomResource.make({ ...names, spec: Schema.Struct({}), ...more })
  it.each<readonly [more: object, message: RegExp]>([
    [{ group: "test" }, /: group: "test": must be a DNS subdomain with a dot \(such as example\.com\), and be at most/],
    [{ group: "Test.io" }, /: group: "Test\.io": /],
    [{ group: "-a.io" }, /: group: "-a\.io": /],
    [{ group: `${"g".repeat(250)}.io` }, /: group: /],
    [{ version: "V1" }, /: version: "V1": must begin with a letter, .* \(such as v1 or v1alpha1\)/],
    [{ version: "1" }, /: version: "1": /],
    [{ version: "v1.2" }, /: version: "v1\.2": /],
    [
      { kind: "2web" },
      /: kind: "2web": must begin with a letter, consist of letters and digits \(such as Autoscaler\)/
    ],
    [{ kind: "Web_App" }, /: kind: "Web_App": /],
    [{ kind: `W${"e".repeat(63)}` }, /: kind: /],
    [{ plural: "Webs" }, /: plural: "Webs": must begin with a letter, .* \(such as autoscalers\)/],
    [{ plural: "" }, /: plural: "": /],
    [{ plural: "w".repeat(64) }, /: plural: .* at most 63 characters/],
    [{ kind: `W${"e".repeat(62)}` }, /: plural: /],
    [{ singular: "Web" }, /: singular: "Web": /],
    [{ shortNames: ["w", "WB"] }, /: shortNames\[1\]: "WB": /],
    [{ shortNames: [""] }, /: shortNames\[0\]: "": /],
    [{ categories: ["All"] }, /: categories\[0\]: "All": /],
    [{ spec: undefined }, /: spec: undefined: must be a Schema, such as Schema\.Struct\(\{ replicas: Schema\.Int \}\)/],
    [{ spec: { replicas: "number" } }, /: spec: \{"replicas":"number"\}: must be a Schema/],
    [{ status: null }, /: status: null: must be a Schema.*, or left out/]
  ])("refuses %j with field, value and remedy", (more, message) => {
    assert.throws(make(more), message)
    assert.throws(make(more), /^CustomResource\.make: /)
  })

  it("accepts every name the server accepts", () => {
    for (
      const more of [{ version: "foo-bar" }, { version: "v01" }, { plural: "w-s" }, { group: "a.b.c.d-e" }, {
        kind: "postgresql"
      }]
    ) {
      assert.doesNotThrow(make(more))
    }
  })
})

describe("decode", () => {
  const Web = CustomResource.make({
    ...names,
    spec: Schema.Struct({
      size: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
      ports: Schema.Array(Schema.Struct({ name: Schema.NonEmptyString })),
      mode: Schema.optionalKey(Schema.Literals(["a", "b"])),
      labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
    }),
    status: Schema.Struct({ ready: Schema.Boolean })
  })

  it("fills in defaults", () => {
    assert.deepStrictEqual(success(Web.decode(json({ ports: [] }))).spec, { size: 1, ports: [] })
  })

  it("reports every issue at once, each with its path", () => {
    const found = issues(Web.decode(json({ size: 1.5, ports: [{ name: "" }, {}], mode: "c", labels: { "a.b/c": 1 } })))
    assert.deepStrictEqual(found.map((issue) => issue.replace(/:.*/, "")), [
      "spec.size",
      "spec.ports[0].name",
      "spec.ports[1].name",
      "spec.mode",
      "spec.labels.a.b/c"
    ])
    for (const issue of found) assert.match(issue, /^[^:\n]+: .+$/)
    assert.match(issues(Web.decode(json(undefined)))[0]!, /^spec: /)
    assert.match(issues(Web.decode(json(null)))[0]!, /^spec: /)
  })

  it("of a terminating object types are checked, but limits are not: it must be cleaned up", () => {
    const Sized = CustomResource.make({
      ...names,
      spec: Schema.Struct({ size: Schema.Int.check(Schema.isLessThanOrEqualTo(9)) })
    })
    const going = (spec: unknown) => {
      const { metadata, ...rest } = json(spec)
      return { ...rest, metadata: { ...(metadata as object), deletionTimestamp: "2026-01-01T00:00:00Z" } }
    }
    assert.match(issues(Sized.decode(json({ size: 12 })))[0]!, /^spec\.size: /)
    const object = success(Sized.decode(going({ size: 12, more: true })))
    assert.deepStrictEqual(object.spec, { size: 12, more: true } as never)
    assert.deepStrictEqual(success(Sized.encode(object)), going({ size: 12, more: true }))
    assert.match(issues(Sized.decode(going({ size: "12" })))[0]!, /^spec\.size: Expected number/)
  })

  it("treats a status that does not decode as absent", () => {
    for (const status of [{ ready: "yes" }, null, 5, {}]) {
      assert.isFalse("status" in success(Web.decode(json({ ports: [] }, { status }))))
    }
    assert.deepStrictEqual(success(Web.decode(json({ ports: [] }, { status: { ready: true } }))).status, {
      ready: true
    })
  })

  it("keeps the status if there is no status Schema", () => {
    const Plain = CustomResource.make({ ...names, spec: Schema.Struct({}) })
    const value = json({}, { status: { of: "another" } })
    assert.deepStrictEqual(success(Plain.encode(success(Plain.decode(value)))), value)
  })

  it("never throws, whatever the input", () => {
    for (const value of [undefined, null, 5, "text", [], {}, { metadata: 5 }, { metadata: null }]) {
      assert.match(issues(Web.decode(value))[0]!, /^metadata: missing/)
    }
  })

  it("a transformation that throws makes the value invalid, in both directions", () => {
    const Url = Schema.String.pipe(Schema.decodeTo(
      Schema.Struct({ host: Schema.String }),
      SchemaTransformation.transform({
        decode: (text: string) => ({ host: new URL(text).host }),
        encode: ({ host }: { readonly host: string }) => new URL(`https://${host}`).href
      })
    ))
    const Site = CustomResource.make({
      ...names,
      spec: Schema.Struct({ url: Url }),
      status: Schema.Struct({ url: Url })
    })
    const good = { url: "https://a.io/" }
    const told = /^spec: the Schema threw TypeError: Invalid URL: .*transformEffect/
    const going = { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }
    assert.match(issues(Site.decode(json({ url: "no url" })))[0]!, told)
    assert.match(issues(Site.decode(json({ url: "no url" }, going)))[0]!, told)
    assert.match(issues(Site.encode(json({ url: { host: "no host" } })))[0]!, told)
    assert.isFalse("status" in success(Site.decode(json(good, { status: { url: "no url" } }))))
    assert.match(
      issues(Site.encode(json({ url: { host: "a.io" } }, { status: { url: { host: "no host" } } })))[0]!,
      /^status: the Schema threw/
    )
    assert.deepStrictEqual(success(Site.encode(success(Site.decode(json(good))))), json(good))
  })

  it("does not change its input", () => {
    const value = json({ ports: [Object.freeze({ name: "a", x: 1 })], y: Object.freeze({}) }, {
      status: { ready: true }
    })
    const before = structuredClone(value)
    for (const part of [value, value.spec as object, metadata]) Object.freeze(part)
    success(Web.encode(success(Web.decode(value))))
    assert.deepStrictEqual(value, before)
  })
})

describe("encode", () => {
  const Web = CustomResource.make({
    ...names,
    spec: Schema.Struct({ size: Schema.Int, ports: Schema.Array(Schema.Struct({ name: Schema.NonEmptyString })) }),
    status: Schema.Struct({ ready: Schema.Boolean, at: Schema.DateFromString })
  })

  it("reports the issues of spec and status at once", () => {
    const found = issues(Web.encode(json({ size: "1", ports: [{ name: "" }] }, { status: { ready: 1, at: 2 } })))
    assert.deepStrictEqual(found.map((issue) => issue.replace(/:.*/, "")), [
      "spec.size",
      "spec.ports[0].name",
      "status.ready",
      "status.at"
    ])
  })

  it("leaves an absent status absent", () => {
    const value = json({ size: 1, ports: [] })
    assert.deepStrictEqual(success(Web.encode(value)), value)
  })
})

describe("unknown fields are kept", () => {
  it("at every depth, in lists and records, next to a change", () => {
    const Spec = Schema.Struct({
      size: Schema.Int,
      deep: Schema.Struct({ a: Schema.Struct({ b: Schema.Int }) }),
      list: Schema.Array(Schema.Struct({ k: Schema.String })),
      pair: Schema.Tuple([Schema.Struct({ k: Schema.String }), Schema.Int]),
      by: Schema.Record(Schema.String, Schema.Struct({ k: Schema.String }))
    })
    const value = {
      size: 1,
      x0: [1, { y: null }],
      deep: { x1: 1, a: { b: 1, x2: { z: [] } } },
      list: [{ k: "a", x3: 1 }, { k: "b" }, { k: "c", x4: "4" }],
      pair: [{ k: "p", x5: 5 }, 1],
      by: { one: { k: "a", x6: 6 } }
    }
    const { decoded, encoded } = trip(Spec, value, (spec) => ({ ...spec, size: 2 }))
    assert.deepStrictEqual(decoded as unknown, value)
    assert.deepStrictEqual(encoded, { ...value, size: 2 })
    const shorter = trip(Spec, value, (spec) => ({ ...spec, list: spec.list.filter(({ k }) => k !== "a") }))
    assert.deepStrictEqual(shorter.encoded, { ...value, list: value.list.slice(1) })
  })

  it("under transformations", () => {
    const Spec = Schema.Struct({
      cpu: Millis,
      at: Schema.DateFromString,
      maybe: Schema.OptionFromNullOr(Schema.Struct({ k: Schema.Int }))
    })
    const value = { cpu: "2", at: "2026-01-01T00:00:00.000Z", maybe: { k: 1, x: 1 }, y: { z: 1 } }
    const { decoded, encoded } = trip(Spec, value, (spec) => ({ ...spec, cpu: spec.cpu + 1 }))
    assert.strictEqual(decoded.cpu, 2000)
    assert.strictEqual(decoded.at.getTime(), Date.UTC(2026, 0))
    assert.strictEqual(Option.getOrThrow(decoded.maybe).k, 1)
    assert.deepStrictEqual(encoded, { ...value, cpu: "2001m" })
  })

  it("under renamed keys", () => {
    const Spec = Schema.Struct({
      kept: Schema.Int,
      config: Schema.Struct({ a: Schema.Int }),
      entries: Schema.Array(Schema.Struct({ a: Schema.Int }).pipe(Schema.encodeKeys({ a: "A" }))),
      late: Schema.optionalKey(Schema.Struct({ a: Schema.Int }))
    }).pipe(Schema.encodeKeys({ config: "cfg", entries: "items", late: "zz" }))
    const value = { items: [{ A: 1, x1: 1 }, { A: 2 }], x0: 0, cfg: { a: 1, x2: { y: 2 } }, kept: 3 }
    const { decoded, encoded } = trip(Spec, value, (spec) => ({ ...spec, config: { ...spec.config, a: 9 } }))
    assert.deepStrictEqual(decoded as unknown, {
      kept: 3,
      config: { a: 1, x2: { y: 2 } },
      entries: [{ a: 1, x1: 1 }, { a: 2 }],
      x0: 0
    })
    assert.deepStrictEqual(encoded, { ...value, cfg: { a: 9, x2: { y: 2 } } })
    const full = { ...value, zz: { a: 4, x3: 3 } }
    assert.deepStrictEqual(trip(Spec, full).encoded, full)
    // A field nobody knows does not take the place of one that is called so after decoding.
    assert.deepStrictEqual(trip(Spec, { ...value, config: 5 }).decoded.config as unknown, value.cfg)
  })

  it("in class instances, which keep their class", () => {
    const value = { size: 1, x0: 0, main: { number: 1, x1: 1 }, ports: [{ number: 2, x2: 2 }, { number: 3 }] }
    const { decoded, encoded } = trip(WebSpec, value)
    assert.instanceOf(decoded, WebSpec)
    assert.deepStrictEqual([decoded.main.label, ...decoded.ports.map(({ label }) => label)], [":1", ":2", ":3"])
    assert.deepStrictEqual(encoded, value)
  })

  it("if a class instance is changed by spreading it", () => {
    const value = { size: 1, x0: 0, main: { number: 1, x1: 1 }, ports: [{ number: 2, x2: 2 }] }
    const changed = trip(WebSpec, value, (spec) => ({ ...spec, size: 2 }))
    assert.deepStrictEqual(changed.encoded, { ...value, size: 2 })
    const deeper = trip(WebSpec, value, (spec) => ({ ...spec, main: Object.assign({}, spec.main, { number: 7 }) }))
    assert.deepStrictEqual(deeper.encoded, { ...value, main: { number: 7, x1: 1 } })
  })

  it("of any name", () => {
    const value = JSON.parse(`{"size":1,"__proto__":{"x":1},"constructor":2,"in":{"__proto__":5,"k":1},"toString":3}`)
    const { encoded } = trip(Schema.Struct({ size: Schema.Int, in: Schema.Struct({ k: Schema.Int }) }), value)
    assert.strictEqual(JSON.stringify(sorted(encoded)), JSON.stringify(sorted(value)))
  })

  it("in the status too", () => {
    const Web = CustomResource.make({
      ...names,
      spec: Schema.Struct({}),
      status: Schema.Struct({ list: Schema.Array(Schema.Struct({ k: Schema.Int })) })
    })
    const value = json({ x: 1 }, { status: { list: [{ k: 1, x: 1 }], y: 2 }, z: 3 })
    assert.deepStrictEqual(success(Web.encode(success(Web.decode(value)))), value)
  })
})

it("encode accepts plain objects for classes, with full paths in their issues", () => {
  const Web = CustomResource.make({ ...names, spec: WebSpec })
  const spec = { size: 1, main: { number: 1 }, ports: [{ number: 2 }] }
  assert.deepStrictEqual((success(Web.encode(json(spec))) as { readonly spec: unknown }).spec, spec)
  const bad = { size: "1", main: { number: 1.5 }, ports: [{ number: 2 }, {}] }
  assert.deepStrictEqual(issues(Web.encode(json(bad))).map((issue) => issue.replace(/:.*/, "")), [
    "spec.size",
    "spec.main.number",
    "spec.ports[1].number"
  ])
})

// --- any spec, any extras -------------------------------------------------------------------------------------------

const Rich = Schema.Struct({
  size: Schema.Int.check(Schema.isBetween({ minimum: -5, maximum: 100 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(1))
  ),
  name: Schema.String,
  ratio: Schema.optionalKey(Schema.Finite),
  mode: Schema.Literals(["a", "b"]),
  config: Schema.Struct({ on: Schema.Boolean, ports: Schema.Array(Schema.Struct({ n: Schema.Int })) }),
  list: Schema.Array(Schema.Struct({ k: Schema.String, sub: Schema.optionalKey(Schema.Struct({ v: Schema.Int })) })),
  by: Schema.Record(Schema.String, Schema.Struct({ v: Schema.Int })),
  either: Schema.Union([
    Schema.TaggedStruct("one", { a: Schema.Struct({ v: Schema.Int }) }),
    Schema.TaggedStruct("two", { b: Schema.Array(Schema.Struct({ v: Schema.Int })) })
  ]),
  nothing: Schema.NullOr(Schema.Struct({ v: Schema.Int })),
  free: Schema.Unknown,
  delay: Schema.NumberFromString.check(Schema.isFinite()),
  port: Port
}).pipe(Schema.encodeKeys({ config: "cfg", list: "items", delay: "after" }))

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : isRecord(value)
    ? Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, part]) => [key, sorted(part)])
    : value

/** The same JSON with fields no schema knows, in as many objects as chance will have. */
const withExtras = (value: unknown, random: Prng): unknown => {
  if (Array.isArray(value)) return value.map((item) => withExtras(item, random))
  if (!isRecord(value)) return value
  const parts = Object.entries(value).map(([key, part]) => [key, withExtras(part, random)] as const)
  for (let i = random.int(0, 2); i > 0; i--) {
    const extra = random.pick([1, "x", null, false, [], {}, [{ deep: [1] }], { "a.b/c": { d: null } }])
    parts.splice(random.int(0, parts.length), 0, [`x-${random.int(0, 9)}`, extra])
  }
  return Object.fromEntries(parts)
}

describe("any spec of the schema, with any extras", () => {
  const Web = CustomResource.make({ ...names, spec: Rich })
  const decode = Schema.decodeUnknownSync(Rich)
  const encode = Schema.encodeSync(Rich)
  const seed = 20_261_121

  it.effect(`keeps every unknown field, and otherwise equals what the schema says (seed ${seed})`, () =>
    Effect.gen(function*() {
      const specs = yield* Arbitrary.sampleEffect(Arbitrary.schema(Rich), { count: 2_000, seed })
      for (const [i, spec] of specs.entries()) {
        const random = new Prng(seed + i)
        // What is free is the user's: nothing in it is an extra.
        const plain = JSON.parse(JSON.stringify({ ...encode(spec), free: random.pick([1, null, { f: [1] }]) }))
        if (random.chance(0.3)) delete plain.size
        // A record takes every key for its own: there are extras only in its values.
        const { by, ...rest } = plain
        const values = Object.entries(by).map(([key, part]) => [key, withExtras(part, random)])
        const value = { ...(withExtras(rest, random) as object), by: Object.fromEntries(values) }
        const decoded = success(Web.decode(json(value)))
        const text = `sample ${i}: ${JSON.stringify(value)}`
        // What the schema knows of it, by the schema's own word.
        assert.deepStrictEqual(encode(decoded.spec), encode(decode(value)), text)
        const again = (success(Web.encode(decoded)) as { readonly spec: unknown }).spec
        const expected = { size: 1, ...value }
        assert.strictEqual(JSON.stringify(sorted(again)), JSON.stringify(sorted(expected)), text)
        // A change touches nothing else.
        const changed = { ...decoded, spec: { ...decoded.spec, name: "changed" } }
        const written = (success(Web.encode(changed)) as { readonly spec: unknown }).spec
        assert.strictEqual(
          JSON.stringify(sorted(written)),
          JSON.stringify(sorted({ ...expected, name: "changed" })),
          text
        )
      }
    }))
})

describe("stored values are JSON", () => {
  const Dated = CustomResource.make({
    group: "example.com",
    version: "v1",
    kind: "Dated",
    spec: Schema.Struct({ at: Schema.Date, size: Schema.BigInt, note: Schema.optional(Schema.String) }),
    status: Schema.Struct({ seen: Schema.Date })
  })
  const stored = {
    apiVersion: "example.com/v1",
    kind: "Dated",
    metadata: { name: "a", uid: "u", resourceVersion: "1" },
    spec: { at: "2026-01-02T03:04:05.000Z", size: "12345678901234567890", extra: { deep: [1] } },
    status: { seen: "2026-01-02T03:04:06.000Z" }
  }

  it("dates and big integers are stored as text, and decoded to the Schema's type", () => {
    const decoded = Result.getOrThrow(Dated.decode(stored))
    assert.deepStrictEqual(decoded.spec.at, new Date("2026-01-02T03:04:05Z"))
    assert.strictEqual(decoded.spec.size, 12345678901234567890n)
    assert.deepStrictEqual(decoded.status?.seen, new Date("2026-01-02T03:04:06Z"))
    assert.deepStrictEqual(Result.getOrThrow(Dated.encode(decoded)), stored)
  })

  it("a key with undefined is left out, and null is accepted in its place", () => {
    const { spec, ...rest } = stored
    const decoded = Result.getOrThrow(Dated.decode({ ...rest, spec: { ...spec, note: null } }))
    assert.isUndefined(decoded.spec.note)
    const encoded = Result.getOrThrow(Dated.encode({ ...decoded, spec: { ...decoded.spec, note: undefined } }))
    assert.notProperty((encoded as typeof stored).spec, "note")
  })
})

describe("encodeFields", () => {
  const Rich = CustomResource.make({
    ...names,
    spec: Schema.Struct({
      size: Schema.Int.check(Schema.isGreaterThan(5)),
      at: Schema.Date,
      main: Port,
      deep: Schema.Struct({ delay: Schema.NumberFromString, other: Schema.Int }),
      list: Schema.Array(Schema.Struct({ at: Schema.Date })),
      by: Schema.Record(Schema.String, Schema.Struct({ at: Schema.Date, size: Schema.Int })),
      either: Schema.Union([
        Schema.TaggedStruct("one", { at: Schema.Date, size: Schema.Int }),
        Schema.TaggedStruct("two", { size: Schema.Int })
      ])
    }).pipe(Schema.encodeKeys({ deep: "inner" })),
    status: Schema.Struct({ seen: Schema.Date, count: Schema.BigInt })
  })
  const at = new Date("2026-01-02T03:04:05Z")
  const text = "2026-01-02T03:04:05.000Z"

  it("encodes the fields that are present, at any depth, and leaves limits to the server", () => {
    assert.deepStrictEqual(
      success(Rich.encodeFields({ metadata, spec: { deep: { delay: 5, x: 1 }, list: [{ at }], y: 2 }, z: 3 })),
      { metadata, spec: { inner: { delay: "5", x: 1 }, list: [{ at: text }], y: 2 }, z: 3 }
    )
    assert.deepStrictEqual(success(Rich.encodeFields({ status: { count: 7n } })), { status: { count: "7" } })
    assert.deepStrictEqual(success(Rich.encodeFields({ spec: { size: 1, at, main: new Port({ number: 1 }) } })), {
      spec: { size: 1, at: text, main: { number: 1 } }
    })
    assert.deepStrictEqual(
      success(Rich.encodeFields({ spec: { main: {}, by: { a: { at } }, either: { _tag: "one", at } } })),
      { spec: { main: {}, by: { a: { at: text } }, either: { _tag: "one", at: text } } }
    )
    assert.deepStrictEqual(success(Rich.encodeFields({ spec: { either: { at } } })), { spec: { either: { at: text } } })
  })

  it("reports what does not fit", () => {
    const found = issues(Rich.encodeFields({ spec: { deep: { delay: "5" } }, status: { seen: 1 } }))
    assert.deepStrictEqual(found.map((issue) => issue.replace(/:.*/, "")), ["spec.deep.delay", "status.seen"])
  })
})
