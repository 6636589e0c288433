/** What is outside of the cluster: other people's APIs, and what is not the same twice. */
import { Action } from "@effect-operator/core"
import { ConfigMap } from "@effect-operator/k8s/kinds"
import { External } from "@effect-operator/k8s/testing"
import { Effect, Random } from "effect"
import * as B from "./Box.ts"

const refused = () => new Error("the cloud does not answer")

/** A cloud with machines. */
const machines = External.state("machines", () => new Map<string, string>())

const buy = (id: string) => External.call("buy", refused, Effect.map(machines, (all) => void all.set(id, "bought")))

const buyAnother = External.call(
  "buy",
  refused,
  Effect.map(machines, (all) => {
    const id = `machine-${all.size}`
    all.set(id, "bought")
    return id
  })
)

const sell = (id: string) => External.call("sell", refused, Effect.map(machines, (all) => void all.delete(id)))

const idOf = (box: B.Box) => `${box.metadata.namespace}/${box.metadata.name}`

const bought: B.Reconcile = (box) =>
  box.status?.phase === "bought"
    ? Effect.succeed(Action.done)
    : B.done(Effect.andThen(buy(idOf(box)), B.status(box, { phase: "bought" })))

/** Tries again every five seconds, so many times. */
const patient = (memory: { refusals: number }, most: number): B.Reconcile => (box) =>
  box.status?.phase !== undefined
    ? Effect.succeed(Action.done)
    : Effect.matchEffect(buy(idOf(box)), {
      onSuccess: () => B.done(B.status(box, { phase: "bought" })),
      onFailure: () =>
        ++memory.refusals < most
          ? Effect.succeed(Action.requeueAfter("5 seconds"))
          : B.done(B.status(box, { phase: "failed" }))
    })

const life: B.Steps = [...B.sized(1), ...B.deleted]

const careful = B.boxes(bought, { finalize: (box) => B.done(sell(idOf(box))) })

const stamped = (now: () => unknown): B.Reconcile => (box) =>
  box.status?.phase !== undefined
    ? Effect.succeed(Action.done)
    : B.done(Effect.suspend(() => B.status(box, { phase: String(now()) })))

const steady = B.boxes((box) => B.done(B.status(box, { phase: "ready" })))

const accounts = External.state("accounts", () => new Map<string, string>())
const passwordOf = (id: string) => External.call("ask", refused, Effect.map(accounts, (all) => all.get(id)))
const tell = (id: string, password: string) =>
  External.call("tell", refused, Effect.map(accounts, (all) => void all.set(id, password)))
const close = (id: string) => External.call("close", refused, Effect.map(accounts, (all) => void all.delete(id)))

/** Draws a password, keeps it in the cluster, and tells it to the outside where that knows `another`. */
const secured = (isTold: (known: string | undefined, password: string) => boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const found = yield* B.cached("password")
      const drawn = yield* Random.nextIntBetween(1_000_000, 9_999_999)
      const map = found ?? (yield* it.create(ConfigMap, B.map("password", { password: `secret-${drawn}` }, box)))
      const password = map.data?.["password"] ?? ""
      if (!isTold(yield* passwordOf(idOf(box)), password)) yield* tell(idOf(box), password)
      return yield* B.done(B.status(box, { phase: "ready" }))
    }), { finalize: (box) => B.done(close(idOf(box))) })

/** Volumes elsewhere, each with its size. */
const volumes = External.state("volumes", () => new Map<string, { readonly size: number }>())

/** A volume for each Box, made or changed where it is not `asWanted`. */
const volumed = (asWanted: (known: { readonly size: number } | undefined, size: number) => boolean) =>
  B.boxes((box) =>
    B.done(Effect.gen(function*() {
      const { size } = box.spec
      const all = yield* volumes
      const ensure = Effect.sync(() => asWanted(all.get(idOf(box)), size) || all.set(idOf(box), { size }))
      yield* External.call("ensure", refused, ensure)
      yield* B.status(box, { phase: "ready" })
    })), {
    finalize: (box) => B.done(External.call("release", refused, Effect.map(volumes, (all) => all.delete(idOf(box)))))
  })

/** A volume for each Box, looked at again as `then` says. */
const kept = (then: Action.Action) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const all = yield* volumes
      yield* External.call("ensure", refused, Effect.sync(() => all.set(idOf(box), { size: box.spec.size })))
      return then
    }), { owns: [] })

const drifted: B.Steps = [...B.sized(7), {
  name: "somebody changes it",
  act: Effect.andThen(Effect.map(volumes, (all) => all.set("default/box", { size: 99 })), Effect.sleep("1 hour")),
  desired: (_, __, outside) =>
    (outside.get("volumes") as ReadonlyMap<string, { readonly size: number }>).get("default/box")?.size === 7
}]

interface Recorded {
  readonly name: string
  readonly size: number
}

/** A zone's records, in the order they came; it lists two at a time. */
const zone = External.state("zone", (): Array<Recorded> => [])

const page = (from: number) => External.call("list", refused, Effect.map(zone, (all) => all.slice(from, from + 2)))

const recorded = (pages: number) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const { metadata: { name }, spec: { size } } = box
      const found: Array<Recorded> = []
      for (let turn = 0; turn < pages; turn++) found.push(...yield* page(2 * turn))
      if (found.some((record) => record.name === name && record.size === size)) return Action.done
      const put = Effect.map(zone, (all) =>
        all.splice(
          0,
          all.length,
          ...all.filter((one) => !found.includes(one) || one.name !== name),
          { name, size }
        ))
      return yield* B.done(External.call("put", refused, put))
    }), { owns: [] })

