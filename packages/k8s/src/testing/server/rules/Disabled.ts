/**
 * `Disabled`: fields whose feature gate is off in this release. They are decoded, tracked in managedFields and not
 * reported as unknown, but dropped before validation.
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

/**
 * Removes the values at the paths, in which `*` stands for every item of a list. Returns the same object if there are
 * none.
 */
export const dropping = (...paths: ReadonlyArray<string>): (object: JsonValue.JsonObject) => JsonValue.JsonObject => {
  const steps = paths.map((path) => path.split("."))
  return (object) => steps.reduce((kept, path) => drop(kept, path) as JsonValue.JsonObject, object)
}

/** A strategy that drops the values at the paths. */
export const without = (...paths: ReadonlyArray<string>): Pick<Strategy, "prepareCreate" | "prepareUpdate"> => {
  const prepare = dropping(...paths)
  return { prepareCreate: (object) => prepare(object), prepareUpdate: (object) => prepare(object) }
}
