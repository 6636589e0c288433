/** What each part of what people want is there for: words that are on a list, switches, and what a status says of them. */
import {
  Action,
  Cache,
  Conditions,
  Controller,
  CustomResource,
  Manager,
  ObjectStatus,
  Sync,
  Watch
} from "@effect-operator/core"
import { controllerReference } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { Effect, Schema } from "effect"
import * as B from "./Box.ts"

const Tray = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Tray",
  spec: Schema.Struct({
    teams: Schema.Array(Schema.String),
    paused: Schema.optionalKey(Schema.Boolean),
    notes: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  }),
  status: Schema.Struct({
    paused: Schema.optionalKey(Schema.Boolean),
    settings: Schema.optionalKey(Schema.Boolean),
    phase: Schema.optionalKey(Schema.String),
    conditions: Schema.optionalKey(Schema.Array(Conditions.Condition))
  })
})
type Tray = typeof Tray.Type

/** A kind of the operator's own, of which people make none. */
const Slot = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Slot",
  spec: Schema.Struct({ team: Schema.String })
})

const resources = [Tray, Slot]

const trays = (reconcile: (tray: Tray) => Effect.Effect<Action.Action, unknown, any>): Simulation.Operator =>
  Manager.layer([
    Controller.make("trays", {
      for: Tray,
      owns: [Deployment, Slot],
      watches: [Watch.make(ConfigMap, { map: () => [B.key] })],
      reconcile
    }) as Controller.Controller
  ])

const wanted = (spec: Tray["spec"], name = "box"): B.Steps[number] => ({
  name: `${name}: ${JSON.stringify(spec)}`,
  act: B.client.use((it) =>
    it.create(Tray, { metadata: B.named(name), spec }).pipe(
      Effect.catchReason("KubeError", "AlreadyExists", () => it.patch(Tray, B.named(name), B.merge({ spec })))
    )
  )
})

const bug = (name: string, story: B.Steps, wrong: Simulation.Operator, right: Simulation.Operator): B.Planted => {
  const made = B.bug(name, "nothing left of an earlier spec", story, wrong, right)
  return { ...made, wrong: { ...made.wrong, resources }, right: { ...made.right, resources } }
}

const owned = (tray: Tray, name: string) => ({ ...B.named(name), ownerReferences: [controllerReference(tray)] })

/** Settings for each team; `clears`: those of teams that are not on the list any more go. */
const settings = (clears: boolean) =>
  trays((tray) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const names = tray.spec.teams.map((team) => `box-${team}`)
      const all = yield* Cache.list(ConfigMap, { owner: tray })
      for (const name of names) {
        const isThere = all.some(({ metadata }) => metadata.name === name)
        if (!isThere) yield* B.unlessThere(it.create(ConfigMap, { metadata: owned(tray, name), data: {} }))
      }
      for (const map of all) {
        if (clears && !names.includes(map.metadata.name)) yield* B.unlessGone(it.delete(ConfigMap, map))
      }
      return Action.done
    })
  )

/** What each team runs, which is called after its place on the list, or after the team. */
const running = (named: (team: string, place: number) => string) =>
  trays((tray) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const names = tray.spec.teams.map((team, place) => `box-${named(team, place)}`)
      const all = yield* Cache.list(Deployment, { owner: tray })
      for (const [place, name] of names.entries()) {
        if (all.some(({ metadata }) => metadata.name === name)) continue
        const labels = { app: name }
        const containers = [{ name: "c", image: `app-${tray.spec.teams[place]}` }]
        const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } }
        yield* B.unlessThere(it.create(Deployment, { metadata: owned(tray, name), spec }))
      }
      for (const old of all) {
        if (!names.includes(old.metadata.name)) yield* B.unlessGone(it.delete(Deployment, old))
      }
      return Action.done
    })
  )

/** A Deployment whose Pods have people's notes; `merges`: beside those that they have already. */
const noted = (merges: boolean) =>
  trays((tray) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const found = yield* Cache.get(Deployment, B.named("box"))
      const before = found?.spec?.template.metadata?.annotations
      const annotations = { ...(merges ? before : {}), ...tray.spec.notes }
      const labels = { app: "box" }
      const metadata = { labels, annotations }
      const template = { metadata, spec: { containers: [{ name: "c", image: "busybox" }] } }
      const spec = { selector: { matchLabels: labels }, template }
      if (found === undefined) {
        return yield* B.done(B.unlessThere(it.create(Deployment, { metadata: owned(tray, "box"), spec })))
      }
      const isSame = JSON.stringify(before ?? {}) === JSON.stringify(annotations)
      if (!isSame) yield* it.replace(Deployment, { ...found, spec: { ...found.spec, ...spec } })
      return Action.done
    })
  )

/** Does nothing while it is paused, and says so; or does not say any more that it is. */
const pausing = (says: boolean | undefined) =>
  trays((tray) => {
    const paused = tray.spec.paused === true ? true : says
    return B.done(
      ObjectStatus.write(Tray, tray, { ...tray.status, phase: "seen", ...(paused !== undefined && { paused }) })
    )
  })

/** Says whether there are the settings of people; `found`: also when they are there. */
const awaiting = (found: boolean) =>
  trays((tray) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const isThere = (yield* B.unlessGone(it.get(ConfigMap, B.named("theirs")))) !== undefined
      const settings = isThere ? found ? true : tray.status?.settings : false
      yield* ObjectStatus.write(Tray, tray, {
        phase: isThere ? "ready" : "waiting",
        ...(settings !== undefined && { settings })
      })
      return Action.done
    })
  )

