import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Yaml from "yaml"
import * as HttpFacade from "../../src/testing/HttpFacade.ts"
import * as Shell from "./Shell.ts"

const program = Path.resolve(import.meta.dirname, "../../src/cli/main.ts")

const directory = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "cluster-test-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Starts the program; `until` gives what it has printed once that matches. */
const run = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = ChildProcess.spawn(process.execPath, ["--conditions=op-source", program, ...args])
      let output = ""
      const listeners = new Set<() => void>()
      const onData = (data: Buffer) => {
        output += data.toString()
        listeners.forEach((listener) => listener())
      }
      child.stdout.on("data", onData)
      child.stderr.on("data", onData)
      const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, output })))
      const until = (pattern: RegExp) =>
        Effect.callback<RegExpExecArray, string>((resume) => {
          const look = () => {
            const match = pattern.exec(output)
            if (match !== null) resume(Effect.succeed(match))
          }
          listeners.add(look)
          look()
          void ended.then(() => resume(Effect.fail(`ended: ${output}`)))
        })
      return { child, until, ended: Effect.promise(() => ended) }
    }),
    ({ child, ended }) => Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), ended)
  )

const start = (...args: ReadonlyArray<string>) => run("cluster", ...args)

const get = (url: string, kubeconfig: string) =>
  Effect.promise(() => {
    const config = Yaml.parse(kubeconfig)
    const ca = Buffer.from(config.clusters[0].cluster["certificate-authority-data"], "base64")
    const headers = { authorization: `Bearer ${config.users[0].user.token}` }
    return new Promise<number | undefined>((resolve, reject) =>
      Https.get(url, { ca, headers, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      }).on("error", reject)
    )
  })

describe("cluster", () => {
  it.live(
    "serves, writes a private kubeconfig, says it is ready, and ends with 0 on a signal",
    () =>
      Effect.gen(function*() {
        for (const signal of ["SIGTERM", "SIGINT"] as const) {
          const file = Path.join(yield* directory, "kubeconfig")
          const { child, ended, until } = yield* start("--port", "0", "--kubeconfig", file)
          const [, url, port] = yield* until(/^ready (https:\/\/127\.0\.0\.1:(\d+))$/m)
          assert.isAbove(Number(port), 0)
          assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
          const kubeconfig = Fs.readFileSync(file, "utf8")
          const config = Yaml.parse(kubeconfig)
          assert.strictEqual(config.clusters[0].cluster.server, url)
          assert.deepStrictEqual(
            [config.clusters[0].name, config.users[0].name, config.contexts[0].name, config["current-context"]],
            ["effect-operator", "effect-operator", "effect-operator", "effect-operator"]
          )
          assert.strictEqual(yield* get(`${url}/api/v1/namespaces/default`, kubeconfig), 200)
          child.kill(signal)
          assert.strictEqual((yield* ended).code, 0)
        }
      }),
    180_000
  )

  it.live("makes a kubeconfig of an earlier run private again", () =>
    Effect.gen(function*() {
      const file = Path.join(yield* directory, "kubeconfig")
      const earlier = HttpFacade.kubeconfig({ url: "https://127.0.0.1:1", caPem: "", token: "t" })
      Fs.writeFileSync(file, earlier, { mode: 0o644 })
      const { until } = yield* start("--kubeconfig", file)
      yield* until(/^ready /m)
      assert.strictEqual(Fs.statSync(file).mode & 0o777, 0o600)
    }), 180_000)

  it.live("says what is wrong with its arguments", () =>
    Effect.gen(function*() {
      const folder = yield* directory
      const foreign = Path.join(folder, "config")
      Fs.writeFileSync(foreign, "current-context: production\n")
      // Somebody uses a cluster of this program, and has others.
      const merged = Path.join(folder, "merged")
      const names = (field: string) => `${field}: [{ name: effect-operator }, { name: production }]\n`
      const all = ["clusters", "users", "contexts"].map(names).join("")
      Fs.writeFileSync(merged, `${all}current-context: effect-operator\n`)
      const taken = yield* Effect.acquireRelease(
        Effect.callback<Net.Server>((resume) => {
          const server = Net.createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const { port } = taken.address() as Net.AddressInfo
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [
        [["--port", "70000"], "Expected a port between 0 and 65535"],
        [["--port", "http"], "Invalid value for flag --port"],
        [["--prot", "1"], "Unrecognized flag: --prot"],
        [["--port", String(port)], `port ${port} of 127.0.0.1 is in use`],
        [["--kubeconfig", Path.join(folder, "no", "file")], "ENOENT: no such file or directory"],
        [["--kubeconfig", foreign], "was not written by this program and is not overwritten"],
        [["--kubeconfig", merged], "was not written by this program and is not overwritten"]
      ]
      for (const [args, says] of cases) {
        const { err, ok, out } = yield* Shell.run(["cluster", ...args])
        assert.isFalse(ok)
        assert.include(err, says)
        assert.notInclude(out, "ready ")
      }
      assert.strictEqual(Fs.readFileSync(foreign, "utf8"), "current-context: production\n")
    }), 180_000)
})

describe("a signal", () => {
  const main = Path.resolve(import.meta.dirname, "../../templates/src/main.ts")

  for (const [code, ...args] of [[130, "dev", main, "--once"], [0, "dev", main]] as const) {
    it.live(`ends ${args.filter((arg) => arg !== main).join(" ")} with ${code}`, () =>
      Effect.gen(function*() {
        const { child, ended, until } = yield* run(...args)
        yield* until(/an in-memory cluster is running/)
        child.kill("SIGINT")
        assert.strictEqual((yield* ended).code, code)
      }), 180_000)
  }
})
