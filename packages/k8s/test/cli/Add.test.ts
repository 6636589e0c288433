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
    assert.include(again.err, "not overwritten; nothing was written. Remove it first, or choose another kind")
  }))

it.live("needs a project", () =>
  Effect.gen(function*() {
    const { err, ok } = yield* Shell.run(["add", "kind", "Llama"], { top: yield* folder({}) })
    assert.isFalse(ok)
    assert.include(err, "there is no src/main.ts here: run this in the root folder of a project")
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
      "there is no src/alpaca/resource.ts here: create it with `effect-operator add kind Alpaca`"
    )
  }))

const website = Fs.readFileSync(new URL("../../templates/src/website/resource.ts", import.meta.url), "utf8")

it.live("adds a version to a kind that is there, as a copy of its newest, and says what to add", () =>
  Effect.gen(function*() {
    const top = yield* folder({ "src/main.ts": "mine", "src/website/resource.ts": website })
    const add = (...args: ReadonlyArray<string>) => Shell.run(["add", "version", "Website", ...args], { top })
    const read = (file: string) => Fs.readFileSync(Path.join(top, file), "utf8")
    const { ok, out } = yield* add("v2")
    assert.isTrue(ok)
    assert.include(out, "import { conversion, WebsiteVersions } from \"./website/versions.ts\"")
    assert.include(out, "resources: [..., WebsiteVersions],   // instead of Website")
    assert.include(out, "Objects are still stored as v1, so that you can go back to the previous program")
    // The templates are what the command makes of them: they are compiled and run as they are.
    for (const file of ["src/website/v2.ts", "src/website/versions.ts", "test/website.versions.test.ts"]) {
      assert.strictEqual(read(file), Fs.readFileSync(new URL(`../../templates/${file}`, import.meta.url), "utf8"), file)
    }

    const third = yield* add("v3alpha1")
    assert.include(third.out, "const toV3alpha1 = CustomResourceVersions.between(WebsiteV2, WebsiteV3alpha1, {")
    assert.include(third.out, "Add to src/website/versions.ts:")
    assert.include(read("src/website/v3alpha1.ts"), "export type WebsiteV3alpha1 = typeof WebsiteV3alpha1.Type")
    assert.include(read("src/website/v3alpha1.ts"), "version: \"v3alpha1\"")

    const old = yield* add("v2beta1")
    assert.isFalse(old.ok)
    assert.include(old.err, "the version \"v2beta1\": Website already has v3alpha1: choose a newer one, such as v3")
  }))

it.live("stores the new version where that is asked for; says which kind it cannot copy", () =>
  Effect.gen(function*() {
    const top = yield* folder({
      "src/main.ts": "mine",
      "src/llama/resource.ts": website.replaceAll("Website", "Llama").replace("\"v1\"", "\"v1beta1\""),
      "src/odd/resource.ts": "export const Odd = make()"
    })
    const { out } = yield* Shell.run(["add", "version", "Llama", "v1", "--storage"], { top })
    assert.include(out, "The reconciler, the hooks and the tests keep using Llama: every version is served.")
    assert.include(out, "New objects are stored as v1; existing ones once they are migrated.")
    assert.include(out, "import { LlamaV1 } from \"./llama/v1.ts\"\n\n  StoredVersions.migrate(LlamaV1).pipe(")
    assert.include(out, "`migrates: [LlamaV1]` in `operator`")
    const versions = Fs.readFileSync(Path.join(top, "src/llama/versions.ts"), "utf8")
    assert.include(versions, "/** From v1beta1 to v1, and back.")
    assert.include(versions, "make({ steps: [toV1], storage: LlamaV1 })")
    assert.include(versions, "import { LlamaV1 } from \"./v1.ts\"")
    const odd = yield* Shell.run(["add", "version", "Odd", "v2"], { top })
    assert.include(
      odd.err,
      "src/odd/resource.ts has no `export const Odd = CustomResource.make({ …, version: \"v1\", … })`"
    )
    const none = yield* Shell.run(["add", "version", "Alpaca", "v2"], { top })
    assert.include(
      none.err,
      "there is no src/alpaca/resource.ts here: create it with `effect-operator add kind Alpaca`"
    )
    assert.include(
      (yield* Shell.run(["add", "version", "Odd", "2"], { top })).err,
      "the version \"2\": must have a form such as v1"
    )
  }))
