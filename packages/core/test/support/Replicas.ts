/** Processes of one operator that share its objects, and who watches that no two work on one. */
import { type Controller, KubeClient, KubeError, Manager, type Transport } from "@effect-operator/core"
import { Context, type Duration, Effect, Exit, Layer, Scope, Stream } from "effect"
import type { Server } from "./Server.ts"

/** What reconciles have begun and not ended, by object; and whether two were ever under way at once. */
export class Watchman {
  readonly underWay = new Map<string, string>()
  /** Who has worked on an object last. */
  readonly last = new Map<string, string>()
  problem: string | undefined

  readonly during = <A, E, R>(who: string, name: string, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const other = this.underWay.get(name)
        if (other !== undefined) this.problem ??= `${name} is reconciled by ${other} and ${who}`
        this.underWay.set(name, who)
        this.last.set(name, who)
      }),
      () => work,
      () => Effect.sync(() => this.underWay.delete(name))
    )

  /** Who has the objects, by how many. */
  get shares(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      [...Map.groupBy(this.last.values(), (who) => who)].sort().map(([who, all]) => [who, all.length])
    )
  }
}

/** The server as somebody sees it whose watches of a path show everything later than it is. */
export const late = ({ transport }: Pick<Server, "transport">, path: string, delay: Duration.Input) => ({
  transport: {
    ...transport,
    stream: (request: Transport.Request) =>
      Effect.map(transport.stream(request), (answer) =>
        request.path.includes(path)
          ? {
            ...answer,
            values: Stream.mapEffect(answer.values, (value) => Effect.delay(Effect.succeed(value), delay), {
              concurrency: "unbounded"
            })
          }
          : answer)
  }
})

/** A process: it ends in good order, or is gone at once, and nobody hears of it again. */
export const replica = Effect.fnUntraced(function*(
  server: Pick<Server, "transport">,
  controllers: ReadonlyArray<Controller.Controller>,
  leaderElection: NonNullable<Manager.Options["leaderElection"]>
) {
  const scope = yield* Scope.make()
  let dead = false
  const transport: typeof server.transport = {
    ...server.transport,
    request: (request) =>
      dead
        ? Effect.fail(KubeError.Transport.make({ message: "the process is no more" }))
        : server.transport.request(request)
  }
  const context = yield* Layer.buildWithScope(
    Manager.layer(controllers, { leaderElection }).pipe(
      Layer.provide(Layer.sync(KubeClient.KubeClient, () => KubeClient.make(transport)))
    ),
    scope
  )
  return {
    manager: Context.get(context, Manager.Manager),
    stop: Scope.close(scope, Exit.void),
    /** Its requests do not get through any more, until they do again. */
    cut: (is: boolean) => Effect.sync(() => (dead = is))
  }
})
