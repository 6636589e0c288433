/**
 * `PodSecurity`: enforces the Pod Security level in the labels of a namespace.
 *
 * A Pod that violates the enforced level is refused. Workloads are never refused, since only Pods count, but writing
 * one causes a warning, as does writing a Pod that violates the warn level. Invalid labels are refused. If a stricter
 * level is enforced, the response warns about existing Pods that violate it. A write of a Pod that changes no image and
 * adds no container is not checked, so existing Pods can be updated.
 *
 * Source: k8s.io/pod-security-admission/admission and k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Effect from "effect/Effect"
import { arrayAt, at, stringAt } from "../../api/Plain.ts"
import * as StatusError from "../../api/StatusError.ts"
import * as FieldError from "../../schema/FieldError.ts"
import * as Admission from "../Admission.ts"
import * as Checks from "./PodSecurityChecks.ts"
import * as Levels from "./PodSecurityLevels.ts"

/** The path of the Pod template, by kind. */
const templates: Readonly<Record<string, ReadonlyArray<string>>> = {
  podtemplates: ["template"],
  replicationcontrollers: ["spec", "template"],
  "replicasets.apps": ["spec", "template"],
  "deployments.apps": ["spec", "template"],
  "statefulsets.apps": ["spec", "template"],
  "daemonsets.apps": ["spec", "template"],
  "jobs.batch": ["spec", "template"],
  "cronjobs.batch": ["spec", "jobTemplate", "spec", "template"]
}

/** Subresources that write a Pod's containers. */
const parts: ReadonlySet<string> = new Set(["", "ephemeralcontainers", "resize"])

const image = (container: unknown): string => stringAt(container, "image")

/** Whether containers were added or have another image. */
const isNews = (pod: KubeObject | undefined, old: KubeObject | undefined): boolean =>
  ["containers", "initContainers"].some((key) => {
    const [now, before] = [arrayAt(pod, "spec", key), arrayAt(old, "spec", key)]
    return now.length !== before.length || now.some((container, index) => image(container) !== image(before[index]))
  }) || arrayAt(pod, "spec", "ephemeralContainers").some((container) => {
    const before = arrayAt(old, "spec", "ephemeralContainers").find((other) =>
      stringAt(other, "name") === stringAt(container, "name")
    )
    return before === undefined || image(container) !== image(before)
  })

/** The existing Pods that violate a level. Among Pods with the same violations, the first one by name is reported. */
const told = (pods: ReadonlyArray<KubeObject>, namespace: string, standard: Levels.Standard): ReadonlyArray<string> => {
  const by = new Map<string, Array<string>>()
  for (const pod of pods) {
    const reasons = Checks.reasons(Checks.violations(pod, standard))
    if (reasons !== "") by.set(reasons, [...by.get(reasons) ?? [], pod.metadata.name])
  }
  if (by.size === 0) return []
  const texts = [...by].map(([reasons, names]) => {
    const others = names.length - 1
    const more = others === 0 ? "" : others === 1 ? " (and 1 other pod)" : ` (and ${others} other pods)`
    return `${names.sort()[0]}${more}: ${reasons}`
  })
  const head = `existing pods in namespace ${FieldError.quote(namespace)} violate the new PodSecurity enforce level ` +
    FieldError.quote(Levels.print(standard))
  return [head, ...texts.sort()]
}

export const plugin = ({ storage }: Admission.Server): Admission.Plugin => {
  const namespaceFault = (attributes: Admission.Attributes): StatusError.StatusError | undefined => {
    const { kind, name, object, oldObject, operation, warn } = attributes
    const now = Levels.read(object?.metadata.labels)
    const before = Levels.read(oldObject?.metadata.labels)
    const known = operation === "UPDATE" && FieldError.aggregate(now.faults) === FieldError.aggregate(before.faults)
    if (now.faults.length > 0 && !known) {
      return StatusError.invalid(kind.kind, kind.group, name || object!.metadata.name, now.faults)
    }
    const [next, previous] = [now.policy.enforce, before.policy.enforce]
    const isRelaxed = next.minor === previous.minor && !Levels.isStricter(next.level, previous.level)
    if (operation === "UPDATE" && !isRelaxed) {
      const { get, keys } = storage.list("pods", name)
      told(keys.map(get), name, next).forEach(warn)
    }
    return undefined
  }

  /** Checks a Pod or a Pod template, which is never refused. */
  const fault = (attributes: Admission.Attributes, pod: unknown, isPod: boolean) => {
    const { annotate, name, namespace, object, resource, warn } = attributes
    const { faults, policy } = Levels.read(storage.get("namespaces", namespace)?.metadata.labels)
    const note = (key: string, text: string) => annotate(Levels.prefix + key, text)
    if (faults.length === 0 && Levels.isPrivileged(policy)) {
      if (isPod) note("enforce-policy", Levels.print(Levels.privileged.enforce))
      return undefined
    }
    if (faults.length > 0) note("error", `Failed to parse policy: ${FieldError.aggregate(faults)}`)
    const violates = (mode: keyof Levels.Policy, verb: string): string | undefined => {
      const found = Checks.violations(pod, policy[mode])
      return found.length === 0
        ? undefined
        : `${verb} PodSecurity ${FieldError.quote(Levels.print(policy[mode]))}: ${Checks.details(found)}`
    }
    if (isPod) note("enforce-policy", Levels.print(policy.enforce))
    const audited = violates("audit", "would violate")
    if (audited !== undefined) note("audit-violations", audited)
    const refused = isPod ? violates("enforce", "violates") : undefined
    if (refused !== undefined) return StatusError.forbidden(resource, name || object!.metadata.name, refused)
    const warned = violates("warn", "would violate")
    if (warned !== undefined) warn(warned)
    return undefined
  }

  const faultOf = (attributes: Admission.Attributes): StatusError.StatusError | undefined => {
    const { object, oldObject, operation, resource: { collection } } = attributes
    if (collection === "namespaces") return namespaceFault(attributes)
    if (collection === "pods") {
      return operation === "CREATE" || isNews(object, oldObject) ? fault(attributes, object, true) : undefined
    }
    const template = at(object, ...templates[collection]!)
    return template === undefined ? undefined : fault(attributes, template, false)
  }

  return {
    name: "PodSecurity",
    handles: ({ operation, resource: { collection }, subresource }) =>
      (operation === "CREATE" || operation === "UPDATE") && (
        collection === "pods"
          ? parts.has(subresource)
          : subresource === "" && (collection === "namespaces" || templates[collection] !== undefined)
      ),
    validate: (attributes) => {
      const found = faultOf(attributes)
      return found === undefined ? Effect.void : Effect.fail(found)
    }
  }
}
