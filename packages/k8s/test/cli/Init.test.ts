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
    // What this repository does not ask of itself, it asks of nobody. Only there types are exact enough to do without.
    type Lint = { readonly rules: Readonly<Record<string, string>> }
    const own = JSON.parse(
      Fs.readFileSync(Path.join(import.meta.dirname, "../../../../.oxlintrc.json"), "utf8")
    ) as Lint
    const { rules } = JSON.parse(read(".oxlintrc.json")) as Lint
    const stricter = Object.keys(own.rules).filter((rule) => own.rules[rule] === "off" && rules[rule] !== "off")
    assert.deepStrictEqual(stricter, ["typescript/no-explicit-any"])
    assert.match(JSON.parse(read("package.json")).scripts.test, /--testTimeout \d{5}$/)
  }))

it.live("overwrites nothing, and makes nothing of names that cannot be", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "my-site/src/main.ts": "mine" })
    const taken = yield* init(path)
    assert.isFalse(taken.ok)
    assert.include(taken.err, "src/main.ts exists already and is not overwritten; nothing was written")
    assert.deepStrictEqual(Fs.readdirSync(Path.join(path, "my-site")), ["src"])
    assert.include((yield* init(path, "--kind", "site")).err, "the kind \"site\": must be letters")
    assert.include((yield* init(path, "--packages", path)).err, "make it with `npm pack --workspaces`")
    assert.include((yield* Shell.run(["init", Path.join(path, "My_Site")])).err, "the name \"My_Site\"")
    assert.include((yield* Shell.run(["init"])).err, "Missing required argument: folder")
  }))

/** An npm that fails like this, before every other. */
const failingNpm = Effect.fnUntraced(function*(complaint: string) {
  const path = yield* folder({ npm: `#!/bin/sh\necho '${complaint}' >&2\nexit 1\n` })
  Fs.chmodSync(Path.join(path, "npm"), 0o755)
  const before = process.env["PATH"]
  yield* Effect.acquireRelease(
    Effect.sync(() => process.env["PATH"] = `${path}${Path.delimiter}${before}`),
    () => Effect.sync(() => process.env["PATH"] = before)
  )
})

it.live("fails where packages cannot be installed, and says how to try again", () =>
  Effect.gen(function*() {
    yield* failingNpm("npm error network")
    const path = yield* folder({ "there/mine.txt": "mine" })
    const fresh = Path.join(path, "my-site")
    const { err, ok, out } = yield* Shell.run(["init", fresh])
    assert.isFalse(ok)
    assert.include(err, "npm error network")
    assert.include(err, `remove ${fresh} first`)
    assert.include(err, `cd ${fresh} && npm install && npm run manifests`)
    assert.notInclude(err, "--packages")
    assert.notInclude(out, "Next:")
    // What was there before is not this program's to give away.
    const there = yield* Shell.run(["init", Path.join(path, "there")])
    assert.isFalse(there.ok)
    assert.include(there.err, "remove the files that were created first")
    assert.include(there.err, `cd ${Path.join(path, "there")} && npm install`)
  }).pipe(Effect.scoped))

it.live("names --packages where a registry does not have the framework", () =>
  Effect.gen(function*() {
    yield* failingNpm("npm error code E404\nnpm error 404  @effect-operator/core@1.0.0 is not in this registry.")
    const path = yield* folder({})
    const { err, ok } = yield* Shell.run(["init", Path.join(path, "my-site")])
    assert.isFalse(ok)
    assert.include(err, "--packages FOLDER")
    assert.include(err, `remove ${Path.join(path, "my-site")} first`)
  }).pipe(Effect.scoped))
