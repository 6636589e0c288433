/**
 * `ConversionWebhook`: converts one object to another version with the webhook that its definition names.
 *
 * A call contains one object, as with a real server, although a ConversionReview could contain several: every object is
 * converted separately on its way from or to the store. Any failure is a 500 with its reason. Only labels and
 * annotations are taken from the returned metadata; name, namespace and uid must not change.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go; compared with 1.20.2.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { validateAnnotations, validateLabels } from "../../../api/MetadataRules.ts"
import * as Negotiation from "../../../api/Negotiation.ts"
import { arrayAt, asObject, at, copy, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as GoValue from "../../../schema/GoValue.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as Backends from "../../Backends.ts"
import * as Redirects from "../../http/Redirects.ts"
import * as RestReply from "../../http/RestReply.ts"
import { uuid } from "../Exchange.ts"

/** Converts an object to another apiVersion. */
export type Convert = (object: KubeObject, desired: string) => Effect.Effect<KubeObject, StatusError.StatusError>

const group = "apiextensions.k8s.io"
const known = ["v1", "v1beta1"]

const fields: RestReply.Wanted["fields"] = [
  { path: "response", is: "object", struct: "ConversionReview", type: "v1.ConversionResponse" },
  { path: "response.uid", is: "string", struct: "ConversionResponse", type: "types.UID" },
  { path: "response.convertedObjects", is: "array", struct: "ConversionResponse", type: "[]runtime.RawExtension" },
  { path: "response.result", is: "object", struct: "ConversionResponse", type: "v1.Status" },
  { path: "response.result.status", is: "string", struct: "Status", type: "string" },
  { path: "response.result.message", is: "string", struct: "Status", type: "string" }
]

/** Why the conversion failed. */
type Fault = string

const kindOf = ({ apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown }): string =>
  `${String(apiVersion ?? "")}, Kind=${String(kind ?? "")}`

/** The object that the webhook returned, or why the response is invalid. */
const responded = (
  review: JsonValue.JsonObject,
  version: string,
  uid: string
): Result.Result<ReadonlyArray<unknown>, Fault> => {
  const response = at(review, "response") ?? undefined
  // v1beta1 does not check these fields of the response.
  if (version === "v1") {
    const expected = `${group}/v1, Kind=ConversionReview`
    const { apiVersion = "/", kind } = review
    if (kindOf({ apiVersion, kind }) !== expected) {
      return Result.fail(` failed: expected webhook response of ${expected}, got ${kindOf({ apiVersion, kind })}`)
    }
  }
  if (response === undefined) return Result.fail(" failed: no response provided")
  const answered = stringAt(response, "uid")
  if (version === "v1" && answered !== uid) {
    return Result.fail(
      ` failed: expected response.uid=${FieldError.quote(uid)}, got ${FieldError.quote(answered)}`
    )
  }
  const status = stringAt(response, "result", "status")
  if (status !== "Success") {
    const message = stringAt(response, "result", "message") || `response.result.status was '${status}', not 'Success'`
    return Result.fail(` failed: ${message}`)
  }
  const objects = arrayAt(response, "convertedObjects")
  return objects.length === 1 ? Result.succeed(objects) : Result.fail(` returned ${objects.length} objects, expected 1`)
}

/** The faults of labels or annotations that the webhook changed. */
const changeFaults = (field: "labels" | "annotations", next: Readonly<Record<string, string>>, before: unknown) =>
  JsonValue.equals(next, before ?? {})
    ? []
    : field === "labels"
    ? validateLabels(next, "metadata.labels")
    : validateAnnotations(next, "metadata.annotation")

/** The metadata of the object with the labels and annotations of the converted one. */
const restored = (
  original: KubeObject,
  converted: JsonValue.JsonObject
): Result.Result<KubeObject["metadata"], Fault> => {
  if (!JsonValue.has(converted, "metadata")) return Result.fail("missing metadata in converted object")
  const answered = converted["metadata"]
  if (!JsonValue.isObject(answered)) {
    return Result.fail(`invalid metadata of type ${GoValue.typeName(answered)} in converted object`)
  }
  const { annotations: _, labels: __, ...metadata } = original.metadata
  let next: KubeObject["metadata"] = metadata
  for (const field of ["labels", "annotations"] as const) {
    const value = JsonValue.get(answered, field) ?? undefined
    if (value === undefined) continue
    if (!JsonValue.isObject(value)) {
      return Result.fail(`invalid metadata.${field} of type ${GoValue.typeName(value)} in converted object`)
    }
    const strange = Object.entries(value).find(([, text]) => typeof text !== "string")
    if (strange !== undefined) {
      const [key, text] = strange
      const type = GoValue.typeName(text)
      return Result.fail(`metadata.${field}[${key}] must be a string, but is ${type} in converted object`)
    }
    const texts = value as Readonly<Record<string, string>>
    const faults = changeFaults(field, texts, original.metadata[field])
    if (faults.length > 0) return Result.fail(FieldError.aggregate(faults))
    next = { ...next, [field]: texts }
  }
  return Result.succeed(next)
}

