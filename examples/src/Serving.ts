/** Serves an example's own API beside the cluster: in this process, on the same host. */
import { KubeClient, Resource } from "@effect-operator/core"
import { ApiService } from "@effect-operator/k8s"
import { Context, Data, Effect, Layer, Schedule } from "effect"
import type { Example } from "./Example.ts"
import { say } from "./Narrator.ts"

export const defaults = {
  /** How long the cluster may take to forward requests: a real one checks its backends one after the other. */
  timeout: "60 seconds"
} as const

/** The cluster does not forward requests to the example's API. */
export class NotReached extends Data.TaggedError("NotReached")<{ readonly message: string }> {}

/** Serves an example's own API beside the cluster, and waits until the cluster forwards requests to it. */
export const beside = Effect.fnUntraced(function*({ api, server }: NonNullable<Example["serves"]>) {
  const options = { ...server, localhost: true, closeGrace: "1 second" } as const
  const context = yield* Layer.build(Layer.fresh(ApiService.layer(api, options)))
  const port = yield* reached(api, Context.get(context, ApiService.ApiServiceServer))
  yield* say(`the cluster's aggregator passes requests for ${api.groupVersion} on to port ${port}`)
})

/** The port that an API is served at, once the cluster forwards requests to it. */
export const reached = Effect.fnUntraced(function*(
  { kinds }: ApiService.Api,
  { ready, status }: ApiService.ApiServiceServer["Service"]
) {
  const { port } = yield* ready
  const client = yield* KubeClient.KubeClient
  for (const { resource } of kinds) {
    yield* client.listPage(Resource.unstructured(resource), { limit: 1 }).pipe(
      Effect.retry(Schedule.spaced("200 millis")),
      Effect.timeoutOrElse({
        duration: defaults.timeout,
        orElse: () =>
          Effect.flatMap(status, ({ trouble }) =>
            Effect.fail(
              new NotReached({
                message: `the cluster's API server does not pass on requests for ${resource.plural} within ` +
                  `${defaults.timeout}: ${trouble ?? `does it run on this host, and reach port ${port}?`}`
              })
            ))
      })
    )
  }
  return port
})
