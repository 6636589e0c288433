/** A manager over a scripted server, in the scope of the test. Each has a client of its own, as a process would. */
import { type Controller, KubeClient, Manager } from "@effect-operator/core"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { Server } from "./Server.ts"

export const operate = <const Cs extends ReadonlyArray<Controller.Controller<any>>>(
  server: Server,
  controllers: Cs,
  options?: Manager.Options
): Effect.Effect<
  Manager.Manager["Service"],
  never,
  Scope.Scope | Exclude<Controller.RequirementsOf<Cs[number]>, KubeClient.KubeClient>
> =>
  Layer.build(
    Manager.layer(controllers, options).pipe(
      Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(server.transport)))
    )
  ).pipe(
    Effect.map((context) => Context.get(context, Manager.Manager))
  )

/** A list of what happened when, in virtual milliseconds. */
export class Journal {
  readonly entries: Array<readonly [at: number, what: string]> = []

  readonly note = (what: string): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      this.entries.push([at, what])
    })

  get times(): ReadonlyArray<number> {
    return this.entries.map(([at]) => at)
  }

  get words(): ReadonlyArray<string> {
    return this.entries.map(([, what]) => what)
  }

  clear(): void {
    this.entries.length = 0
  }
}
