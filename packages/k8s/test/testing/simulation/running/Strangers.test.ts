import { Action, Cache, type KubeClient } from "@effect-operator/core"
import { controllerReference, type KubeObject } from "@effect-operator/core/KubeObject"
import * as Kinds from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { strangersKept } from "../../../../src/testing/simulation/oracles/StrangersKept.ts"
import { none, type Plan } from "../../../../src/testing/simulation/recording/Fault.ts"
import * as Run from "../../../../src/testing/simulation/running/Run.ts"
import * as Strangers from "../../../../src/testing/simulation/running/Strangers.ts"
import * as B from "../planted/Box.ts"
import { blank } from "../recordings.ts"

const labels = { app: "web" }
const container = { name: "c", image: "busybox" }
const template = { metadata: { labels }, spec: { containers: [container] } }

/** One of each of many kinds, all of which speak of others. */
const many = (box: B.Box): Effect.Effect<unknown, unknown, KubeClient.KubeClient> =>
  Effect.gen(function*() {
    const it = yield* B.client
    const metadata = { ...B.named("web"), labels, ownerReferences: [controllerReference(box)] }
    const spec = { replicas: 1, selector: { matchLabels: labels }, template }
    yield* B.unlessThere(it.create(Kinds.Deployment, { metadata, spec }))
    yield* B.unlessThere(it.create(Kinds.StatefulSet, { metadata, spec: { ...spec, serviceName: "web" } }))
    yield* B.unlessThere(it.create(Kinds.ReplicationController, { metadata, spec: { selector: labels, template } }))
    yield* B.unlessThere(it.create(Kinds.Service, {
      metadata,
      spec: { type: "NodePort", selector: labels, ports: [{ port: 80 }] }
    }))
    yield* B.unlessThere(it.create(Kinds.Job, {
      metadata,
      spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } }
    }))
    yield* B.unlessThere(it.create(Kinds.NetworkPolicy, { metadata, spec: { podSelector: { matchLabels: labels } } }))
    yield* B.unlessThere(it.create(Kinds.PodDisruptionBudget, {
      metadata,
      spec: { minAvailable: 1, selector: { matchLabels: labels } }
    }))
    yield* B.unlessThere(it.create(Kinds.Secret, { metadata, stringData: { password: "x" } }))
    yield* B.unlessThere(it.create(Kinds.PersistentVolumeClaim, {
      metadata,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
    }))
    yield* B.unlessThere(it.create(Kinds.Pod, {
      metadata,
      spec: {
        containers: [{ ...container, volumeMounts: [{ name: "data", mountPath: "/data" }] }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "web" } }]
      }
    }))
    yield* B.unlessThere(it.create(Kinds.Lease, { metadata, spec: { holderIdentity: "me", renewTime: now } }))
  })

const now = "2026-01-01T00:00:00.000000Z"

const scenario: Simulation.Scenario = {
  name: "many",
  resources: B.resources,
  operator: B.boxes((box) => B.done(many(box)), { owns: [Kinds.Pod, Kinds.Service] }),
  steps: [...B.sized(1, 2), ...B.deleted]
}

const recording = Simulation.record(scenario)

const strange: Plan = { ...none, points: [{ _tag: "Step", at: 1, fault: "stranger" }] }

const kinds = (objects: ReadonlyArray<KubeObject>) => objects.map(({ kind }) => kind).sort()

