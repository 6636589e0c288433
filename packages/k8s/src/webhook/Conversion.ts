/**
 * `Conversion`: the wire form of conversion, `ConversionReview` of apiextensions.k8s.io/v1, read and answered.
 *
 * Every object of a review is converted or none: the first that cannot be fails the review, and says which it was. What
 * is in the desired version already is given back as it is. Name, namespace, uid and the other metadata but labels and
 * annotations are the server's: they are put back if a conversion touched them, since the server refuses anything else.
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

/** The question of a review, or what is wrong with it. */
export const parse = (review: unknown): Result.Result<Asked, string> => {
  if (!isObject(review) || review["kind"] !== kind) return Result.fail(`the body is no ${kind}`)
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
  if (strange >= 0) return Result.fail(`request.objects[${strange}]: is no object`)
  return Result.succeed({ uid, desiredApiVersion: desiredAPIVersion, objects: all as ReadonlyArray<KubeObject> })
}

/** Converts all of a review. Never fails: what cannot be converted is told in the answer. */
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
        Effect.catchCause((cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause as Cause.Cause<never>)
            : Effect.fail<Unconverted>({ object, cause })
        )
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

/** An object that stays what it was, and why. */
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
