/** What people decide: what stays when its object goes, what is used, what waits for them. */
import { Action, Controller, CustomResource, Manager, ObjectStatus, Sync, Watch } from "@effect-operator/core"
import { isTerminating, key } from "@effect-operator/core/KubeObject"
import { ConfigMap, Deployment } from "@effect-operator/k8s/kinds"
import type { Simulation } from "@effect-operator/k8s/testing"
import { Effect, Schema } from "effect"
import * as B from "./Box.ts"

const Guest = CustomResource.make({
  group: "planted.example.com",
  version: "v1",
  kind: "Guest",
  spec: Schema.Struct({
    uses: Schema.String,
    onDelete: Schema.Literals(["Delete", "Orphan"]).pipe(
      Schema.withDecodingDefaultKey(Effect.succeed("Delete" as const))
    )
  }),
  status: Schema.Struct({ phase: Schema.String, applied: Schema.optionalKey(Schema.Int) })
})
type Guest = typeof Guest.Type

const guest = (name: string, spec: object) => ({
  name: `a guest ${JSON.stringify(spec)}`,
  act: B.client.use((it) => it.apply(Guest, { metadata: B.named(name), spec }))
})
const leaves = (name: string) => ({
  name: `guest ${name} leaves`,
  act: B.client.use((it) => it.delete(Guest, B.named(name)))
})

const pair = (
  name: string,
  oracle: string,
  steps: B.Steps,
  wrong: Controller.Controller,
  right: Controller.Controller
): B.Planted => {
  const scenario = (which: string, controller: Controller.Controller): Simulation.Scenario => ({
    name: `${name}-${which}`,
    resources: [Guest],
    operator: Manager.layer([controller]),
    steps
  })
  return { name, oracle, wrong: scenario("wrong", wrong), right: scenario("right", right) }
}

const deployment = ({ metadata: { name }, spec: { uses } }: Guest, suffix = "") =>
  Sync.child(Deployment, {
    metadata: { name: `${name}${suffix}` },
    spec: {
      selector: { matchLabels: { guest: name } },
      template: { metadata: { labels: { guest: name } }, spec: { containers: [{ name: "c", image: uses }] } }
    }
  })

/** What it has made stays, if its policy says so, or always. */
const leaving = (always: boolean) =>
  Controller.make("leaving", {
    for: Guest,
    owns: [Deployment],
    reconcile: (guest) => B.done(Sync.children(guest, [Deployment], [deployment(guest)])),
    finalize: Effect.fn(function*(guest) {
      const it = yield* B.client
      if (guest.spec.onDelete === "Delete" && !always) return Action.done
      const { items } = yield* it.listPage(Deployment, { namespace: "default" })
      for (const { metadata } of items) {
        const { ownerReferences = [], resourceVersion } = metadata
        const left = ownerReferences.filter(({ uid }) => uid !== guest.metadata.uid)
        if (left.length === ownerReferences.length) continue
        yield* B.unlessGone(
          it.patch(Deployment, metadata, B.merge({ metadata: { resourceVersion, ownerReferences: left } }))
        )
      }
      return Action.done
    })
  })

const inUse = "planted.example.com/in-use"

/** People's ConfigMaps are held for as long as a guest uses them, or for ever. */
const protecting = (lets: boolean) => {
  const settle = Effect.gen(function*() {
    const it = yield* B.client
    const { items: guests } = yield* it.listPage(Guest, { namespace: "default" })
    const { items } = yield* it.listPage(ConfigMap, { namespace: "default" })
    for (const map of items) {
      const { finalizers = [], name, resourceVersion } = map.metadata
      const used = guests.some((guest) => guest.spec.uses === name && !isTerminating(guest))
      if (used ? finalizers.includes(inUse) || isTerminating(map) : !lets || !finalizers.includes(inUse)) continue
      const now = used ? [...finalizers, inUse] : finalizers.filter((one) => one !== inUse)
      yield* B.unlessGone(
        it.patch(ConfigMap, map.metadata, B.merge({ metadata: { resourceVersion, finalizers: now } }))
      )
    }
  })
  return Controller.make("protecting", {
    for: Guest,
    watches: [Watch.make(ConfigMap, { reads: [Guest], map: (_, cache) => cache.list(Guest).map(key) })],
    reconcile: () => B.done(settle),
    finalize: () => B.done(settle)
  })
}

/** What a guest uses is used only after somebody has approved of that; what it used before goes, or not. */
const approving = (goes: boolean) =>
  Controller.make("approving", {
    for: Guest,
    owns: [Deployment],
    reconcile: Effect.fn(function*(guest) {
      const { metadata: { annotations, generation = 0 }, spec: { uses }, status } = guest
      if (annotations?.["approve"] !== String(generation) && status?.applied !== generation) {
        yield* ObjectStatus.write(Guest, guest, { phase: "WaitingForApproval", applied: status?.applied })
        return Action.done
      }
      const wanted = [deployment(guest, `-${uses}`)]
      if (goes) yield* Sync.children(guest, [Deployment], wanted)
      else yield* Sync.children<typeof Deployment.id>(guest, [], wanted)
      yield* ObjectStatus.write(Guest, guest, { phase: "Applied", applied: generation })
      return Action.done
    })
  })

const approve = (generation: number) => ({
  name: `approve of ${generation}`,
  act: B.client.use((it) =>
    it.patch(Guest, B.named("g"), B.merge({ metadata: { annotations: { approve: String(generation) } } }))
  )
})

const maps = {
  name: "maps",
  act: B.client.use((it) =>
    Effect.forEach(["one", "two"], (name) => it.create(ConfigMap, B.map(name, { of: "people" })))
  )
}

const mapGoes = { name: "one is to go", act: B.client.use((it) => it.delete(ConfigMap, B.named("one"))) }

export const planted: ReadonlyArray<B.Planted> = [
  pair(
    "policies: what was made stays although its object says that it goes",
    "nothing left behind",
    [guest("g", { uses: "one", onDelete: "Orphan" }), guest("h", { uses: "two" }), leaves("g"), leaves("h")],
    leaving(true),
    leaving(false)
  ),
  pair(
    "policies: what nobody uses any more is held for ever",
    "finalizers released",
    [maps, guest("g", { uses: "one" }), mapGoes, guest("g", { uses: "two" }), leaves("g")],
    protecting(false),
    protecting(true)
  ),
  pair(
    "policies: what was approved of before is still there when something else is approved of",
    "nothing left of an earlier spec",
    [guest("g", { uses: "one" }), approve(1), guest("g", { uses: "two" }), approve(2)],
    approving(false),
    approving(true)
  )
]
