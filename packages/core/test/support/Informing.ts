/** Informers over a scripted server. */
import { Informers, Supervisor } from "@effect-operator/core"
import { Context, Effect, Layer } from "effect"
import type { Server } from "./Server.ts"

export const informing = Effect.fnUntraced(function*(server: Server) {
  const supervisor = yield* Supervisor.make
  const context = yield* Layer.build(Informers.layer(supervisor).pipe(Layer.provide(server.layer)))
  return { supervisor, informers: Context.get(context, Informers.Informers) }
})
