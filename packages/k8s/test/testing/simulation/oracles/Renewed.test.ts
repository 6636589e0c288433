import type { KubeObject } from "@effect-operator/core/KubeObject"
import { renewed } from "@effect-operator/k8s/testing/simulation/oracles/Renewed"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import type { Reference } from "@effect-operator/k8s/testing/simulation/running/Reference"
import { assert, describe, it } from "@effect/vitest"
import { blank } from "../recordings.ts"

const pod = (uid: string, owner = "ReplicaSet", image = "web"): KubeObject =>
  ({
    kind: "Pod",
    spec: { image },
    metadata: {
      name: `web-${uid}`,
      generateName: "web-",
      uid,
      namespace: "default",
      ownerReferences: [{ kind: owner, name: "web", uid: "r", controller: true }]
    }
  }) as never

const lived = (before: ReadonlyArray<KubeObject>, after: ReadonlyArray<KubeObject>, more: Partial<Recording> = {}) => ({
  ...blank,
  entries: [
    ...["create", "other settings"].map((name) => ({ _tag: "Step", at: 1, name, made: [] }) as never),
    ...[...before, ...after].map((object) => ({ _tag: "Change", at: 1, change: { object } }) as never)
  ],
  rests: [{ objects: before, outside: new Map() }],
  objects: after,
  steps: [1, 2],
  met: 1,
  ...more
})

const judge = (run: Recording, recording: Recording) =>
  renewed.judge(run, { recording, mask: new Set() } as unknown as Reference)

const anew = lived([pod("a")], [pod("b")])

describe("Renewed", () => {
  it("a Pod that is still there is told where it is another one without faults", () => {
    assert.strictEqual(
      judge(lived([pod("c")], [pod("c")]), anew),
      "Pod web-c is still the one from before \"other settings\", unchanged; without faults, it is replaced in that step"
    )
  })

  it("not where it is another one, was another already, or stays without faults, too", () => {
    assert.isUndefined(judge(lived([pod("c")], [pod("d")]), anew))
    assert.isUndefined(judge(lived([], [pod("d")]), anew))
    assert.isUndefined(judge(lived([pod("c")], [pod("c")]), lived([pod("a")], [pod("a")])))
    assert.isUndefined(judge(lived([pod("c")], [pod("c")]), lived([pod("a")], [pod("a"), pod("b")])))
  })

  it("nor where it looks otherwise, which the end tells", () => {
    assert.isUndefined(judge(lived([pod("c")], [pod("c")]), lived([pod("a")], [pod("b", "ReplicaSet", "web:2")])))
  })

  it("nor of work, of what nobody waited for, or without a fault", () => {
    const job = lived([pod("a", "Job")], [pod("b", "Job")])
    assert.isUndefined(judge(lived([pod("c", "Job")], [pod("c", "Job")]), job))
    assert.isUndefined(judge(lived([pod("c")], [pod("c")], { hurried: [1] }), anew))
    assert.isUndefined(judge(lived([pod("c")], [pod("c")], { met: 0 }), anew))
  })
})
