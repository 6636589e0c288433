/**
 * `effect-operator dev` as an operating system process, on a cluster in this one: it follows its sources, and gives up its
 * lease when it is stopped.
 */
import { KubeClient } from "@effect-operator/core"
import { Lease } from "@effect-operator/k8s/kinds"
import { CustomResourceDefinition } from "@effect-operator/k8s/kinds/apiextensions.v1"
import { HttpFacade, TestCluster } from "@effect-operator/k8s/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { PodSet } from "../src/podset/resource.ts"
import * as Processes from "./support/Processes.ts"

const root = Path.resolve(import.meta.dirname, "../..")
const sample = Path.join(root, "examples/deploy/podset/sample.yaml")
const cluster = HttpFacade.layer().pipe(Layer.provideMerge(TestCluster.layer()))

/** The PodSet example in a folder of its own. */
const project = Effect.map(Processes.folder, (folder) => {
  Fs.cpSync(Path.join(root, "examples/src/podset"), Path.join(folder, "podset"), { recursive: true })
  Fs.cpSync(Path.join(root, "examples/src/Example.ts"), Path.join(folder, "Example.ts"))
  Fs.writeFileSync(Path.join(folder, "package.json"), "{\"type\":\"module\"}")
  Fs.symlinkSync(Path.join(root, "node_modules"), Path.join(folder, "node_modules"))
  return folder
})

it.live("installs, runs, follows its sources, and ends with its lease released", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const folder = yield* project
    const at = (name: string) => Path.join(folder, name)
    Fs.writeFileSync(at("kubeconfig"), (yield* HttpFacade.HttpFacade).kubeconfig, { mode: 0o600 })
    const dev = yield* Processes.start("packages/k8s/src/cli/main.ts", {
      arguments: ["dev", at("podset/main.ts"), "--kubeconfig", at("kubeconfig"), "--apply", sample],
      env: {
        EFFECT_OPERATOR_LEADER_ELECTION: "true",
        EFFECT_OPERATOR_LEASE_NAMESPACE: "default",
        EFFECT_OPERATOR_LEASE_NAME: "podset"
      }
    })
    // Three programs start from their sources, one after the other.
    const until = <E, R>(what: Effect.Effect<boolean, E, R>) => Processes.until(what, "90 seconds")
    const says = (pattern: RegExp) => until(Effect.sync(() => pattern.test(dev.output())))
    const holder = Effect.map(client.get(Lease, { namespace: "default", name: "podset" }), ({ spec }) =>
      spec?.holderIdentity ?? "")
    const maximum = Effect.map(
      client.get(CustomResourceDefinition, { name: "podsets.batch.tutorial.kubebuilder.io" }),
      ({ spec }) =>
        spec.versions[0]?.schema?.openAPIV3Schema?.properties?.["spec"]?.properties?.["replicas"]?.maximum
    )
    const ready = Effect.map(
      client.get(PodSet, { namespace: "default", name: "sample" }),
      ({ status }) => status?.readyReplicas
    )

    yield* says(/applied PodSet sample/)
    yield* until(Effect.map(ready, (replicas) => replicas === 2))
    const first = yield* holder
    assert.notStrictEqual(first, "")

    const resource = Fs.readFileSync(at("podset/resource.ts"), "utf8")
    Fs.writeFileSync(at("podset/resource.ts"), resource.replace("maximum: 1000", "maximum: 500"))
    yield* says(/limit-tightened \(breaks stored, clients\)[^]*the operator is ready/)
    assert.strictEqual(yield* maximum, 500)
    yield* until(Effect.map(holder, (identity) => identity !== "" && identity !== first))

    yield* dev.signal("SIGTERM")
    assert.deepStrictEqual(yield* dev.exited.pipe(Effect.timeout("30 seconds")), { code: 0, signal: null })
    assert.strictEqual(yield* holder, "")
  }).pipe(Effect.provide(cluster)), 180_000)
