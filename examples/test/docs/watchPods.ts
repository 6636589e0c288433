import { KubeClient } from "@effect-operator/core"
import { LiveClient, runMain } from "@effect-operator/k8s"
import { Pod } from "@effect-operator/k8s/kinds"
import { Console, Effect, Stream } from "effect"

export const program = Effect.gen(function*() {
  const client = yield* KubeClient.KubeClient
  const events = client.watch(Pod, { namespace: "default" })
  yield* Stream.runForEach(
    events,
    (event) => event.type === "BOOKMARK" ? Effect.void : Console.log(event.type, event.object.metadata.name)
  )
})
if (import.meta.main) program.pipe(Effect.provide(LiveClient.layer), runMain)
