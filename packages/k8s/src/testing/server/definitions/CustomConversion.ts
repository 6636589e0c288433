/**
 * `CustomConversion`: converts custom objects between their stored form and a version.
 *
 * An object from the store is first pruned and defaulted by the schema of the version it was stored in. Then it is
 * converted and pruned by the schema of the requested version, without applying that version's defaults. On its way to
 * the store an object is only converted and pruned. So a field that the storage version lacks is lost, whatever the
 * strategy.
 *
 * The strategy None changes only the apiVersion and is a plain function here. A webhook is called for every object (see
 * `ConversionWebhook`), unless its previous result for the same stored object may be reused.
 *
 * Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (`crdConversionRESTOptionsGetter`) and
 * pkg/apiserver/conversion/converter.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { arrayAt, asObject, at, freeze, objectAt, stringAt } from "../../../api/Plain.ts"
import * as StatusError from "../../../api/StatusError.ts"
import { withoutNulls } from "../../../schema/Defaulting.ts"
import * as ServedDefaults from "../../../schema/ServedDefaults.ts"
import * as StructuralSchema from "../../../schema/StructuralSchema.ts"
import { withApiVersion } from "../Conversion.ts"
import type { Conversion } from "../Registry.ts"
import type { Convert } from "./ConversionWebhook.ts"

/** The conversions of one definition. */
export interface Converter {
  readonly storageVersion: string
  /** Converts an object by way of the storage version, without pruning and defaulting. */
  readonly convert: Convert
  /** The conversion of a version. */
  readonly of: (version: string) => Conversion
}

type Pure = (object: KubeObject) => KubeObject

/** A function of stored objects that is called once for each. */
const memoized = (f: Pure): Pure => {
  const known = new WeakMap<KubeObject, KubeObject>()
  return (stored) => {
    let shown = known.get(stored)
    if (shown === undefined) known.set(stored, shown = f(stored))
    return shown
  }
}

/**
 * The conversions of a definition. `convert` is its webhook; without one, objects only change their apiVersion. With
 * `strays`, some objects are stored in versions that the definition no longer has, so reading them fails.
 */
export const make = (definition: KubeObject, convert: Convert | undefined, strays: boolean): Converter => {
  const group = stringAt(definition, "spec", "group")
  const versions = arrayAt(definition, "spec", "versions")
  const storageVersion = stringAt(versions.find((version) => at(version, "storage") === true), "name")
  const schemas = new Map(versions.map((version) => [
    `${group}/${stringAt(version, "name")}`,
    ServedDefaults.of(objectAt(version, "schema", "openAPIV3Schema"))
  ]))
  const storage = `${group}/${storageVersion}`

  const schemaOf = (object: KubeObject) => schemas.get(object.apiVersion) ?? {}
  /** Pruned and defaulted by the version it was stored in. */
  const read = memoized((stored) => {
    const schema = schemaOf(stored)
    const read = freeze(
      asObject(StructuralSchema.applyDefaults(schema, StructuralSchema.prune(schema, stored)) as object)
    )
    StructuralSchema.settle(schema, read)
    return read
  })
  /** A converted object, pruned by its new version. */
  const fitted: Pure = (converted) => {
    const schema = schemaOf(converted)
    return asObject(withoutNulls(schema, StructuralSchema.prune(schema, converted)) as object)
  }

  const local = (own: string): Conversion => ({
    _tag: "Local",
    fromStorage: memoized((stored) => {
      const object = read(stored)
      return object.apiVersion === own ? object : freeze(fitted(withApiVersion(object, own)))
    }),
    toStorage: (object) => own === storage ? object : fitted(withApiVersion(object, storage))
  })

  const remote = (own: string, ask: Convert): Conversion => {
    const known = new WeakMap<KubeObject, KubeObject>()
    const remembered = (stored: KubeObject): KubeObject | undefined =>
      stored.apiVersion === own ? read(stored) : known.get(stored)
    const asked = Effect.fnUntraced(function*(stored: KubeObject) {
      if (!schemas.has(stored.apiVersion)) {
        const why = `request to convert CR from an invalid group/version: ${stored.apiVersion}`
        return yield* Effect.fail(StatusError.plain(why))
      }
      const shown = freeze(fitted(yield* ask(read(stored), own)))
      known.set(stored, shown)
      return shown
    })
    return {
      _tag: "Effectful",
      remembered,
      fromStorage: (stored, fresh) => {
        const ready = fresh ? [] : stored.map(remembered).filter((object) => object !== undefined)
        return ready.length === stored.length ? Effect.succeed(ready) : Effect.forEach(stored, (object) => {
          const before = fresh && object.apiVersion !== own ? undefined : remembered(object)
          return before === undefined ? asked(object) : Effect.succeed(before)
        })
      },
      toStorage: (object) => own === storage ? Effect.succeed(object) : Effect.map(ask(object, storage), fitted)
    }
  }

  const relabel: Convert = (object, desired) => Effect.succeed(withApiVersion(object, desired))
  const step = convert ?? relabel
  const through: Convert = Effect.fnUntraced(function*(object: KubeObject, desired: string) {
    if (object.apiVersion === desired) return object
    const hub = object.apiVersion === storage ? object : yield* step(object, storage)
    if (desired === storage) return hub
    const fault = unsuitable(hub, desired)
    return yield* fault === undefined ? step(hub, desired) : Effect.fail(StatusError.plain(fault))
  })
  const unsuitable = ({ kind }: KubeObject, desired: string): string | undefined =>
    schemas.has(desired)
      ? undefined
      : desired.startsWith(`${group}/`)
      ? `request to convert CR to an invalid group/version: ${desired}`
      : `${storage}, Kind=${kind} is unstructured and is not suitable for converting to ${JSON.stringify(desired)}`
  return {
    storageVersion,
    convert: through,
    of: (version) => {
      const own = `${group}/${version}`
      return convert === undefined && !strays ? local(own) : remote(own, convert ?? relabel)
    }
  }
}
