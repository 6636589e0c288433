/**
 * `StatefulSetRules`: validates StatefulSets and their updates.
 *
 * Claim templates and the Service name are validated only at creation: they are immutable, and a set with invalid ones
 * must still be updatable. Likewise a template is not validated if the previous one was invalid. Its Pods have the
 * volumes of the claims in addition to, or instead of, their own.
 *
 * Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go, `ValidateStatefulSet`, `ValidateStatefulSetUpdate`.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import * as MetadataRules from "../../../api/MetadataRules.ts"
import * as Names from "../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../api/Plain.ts"
import * as FieldError from "../../../schema/FieldError.ts"
import type * as JsonValue from "../../../schema/JsonValue.ts"
import type { Strategy } from "../Strategy.ts"
import * as GoStruct from "../go/GoStruct.ts"
import * as Amounts from "./Amounts.ts"
import * as ClaimRules from "./ClaimRules.ts"
import { omit, specExcept } from "./Immutability.ts"
import * as PodSpecRules from "./pods/PodSpecRules.ts"
import * as TemplateRules from "./pods/TemplateRules.ts"

type Faults = ReadonlyArray<FieldError.FieldError>

const managementFaults = (policy: string): Faults => {
  const path = "spec.podManagementPolicy"
  return policy === ""
    ? [FieldError.required(path, "")]
    : policy === "OrderedReady" || policy === "Parallel"
    ? []
    : [FieldError.invalid(path, policy, "must be 'OrderedReady' or 'Parallel'")]
}

const rollingFields: GoStruct.Fields = [["partition", "0"], ["maxUnavailable", "null"]]
const strategyFields: GoStruct.Fields = [["type", "\"\""], ["rollingUpdate", "null", rollingFields]]

const rollingFaults = (object: KubeObject): Faults => {
  const path = "spec.updateStrategy.rollingUpdate"
  const count = at(object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
  const faults = Amounts.percentOrCount(object, `${path}.maxUnavailable`)
  return [
    ...Amounts.notNegative(object, `${path}.partition`),
    ...faults,
    ...(count !== undefined && Amounts.value(count) === 0
      ? [FieldError.invalid(`${path}.maxUnavailable`, count, "cannot be 0")]
      : []),
    ...(faults.length > 0 ? [] : Amounts.countOrPercent(object, `${path}.maxUnavailable`))
  ]
}

const strategyFaults = (object: KubeObject): Faults => {
  const path = "spec.updateStrategy"
  const strategy = at(object, "spec", "updateStrategy")
  const rolling = at(strategy, "rollingUpdate")
  switch (stringAt(strategy, "type")) {
    case "":
      return [FieldError.required(path, "")]
    case "OnDelete":
      return rolling === undefined ? [] : [FieldError.invalidPrinted(
        `${path}.rollingUpdate`,
        GoStruct.print(rolling, rollingFields),
        "only allowed for updateStrategy 'RollingUpdate'"
      )]
    case "RollingUpdate":
      return rolling === undefined ? [] : rollingFaults(object)
    default:
      return [FieldError.invalidPrinted(
        path,
        GoStruct.print(strategy, strategyFields),
        "must be 'RollingUpdate' or 'OnDelete'"
      )]
  }
}

const retentions = ["Retain", "Delete"]

const retentionFaults = (object: KubeObject): Faults => {
  const path = "spec.persistentVolumeClaimRetentionPolicy"
  const policy = at(object, "spec", "persistentVolumeClaimRetentionPolicy")
  return policy === undefined ? [] : ["whenDeleted", "whenScaled"].flatMap((field) => {
    const value = stringAt(policy, field)
    return retentions.includes(value) ? [] : [FieldError.notSupported(`${path}.${field}`, value, retentions)]
  })
}

/** The template as its Pods use it: with the claims as volumes, and with host names. */
const effectiveTemplate = (spec: unknown): JsonValue.JsonObject => {
  const template = objectAt(spec, "template")
  const names = new Set(arrayAt(spec, "volumeClaimTemplates").map((claim) => stringAt(claim, "metadata", "name")))
  const own = omit(objectAt(template, "spec"), "hostname", "subdomain")
  const volumes = [
    ...[...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...arrayAt(own, "volumes").filter((volume) => !names.has(stringAt(volume, "name")))
  ]
  return { ...template, spec: volumes.length === 0 ? own : { ...own, volumes } }
}

const templateFaults = (template: JsonValue.JsonObject, judged: boolean): Faults => [
  ...(judged ? PodSpecRules.podTemplate(template, "spec.template") : []),
  ...MetadataRules.validateLabels(TemplateRules.labelsOf(template), "spec.template.labels"),
  ...MetadataRules.validateAnnotations(
    objectAt(template, "metadata", "annotations") as Readonly<Record<string, string>>,
    "spec.template.annotations"
  )
]

const specFaults = (object: KubeObject, creates: boolean, judgesTemplate: boolean): Faults => {
  const spec = objectAt(object, "spec")
  const service = stringAt(spec, "serviceName")
  return [
    ...managementFaults(stringAt(spec, "podManagementPolicy")),
    ...strategyFaults(object),
    ...retentionFaults(object),
    ...(creates
      ? arrayAt(spec, "volumeClaimTemplates").flatMap((claim, index) =>
        ClaimRules.specFaults(objectAt(claim, "spec"), `spec.volumeClaimTemplates[${index}].spec`)
      )
      : []),
    ...Amounts.notNegative(object, "spec.replicas", "spec.minReadySeconds", "spec.ordinals.start"),
    ...(!creates || service === ""
      ? []
      : Names.dnsLabel(service).map((fault) => FieldError.invalid("spec.serviceName", service, fault))),
    ...TemplateRules.selectorAndTemplate(
      object,
      { kind: "statefulset", unreadable: "" },
      () => templateFaults(effectiveTemplate(spec), judgesTemplate)
    ),
    ...TemplateRules.keptRunning(objectAt(spec, "template"), "StatefulSet")
  ]
}

/** Faults of a StatefulSet. */
export const validate: Strategy["validate"] = (object, previous) =>
  previous === undefined
    ? specFaults(object, true, true)
    : specFaults(object, false, specFaults(previous, false, true).length === 0)

/** Faults of an update. */
export const validateUpdate = specExcept(
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
