import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Templates from "../../src/cli/Templates.ts"

const kind = { kind: "FarmPod", group: "farm.example.org", version: "v1alpha1" }

it.effect("a project has no name of the template left, and is as it was under the template's own names", () =>
  Effect.gen(function*() {
    const made = yield* Templates.ofProject("my-farm", kind)
    assert.deepStrictEqual(Object.keys(made), [
      "src/main.ts",
      "README.md",
      "src/farmpod/resource.ts",
      "src/farmpod/reconciler.ts",
      "test/farmpod.test.ts",
      "samples/farmpod.yaml"
    ])
    for (const [name, text] of Object.entries(made)) assert.notMatch(text, /website|example\.com|\bdemo\b/i, name)
    assert.include(made["samples/farmpod.yaml"], "apiVersion: farm.example.org/v1alpha1\nkind: FarmPod\n")
    assert.include(made["src/farmpod/resource.ts"], "group: \"farm.example.org\",\n  version: \"v1alpha1\",")
    assert.include(made["src/main.ts"], "namespace: \"my-farm-system\"")
    // The templates themselves are compiled and run as they are.
    const own = yield* Templates.ofProject("demo", { kind: "Website", group: "example.com", version: "v1" })
    assert.include(own["src/website/resource.ts"], "kind: \"Website\"")
  }).pipe(Effect.provide(NodeServices.layer)))
