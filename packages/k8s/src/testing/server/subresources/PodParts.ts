/**
 * `PodParts`: the parts of a Pod that its subresources `ephemeralcontainers` and `resize` write, and how they may
 * change.
 *
 * All other fields of the body are ignored.
 *
 * Source: k8s.io/kubernetes/pkg/registry/core/pod/strategy.go and pkg/apis/core/validation/validation.go
 * (`ValidatePodEphemeralContainersUpdate`, `ValidatePodResize`).
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import * as JsonValue from "../../../schema/JsonValue.ts"
import * as PodResources from "../PodResources.ts"
import type { Strategy } from "../Strategy.ts"
import { qosClass } from "../defaults/Defaults.ts"
import { type Faults, when } from "../rules/Checks.ts"
import { omit } from "../rules/Immutability.ts"

type Object_ = JsonValue.JsonObject

/** The part of a strategy that differs for these subresources. */
type Part = Pick<Strategy, "prepareUpdate" | "validateUpdate">

const descriptive = ["labels", "annotations", "finalizers", "ownerReferences"]

const withSpec = (next: Object_, previous: KubeObject, spec: Object_): Object_ => {
  const kept = Object.fromEntries(
    descriptive.flatMap((key) => {
      const value = at(previous, "metadata", key)
      return value === undefined ? [] : [[key, value]]
    })
  )
  return {
    ...previous,
    metadata: { ...omit(objectAt(next, "metadata"), ...descriptive), ...kept },
    spec: { ...objectAt(previous, "spec"), ...spec }
  }
}

/** Whether a Pod is the mirror of a static Pod, which belongs to its node. */
const isStatic = (pod: KubeObject): boolean => pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined

/** Ephemeral containers can be added, but neither changed nor removed. */
export const ephemeralContainers: Part = {
  prepareUpdate: (next, previous) => {
    const [added, before] = [next, previous].map((pod) => arrayAt(pod, "spec", "ephemeralContainers"))
    // An empty list equals a missing one.
    return withSpec(next, previous, added!.length + before!.length === 0 ? {} : { ephemeralContainers: added })
  },
  validateUpdate: (next, previous) => {
    if (isStatic(previous)) return [FieldError.forbidden("[]", "static pods do not support ephemeral containers")]
    const present = arrayAt(next, "spec", "ephemeralContainers")
    return arrayAt(previous, "spec", "ephemeralContainers").flatMap((old) => {
      const name = stringAt(old, "name")
      const found = present.find((one) => stringAt(one, "name") === name)
      const what = `existing ephemeral containers ${FieldError.quote(name)} may not be`
      return found === undefined
        ? [FieldError.forbidden("spec.ephemeralContainers", `${what} removed\n`)]
        : JsonValue.equals(found, old)
        ? []
        : [FieldError.forbidden("spec.ephemeralContainers", `${what} changed\n`)]
    })
  }
}

const lists = ["containers", "initContainers"] as const

const namesOf = (pod: unknown, list: string): ReadonlyArray<string> =>
  arrayAt(pod, "spec", list).map((container) => stringAt(container, "name"))

const isSameSize = (next: unknown, previous: unknown): boolean =>
  lists.every((list) => namesOf(next, list).length === namesOf(previous, list).length)

const resizable = ["resources", "resizePolicy"]

/** The previous containers with the new amounts; the new list as it is if its containers are others. */
const resizedList = (next: Object_, previous: KubeObject, list: string): Object_ => {
  const [after, before] = [arrayAt(next, "spec", list), arrayAt(previous, "spec", list)]
  if (before.length === 0) return {}
  if (!JsonValue.equals(namesOf(next, list), namesOf(previous, list))) return { [list]: after }
  return {
    [list]: before.map((container, index) => ({
      ...omit(objectAt(container), ...resizable),
      ...Object.fromEntries(
        resizable.flatMap((key) => {
          const value = at(after[index], key)
          return value === undefined ? [] : [[key, value]]
        })
      )
    }))
  }
}

const orderFaults = (next: unknown, previous: unknown): Faults =>
  lists.flatMap((list) => {
    const [after, before] = [namesOf(next, list), namesOf(previous, list)]
    return after.length !== before.length
      ? [FieldError.forbidden(`spec.${list}`, `${list} may not be added or removed on resize`)]
      : before.flatMap((name, index) =>
        when(
          after[index] !== name,
          FieldError.forbidden(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)
        )
      )
  })

const restarts = (container: unknown): boolean => stringAt(container, "restartPolicy") === "Always"

const removalFaults = (after: unknown, before: unknown, path: string): Faults =>
  ["requests", "limits"].flatMap((key) => {
    const present = objectAt(after, "resources", key)
    return when(
      Object.keys(objectAt(before, "resources", key)).some((name) => present[name] === undefined),
      FieldError.forbidden(`${path}.resources.${key}`, `resource ${key} cannot be removed`)
    )
  })

/** A container without what may change: its CPU and memory. */
const fixed = (container: unknown): unknown => {
  const { resources, ...rest } = objectAt(container)
  const amounts = (key: string) => omit(objectAt(resources, key), "cpu", "memory")
  return { ...rest, limits: amounts("limits"), requests: amounts("requests") }
}

const containerFaults = (next: unknown, previous: unknown): Faults =>
  lists.toReversed().flatMap((list) =>
    arrayAt(previous, "spec", list).flatMap((before, index) =>
      list === "initContainers" && !restarts(before)
        ? []
        : removalFaults(arrayAt(next, "spec", list)[index], before, `spec.${list}[${index}]`)
    )
  )

const changeFaults = (next: unknown, previous: unknown): Faults =>
  lists.flatMap((list) =>
    arrayAt(previous, "spec", list).flatMap((before, index) => {
      const after = arrayAt(next, "spec", list)[index]
      const changed = (why: string) => [FieldError.forbidden("spec", why)]
      if (list === "initContainers" && !restarts(before)) {
        return JsonValue.equals(after, before)
          ? []
          : changed("resources for non-sidecar init containers are immutable")
      }
      return JsonValue.equals(fixed(after), fixed(before)) ? [] : changed(
        `only cpu and memory resources ${list === "containers" ? "" : "for sidecar containers "}are mutable`
      )
    })
  )

const ofWhole = "resize of pods with pod-level resources is forbidden when " +
  "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"

/** CPU and memory of containers may change, as long as the Pod's QoS class stays the same. */
export const resize: Part = {
  prepareUpdate: (next, previous) =>
    isSameSize(next, previous)
      ? withSpec(next, previous, Object.assign({}, ...lists.map((list) => resizedList(next, previous, list))))
      : next,
  validateUpdate: (next, previous) => {
    if (isStatic(previous)) return [FieldError.forbidden("[]", "static pods cannot be resized")]
    if (stringAt(previous, "spec", "os", "name") === "windows") {
      return [FieldError.forbidden("[]", "windows pods cannot be resized")]
    }
    const before = stringAt(previous, "status", "qosClass") || qosClass(previous)
    const classFaults = when(
      before !== qosClass(next),
      FieldError.invalid("spec", before, "Pod QOS Class may not change as a result of resizing")
    )
    // The feature gate for Pod-level resources is off here.
    if (PodResources.isPodLevelSet(previous) || PodResources.isPodLevelSet(next)) {
      return [...classFaults, FieldError.forbidden("[]", ofWhole)]
    }
    const order = orderFaults(next, previous)
    return [
      ...classFaults,
      ...order,
      ...(order.length > 0 ? [] : [...containerFaults(next, previous), ...changeFaults(next, previous)])
    ]
  }
}
