import { assert, describe, it } from "@effect/vitest"
import { Cutter, fields, textOf } from "../../src/live/JsonBytes.ts"
import { random } from "../testing/support/random.ts"

const seed = 20_261
const paths = [
  "metadata.managedFields",
  "status",
  "spec.template.metadata.annotations",
  "items.*.metadata.managedFields"
]
const names = ["metadata", "managedFields", "spec", "template", "annotations", "status", "items", "name", "a", "", "ü"]
const texts = [
  "",
  "x",
  "managedFields",
  "\"managedFields\":[",
  "a\\\"b\\\\",
  "}]{[,:",
  "}]",
  "]},",
  "]\"a",
  "äöü €",
  "😀",
  "\u0000\n\t",
  "\\u0041"
]
const numbers = ["0", "-1", "12345678901234567890", "1.5e-7", "true", "false", "null", "-0"]

/** Choices that a seed decides. */
const choicesOf = (seed: number) => {
  const { int, next, pick } = random(seed)
  return {
    pick,
    int: (min: number, max: number): number => min + int(max - min + 1),
    chance: (probability: number): boolean => next() < probability
  }
}
type Prng = ReturnType<typeof choicesOf>

/** A legal document as text, in any style; `plain` without names twice and without names that are escaped. */
const documentOf = (prng: Prng, plain: boolean): string => {
  const blank = (): string => prng.chance(0.85) ? "" : prng.pick([" ", "\n", "\t", "\r\n", "   "])
  const quoted = (text: string, escaped: boolean): string => {
    const json = JSON.stringify(text)
    if (!escaped || text === "") return json
    return `"\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}${
      json.length > 2 ? JSON.stringify(text.slice(1)).slice(1) : "\""
    }`
  }
  const value = (depth: number, name: string): string => {
    const nested = name !== "name" && depth < 5
    if (nested && name === "managedFields" && prng.chance(0.5)) return owners()
    if (nested && (name === "items" || prng.chance(0.15))) {
      const length = prng.int(0, 3)
      return `[${blank()}${Array.from({ length }, () => value(depth + 1, "metadata") + blank()).join(`,${blank()}`)}]`
    }
    if (nested && prng.chance(depth < 2 ? 0.8 : 0.4)) return object(depth + 1)
    return prng.chance(0.5) ? quoted(prng.pick(texts), prng.chance(0.3)) : prng.pick(numbers)
  }
  /** As API servers write it: a list of objects without a list in it, but with brackets in its names. */
  const owners = (): string => {
    const name = () => JSON.stringify(prng.pick(["f:a", "k:{\"a\":[]}", "v:]}", "v:}],", ...texts]))
    const owner = () => `{"manager":${name()},${name()}:{${name()}:{}},"time":${name()}}`
    return `[${Array.from({ length: prng.int(0, 2) }, owner).join(",")}]`
  }
  const object = (depth: number): string => {
    const all = Array.from({ length: prng.int(0, depth < 3 ? 5 : 2) }, () => prng.pick(names))
    const members = (plain ? [...new Set(all)] : all).map((name) =>
      `${quoted(name, !plain && prng.chance(0.1))}${blank()}:${blank()}${value(depth, name)}`
    )
    return `{${blank()}${members.join(`${blank()},${blank()}`)}${blank()}}`
  }
  return `${blank()}${object(0)}${blank()}`
}

type Node = Record<string, unknown>

/** What `JSON.parse` gives, without the fields. */
const drop = (value: unknown, path: ReadonlyArray<string>): void => {
  const [name, ...rest] = path
  if (typeof value !== "object" || value === null || name === undefined) return
  if (name === "*") {
    if (Array.isArray(value)) { for (const part of value) drop(part, rest) }
  } else if (!Array.isArray(value) && Object.hasOwn(value, name)) {
    if (rest.length === 0) delete (value as Node)[name]
    else drop((value as Node)[name], rest)
  }
}

const without = (text: string, chosen: ReadonlyArray<string>): string => {
  const value: unknown = JSON.parse(text)
  for (const path of chosen) drop(value, path.split("."))
  return JSON.stringify(value)
}

const choices = paths.map((path) => [path]).concat([paths, paths.slice(0, 2), paths.slice(1, 3)])
const cutters = choices.map((chosen) => new Cutter(fields(chosen)))

