import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Envtest from "../../src/testing/Envtest.ts"
import { folder } from "../support/folder.ts"

/** A folder with programs of those names, each of which runs this script. */
const programs = (script: string, names: ReadonlyArray<string>) =>
  folder(Object.fromEntries(names.map((name) => [name, `#!/bin/sh\n${script}\n`]))).pipe(
    Effect.tap((assets) => Effect.sync(() => names.forEach((name) => Fs.chmodSync(Path.join(assets, name), 0o755))))
  )

for (const others of [[], ["kube-controller-manager"]]) {
  it.live(`a control plane that never listens is late, ${others[0] ?? "alone"}`, () =>
    Effect.gen(function*() {
      const assets = yield* programs("echo starting; exec sleep 60", ["etcd", "kube-apiserver", ...others])
      const { message } = yield* Layer.build(Envtest.layerOptions({ assets, startTimeout: "300 millis" })).pipe(
        Effect.scoped,
        Effect.flip
      )
      assert.strictEqual(
        message,
        "the control plane did not become ready within 300ms\n--- etcd\nstarting\n--- kube-apiserver\nstarting"
      )
    }))
}

it.live("the folder may be relative to that of the tests", () =>
  Effect.gen(function*() {
    const assets = Path.relative("", yield* programs("echo no; exit 7", ["etcd", "kube-apiserver"]))
    const { message } = yield* Effect.flip(Effect.scoped(Layer.build(Envtest.layerOptions({ assets }))))
    assert.match(message, /^(etcd|kube-apiserver) exited \(exit code 7\)\nno$/)
  }))
