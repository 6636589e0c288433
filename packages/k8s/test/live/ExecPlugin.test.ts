import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Credentials from "../../src/Credentials.ts"
import * as ExecPlugin from "../../src/live/ExecPlugin.ts"
import { folder } from "../support/folder.ts"

const apiVersion = "client.authentication.k8s.io/v1"

const credential = (status: object, version = apiVersion) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: version, status })

/** A plugin that is a Node program. */
const plugin = (program: string, more: Partial<ExecPlugin.Spec> = {}): ExecPlugin.Spec => ({
  command: process.execPath,
  args: ["--eval", program],
  env: {},
  apiVersion,
  interactiveMode: "IfAvailable",
  ...more
})

const printing = (text: string) => `process.stdout.write(${JSON.stringify(text)})`

describe("ExecPlugin.run", () => {
  it.live("tells the plugin what it has to know, and reads token, certificate and expiry", () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const file = Path.join(path, "env.json")
      const answer = credential({
        token: "t",
        clientCertificateData: "cert",
        clientKeyData: "key",
        expirationTimestamp: "2030-01-01T00:00:00Z"
      })
      const program = `require("node:fs").writeFileSync(process.env.OUT, JSON.stringify(process.env));${
        printing(answer)
      }`
      const cluster = { server: "https://k8s.example", config: { audience: "a" } }
      const spec = plugin(program, { env: { OUT: file, EXTRA: "more" }, cluster })
      const issued = yield* ExecPlugin.run(spec, true)
      assert.strictEqual(issued.token && Redacted.value(issued.token), "t")
      assert.strictEqual(issued.certificate?.cert, "cert")
      assert.strictEqual(issued.certificate && Redacted.value(issued.certificate.key), "key")
      assert.strictEqual(issued.expiresAt, Date.UTC(2030, 0, 1))
      const env = JSON.parse(Fs.readFileSync(file, "utf8"))
      assert.strictEqual(env.EXTRA, "more")
      assert.strictEqual(env.PATH, process.env["PATH"])
      assert.deepStrictEqual(JSON.parse(env.KUBERNETES_EXEC_INFO), {
        kind: "ExecCredential",
        apiVersion,
        spec: { cluster, interactive: true }
      })
      const quiet = plugin(program, { env: { OUT: file }, interactiveMode: "Never" })
      yield* ExecPlugin.run(quiet, true)
      assert.deepStrictEqual(
        JSON.parse(JSON.parse(Fs.readFileSync(file, "utf8")).KUBERNETES_EXEC_INFO).spec,
        { interactive: false }
      )
    }))

  it.live("says what went wrong, and quotes neither arguments nor output", () =>
    Effect.gen(function*() {
      const problem = (spec: ExecPlugin.Spec, isTerminal = false) =>
        Effect.map(Effect.flip(ExecPlugin.run(spec, isTerminal)), ({ message }) =>
          message.replace(`the exec plugin ${spec.command} `, ""))
      const table: ReadonlyArray<readonly [ExecPlugin.Spec, string]> = [
        [plugin("process.exit(3) // s3cret"), "ended with code 3"],
        [plugin("process.kill(process.pid, 'SIGTERM')"), "was ended by SIGTERM"],
        [plugin(printing("s3cret")), "wrote something that is not a JSON object"],
        [
          plugin(`for (let i = 0; i < 40; i++) console.log("s3cret".repeat(10000))`),
          "wrote more than 1048576 characters"
        ],
        [
          plugin("", { interactiveMode: "Always" }),
          "is interactive (interactiveMode: Always), but standard input is not a terminal"
        ],
        // A bundle of all public CAs is longer than a variable may be.
        [
          plugin("", {
            cluster: { server: "https://k8s.example", "certificate-authority-data": "s3cret".repeat(40_000) }
          }),
          "could not be started: E2BIG"
        ],
        [plugin("", { command: "no-such-plugin", installHint: "get it\n" }), "could not be started: ENOENT; get it"]
      ]
      for (const [spec, expected] of table) {
        assert.strictEqual(yield* problem(spec), expected)
      }
    }))

  it.live("kills a plugin that takes too long", () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const file = Path.join(path, "pid")
      // A shell is there at once, also where it takes Node its time.
      const spec = plugin("", {
        command: "sh",
        args: ["-c", "echo $$ > \"$OUT\"; exec sleep 1000"],
        env: { OUT: file }
      })
      const credentials = Credentials.issued(ExecPlugin.run(spec), { name: "the plugin", timeout: "2 seconds" })
      const error = yield* Effect.flip(credentials.headers)
      assert.strictEqual(error.message, "the plugin gave no credentials within 2s")
      const pid = Number(Fs.readFileSync(file, "utf8"))
      const alive = Effect.try({ try: () => process.kill(pid, 0), catch: () => "gone" as const })
      yield* Effect.repeat(Effect.delay(alive, "10 millis"), { while: () => true }).pipe(Effect.flip)
    }))
})

describe("ExecPlugin.parse", () => {
  const parse = (output: string) => ExecPlugin.parse({ apiVersion }, output)
  const problem = (output: string) =>
    Result.match(parse(output), { onFailure: (text) => text, onSuccess: () => "fine" })

  it("accepts a token, a pair, or both, and nothing else", () => {
    const other = "client.authentication.k8s.io/v1beta1"
    const table: ReadonlyArray<readonly [string, string]> = [
      [credential({ token: "t" }), "fine"],
      [credential({ clientCertificateData: "c", clientKeyData: "k" }), "fine"],
      [credential({ token: "t" }, other), `is configured to use API version ${apiVersion}, but answered with another`],
      ["[]", "wrote an object that is not an ExecCredential"],
      ["null", "wrote something that is not a JSON object"],
      [JSON.stringify({ kind: "ExecCredential", apiVersion }), "wrote no status"],
      [credential({}), "wrote neither a token nor a certificate"],
      [credential({ token: "" }), "wrote neither a token nor a certificate"],
      [credential({ token: "t", clientKeyData: "k" }), "wrote only one of clientCertificateData and clientKeyData"],
      [credential({ token: "t", expirationTimestamp: "soon" }), "wrote an expirationTimestamp that is not a time"]
    ]
    for (const [output, expected] of table) assert.strictEqual(problem(output), expected, output)
  })

  it.prop("reads whatever a plugin writes without throwing or quoting it", { text: Schema.String }, ({ text }) => {
    for (const output of [text, JSON.stringify(text), credential({ token: 1, expirationTimestamp: text })]) {
      const result = parse(output)
      if (Result.isFailure(result) && text.length > 8) assert.notInclude(result.failure, text)
    }
  }, { arbitrary: { runs: 200 } })
})
