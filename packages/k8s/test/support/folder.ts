/** Temporary files for tests. */
import { Effect, type Scope } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"

/** A folder of files that goes with the scope. */
export const folder = (files: Record<string, string>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = Fs.mkdtempSync(Path.join(Os.tmpdir(), "kubeconfig-"))
      for (const [name, text] of Object.entries(files)) {
        Fs.mkdirSync(Path.dirname(Path.join(path, name)), { recursive: true })
        Fs.writeFileSync(Path.join(path, name), text)
      }
      return path
    }),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true }))
  )