describe("JsonBytes", () => {
  it("leaves what JSON.parse gives, less the fields: 100,000 documents", () => {
    const prng = choicesOf(seed)
    let cuts = 0
    for (let run = 0; run < 100_000; run++) {
      const plain = prng.chance(0.5)
      const document = documentOf(prng, plain)
      const choice = prng.int(0, choices.length - 1)
      const chosen = choices[choice]!
      const cut = cutters[choice]!.cut(Buffer.from(document))
      const expected = without(document, chosen)
      const where = () => `seed ${seed}, run ${run}, without ${chosen.join(" ")}: ${document} gave ${cut}`
      if (cut === undefined) {
        if (plain) assert.strictEqual(JSON.stringify(JSON.parse(document)), expected, where())
        continue
      }
      cuts += 1
      // A name that is escaped, or stands twice, may be left; nothing else may.
      if ((plain ? JSON.stringify(JSON.parse(cut)) : without(cut, chosen)) !== expected) assert.fail(where())
    }
    assert.isAbove(cuts, 10_000)
  })

  it("never makes a document of what is none", () => {
    const prng = choicesOf(seed + 1)
    const broken = (text: string): boolean => {
      try {
        JSON.parse(text)
        return false
      } catch {
        return true
      }
    }
    for (let run = 0; run < 3_000; run++) {
      const document = documentOf(prng, false)
      const part = document.slice(0, prng.int(0, document.length))
      const cut = cutters[run % cutters.length]!.cut(Buffer.from(part))
      if (broken(part) && cut !== undefined) assert.isTrue(broken(cut), `seed ${seed + 1}, run ${run}: ${part}`)
    }
  })

  it("ends on any bytes", () => {
    const prng = choicesOf(seed + 2)
    for (let run = 0; run < 5_000; run++) {
      const bytes = Buffer.from(documentOf(prng, false))
      for (let n = prng.int(1, 3); n > 0 && bytes.length > 0; n--) {
        bytes[prng.int(0, bytes.length - 1)] = prng.int(0, 255)
      }
      cutters[run % cutters.length]!.cut(bytes)
    }
  })

  it("gives long texts whole, wherever a character stands, and in the heap", () => {
    for (const first of ["", "a", "ab", "abc"]) {
      const text = first + "🚀é".repeat(400_000)
      const bytes = Buffer.from(text)
      assert.isTrue(textOf(bytes, 0, bytes.length) === text)
      assert.isTrue(textOf(bytes, first.length, bytes.length) === text.slice(first.length))
    }
    const plain = Buffer.alloc(8_000_000, "a")
    const before = process.memoryUsage().external
    const texts = [textOf(plain, 0, plain.length), plain.toString("utf8")]
    assert.isTrue(texts[0] === texts[1])
    const outside = process.memoryUsage().external - before
    assert.isBelow(outside, 12_000_000)
    assert.isAbove(outside, 7_000_000)
  })

  it("cuts the first, a middle and the last member, and several in a row", () => {
    const cut = (text: string) => new Cutter(fields(["m.x", "m.y"])).cut(Buffer.from(text))
    assert.strictEqual(cut(`{"m":{"x":[1,"]}"],"a":1}}`), `{"m":{"a":1}}`)
    assert.strictEqual(cut(`{"m":{"a":1 , "x":{"y":2} , "b":2}}`), `{"m":{"a":1 , "b":2}}`)
    assert.strictEqual(cut(`{"m":{"a":1,"x":true}}`), `{"m":{"a":1}}`)
    assert.strictEqual(cut(`{"m":{"a":1,"x":1,"y":2}}`), `{"m":{"a":1}}`)
    assert.strictEqual(cut(`{"m":{"x":1,"y":2}}`), `{"m":{}}`)
    assert.isUndefined(cut(`{"m":{"a":{"x":1}},"x":1}`))
  })

  it("tells of the member that is sought", () => {
    const cutter = new Cutter(fields(["items.*.x"]), "metadata")
    assert.strictEqual(
      cutter.cut(Buffer.from(`{"items":[{"x":1,"a":2},{"b":3}],"metadata":{"continue":"t"}}`)),
      `{"items":[{"a":2},{"b":3}],"metadata":{"continue":"t"}}`
    )
    assert.strictEqual(cutter.found, `{"continue":"t"}`)
  })
})