/** A condition; `sticks`: one that was false once is false for ever, whatever its reason. */
const conditioned = (sticks: boolean) =>
  trays((tray) =>
    Effect.gen(function*() {
      const { conditions = [] } = tray.status ?? {}
      const full = tray.spec.teams.length > 0
      const status = full && !(sticks && Conditions.get(conditions, "Ready")?.status === "False")
      yield* ObjectStatus.write(Tray, tray, {
        conditions: yield* Conditions.state(tray, conditions, {
          type: "Ready",
          status,
          reason: full ? "Full" : "Empty"
        })
      })
      return Action.done
    })
  )

/** A child of the operator's own kind for each team, with a Deployment that has the size that is said. */
const slotted = (replicas: (teams: number, known: number | undefined) => number) =>
  trays((tray) =>
    Effect.gen(function*() {
      const { teams } = tray.spec
      const labels = { app: "box" }
      const found = yield* Cache.get(Deployment, B.named("box"))
      yield* Sync.children(tray, [Deployment, Slot], [
        ...teams.map((team) => Sync.child(Slot, { metadata: { name: `box-${team}` }, spec: { team } })),
        Sync.child(Deployment, {
          metadata: { name: "box" },
          spec: {
            replicas: replicas(teams.length, found?.spec?.replicas),
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: { containers: [{ name: "c", image: `app-${teams[0]}` }] } }
          }
        })
      ])
      return Action.done
    })
  )

/** Says how it is; `kept` tells what stays of what was said before. */
const saying = (kept: (condition: Conditions.Condition) => boolean) =>
  trays((tray) =>
    Effect.gen(function*() {
      const before = tray.status?.conditions?.filter(kept)
      const said = { type: "Ready", status: tray.spec.teams.length > 0, reason: "Counted" }
      yield* ObjectStatus.write(Tray, tray, { conditions: yield* Conditions.state(tray, before, said) })
      return Action.done
    })
  )

const approved: B.Steps[number] = {
  name: "somebody approves it",
  act: B.client.use((it) =>
    Effect.flatMap(it.get(Tray, B.key), (tray) =>
      Effect.flatMap(
        Conditions.state(tray, tray.status?.conditions, { type: "Approved", status: true, reason: "Person" }),
        (conditions) => it.patch(Tray, B.key, B.merge({ status: { conditions } }), { subresource: "status" })
      ))
  )
}

export const planted: ReadonlyArray<B.Planted> = [
  bug(
    "parts: a condition is false for ever, for the reason that it is true for",
    [wanted({ teams: [] }), wanted({ teams: ["red"] })],
    conditioned(true),
    conditioned(false)
  ),
  bug(
    "parts: the same, where people let time pass in between",
    [{
      ...wanted({ teams: [] }),
      act: Effect.andThen(wanted({ teams: [] }).act, Effect.sleep("10 minutes"))
    }, wanted({ teams: ["red"] })],
    conditioned(true),
    conditioned(false)
  ),
  bug(
    "parts: a size that never changes, of an operator whose children are of a kind of its own, too",
    [wanted({ teams: ["red"] }), wanted({ teams: ["red", "blue"] }), wanted({ teams: ["red"] })],
    slotted((teams, known) => Math.max(teams, known ?? 0)),
    slotted((teams) => teams)
  ),
  bug(
    "parts: settings of a team that is not on the list any more stay",
    [wanted({ teams: ["red", "blue"] }), wanted({ teams: ["blue"] })],
    settings(false),
    settings(true)
  ),
  bug(
    "parts: the same, where it is on the list again in the end",
    [wanted({ teams: ["red", "blue"] }), wanted({ teams: ["blue"] }), wanted({ teams: ["red", "blue"] })],
    settings(false),
    settings(true)
  ),
  bug(
    "parts: who is next on the list gets what was made for another",
    [wanted({ teams: ["red", "blue"] }), wanted({ teams: ["blue"] })],
    running((_, place) => String.fromCharCode(97 + place)),
    running((team) => team)
  ),
  bug(
    "parts: what people had noted on Pods stays there when they have taken it off",
    [wanted({ teams: [], notes: { scrape: "yes" } }), {
      name: "no notes",
      act: B.client.use((it) => it.patch(Tray, B.key, B.merge({ spec: { notes: null } })))
    }],
    noted(true),
    noted(false)
  ),
  bug(
    "parts: it is paused no more, and says that it is",
    [wanted({ teams: [], paused: true }), wanted({ teams: [], paused: false })],
    pausing(undefined),
    pausing(false)
  ),
  {
    ...bug(
      "parts: what somebody else says of it is taken away",
      [wanted({ teams: ["red"] }), approved],
      saying(({ type }) => type === "Ready"),
      saying(() => true)
    ),
    oracle: "others' conditions are kept"
  },
  bug(
    "parts: one of two is paused no more, and says that it is",
    [wanted({ teams: [], paused: true }), wanted({ teams: ["red"] }, "other"), wanted({ teams: [], paused: false })],
    pausing(undefined),
    pausing(false)
  ),
  bug(
    "parts: what was not there at first is said not to be there for ever",
    [
      wanted({ teams: [] }),
      { name: "settings", act: B.client.use((it) => it.create(ConfigMap, B.map("theirs", {}))) }
    ],
    awaiting(false),
    awaiting(true)
  )
]
