/**
 * `ConversionProof`: tests that every object of a kind can be converted to every other version and back without loss.
 *
 * The API server converts an object to the version that a client requests, and stores what that client writes back.
 * Whatever a conversion changes or drops is lost. So this generates objects from the Schemas of each version, spec and
 * status, and converts them to each other version, where they must match its Schema, and back, where they must equal
 * the original. The same seed generates the same objects.
 *
 * ```ts
 * it.effect("no conversion loses anything", () => ConversionProof.prove(WebsiteVersions))
 * ```
 *
 * Generated objects are only as precise as the Schema: a conversion that parses a string as a number needs a Schema
 * that says it is one.
 */
import type { CustomResource } from "@effect-operator/core/CustomResource"
import * as CustomResourceVersions from "@effect-operator/core/CustomResourceVersions"
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as JsonValue from "../schema/JsonValue.ts"
import * as Samples from "./internal/Samples.ts"

export const defaults = {
  /** Objects per version. */
  count: 1000,
  seed: 1,
  /** The maximum length of strings and lists in the objects. */
  size: 8
} as const

export interface Options {
  readonly count?: number | undefined
  readonly seed?: number | undefined
}

/**
 * A conversion failed, returned an object that is invalid in the other version, or changed an object on the way back.
 */
export class ConversionLoses extends Data.TaggedError("ConversionLoses")<{ readonly message: string }> {}

/** Fails with the first object that is not preserved, as JSON, and what it became. */
export const prove = (
  versions: CustomResourceVersions.CustomResourceVersions,
  { count = defaults.count, seed = defaults.seed }: Options = {}
): Effect.Effect<void, ConversionLoses> =>
  Effect.forEach(
    versions.versions,
    (from) =>
      Effect.suspend(() =>
        Effect.forEach(drawn(from, { count, seed, size: defaults.size }), (object) =>
          Effect.forEach(versions.versions, (to) => {
            const fault = from === to ? undefined : faultOf(versions, object, from, to)
            return fault === undefined ? Effect.void : Effect.fail(
              new ConversionLoses({
                message: `${from.kind} from ${from.version} to ${to.version} (${count} objects, seed ${seed}): ` +
                  `${fault}\n  ${from.version}: ${contentOf(object)}`
              })
            )
          }, { discard: true }), { discard: true })
      ),
    { discard: true }
  )

/** Generated objects of a version, as they are stored. One in four has no status. */
const drawn = (resource: CustomResource, options: Samples.Options): ReadonlyArray<KubeObject> => {
  const { spec, status } = resource.schemas
  const statuses = status === undefined ? [] : Samples.of(status, options)
  return Samples.of(spec, options).map((spec, i) => {
    const object = {
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata: { name: "drawn", ...(resource.scope === "Namespaced" ? { namespace: "default" } : {}) },
      spec,
      ...(statuses[i] === undefined || i % 4 === 0 ? {} : { status: statuses[i] })
    }
    return JSON.parse(JSON.stringify(Result.getOrThrow(resource.encode(object as never)))) as KubeObject
  })
}

const faultOf = (
  versions: CustomResourceVersions.CustomResourceVersions,
  object: KubeObject,
  from: CustomResource,
  to: CustomResource
): string | undefined => {
  const there = CustomResourceVersions.convert(versions, object, to.apiVersion)
  if (Result.isFailure(there)) return `the object cannot be converted: ${there.failure}`
  const known = to.decode(there.success)
  if (Result.isFailure(known)) {
    return `the converted object is not valid in ${to.version}: ${known.failure.issues.join("; ")}${
      shown(to, there.success)
    }`
  }
  const back = CustomResourceVersions.convert(versions, there.success, from.apiVersion)
  if (Result.isFailure(back)) return `the object cannot be converted back: ${back.failure}${shown(to, there.success)}`
  return JsonValue.equals(back.success, object)
    ? undefined
    : `the object is different after conversion there and back${shown(to, there.success)}\n  back: ${
      contentOf(back.success)
    }`
}

const shown = ({ version }: CustomResource, object: KubeObject): string => `\n  ${version}: ${contentOf(object)}`

const contentOf = (object: KubeObject): string => {
  const { apiVersion: _, kind: __, metadata: ___, ...content } = object
  return JSON.stringify(content)
}