const three: B.Steps = [{
  name: "three",
  act: Effect.forEach(["a", "b", "c"], (name) => B.write(1, B.named(name)), { discard: true })
}]

let made = 0

const releases = External.state("releases", () => new Map<string, string>())

/** People release something outside of the cluster. */
const release = (version: string) =>
  External.call("release", refused, Effect.map(releases, (all) => void all.set("latest", version)))

/** The settings say which is the latest release, at least once. */
const following = (goesOn: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      if (!goesOn && (yield* B.cached("settings")) !== undefined) return Action.done
      const all = yield* External.call("getReleases", refused, releases)
      yield* B.keep(box, "settings", { size: all.get("latest") ?? "none" })
      return Action.requeueAfter("30 seconds")
    })
  )

const settingsSay = (version: string): B.Steps[number]["desired"] => (objects, _before, outside) =>
  (outside.get("releases") as Map<string, string>).get("latest") === version &&
  objects.some((object) => object.metadata.name === "settings" && (object as ConfigMap).data?.["size"] === version)

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "outside: bought twice, as nobody wrote down that it was bought",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      box.status?.phase !== undefined
        ? Effect.succeed(Action.done)
        : B.done(Effect.flatMap(buyAnother, (phase) => B.status(box, { phase })))
    ),
    B.boxes(bought)
  ),
  B.bug(
    "outside: ready whatever the cloud said",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      box.status?.phase === "bought"
        ? Effect.succeed(Action.done)
        : B.done(Effect.andThen(Effect.ignore(buy(idOf(box))), B.status(box, { phase: "bought" })))
    ),
    B.boxes(bought)
  ),
  B.bug(
    "outside: let go though it was not sold",
    "same end state",
    life,
    B.boxes(bought, { finalize: (box) => B.done(Effect.ignore(sell(idOf(box)))) }),
    careful
  ),
  B.bug(
    "outside: a failure is for ever",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      box.status?.phase !== undefined
        ? Effect.succeed(Action.done)
        : B.done(
          Effect.matchEffect(buy(idOf(box)), {
            onFailure: () => B.status(box, { phase: "failed" }),
            onSuccess: () => B.status(box, { phase: "bought" })
          })
        )
    ),
    B.boxes(bought)
  ),
  B.bug(
    "outside: a volume keeps the size that it was made with",
    "nothing left of an earlier spec",
    B.sized(12, 34),
    volumed((known) => known !== undefined),
    volumed((known, size) => known?.size === size)
  ),
  B.bug(
    "outside: what somebody changes there is never looked at again",
    "desired state",
    drifted,
    kept(Action.done),
    kept(Action.requeueAfter("10 minutes"))
  ),
  B.bug("chance: the time of the machine", "deterministic", B.sized(1), B.boxes(stamped(() => Date.now())), steady),
  B.bug("chance: a date without a time", "deterministic", B.sized(1), B.boxes(stamped(() => new Date())), steady),
  B.bug("chance: a number from nowhere", "deterministic", B.sized(1), B.boxes(stamped(() => Math.random())), steady),
  B.bug(
    "chance: a uuid from nowhere",
    "deterministic",
    B.sized(1),
    B.boxes(stamped(() => crypto.randomUUID())),
    steady
  ),
  B.bug(
    "outside: a password that is made anew is told nobody, and the end hides it",
    "random values agree",
    life,
    secured((known) => known !== undefined),
    secured((known, password) => known === password),
    { faults: ["removed"] }
  ),
  B.bug(
    "outside: given up for good after three refusals",
    "same end state",
    B.sized(1),
    B.remembering(() => ({ refusals: 0 }), (memory) => B.boxes(patient(memory, 3))),
    B.remembering(() => ({ refusals: 0 }), (memory) => B.boxes(patient(memory, Infinity)))
  ),
  B.bug(
    "chance: a timer of the machine",
    "deterministic",
    B.sized(1),
    B.boxes((box) =>
      Effect.andThen(
        Effect.callback<void>((resume) => void setTimeout(() => resume(Effect.void), 10)),
        B.done(B.status(box, { phase: "ready" }))
      )
    ),
    steady
  ),
  B.bug(
    "chance: a request to the real world",
    "deterministic",
    B.sized(1),
    B.boxes((box) =>
      Effect.andThen(Effect.promise(() => fetch("http://127.0.0.1:1/")), B.done(B.status(box, { phase: "ready" })))
    ),
    steady
  ),
  B.bug(
    "chance: a count that outlives the process",
    "deterministic",
    B.sized(1),
    B.boxes(stamped(() => made++)),
    steady
  ),
  B.bug(
    "outside: looks at the first page only of what is there",
    "same end state",
    three,
    recorded(1),
    recorded(3),
    { faults: ["restarted", "externalFails"] }
  ),
  B.bug(
    "outside: what people change there is looked at once",
    "desired state",
    [
      { name: "release 1", act: Effect.andThen(release("1"), B.write(1)), desired: settingsSay("1") },
      { name: "release 2", act: release("2"), desired: settingsSay("2") }
    ],
    following(false),
    following(true)
  )
]
