/** A kind with webhooks, and what their tests have in common. */
import { CustomResource } from "@effect-operator/core"
import { Effect, Schema } from "effect"
import * as Webhook from "../../src/Webhook.ts"

export const Database = CustomResource.make({
  group: "shop.example.com",
  version: "v1",
  kind: "Database",
  spec: Schema.Struct({
    size: Schema.Int,
    engine: Schema.optionalKey(Schema.Literals(["pg", "my"])),
    replicas: Schema.optionalKey(Schema.Int)
  }),
  status: Schema.Struct({ ready: Schema.Boolean })
})
export type Database = typeof Database.Type

/** The server's question about an object that is made, or changed from what it was. */
export const review = (object: object, oldObject?: object) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "u",
    name: "a",
    operation: oldObject === undefined ? "CREATE" : "UPDATE",
    object,
    oldObject: oldObject ?? null,
    userInfo: { username: "jane" }
  }
})

/** A database may not shrink nor be named `forbidden`, gets an engine, and goes only if it is empty. */
export const hooks = [
  Webhook.mutating(Database, {
    mutate: ({ object }) =>
      Effect.succeed(
        object.spec.engine === undefined
          ? {
            ...object,
            metadata: {
              ...object.metadata,
              annotations: { ...object.metadata.annotations, "example.com/engine": "defaulted" }
            },
            spec: { ...object.spec, engine: "pg" as const }
          }
          : object
      )
  }),
  Webhook.validating(Database, {
    operations: ["CREATE", "UPDATE", "DELETE"],
    validate: Effect.fnUntraced(function*(request) {
      if (request.operation === "DELETE") {
        return (request.old?.spec.size ?? 0) > 10 ? yield* Webhook.deny("it is not empty") : undefined
      }
      const { object, old, user, warn } = request
      yield* request.audit("seen", user.username)
      if (object.spec.size === 13) yield* warn("13 is\nunlucky")
      if (object.spec.size === 666) return yield* Effect.fail("the oracle is away")
      if (object.spec.size === 667) return yield* Effect.die(new Error("a bug"))
      if (object.spec.size === 668) return yield* Effect.never
      if (object.spec.size === 669) return yield* Effect.interrupt
      if (object.spec.size < (old?.spec.size ?? 0)) {
        return yield* Webhook.deny("a database may not shrink", {
          causes: [{ field: "spec.size", message: `must be ${old?.spec.size} at least` }]
        })
      }
      if (object.metadata.name === "forbidden") return yield* Webhook.deny("no such name")
    })
  })
]

export const service = { namespace: "shop", name: "webhooks" }
