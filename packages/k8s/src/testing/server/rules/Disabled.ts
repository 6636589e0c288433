/**
 * `Disabled`: fields that a release knows and, as long as nobody asks for what they belong to, does not keep. They are
 * read, owned and not told of as unknown, and are gone before the object is judged.
 *
 * Source: k8s.io/kubernetes/pkg/features/kube_features.go, and `dropDisabledFields` of each kind's strategy.
 */
import * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"

const drop = (value: unknown, [step, ...steps]: ReadonlyArray<string>): unknown => {
  if (step === "*") return Array.isArray(value) ? JsonValue.mapArray(value, (item) => drop(item, steps)) : value
  if (step === undefined || !JsonValue.isObject(value) || value[step] === undefined) return value
  if (steps.length === 0) return JsonValue.remove(value, step)
  const kept = drop(value[step], steps)
  return kept === value[step] ? value : { ...value, [step]: kept }
}

/** An object without what is at the paths, in which `*` is every element of a list; the same if there is nothing. */
export const dropping = (...paths: ReadonlyArray<string>): (object: JsonValue.JsonObject) => JsonValue.JsonObject => {
  const steps = paths.map((path) => path.split("."))
  return (object) => steps.reduce((kept, path) => drop(kept, path) as JsonValue.JsonObject, object)
}

/** How a kind is prepared without what is at the paths. */
export const without = (...paths: ReadonlyArray<string>): Pick<Strategy, "prepareCreate" | "prepareUpdate"> => {
  const prepare = dropping(...paths)
  return { prepareCreate: (object) => prepare(object), prepareUpdate: (object) => prepare(object) }
}
