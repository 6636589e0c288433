/** What is taken for an answer, or for what is wanted still: a list that failed, an address, a note, a name of before. */
import { Action } from "@effect-operator/core"
import { External, type Simulation } from "@effect-operator/k8s/testing"
import { Effect, Layer, Schedule } from "effect"
import * as B from "./Box.ts"

const refused = () => "nobody answers"

const idOf = (box: B.Box) => `${box.metadata.namespace}/${box.metadata.name}`

const queues = External.state("queues", () => new Map<string, string>())
const queueOf = (box: B.Box) => `queue-${box.spec.size}`

/** A queue in somebody's broker, called after the size; `former` ones go, or are not known any more. */
const broker = (former: boolean): Simulation.Operator => {
  const drop = (name: string) => External.call("drop", refused, Effect.map(queues, (all) => all.delete(name)))
  const dropAll = (box: B.Box, but?: string) =>
    Effect.gen(function*() {
      const all = yield* External.call("list", refused, Effect.map(queues, (all) => [...all]))
      for (const [name, owner] of all) if (owner === idOf(box) && name !== but) yield* drop(name)
    })
  return B.boxes((box) =>
    B.done(Effect.gen(function*() {
      yield* External.call("declare", refused, Effect.map(queues, (all) => all.set(queueOf(box), idOf(box))))
      if (former) yield* dropAll(box, queueOf(box))
    })), { finalize: (box) => B.done(former ? dropAll(box) : drop(queueOf(box))) })
}

const zone = External.state("zone", () => new Map<string, number>())

/** A program without controllers: every 20 seconds the records of all Boxes, and of nothing else. */
const zoned = (isEmpty: boolean): Simulation.Operator =>
  Layer.effectDiscard(Effect.gen(function*() {
    const it = yield* B.client
    const boxes = Effect.map(it.listPage(B.Box), ({ items }) => items)
    const turn = Effect.gen(function*() {
      const found = yield* isEmpty ? Effect.orElseSucceed(boxes, () => []) : boxes
      const wanted = new Map(found.map(({ metadata, spec }) => [metadata.name, spec.size]))
      const there = yield* External.call("list", refused, Effect.map(zone, (all) => new Map(all)))
      for (const [name, size] of wanted) {
        if (there.get(name) === size) continue
        yield* External.call("put", refused, Effect.map(zone, (all) => all.set(name, size)))
      }
      for (const name of there.keys()) {
        if (!wanted.has(name)) yield* External.call("drop", refused, Effect.map(zone, (all) => all.delete(name)))
      }
    })
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(turn), Schedule.spaced("20 seconds")))
  }))

/** Settings with the addresses of all Pods; those that are `known` are not written again. */
const seeds = (known: boolean): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      yield* B.pods(box)
      const pods = (yield* B.living(box)).filter((pod) => !B.isFailed(pod) && pod.status?.podIP !== undefined)
      const before = (yield* B.cached("seeds"))?.data ?? {}
      const data = Object.fromEntries(pods.map(({ metadata: { name }, status }) => {
        const address = status?.podIP ?? ""
        return [name, known ? before[name] ?? address : address]
      }))
      return yield* B.done(B.keep(box, "seeds", data))
    })
  )

const schemas = External.state("schemas", () => new Map<string, number>())

/** Migrates a schema outside to the size, and notes so under one name, or under one for each size. */
const migrated = (noteOf: (box: B.Box) => string): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const at = String(box.spec.size)
      if ((yield* B.cached(noteOf(box)))?.data?.["at"] === at) return Action.done
      yield* External.call("migrate", refused, Effect.map(schemas, (all) => all.set(idOf(box), box.spec.size)))
      return yield* B.done(B.keep(box, noteOf(box), { at }))
    }), {
    finalize: (box) => B.done(External.call("drop", refused, Effect.map(schemas, (all) => all.delete(idOf(box)))))
  })

const paused = "planted.example.com/paused"

/** As many as the size says, and none while it is paused; then as many as there were `before`, or as it says now. */
const pausing = (before: boolean): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const { replicas, was } = (yield* B.cached("settings"))?.data ?? {}
      if (box.metadata.annotations?.[paused] === "true") {
        return yield* B.done(B.keep(box, "settings", { replicas: "0", was: was ?? replicas ?? "0" }))
      }
      const wanted = before && was !== undefined ? was : String(box.spec.size)
      return yield* B.done(
        B.keep(box, "settings", { replicas: wanted, ...(before && was !== undefined ? { was } : {}) })
      )
    })
  )

/** Settings with how many of the Pods are a majority, which is reckoned anew, or when they are made. */
const majority = (anew: boolean): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      yield* B.pods(box)
      const least = String(Math.floor(box.spec.size / 2) + 1)
      const known = (yield* B.cached("quorum"))?.data?.["least"]
      return yield* B.done(B.keep(box, "quorum", { least: anew ? least : known ?? least }))
    })
  )

/** A status that tells what there is, always, or once; which there is in settings. */
const phased = (always: boolean): Simulation.Operator =>
  B.boxes((box) =>
    Effect.gen(function*() {
      yield* B.keep(box, "settings", { size: String(box.spec.size) })
      return yield* B.done(
        B.status(box, { phase: (always ? undefined : box.status?.phase) ?? `there are ${box.spec.size}` })
      )
    })
  )

const changed = (name: string, body: object): B.Steps => [
  { name, act: B.client.use((it) => it.patch(B.Box, B.key, B.merge(body))) }
]

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "outside: what was there under a former name stays, when all goes",
    "nothing left outside under an earlier name",
    [...B.sized(1, 2), ...B.deleted],
    broker(false),
    broker(true)
  ),
  B.bug(
    "no answer: a list that fails is taken for an empty one, and all goes for a while",
    "a failed read is not an empty one",
    B.sized(1, 2, 3),
    zoned(true),
    zoned(false)
  ),
  B.bug(
    "names: an address that is known is not written again, whoever comes under that name",
    "no dangling references",
    B.sized(2),
    seeds(true),
    seeds(false)
  ),
  B.bug(
    "names: an address that is known is not written again, and the end hides it",
    "no dangling references",
    [...B.sized(2), ...B.deleted],
    seeds(true),
    seeds(false),
    { faults: ["podFailed"] }
  ),
  B.bug(
    "ends: done once for each size, and people go back",
    "nothing left of an earlier spec",
    [...B.sized(1, 2, 1), ...B.deleted],
    migrated((box) => `at-${box.spec.size}`),
    migrated(() => "at")
  ),
  B.bug(
    "ends: it goes on as it was before the pause, whatever is wanted now",
    "nothing left of an earlier spec",
    [
      ...B.sized(3),
      ...changed("paused", { metadata: { annotations: { [paused]: "true" } } }),
      ...changed("goes on, larger", { metadata: { annotations: { [paused]: null } }, spec: { size: 5 } })
    ],
    pausing(true),
    pausing(false)
  ),
  B.bug(
    "ends: how many are a majority is reckoned once",
    "nothing left of an earlier spec",
    [...B.sized(2, 7), ...B.deleted],
    majority(false),
    majority(true)
  ),
  B.bug(
    "ends: the status tells for ever what was there first",
    "nothing left of an earlier spec",
    [...B.sized(3, 7), ...B.deleted],
    phased(false),
    phased(true)
  )
]
