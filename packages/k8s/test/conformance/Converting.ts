/** What statements about versions share: a kind in two versions, and the webhook that converts it. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Backends from "../../src/testing/Backends.ts"
import type { Backend, Received } from "./Backend.ts"
import { type Answer, Target } from "./Target.ts"

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
export const mergePatch = "application/merge-patch+json"

const asTable = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }

export type Json = { readonly [key: string]: any }

/** A version whose spec knows `x`, a field of its own, and a default of its own. */
export const version = (name: string, storage: boolean, served = true) => ({
  name,
  served,
  storage,
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            x: { type: "integer" },
            [`only${name}`]: { type: "string" },
            [`default${name}`]: { type: "string", default: name }
          }
        }
      }
    }
  },
  subresources: { status: {}, scale: { specReplicasPath: ".spec.x", statusReplicasPath: ".status.x" } }
})

/** A ConversionReview that gives every object its new version, and what else `f` makes of it. */
export const converted = (review: Json, f: (object: Json) => Json = (object) => object): Json => ({
  apiVersion: review["apiVersion"],
  kind: "ConversionReview",
  response: {
    uid: review["request"].uid,
    result: { status: "Success" },
    convertedObjects: review["request"].objects.map((object: Json) =>
      f({ ...object, apiVersion: review["request"].desiredAPIVersion })
    )
  }
})

export const failing = (review: Json): Json => ({
  ...converted(review),
  response: { uid: review["request"].uid, result: { status: "Failure", message: "no way" } }
})

/** What the webhook was asked, without the envelope. */
export const asked = (backend: Backend, from = 0) =>
  backend.received.slice(from).map(({ body }) => {
    const { desiredAPIVersion, objects } = (body as Json)["request"]
    return { desiredAPIVersion: desiredAPIVersion as string, objects: objects as ReadonlyArray<Json> }
  })

/** A kind in two versions and the webhook that converts it; v1 is stored. */
export const converting = Effect.fnUntraced(function*(fields: Json = {}) {
  const { backend, namespace, request, unique, until } = yield* Target
  const ns = yield* namespace
  let answer: (review: Json, received: Received) => unknown = (review) => converted(review)
  let raw: Backends.Handler | undefined
  const webhook = yield* backend((received) =>
    raw === undefined
      ? Backends.answering((body) => answer(body as Json, received))(received)
      : raw(received)
  )
  const group = `${unique("g")}.example.com`
  const name = `widgets.${group}`
  const made = yield* request("POST", definitions, {
    body: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [version("v1", true), version("v2", false)],
        conversion: {
          strategy: "Webhook",
          webhook: {
            conversionReviewVersions: ["v1", "v1beta1"],
            clientConfig: { url: `${webhook.url}/convert`, caBundle: webhook.caBundle }
          }
        },
        ...fields
      }
    }
  })
  assert.strictEqual(made.status, 201, JSON.stringify(made.body))
  const path = (of: string, object?: string) =>
    `/apis/${group}/${of}/namespaces/${ns}/widgets${object === undefined ? "" : `/${object}`}`
  yield* until(request("GET", path("v2")), ({ status }) => status === 200)
  return {
    group,
    ns,
    path,
    webhook,
    definition: `${definitions}/${name}`,
    widget: (of: string, name: string, fields: Json = {}) => ({
      apiVersion: `${group}/${of}`,
      kind: "Widget",
      metadata: { name },
      spec: { x: 1 },
      ...fields
    }),
    answers: (f: typeof answer) => {
      answer = f
      raw = undefined
    },
    answersRaw: (handler: Backends.Handler) => {
      raw = handler
    },
    /** Changes the definition and waits until it is served so: a column of tables shows which one is. */
    redefine: Effect.fnUntraced(function*(spec: Json) {
      const { object } = yield* request("GET", `${definitions}/${name}`)
      const column = unique("column")
      const additionalPrinterColumns = [{ name: column, type: "string", jsonPath: ".spec.none" }]
      const versions: ReadonlyArray<Json> = spec["versions"] ?? object["spec"].versions
      const answer = yield* request("PATCH", `${definitions}/${name}`, {
        contentType: mergePatch,
        body: { spec: { ...spec, versions: versions.map((of) => ({ ...of, additionalPrinterColumns })) } }
      })
      // Where there are no objects nothing is converted.
      const stored = versions.find(({ storage }) => storage)!["name"]
      yield* until(
        request("GET", `/apis/${group}/${stored}/namespaces/${unique("none")}/widgets`, { headers: asTable }),
        ({ object }) => object["columnDefinitions"]?.some((found: Json) => found["name"] === column)
      )
      return answer
    })
  }
})

/** The message of a 500 without reason and details. */
export const failed = (answer: Answer): string => {
  assert.strictEqual(answer.status, 500, JSON.stringify(answer.body))
  assert.notProperty(answer.body, "reason")
  assert.notProperty(answer.body, "details")
  return answer.error.message!
}
