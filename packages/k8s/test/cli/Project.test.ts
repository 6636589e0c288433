import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Project from "../../src/cli/Project.ts"
import * as Templates from "../../src/cli/Templates.ts"
import { version } from "../../src/Version.ts"
import { folder } from "../support/folder.ts"

const manifest = (path: string) =>
  JSON.parse(Fs.readFileSync(Path.resolve(import.meta.dirname, "../../../..", path), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>
    readonly devDependencies: Readonly<Record<string, string>>
  }

it("a project's packages are those that this repository is built and tested with", () => {
  const own = { ...manifest("packages/k8s/package.json").dependencies, ...manifest("package.json").devDependencies }
  // A project's lint is made to be installed anywhere; what it says of the templates is tested below, and when packed.
  const { dependencies, devDependencies: { oxlint: _, ...devDependencies } } = Project.packages
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.strictEqual(range, own[name], name)
  }
})

it.effect("the framework comes from the registry, or from a folder of tarballs, which the project keeps", () =>
  Effect.gen(function*() {
    const registry = { "@effect-operator/core": version, "@effect-operator/k8s": version }
    assert.deepStrictEqual(yield* Project.framework(undefined), { dependencies: registry, tarballs: {} })
    const core = `effect-operator-core-${version}.tgz`
    const packs = yield* folder({ [core]: "bytes" })
    const { message } = yield* Effect.flip(Project.framework(packs))
    assert.include(message, `${packs} has no effect-operator-k8s-${version}.tgz: make it with \`npm pack`)
    Fs.writeFileSync(Path.join(packs, `effect-operator-k8s-${version}.tgz`), "")
    const { dependencies, tarballs } = yield* Project.framework(packs)
    assert.strictEqual(dependencies["@effect-operator/core"], `file:vendor/${core}`)
    assert.strictEqual(new TextDecoder().decode(tarballs[`vendor/${core}`]), "bytes")
  }).pipe(Effect.provide(NodeServices.layer)))

const root = Path.resolve(import.meta.dirname, "../../../..")

it.effect("the lint of a project finds no fault with what is made, and finds what would not wait for a test's clock", () =>
  Effect.gen(function*() {
    const made = yield* Templates.ofProject("demo", { kind: "Website", group: "example.com", version: "v1" })
    const path = yield* folder({ ...Project.files("demo", {}), ...made })
    const lint = () =>
      ChildProcess.spawnSync(Path.join(root, "node_modules/.bin/oxlint"), ["--deny-warnings", "src", "test"], {
        cwd: path,
        encoding: "utf8"
      })
    const clean = lint()
    assert.strictEqual(clean.status, 0, clean.stdout)
    Fs.writeFileSync(
      Path.join(path, "src/late.ts"),
      "import { Effect } from \"effect\"\nexport const at = Date.now()\n"
    )
    const { status, stdout } = lint()
    assert.strictEqual(status, 1)
    assert.include(stdout, "time and chance come from Effect's Clock and Random")
    assert.include(stdout, "'Effect' is imported but never used")
  }).pipe(Effect.provide(NodeServices.layer)))

it.effect(
  "the check of a project finds a forgotten yield*, which types and lint take for a statement",
  () =>
    Effect.gen(function*() {
      const path = yield* folder({
        ...Project.files("demo", {}),
        "src/late.ts": [
          "import { Effect } from \"effect\"",
          "export const late = Effect.gen(function*() {",
          "  Effect.log(\"never\")",
          "  yield* Effect.log(\"now\")",
          "})",
          ""
        ].join("\n")
      })
      Fs.symlinkSync(Path.join(root, "node_modules"), Path.join(path, "node_modules"))
      const { scripts } = JSON.parse(Fs.readFileSync(Path.join(path, "package.json"), "utf8"))
      assert.include(scripts.check, "npm run effects")
      const run = () => ChildProcess.spawnSync("npm", ["run", "--silent", "effects"], { cwd: path, encoding: "utf8" })
      const { status, stdout } = run()
      assert.strictEqual(status, 1)
      assert.match(stdout, /late\.ts:3:3.*floatingEffect/)
      Fs.writeFileSync(Path.join(path, "src/late.ts"), "export {}\n")
      assert.strictEqual(run().status, 0)
    }).pipe(Effect.provide(NodeServices.layer))
)
