import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ChildProcess from "node:child_process"
import * as Path from "node:path"
import * as Yaml from "yaml"
import * as Definitions from "../../src/cli/Definitions.ts"
import * as Folder from "../../src/cli/Folder.ts"
import * as Crd from "../../src/Crd.ts"
import { Website } from "../../templates/src/website/resource.ts"
import { folder } from "../support/folder.ts"

const definition = Crd.make(Website)
const text = Yaml.stringify(definition)
const failure = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

it.effect("definitions are found among other documents and in lists", () =>
  Effect.gen(function*() {
    const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"
    const list = Yaml.stringify({ apiVersion: "v1", kind: "List", items: [definition, { kind: "Pod" }] })
    const found = yield* Definitions.parse(`${pod}---\n---\n${text}---\n${list}`, "x")
    assert.deepStrictEqual(found.map(({ metadata }) => metadata.name), ["websites.example.com", "websites.example.com"])
    assert.deepStrictEqual(yield* Definitions.parse("", "x"), [])
  }))

it.effect("what is no definition is refused by name, with the remedy", () =>
  Effect.gen(function*() {
    assert.match(yield* failure(Definitions.parse("a: [", "crd.yaml")), /^crd\.yaml is not valid YAML: /)
    const old = Yaml.stringify({ ...definition, apiVersion: "apiextensions.k8s.io/v1beta1" })
    assert.include(yield* failure(Definitions.parse(old, "crd.yaml")), "`kubectl get crd websites.example.com -o yaml`")
    const empty = Yaml.stringify({ ...definition, spec: {} })
    assert.include(yield* failure(Definitions.parse(empty, "crd.yaml")), "spec.versions is not a list")
  }))

it.effect("definitions to compare with come from a file, a folder or a commit", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "deploy/crd.yaml": text })
    const names = (where: string, out: string) =>
      Effect.map(Definitions.against(where, out), (found) => found.map(({ metadata }) => metadata.name))
    assert.deepStrictEqual(yield* names(Path.join(path, "deploy"), "x"), ["websites.example.com"])
    assert.deepStrictEqual(yield* names(Path.join(path, "deploy/crd.yaml"), "x"), ["websites.example.com"])
    assert.include(yield* failure(names(path, "x")), "crd.yaml does not exist")
    const unknown = yield* failure(names("no-such-branch", "deploy"))
    assert.include(unknown, "no-such-branch is neither a file, nor a folder, nor a git commit:")

    const git = (...args: ReadonlyArray<string>) =>
      ChildProcess.execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: path })
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "before the operator")
    git("tag", "before")
    git("add", ".")
    git("commit", "-q", "-m", "the operator")
    const at = (where: string) => Effect.provideService(names(where, Path.join(path, "deploy")), Folder.Top, path)
    assert.deepStrictEqual(yield* at("HEAD"), ["websites.example.com"])
    assert.deepStrictEqual(yield* at("before"), [], "the first pull request")
  }).pipe(Effect.provide(NodeServices.layer)))

it("a kind that is gone breaks everything; changes name the kind", () => {
  const [gone] = Definitions.changes([definition], [])
  assert.deepStrictEqual([gone?.rule, gone?.path, gone?.breaks], ["kind-removed", "Website", ["stored", "clients"]])
  const renamed = JSON.parse(JSON.stringify(definition).replaceAll("image", "picture"))
  const changes = Definitions.changes([definition], [renamed])
  assert.include(changes.map(({ path }) => path), "Website v1 spec.image")
  assert.deepStrictEqual(Definitions.changes([definition], [definition]), [])
})
