/**
 * `ReplicationRules`: validates ReplicationControllers and PodTemplates.
 *
 * The selector of a ReplicationController is a map of labels, and its template may be missing.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go `ValidateReplicationControllerSpec`,
 * `ValidatePodTemplateSpecForRC`, `ValidatePodTemplate`.
 */
import { at, objectAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type { Strategy } from "../Strategy.ts"
import * as Amounts from "./Amounts.ts"
import { type Faults, when } from "./Checks.ts"
import * as WorkloadRules from "./WorkloadRules.ts"
import * as PodSpecRules from "./pods/PodSpecRules.ts"
import * as TemplateRules from "./pods/TemplateRules.ts"

const templateFaults = (object: unknown, selector: Readonly<Record<string, unknown>>): Faults => {
  const path = "spec.template"
  if (at(object, "spec", "template") === undefined) return [FieldError.required(path, "")]
  const template = objectAt(object, "spec", "template")
  const labels = TemplateRules.labelsOf(template)
  return [
    ...when(
      Object.entries(selector).some(([key, value]) => labels[key] !== value),
      TemplateRules.mismatch(template)
    ),
    ...PodSpecRules.podTemplate(template, path),
    ...TemplateRules.keptRunning(template, "ReplicationController")
  ]
}

const validate: Strategy["validate"] = (object) => {
  const selector = objectAt(object, "spec", "selector")
  return [
    ...Amounts.notNegative(object, "spec.minReadySeconds"),
    ...when(Object.keys(selector).length === 0, FieldError.required("spec.selector", "")),
    ...Amounts.notNegative(object, "spec.replicas"),
    ...templateFaults(object, selector)
  ]
}

export const controller: Partial<Strategy> = {
  generation: true,
  validate,
  validateStatus: WorkloadRules.validateStatus("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
}

export const template: Partial<Strategy> = {
  generation: true,
  validate: (object) => PodSpecRules.podTemplate(objectAt(object, "template"), "template")
}
