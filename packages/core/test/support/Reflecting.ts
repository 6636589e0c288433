/** A reflector over the scripted server, with what it did on record. */
import type { KubeError, KubeObject, Transport } from "@effect-operator/core"
import * as Reflector from "@effect-operator/core/Reflector"
import { Store } from "@effect-operator/core/Store"
import { Clock, Effect, type Scope, type Stream, SubscriptionRef } from "effect"
import { Part } from "./Kinds.ts"
import { isWatch, parameter, type Server } from "./Server.ts"
import { settle } from "./Time.ts"

export const item = (name: string, rv: number): KubeObject.KubeObject => ({
  apiVersion: "v1",
  kind: "Part",
  metadata: { name, namespace: "default", uid: name, resourceVersion: String(rv), creationTimestamp: "" }
})

export interface Reflected {
  readonly store: Store<KubeObject.KubeObject>
  /** Every delta, as `Added a`. */
  readonly deltas: Array<string>
  readonly status: Effect.Effect<Reflector.Status>
  readonly changes: Stream.Stream<Reflector.Status>
  readonly lastEventAt: () => number | undefined
  readonly quietFor: () => number | undefined
  readonly synced: Effect.Effect<boolean>
  readonly names: () => ReadonlyArray<string>
}

export const reflect = Effect.fnUntraced(function*(server: Server): Effect.fn.Return<Reflected, never, Scope.Scope> {
  const store = new Store<KubeObject.KubeObject>({ resource: Part, matches: () => true })
  const deltas: Array<string> = []
  const reflector = yield* Reflector.make(server.client, Part, {}, {
    replace: (items, rv) => {
      for (const delta of store.replace(items, rv)) {
        deltas.push(`${delta._tag} ${delta._tag === "Invalid" ? "" : delta.object.metadata.name}`)
      }
    },
    apply: (events) => {
      for (const delta of store.apply(events)) {
        deltas.push(`${delta._tag} ${delta._tag === "Invalid" ? "" : delta.object.metadata.name}`)
      }
    }
  })
  let synced = false
  yield* Effect.forkScoped(Effect.andThen(reflector.synced, Effect.sync(() => synced = true)))
  yield* Effect.forkScoped(reflector.run)
  yield* settle
  return {
    store,
    deltas,
    status: SubscriptionRef.get(reflector.status),
    changes: SubscriptionRef.changes(reflector.status),
    lastEventAt: reflector.lastEventAt,
    quietFor: reflector.quietFor,
    synced: Effect.sync(() => synced),
    names: () => [...store.values()].map(({ metadata }) => metadata.name).sort()
  }
})

export const lists = (server: Server) => server.requests.filter((request) => !isWatch(request))
export const opened = (server: Server) => server.requests.filter(isWatch)
export const watchedFrom = (server: Server) => opened(server).map((request) => parameter(request, "resourceVersion"))

/** Answers in the server's place as long as `when` says so, and notes the times of those requests. */
export const failWhile = (
  server: Server,
  when: (request: Transport.Request) => boolean,
  answer: Effect.Effect<Transport.Response, KubeError.Transport>
) => {
  const times: Array<number> = []
  server.fault = (request) =>
    when(request)
      ? Effect.flatMap(Clock.currentTimeMillis, (now) => {
        times.push(now)
        return answer
      })
      : Effect.undefined
  return times
}
