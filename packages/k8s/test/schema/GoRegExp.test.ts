import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as GoRegExp from "../../src/schema/GoRegExp.ts"

/** What a pattern matches and what not, each as seen on a kube-apiserver. */
const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
  ["^a+$", ["a", "aa"], ["b", "a\n"]],
  ["(?i)^abc$", ["ABC"], ["abcd"]],
  ["^(?:a(?i)b|c)$", ["aB", "C"], ["AB"]],
  ["(a(?i)b)c", ["aBc"], ["aBC"]],
  ["[[:alpha:]]+\\z", ["1a"], ["a1"]],
  ["\\A\\w+$", ["a_1"], ["é"]],
  ["^[^\\s]*$", ["\v"], ["a b"]],
  ["^(?P<x>a|b){2}$", ["ab"], ["a"]],
  ["^\\pL$", ["é"], ["1"]],
  ["^\\p{Greek}+$", ["αβ"], ["a"]],
  ["^\\Qa.b\\E$", ["a.b"], ["axb"]],
  ["^[a\\-z]$", ["-"], ["b"]],
  ["^[az-]$", ["-", "z"], ["b"]],
  ["^\\*?[0-9a-zA-Z-._]+$", ["a-b.c_d", "*x"], ["a b"]],
  ["^[]-a]$", ["]", "^"], ["b"]],
  ["^[--a]$", ["A"], ["b"]],
  ["^[a-c-e]+$", ["a-e"], ["d"]],
  ["^[\\d-z]+$", ["1-z"], ["a"]],
  ["^[+--]+$", ["+,-"], ["."]],
  ["^[!-\\]]+$", ["A]"], ["^"]],
  ["^[\\x41-\\x{43}]$", ["B"], ["D"]],
  ["^[&&[~~]+$", ["&[~"], ["a"]],
  ["^[\\n-\\r]$", ["\v"], [" "]],
  ["^\\-\\_\\@$", ["-_@"], []],
  ["^a{,2}$", ["a{,2}"], ["aa"]],
  ["^a{2}$", ["aa"], ["a"]],
  ["^[]a]$", ["]", "a"], ["b"]],
  ["(?s)^a.b$", ["a\nb"], []],
  ["^(?:(?s)a.)b.$", ["a\nbc"], ["a\nb\n"]],
  ["^(?s-i:a.)b.$", ["a\nbc"], ["a\nb\n"]],
  ["^a.b$", ["a😀b", "a\rb"], ["a\nb"]],
  ["(?m)^b$", ["a\nb"], []],
  ["^\\x41\\x{42}\\103$", ["ABC"], []],
  ["^[[:^digit:]]$", ["a", "é"], ["1"]],
  ["^[\\S]$", ["a", "\v"], [" "]],
  ["^[\\D]+$", ["a"], ["1"]],
  ["^.{3}$", ["a😀b"], ["ab"]],
  ["\\bfoo\\b", [" foo "], ["xfoo"]],
  ["^/.*\\/$", ["/x/"], []],
  // What matches no character may be repeated, to no purpose.
  ["^*a$+", ["a"], ["ab"]],
  ["(?:\\b){2}a\\z{1,2}", [" a"], ["ba", "ab"]],
  ["\\A?a", ["ba"], ["b"]],
  ["(?m)^b$+", ["a\nb\n"], ["a\rb", "b\u2028"]],
  ["(?m:^)b(?-m)$", ["a\nb"], ["b\n"]],
  ["^(?P<x>a)(?P<x>b)$", ["ab"], ["a"]],
  ["^\\p{Any}$", ["a", "😀"], ["ab"]],
  ["^[^\\p{Any}]$", [], ["a"]],
  ["^\\Qa-b", ["a-b"], ["ab"]]
]

const errors: ReadonlyArray<readonly [string, string]> = [
  ["(", "missing closing ): `(`"],
  ["a)", "unexpected ): `a)`"],
  ["[a", "missing closing ]: `[a`"],
  ["\\", "trailing backslash at end of expression: ``"],
  ["\\q", "invalid escape sequence: `\\q`"],
  ["a\\1", "invalid escape sequence: `\\1`"],
  ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
  ["(?<!a)b", "invalid or unsupported Perl syntax: `(?<`"],
  ["[[:foo:]]", "invalid character class range: `[:foo:]`"],
  ["\\p{Foo}", "invalid character class range: `\\p{Foo}`"],
  ["[a-\\d]", "invalid escape sequence: `\\d`"],
  ["[\\Qa\\E]", "invalid escape sequence: `\\Q`"],
  ["[z-a]", "invalid character class range: `z-a`"],
  ["*a", "missing argument to repetition operator: `*`"],
  ["a|+", "missing argument to repetition operator: `+`"],
  ["a**", "invalid nested repetition operator: `**`"],
  ["a{1001}", "invalid repeat count: `{1001}`"],
  ["a{2,1}", "invalid repeat count: `{2,1}`"],
  ["a{2,1}?", "invalid repeat count: `{2,1}`"],
  ["\\xg|a", "invalid escape sequence: `\\xg|`"],
  ["\\x4", "invalid escape sequence: `\\x4`"],
  ["\\x{4g}", "invalid escape sequence: `\\x{4g`"],
  ["\\x{1100000}", "invalid escape sequence: `\\x{110000`"],
  ["\\x{}a", "invalid escape sequence: `\\x{}`"]
]

describe("matches what Go matches", () => {
  for (const [pattern, yes, no] of cases) {
    it(pattern, () => {
      const compiled = GoRegExp.compile(pattern)
      if (Result.isFailure(compiled)) return assert.fail(compiled.failure)
      for (const text of yes) assert.isTrue(compiled.success.test(text), `${JSON.stringify(text)} ${compiled.success}`)
      for (const text of no) assert.isFalse(compiled.success.test(text), `${JSON.stringify(text)} ${compiled.success}`)
    })
  }
})

describe("refuses what Go refuses", () => {
  for (const [pattern, why] of errors) {
    it(pattern, () => assert.deepStrictEqual(GoRegExp.compile(pattern), Result.fail(`error parsing regexp: ${why}`)))
  }
})

it("compiles a pattern once", () => {
  assert.strictEqual(GoRegExp.translated("^once$"), GoRegExp.translated("^once$"))
})

describe("takes as little as Go takes", () => {
  for (
    const [pattern, text, first] of [["(?U)a+b?", "aab", "a"], ["(?U:a+?)", "aa", "aa"], ["(?U)a(?-U)b+", "abb", "abb"]]
  ) {
    it(pattern!, () => {
      const compiled = GoRegExp.compile(pattern!)
      assert.strictEqual(Result.isSuccess(compiled) ? compiled.success.exec(text!)?.[0] : compiled.failure, first)
    })
  }
})
