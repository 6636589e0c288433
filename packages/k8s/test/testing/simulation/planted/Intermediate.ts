/** Whoever dies between two writes leaves half of the work behind, and does not find it again. */
import { Action, Cache } from "@effect-operator/core"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import { Effect, Random } from "effect"
import * as B from "./Box.ts"

const generated = (box: B.Box, from: number) =>
  Effect.gen(function*() {
    const it = yield* B.client
    for (let i = from; i < box.spec.size; i++) {
      yield* it.create(Pod, B.podOf(box, { generateName: "box-" }))
    }
  })

/** Counts what is there, and takes away what is too much. */
const adopting: B.Reconcile = (box) =>
  Effect.gen(function*() {
    const it = yield* B.client
    const existing = yield* B.living(box)
    const good = existing.filter((pod) => !B.isFailed(pod))
    yield* generated(box, good.length)
    for (const pod of [...existing.filter(B.isFailed), ...good.slice(box.spec.size)]) {
      yield* B.unlessGone(it.delete(Pod, pod))
    }
    return Action.done
  })

const secrets = (objects: ReadonlyArray<any>) =>
  ["a", "b"].map((name) => objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === name)?.data)

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "intermediate state: marks the work done before it is",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      box.status?.count === box.spec.size
        ? Effect.succeed(Action.done)
        : Effect.andThen(B.status(box, { count: box.spec.size }), B.pods(box))
    ),
    B.boxes((box) => Effect.tap(B.pods(box), () => B.status(box, { count: box.spec.size })))
  ),
  B.bug(
    "intermediate state: a marker object written before the work",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        if ((yield* B.cached("initialised")) !== undefined) return Action.done
        yield* B.keep(box, "initialised", {})
        return yield* B.pods(box)
      })
    ),
    B.boxes((box) => Effect.tap(B.pods(box), () => B.keep(box, "initialised", {})))
  ),
  B.bug(
    "intermediate state: the first part stands for the whole",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        if ((yield* B.cached("first")) !== undefined) return Action.done
        yield* B.keep(box, "first", {})
        return yield* B.done(B.keep(box, "second", {}))
      })
    ),
    B.boxes((box) => B.done(Effect.andThen(B.keep(box, "first", {}), B.keep(box, "second", {}))))
  ),
  B.bug(
    "create by chance: a generated name, known only from the status",
    "same end state",
    B.sized(2, 3),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        for (let i = box.status?.count ?? 0; i < box.spec.size; i++) {
          yield* it.create(Pod, B.podOf(box, { generateName: "box-" }))
          yield* B.status(box, { count: i + 1 })
        }
        return Action.done
      })
    ),
    B.boxes(adopting)
  ),
  B.bug(
    "create by chance: retried at once, without a look",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const existing = (yield* B.living(box)).filter((pod) => !B.isFailed(pod))
        for (let i = existing.length; i < box.spec.size; i++) {
          yield* Effect.retry(it.create(Pod, B.podOf(box, { generateName: "box-" })), { times: 3 })
        }
        for (const pod of (yield* B.living(box)).filter(B.isFailed)) yield* B.unlessGone(it.delete(Pod, pod))
        return Action.done
      })
    ),
    B.boxes(adopting)
  ),
  B.bug(
    "intermediate state: the old is deleted, and with it the reason for the new",
    "same end state",
    B.sized(1, 2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const size = String(box.spec.size)
        const [current] = yield* Cache.list(ConfigMap, { owner: box })
        if (current === undefined && box.status?.phase !== undefined) return Action.done
        if (current?.data?.["size"] === size) return Action.done
        if (current !== undefined) yield* it.delete(ConfigMap, current)
        yield* it.create(ConfigMap, B.map(`map-${size}`, { size }, box))
        return yield* B.done(B.status(box, { phase: "made" }))
      })
    ),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const size = String(box.spec.size)
        yield* B.keep(box, `map-${size}`, { size })
        for (const other of yield* Cache.list(ConfigMap, { owner: box })) {
          if (other.metadata.name !== `map-${size}`) yield* B.unlessGone(it.delete(ConfigMap, other))
        }
        return yield* B.done(B.status(box, { phase: "made" }))
      })
    )
  ),
  B.bug(
    "intermediate state: counts what it has done instead of what is there",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const made = box.status?.count ?? 0
        if (made >= box.spec.size) return Action.done
        yield* B.status(box, { count: made + 1 })
        yield* B.unlessThere(it.create(ConfigMap, B.map(`map-${made}`, {}, box)))
        return Action.done
      })
    ),
    B.boxes((box) =>
      Effect.gen(function*() {
        for (let i = 0; i < box.spec.size; i++) yield* B.keep(box, `map-${i}`, {})
        return yield* B.done(B.status(box, { count: box.spec.size }))
      })
    )
  ),
  B.bug(
    "intermediate state: a phase that nobody goes on from",
    "same end state",
    B.sized(2),
    B.boxes((box) =>
      Effect.gen(function*() {
        if (box.status?.phase !== undefined) return Action.done
        yield* B.status(box, { phase: "Creating" })
        yield* B.pods(box)
        return yield* B.done(B.status(box, { phase: "Created" }))
      })
    ),
    B.boxes((box) => Effect.tap(B.pods(box), () => B.status(box, { phase: "Created" })))
  ),
  B.bug(
    "intermediate state: a password drawn anew for its second half",
    "desired state",
    B.sized(1).map((step) => ({
      ...step,
      desired: (objects) => {
        const [a, b] = secrets(objects)
        return a !== undefined && JSON.stringify(a) === JSON.stringify(b)
      }
    })),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const password = String(yield* Random.nextInt)
        for (const name of ["a", "b"]) {
          if ((yield* B.cached(name)) === undefined) {
            yield* B.unlessThere(it.create(ConfigMap, B.map(name, { password }, box)))
          }
        }
        return Action.done
      })
    ),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const password = (yield* B.cached("a"))?.data?.["password"] ?? String(yield* Random.nextInt)
        if ((yield* B.cached("a")) === undefined) yield* it.create(ConfigMap, B.map("a", { password }, box))
        return yield* B.done(B.keep(box, "b", { password }))
      })
    )
  )
]
