import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { folder } from "../support/folder.ts"
import * as Shell from "./Shell.ts"

const init = (path: string, ...args: ReadonlyArray<string>) =>
  Shell.run(["init", Path.join(path, "my-site"), "--no-install", ...args])

it.live("makes a project, and says what to do next", () =>
  Effect.gen(function*() {
    const path = yield* folder({})
    const { ok, out } = yield* init(path, "--group", "web.example.org")
    assert.isTrue(ok)
    assert.include(out, "npm install && npm run manifests")
    const read = (file: string) => Fs.readFileSync(Path.join(path, "my-site", file), "utf8")
    assert.strictEqual(JSON.parse(read("package.json")).name, "my-site")
    assert.include(read("src/mysite/resource.ts"), "kind: \"MySite\"")
    assert.include(read("samples/mysite.yaml"), "apiVersion: web.example.org/v1")
    for (
      const file of [
        ".gitignore",
        "Containerfile",
        "tsconfig.json",
        ".oxlintrc.json",
        ".github/workflows/ci.yml",
        "README.md"
      ]
    ) {
      assert.isAbove(read(file).length, 0, file)
    }
  }))

it.live("overwrites nothing, and makes nothing of names that cannot be", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "my-site/src/main.ts": "mine" })
    const taken = yield* init(path)
    assert.isFalse(taken.ok)
    assert.include(taken.err, "src/main.ts is there already and is not overwritten; nothing was written")
    assert.deepStrictEqual(Fs.readdirSync(Path.join(path, "my-site")), ["src"])
    assert.include((yield* init(path, "--kind", "site")).err, "the kind \"site\": must be letters")
    assert.include((yield* init(path, "--packages", path)).err, "make it with `npm pack --workspaces`")
    assert.include((yield* Shell.run(["init", Path.join(path, "My_Site")])).err, "the name \"My_Site\"")
    assert.include((yield* Shell.run(["init"])).err, "Missing required argument: folder")
  }))
