import { ConfigMap } from "@effect-operator/k8s/kinds"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { stratified } from "@effect-operator/k8s/testing/simulation/exploring/Order"
import * as Points from "@effect-operator/k8s/testing/simulation/exploring/Points"
import type { Single } from "@effect-operator/k8s/testing/simulation/exploring/Singles"
import { type Entry, type Recording } from "@effect-operator/k8s/testing/simulation/recording/Recording"
import * as Reference from "@effect-operator/k8s/testing/simulation/running/Reference"
import { whole } from "@effect-operator/k8s/testing/simulation/story/Story"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as B from "../planted/Box.ts"
import { planted } from "../planted/Replicas.ts"

const elected = planted.find(({ name }) => name === "replicas: nobody leads, everybody creates")!.right

interface Ordered {
  readonly recording: Recording
  readonly order: ReadonlyArray<Single>
  readonly places: ReadonlyArray<Entry>
}

const ordered = (scenario: Simulation.Scenario, timesRun?: (fault: Simulation.FaultKind) => number): Ordered => {
  const lived = whole(scenario)
  const { recording } = Reference.of(scenario, lived, 1)
  const all = Points.of(recording, scenario.replicas ?? 1).map((point) => ({ point, lived }))
  const order = stratified(all, () => recording, timesRun)
  assert.strictEqual(new Set(order).size, all.length)
  const found = new Map(recording.entries.flatMap((entry) => "n" in entry ? [[`${entry._tag} ${entry.n}`, entry]] : []))
  return { recording, order, places: order.flatMap(({ point }) => found.get(`${point._tag} ${point.at}`) ?? []) }
}

const isRenewal = (entry: Entry): boolean => entry._tag === "Call" && entry.request.path.includes("/leases")

const isWrite = (entry: Entry): boolean => entry._tag === "Call" && entry.request.method !== "GET" && !isRenewal(entry)

