import { Action, Cache, Watch } from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment } from "@effect-operator/k8s/kinds"
import { Simulation } from "@effect-operator/k8s/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"

/** Keeps a copy of somebody's settings, with notes of its own. */
const copying = (noteOf: (settings: ConfigMap) => Readonly<Record<string, string>>): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const settings = yield* Cache.get(ConfigMap, B.named("settings"))
      if (settings === undefined) return Action.done
      const annotations = noteOf(settings)
      const copy = yield* Cache.get(ConfigMap, B.named("copy"))
      const same =
        JSON.stringify([copy?.data, copy?.metadata.annotations]) === JSON.stringify([settings.data, annotations])
      if (same) return Action.done
      const metadata = { ...B.named("copy"), annotations, ownerReferences: [controllerReference(box)] }
      return yield* B.done(it.apply(ConfigMap, { metadata, data: settings.data ?? {} }, { force: true }))
    }), { watches: [Watch.make(ConfigMap, { map: () => [B.key] })] })

const steps: B.Steps = [
  {
    name: "settings",
    act: B.client.use((it) => it.create(ConfigMap, { metadata: B.named("settings"), data: { colour: "red" } }))
  },
  ...B.sized(1),
  {
    name: "other settings",
    act: B.client.use((it) => it.patch(ConfigMap, B.named("settings"), B.merge({ data: { colour: "blue" } })))
  }
]

const scenario = (name: string, operator: Simulation.Operator): Simulation.Scenario => ({
  name,
  resources: B.resources,
  operator,
  steps
})

describe("Noted", () => {
  it.live("which version of something a copy is of may be written on it", () =>
    Effect.gen(function*() {
      const operator = copying(({ metadata }) => ({ version: metadata.resourceVersion }))
      const report = yield* Simulation.checkConvergence(scenario("versioned", operator), { depth: 1 })
      assert.isTrue(report.exhaustive)
      assert.strictEqual(report.byFault["annotated"]!.run, report.byFault["annotated"]!.found)
    }))

  it.live("whoever hands annotations on into a template does so, also where what has it is annotated itself", () =>
    Effect.gen(function*() {
      const operator = B.boxes((box) =>
        Effect.gen(function*() {
          const it = yield* B.client
          const labels = { app: "box" }
          const annotations = { ...box.metadata.annotations, size: String(box.spec.size) }
          const template = {
            metadata: { labels, annotations },
            spec: { containers: [{ name: "c", image: "busybox" }] }
          }
          const metadata = { ...B.named("box"), ownerReferences: [controllerReference(box)] }
          const found = yield* Cache.get(Deployment, metadata)
          if (JSON.stringify(found?.spec.template.metadata?.annotations) === JSON.stringify(annotations)) {
            return Action.done
          }
          return yield* B.done(
            it.apply(Deployment, { metadata, spec: { selector: { matchLabels: labels }, template } }, { force: true })
          )
        }), { owns: [Deployment] })
      const options = { depth: 1, faults: ["annotated"], interleavings: 0 } as const
      const report = yield* Simulation.checkConvergence(
        { ...scenario("templated", operator), steps: B.sized(1) },
        options
      )
      assert.isTrue(report.exhaustive)
    }))

  it.live("whoever hands annotations on does so, and may make anything of them", () =>
    Effect.gen(function*() {
      const operator = copying(({ metadata: { annotations = {} } }) => ({
        ...annotations,
        digest: String(JSON.stringify(annotations).length)
      }))
      const options = { depth: 1, faults: ["annotated"] } as const
      const report = yield* Simulation.checkConvergence(scenario("handing-on", operator), options)
      assert.isTrue(report.exhaustive)
    }))
})
