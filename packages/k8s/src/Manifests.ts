/**
 * The manifests that deploy an operator: definitions, identity, permissions and the Deployment.
 *
 * Permissions are least privilege: reading follows from what the controllers declare (`for`, `owns`, `watches`), with
 * writing of status, finalizers and events where the framework does it; the reconcilers' own writes are declared here.
 */
import type * as Controller from "@effect-operator/core/Controller"
import type { CustomResource } from "@effect-operator/core/CustomResource"
import type * as Resource from "@effect-operator/core/Resource"
import * as Yaml from "yaml"
import * as Crd from "./Crd.ts"
import * as Endpoints from "./Endpoints.ts"

/** Figures that hold unless options say otherwise. */
export const defaults = {
  /** Longer than the manager's drain time of 25 s. */
  terminationGracePeriodSeconds: 30,
  resources: { requests: { cpu: "10m", memory: "128Mi" }, limits: { memory: "256Mi" } }
} as const

export type Verb = "create" | "update" | "patch" | "delete" | "deletecollection"

export interface Options {
  /** Name of everything that is made. */
  readonly name: string
  /** Where the operator runs. */
  readonly namespace: string
  readonly image: string
  readonly resources: ReadonlyArray<CustomResource>
  readonly controllers: ReadonlyArray<Controller.Controller<any>>
  /** What the reconcilers write, beyond the status of their own kind. */
  readonly writes: ReadonlyArray<{ readonly resource: Resource.Any; readonly verbs: ReadonlyArray<Verb> }>
}

/** A manifest, as plain data in the order in which people read it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

export interface Rule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

/** The definitions of the custom kinds. */
export const definitions = (options: Pick<Options, "resources">): ReadonlyArray<Manifest> =>
  options.resources.map((resource) => Crd.make(resource) as Manifest)

/** One rule per resource, in alphabetical order. */
export const rules = (options: Pick<Options, "controllers" | "writes">): ReadonlyArray<Rule> => {
  const verbs = new Map<string, Set<string>>()
  const allow = (group: string, resource: string, ...granted: ReadonlyArray<string>) => {
    const id = `${group}/${resource}`
    const existing = verbs.get(id) ?? new Set()
    for (const verb of granted) existing.add(verb)
    verbs.set(id, existing)
  }
  for (const { finalize, resource, watches } of options.controllers) {
    // What is in another cluster is for its administrators to allow.
    for (const watch of watches) {
      if (watch.resource.cluster === undefined) {
        allow(watch.resource.group, watch.resource.plural, "get", "list", "watch")
      }
    }
    if (resource.cluster !== undefined) continue
    if (resource.subresources.includes("status")) allow(resource.group, `${resource.plural}#status`, "patch", "update")
    if (finalize !== undefined) allow(resource.group, resource.plural, "patch")
    // Owner references that block deletion need this where OwnerReferencesPermissionEnforcement is on.
    allow(resource.group, `${resource.plural}#finalizers`, "update")
  }
  for (const { resource, verbs } of options.writes) allow(resource.group, resource.plural, ...verbs)
  allow("events.k8s.io", "events", "create", "patch")
  return [...verbs].sort(([a], [b]) => a < b ? -1 : 1).map(([id, granted]) => {
    const slash = id.indexOf("/")
    return {
      apiGroups: [id.slice(0, slash)],
      resources: [id.slice(slash + 1).replace("#", "/")],
      verbs: [...granted].sort()
    }
  })
}

/** ServiceAccount, ClusterRole and binding. */
export const rbac = (options: Options): ReadonlyArray<Manifest> => {
  const { name, namespace } = options
  const labels = { "app.kubernetes.io/name": name }
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name, labels },
      rules: rules(options)
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name, labels },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }]
    }
  ]
}

/** The Deployment: one replica, no privileges, time to drain. */
export const deployment = (options: Options): ReadonlyArray<Manifest> => {
  const { image, name, namespace } = options
  const labels = { "app.kubernetes.io/name": name }
  return [{
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: 1,
      // Two operators at once would work against each other: the old one stops first.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          terminationGracePeriodSeconds: defaults.terminationGracePeriodSeconds,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [{
            name: "operator",
            image,
            ports: [
              { name: "metrics", containerPort: portOf(Endpoints.defaults.metrics) },
              { name: "probes", containerPort: portOf(Endpoints.defaults.probes) }
            ],
            readinessProbe: { httpGet: { path: "/readyz", port: "probes" }, periodSeconds: 10 },
            livenessProbe: {
              httpGet: { path: "/livez", port: "probes" },
              initialDelaySeconds: 15,
              periodSeconds: 20
            },
            resources: defaults.resources,
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] }
            }
          }]
        }
      }
    }
  }]
}

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1))

/** The folder's files: `crd.yaml`, `rbac.yaml`, `deployment.yaml`. */
export const files = (options: Options): Readonly<Record<string, ReadonlyArray<Manifest>>> => ({
  "crd.yaml": definitions(options),
  "rbac.yaml": [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: options.namespace, labels: { "app.kubernetes.io/name": options.name } }
    },
    ...rbac(options)
  ],
  "deployment.yaml": deployment(options)
})

/** Manifests as one YAML stream. */
export const format = (manifests: ReadonlyArray<unknown>): string =>
  manifests.map((manifest) => Yaml.stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n")
