import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { RE2JS } from "re2js"
import * as GoMatch from "../../src/schema/GoMatch.ts"
import * as GoRegExp from "../../src/schema/GoRegExp.ts"
import { forAll, type RandomJson } from "../testing/support/RandomJson.ts"

const matches = (pattern: string, text: string): boolean => Result.getOrThrow(GoMatch.matches(pattern, text))

const effort = (pattern: string, length: number): number =>
  Result.getOrThrow(GoRegExp.translated(pattern)).effort(length)

describe("GoMatch", () => {
  describe("comes to an end", () => {
    for (
      const [pattern, text] of [
        ["^(a+)+$", "a".repeat(5000)],
        ["^(a|a)*$", "a".repeat(5000)],
        ["^(?:a|b|ab)*c$", "ab".repeat(2500)],
        ["^(a?){40}$", "a".repeat(40)],
        [`^${"a?".repeat(40)}${"a".repeat(40)}$`, "a".repeat(39)],
        ["^(([a-z0-9]+)-?)*$", "abc".repeat(1000)],
        ["^.*.*.*.*.*.*=$", "x".repeat(2000)],
        ["^a*a*a*a*a*a*a*a*$", "a".repeat(500)],
        ["^(a{1,3}){1,9}(b?c?)+$", "aaabc".repeat(100)],
        ["^((?i)x*)*$", "xX".repeat(500)]
      ] as const
    ) {
      it(pattern, () => {
        assert.isFalse(matches(pattern, `${text}!`))
        assert.isTrue(effort(pattern, text.length) > 18)
      })
    }
  })

  it("leaves to JavaScript what it does in a moment", () => {
    for (const pattern of ["^[a-z]+$", "a", "^(ab)+$", "^[a-z]{5}x{3}$", "^(?:v1|v2)$"]) {
      assert.isBelow(effort(pattern, 1000), 18, pattern)
    }
    assert.isBelow(effort("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", 14), 18)
  })

  it("does not ask JavaScript where V8 is wrong: parts with flags of their own, and characters of two units", () => {
    assert.isFalse(matches("\\B+", "S😀B.B\nk"))
    const pattern = "((?:^)?(a(?i:[a-c-])-)|(?:$)*\\pL{1,}\\.{1,}){1,}(?:([a-c-]?\\.)*?[ab]+|(?:^)*?(?:$)+)*?|" +
      "\\x61{2}(?i:(?:\\pL{0,2}é{1,}\\pL*?)*){2}"
    for (let tries = 0; tries < 10; tries++) assert.isFalse(matches(pattern, "..AA--"))
    assert.strictEqual(effort("^a(?i:b)$", 1), Infinity)
    assert.isBelow(effort("(?i)^ab$", 100), 18)
    assert.isTrue(matches("^a(?i:b)$", "aB"))
  })

  it("says what Go says of a pattern that is none", () => {
    assert.deepStrictEqual(GoMatch.matches("(", "a"), Result.fail("error parsing regexp: missing closing ): `(`"))
  })

  it("finds the same with either engine", () => {
    const atoms = [
      "a",
      "b",
      "-",
      "\\.",
      "é",
      ".",
      "[ab]",
      "[^a]",
      "[a-c-]",
      "\\d",
      "\\W",
      "\\b",
      "\\x61",
      "\\pL",
      "^",
      "$"
    ]
    const operators = ["", "", "", "*", "+", "?", "*?", "{2}", "{0,2}", "{1,}"]
    const many = (random: RandomJson, most: number, one: () => string) =>
      Array.from({ length: 1 + Math.floor(random.next() * most) }, one)
    const atom = (random: RandomJson, depth: number): string =>
      depth === 0 || random.chance(0.7)
        ? random.pick(atoms)
        : `(${random.pick(["", "?:"])}${pattern(random, depth - 1)})`
    const pattern = (random: RandomJson, depth: number): string =>
      many(random, 2, () => many(random, 3, () => atom(random, depth) + random.pick(operators)).join("")).join("|")
    const characters = ["a", "a", "b", "A", "-", ".", "é", "😀", "1", "\n"]
    forAll(500, (random) => {
      const made = pattern(random, 3)
      const linear = RE2JS.compile(made)
      const { regExp } = Result.getOrThrow(GoRegExp.translated(made))
      for (let tries = 0; tries < 5; tries++) {
        const text = many(random, 8, () => random.pick(characters)).join("")
        assert.strictEqual(linear.test(text), regExp.test(text), `${made} in ${JSON.stringify(text)}`)
      }
    })
  })
})
