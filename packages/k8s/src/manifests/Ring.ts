/**
 * `Ring`: the `ControllerRing` of an operator whose replicas share the objects as kubernetes-controller-sharding assigns
 * them, and what its sharder may do with them. The sharder itself is installed apart from it, once in a cluster.
 *
 * Children are left out of the ring: they follow their owner (see `Ring` of `@effect-operator/core`).
 *
 * Source: docs/implement-sharding.md and config/rbac of timebertt/kubernetes-controller-sharding (v1alpha1).
 */
import type * as Controller from "@effect-operator/core/Controller"

/** Whose rights these are. */
const sharder = { kind: "ServiceAccount", name: "sharder", namespace: "sharding-system" } as const

const rbac = "rbac.authorization.k8s.io"

/** The kinds that are sharded, once each. */
const shardedBy = (controllers: ReadonlyArray<Pick<Controller.Controller<any>, "resource">>) =>
  [...new Map(controllers.map(({ resource }) => [`${resource.plural}.${resource.group}`, resource])).values()].map(
    ({ group, plural }) => ({ group, resource: plural })
  )

export const make = (
  name: string,
  controllers: ReadonlyArray<Pick<Controller.Controller<any>, "resource">>,
  labels: Readonly<Record<string, string>>
) => {
  const sharded = shardedBy(controllers)
  const metadata = { name: `sharding:controllerring:${name}`, labels }
  return [
    {
      apiVersion: "sharding.timebertt.dev/v1alpha1",
      kind: "ControllerRing",
      metadata: { name, labels },
      spec: { resources: sharded }
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata,
      rules: sharded.map(({ group, resource }) => ({
        apiGroups: [group],
        resources: [resource],
        verbs: ["list", "patch"]
      }))
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: metadata.name },
      subjects: [sharder]
    }
  ]
}
