/** `manifests` and `check` on a program of this repository, in a process of its own each. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { folder } from "../support/folder.ts"
import * as Shell from "./Shell.ts"

const main = Path.resolve(import.meta.dirname, "../../templates/src/main.ts")

it.live(
  "writes the files, finds what is not up to date, and stops at a change that breaks what is stored",
  () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const out = Path.join(path, "deploy")
      const check = (...args: ReadonlyArray<string>) => Shell.run(["check", main, "--out", out, ...args])

      const written = yield* Shell.run(["manifests", main, "--out", out])
      assert.isTrue(written.ok)
      assert.include(written.out, `created   ${Path.join(out, "crd.yaml")}`)

      const file = Path.join(out, "crd.yaml")
      const text = Fs.readFileSync(file, "utf8")
      Fs.writeFileSync(file, text.replace("maximum: 100", "maximum: 1000"))
      const broken = yield* check()
      assert.isFalse(broken.ok)
      assert.include(broken.err, "1 change breaks stored objects or clients:")
      assert.include(broken.err, "Website v1 spec.replicas: limit-tightened (breaks stored, clients)")
      assert.include(broken.err, "allow the change: --allow limit-tightened")
      assert.include((yield* check("--allow", "limit-tightened")).err, `out of date: ${file}`)
    })
)

it.live("a module that cannot be read is told of, with the reason", () =>
  Effect.gen(function*() {
    const path = yield* folder({
      "package.json": "{\"type\":\"module\"}",
      "syntax.ts": "export const operator = {\n",
      "throws.ts": "throw new Error(\"no luck\")",
      "ends.ts": "console.error(\"bye\"); process.exit(3)",
      "none.ts": "export const start = 1"
    })
    const says: Readonly<Record<string, string>> = {
      "syntax.ts": "cannot be imported",
      "throws.ts": "no luck",
      "ends.ts": "ended the process with code 3 while it was imported\nbye",
      "none.ts": "exports no `operator` (only start)",
      "absent.ts": "does not exist: give the module that exports `operator`"
    }
    yield* Effect.forEach(Object.entries(says), ([name, message]) =>
      Effect.map(Shell.run(["manifests", Path.join(path, name)]), ({ err, ok, out }) => {
        assert.isFalse(ok, name)
        assert.include(err, message)
        assert.include(err, name)
        assert.strictEqual(out, "")
      }), { concurrency: 2 })
  }))

it.live(
  "a file that the program no longer has goes, and what stays in clusters is named",
  () =>
    Effect.gen(function*() {
      const path = yield* folder({})
      const out = Path.join(path, "deploy")
      const at = (name: string) => Path.join(out, name)
      yield* Shell.run(["manifests", main, "--out", out])
      const listed = Fs.readFileSync(at("kustomization.yaml"), "utf8")
      const more = listed.replace("  - rbac.yaml\n", "  - rbac.yaml\n  - webhooks.yaml\n  - own.yaml\n")
      assert.notStrictEqual(more, listed)
      Fs.writeFileSync(at("kustomization.yaml"), more)
      Fs.writeFileSync(at("own.yaml"), "kind: ConfigMap\nmetadata: { name: own }\n")
      Fs.writeFileSync(at("ring.yaml"), "kind: ConfigMap\nmetadata: { name: not-listed }\n")
      Fs.writeFileSync(at("webhooks.yaml"), "kind: ValidatingWebhookConfiguration\nmetadata: { name: demo }\n")
      Fs.appendFileSync(at("rbac.yaml"), "---\nkind: Role\nmetadata: { name: demo, namespace: shops }\n")

      const stale = yield* Shell.run(["manifests", main, "--out", out, "--check"])
      assert.isFalse(stale.ok)
      assert.include(stale.err, at("webhooks.yaml"))
      const { err, ok, out: said } = yield* Shell.run(["manifests", main, "--out", out])
      assert.isTrue(ok)
      assert.include(said, `removed   ${at("webhooks.yaml")}`)
      assert.strictEqual(
        err,
        [
          "No longer in the manifests, but still in every cluster that has them; delete them there:",
          "  kubectl delete role demo -n shops",
          "  kubectl delete validatingwebhookconfiguration demo"
        ].join("\n")
      )
      assert.deepStrictEqual(
        ["webhooks.yaml", "own.yaml", "ring.yaml"].map((name) => Fs.existsSync(at(name))),
        [false, true, true]
      )
      assert.isTrue((yield* Shell.run(["manifests", main, "--out", out, "--check"])).ok)
      // A merge has left them in conflict.
      const text = Fs.readFileSync(at("rbac.yaml"), "utf8")
      const all = ["rbac.yaml", "crd.yaml", "kustomization.yaml"]
      for (const name of all) Fs.writeFileSync(at(name), "<<<<<<< HEAD\n- a: {\n")
      const again = yield* Shell.run(["manifests", main, "--out", out])
      assert.isTrue(again.ok)
      assert.include(again.err, "changes of definitions are not reported: ")
      assert.strictEqual(Fs.readFileSync(at("rbac.yaml"), "utf8"), text)
    })
)
