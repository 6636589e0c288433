import { Action, Controller, CustomResource, Manager, ObjectStatus, Sync } from "@effect-operator/core"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { Deployment } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import type { Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Stations from "@effect-operator/k8s/testing/simulation/state/Stations"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as B from "../planted/Box.ts"

const box = (status: object): KubeObject & { readonly status: object } => ({
  apiVersion: "v1",
  kind: "Box",
  metadata: {
    name: "a",
    namespace: "default",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z"
  },
  status
})

const pod = (name: string): KubeObject => {
  const { metadata, ...rest } = box({})
  return { ...rest, kind: "Pod", metadata: { ...metadata, name, uid: name } }
}

/** A run in which a Box says this at its rests, the last of them the end. */
const saying = (statuses: ReadonlyArray<object>, ...others: ReadonlyArray<KubeObject>) => {
  const rests = statuses.map((status) => ({ objects: [box(status), ...others], outside: new Map() }))
  return { kinds: ["Box"], entries: [], rests: rests.slice(0, -1), ...rests.at(-1)! } as unknown as Recording
}

const statuses = (
  found: object,
  wanted: ReadonlyArray<object>,
  ...others: ReadonlyArray<KubeObject>
): ReadonlyArray<unknown> | undefined =>
  Stations.ofBoth(saying([found], ...others), saying(wanted, ...others))?.map(({ objects }) =>
    (objects[0] as { readonly status?: unknown }).status
  )

describe("Stations", () => {
  const rolled = [{ phases: ["Rolling 1", "Running 1"] }, {
    phases: ["Rolling 1", "Running 1", "Rolling 2", "Running 2"]
  }]

  it("of a list that tells of the past, where all was at rest counts, and in which order", () => {
    const all = { phases: ["Running 1", "Running 2"] }
    assert.deepStrictEqual(statuses({ phases: ["Running 1", "Rolling 2", "Running 2"] }, rolled), [all, all])
    const twice = { phases: ["Rolling 1", "Running 1", "Rolling 1", "Running 1", "Rolling 2", "Running 2"] }
    assert.deepStrictEqual(statuses(twice, rolled), [all, all])
    assert.deepStrictEqual(statuses({ phases: ["Rolling 2", "Running 2"] }, rolled), [{ phases: ["Running 2"] }, all])
  })

  it("not of one that speaks of what is there, that is not only added to, or that has nothing but stations", () => {
    assert.isUndefined(statuses({ pods: ["b"] }, [{ pods: ["a", "b"] }], pod("a"), pod("b")))
    assert.isUndefined(
      statuses({ phases: [] }, [{ phases: ["x", "Running 1"] }, { phases: ["Rolling 2", "Running 2"] }])
    )
    assert.isUndefined(statuses({ images: ["2"] }, [{ images: ["1"] }, { images: ["1", "2"] }]))
    assert.isUndefined(statuses({ ports: [2] }, [{ ports: [1, 2] }]))
  })

  it("of a rest that never was anything may be told, or nothing, in a story that did not wait for it; of others all", () => {
    const done = (...versions: ReadonlyArray<string>) => versions.map((version) => ({ version, state: "Completed" }))
    const wanted = [{ history: done("1") }, { history: done("2", "1") }, { history: done("3", "2", "1") }]
    const told = (
      history: ReadonlyArray<object>,
      hurried: ReadonlyArray<number>,
      ...others: ReadonlyArray<KubeObject>
    ) => {
      const steps = [1, 2, 3]
      const run = { ...saying([{ history }], ...others), hurried, steps }
      const { objects } = Stations.unrested(run, { ...saying(wanted), steps })
      return (objects[0] as { readonly status?: { readonly history?: unknown } }).status?.history
    }
    const all = done("3", "2", "1")
    const [three, , one] = all
    const half = [three!, { version: "2", state: "Partial" }, one!]
    assert.deepStrictEqual(told(half, [2]), all)
    assert.deepStrictEqual(told([three!, one!], [2]), all)
    assert.deepStrictEqual(told(half, [1]), half, "another rest")
    assert.deepStrictEqual(told(half, []), half, "nobody hurries")
    assert.deepStrictEqual(told([...half, ...half], [2]), [...half, ...half], "more than there were rests")
    assert.deepStrictEqual(told(half.toReversed(), [2]), half.toReversed(), "another order")
    assert.deepStrictEqual(told(half, [2], pod("2")), half, "what is there")
  })

  const Flow = CustomResource.make({
    group: "stations.example.com",
    version: "v1",
    kind: "Flow",
    spec: Schema.Struct({ image: Schema.String }),
    status: Schema.Struct({ phases: Schema.Array(Schema.String) })
  })

  const controller = Controller.make("flow", {
    for: Flow,
    owns: [Deployment],
    reconcile: (flow) =>
      Effect.gen(function*() {
        const { image } = flow.spec
        const labels = { app: flow.metadata.name }
        const template = { metadata: { labels }, spec: { containers: [{ name: "c", image }] } }
        const { ready } = yield* Sync.children(flow, [Deployment], [
          Sync.child(
            Deployment,
            { metadata: { name: flow.metadata.name }, spec: { selector: { matchLabels: labels }, template } },
            ({ metadata, status = {} }) =>
              status.observedGeneration === metadata.generation && status.updatedReplicas === 1 &&
              status.readyReplicas === 1 && status.replicas === 1
          )
        ])
        const phases = flow.status?.phases ?? []
        const phase = `${ready ? "Running" : "Rolling"} ${image}`
        if (phases.at(-1) !== phase) yield* ObjectStatus.write(Flow, flow, { phases: [...phases, phase] })
        return Action.done
      })
  })

  it.live("an operator may tell of what it has seen, and of no more", () =>
    Effect.gen(function*() {
      const put = (image: string): B.Steps[number] => ({
        name: image,
        act: B.client.use((it) =>
          it.apply(Flow, { metadata: B.named("flow"), spec: { image } }, { force: true, fieldManager: "people" })
        )
      })
      const report = yield* Simulation.checkConvergence({
        name: "flow",
        resources: [Flow],
        operator: Manager.layer([controller]),
        steps: [put("app:1"), put("app:2")]
      }, { depth: 1, faults: ["crashAfter", "crashAway"] })
      assert.isTrue(report.exhaustive)
    }))
})
