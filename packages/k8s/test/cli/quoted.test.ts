import { assert, it } from "@effect/vitest"
import * as ChildProcess from "node:child_process"
import { quoted } from "../../src/cli/quoted.ts"

it("a shell takes a word for what it is", () => {
  const words = ["/tmp/a-b_c.d", "my projects/demo", "it's $HOME `x`", "*", ""]
  const text = ChildProcess.execFileSync("/bin/sh", ["-c", `printf '%s\\n' ${words.map(quoted).join(" ")}`]).toString()
  assert.deepStrictEqual(text.split("\n").slice(0, -1), words)
  assert.strictEqual(quoted(words[0]!), words[0])
})
