/**
 * `TemplateRules`: validates what all kinds with a Pod template require: labels that match the selector, and Pods that
 * run forever.
 *
 * Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as Selector from "@effect-operator/core/Selector"
import { at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"
import * as LabelSelectorRules from "../LabelSelectorRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

/** The labels of a template. */
export const labelsOf = (template: unknown): Readonly<Record<string, string>> =>
  objectAt(template, "metadata", "labels") as Readonly<Record<string, string>>

export const templateOf = (object: KubeObject): JsonValue.JsonObject => objectAt(object, "spec", "template")

/** The fault of a template whose labels do not match the selector. */
export const mismatch = (template: unknown): FieldError.FieldError =>
  FieldError.invalid(
    "spec.template.metadata.labels",
    at(template, "metadata", "labels") ?? null,
    "`selector` does not match template `labels`"
  )

/**
 * Faults of a selector, which must exist, not be empty and match the template, and of the template (`template`). The
 * template is not validated if the selector is invalid.
 */
export const selectorAndTemplate = (
  object: KubeObject,
  words: { readonly kind: string; readonly unreadable: string },
  template: () => Faults
): Faults => {
  const selector = at(object, "spec", "selector")
  const own = templateOf(object)
  // A missing selector matches nothing, including the template.
  if (selector === undefined) return [FieldError.required("spec.selector", ""), mismatch(own), ...template()]
  const faults = LabelSelectorRules.validate(selector, "spec.selector")
  if (faults.length > 0) return [...faults, LabelSelectorRules.refused("spec.selector", selector, words.unreadable)]
  const parsed = Selector.fromObject(selector as Selector.LabelSelectorObject) ?? []
  return [
    ...(parsed.length === 0
      ? [LabelSelectorRules.refused("spec.selector", selector, `empty selector is invalid for ${words.kind}`)]
      : Selector.matchesLabels(parsed, labelsOf(own))
      ? []
      : [mismatch(own)]),
    ...template()
  ]
}

/** Faults of a selector only, for kinds that validate the template in any case. */
export const selectorBesideTemplate = (object: KubeObject, kind: string): Faults => {
  const selector = at(object, "spec", "selector")
  const own = templateOf(object)
  if (selector === undefined) return [mismatch(own)]
  const faults = LabelSelectorRules.validate(selector, "spec.selector")
  if (faults.length > 0) return faults
  const parsed = Selector.fromObject(selector as Selector.LabelSelectorObject) ?? []
  return parsed.length === 0
    ? [LabelSelectorRules.refused("spec.selector", selector, `empty selector is invalid for ${kind}`)]
    : Selector.matchesLabels(parsed, labelsOf(own))
    ? []
    : [mismatch(own)]
}

/** Pods that are kept running must have the restart policy Always and no deadline. */
export const keptRunning = (template: unknown, kind: string): Faults => {
  const policy = stringAt(template, "spec", "restartPolicy")
  return [
    ...(policy === "Always"
      ? []
      : [FieldError.notSupported("spec.template.spec.restartPolicy", policy, ["Always"])]),
    ...(at(template, "spec", "activeDeadlineSeconds") === undefined
      ? []
      : [FieldError.forbidden(
        "spec.template.spec.activeDeadlineSeconds",
        `activeDeadlineSeconds in ${kind} is not Supported`
      )])
  ]
}
