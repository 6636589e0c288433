/**
 * `ApiServices`: the APIService objects: who serves each group version, and in which order discovery lists them.
 *
 * Every built-in group version has an APIService from the start, and every group version of custom resources has one
 * while it is served. Groups are ordered by the highest group priority of their versions, then by name; versions within
 * a group by their own priority, then by version order.
 *
 * Source: k8s.io/kubernetes/pkg/controlplane/apiserver/aggregator.go, cmd/kube-apiserver/app/aggregator.go and
 * k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper.
 */
import type { KubeObject } from "@effect-operator/core/KubeObject"
import type * as Tables from "../../kinds/tables.ts"
import { arrayAt, asObject, at, objectAt, stringAt } from "../../api/Plain.ts"
import { compareVersions, type Group } from "../server/Registry.ts"

export const collection = "apiservices.apiregistration.k8s.io"

/** The label of APIServices that the server manages: those it starts with, or those of definitions. */
export const automanaged = "kube-aggregator.kubernetes.io/automanaged"

/** The group without an APIService, which always comes first. */
const own = "apiregistration.k8s.io"

/** Versions whose priority differs from `usual`. */
const versionPriorities: Readonly<Record<string, number>> = {
  "/v1": 1,
  "autoscaling/v2": 30,
  "certificates.k8s.io/v1alpha1": 1,
  "admissionregistration.k8s.io/v1beta1": 12,
  "admissionregistration.k8s.io/v1alpha1": 9,
  "coordination.k8s.io/v1beta1": 13,
  "coordination.k8s.io/v1alpha2": 12,
  "flowcontrol.apiserver.k8s.io/v1": 21,
  "internal.apiserver.k8s.io/v1alpha1": 9,
  "resource.k8s.io/v1": 21,
  "resource.k8s.io/v1beta2": 15
}

const usual = (version: string): number => version.includes("alpha") ? 1 : version.includes("beta") ? 9 : 15

const specOf = (group: string, version: string, groupPriorityMinimum: number, versionPriority: number) => ({
  ...(group === "" ? {} : { group }),
  version,
  groupPriorityMinimum,
  versionPriority
})

/** The condition of a local APIService, set at once. */
export const localCondition = (lastTransitionTime: string) => ({
  type: "Available",
  status: "True",
  lastTransitionTime,
  reason: "Local",
  message: "Local APIServices are always available"
})

const automatic = (label: "onstart" | "true", spec: ReturnType<typeof specOf>) => ({
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: `${spec.version}.${spec.group ?? ""}`, labels: { [automanaged]: label } },
  spec,
  status: { conditions: [localCondition("")] }
})

/** The APIServices of a new server with these groups, without generated metadata. */
export const initial = (groups: ReadonlyArray<Tables.ServedGroup>): ReadonlyArray<KubeObject> =>
  groups.filter(({ name }) => name !== own).flatMap(({ name, priority: groupPriority, versions }) =>
    versions.map((version) => {
      const priority = versionPriorities[`${name}/${version}`] ?? usual(version)
      return asObject(automatic("onstart", specOf(name, version, groupPriority, priority)))
    })
  )

/** The APIService of a group version of custom resources. */
export const ofDefinition = (group: string, version: string) => automatic("true", specOf(group, version, 1000, 100))

export const groupOf = (service: KubeObject): string => stringAt(service, "spec", "group")
export const versionOf = (service: KubeObject): string => stringAt(service, "spec", "version")

const numberAt = (value: unknown, ...path: ReadonlyArray<string>): number => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : 0
}

/** The Service of a remote APIService; undefined for a local one. */
export const serviceOf = (
  service: KubeObject
): { readonly namespace: string; readonly name: string; readonly port: number } | undefined => {
  const reference = at(service, "spec", "service")
  return reference === undefined ? undefined : {
    namespace: stringAt(reference, "namespace"),
    name: stringAt(reference, "name"),
    port: numberAt(reference, "port") || 443
  }
}

/** The condition `Available`. */
export const available = (service: KubeObject): unknown =>
  arrayAt(service, "status", "conditions").find((condition) => stringAt(condition, "type") === "Available")

export const isAvailable = (service: KubeObject): boolean => stringAt(available(service), "status") === "True"

export interface Condition {
  readonly status: "True" | "False" | "Unknown"
  readonly reason: string
  readonly message: string
}

/** The object with the condition `Available`; the same object if the condition is unchanged. */
export const withCondition = (service: KubeObject, condition: Condition, time: string): KubeObject => {
  const before = available(service)
  const { message, reason, status } = condition
  const same = stringAt(before, "status") === status
  if (same && stringAt(before, "reason") === reason && stringAt(before, "message") === message) return service
  const lastTransitionTime = same ? stringAt(before, "lastTransitionTime") : time
  const next = { type: "Available", status, lastTransitionTime, reason, message }
  const others = arrayAt(service, "status", "conditions").filter((entry) => entry !== before)
  return asObject({ ...service, status: { ...objectAt(service, "status"), conditions: [...others, next] } })
}

const byGroup = (a: KubeObject, b: KubeObject): number =>
  numberAt(b, "spec", "groupPriorityMinimum") - numberAt(a, "spec", "groupPriorityMinimum") ||
  (a.metadata.name < b.metadata.name ? -1 : 1)

const byVersion = (a: KubeObject, b: KubeObject): number =>
  numberAt(b, "spec", "versionPriority") - numberAt(a, "spec", "versionPriority") ||
  compareVersions(versionOf(a), versionOf(b))

/** The groups in the order of `/apis`, without the core group. */
export const groups = (services: ReadonlyArray<KubeObject>): ReadonlyArray<Group> => {
  const byName = new Map<string, Array<KubeObject>>()
  for (const service of [...services].sort(byGroup)) {
    const name = groupOf(service)
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [service])
    else known.push(service)
  }
  return [
    { name: own, versions: ["v1"] },
    ...[...byName].filter(([name]) => name !== "").map(([name, members]) => ({
      name,
      versions: members.sort(byVersion).map(versionOf)
    }))
  ]
}
