import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Lazy from "../../src/cli/Lazy.ts"

const load = () => Promise.resolve({ double: (value: number) => Effect.succeed(value * 2) })

it.effect("loads the module when the command runs, and not where Node is too old for it", () =>
  Effect.gen(function*() {
    const on = (version: string) => Lazy.command(load, ({ double }) => double, version)(21)
    for (const version of ["22.19.0", "22.20.1", "24.0.0"]) assert.strictEqual(yield* on(version), 42)
    for (const version of ["20.20.2", "22.18.9"]) {
      assert.strictEqual(
        (yield* Effect.flip(on(version))).message,
        `this command requires Node 22.19 or later, but this is Node ${version}`
      )
    }
  }))

it("the version is that of package.json", () => {
  const manifest = JSON.parse(Fs.readFileSync(Path.resolve(import.meta.dirname, "../../package.json"), "utf8"))
  assert.strictEqual(manifest.engines.node, `>=${Lazy.node.join(".")}`)
})
