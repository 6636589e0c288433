import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Negotiation from "../../src/api/Negotiation.ts"

const json = (text: string) => Negotiation.decode("json", text)
const yaml = (text: string) => Result.getOrThrow(Negotiation.decode("yaml", text))
const said = (result: Result.Result<unknown, string>) => Result.isFailure(result) ? result.failure : undefined

describe("Negotiation", () => {
  it("takes a media type apart", () => {
    assert.deepStrictEqual(Negotiation.parseMediaType(" Application/JSON ; As=Table; v=\"v1\";q "), {
      type: "application/json",
      parameters: { as: "Table", v: "v1" }
    })
  })

  it("orders what a client accepts by weight, then as written", () => {
    const types = Negotiation.parseAccept("a/a;q=0.5, b/b, c/c;q=0.9, d/d").map(({ type }) => type)
    assert.deepStrictEqual(types, ["b/b", "d/d", "c/c", "a/a"])
    assert.deepStrictEqual(Negotiation.parseAccept(" ").map(({ type }) => type), ["*/*"])
    assert.deepStrictEqual(Negotiation.parseAccept("A/b;AS=Table"), [{ type: "A/b", parameters: { AS: "Table" } }])
  })

  it("answers in the first encoding it speaks, and a watch in JSON only", () => {
    assert.strictEqual(Negotiation.acceptable(undefined, false), "json")
    assert.strictEqual(Negotiation.acceptable("application/*", false), "json")
    assert.strictEqual(Negotiation.acceptable("application/yaml, application/json;q=0.1", false), "yaml")
    assert.strictEqual(Negotiation.acceptable("application/vnd.kubernetes.protobuf, application/json", false), "json")
    assert.isUndefined(Negotiation.acceptable("text/html", false))
    assert.isUndefined(Negotiation.acceptable("application/yaml", true))
    assert.isUndefined(Negotiation.acceptable("application/json;q=0.1, application/yaml", true))
    assert.strictEqual(Negotiation.acceptable("text/html, application/json, application/yaml", true), "json")
    assert.isUndefined(Negotiation.asItIs("text/html"))
    assert.deepStrictEqual(Negotiation.asItIs("application/yaml"), { encoding: "yaml", indented: false })
    assert.deepStrictEqual(Negotiation.accepted("application/json;pretty=1"), { encoding: "json", indented: true })
    assert.deepStrictEqual(Negotiation.accepted("application/json;pretty=true"), { encoding: "json", indented: false })
  })

  it("knows the encoding of a body by its content type", () => {
    assert.strictEqual(Negotiation.bodyEncoding(undefined), "json")
    assert.strictEqual(Negotiation.bodyEncoding("application/merge-patch+json; charset=utf-8"), "json")
    assert.strictEqual(Negotiation.bodyEncoding("application/apply-patch+yaml"), "yaml")
    assert.isUndefined(Negotiation.bodyEncoding("text/plain"))
  })

  it("says in Go's words what is wrong with JSON", () => {
    assert.deepStrictEqual(json("{\"a\":[1]}"), Result.succeed({ a: [1] }))
    const words: ReadonlyArray<readonly [text: string, said: string]> = [
      ["", "unexpected end of JSON input"],
      ["{\"a\":nope}", "invalid character 'o' in literal null (expecting 'u')"],
      ["{a: 1}", "invalid character 'a' looking for beginning of object key string"]
    ]
    for (const [text, message] of words) assert.strictEqual(said(json(text)), message, text)
    const bytes = Uint8Array.of(0xff)
    const wrong = "invalid character 'ÿ' looking for beginning of value"
    assert.strictEqual(said(Negotiation.decode("json", "\ufffd", bytes)), wrong)
  })

  it("replaces halves of characters", () => {
    const text = String.raw`{"a\ud800":["\udc00b","\ud83d\ude00"],"c":1}`
    assert.deepStrictEqual(json(text), Result.succeed({ "a\ufffd": ["\ufffdb", "\u{1f600}"], c: 1 }))
  })

  it("reads the largest int64 as an integer that is one", () => {
    const [largest, more] = Result.getOrThrow(json("[9223372036854775807, 9223372036854775808]")) as [number, number]
    assert.isBelow(largest, more)
    assert.strictEqual(more, 2 ** 63)
  })

  it("reads 10,000 levels of JSON and no more", () => {
    const nested = (depth: number, inside = "") => "[".repeat(depth) + inside + "]".repeat(depth)
    assert.isTrue(Result.isSuccess(json(nested(10_000))))
    assert.strictEqual(said(json(nested(10_001))), "invalid character '[' exceeded max depth")
    assert.isTrue(Result.isSuccess(json(nested(9_000, JSON.stringify(`\\"${"[".repeat(9_000)}\\`)))))
  })

  it("reads YAML as Go's reader does", () => {
    assert.deepStrictEqual(yaml("mode: 0644\non: yes\nn: N\n"), { mode: 420, true: true, false: false })
    assert.deepStrictEqual(yaml("time: 2026-01-01T00:00:00Z\n"), { time: "2026-01-01T00:00:00Z" })
    assert.deepStrictEqual(yaml("ports: 10:20\n"), { ports: "10:20" })
    assert.deepStrictEqual(yaml("a: &a {x: 1}\nb:\n  <<: *a\n  z: 2\n"), { a: { x: 1 }, b: { x: 1, z: 2 } })
    assert.isNull(yaml(""))
    const texts = [".", "-.", "._", "e3", "1e400", "_1", "0b2", "0x", "1.5.2", "1:30", "+", "2020-01-01"]
    for (const text of texts) assert.deepStrictEqual(yaml(`a: ${text}\n${text}: 1\n`), { a: text, [text]: 1 })
    const numbers: ReadonlyArray<readonly [string, number]> = [
      ["0o17", 15],
      ["0O17", 15],
      ["0X1f", 31],
      ["-0b11", -3],
      ["0888", 888],
      [".5e3", 500],
      ["1.", 1],
      ["1_000.5_0", 1000.5],
      ["+1", 1],
      ["!!float 3", 3],
      ["!!int \"3\"", 3]
    ]
    for (const [text, number] of numbers) assert.deepStrictEqual(yaml(`a: ${text}\n`), { a: number })
    assert.deepStrictEqual(yaml("a: !!set {b, c}\nd: !!omap [e: f]\ng: !!binary YWJj\n"), {
      a: { b: null, c: null },
      d: [{ e: "f" }],
      g: "abc"
    })
    assert.strictEqual(said(Negotiation.decode("yaml", "a: -.inf\n")), "json: unsupported value: -Inf")
    // A block that is cut off with the text has no line break at its end; one before less or nothing has.
    const blocks = ["|\n b", "|+\n b", ">\n b", "|2\n  b", "|\n b\n", "|\n b\n ", "|\n b\n# c", "|\n b\n..."]
    const read = blocks.map((block) => (yaml(`a: ${block}`) as { readonly a: string }).a)
    assert.deepStrictEqual(read, ["b", "b", "b", "b", "b\n", "b\n", "b\n", "b\n"])
    assert.deepStrictEqual(yaml("a:\n- b: |\n    c\n\n    d"), { a: [{ b: "c\n\nd" }] })
  })

  it("refuses YAML that is broken, naming the line", () => {
    assert.match(said(Negotiation.decode("yaml", "a: 1\nb: [\n")) ?? "", /^yaml: line \d+: /)
    assert.strictEqual(said(Negotiation.decode("yaml", "a: [1")), "yaml: line 1: did not find expected ',' or ']'")
    assert.strictEqual(said(Negotiation.decode("yaml", "\ta: 1")), "yaml: found character that cannot start any token")
  })

  it("says what is wrong with YAML in the words of Go's reader", () => {
    const words = (text: string) => said(Negotiation.decode("yaml", text))
    const unstarted = "found character that cannot start any token"
    assert.strictEqual(words("b: *y\n"), "yaml: unknown anchor 'y' referenced")
    assert.strictEqual(words("a: @b\n"), `yaml: ${unstarted}`)
    assert.strictEqual(words("x: 1\na: `b\n"), `yaml: line 2: ${unstarted}`)
    assert.strictEqual(words("a: %b\n"), `yaml: ${unstarted}`)
    const entries = "block sequence entries are not allowed in this context"
    assert.strictEqual(words("a: - b\n"), `yaml: ${entries}`)
    assert.strictEqual(words("x: 1\na: - b\n"), `yaml: line 2: ${entries}`)
    const values = "mapping values are not allowed in this context"
    assert.strictEqual(words("a: b: c\n"), `yaml: ${values}`)
    assert.strictEqual(words("a: b\n c: d\n"), `yaml: line 2: ${values}`)
    assert.strictEqual(words("a: \"b\n"), "yaml: line 2: found unexpected end of stream")
    assert.strictEqual(words("a: 'b"), "yaml: found unexpected end of stream")
    assert.strictEqual(words("x: 1\na: 'b\n\n"), "yaml: line 4: found unexpected end of stream")
    assert.strictEqual(words("a: \"\\q\"\n"), "yaml: found unknown escape character")
    assert.strictEqual(words("a: {b: c\n"), "yaml: line 1: did not find expected ',' or '}'")
    assert.strictEqual(words("a: [b, c\nd: e\n"), "yaml: line 1: did not find expected ',' or ']'")
    assert.strictEqual(words("x: 1\ny: 2\na: [b\n\n"), "yaml: line 4: did not find expected ',' or ']'")
  })

  it("refuses YAML that is too deep for its reader", () =>
    assert.strictEqual(
      said(Negotiation.decode("yaml", `x: ${"[".repeat(9_000)}${"]".repeat(9_000)}`)),
      "yaml: exceeded max depth of 10000"
    ))

  it("reads the first of several documents, and of several equal keys the last", () => {
    assert.deepStrictEqual(yaml("a: 1\n---\nb: 2\n"), { a: 1 })
    assert.deepStrictEqual(yaml("a: 1\na: 2\n"), { a: 2 })
  })

  it("passes over what is not spoken: streams of nothing, forms of no name, other cases", () => {
    assert.strictEqual(Negotiation.acceptable("application/json;stream=watch", false), "json")
    assert.isUndefined(Negotiation.acceptable("application/json;stream=nope", false))
    assert.isUndefined(Negotiation.acceptable("Application/JSON", false))
    assert.strictEqual(Negotiation.acceptable("*", false), "json")
    assert.isFalse(Negotiation.passesRouter("*"))
    assert.isFalse(Negotiation.passesRouter("application/*"))
    assert.isUndefined(Negotiation.asItIs("application/yaml;as=Table;g=meta.k8s.io;v=v1"))
    assert.strictEqual(Negotiation.asItIs("application/yaml;g=meta.k8s.io,application/yaml")?.encoding, "yaml")
  })

  it("quotes the start of a body: text if it is JSON, hexadecimal otherwise", () => {
    assert.strictEqual(Negotiation.summarize(""), "<empty>")
    assert.strictEqual(Negotiation.summarize("{}"), "{}")
    assert.strictEqual(Negotiation.summarize("ab"), "6162")
    assert.strictEqual(Negotiation.summarize(`{${"x".repeat(30)}`), `{${"x".repeat(29)} ...`)
  })

  it("says what was found where an object should be", () => {
    const found = (value: unknown) => /cannot unmarshal (\w+) into/.exec(Negotiation.noObject(value))?.[1]
    assert.deepStrictEqual([[], true, 1, "a"].map(found), ["array", "bool", "number", "string"])
  })

  it("writes JSON on one line or indented, and YAML sorted and without aliases", () => {
    assert.strictEqual(Negotiation.encode("json", { b: 1 }, false), "{\"b\":1}\n")
    assert.strictEqual(Negotiation.encode("json", { b: 1 }, true), "{\n  \"b\": 1\n}")
    const shared = { x: 1 }
    assert.strictEqual(Negotiation.encode("yaml", { b: shared, a: shared }, false), "a:\n  x: 1\nb:\n  x: 1\n")
    assert.strictEqual(Negotiation.encode("yaml", { a: [{ b: 1 }] }, false), "a:\n- b: 1\n")
  })
})
