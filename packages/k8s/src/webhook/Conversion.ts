/**
 * `Conversion`: decodes and answers a `ConversionReview` of apiextensions.k8s.io/v1.
 *
 * Either all objects of a review are converted or none: the first failure fails the review, and names the object. An
 * object that is already in the desired version is returned unchanged. Name, namespace, uid and all other metadata
 * except labels and annotations belong to the server, which refuses changes to them: they are restored if a conversion
 * changed them.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 (ConversionReview), pkg/apiserver/conversion.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { isObject, type JsonObject } from "./Review.ts"

export const apiVersion = "apiextensions.k8s.io/v1"
export const kind = "ConversionReview"

export interface Asked {
  readonly uid: string
  readonly desiredApiVersion: string
  readonly objects: ReadonlyArray<KubeObject>
}

/** The request of a review, or what is wrong with it. */
export const parse = (review: unknown): Result.Result<Asked, string> => {
  if (!isObject(review) || review["kind"] !== kind) return Result.fail(`the body is not a ${kind}`)
  if (review["apiVersion"] !== apiVersion) {
    return Result.fail(`apiVersion: ${JSON.stringify(review["apiVersion"])}: must be ${apiVersion}`)
  }
  const { request } = review
  if (!isObject(request)) return Result.fail("request: missing")
  const { desiredAPIVersion, objects, uid } = request
  if (typeof uid !== "string" || uid === "") return Result.fail("request.uid: missing")
  if (typeof desiredAPIVersion !== "string" || desiredAPIVersion === "") {
    return Result.fail("request.desiredAPIVersion: missing")
  }
  const all: ReadonlyArray<unknown> = Array.isArray(objects) ? objects : []
  const strange = all.findIndex((object) => !isObject(object) || !isObject(object["metadata"]))
  if (strange >= 0) return Result.fail(`request.objects[${strange}]: is not an object with metadata`)
  return Result.succeed({ uid, desiredApiVersion: desiredAPIVersion, objects: all as ReadonlyArray<KubeObject> })
}

/** Converts all objects of a review. Never fails: the response reports a failed conversion. */
export const answer = <E, R>(
  { desiredApiVersion, objects, uid }: Asked,
  convert: (object: KubeObject, desired: string) => Effect.Effect<KubeObject, E, R>
): Effect.Effect<JsonObject, never, R> => {
  const respond = (response: JsonObject): JsonObject => ({ kind, apiVersion, response: { uid, ...response } })
  const one = (object: KubeObject): Effect.Effect<unknown, Unconverted, R> =>
    object.apiVersion === desiredApiVersion ?
      Effect.succeed(object) :
      Effect.suspend(() => convert(object, desiredApiVersion)).pipe(
        Effect.map((converted) => restored(object, converted, desiredApiVersion)),
        Effect.catchCause((cause) => Effect.fail<Unconverted>({ object, cause }))
      )
  return Effect.forEach(objects, one).pipe(
    Effect.map((convertedObjects) => respond({ convertedObjects, result: { status: "Success" } })),
    Effect.catch(({ cause, object }) => {
      const why = messageOf(Cause.squash(cause))
      const { name, namespace } = object.metadata
      const message = `${object.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}: ${why}`
      return Effect.as(
        Effect.logError(`conversion from ${object.apiVersion} to ${desiredApiVersion} failed: ${message}`, cause),
        respond({ result: { status: "Failure", message } })
      )
    })
  )
}

/** An object that could not be converted, and why. */
interface Unconverted {
  readonly object: KubeObject
  readonly cause: Cause.Cause<unknown>
}

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const restored = (original: KubeObject, converted: KubeObject, apiVersion: string): JsonObject => {
  const { annotations: _, labels: __, ...metadata } = original.metadata
  const { annotations, labels } = converted.metadata ?? {}
  return {
    ...converted,
    apiVersion,
    kind: original.kind,
    metadata: {
      ...metadata,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations })
    }
  }
}
