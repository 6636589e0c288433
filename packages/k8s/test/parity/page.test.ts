/** Keeps docs/parity.md honest: its claims name tests, and those tests exist and run. */
import { assert, describe, it } from "@effect/vitest"
import * as Fs from "node:fs"

const root = new URL("../../../../", import.meta.url)
const page = Fs.readFileSync(new URL("docs/parity.md", root), "utf8")

/** Rows of the anchor's tables: features of controller-runtime, client-go and their tools. */
const rows = { "1a": 14, "1b": 23, "1c": 20, "1d": 11, "1e": 12 }

interface Claim {
  readonly file: string
  readonly title: string
}

const claims = (text: string): ReadonlyArray<Claim> =>
  Array.from(text.matchAll(/\b(core|k8s|examples)\/([\w/.]+): "([^"]+)"/g), ([, home, path, title]) => {
    const folder = home === "examples" ? "examples" : `packages/${home}`
    return { file: `${folder}/test/${path!.endsWith(".real") ? path : `${path}.test`}.ts`, title: title! }
  })

/** Titles of the tests of a file, as they stand there; those that do not run are left out. */
const titles = (file: string): ReadonlyArray<string> => {
  const url = new URL(file, root)
  if (!Fs.existsSync(url)) return []
  const text = Fs.readFileSync(url, "utf8")
  const tests = /\b(?:it|test)((?:\.\w+|\([^()]*\))*)\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g
  return Array.from(
    text.matchAll(tests),
    ([, modifiers, plain, template]) => /skip|todo|fails/.test(modifiers ?? "") ? "" : plain ?? template ?? ""
  )
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** Whether a title is meant: `…` stands for itself or for what a template fills in. */
const meant = (title: string) => {
  const pattern = title.split("…").map(escape).join("(?:…|\\$\\{.*?\\})")
  return new RegExp(`^${pattern}$`)
}

const section = (name: string): ReadonlyArray<ReadonlyArray<string>> => {
  const text = page.split(/^## /m).find((part) => part.startsWith(name)) ?? ""
  return text.split("\n").filter((line) => line.startsWith("| ")).slice(1).map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  )
}

describe("docs/parity.md", () => {
  it("every row of controller-runtime's features has a verdict, and every claim a test that exists", () => {
    for (const [name, count] of Object.entries(rows)) {
      const found = section(name)
      assert.strictEqual(found.length, count, `rows of ${name}`)
      for (const [feature, verdict, here, tests] of found) {
        assert.include(["have", "differently", "not"], verdict, feature)
        if (verdict !== "have") assert.isNotEmpty(here, `${feature} says why`)
        if (verdict === "not") assert.strictEqual(tests, "", `${feature}: what is not there has no test`)
        else assert.isNotEmpty(claims(tests!), `${feature} names a test`)
      }
    }
    const known = new Map<string, ReadonlyArray<string>>()
    const tables = page.split("\n").filter((line) => line.startsWith("|")).join("\n")
    const missing = claims(tables).filter(({ file, title }) => {
      if (!known.has(file)) known.set(file, titles(file))
      return !known.get(file)!.some((found) => meant(title).test(found))
    })
    assert.deepStrictEqual(missing, [])
  })

  it("every defect of the seed, every must-have and every point has a test", () => {
    for (const [name, count] of [["2.", 14], ["3.", 7], ["4.", 14], ["5.", 5]] as const) {
      const found = section(name)
      assert.strictEqual(found.length, count, `rows of ${name}`)
      for (const [feature, tests] of found) assert.isNotEmpty(claims(tests!), feature)
    }
  })
})