const identity: ReadonlyArray<readonly [name: string, path: ReadonlyArray<string>]> = [
  ["name", ["metadata", "name"]],
  ["namespace", ["metadata", "namespace"]],
  ["UID", ["metadata", "uid"]]
]

/** Why a value is not an object at all; the message does not mention the webhook. */
const shapeFault = (value: unknown): string | undefined => {
  if (value === null || value === undefined) return "unexpected end of JSON input"
  if (!JsonValue.isObject(value)) {
    return `json: cannot unmarshal ${Negotiation.jsonType(value)} into Go value of type map[string]interface {}`
  }
  return stringAt(value, "kind") === "" ? `Object 'Kind' is missing in '${FieldError.goJson(value)}'` : undefined
}

/** The converted object, validated against the original. */
const accepted = (
  original: KubeObject,
  desired: string,
  converted: JsonValue.JsonObject
): Result.Result<KubeObject, Fault> => {
  const { apiVersion = "", kind } = converted
  if (apiVersion !== desired) {
    return Result.fail(
      ` returned invalid object at index 0: invalid groupVersion (expected ${desired}, received ${String(apiVersion)})`
    )
  }
  if (kind !== original.kind) {
    return Result.fail(
      ` returned invalid object at index 0: invalid kind (expected ${original.kind}, received ${String(kind)})`
    )
  }
  for (const [name, path] of identity) {
    const [own, other] = [stringAt(original, ...path), stringAt(converted, ...path)]
    if (own !== other) return Result.fail(` returned invalid object: must have the same ${name}: ${own} != ${other}`)
  }
  return Result.mapBoth(restored(original, converted), {
    onFailure: (fault) => ` returned invalid metadata: ${fault}`,
    onSuccess: (metadata) => asObject({ ...converted, metadata })
  })
}

/** Without the fields that only the store sets. */
const unversioned = (object: KubeObject): JsonValue.JsonObject => {
  const { resourceVersion: _, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** The converter of a definition with the strategy Webhook. */
export const make = (definition: KubeObject, calls: Backends.Calls): Convert => {
  const webhook = objectAt(definition, "spec", "conversion", "webhook")
  const version = arrayAt(webhook, "conversionReviewVersions").map(String).find((name) => known.includes(name))
  const config = webhook["clientConfig"]
  const to = Backends.targetOf(config)
  const caBundle = stringAt(config, "caBundle").trim()
  return Effect.fnUntraced(function*(object: KubeObject, desired: string) {
    if (version === undefined) return yield* Effect.fail(StatusError.plain("no supported conversion review versions"))
    const random = yield* Random.Random
    const uid = uuid(() => random.nextDoubleUnsafe())
    const fail = (fault: Fault) => Effect.fail(StatusError.plain(`conversion webhook for ${kindOf(object)}${fault}`))
    const reply = yield* Redirects.call(calls, {
      target: to,
      ...(caBundle === "" ? {} : { caBundle }),
      method: "POST",
      query: [["timeout", "30s"]],
      headers: {
        accept: "application/json, */*",
        "content-type": "application/json",
        "user-agent": "kube-apiserver-admission"
      },
      body: copy({
        kind: "ConversionReview",
        apiVersion: `${group}/${version}`,
        request: { uid, desiredAPIVersion: desired, objects: [unversioned(object)] },
        response: { uid: "", convertedObjects: null, result: { metadata: {} } }
      }),
      timeout: "30 seconds"
    }).pipe(Effect.catch((failure) => {
      const late = failure.error === Backends.deadlineExceeded
      return fail(` failed: ${failure.message}${late ? " (Client.Timeout exceeded while awaiting headers)" : ""}`)
    }))
    const others = known.filter((name) => name !== version)
    const review = RestReply.read(reply, { group, version, others, kind: "ConversionReview", fields })
    if (Result.isFailure(review)) return yield* fail(` failed: ${review.failure}`)
    const converted = responded(review.success, version, uid)
    if (Result.isFailure(converted)) return yield* fail(converted.failure)
    const [answer] = converted.success
    const shape = shapeFault(answer)
    if (shape !== undefined) return yield* Effect.fail(StatusError.plain(shape))
    const result = accepted(object, desired, copy(answer) as JsonValue.JsonObject)
    return Result.isFailure(result) ? yield* fail(result.failure) : result.success
  })
}
