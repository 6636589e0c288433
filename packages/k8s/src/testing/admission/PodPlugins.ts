/**
 * `PodPlugins`: the small plugins for Pods: priority, tolerations of failing nodes, runtime classes, node topology.
 *
 * Source: k8s.io/kubernetes/plugin/pkg/admission/{priority,defaulttolerationseconds,runtimeclass,nodetaint,
 * podtopologylabels}.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import * as Admission from "../Admission.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as JsonValue from "../../schema/JsonValue.ts"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import * as Derived from "./Derived.ts"

const writes =
  (collection: string, ...operations: ReadonlyArray<Admission.Operation>) =>
  ({ operation, resource, subresource }: Admission.Attributes): boolean =>
    resource.collection === collection && subresource === "" && operations.includes(operation)

const withSpec = (object: KubeObject, fields: JsonValue.JsonObject): KubeObject =>
  asObject({ ...object, spec: { ...objectAt(object, "spec"), ...fields } })

const priorityClasses = "priorityclasses.scheduling.k8s.io"

interface PriorityClass {
  readonly name: string
  readonly value: number
  readonly isDefault: boolean
  readonly preemptionPolicy: string
}

const priorityClass = (object: KubeObject): PriorityClass => {
  const value = at(object, "value")
  return {
    name: object.metadata.name,
    value: typeof value === "number" ? value : 0,
    isDefault: at(object, "globalDefault") === true,
    preemptionPolicy: stringAt(object, "preemptionPolicy")
  }
}

const none: PriorityClass = { name: "", value: 0, isDefault: false, preemptionPolicy: "PreemptLowerPriority" }

/** `Priority`: sets a Pod's priority from its class. */
export const priority = ({ storage }: Admission.Server): Admission.Plugin => {
  const classes = Derived.collection(storage, priorityClasses, priorityClass)
  /** The default class; among several, the one with the lowest value. */
  const byDefault = (): PriorityClass | undefined =>
    classes().filter(({ isDefault }) => isDefault).sort((a, b) => a.value - b.value)[0]

  const created = (attributes: Admission.Attributes, pod: KubeObject) => {
    const wanted = stringAt(pod, "spec", "priorityClassName")
    const found = wanted === ""
      ? byDefault() ?? none
      : classes().find(({ name }) => name === wanted)
    const refuse = (why: string) => Effect.fail(Admission.forbidden(attributes, why))
    if (found === undefined) return refuse(`no PriorityClass with name ${wanted} was found`)
    const [own, policy] = [at(pod, "spec", "priority"), stringAt(pod, "spec", "preemptionPolicy")]
    const must = "must not be provided in pod spec; priority admission controller computed"
    if (own !== undefined && own !== found.value) {
      return refuse(
        `the integer value of priority (${own}) ${must} ${found.value} from the given PriorityClass name`
      )
    }
    if (found.preemptionPolicy !== "" && policy !== "" && policy !== found.preemptionPolicy) {
      return refuse(
        `the string value of PreemptionPolicy (${policy}) ${must} ${found.preemptionPolicy} from the given ` +
          "PriorityClass name"
      )
    }
    return Effect.succeed(withSpec(pod, {
      ...(found.name === "" ? {} : { priorityClassName: found.name }),
      priority: found.value,
      ...(found.preemptionPolicy === "" ? {} : { preemptionPolicy: found.preemptionPolicy })
    }))
  }

  /** Restores the computed priority if a client that does not know it omits it. */
  const updated = (pod: KubeObject, old: KubeObject | undefined): KubeObject => {
    const kept = ["priority", "preemptionPolicy"].filter((key) =>
      at(pod, "spec", key) === undefined && at(old, "spec", key) !== undefined
    )
    return kept.length === 0
      ? pod
      : withSpec(pod, Object.fromEntries(kept.map((key) => [key, at(old, "spec", key)])))
  }

  const isClass = writes(priorityClasses, "CREATE", "UPDATE")
  const isPod = writes("pods", "CREATE", "UPDATE")
  return {
    name: "Priority",
    handles: (attributes) => isPod(attributes) || isClass(attributes),
    mutate: (attributes, object) =>
      !isPod(attributes)
        ? Effect.succeed(object)
        : attributes.operation === "CREATE"
        ? created(attributes, object)
        : Effect.succeed(updated(object, attributes.oldObject)),
    validate: (attributes) => {
      const { name, object, operation } = attributes
      if (!isClass(attributes) || at(object, "globalDefault") !== true) return Effect.void
      const other = byDefault()
      return other === undefined || (operation === "UPDATE" && other.name === name)
        ? Effect.void
        : Effect.fail(Admission.forbidden(
          attributes,
          `PriorityClass ${other.name} is already marked as default. Only one default can exist`
        ))
    }
  }
}

const failing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]

