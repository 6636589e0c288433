import { Action, Cache, Controller, KubeClient, KubeError } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { Part, Widget } from "./support/Kinds.ts"
import { operate } from "./support/Operating.ts"
import { Prng } from "./support/Prng.ts"
import { isWatch, refuse, Server } from "./support/Server.ts"
import { pass } from "./support/Time.ts"

describe("Controller: convergence", () => {
  it.effect("creates exactly what is desired, and never too much, through any faults, lag and late responses", () =>
    Effect.gen(function*() {
      const [first, runs] = process.env["SEED"] === undefined
        ? [1, Number(process.env["RUNS"] ?? 100)]
        : [Number(process.env["SEED"]), 1]
      for (let seed = first; seed < first + runs; seed++) {
        yield* Effect.scoped(converge(seed)).pipe(Random.withSeed(String(seed)))
      }
    }))

  const converge = Effect.fnUntraced(function*(seed: number) {
    const random = new Prng(seed)
    const server = new Server(Widget, Part)
    let calm = false
    const faults = [
      Effect.succeed(refuse(500, "InternalError")),
      Effect.succeed(refuse(429, "TooManyRequests")),
      Effect.fail(new KubeError.Transport({ message: "refused" }))
    ]
    server.fault = (request) =>
      calm || random.chance(0.8)
        ? Effect.undefined
        : isWatch(request) && random.chance(0.3)
        ? Effect.succeed(refuse(410, "Expired"))
        : random.pick(faults)
    server.latency = () => calm || random.chance(0.5) ? Effect.void : Effect.sleep(random.int(1, 500))
    const owned = (name: string) =>
      server.objects(Part).filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name)
    const asked = new Map<string, number>()
    const wrong: Array<string> = []
    let serial = 0
    const manager = yield* operate(server, [Controller.make("widgets", {
      for: Widget,
      owns: [Part],
      concurrency: 3,
      reconcile: (widget) =>
        Effect.gen(function*() {
          const client = yield* KubeClient.KubeClient
          const { apiVersion, kind } = widget
          const { name, uid } = widget.metadata
          const parts = yield* Cache.list(Part, { owner: widget })
          for (let i = parts.length; i < widget.spec.size; i++) {
            yield* client.create(Part, {
              metadata: {
                name: `${name}-${++serial}`,
                namespace: "default",
                ownerReferences: [{ apiVersion, kind, name, uid, controller: true }]
              }
            })
            const most = Math.max(widget.spec.size, asked.get(name) ?? 0)
            if (owned(name).length > most) wrong.push(`too many parts of ${name}`)
          }
          for (const part of parts.slice(widget.spec.size)) {
            yield* client.delete(Part, part).pipe(Effect.catchReason("KubeError", "NotFound", () => Effect.void))
          }
          return Action.done
        })
    })])
    for (let i = 0; i < 25; i++) {
      const name = random.pick(["a", "b", "c"])
      const dice = random.next()
      if (dice < 0.4) {
        const size = random.int(0, 4)
        asked.set(name, size)
        server.put(Widget, name, { spec: { size } })
        yield* pass("5 minutes")
      } else if (dice < 0.5) server.hold()
      else if (dice < 0.6) server.release()
      else if (dice < 0.7) random.pick([...server.watches, undefined])?.break()
      else if (dice < 0.8) random.pick([...server.watches, undefined])?.end()
      else if (dice < 0.85) server.compact()
      else {
        const [part] = owned(name)
        if (part !== undefined) server.delete(Part, part.metadata.name)
      }
      yield* TestClock.adjust(random.int(0, 2000))
    }
    calm = true
    server.release()
    yield* pass("20 minutes")
    assert.deepStrictEqual(wrong, [], `SEED=${seed}`)
    for (const [name, size] of asked) assert.strictEqual(owned(name).length, size, `SEED=${seed}: parts of ${name}`)
    for (const { unconfirmed } of (yield* manager.report).watches) assert.strictEqual(unconfirmed, 0, `SEED=${seed}`)
  })
})
