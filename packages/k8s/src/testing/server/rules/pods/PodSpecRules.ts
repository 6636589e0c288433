/**
 * `PodSpecRules`: validates the spec of a Pod, in Pods and templates.
 *
 * Volumes come first, since containers may only mount valid ones.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go, `ValidatePodSpec`, `ValidatePodTemplateSpec`.
 */
import * as MetadataRules from "../../../../api/MetadataRules.ts"
import * as Names from "../../../../api/Names.ts"
import { arrayAt, at, objectAt, stringAt } from "../../../../api/Plain.ts"
import * as Remembered from "../../../../api/Remembered.ts"
import * as FieldError from "../../../../schema/FieldError.ts"
import type * as JsonValue from "../../../../schema/JsonValue.ts"
import * as GoStruct from "../../go/GoStruct.ts"
import { type Faults, givenSubdomain, invalids, label, oneOf, required, subdomain, when } from "../Checks.ts"
import * as ContainerRules from "./ContainerRules.ts"
import * as EnvironmentRules from "./EnvironmentRules.ts"
import * as PlacementRules from "./PlacementRules.ts"
import * as PodAnnotations from "./PodAnnotations.ts"
import * as PodNetworkRules from "./PodNetworkRules.ts"
import * as PodSecurityRules from "./PodSecurityRules.ts"
import * as PodSystemRules from "./PodSystemRules.ts"
import * as ResourceRules from "./ResourceRules.ts"
import * as VolumeRules from "./VolumeRules.ts"
import * as WindowsRules from "./WindowsRules.ts"

const claimFields: GoStruct.Fields = [["name", "\"\""], ["resourceClaimName", "null"], [
  "resourceClaimTemplateName",
  "null"
]]

/** Resource claims, by the names that containers use. */
const resourceClaims = (spec: unknown, path: string): Faults => {
  const names = new Set<string>()
  return arrayAt(spec, "resourceClaims").flatMap((claim, index) => {
    const here = `${path}.resourceClaims[${index}]`
    const name = stringAt(claim, "name")
    const given = ["resourceClaimName", "resourceClaimTemplateName"].filter((field) => at(claim, field) !== undefined)
    const repeated = names.has(name)
    names.add(name)
    return [
      ...(name === ""
        ? required(claim, here, "name")
        : repeated
        ? [FieldError.duplicate(`${here}.name`, name)]
        : invalids(`${here}.name`, name, Names.dnsLabel(name))),
      ...when(
        given.length !== 1,
        FieldError.invalidPrinted(
          here,
          GoStruct.print(claim, claimFields),
          given.length === 0
            ? "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            : "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        )
      ),
      ...given.flatMap((field) =>
        invalids(`${here}.${field}`, at(claim, field), Names.dnsSubdomain(stringAt(claim, field)))
      )
    ]
  })
}

const gates = (spec: unknown, path: string): Faults => {
  const names = new Set<string>()
  return [
    ...arrayAt(spec, "readinessGates").map((gate) => stringAt(gate, "conditionType")).flatMap((type, index) =>
      invalids(`${path}.readinessGates[${index}].conditionType`, type, Names.labelKey(type))
    ),
    ...arrayAt(spec, "schedulingGates").map((gate) => stringAt(gate, "name")).flatMap((name, index) => {
      const here = `${path}.schedulingGates[${index}]`
      const repeated = names.has(name)
      names.add(name)
      return [...invalids(here, name, Names.labelKey(name)), ...when(repeated, FieldError.duplicate(here, name))]
    })
  ]
}

const policies = ["PreemptLowerPriority", "Never"]

const deadline = (spec: unknown, path: string): Faults => {
  const value = at(spec, "activeDeadlineSeconds")
  return when(
    typeof value === "number" && (value < 1 || value > 2147483647),
    FieldError.invalid(`${path}.activeDeadlineSeconds`, value, "must be between 1 and 2147483647, inclusive")
  )
}

