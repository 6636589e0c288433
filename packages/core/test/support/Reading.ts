/** What reads as a controller does, over informers of a scripted server. */
import { Cache, type Informers } from "@effect-operator/core"
import { Effect, Stream } from "effect"
import { informing } from "./Informing.ts"
import type { Server } from "./Server.ts"
import { settle } from "./Time.ts"

/** A reader over informers of the given selections, all filled, and what runs reads with it. */
export const reading = Effect.fnUntraced(function*(server: Server, ...selections: ReadonlyArray<Informers.Options>) {
  const { informers } = yield* informing(server)
  const used: Array<Informers.Informer> = []
  for (const selection of selections) used.push(yield* informers.get(selection))
  yield* settle
  const reader = Cache.makeReader(used)
  /** The phantom requirement is what `Controller.make` discharges; here the reader itself is given. */
  const run = <A, E, Id extends string>(effect: Effect.Effect<A, E, Cache.Cached<Id>>) =>
    (effect as Effect.Effect<A, E>).pipe(Effect.provideService(Cache.CacheReader, reader))
  const follow = <A, Id extends string>(stream: Stream.Stream<A, never, Cache.Cached<Id>>) =>
    (stream as Stream.Stream<A>).pipe(Stream.provideService(Cache.CacheReader, reader))
  return { follow, reader, run, used }
})
