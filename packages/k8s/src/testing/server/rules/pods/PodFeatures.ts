/**
 * `PodFeatures`: drops fields from the spec of a Pod or template whose features are off in 1.35.
 *
 * Source: k8s.io/kubernetes/pkg/api/pod/util.go (`dropDisabledFields`).
 */
import { objectAt } from "../../../../api/Plain.ts"
import * as JsonValue from "../../../../schema/JsonValue.ts"
import type { Strategy } from "../../Strategy.ts"
import { type Filled, map } from "../../defaults/Filling.ts"
import * as Disabled from "../Disabled.ts"

const withoutFields = Disabled.dropping(
  "workloadRef",
  "volumes.*.projected.sources.*.clusterTrustBundle",
  "volumes.*.projected.sources.*.podCertificate"
)

const hasSignal = (container: unknown): boolean => objectAt(container, "lifecycle")["stopSignal"] !== undefined

/** Drops the stop signal of a container, and its lifecycle if that contained nothing else. */
const withoutSignal = (container: unknown): unknown => {
  if (!hasSignal(container)) return container
  const { stopSignal: _, ...lifecycle } = objectAt(container, "lifecycle")
  const { lifecycle: __, ...rest } = objectAt(container)
  return Object.keys(lifecycle).length === 0 ? rest : { ...rest, lifecycle }
}

const kindsOfContainers = ["initContainers", "containers", "ephemeralContainers"]

/** The spec of a Pod without the fields of features that are off; the same object if there are none. */
export const keptOf = (spec: Filled): Filled =>
  kindsOfContainers.filter((kind) => {
    const containers = spec[kind]
    return Array.isArray(containers) && containers.some(hasSignal)
  }).reduce((kept, kind) => map(kept, kind, withoutSignal), withoutFields(spec as JsonValue.JsonObject) as Filled)

const keptAt = (object: JsonValue.JsonObject, [step, ...steps]: ReadonlyArray<string>): JsonValue.JsonObject => {
  if (step === undefined) return keptOf(object) as JsonValue.JsonObject
  const inner = object[step]
  if (!JsonValue.isObject(inner)) return object
  const kept = keptAt(inner, steps)
  return kept === inner ? object : { ...object, [step]: kept }
}

/** Adds this to a strategy for objects with a Pod spec at a path. */
export const within = (strategy: Partial<Strategy>, ...path: ReadonlyArray<string>): Partial<Strategy> => {
  const { prepareCreate, prepareUpdate } = strategy
  const kept = (object: JsonValue.JsonObject) => keptAt(object, path)
  return {
    ...strategy,
    prepareCreate: (object, pool) => prepareCreate?.(kept(object), pool) ?? kept(object),
    prepareUpdate: (object, previous, pool) => prepareUpdate?.(kept(object), previous, pool) ?? kept(object)
  }
}