const overhead = (spec: unknown, path: string): Faults =>
  at(spec, "overhead") === undefined
    ? []
    : ResourceRules.ofContainer({ limits: at(spec, "overhead") }, `${path}.overhead`, [])

const ofTemplate: VolumeRules.Owner = { isPod: false }

const judgedPods = Remembered.faultless<FieldError.FieldError>()
const judgedTemplates = Remembered.faultless<FieldError.FieldError>()

/** Faults of the spec of a Pod. */
export const podSpec = (spec: JsonValue.JsonObject, path: string, owner = ofTemplate): Faults =>
  // The names of some volumes' claims contain the name of the Pod.
  arrayAt(spec, "volumes").length > 0
    ? faults(spec, path, owner)
    : (owner.isPod ? judgedPods : judgedTemplates)(spec, () => faults(spec, path, owner))

const faults = (spec: JsonValue.JsonObject, path: string, owner: VolumeRules.Owner): Faults => {
  const volumes = VolumeRules.judge(spec, path, owner)
  const claims = arrayAt(spec, "resourceClaims").map((claim) => stringAt(claim, "name")).filter((name) => name !== "")
  return [
    ...volumes.faults,
    ...resourceClaims(spec, path),
    ...ContainerRules.faults({ spec, path, volumes: volumes.known, claims }),
    ...ResourceRules.ofPod(spec, `${path}.resources`),
    ...PodNetworkRules.hostPorts(spec, path, owner.isPod),
    ...oneOf(spec, "restartPolicy", path, ["Always", "OnFailure", "Never"]),
    ...oneOf(spec, "dnsPolicy", path, ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]),
    ...MetadataRules.validateLabels(
      objectAt(spec, "nodeSelector") as Readonly<Record<string, string>>,
      `${path}.nodeSelector`
    ),
    ...PodSecurityRules.ofPod(spec, path),
    ...PlacementRules.affinity(spec, path),
    ...PodNetworkRules.dns(spec, path),
    ...gates(spec, path),
    ...PlacementRules.spreads(spec, path),
    ...WindowsRules.hostProcesses(spec, path),
    ...PodSystemRules.hostUsers(spec, path),
    ...PodNetworkRules.hostnameOverride(spec, path),
    ...subdomain(spec, "serviceAccountName", path),
    ...subdomain(spec, "nodeName", path),
    ...deadline(spec, path),
    ...label(spec, "hostname", path),
    ...label(spec, "subdomain", path),
    ...PlacementRules.tolerations(spec, path),
    ...PodNetworkRules.hostAliases(spec, path),
    ...subdomain(spec, "priorityClassName", path),
    ...givenSubdomain(spec, "runtimeClassName", path),
    ...(at(spec, "preemptionPolicy") === undefined ? [] : oneOf(spec, "preemptionPolicy", path, policies)),
    ...overhead(spec, path),
    ...PodSystemRules.containersOf(spec, path).flatMap(([container, here]) =>
      EnvironmentRules.fileVolumes(container, here, arrayAt(spec, "volumes"))
    ),
    ...PodSystemRules.system(spec, path)
  ]
}

/** Faults of a Pod template. */
export const podTemplate = (template: JsonValue.JsonObject, path: string): Faults => [
  ...MetadataRules.validateLabels(
    objectAt(template, "metadata", "labels") as Readonly<Record<string, string>>,
    `${path}.labels`
  ),
  ...MetadataRules.validateAnnotations(
    objectAt(template, "metadata", "annotations") as Readonly<Record<string, string>>,
    `${path}.annotations`
  ),
  ...PodAnnotations.faults(template, `${path}.annotations`),
  ...podSpec(objectAt(template, "spec"), `${path}.spec`),
  ...PodAnnotations.mismatches(template, `${path}.spec`),
  ...when(
    arrayAt(template, "spec", "ephemeralContainers").length > 0,
    FieldError.forbidden(`${path}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template")
  )
]
