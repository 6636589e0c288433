/**
 * `WorkloadRules`: kinds with a Pod template.
 *
 * Source: k8s.io/kubernetes/pkg/apis/{apps,batch}/validation and pkg/registry/{apps,batch}.
 */
import * as FieldError from "../schema/FieldError.ts"
import { immutable, omit, specExcept } from "./Immutability.ts"
import * as JsonValue from "../schema/JsonValue.ts"
import { at, objectAt, stringAt } from "./Plain.ts"
import { containerFaults } from "./PodRules.ts"
import type { Strategy } from "./Strategy.ts"

/** Faults of a Deployment, ReplicaSet, StatefulSet, DaemonSet: it needs a selector that its template satisfies. */
export const validate: Strategy["validate"] = (object) => {
  const spec = objectAt(object, "spec")
  const labels = objectAt(spec, "template", "metadata", "labels")
  const matchLabels = objectAt(spec, "selector", "matchLabels")
  const faults = [...containerFaults(objectAt(spec, "template", "spec"), "spec.template.spec")]
  const replicas = spec["replicas"]
  if (typeof replicas === "number" && replicas < 0) {
    faults.unshift(FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
  }
  if (spec["selector"] === undefined) faults.push(FieldError.required("spec.selector", ""))
  else if (Object.entries(matchLabels).some(([key, value]) => labels[key] !== value)) {
    faults.push(
      FieldError.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    )
  }
  return faults
}

const uidLabel = "batch.kubernetes.io/controller-uid"

/** A Job is told from others by labels on its Pods that the server makes up. */
export const jobCreate: Strategy["prepareCreate"] = (job) => {
  const spec = objectAt(job, "spec")
  const metadata = objectAt(job, "metadata")
  const template = objectAt(spec, "template")
  const name = stringAt(metadata, "name")
  const uid = stringAt(metadata, "uid")
  const generated = at(spec, "manualSelector") === true
    ? {}
    : { "batch.kubernetes.io/job-name": name, "job-name": name, [uidLabel]: uid, "controller-uid": uid }
  const labels = { ...objectAt(template, "metadata", "labels"), ...generated }
  return {
    ...job,
    metadata: at(metadata, "labels") === undefined && Object.keys(labels).length > 0
      ? { ...metadata, labels }
      : metadata,
    spec: {
      ...spec,
      ...(at(spec, "manualSelector") === true ? {} : { selector: { matchLabels: { [uidLabel]: uid } } }),
      template: { ...template, metadata: { ...objectAt(template, "metadata"), labels } }
    }
  }
}

const templateGeneration = "deprecated.daemonset.template.generation"

const withTemplateGeneration = (daemonSet: JsonValue.JsonObject, generation: number): JsonValue.JsonObject => {
  const metadata = objectAt(daemonSet, "metadata")
  const annotations = { ...objectAt(metadata, "annotations"), [templateGeneration]: String(generation) }
  return { ...daemonSet, metadata: { ...metadata, annotations } }
}

/** A DaemonSet counts the changes of its template in an annotation. */
export const daemonSetCreate: Strategy["prepareCreate"] = (daemonSet) => withTemplateGeneration(daemonSet, 1)

export const daemonSetUpdate: Strategy["prepareUpdate"] = (next, previous) => {
  const count = Number(previous.metadata.annotations?.[templateGeneration] ?? 0)
  const changed = !JsonValue.equals(at(next, "spec", "template"), at(previous, "spec", "template"))
  return withTemplateGeneration(next, count + (changed ? 1 : 0))
}

/** Faults of a Job. */
export const validateJob: Strategy["validate"] = (job) => {
  const template = objectAt(job, "spec", "template", "spec")
  const policy = stringAt(template, "restartPolicy")
  return [
    ...containerFaults(template, "spec.template.spec"),
    ...(policy === "Never" || policy === "OnFailure"
      ? []
      : [FieldError.required("spec.template.spec.restartPolicy", `valid values: "OnFailure", "Never"`)])
  ]
}

/** Faults of an update of a Job. */
export const validateJobUpdate: Strategy["validateUpdate"] = (next, previous) => [
  ...immutable("spec.selector", "spec.completionMode")(next, previous),
  // A suspended Job's template may be changed by whoever schedules it.
  ...(at(previous, "spec", "suspend") === true ? [] : immutable("spec.template")(next, previous)),
  ...(stringAt(previous, "spec", "completionMode") === "Indexed" ? [] : immutable("spec.completions")(next, previous))
]

/** Faults of an update of a StatefulSet. */
export const validateStatefulSetUpdate = specExcept(
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  (spec) =>
    omit(
      spec,
      "replicas",
      "ordinals",
      "template",
      "updateStrategy",
      "revisionHistoryLimit",
      "persistentVolumeClaimRetentionPolicy",
      "minReadySeconds"
    )
)
