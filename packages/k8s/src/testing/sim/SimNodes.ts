/**
 * `SimNodes`: the Node objects of simulated nodes, as their kubelets register and update them.
 *
 * Source: k8s.io/kubernetes/pkg/kubelet/{kubelet_node_status.go,nodestatus/setters.go}.
 */
import { KubeClient, Patch } from "@effect-operator/core/KubeClient"
import type { KubeError } from "@effect-operator/core/KubeError"
import * as Effect from "effect/Effect"
import { Lease } from "../../kinds/coordination.v1.ts"
import { Node, type NodeCondition, type Taint } from "../../kinds/core.v1.ts"

export interface NodeOptions {
  readonly name: string
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
  readonly taints?: ReadonlyArray<Taint> | undefined
  /** The resources for Pods: `{ cpu: "4", memory: "8Gi", pods: "110" }` by default. */
  readonly allocatable?: Readonly<Record<string, string>> | undefined
}

export const defaults = {
  allocatable: { cpu: "4", memory: "8Gi", "ephemeral-storage": "100Gi", pods: "110" },
  /** How often a kubelet renews its Lease, and how long that is valid. */
  renewInterval: "10 seconds",
  leaseSeconds: 40
} as const

/** The namespace of the Leases of nodes. */
export const leaseNamespace = "kube-node-lease"

/** The conditions of a healthy node. */
const healthy = (now: string): ReadonlyArray<NodeCondition> => {
  const condition = (type: string, status: string, reason: string, message: string): NodeCondition => ({
    type,
    status,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    reason,
    message
  })
  return [
    condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
  ]
}

/** The conditions of a restored node. Those whose status is unchanged keep their transition time. */
const conditions = (node: Node, now: string): ReadonlyArray<NodeCondition> =>
  healthy(now).map((condition) => {
    const before = node.status?.conditions?.find(({ type }) => type === condition.type)
    const since = before?.status === condition.status ? before.lastTransitionTime : undefined
    return since === undefined ? condition : { ...condition, lastTransitionTime: since }
  })

/** Creates the Node; an existing one is adopted as it is. */
export const register = Effect.fnUntraced(function*(
  options: NodeOptions,
  address: string,
  now: string
): Effect.fn.Return<void, KubeError, KubeClient> {
  const client = yield* KubeClient
  const { annotations, labels, name, taints } = options
  const created = client.create(Node, {
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        ...labels
      },
      ...(annotations === undefined ? {} : { annotations })
    },
    spec: taints === undefined ? {} : { taints }
  })
  yield* Effect.catchReason(created, "KubeError", "AlreadyExists", () => client.get(Node, { name })).pipe(
    Effect.flatMap((node) => report(node, options, address, now))
  )
})

/** Writes the status of a healthy node. */
export const report = Effect.fnUntraced(function*(
  node: Node,
  options: NodeOptions,
  address: string,
  now: string
): Effect.fn.Return<void, KubeError, KubeClient> {
  const client = yield* KubeClient
  const amounts = options.allocatable ?? defaults.allocatable
  const status = {
    addresses: [{ type: "InternalIP", address }, { type: "Hostname", address: options.name }],
    allocatable: amounts,
    capacity: amounts,
    conditions: conditions(node, now),
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      architecture: "amd64",
      bootID: "",
      containerRuntimeVersion: "sim://1.0.0",
      kernelVersion: "6.12.0-sim",
      kubeProxyVersion: "",
      kubeletVersion: "v1.35.0",
      machineID: "",
      operatingSystem: "linux",
      osImage: "simulated",
      systemUUID: ""
    }
  }
  yield* client.patch(Node, node, Patch.strategic({ status }), { subresource: "status" })
})

/** Renews the Lease of a node. */
export const renew = Effect.fnUntraced(function*(
  node: Node,
  now: string
): Effect.fn.Return<void, KubeError, KubeClient> {
  const client = yield* KubeClient
  const { name, uid } = node.metadata
  const key = { namespace: leaseNamespace, name }
  const spec = { holderIdentity: name, leaseDurationSeconds: defaults.leaseSeconds, renewTime: now }
  const created = client.create(Lease, {
    metadata: { ...key, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] },
    spec
  })
  yield* Effect.catchReason(
    client.patch(Lease, key, Patch.merge({ spec })),
    "KubeError",
    "NotFound",
    () => created
  )
})
