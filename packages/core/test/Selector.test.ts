import { Selector } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Prng } from "./support/Prng.ts"

const labels = (text: string) => Result.getOrThrowWith(Selector.parseLabels(text), (why) => new Error(why))
const fields = (text: string) => Result.getOrThrowWith(Selector.parseFields(text), (why) => new Error(why))
const fault = <A>(result: Result.Result<A, string>): string => Result.isFailure(result) ? result.failure : "accepted"

const words = ["a", "in", "notin", "x.io/name", "A_1", "z-9.b", "exists", "0"]
const values = ["", "a", "in", "notin", "1", "23", "v-1", "A.b_c", "v".repeat(63)]

const requirement = (random: Prng): Selector.Requirement => {
  const key = random.pick(words)
  switch (random.int(0, 7)) {
    case 0:
      return { operator: "=", key, value: random.pick(values) }
    case 1:
      return { operator: "!=", key, value: random.pick(values) }
    case 2:
      return { operator: ">", key, value: String(random.int(0, 99)) }
    case 3:
      return { operator: "<", key, value: String(random.int(0, 99)) }
    case 4:
      return { operator: "exists", key }
    case 5:
      return { operator: "!exists", key }
    default: {
      const some = new Set(Array.from({ length: random.int(1, 4) }, () => random.pick(values)))
      return { operator: random.chance(0.5) ? "in" : "notin", key, values: [...some].sort() }
    }
  }
}

