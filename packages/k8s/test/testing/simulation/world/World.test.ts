import { Restless, World } from "@effect-operator/k8s/testing/simulation/world/World"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Random } from "effect"
import { SecureRandom } from "effect/crypto"

/** The order in which ten fibers take their turns. */
const order = (interleaving: number): string => {
  const world = new World({ seed: 1, interleaving })
  const seen: Array<number> = []
  for (let i = 0; i < 10; i++) {
    world.fork(Effect.andThen(Effect.yieldNow, Effect.sync(() => seen.push(i))))
  }
  world.settle()
  return seen.join()
}

describe("World", () => {
  it("runs tasks in the order they came, or in one drawn by the seed: the same for the same", () => {
    assert.strictEqual(order(0), "0,1,2,3,4,5,6,7,8,9")
    assert.strictEqual(order(7), order(7))
    assert.strictEqual(new Set([0, 1, 2, 3, 4, 5].map(order)).size, 6)
  })

  it("has secrets of its own, which are the same for the same seed, and no byte like the other", () => {
    const secret = (seed: number) =>
      new World({ seed, interleaving: 0 }).run(
        SecureRandom.SecureRandom.use(({ randomBytes, uuidV4 }) => Effect.all([randomBytes(16), uuidV4()])).pipe(
          Effect.provide(SecureRandom.layerWebCrypto)
        )
      )
    assert.deepStrictEqual(secret(1), secret(1))
    assert.notDeepEqual(secret(1), secret(2))
    assert.isAbove(new Set(secret(1)[0]).size, 8)
  })

  it("lets time pass only when nothing can run, sleeper by sleeper", () => {
    const world = new World({ seed: 1, interleaving: 0, start: 0 })
    const seen: Array<string> = []
    const sleeper = (name: string, millis: number) =>
      Effect.flatMap(
        Effect.andThen(Effect.sleep(millis), Clock.currentTimeMillis),
        (now) => Effect.sync(() => seen.push(`${name}@${now}`))
      )
    world.fork(Effect.andThen(sleeper("b", 20), sleeper("c", 10)))
    world.fork(sleeper("a", 10))
    world.settle()
    assert.strictEqual(world.nextAt, 10)
    world.advance(25)
    assert.deepStrictEqual(seen, ["a@10", "b@20"])
    assert.strictEqual(world.now, 25)
    world.advance(10)
    assert.deepStrictEqual(seen, ["a@10", "b@20", "c@30"])
    assert.isUndefined(world.nextAt)
  })

  it("draws by its seed", () => {
    const drawn = (seed: number) => new World({ seed, interleaving: 0 }).run(Random.next)
    assert.strictEqual(drawn(1), drawn(1))
    assert.notStrictEqual(drawn(1), drawn(2))
  })

  it("tells a program that never rests, one that is stopped, and one that waits for something real", () => {
    const busy = new World({ seed: 1, interleaving: 0 })
    busy.fork(Effect.forever(Effect.yieldNow))
    assert.throws(() => busy.settle(), Restless, "the clock stood still")
    const sleepless = new World({ seed: 1, interleaving: 0 })
    sleepless.fork(Effect.forever(Effect.sleep("1 millis")))
    assert.throws(() => sleepless.advance(3_600_000), Restless, "wakes 10000 times in 10.0 s")
    assert.isBelow(sleepless.now - new World({ seed: 1, interleaving: 0 }).now, 11_000)
    const patient = new World({ seed: 1, interleaving: 0 })
    patient.fork(Effect.forever(Effect.sleep("25 millis")))
    for (let slice = 0; slice < 60_000; slice++) patient.advance(10)
    const stopped = new World({ seed: 1, interleaving: 0 })
    stopped.fork(Effect.forever(Effect.andThen(Effect.yieldNow, Effect.sync(() => stopped.stop("enough")))))
    assert.throws(() => stopped.settle(), Restless, "enough")
    assert.throws(() => new World({ seed: 1, interleaving: 0 }).run(Effect.never), "something outside the simulation")
  })
})
