/**
 * `NodeMatching`: on which nodes a Pod may run, by node selector, node affinity and tolerations.
 *
 * Source: k8s.io/component-helpers/scheduling/corev1 (nodeaffinity, helpers.go), k8s.io/api/core/v1/toleration.go.
 */
import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  Taint,
  Toleration
} from "../../kinds/core.v1.ts"

const integer = (text: string | undefined): bigint | undefined =>
  text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined

/** Whether a value, undefined if missing, meets a requirement. */
const holds = ({ operator, values = [] }: NodeSelectorRequirement, value: string | undefined): boolean => {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value)
    case "NotIn":
      return value === undefined || !values.includes(value)
    case "Exists":
      return value !== undefined
    case "DoesNotExist":
      return value === undefined
    case "Gt":
    case "Lt": {
      const [have, want] = [integer(value), integer(values[0])]
      return have !== undefined && want !== undefined && (operator === "Gt" ? have > want : have < want)
    }
    default:
      return false
  }
}

/** Whether a node matches a term; a term without requirements matches nothing. */
export const matchesTerm = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean =>
  matchExpressions.length + matchFields.length > 0 &&
  matchExpressions.every((requirement) => holds(requirement, node.metadata.labels?.[requirement.key])) &&
  matchFields.every((requirement) => requirement.key === "metadata.name" && holds(requirement, node.metadata.name))

/** Whether the Pod's selector and required affinity allow the node. */
export const matchesAffinity = (spec: PodSpec, node: Node): boolean => {
  const labels = node.metadata.labels ?? {}
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

/** Whether a toleration tolerates a taint. */
export const tolerates = (toleration: Toleration, taint: Taint): boolean => {
  if ((toleration.effect ?? "") !== "" && toleration.effect !== taint.effect) return false
  if ((toleration.key ?? "") !== "" && toleration.key !== taint.key) return false
  const operator = toleration.operator ?? ""
  if (operator === "Exists") return true
  return (operator === "" || operator === "Equal") && (toleration.value ?? "") === (taint.value ?? "")
}

/** The first taint with one of these effects that is not tolerated. */
export const untolerated = (
  taints: ReadonlyArray<Taint> | undefined,
  tolerations: ReadonlyArray<Toleration> | undefined,
  effects: ReadonlyArray<string>
): Taint | undefined =>
  taints?.find((taint) =>
    effects.includes(taint.effect) && tolerations?.some((toleration) => tolerates(toleration, taint)) !== true
  )

/** Adds a toleration unless it exists; one that differs only in its seconds is replaced. */
export const withToleration = (
  tolerations: ReadonlyArray<Toleration>,
  added: Toleration
): ReadonlyArray<Toleration> => {
  const same = (other: Toleration) =>
    other.key === added.key && (other.effect ?? "") === (added.effect ?? "") &&
    (other.operator ?? "") === (added.operator ?? "") && (other.value ?? "") === (added.value ?? "")
  const at = tolerations.findIndex(same)
  if (at < 0) return [...tolerations, added]
  return tolerations.map((toleration, index) => index === at ? added : toleration)
}
