/** Simulation: runs of a story per second of one core, compared with the writes of a run alone. */
import { ApiServer, Simulation } from "@effect-operator/k8s/testing"
import { Context, Effect, Layer } from "effect"
import { scenarios } from "../examples/test/support/Scenarios.ts"
import { type Benchmark, cpuMicros, inTurns, result } from "./Benchmark.ts"
import { collection, send, widget } from "./Direct.ts"
import { definition } from "./Widget.ts"

const podset = scenarios.find(({ name }) => name === "podset")!

/** Runs with one or several faults per round, different in each round. */
const runs = 100

const simulated = (round: { n: number }): Effect.Effect<number> =>
  Effect.suspend(() => {
    const options = { depth: 1, runs, interleavings: 0, part: { index: round.n++, of: 6 } } as const
    return Effect.map(cpuMicros(Effect.orDie(Simulation.checkConvergence(podset, options))), (micros) => micros / runs)
  })

/**
 * The changes that a run stores, as the same number of writes of a custom resource to a server that is called directly.
 */
const written = Effect.gen(function*() {
  const server = Context.get(yield* Layer.build(ApiServer.ApiServer.layer), ApiServer.ApiServer)
  const path = collection("default")
  yield* send(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
  yield* send(server, "POST", path, widget("a"))
  const changes = Simulation.record(podset).entries.filter(({ _tag }) => _tag === "Change").length
  let size = 0
  const write = Effect.suspend(() => send(server, "PATCH", `${path}/a`, { spec: { size: ++size } })).pipe(
    Effect.flatMap(({ status }) => status === 200 ? Effect.void : Effect.die(new Error(`PATCH ${path}/a: ${status}`)))
  )
  const all = Effect.repeat(write, { times: runs * changes - 1 })
  return Effect.map(cpuMicros(all), (micros) => micros / runs)
})

const speed: Benchmark = {
  name: "simulation",
  long: true,
  run: () =>
    Effect.scoped(Effect.gen(function*() {
      const contestants = [simulated({ n: 0 }), yield* written] as const
      yield* inTurns(1, contestants)
      const [run, writes] = yield* inTurns(5, contestants)
      return [result({
        name: "simulation: runs of PodSet per second of a core, against the writes alone",
        unit: "/s",
        value: 1e6 / run,
        baseline: 1e6 / writes,
        goal: { atLeast: 300, of: "value" }
      })]
    }))
}

export const simulation: ReadonlyArray<Benchmark> = [speed]
