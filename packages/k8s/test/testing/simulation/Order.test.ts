import type { Simulation } from "@effect-operator/k8s/testing"
import { stratified } from "@effect-operator/k8s/testing/simulation/Order"
import * as Points from "@effect-operator/k8s/testing/simulation/Points"
import { type Entry, type Recording } from "@effect-operator/k8s/testing/simulation/Recording"
import * as Reference from "@effect-operator/k8s/testing/simulation/Reference"
import { whole } from "@effect-operator/k8s/testing/simulation/Story"
import { assert, describe, it } from "@effect/vitest"
import { planted } from "./planted/Replicas.ts"

const elected = planted.find(({ name }) => name === "replicas: nobody leads, everybody creates")!.right

const ordered = (
  scenario: Simulation.Scenario
): { readonly recording: Recording; readonly places: ReadonlyArray<Entry> } => {
  const lived = whole(scenario)
  const { recording } = Reference.of(scenario, lived, 1)
  const all = Points.of(recording, scenario.replicas ?? 1).map((point) => ({ point, lived }))
  const order = stratified(all, () => recording)
  assert.strictEqual(new Set(order).size, all.length)
  const found = new Map(recording.entries.flatMap((entry) => "n" in entry ? [[`${entry._tag} ${entry.n}`, entry]] : []))
  return { recording, places: order.flatMap(({ point }) => found.get(`${point._tag} ${point.at}`) ?? []) }
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
})
