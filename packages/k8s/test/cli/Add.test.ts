import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { folder } from "../support/folder.ts"
import * as Shell from "./Shell.ts"

it.live("adds a kind beside what is there, and says what to add to main.ts", () =>
  Effect.gen(function*() {
    const top = yield* folder({ "src/main.ts": "mine" })
    const add = Shell.run(["add", "kind", "Llama", "--group", "farm.example.com", "--api-version", "v1beta1"], { top })
    const { ok, out } = yield* add
    assert.isTrue(ok)
    assert.include(out, "import { controller as llama } from \"./llama/reconciler.ts\"")
    assert.include(out, "resources: [..., Llama]")
    assert.include(Fs.readFileSync(Path.join(top, "src/llama/resource.ts"), "utf8"), "version: \"v1beta1\"")
    assert.isTrue(Fs.existsSync(Path.join(top, "test/llama.test.ts")))
    assert.strictEqual(Fs.readFileSync(Path.join(top, "src/main.ts"), "utf8"), "mine")

    const again = yield* add
    assert.isFalse(again.ok)
    assert.include(again.err, "not overwritten; nothing was written. Remove it first, or name another kind")
  }))

it.live("needs a project", () =>
  Effect.gen(function*() {
    const { err, ok } = yield* Shell.run(["add", "kind", "Llama"], { top: yield* folder({}) })
    assert.isFalse(ok)
    assert.include(err, "there is no src/main.ts here: run this at the top of a project")
  }))

it.live("adds a webhook to a kind that is there", () =>
  Effect.gen(function*() {
    const top = yield* folder({ "src/main.ts": "mine", "src/llama/resource.ts": "mine" })
    const { ok, out } = yield* Shell.run(["add", "webhook", "Llama"], { top })
    assert.isTrue(ok)
    assert.include(out, "import { webhooks } from \"./llama/webhook.ts\"")
    assert.include(
      Fs.readFileSync(Path.join(top, "test/llama.webhook.test.ts"), "utf8"),
      "from \"../src/llama/webhook.ts\""
    )
    assert.include(
      (yield* Shell.run(["add", "webhook", "Alpaca"], { top })).err,
      "there is no src/alpaca/resource.ts here: make it with `effect-operator add kind Alpaca`"
    )
  }))