describe("Strangers", () => {
  it("have one of each kind that the operator has made, but of what there is one of only, or what keeps data", () => {
    assert.deepStrictEqual(kinds(Strangers.models(recording, recording.rests[0]!.objects)), [
      "Deployment",
      "Job",
      "NetworkPolicy",
      "Pod",
      "PodDisruptionBudget",
      "ReplicationController",
      "Secret",
      "Service",
      "StatefulSet"
    ])
    assert.deepStrictEqual([...Strangers.steps(recording)], [0])
  })

  it("are made, seen by the operator, and nothing that the story is about", () => {
    const looking = B.boxes((box) =>
      Effect.gen(function*() {
        yield* many(box)
        for (const kind of [Kinds.Pod, Kinds.Service, Kinds.Deployment]) {
          const all: ReadonlyArray<KubeObject> = yield* Cache.list(kind as typeof Kinds.Pod)
          for (const { kind, metadata: { name } } of all) if (name === Strangers.name) yield* Effect.logWarning(kind)
        }
        return Action.done
      }), { owns: [Kinds.Pod, Kinds.Service, Kinds.Deployment] })
    const { entries, failure, objects } = Run.run({ ...scenario, operator: looking }, strange, { seed: 1 })
    assert.isUndefined(failure)
    const seen = entries.flatMap((entry) => entry._tag === "Log" ? [entry.text] : [])
    assert.deepStrictEqual([...new Set(seen)], ["Pod", "Service", "Deployment"])
    assert.isEmpty(objects.filter(({ kind }) => kind !== "Event" && kind !== "Namespace"))
    assert.isFalse(
      entries.some((entry) => entry._tag === "Change" && JSON.stringify(entry).includes(Strangers.name))
    )
  })

  it("say nothing of whose they are, and have nothing that there is once", () => {
    for (const model of Strangers.models(recording, recording.rests[0]!.objects)) {
      const text = JSON.stringify(Strangers.like(model))
      for (const theirs of ["web", "ownerReferences", "clusterIP", "nodePort", "claimName", "nodeName"]) {
        assert.notInclude(text.replace(/"serviceName":"web"/, ""), theirs, model.kind)
      }
    }
  })

  it.live("an operator that knows its own is not troubled by them", () =>
    Effect.gen(function*() {
      const report = yield* Simulation.checkConvergence(scenario, {
        depth: 1,
        faults: ["stranger"],
        interleavings: 0
      })
      assert.deepStrictEqual(report.byFault["stranger"], { found: 1, run: 1 })
    }))

  it("nor is a Pod of what people have made like one of theirs: an operator may be there for all of those", () => {
    const metadata = B.named("shop")
    const spec = { replicas: 1, selector: { matchLabels: labels }, template }
    const beside = Simulation.record({
      ...scenario,
      operator: B.boxes((box) =>
        B.done(B.unlessThere(B.client.use((it) => it.create(Kinds.ConfigMap, B.map("a", {}, box)))))
      ),
      steps: [
        { name: "a Deployment", act: B.client.use((it) => it.create(Kinds.Deployment, { metadata, spec })) },
        ...B.sized(1)
      ]
    })
    assert.include(kinds(beside.objects), "Pod")
    assert.deepStrictEqual(kinds(Strangers.models(beside, beside.objects)), ["ConfigMap"])
  })

  it("nobody has one of what people make in their steps, nor where somebody limits how much there may be", () => {
    const beside = Simulation.record({
      ...scenario,
      steps: [
        {
          name: "a Pod",
          act: B.client.use((it) => it.create(Kinds.Pod, { metadata: B.named("own"), spec: template.spec }))
        },
        ...B.sized(1)
      ]
    })
    assert.notInclude(kinds(Strangers.models(beside, beside.objects)), "Pod")
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q", namespace: "default", uid: "q" } }
    assert.isEmpty(Strangers.models(beside, [...beside.objects, quota as KubeObject]))
  })

  it("are told of where the operator takes theirs, but for Pods on a node that is emptied, whosever they are", () => {
    const fault = { _tag: "Fault", at: 1, point: { _tag: "Step", at: 1, fault: "stranger" } }
    const node = (unschedulable: boolean, type = "MODIFIED") => ({
      _tag: "Change",
      at: 2,
      change: { type, object: { kind: "Node", metadata: { uid: "n" }, spec: { unschedulable } } }
    })
    const told = (plural: string, ...entries: ReadonlyArray<object>) => {
      const path = `/api/v1/namespaces/default/${plural}/${Strangers.name}`
      const write = { _tag: "Call", at: 3, status: 200, request: { method: "DELETE", path, query: [] } }
      return strangersKept.judge({ ...blank, entries: [fault, ...entries, write] as never }, {} as never)
    }
    assert.include(told("pods"), "the operator deletes it")
    assert.include(told("pods", node(false)), "the operator deletes it")
    assert.include(told("pods", node(true), node(true, "DELETED")), "the operator deletes it")
    assert.include(told("services", node(true)), "the operator deletes it")
    assert.isUndefined(told("pods", node(true)))
  })
})
