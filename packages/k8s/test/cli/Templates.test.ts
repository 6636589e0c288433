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
    for (const [name, text] of Object.entries(made)) {
      assert.notMatch(text.replaceAll("https://effect.website", ""), /website|example\.com|\bdemo\b/i, name)
    }
    assert.include(made["samples/farmpod.yaml"], "apiVersion: farm.example.org/v1alpha1\nkind: FarmPod\n")
    assert.include(made["src/farmpod/resource.ts"], "group: \"farm.example.org\",\n  version: \"v1alpha1\",")
    assert.include(made["src/main.ts"], "namespace: \"my-farm-system\"")
    // The templates themselves are compiled and run as they are.
    const own = yield* Templates.ofProject("demo", { kind: "Website", group: "example.com", version: "v1" })
    assert.include(own["src/website/resource.ts"], "kind: \"Website\"")
  }).pipe(Effect.provide(NodeServices.layer)))

it.effect("links stay as they are, and a name that was put in is not replaced by another", () =>
  Effect.gen(function*() {
    const made = yield* Templates.ofProject("my-farm", { ...kind, kind: "Demo", group: "demo.example.org" })
    assert.include(made["README.md"], "[Effect](https://effect.website)")
    assert.include(made["README.md"], "`src/demo/resource.ts`")
    assert.include(made["src/main.ts"], "from \"./demo/resource.ts\"")
    assert.include(made["samples/demo.yaml"], "apiVersion: demo.example.org/v1alpha1")
    assert.include(Templates.rename("Website", { ...kind, kind: "WebsiteWebsite" }, "demo"), "WebsiteWebsite")
  }).pipe(Effect.provide(NodeServices.layer)))

it.effect("the versions that are put together may have the names of the template's, in another place", () =>
  Effect.gen(function*() {
    const before = { version: "v2", name: "WebsiteApp", file: "resource.ts" }
    const made = { version: "v3", name: "WebsiteAppV3", file: "v3.ts" }
    const { "src/websiteapp/versions.ts": text } = yield* Templates.ofVersions("WebsiteApp", before, made, true)
    assert.include(text, "import { WebsiteAppV3 } from \"./v3.ts\"")
    assert.include(text, "/** From v2 to v3, and back.")
    assert.include(text, "const toV3 = CustomResourceVersions.between(WebsiteApp, WebsiteAppV3, {")
    assert.include(text, "WebsiteAppVersions = CustomResourceVersions.make({ steps: [toV3], storage: WebsiteAppV3 })")
  }).pipe(Effect.provide(NodeServices.layer)))