/** `DefaultTolerationSeconds`: tolerates a failing node for five minutes. */
export const defaultTolerationSeconds = (): Admission.Plugin => ({
  name: "DefaultTolerationSeconds",
  handles: writes("pods", "CREATE", "UPDATE"),
  mutate: (_, pod) => {
    const tolerations = arrayAt(pod, "spec", "tolerations")
    const missing = failing.filter((key) =>
      !tolerations.some((toleration) =>
        [key, ""].includes(stringAt(toleration, "key")) && ["NoExecute", ""].includes(stringAt(toleration, "effect"))
      )
    )
    return Effect.succeed(
      missing.length === 0 ? pod : withSpec(pod, {
        tolerations: [
          ...tolerations,
          ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }))
        ]
      })
    )
  }
})

/** `TaintNodesByCondition`: taints a new node as not ready. */
export const taintNodesByCondition = (): Admission.Plugin => ({
  name: "TaintNodesByCondition",
  handles: writes("nodes", "CREATE"),
  mutate: (_, node) => {
    const taints = arrayAt(node, "spec", "taints")
    const [key] = failing
    return Effect.succeed(
      taints.some((taint) => stringAt(taint, "key") === key && stringAt(taint, "effect") === "NoSchedule")
        ? node
        : withSpec(node, { taints: [...taints, { key, effect: "NoSchedule" }] })
    )
  }
})

/** `RuntimeClass`: sets the overhead and the scheduling of the class. */
export const runtimeClass = ({ storage }: Admission.Server): Admission.Plugin => {
  const classOf = (pod: unknown): KubeObject | undefined =>
    storage.get("runtimeclasses.node.k8s.io", stringAt(pod, "spec", "runtimeClassName"))
  const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
  return {
    name: "RuntimeClass",
    handles: (attributes) =>
      writes("pods", "CREATE")(attributes) &&
      (at(attributes.object, "spec", "runtimeClassName") !== undefined ||
        at(attributes.object, "spec", "overhead") !== undefined),
    mutate: (attributes, pod) => {
      const wanted = stringAt(pod, "spec", "runtimeClassName")
      const refuse = (why: string) => Effect.fail(Admission.forbidden(attributes, why))
      if (wanted === "") return Effect.succeed(pod)
      const found = classOf(pod)
      if (found === undefined) return refuse(`pod rejected: RuntimeClass ${FieldError.quote(wanted)} not found`)
      const [overhead, own] = [at(found, "overhead", "podFixed"), objectAt(pod, "spec", "overhead")]
      if (overhead !== undefined && Object.keys(own).length > 0 && !JsonValue.equals(overhead, own)) {
        return refuse(mismatch)
      }
      const [nodes, selector] = [objectAt(found, "scheduling", "nodeSelector"), objectAt(pod, "spec", "nodeSelector")]
      const conflict = Object.keys(nodes).find((key) => selector[key] !== undefined && selector[key] !== nodes[key])
      if (conflict !== undefined) {
        return refuse(
          `conflict: runtimeClass.scheduling.nodeSelector[${conflict}] = ${nodes[conflict]}; ` +
            `pod.spec.nodeSelector[${conflict}] = ${selector[conflict]}`
        )
      }
      const added = arrayAt(found, "scheduling", "tolerations")
      const tolerations = arrayAt(pod, "spec", "tolerations")
      return Effect.succeed(withSpec(pod, {
        ...(overhead === undefined ? {} : { overhead }),
        ...(Object.keys(nodes).length === 0 ? {} : { nodeSelector: { ...selector, ...nodes } }),
        ...(added.length === 0 ? {} : {
          tolerations: [
            ...tolerations,
            ...added.filter((entry) => !tolerations.some((own) => JsonValue.equals(own, entry)))
          ]
        })
      }))
    },
    validate: (attributes) => {
      const { object } = attributes
      const found = classOf(object)
      const overhead = at(object, "spec", "overhead")
      const refuse = (why: string) => Effect.fail(Admission.forbidden(attributes, why))
      const wanted = at(found, "overhead", "podFixed")
      if (wanted !== undefined) return JsonValue.equals(wanted, overhead) ? Effect.void : refuse(mismatch)
      return overhead === undefined
        ? Effect.void
        : refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    }
  }
}

/** The topology labels that a Pod gets from its node. */
const places = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"]

/**
 * `PodTopologyLabels`: a Pod that is bound to a node gets the node's zone and region, replacing any previous values.
 */
export const podTopologyLabels = ({ storage }: Admission.Server): Admission.Plugin => ({
  name: "PodTopologyLabels",
  handles: ({ operation, resource, subresource }) =>
    operation === "CREATE" && resource.collection === "pods" && (subresource === "" || subresource === "binding"),
  mutate: ({ subresource }, object) => {
    const bound = subresource === "binding"
    // A binding to another kind is refused later.
    if (bound && stringAt(object, "target", "kind") !== "Node") return Effect.succeed(object)
    const name = bound ? stringAt(object, "target", "name") : stringAt(object, "spec", "nodeName")
    const labels = name === "" ? undefined : storage.get("nodes", name)?.metadata.labels
    const told = Object.entries(labels ?? {}).filter(([key]) => places.includes(key))
    if (told.length === 0) return Effect.succeed(object)
    const metadata = { ...object.metadata, labels: { ...object.metadata.labels, ...Object.fromEntries(told) } }
    return Effect.succeed(asObject({ ...object, metadata }))
  }
})
