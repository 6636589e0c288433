import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Names from "../../src/cli/Names.ts"

const good = { kind: "Website", group: "apps.example.com", version: "v1beta2" }

it.effect("takes names that the API server takes", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* Names.newKind(good), good)
    // Somebody has written its sources by hand.
    assert.strictEqual((yield* Names.kind({ ...good, kind: "Function" })).kind, "Function")
    assert.strictEqual(yield* Names.project("my-site2"), "my-site2")
  }))

it.effect("refuses others, and names the value and the rule", () =>
  Effect.gen(function*() {
    const bad: ReadonlyArray<readonly [Partial<Names.Kind>, string]> = [
      [{ kind: "website" }, "the kind \"website\": must be letters and digits, at most 63, beginning with a capital"],
      [{ kind: "Web-Site" }, "the kind \"Web-Site\""],
      [{ kind: "Deployment" }, "is also a name that its sources import: choose DeploymentConfig"],
      [{ kind: "Simulation" }, "is also a name that its sources import: choose SimulationConfig"],
      [{ kind: "Function" }, "is in lower case a word that its sources cannot use as a name: choose FunctionConfig"],
      [{ kind: "Operator" }, "is in lower case a word"],
      [{ group: "example" }, "the group \"example\": must be a domain that you own"],
      [{ group: "Example.com" }, "the group \"Example.com\""],
      [{ group: "a..b" }, "the group \"a..b\""],
      [{ version: "1" }, "the version \"1\": must have a form such as v1, v1beta1"],
      [{ version: "v1gamma1" }, "the version \"v1gamma1\""]
    ]
    for (const [fields, says] of bad) {
      const { message } = yield* Effect.flip(Names.newKind({ ...good, ...fields }))
      assert.include(message, says)
    }
    for (const name of ["Demo", "1demo", "demo-", "de_mo", "", "d".repeat(51)]) {
      const { message } = yield* Effect.flip(Names.project(name))
      assert.include(message, `the name ${JSON.stringify(name)}: must be lower-case letters`)
    }
  }))

it("makes a kind of a project's name", () => {
  assert.strictEqual(Names.kindOf("my-web-site"), "MyWebSite")
})
