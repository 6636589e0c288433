import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Project from "../../src/cli/Project.ts"
import { version } from "../../src/Version.ts"
import { folder } from "../support/folder.ts"

const manifest = (path: string) =>
  JSON.parse(Fs.readFileSync(Path.resolve(import.meta.dirname, "../../../..", path), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>
    readonly devDependencies: Readonly<Record<string, string>>
  }

it("a project's packages are those that this repository is built and tested with", () => {
  const own = { ...manifest("packages/k8s/package.json").dependencies, ...manifest("package.json").devDependencies }
  const { dependencies, devDependencies } = Project.packages
  for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.strictEqual(range, own[name], name)
  }
})

it.effect("the framework comes from the registry, or from a folder of tarballs, which must have them", () =>
  Effect.gen(function*() {
    const registry = { "@effect-operator/core": version, "@effect-operator/k8s": version }
    assert.deepStrictEqual(yield* Project.framework("demo", undefined), registry)
    const core = `effect-operator-core-${version}.tgz`
    const packs = yield* folder({ [core]: "" })
    const { message } = yield* Effect.flip(Project.framework("demo", packs))
    assert.include(message, `${packs} has no effect-operator-k8s-${version}.tgz: make it with \`npm pack`)
    Fs.writeFileSync(Path.join(packs, `effect-operator-k8s-${version}.tgz`), "")
    const found = yield* Project.framework(Path.join(packs, "demo"), packs)
    assert.strictEqual(found["@effect-operator/core"], `file:../${core}`)
  }).pipe(Effect.provide(NodeServices.layer)))
