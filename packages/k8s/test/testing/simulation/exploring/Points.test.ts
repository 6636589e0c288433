import type { Transport } from "@effect-operator/core"
import type { Simulation } from "@effect-operator/k8s/testing"
import * as Points from "@effect-operator/k8s/testing/simulation/exploring/Points"
import { applicable, type Point } from "@effect-operator/k8s/testing/simulation/recording/Fault"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import * as Run from "@effect-operator/k8s/testing/simulation/running/Run"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import * as B from "../planted/Box.ts"
import { planted as haste } from "../planted/Haste.ts"
import { planted as work } from "../planted/Work.ts"

const scenario: Simulation.Scenario = {
  name: "points",
  resources: B.resources,
  operator: B.boxes(B.pods),
  steps: B.sized(2, 0)
}

const { recording } = Reference.of(scenario, whole(scenario), 1)
const all = Points.of(recording, 1)

const failures = ({ entries }: typeof recording): number =>
  entries.filter((entry) =>
    entry._tag === "Change" && entry.change.type === "MODIFIED" &&
    (entry.change.object as { readonly status?: { readonly phase?: string } }).status?.phase === "Failed"
  ).length

describe("Points", () => {
  it("a Pod fails only where one lives: each such fault hits", () => {
    const points = all.filter(({ fault }) => fault === "podFailed")
    assert.isAbove(points.length, 2)
    assert.strictEqual(failures(recording), 0)
    for (const point of points) {
      const run = Run.run(scenario, { points: [point], interleaving: 0 }, { seed: 1, quiet: 60_000 })
      assert.isAbove(failures(run), 0, JSON.stringify(point))
    }
  })

  it("nor is one lost at a rest at which there is none", () => {
    const steps = all.filter(({ _tag, fault }) => _tag === "Step" && (fault === "podFailed" || fault === "podRemoved"))
    assert.deepStrictEqual(steps.map(({ at }) => at), [1, 1])
  })

  it("the next step is taken while a request is on its way only where that is the first after something was seen", () => {
    const made = recording.entries.flatMap((entry) =>
      entry._tag === "Call" && entry.request.method === "POST" ? [entry.n] : []
    )
    assert.strictEqual(made.length, 2)
    const at = (fault: string) => all.flatMap((point) => (point.fault === fault ? [point.at] : []))
    assert.includeMembers([...at("hurried")], made)
    assert.deepStrictEqual(at("forestalled"), made.slice(0, 1))
  })

  it("the work of a Job fails where one was made that is worked on, and it fails", () => {
    const scenario = work.find(({ name }) => name === "work: a backup that has failed counts as one")!.right
    const { recording } = Reference.of(scenario, whole(scenario), 1)
    const [point, ...more] = Points.of(recording, 1).filter(({ fault }) => fault === "workFails")
    assert.deepStrictEqual(more, [])
    assert.strictEqual(failures(recording), 0)
    const run = Run.run(scenario, { points: [point!], interleaving: 0 }, { seed: 1, quiet: 60_000 })
    assert.isAbove(failures(run), 0)
  })

  it("nobody is told of another version who deletes whatever there is", () => {
    const request = (method: "DELETE" | "PUT" | "PATCH", preconditions?: object): Transport.Request => ({
      method,
      path: "/api/v1/namespaces/default/pods/a",
      query: [],
      headers: {},
      ...(preconditions === undefined ? {} : { body: { preconditions } })
    })
    const conflicts = (of: Transport.Request) => applicable(of).includes("conflict")
    assert.isFalse(conflicts(request("DELETE")))
    assert.isFalse(conflicts(request("DELETE", { uid: "1" })))
    assert.isTrue(conflicts(request("DELETE", { uid: "1", resourceVersion: "7" })))
    assert.isTrue(conflicts(request("PUT")) && conflicts(request("PATCH")))
  })

  it("two steps are taken at once where the operator asks for nothing that the second need not wait for", () => {
    const together = (of: ReadonlyArray<Point>) => of.flatMap(({ at, fault }) => fault === "together" ? [at] : [])
    assert.deepStrictEqual(together(all), [], "it asks for Pods at once")
    const waiting = haste.find(({ name }) => name.includes("does not wake it"))!.right
    const { recording } = Reference.of(waiting, whole(waiting), 1)
    assert.deepStrictEqual(together(Points.of(recording, 1)), [1])
  })

  it("two steps are taken while the process is away where the second need not wait; none is after the last", () => {
    assert.deepStrictEqual(all.flatMap(({ at, fault }) => (fault === "absent" ? [at] : [])), [1])
  })

  it("what people have made is annotated where something of it is there", () => {
    const notes = (of: ReadonlyArray<Point>) =>
      of.flatMap(({ _tag, at, fault }) => (_tag === "Step" && fault === "annotated" ? [at] : []))
    assert.deepStrictEqual(notes(all), [1, 2])
    const short = { ...scenario, steps: [...B.sized(1), ...B.deleted] }
    assert.deepStrictEqual(notes(Points.of(Reference.of(short, whole(short), 1).recording, 1)), [1])
  })

  it("somebody makes something for himself where there is a kind of the operator's for the first time", () => {
    assert.deepStrictEqual(all.flatMap(({ at, fault }) => (fault === "stranger" ? [at] : [])), [1])
  })

  it("each is at a place of its own kind, once", () => {
    const named = all.map((point) => `${point._tag} ${point.at} ${point.fault}`)
    assert.strictEqual(new Set(named).size, named.length)
    for (const { _tag, at } of all) {
      const most = { Call: recording.calls, Event: recording.events, External: 0, Clock: 0, Step: 2 }[_tag]
      assert.isAtLeast(at, 1)
      assert.isAtMost(at, most)
    }
  })
})
