/**
 * The one file that an image has of each example: it needs nothing beside it, and gets as far as asking for a cluster.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"
import { bundle } from "../scripts/bundle.ts"
import { examples } from "../src/examples.ts"
import * as Processes from "./support/Processes.ts"

/** What a program says that finds no kubeconfig, and its exit code. */
const run = (file: string) =>
  Effect.promise(() =>
    new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
      const env = { PATH: process.env["PATH"], KUBECONFIG: "/no/kubeconfig", HOME: Path.dirname(file) }
      const child = ChildProcess.execFile(process.execPath, [file], { env }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, said: stdout + stderr }))
    })
  )

describe("bundle", () => {
  for (const { name } of examples) {
    it.live(`${name} is one file`, () =>
      Effect.gen(function*() {
        const file = Path.join(yield* Processes.folder, "main.mjs")
        const main = new URL(`../src/${name}/main.ts`, import.meta.url).pathname
        yield* Effect.promise(() => bundle(main, file))
        const { code, said } = yield* run(file)
        assert.include(said, "no such file: /no/kubeconfig")
        assert.strictEqual(code, 1)
      }).pipe(Effect.scoped))
  }
})
