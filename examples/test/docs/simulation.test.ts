import { Simulation } from "@effect-operator/k8s/testing"
import { it } from "@effect/vitest"
import { Console, Effect } from "effect"
import * as Fs from "node:fs"
import { scenario } from "./scenario.ts"

const options = { depth: 1, budget: "5 seconds", replay: process.env["REPLAY"] } as const

it.live("converges, whatever goes wrong", () =>
  Simulation.checkConvergence(scenario, options).pipe(
    Effect.tap((report) => Console.log(Simulation.summary(report))),
    Effect.tapError((failure) => Effect.sync(() => Fs.writeFileSync("failure.html", failure.html())))
  ), 60_000)
