/** `Posting`: POST requests to subresources that store nothing of what was sent. */
import type { Status } from "@effect-operator/core/Status"
import * as Effect from "effect/Effect"
import { asObject, objectAt } from "../../../api/Plain.ts"
import * as Admission from "../../Admission.ts"
import * as Exchange from "../Exchange.ts"
import { apiVersionOf, subresource } from "../Registry.ts"
import * as Ownership from "../verbs/Ownership.ts"

const success: Status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }

/** The response to a successful request. */
export const created: Exchange.Answer = { _tag: "Plain", status: 201, body: success }

/**
 * The object of a POST to a subresource after mutating admission, and the attributes for validating admission: an
 * object of the subresource's type in the namespace of the request, with managedFields like every created object.
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
