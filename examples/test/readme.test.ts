import { assert, it } from "@effect/vitest"
import * as Fs from "node:fs"

const read = (path: string) => Fs.readFileSync(new URL(path, import.meta.url), "utf8")

/** The `ts` block of the README that stands behind `<!-- name -->`. */
const block = (name: string) => {
  const match = new RegExp(`<!-- ${name} -->\n\`\`\`ts\n([^]*?)\`\`\``).exec(read("../../README.md"))
  if (match === null) throw new Error(`README.md has no block ${name}`)
  return match[1]!
}

// The files are compiled by `npm run check` and run by `npm test`: the README shows nothing else.
it("the operator of the README is test/readme/operator.ts, word for word", () => {
  assert.strictEqual(block("operator"), read("./readme/operator.ts"))
})

it("the test of the README is test/readme/operator.test.ts, word for word", () => {
  assert.strictEqual(block("test"), read("./readme/operator.test.ts"))
})

it("every npm script the README names exists", () => {
  const { scripts } = JSON.parse(read("../../package.json")) as { readonly scripts: Record<string, string> }
  const named = [...read("../../README.md").matchAll(/npm (?:run )?([a-z:]+)/g)].map(([, name]) => name!)
  for (const name of named) if (!["ci", "pack"].includes(name)) assert.property(scripts, name)
})
