/**
 * `npm run cluster` and the Autoscaler's operator, each a process, driven by nothing but kubectl.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Processes from "./support/Processes.ts"

const assets = process.env["KUBEBUILDER_ASSETS"] ?? ""
const deploy = (file: string) => new URL(`../deploy/autoscaler/${file}`, import.meta.url).pathname

it.live("kubectl applies definition and sample, follows, patches, edits and deletes", () =>
  Effect.gen(function*() {
    const folder = yield* Processes.folder
    const kubeconfig = Path.join(folder, "kubeconfig")
    const cluster = yield* Processes.start("packages/k8s/src/cli/main.ts", {
      arguments: ["cluster", "--port", "0", "--kubeconfig", kubeconfig]
    })
    yield* Processes.until(Effect.sync(() => /^ready https:\/\/127\.0\.0\.1:\d+$/m.test(cluster.output())))
    const env = { KUBECONFIG: kubeconfig, HOME: folder }
    const kubectl = (...args: ReadonlyArray<string>) => Processes.run(Path.join(assets, "kubectl"), args, env)
    /** Until the Autoscaler's columns Desired, Available and Ready read so. */
    const reads = (columns: string) =>
      Processes.until(Effect.map(
        kubectl("get", "autoscaler", "web", "--no-headers"),
        (line) => line.split(/\s+/).slice(1, 4).join(" ") === columns
      ))
    const pods = Effect.map(kubectl("get", "pods", "-o", "name"), (text) => text.split("\n").filter(Boolean).length)

    assert.include(yield* kubectl("apply", "-f", deploy("crd.yaml")), "autoscalers.test.skuber.io created")
    assert.include(yield* kubectl("apply", "-f", deploy("crd.yaml")), "unchanged")
    const operator = yield* Processes.start("examples/src/autoscaler/main.ts", { env })
    assert.include(yield* kubectl("apply", "-f", deploy("sample.yaml")), "autoscaler.test.skuber.io/web created")
    yield* reads("2 2 true")
    assert.strictEqual(yield* pods, 2)

    const followed = Path.join(folder, "followed")
    yield* Effect.forkScoped(
      Processes.run("sh", ["-c", `exec timeout 30 ${assets}/kubectl get autoscalers -w > ${followed} 2>&1`], env)
    )
    const rows = Effect.sync(() =>
      Fs.existsSync(followed)
        ? Fs.readFileSync(followed, "utf8").split("\n").map((line) => line.split(/\s+/).slice(0, 4).join(" "))
        : []
    )
    yield* Processes.until(Effect.map(rows, (rows) => rows.includes("web 2 2 true")))
    yield* kubectl("patch", "autoscaler", "web", "--type", "merge", "-p", `{"spec":{"desiredReplicas":4}}`)
    yield* reads("4 4 true")
    assert.strictEqual(yield* pods, 4)

    const editor = Path.join(folder, "editor")
    Fs.writeFileSync(editor, `#!/bin/sh\nsed -i "s/desiredReplicas: 4/desiredReplicas: 1/" "$1"\n`, { mode: 0o700 })
    const edited = Processes.run(Path.join(assets, "kubectl"), ["edit", "autoscaler", "web"], {
      ...env,
      KUBE_EDITOR: editor
    })
    assert.include(yield* edited, "web edited")
    yield* reads("1 1 true")

    const refused = yield* Effect.flip(
      kubectl("patch", "autoscaler", "web", "--type", "merge", "-p", `{"spec":{"desiredReplicas":-1}}`)
    )
    assert.include(refused.message, `The Autoscaler "web" is invalid: spec.desiredReplicas: Invalid value: -1`)
    // Events are written beside the work, and after it.
    const events = [
      /REPLICA_CREATED\s+\S+\s+autoscaler\s+created Pod default\/web-/,
      /REPLICA_DELETED\s+\S+\s+autoscaler\s+deleted Pod default\/web-/
    ]
    const described = kubectl("describe", "autoscaler", "web")
    yield* Processes.until(Effect.map(described, (text) => events.every((event) => event.test(text))))

    // kubectl waits until the finalizer is gone, which is when the Pods are.
    assert.include(yield* kubectl("delete", "autoscaler", "web"), `"web" deleted`)
    assert.strictEqual(yield* pods, 0)
    for (const row of ["NAME DESIRED AVAILABLE READY", "web 4 4 true", "web 1 1 true"]) {
      assert.include(yield* rows, row)
    }

    for (const process of [operator, cluster]) {
      yield* process.signal("SIGTERM")
      assert.deepStrictEqual(yield* Effect.timeout(process.exited, "25 seconds"), { code: 0, signal: null })
    }
  }), 300_000)