describe("parseLabels", () => {
  it("parses what formatLabels writes (20,000 random selectors)", () => {
    for (let seed = 1; seed <= 20_000; seed++) {
      const random = new Prng(seed)
      const selector = Array.from({ length: random.int(0, 4) }, () => requirement(random))
      const text = Selector.formatLabels(selector)
      assert.deepStrictEqual(labels(text), selector, `seed ${seed}: ${text}`)
    }
  })

  it("accepts spaces, both equality operators, and words that are operators elsewhere", () => {
    const same = (text: string, other: string) => assert.strictEqual(Selector.formatLabels(labels(text)), other, text)
    same("", "")
    same(" \t\r\n ", "")
    same("a == b", "a=b")
    same("! a", "!a")
    same("a\tin\n( b , c )", "a in (b,c)")
    same("a in(b)", "a in (b)")
    same("in in (in,notin)", "in in (in,notin)")
    same("notin", "notin")
    same("in=a,a=in", "in=a,a=in")
    same("a=,b!=,c", "a=,b!=,c")
    same("a <1,b>2", "a<1,b>2")
  })

  it("treats a missing value between parentheses as the empty one", () => {
    const list = (text: string) => {
      const [first] = labels(text)
      return first !== undefined && "values" in first ? first.values : undefined
    }
    assert.deepStrictEqual(list("a in ()"), [""])
    assert.deepStrictEqual(list("a notin ()"), [""])
    assert.deepStrictEqual(list("a in (,)"), [""])
    assert.deepStrictEqual(list("a in (b,)"), ["", "b"])
    assert.deepStrictEqual(list("a in (,b)"), ["", "b"])
    assert.deepStrictEqual(list("a in (c,,b,c)"), ["", "b", "c"])
  })

  // The answers of a kube-apiserver to each of these, with the texts of 1.35 where they differ from 1.20's.
  const syntax =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
  const valueSyntax =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " +
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
  const operators = "in, notin, =, ==, !=, gt, lt"
  const refused: ReadonlyArray<readonly [text: string, answer: string]> = [
    ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in", "unable to parse requirement: found '' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["a in (!)", "unable to parse requirement: found '!', expected: ',', ')' or identifier"],
    ["a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"],
    ["a in (b!c)", "unable to parse requirement: found '!', expected: ',' or ')'"],
    ["a b", `unable to parse requirement: found 'b', expected: ${operators}`],
    ["a!", `unable to parse requirement: found '!', expected: ${operators}`],
    ["a)", `unable to parse requirement: found ')', expected: ${operators}`],
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["a=!b", "unable to parse requirement: found '!', expected: identifier"],
    ["a>=1", "unable to parse requirement: found '=', expected: identifier"],
    ["a<>1", "unable to parse requirement: found '>', expected: identifier"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["!!a", "unable to parse requirement: found '!', expected: identifier"],
    ["=a", "found '=', expected: !, identifier, or 'end of string'"],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["!=b", "found '!=', expected: !, identifier, or 'end of string'"],
    ["(a)", "found '(', expected: !, identifier, or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a,,b", "found ',', expected: identifier after ','"],
    ["a, ,b", "found ',', expected: identifier after ','"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["a=b)", "found ')', expected: ',' or 'end of string'"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["a in (b)c", "found 'c', expected: ',' or 'end of string'"],
    ["-a", `unable to parse requirement: <nil>: Invalid value: "-a": name part ${syntax}`],
    ["a;b", `unable to parse requirement: <nil>: Invalid value: "a;b": name part ${syntax}`],
    ["a/", `unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; name part ${syntax}`],
    ["/a", `unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty`],
    [
      "a/b/c",
      `unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key ${syntax} with an optional DNS ` +
      "subdomain prefix and '/' (e.g. 'example.com/MyName')"
    ],
    [
      "k".repeat(64),
      `unable to parse requirement: <nil>: Invalid value: "${"k".repeat(64)}": name part must be no more than 63 bytes`
    ],
    ["a=-b", `unable to parse requirement: values[0][a]: Invalid value: "-b": ${valueSyntax}`],
    ["a=é", `unable to parse requirement: values[0][a]: Invalid value: "é": ${valueSyntax}`],
    ["a in (b,-c)", `unable to parse requirement: values[0][a]: Invalid value: "-c": ${valueSyntax}`],
    [
      "a=" + "b".repeat(64),
      `unable to parse requirement: values[0][a]: Invalid value: "${"b".repeat(64)}": must be no more than 63 bytes`
    ],
    [
      "a in (-,_)",
      `unable to parse requirement: [values[0][a]: Invalid value: "-": ${valueSyntax}, ` +
      `values[1][a]: Invalid value: "_": ${valueSyntax}]`
    ],
    [
      "a>;1",
      "unable to parse requirement: [values[0]: Invalid value: \";1\": for 'Gt', 'Lt' operators, the value must be an " +
      `integer, values[0][a]: Invalid value: ";1": ${valueSyntax}]`
    ],
    ["a>-1", `unable to parse requirement: values[0][a]: Invalid value: "-1": ${valueSyntax}`],
    ...["x", "1.5", "9223372036854775808", ""].map((value) =>
      [
        `a>${value}`,
        `unable to parse requirement: values[0]: Invalid value: "${value}": ` +
        "for 'Gt', 'Lt' operators, the value must be an integer"
      ] as const
    )
  ]
  it.each(refused)("refuses %j in the server's words", (text, answer) => {
    assert.strictEqual(fault(Selector.parseLabels(text)), answer)
  })

  it("refuses prefixes that are not DNS subdomains", () => {
    for (const text of ["X.y/z", "A_b.c/x", "-a/b", "a..b/c", `${"a".repeat(254)}/b`]) {
      assert.match(fault(Selector.parseLabels(text)), /prefix part/, text)
    }
    assert.strictEqual(fault(Selector.parseLabels(`${"a".repeat(253)}/b`)), "accepted")
  })
})

describe("matchesLabels", () => {
  const matches = (text: string, of?: Readonly<Record<string, string>>) => Selector.matchesLabels(labels(text), of)

  it("follows the documentation of Kubernetes", () => {
    const production = { environment: "production", tier: "frontend", n: "10", empty: "" }
    for (
      const [text, expected] of [
        ["", true],
        ["environment = production", true],
        ["environment == qa", false],
        ["tier != frontend", false],
        ["tier != backend", true],
        ["partition != x", true],
        ["environment in (production, qa)", true],
        ["environment in (qa)", false],
        ["missing in (production)", false],
        ["tier notin (frontend, backend)", false],
        ["tier notin (backend)", true],
        ["missing notin (frontend)", true],
        ["tier", true],
        ["missing", false],
        ["!tier", false],
        ["!missing", true],
        ["empty", true],
        ["empty=", true],
        ["missing=", false],
        ["missing!=", true],
        ["empty in ()", true],
        ["missing in ()", false],
        ["missing notin ()", true],
        ["empty notin ()", false],
        ["n > 9", true],
        ["n > 10", false],
        ["n < 11", true],
        ["n < 9", false],
        ["tier > 1", false],
        ["missing > 1", false],
        ["missing < 1", false],
        ["environment=production,tier notin (backend)", true],
        ["environment=production,tier in (backend)", false]
      ] as const
    ) assert.strictEqual(matches(text, production), expected, text)
  })

  it("treats an object without labels as one without keys", () => {
    assert.isTrue(matches("!a,b!=c,d notin (e)", undefined))
    assert.isFalse(matches("a", undefined))
  })

  it("does not mistake inherited properties for labels", () => {
    assert.isTrue(matches("!constructor,toString notin (x)", {}))
    assert.isFalse(matches("constructor", {}))
  })

  it("compares 64-bit integers, and nothing else", () => {
    const big = "9007199254740993"
    assert.isTrue(matches(`n>9007199254740992`, { n: big }))
    assert.isFalse(matches(`n>${big}`, { n: big }))
    assert.isFalse(matches("n>1", { n: "9223372036854775808" }))
    assert.isFalse(matches("n>1", { n: "2.5" }))
  })

  it("gives the same result for a selector that was formatted and parsed (random)", () => {
    for (let seed = 1; seed <= 5_000; seed++) {
      const random = new Prng(seed)
      const selector = Array.from({ length: random.int(1, 3) }, () => requirement(random))
      const of = Object.fromEntries(Array.from({ length: 4 }, () => [random.pick(words), random.pick(values)]))
      const text = Selector.formatLabels(selector)
      assert.strictEqual(matches(text, of), Selector.matchesLabels(selector, of), `seed ${seed}: ${text}`)
    }
  })
})

describe("ways to write a selector", () => {
  it("formats all of them as text, an empty one as none", () => {
    assert.strictEqual(Selector.labelsText("a=b"), "a=b")
    assert.strictEqual(Selector.labelsText({ b: "2", a: "1" }), "a=1,b=2")
    assert.strictEqual(Selector.labelsText([{ operator: "exists", key: "a" }]), "a")
    for (const nothing of [undefined, "", {}, []]) assert.isUndefined(Selector.labelsText(nothing))
    assert.strictEqual(Selector.fieldsText([{ operator: "=", field: "metadata.name", value: "x" }]), "metadata.name=x")
    for (const nothing of [undefined, "", []]) assert.isUndefined(Selector.fieldsText(nothing))
  })

  it("turns all of them into requirements", () => {
    const expected = [{ operator: "=", key: "a", value: "1" }]
    assert.deepStrictEqual(Selector.toLabels("a=1"), Result.succeed(expected) as never)
    assert.deepStrictEqual(Selector.toLabels({ a: "1" }), Result.succeed(expected) as never)
    assert.deepStrictEqual(Selector.toLabels(undefined), Result.succeed([]) as never)
    assert.match(fault(Selector.toLabels("a,")), /identifier after/)
  })

  it("reads the selector in an object", () => {
    const selector = Selector.fromObject({
      matchLabels: { b: "2", a: "1" },
      matchExpressions: [
        { key: "k", operator: "In", values: ["x", "y"] },
        { key: "k", operator: "NotIn", values: ["z"] },
        { key: "e", operator: "Exists" },
        { key: "d", operator: "DoesNotExist" }
      ]
    })!
    assert.strictEqual(Selector.formatLabels(selector), "a=1,b=2,k in (x,y),k notin (z),e,!d")
    assert.isTrue(Selector.matchesLabels(selector, { a: "1", b: "2", k: "x", e: "" }))
    assert.deepStrictEqual(Selector.fromObject({}), [])
    assert.isUndefined(Selector.fromObject(undefined))
  })
})

describe("parseFields", () => {
  it("parses what formatFields writes (20,000 random selectors)", () => {
    const parts = ["a", "\\", ",", "=", "!", " ", "é", "\n", "\\,"]
    for (let seed = 1; seed <= 20_000; seed++) {
      const random = new Prng(seed)
      const selector = Array.from({ length: random.int(0, 3) }, (): Selector.FieldRequirement => ({
        operator: random.chance(0.5) ? "=" : "!=",
        field: random.pick(["metadata.name", "spec.nodeName", "a"]),
        value: Array.from({ length: random.int(0, 5) }, () => random.pick(parts)).join("")
      }))
      const text = Selector.formatFields(selector)
      assert.deepStrictEqual(fields(text), selector, `seed ${seed}: ${text}`)
    }
  })

  it("accepts both equality operators and empty terms", () => {
    assert.deepStrictEqual(fields("a==b,,c!=d,"), [
      { operator: "=", field: "a", value: "b" },
      { operator: "!=", field: "c", value: "d" }
    ])
    assert.deepStrictEqual(fields(","), [])
    assert.deepStrictEqual(fields("a=\\\\,b=c").map(({ value }) => value), ["\\", "c"])
    assert.deepStrictEqual(fields(" a =b")[0]?.field, " a ")
  })

  it.each([
    ["x", "invalid selector: 'x'; can't understand 'x'"],
    ["zz,=b,aa", "invalid selector: 'zz,=b,aa'; can't understand 'aa'"],
    ["a=x,zzz", "invalid selector: 'a=x,zzz'; can't understand 'zzz'"],
    ["a!b", "invalid selector: 'a!b'; can't understand 'a!b'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a===b", "invalid field selector: unescaped character in value: 61"],
    ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"]
  ])("refuses %j in the server's words", (text, answer) => {
    assert.strictEqual(fault(Selector.parseFields(text)), answer)
  })
})

describe("matchesFields", () => {
  const pod = { metadata: { name: "a" }, status: { phase: "Running", ready: true, n: 3, none: null } }

  it("reads dotted paths, and treats an absent value as the empty string", () => {
    assert.isTrue(Selector.matchesFields(fields("metadata.name=a,status.phase!=Pending"), pod))
    assert.isFalse(Selector.matchesFields(fields("metadata.name=a,status.phase=Pending"), pod))
    assert.isTrue(Selector.matchesFields(fields("spec.nodeName="), pod))
    assert.isTrue(Selector.matchesFields(fields("status.ready=true,status.n=3,status.none="), pod))
    assert.isTrue(Selector.matchesFields([], undefined))
  })

  it("ignores inherited fields", () => {
    assert.strictEqual(Selector.fieldValue(pod, "metadata.constructor"), "")
    assert.strictEqual(Selector.fieldValue(pod, "__proto__.x"), "")
  })
})
