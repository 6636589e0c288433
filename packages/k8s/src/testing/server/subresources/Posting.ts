/**
 * `Posting`: what a POST to a subresource sends and is answered, where nothing is kept of what was sent.
 */
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import { asObject, objectAt } from "../../../api/Plain.ts"
import * as Admission from "../../Admission.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf, subresource } from "../Registry.ts"
import * as Ownership from "../verbs/Ownership.ts"

const success: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

/** The answer to what was done. */
export const created: Exchange.Answer = { _tag: "Plain", status: 201, body: success }

/**
 * What a POST to a subresource sent, after the mutating plugins, and what the others are asked about it: an object of
 * the subresource's own type in the namespace of the request, with an owner as everything that is created.
 */
export const admitted = Effect.fnUntraced(function*(exchange: Exchange.Exchange, options: Exchange.WriteOptions) {
  const { core, resource, route } = exchange
  const sent = yield* Exchange.bodyObject(exchange)
  const { group, kind, version } = subresource(resource, route.subresource) ?? resource
  const typed = asObject({
    ...sent,
    kind,
    apiVersion: apiVersionOf({ group, version }),
    metadata: { ...objectAt(sent, "metadata"), namespace: route.namespace }
  })
  const asked = yield* Ownership.created(
    { ...exchange, resource: { ...resource, group, kind, version } },
    options,
    typed
  )
  const attributes = Admission.attributes(exchange, "CREATE", { object: asked, dryRun: options.dryRun })
  const object = yield* Admission.admit(core, attributes, asked)
  return { attributes: { ...attributes, object }, object }
})
