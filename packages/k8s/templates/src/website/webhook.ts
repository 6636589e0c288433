import { Webhook } from "@effect-operator/k8s"
import { Effect } from "effect"
import { Website } from "./resource.ts"

/** What the API server asks before a Website is written. */
export const webhooks = [
  Webhook.validating(Website, {
    validate: Effect.fnUntraced(function*({ object, old, warn }) {
      if (object.metadata.name.length > 40) {
        return yield* Webhook.deny("metadata.name: must have 40 characters at most, as names of Pods are made of it")
      }
      if (old === undefined && object.metadata.namespace === "default") {
        yield* warn("it is in the namespace default: one of its own would keep it apart from others")
      }
    })
  })
]
