/** Operators that never come to rest. */
import { Action, Controller, Manager } from "@effect-operator/core"
import { ConfigMap, SelfSubjectAccessReview } from "@effect-operator/k8s/kinds"
import { Effect, Random } from "effect"
import * as B from "./Box.ts"

const steady = B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) })))

const seconds = Effect.clockWith((clock) => Effect.map(clock.currentTimeMillis, (now) => Math.floor(now / 1000)))

/** Issues what holds for an hour. */
const hourly = (issued: (hour: number) => string) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const text = issued(Math.floor((yield* seconds) / 3600))
      const it = yield* B.client
      if ((yield* B.cached("issued")) === undefined) yield* it.create(ConfigMap, B.map("issued", { text }, box))
      else yield* it.patch(ConfigMap, B.named("issued"), B.merge({ data: { text } }))
      yield* B.status(box, { count: box.spec.size, phase: text })
      return Action.requeueAfter("1 hour")
    })
  )

const telling = (type: "Normal" | "Warning") =>
  Manager.layer([Controller.make("boxes", {
    for: B.Box,
    reconcile: (box, { events }) => {
      const event = { reason: type, note: `a Box of ${box.spec.size}` }
      return Effect.as(
        type === "Normal" ? events.normal(event) : events.warning(event),
        Action.requeueAfter("10 minutes")
      )
    }
  })])

const owners = (...wanted: ReadonlyArray<string>) =>
  Manager.layer(
    wanted.map((by, index) =>
      Controller.make(`boxes-${index}`, {
        for: B.Box,
        owns: [ConfigMap],
        reconcile: (box) => B.done(B.keep(box as B.Box, "settings", { by }))
      }) as Controller.Controller
    )
  )

/** Every three minutes, finds out what an apply would change, and whether it may; `always` applies in any case. */
const comparing = (always: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const wanted = { metadata: B.map("settings", {}, box).metadata, data: { size: String(box.spec.size) } }
      const fields = { ...wanted, metadata: { ...wanted.metadata, ...B.named("settings") } }
      const found = yield* B.cached("settings")
      const resourceAttributes = { verb: "patch", resource: "configmaps", ...B.named("settings") }
      const metadata = {}
      const { status } = yield* it.create(SelfSubjectAccessReview, { metadata, spec: { resourceAttributes } } as never)
      const would = yield* it.apply(ConfigMap, fields, { dryRun: true, force: true })
      const differs = found?.data?.["size"] !== would.data?.["size"]
      if (status?.allowed === true && (always || differs)) yield* it.apply(ConfigMap, fields, { force: true })
      return Action.requeueAfter("3 minutes")
    })
  )

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "hot loop: a status that says the time",
    "quiet once stable",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        yield* B.status(box, { count: (yield* seconds) - (yield* seconds) % 600 })
        return Action.requeueAfter("10 minutes")
      })
    ),
    B.boxes((box) => Effect.as(B.status(box, { count: box.spec.size }), Action.requeueAfter("10 minutes")))
  ),
  B.bug(
    "hot loop: each hour writes again what holds",
    "quiet once stable",
    B.sized(1, 2),
    hourly(() => "the same"),
    hourly((hour) => `issued in hour ${hour}`)
  ),
  B.bug(
    "busy: tells every ten minutes that all is well",
    "quiet once stable",
    B.sized(1),
    telling("Normal"),
    // That something is still wrong is worth it.
    telling("Warning")
  ),
  B.bug(
    "hot loop: counts how often it has looked",
    "comes to rest",
    B.sized(1),
    B.boxes((box) =>
      Effect.as(B.status(box, { count: (box.status?.count ?? 0) + 1 }), Action.requeueAfter("1 second"))
    ),
    steady
  ),
  B.bug(
    "hot loop: two controllers that want different things",
    "comes to rest",
    B.sized(1),
    owners("me", "him"),
    owners("me")
  ),
  B.bug(
    "hot loop: an order that is drawn anew",
    "comes to rest",
    B.sized(3),
    B.boxes((box) =>
      Effect.gen(function*() {
        const names = yield* Random.shuffle(["a", "b", "c", "d", "e"])
        return yield* B.done(B.keep(box, "settings", { names: names.join() }))
      })
    ),
    steady
  ),
  B.bug(
    "busy: writes the same again and again",
    "quiet once stable",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if ((yield* B.cached("settings")) === undefined) {
          yield* B.unlessThere(it.create(ConfigMap, B.map("settings", {}, box)))
        }
        yield* it.patch(ConfigMap, B.named("settings"), B.merge({ data: { size: String(box.spec.size) } }))
        return Action.requeueAfter("5 minutes")
      })
    ),
    steady
  ),
  B.bug(
    "busy: applies whatever a dry run says",
    "quiet once stable",
    B.sized(1, 2),
    comparing(true),
    comparing(false)
  ),
  B.bug(
    "busy: deletes and creates instead of changing",
    "comes to rest",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        yield* B.unlessGone(it.delete(ConfigMap, B.named("settings")))
        yield* B.unlessThere(it.create(ConfigMap, B.map("settings", { size: String(box.spec.size) }, box)))
        return Action.done
      })
    ),
    steady
  )
]
