import { Settings } from "@effect-operator/core"
import { Environment } from "@effect-operator/k8s"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect, References } from "effect"
import * as Fs from "node:fs"

const env = (values: Record<string, string>) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(values))

describe("Environment", () => {
  it("every name is documented, and nothing else is", () => {
    const text = Fs.readFileSync(new URL("../../../docs/observability.md", import.meta.url), "utf8")
    const documented = new Set([...text.matchAll(/EFFECT_OPERATOR_[A-Z_]+/g)].map(([name]) => name))
    assert.sameMembers([...documented], Environment.variables.map(({ name }) => name))
  })

  it("no name is read twice", () => {
    const names = Environment.variables.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it.effect("surrounds a program: its settings, its log level", () =>
    Effect.gen(function*() {
      const seen = Effect.all([Settings.Settings, References.MinimumLogLevel])
      const [settings, level] = yield* Environment.around(seen).pipe(
        env({ EFFECT_OPERATOR_IDENTITY: "a", EFFECT_OPERATOR_LOG_LEVEL: "Error" })
      )
      assert.deepStrictEqual([settings.identity, level], ["a", "Error"])
      const wrong = yield* Effect.flip(Environment.around(seen).pipe(env({ EFFECT_OPERATOR_PROBES_ADDRESS: "no" })))
      assert.include(wrong.message, "EFFECT_OPERATOR_PROBES_ADDRESS")
      const off = yield* Effect.flip(Environment.around(seen).pipe(env({ EFFECT_OPERATOR_WEBHOOKS_ADDRESS: "0" })))
      assert.include(off.message, "must be host:port or :port")
    }))

  it.effect("a name that is no setting is warned of, with what was meant; what a cluster puts there is not", () =>
    Effect.gen(function*() {
      const warned: Array<string> = []
      const log = (line: string) => {
        const { level, message } = JSON.parse(line) as Record<string, string>
        warned.push(`${level}: ${message}`)
      }
      const named = env({
        EFFECT_OPERATOR_DRIAN: "5s",
        EFFECT_OPERATOR_LEASE_NAMESPACES: "a",
        EFFECT_OPERATOR_IDENTITY: "a",
        EFFECT_OPERATOR_SERVICE_HOST: "10.0.0.1",
        EFFECT_OPERATOR_SERVICE_PORT_HTTPS: "443",
        EFFECT_OPERATOR_PORT: "tcp://10.0.0.1:443",
        EFFECT_OPERATOR_METRICS_PORT_8080_TCP_ADDR: "10.0.0.1",
        EFFECT_OPERATORS: "others",
        EFFECT_OPERATOR_LOG_FORMAT: "json"
      })
      const heard = Effect.provideService(Console.Console, { ...globalThis.console, log })
      yield* Environment.around(Effect.void).pipe(named, heard)
      const expected = [
        "WARN: EFFECT_OPERATOR_DRIAN is not a setting and is ignored; did you mean EFFECT_OPERATOR_DRAIN?",
        "WARN: EFFECT_OPERATOR_LEASE_NAMESPACES is not a setting and is ignored; did you mean EFFECT_OPERATOR_LEASE_NAMESPACE?"
      ]
      assert.sameMembers(warned.splice(0), expected)
      yield* Effect.void.pipe(Environment.withFlags(["--drain=1s"]), named, heard)
      assert.sameMembers(warned, expected, "also beside flags")
    }))

  it.effect("flags beat it", () =>
    Effect.gen(function*() {
      const [settings, level] = yield* Effect.all([Settings.Settings, References.MinimumLogLevel]).pipe(
        Environment.withFlags(["--identity=b", "--log-level", "warn", "--metrics-address=0"]),
        env({ EFFECT_OPERATOR_IDENTITY: "a", EFFECT_OPERATOR_LOG_LEVEL: "Error" })
      )
      assert.deepStrictEqual([settings.identity, level], ["b", "Warn"])
      const wrong = yield* Effect.flip(Effect.void.pipe(Environment.withFlags(["--nope"]), env({})))
      assert.include(wrong.message, "unknown flag --nope")
    }))
})
