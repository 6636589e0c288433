import { Action, Controller, CustomResource, ObjectStatus, Reconciler, Source, Sync } from "@effect-operator/core"
import { ConfigMap, PersistentVolumeClaim } from "@effect-operator/k8s/kinds"
import { Context, Data, Duration, Effect, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"

export const EphemeralVolumeClaim = CustomResource.make({
  group: "kopf.dev",
  version: "v1",
  kind: "EphemeralVolumeClaim",
  spec: Schema.Struct({ size: Schema.NonEmptyString }),
  // What has been done: a handler that is to see the old value, or that runs once, finds it here.
  status: Schema.Struct({ size: Schema.String, registered: Schema.Boolean })
})

/** kopf's `TemporaryError`; its `PermanentError` is `Reconciler.Terminal`. */
export class Temporary extends Data.TaggedError("Temporary")<{ readonly delay: Duration.Input }> {}

/** What the handlers do elsewhere. */
export class Registry extends Context.Service<Registry, {
  readonly register: (name: string) => Effect.Effect<void, Temporary>
  readonly beat: (name: string) => Effect.Effect<void>
}>()("docs/Registry") {}

const known = Schedule.exponential("1 second").pipe(
  Schedule.setInputType<Reconciler.Retried<Temporary | Sync.NotOurs>>(),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(input?._tag === "Temporary" ? Duration.fromInputUnsafe(input.delay) : duration)
  )
)

export const controller = Controller.make("evc", {
  for: EphemeralVolumeClaim,
  owns: [PersistentVolumeClaim, ConfigMap],
  retry: known,
  // `@kopf.daemon`: lives as long as its object.
  sources: [
    Source.each(
      "heartbeat",
      EphemeralVolumeClaim,
      ({ metadata: { name } }) =>
        Effect.flatMap(Registry, ({ beat }) => Effect.repeat(beat(name), Schedule.spaced("30 seconds"))).pipe(
          Effect.asVoid
        )
    )
  ],

  reconcile: Effect.fn("evc")(function*(claim, { events }) {
    const { metadata: { name }, spec: { size } } = claim
    const registry = yield* Registry
    const { uuidV4 } = yield* SecureRandom.SecureRandom
    let done = claim
    if (done.status?.registered !== true) { // a step that is not repeated
      yield* registry.register(name)
      done = yield* ObjectStatus.write(EphemeralVolumeClaim, done, { size, registered: true })
    }
    const old = done.status?.size
    if (old !== undefined && old !== size) { // `@kopf.on.field("spec.size")`
      yield* events.normal({ reason: "Resized", note: `from ${old} to ${size}` })
    }
    yield* Sync.children(claim, [PersistentVolumeClaim, ConfigMap], [
      Sync.child(PersistentVolumeClaim, {
        metadata: { name },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: size } } }
      }),
      Sync.once(Sync.child(ConfigMap, { // drawn when it is made, and never again
        metadata: { name: `${name}-token` },
        data: { token: yield* uuidV4() }
      }))
    ])
    yield* ObjectStatus.write(EphemeralVolumeClaim, done, { size, registered: true })
    return Action.requeueAfter("10 minutes") // `@kopf.timer`
  })
})
