import * as NodeServices from "@effect/platform-node/NodeServices"
import { KubeClient } from "@effect-operator/core"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as Path from "node:path"
import type { Description } from "../../../src/cli/Description.ts"
import * as Session from "../../../src/cli/dev/Session.ts"
import type * as Target from "../../../src/cli/dev/Target.ts"
import { ConfigMap } from "../../../src/kinds/core.v1.ts"
import * as TestCluster from "../../../src/testing/TestCluster.ts"
import { folder } from "../../support/folder.ts"

const map = (namespace: string, data: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a${namespace} }\ndata: { a: ${data} }\n`

const nothing = { kinds: [] } as unknown as Description

it.effect("samples that have not changed are left alone, whatever others of their name do", () =>
  Effect.gen(function*() {
    const client = yield* KubeClient.KubeClient
    const path = yield* folder({ "a.yaml": `${map(", namespace: kube-public", "one")}---\n${map("", "two")}` })
    const context = yield* Effect.context<KubeClient.KubeClient>()
    const samples = Session.sampler({ client: context, namespace: "kube-system" } as unknown as Target.Target, [path])
    yield* samples.apply(nothing)
    const keys = ["kube-public", "kube-system"].map((namespace) => ({ namespace, name: "a" }))
    for (const key of keys) {
      yield* client.patch(ConfigMap, key, KubeClient.Patch.merge({ data: { a: "mine" } }))
    }
    yield* samples.apply(nothing)
    for (const key of keys) assert.deepStrictEqual((yield* client.get(ConfigMap, key)).data, { a: "mine" })
  }).pipe(Effect.provide(Layer.merge(TestCluster.layer(), NodeServices.layer))))

it.effect("a place of samples may be gone for a while", () =>
  Effect.gen(function*() {
    const path = yield* folder({ "samples/a.yaml": map("", "one") })
    const place = Path.join(path, "samples")
    const samples = Session.sampler({} as Target.Target, [place])
    assert.deepStrictEqual(yield* samples.followed, [place, Path.join(place, "a.yaml")])
    Fs.rmSync(place, { recursive: true })
    assert.deepStrictEqual(yield* samples.followed, [place])
    assert.include((yield* Effect.flip(samples.apply(nothing))).message, place)
  }).pipe(Effect.provide(NodeServices.layer)))
