/**
 * `Ring`: the `ControllerRing` of an operator whose replicas share objects as kubernetes-controller-sharding assigns
 * them, and the RBAC of the sharder for these objects. The sharder itself is installed separately, once per cluster.
 *
 * The ring contains no child kinds: they follow their owner (see `Ring` of `@effect-operator/core`).
 *
 * Source: docs/implement-sharding.md and config/rbac of timebertt/kubernetes-controller-sharding (v1alpha1).
 */
import type * as Controller from "@effect-operator/core/Controller"

/** The sharder's account, which gets the permissions. */
const sharder = { kind: "ServiceAccount", name: "sharder", namespace: "sharding-system" } as const

const rbac = "rbac.authorization.k8s.io"

/** The sharded kinds, without duplicates. */
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
