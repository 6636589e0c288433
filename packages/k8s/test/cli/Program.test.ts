import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Shell from "./Shell.ts"

it.live("--help names every command, and each has examples", () =>
  Effect.gen(function*() {
    const { out } = yield* Shell.run(["--help"])
    const commands = ["init", "add", "dev", "cluster", "manifests", "check", "crd-to-schema"]
    for (const name of commands) {
      assert.match(out, new RegExp(`^ {2}${name} {2,}\\S`, "m"))
      const help = yield* Shell.run([...name === "add" ? ["add", "kind"] : [name], "--help"])
      assert.isTrue(help.ok)
      assert.include(help.out, "EXAMPLES", name)
    }
  }))

it.live("prints the completion script of a shell", () =>
  Effect.gen(function*() {
    const { ok, out } = yield* Shell.run(["--completions", "bash"])
    assert.isTrue(ok)
    assert.include(out, "crd-to-schema")
  }))

it.live("names what it does not understand", () =>
  Effect.gen(function*() {
    assert.include((yield* Shell.run(["manifest"])).err, "manifests")
    assert.include((yield* Shell.run(["dev", "--onec"])).err, "--onec")
    assert.include((yield* Shell.run(["cluster", "--port", "70000"])).err, "Expected a port between 0 and 65535")
  }))