describe("the order of single faults", () => {
  it("renewals of a lease, most of what replicas do, come after all that the operator is there for", () => {
    const { places, recording } = ordered(elected)
    const renewals = places.filter(isRenewal).length
    assert.isAbove(renewals, 3 * places.filter(isWrite).length)
    const last = places.findLastIndex(isWrite)
    assert.isBelow(places.slice(0, last).filter(isRenewal).length, renewals / 4)
    // The election itself is no renewal.
    const first = recording.entries.find(isRenewal)!
    assert.isBelow(places.indexOf(first), last)
  })

  it("a write that changes nothing tells as little as a read: of a kind, those that change something come first", () => {
    const applying = B.boxes((box) =>
      B.done(B.client.use((it) =>
        Effect.andThen(
          it.apply(ConfigMap, B.map("settings", { size: String(box.spec.size) }, box), { force: true }),
          B.pods(box)
        )
      ))
    )
    const { order, recording } = ordered({
      name: "applying",
      resources: B.resources,
      operator: applying,
      steps: B.sized(1, 2)
    })
    const calls = new Map(recording.entries.flatMap((entry) => (entry._tag === "Call" ? [[entry.n, entry]] : [])))
    const vain = order.flatMap(({ point }) => {
      const call = point.fault === "crashAfter" ? calls.get(point.at) : undefined
      return call === undefined ? [] : [call.before === call.after]
    })
    assert.includeMembers(vain, [true, false])
    assert.isBelow(vain.lastIndexOf(false), vain.indexOf(true))
  })

  it("of each way in which something goes wrong one comes before another of the same", () => {
    const { order } = ordered({ name: "ways", resources: B.resources, operator: B.boxes(B.pods), steps: B.sized(1, 2) })
    const first = (tag: string, fault: string) =>
      order.findIndex(({ point }) => point._tag === tag && point.fault === fault)
    const others = ["unavailable", "throttled", "lostRequest", "crashAway", "oldRestart"]
    const soonest = Math.min(...others.map((fault) => first("Call", fault)))
    for (
      const [tag, fault] of [["Call", "serverError"], ["Call", "crashAfter"], ["Step", "restarted"], [
        "Step",
        "annotated"
      ]]
    ) {
      assert.isBelow(first(tag!, fault!), soonest, fault)
    }
  })

  it("of what is done there is one each after something is made, changed and deleted, before there is more", () => {
    const steps = [...B.sized(1, 3), ...B.deleted]
    const operator = B.boxes(
      (box) => Effect.andThen(B.keep(box, "settings", { size: String(box.spec.size) }), B.pods(box)),
      {
        finalize: () => B.done(B.unlessGone(B.client.use((it) => it.delete(ConfigMap, B.named(`settings`)))))
      }
    )
    const { order, recording } = ordered({ name: "in turn", resources: B.resources, operator, steps })
    const stepOf = (at: number) => {
      const index = recording.entries.findIndex((entry) => entry._tag === "Call" && entry.n === at)
      return recording.entries.slice(0, index).filter((entry) => entry._tag === "Step").length
    }
    const deaths = order.filter(({ point }) => point._tag === "Call" && point.fault === "crashAfter").map(({ point }) =>
      point.at
    )
    assert.deepStrictEqual(deaths.slice(0, 3).map(stepOf), [1, 2, 3])
    const holds = recording.entries.find((entry) =>
      entry._tag === "Call" && JSON.stringify(entry.request.body)?.includes("\"add\"") === true
    ) as Extract<Entry, { readonly _tag: "Call" }>
    assert.include(JSON.stringify(holds.request.body), "finalizers")
    const writes = deaths.map((at) => recording.entries.find((entry) => entry._tag === "Call" && entry.n === at)!)
      .filter(isWrite)
    assert.isAbove(
      writes.indexOf(holds),
      writes.length - 2,
      "what only holds an object comes after all that does something"
    )
  })

  it("outside calls that only ask come after those that do something", () => {
    const call = (name: string) => External.call(name, () => "refused", Effect.void)
    const operator = B.boxes(() => B.done(Effect.andThen(call("list machines"), call("buy"))))
    const { order, recording } = ordered({ name: "asking", resources: B.resources, operator, steps: B.sized(1) })
    const first = order.find(({ point }) => point._tag === "External")!.point.at
    const asked = recording.entries.find((entry) => entry._tag === "External" && entry.n === first)
    assert.strictEqual(asked?._tag === "External" && asked.name, "buy")
  })

  it("who is away is so first when something is deleted", () => {
    const steps = [...B.sized(1, 2), ...B.deleted]
    const { order } = ordered({ name: "away", resources: B.resources, operator: B.boxes(B.pods), steps })
    const away = order.flatMap(({ point }) => (point._tag === "Step" && point.fault === "away" ? [point.at] : []))
    assert.deepStrictEqual(away, [3, 1, 2])
  })

  it("of what is done one of each comes before more of the same", () => {
    const scenario = { name: "each", resources: B.resources, operator: B.boxes(B.pods), steps: B.sized(4, 1) }
    const { order, recording } = ordered(scenario)
    const calls = new Map(recording.entries.flatMap((entry) => (entry._tag === "Call" ? [[entry.n, entry]] : [])))
    const crashes = order.flatMap(({ point }) =>
      point._tag === "Call" && point.fault === "crashAfter" ? [calls.get(point.at)!.request.method] : []
    )
    assert.deepStrictEqual(crashes.slice(0, 4), ["POST", "DELETE", "POST", "DELETE"])
    assert.strictEqual(crashes.filter((method) => method === "POST").length, 4)
  })

  it("whether the operator sees that something goes is asked first", () => {
    const settings = B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) })))
    const { order } = ordered({ name: "settings", resources: B.resources, operator: settings, steps: B.sized(1, 2) })
    assert.strictEqual(order[0]!.point.fault, "removed")
    assert.notStrictEqual(order[1]!.point.fault, "removed")
  })

  it("what was run in other stories before waits for what was not, but whether it is seen that something goes", () => {
    const settings = B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) })))
    const scenario = { name: "again", resources: B.resources, operator: settings, steps: B.sized(1, 2) }
    const kinds = (run: Ordered) => run.order.map(({ point }) => point.fault)
    const [first, again] = [ordered(scenario), ordered(scenario, (fault) => fault === "crashAfter" ? 3 : 0)].map(kinds)
    assert.deepStrictEqual([first![0], again![0]], ["removed", "removed"])
    assert.isBelow(first!.indexOf("crashAfter"), 20)
    const rest = new Set(again!.slice(0, again!.indexOf("crashAfter")))
    assert.strictEqual(rest.size, new Set(again).size - 1)
  })

  it("what was run in other stories before comes at the next places in this one, and at all of them in the end", () => {
    const scenario = { name: "next", resources: B.resources, operator: B.boxes(B.pods), steps: B.sized(2, 1) }
    const crashes = ({ order }: Ordered) =>
      order.flatMap(({ point }) => point._tag === "Call" && point.fault === "crashAfter" ? [point.at] : [])
    const [first, again] = [ordered(scenario), ordered(scenario, (fault) => fault === "crashAfter" ? 1 : 0)].map(
      crashes
    )
    assert.isAbove(first!.length, 2)
    assert.strictEqual(again![0], first![1])
    assert.deepStrictEqual(again!.toSorted(), first!.toSorted())
  })

  it("what happens at rest after a step comes as early as the same at a request, not after all of those", () => {
    const { order } = ordered({
      name: "resting",
      resources: B.resources,
      operator: B.boxes(B.pods),
      steps: B.sized(2, 3)
    })
    for (const fault of ["podFailed", "podRemoved", "annotated"]) {
      const [atRequests, atRest] = (["Call", "Step"] as const).map((tag) =>
        order.flatMap(({ point }, index) => point._tag === tag && point.fault === fault ? [index] : [])
      )
      assert.isBelow(atRest![0]!, atRequests![1]!, fault)
    }
  })
})
