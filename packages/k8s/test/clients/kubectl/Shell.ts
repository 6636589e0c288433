/**
 * A shell for one script against one server: a directory with the script's files and a kubeconfig in it, in which kubectl
 * is run.
 */
import { Effect, type Scope } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { parse } from "yaml"
import { type Script, words } from "./Script.ts"

export interface Output {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Shell {
  readonly run: (line: string, stdin?: string) => Effect.Effect<Output>
  readonly home: string
}

const temporary = (prefix: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), prefix))),
    (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
  )

/** The same names for cluster, user and context, whatever the server calls them. */
const uniform = (kubeconfig: string, namespace: string): string => {
  const { clusters: [{ cluster }], users: [{ user }] } = parse(kubeconfig)
  const name = "test"
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    "current-context": name
  })
}

/** Opens a shell. What kubectl learns of a server it keeps in `cache`, as it would in its user's home. */
export const open = Effect.fnUntraced(function*(
  program: string,
  kubeconfig: string,
  cache: string,
  { files, name }: Pick<Script, "files" | "name">
): Effect.fn.Return<Shell, never, Scope.Scope> {
  const home = yield* temporary("kubectl-")
  Fs.writeFileSync(Path.join(home, "kubeconfig"), uniform(kubeconfig, name), { mode: 0o600 })
  for (const [path, content] of Object.entries(files)) {
    Fs.mkdirSync(Path.dirname(Path.join(home, path)), { recursive: true })
    Fs.writeFileSync(Path.join(home, path), content, { mode: 0o755 })
  }
  const run: Shell["run"] = (line, stdin) =>
    Effect.callback((resume) => {
      const child = ChildProcess.spawn(program, words(line), {
        cwd: home,
        env: {
          PATH: process.env["PATH"],
          HOME: home,
          KUBECONFIG: "kubeconfig",
          KUBECACHEDIR: cache,
          EDITOR: "./edit",
          NO_COLOR: "1"
        }
      })
      const out: Array<Buffer> = []
      const err: Array<Buffer> = []
      child.stdout.on("data", (data: Buffer) => out.push(data))
      child.stderr.on("data", (data: Buffer) => err.push(data))
      child.on("close", (code) =>
        resume(Effect.succeed({
          code: code ?? -1,
          stdout: Buffer.concat(out).toString(),
          stderr: Buffer.concat(err).toString()
        })))
      child.stdin.on("error", () => {})
      child.stdin.end(stdin ?? "")
      return Effect.sync(() => child.kill())
    })
  return { run, home }
})

/** A directory for what kubectl learns of one server. */
export const cacheDirectory = temporary("kubectl-cache-")
