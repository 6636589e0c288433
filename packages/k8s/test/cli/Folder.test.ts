import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Folder from "../../src/cli/Folder.ts"
import { folder } from "../support/folder.ts"

const inFolder = <E>(use: (path: string) => Effect.Effect<void, E, NodeServices.NodeServices>) =>
  Effect.flatMap(folder({ "taken.txt": "mine" }), use).pipe(Effect.provide(NodeServices.layer))

it.effect("create makes all files or none", () =>
  inFolder(Effect.fnUntraced(function*(path) {
    const files = { "a/b.txt": "new", "taken.txt": "new" }
    const { message } = yield* Effect.flip(Folder.create(path, files, "Remove it"))
    assert.strictEqual(
      message,
      `${Path.join(path, "taken.txt")} exists already and is not overwritten; nothing was written. Remove it`
    )
    assert.isFalse(Fs.existsSync(Path.join(path, "a")))
    assert.strictEqual(Fs.readFileSync(Path.join(path, "taken.txt"), "utf8"), "mine")
    yield* Folder.create(path, { "a/b.txt": "new" }, "")
    assert.strictEqual(Fs.readFileSync(Path.join(path, "a/b.txt"), "utf8"), "new")
  })))

it.effect("put says whether anything changed", () =>
  inFolder(Effect.fnUntraced(function*(path) {
    const file = Path.join(path, "deploy/crd.yaml")
    assert.strictEqual(yield* Folder.put(file, "a"), "created")
    assert.strictEqual(yield* Folder.put(file, "a"), "unchanged")
    assert.strictEqual(yield* Folder.put(file, "b"), "changed")
  })))

it.effect("a file that cannot be read or written is named, with the reason", () =>
  inFolder(Effect.fnUntraced(function*(path) {
    const { message } = yield* Effect.flip(Folder.write(Path.join(path, "taken.txt/x"), "a"))
    assert.match(message, /^cannot write .*taken\.txt\/x: E(NOTDIR|EXIST)/)
    assert.match((yield* Effect.flip(Folder.read(path))).message, /^cannot read .*: EISDIR/)
    assert.isUndefined(yield* Folder.read(Path.join(path, "nothing")))
  })))

it.effect("a file that git has checked out with other line ends has not changed", () =>
  inFolder(Effect.fnUntraced(function*(path) {
    const file = Path.join(path, "deploy/crd.yaml")
    yield* Folder.put(file, "a\nb\n")
    Fs.writeFileSync(file, "a\r\nb\r\n")
    assert.strictEqual(yield* Folder.read(file), "a\nb\n")
    assert.strictEqual(yield* Folder.put(file, "a\nb\n"), "unchanged")
  })))
