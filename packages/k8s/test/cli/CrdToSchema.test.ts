import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Yaml from "yaml"
import * as Crd from "../../src/Crd.ts"
import { Website } from "../../templates/src/website/resource.ts"
import { folder } from "../support/folder.ts"
import * as Shell from "./Shell.ts"

const website = Crd.make(Website)
const other = JSON.parse(JSON.stringify(website).replaceAll("Website", "Shop").replaceAll("website", "shop"))
const [one, both] = [Yaml.stringify(website), `${Yaml.stringify(website)}---\n${Yaml.stringify(other)}`]

it.live("declares the kind of a definition in a file or on standard input", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "crds.yaml": both })
    const file = Path.join(path, "crds.yaml")
    const piped = yield* Shell.run(["crd-to-schema", "-"], { stdin: one })
    assert.match(piped.out, /export const Website = CustomResource\.make\(/)
    assert.strictEqual((yield* Shell.run(["crd-to-schema", file, "--name", "Website"])).out, piped.out)

    const out = Path.join(path, "kinds")
    assert.isTrue((yield* Shell.run(["crd-to-schema", file, "--out", out])).ok)
    assert.deepStrictEqual(Fs.readdirSync(out), ["Shop.ts", "Website.ts"])
    const again = yield* Shell.run(["crd-to-schema", file, "--name", "Shop", "--out", Path.join(out, "Shop.ts")])
    assert.isFalse(again.ok)
    assert.include(again.err, "Shop.ts exists already and is not overwritten")
  }))

it.live("says what it cannot do, and what to do instead", () =>
  Effect.gen(function*() {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, string, string]> = [
      [["-"], both, "has 2 definitions: choose one with --name (websites.example.com, shops.example.com)"],
      [["-", "--name", "Car"], one, "has no definition named \"Car\", only websites.example.com"],
      [["-"], "kind: Pod", "standard input has no CustomResourceDefinition"],
      [["no-such-file"], "", "no-such-file does not exist"]
    ]
    for (const [args, stdin, says] of cases) {
      const { err, ok } = yield* Shell.run(["crd-to-schema", ...args], { stdin })
      assert.isFalse(ok)
      assert.include(err, says)
    }
  }))

it.live("kinds of one name in two groups are two files", () =>
  Effect.gen(function*() {
    const namesake = JSON.parse(JSON.stringify(website).replaceAll("example.com", "example.org"))
    const path = yield* folder({ "crds.yaml": `${both}---\n${Yaml.stringify(namesake)}` })
    const out = Path.join(path, "kinds")
    assert.isTrue((yield* Shell.run(["crd-to-schema", Path.join(path, "crds.yaml"), "--out", out])).ok)
    assert.deepStrictEqual(Fs.readdirSync(out), ["Shop.ts", "Website.example.com.ts", "Website.example.org.ts"])
    assert.include(Fs.readFileSync(Path.join(out, "Website.example.org.ts"), "utf8"), "example.org")
  }))
