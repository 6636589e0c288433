import { assert, it } from "@effect/vitest"
import * as Surroundings from "../../../src/cli/dev/Surroundings.ts"

const program = { namespace: "demo-system", env: { REGISTRY: "ghcr.io", SIZE: "3" } }
const ports = { metrics: 1001, probes: 1002, webhooks: 1003 }

it("what the manifests give the operator is there, where the environment is silent", () => {
  const given = Surroundings.variables(program, ports, { SIZE: "5" })
  assert.strictEqual(given["REGISTRY"], "ghcr.io")
  assert.notProperty(given, "SIZE")
  assert.strictEqual(given["POD_NAMESPACE"], "demo-system")
  assert.strictEqual(given["EFFECT_OPERATOR_METRICS_ADDRESS"], "127.0.0.1:1001")
  assert.strictEqual(given["EFFECT_OPERATOR_PROBES_ADDRESS"], "127.0.0.1:1002")
})

it("it does not linger, unless somebody says so", () => {
  const name = "EFFECT_OPERATOR_LINGER"
  assert.strictEqual(Surroundings.variables(program, ports, {})[name], "0")
  assert.notProperty(Surroundings.variables(program, ports, { [name]: "3s" }), name)
})

it("lines are for people, unless somebody has chosen others", () => {
  const name = "EFFECT_OPERATOR_LOG_FORMAT"
  assert.strictEqual(Surroundings.variables(program, ports, {})[name], "pretty")
  assert.notProperty(Surroundings.variables(program, ports, { [name]: "json" }), name)
  assert.strictEqual(Surroundings.variables({ ...program, env: { [name]: "json" } }, ports, {})[name], "json")
})

it("hooks are served to this machine alone, on a port that is free, unless somebody has chosen another", () => {
  const name = "EFFECT_OPERATOR_WEBHOOKS_ADDRESS"
  assert.strictEqual(Surroundings.variables(program, ports, {})[name], "127.0.0.1:1003")
  assert.strictEqual(Surroundings.webhooksPort(program, ports, {}), 1003)
  assert.notProperty(Surroundings.variables(program, ports, { [name]: ":9000" }), name)
  assert.strictEqual(Surroundings.webhooksPort(program, ports, { [name]: ":9000" }), 9000)
  const manifests = { ...program, env: { [name]: "0.0.0.0:9001" } }
  assert.strictEqual(Surroundings.variables(manifests, ports, {})[name], "0.0.0.0:9001")
  assert.strictEqual(Surroundings.webhooksPort(manifests, ports, {}), 9001)
})
