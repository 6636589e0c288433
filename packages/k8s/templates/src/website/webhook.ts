import { Webhook } from "@effect-operator/k8s"
import { Effect } from "effect"
import { Website } from "./resource.ts"

/** The API server calls these before a Website is written. */
export const webhooks = [
  Webhook.validating(Website, {
    validate: Effect.fnUntraced(function*({ object, old, warn }) {
      if (object.metadata.name.length > 40) {
        return yield* Webhook.deny("metadata.name: must be at most 40 characters: Pod names are derived from it")
      }
      if (old === undefined && object.metadata.namespace === "default") {
        yield* warn("it is in the namespace default: give it a namespace of its own to keep it apart from others")
      }
    })
  })
]
