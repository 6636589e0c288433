/** An answer that is not the one that was hoped for. */
import { Action, ObjectStatus } from "@effect-operator/core"
import { ConfigMap, Pod } from "@effect-operator/k8s/kinds"
import { Effect, Layer, Schedule } from "effect"
import * as B from "./Box.ts"

const create = (box: B.Box) => B.client.use((it) => it.create(ConfigMap, B.map("settings", {}, box)))

const steady = B.boxes((box) => B.done(B.keep(box, "settings", {})))

const atStart = B.client.use((it) => B.unlessThere(it.create(ConfigMap, B.map("boot", {}))))

/** Holds a lock while it works; `always`: lets go of it also where somebody else has put it there, an earlier life, say. */
const locking = (always: boolean) =>
  B.boxes((box) =>
    Effect.gen(function*() {
      const it = yield* B.client
      const size = String(box.spec.size)
      const isDone = (yield* B.cached("settings"))?.data?.["size"] === size
      if (isDone && box.status?.count === box.spec.size && (yield* B.cached("lock")) === undefined) return Action.done
      const locked = yield* Effect.result(it.create(ConfigMap, B.map("lock", {}, box)))
      if (locked._tag === "Failure" && locked.failure.reason._tag !== "AlreadyExists") return yield* locked.failure
      yield* B.keep(box, "settings", { size })
      if (always || locked._tag === "Success") yield* B.unlessGone(it.delete(ConfigMap, B.named("lock")))
      return yield* B.done(ObjectStatus.write(B.Box, box, { count: box.spec.size }))
    })
  )

export const planted: ReadonlyArray<B.Planted> = [
  B.bug(
    "swallowed error: a failed write is taken for done",
    "same end state",
    B.sized(1),
    B.boxes((box) => B.done(Effect.ignore(create(box)))),
    B.boxes((box) => B.done(B.unlessThere(create(box))))
  ),
  B.bug(
    "missing requeue: waits for something without being woken",
    "same end state",
    B.sized(1),
    B.boxes((box) => Effect.map(Effect.result(create(box)), () => Action.done), { owns: [] }),
    B.boxes((box) =>
      Effect.map(
        Effect.result(create(box)),
        (made) =>
          made._tag === "Failure" && made.failure.reason._tag !== "AlreadyExists"
            ? Action.requeueAfter("1 second")
            : Action.done
      ), { owns: [] })
  ),
  B.bug(
    "no answer: taken for done",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      B.done(B.unlessThere(create(box)).pipe(Effect.catchReason("KubeError", "Transport", () => Effect.void)))
    ),
    steady
  ),
  B.bug(
    "no answer: asked for once more, and the one too many goes again",
    "no surplus objects",
    B.sized(2),
    B.boxes((box) =>
      Effect.flatMap(
        B.living(box),
        (pods) =>
          B.asMany(box, pods, (create) => Effect.retry(create, { times: 3, schedule: Schedule.spaced("1 second") }))
      )
    ),
    B.boxes((box) => Effect.flatMap(B.living(box), (pods) => B.asMany(box, pods)))
  ),
  B.bug(
    "conflict: the newer one wins, and nobody looks again",
    "same end state",
    B.sized(1, 2),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        const data = { size: String(box.spec.size) }
        const found = yield* B.cached("settings")
        if (found === undefined) return yield* B.done(B.unlessThere(it.create(ConfigMap, B.map("settings", data, box))))
        if (found.data?.["size"] === data.size) return Action.done
        return yield* B.done(
          it.replace(ConfigMap, { ...found, data }).pipe(
            Effect.catchReason("KubeError", "Conflict", () => Effect.void)
          )
        )
      })
    ),
    B.boxes((box) => B.done(B.keep(box, "settings", { size: String(box.spec.size) })))
  ),
  B.bug(
    "already there: what an answer lost has made is an error for ever",
    "same end state",
    B.sized(1),
    B.boxes((box) =>
      Effect.gen(function*() {
        if (box.status?.phase === "made") return Action.done
        yield* create(box)
        return yield* B.done(B.status(box, { phase: "made" }))
      })
    ),
    B.boxes((box) => B.done(Effect.andThen(B.unlessThere(create(box)), B.status(box, { phase: "made" }))))
  ),
  B.bug(
    "already gone: what somebody else has deleted cannot be deleted",
    "same end state",
    B.sized(2, 0),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if (box.spec.size > 0) {
          yield* B.pods(box)
          return yield* B.done(B.status(box, { count: box.spec.size }))
        }
        if (box.status?.count === 0) return Action.done
        const gone = yield* Effect.result(it.delete(Pod, B.named("box-0")))
        if (gone._tag === "Failure") return Action.done
        yield* B.unlessGone(it.delete(Pod, B.named("box-1")))
        return yield* B.done(B.status(box, { count: 0 }))
      })
    ),
    B.boxes((box) => Effect.tap(B.pods(box), () => B.status(box, { count: box.spec.size })))
  ),
  B.bug(
    "one of many: the first failure ends the work, and the rest counts as done",
    "same end state",
    B.sized(3),
    B.boxes((box) =>
      Effect.gen(function*() {
        const it = yield* B.client
        if (box.status?.count === box.spec.size) return Action.done
        for (let i = 0; i < box.spec.size; i++) {
          const made = yield* Effect.result(it.create(ConfigMap, B.map(`map-${i}`, {}, box)))
          if (made._tag === "Failure" && made.failure.reason._tag !== "AlreadyExists") break
        }
        return yield* B.done(B.status(box, { count: box.spec.size }))
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
    "errors make it stop: a part that fails takes the process with it",
    "keeps running",
    B.sized(1),
    Layer.merge(steady, Layer.effectDiscard(atStart)),
    Layer.merge(steady, Layer.effectDiscard(Effect.retry(atStart, Schedule.spaced("1 second"))))
  ),
  B.bug(
    "errors: who has died holding a lock is not let go of",
    "same end state",
    B.sized(1, 2),
    locking(false),
    locking(true),
    { faults: ["crashAfter", "staleRestart"] }
  )
]
