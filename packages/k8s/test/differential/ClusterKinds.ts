/**
 * `ClusterKinds`: more kinds of objects that are in no namespace: Nodes, classes, and what drivers of storage say.
 *
 * All sequences see them: none of these may be a default of the cluster.
 */
import type { Chance } from "./Chance.ts"
import type { Kind } from "./Kind.ts"
import { condition, text } from "./Pods.ts"
import type { Edit } from "./Step.ts"

const taint = (chance: Chance) => ({
  key: chance.pick(["dedicated", "example.com/a", "a b", "node.kubernetes.io/not-ready"]),
  ...chance.maybe(0.6, () => ({ value: chance.pick(["x", "", "a b"]) })),
  ...chance.maybe(0.95, () => ({ effect: chance.pick(["NoSchedule", "NoExecute", "PreferNoSchedule", "Other"]) })),
  ...chance.maybe(0.1, () => ({ timeAdded: "2020-01-01T00:00:00Z" }))
})

const taints = (chance: Chance): ReadonlyArray<object> =>
  chance.chance(0.7) ? [taint(chance)] : [taint(chance), taint(chance)]

const capacity = (chance: Chance): object =>
  chance.pick<object>([
    { cpu: "4", memory: "8Gi", pods: "110" },
    { cpu: 2, "ephemeral-storage": "10Gi" },
    { "example.com/gpu": chance.pick(["2", "1.5"]) },
    { cpu: "1.5", pods: chance.pick(["1.5", "-1"]) },
    { bogus: "1", "hugepages-2Mi": "0" }
  ])

/** 1.20 has one network for a Node only, and drops the others. */
const ranges = (chance: Chance): object =>
  chance.pick<object>([
    { podCIDR: "10.1.0.0/24" },
    { podCIDR: chance.pick(["10.1.0.0", "x", "10.1.0.1/24"]) }
  ])

const node = (chance: Chance) => ({
  ...chance.maybe(0.3, () => ({ unschedulable: chance.chance(0.5) })),
  ...chance.maybe(0.4, () => ({ taints: taints(chance) })),
  ...chance.maybe(0.3, () => ranges(chance)),
  ...chance.maybe(0.2, () => ({ providerID: chance.pick(["example://a", "b"]) }))
})

const address = (chance: Chance) => ({
  type: chance.pick(["InternalIP", "Hostname", "ExternalIP"]),
  address: chance.pick(["10.0.0.1", "a"])
})

const nodeStatus = (chance: Chance): Edit =>
  chance.pick<Edit>([
    { path: ["status", "capacity"], value: capacity(chance) },
    { path: ["status", "allocatable"], value: capacity(chance) },
    { path: ["status", "conditions"], value: [condition(chance)] },
    {
      path: ["status", "conditions"],
      value: [{ type: "Ready", status: "True" }, { type: "DiskPressure", status: "" }]
    },
    {
      path: ["status", "addresses"],
      value: chance.chance(0.6) ? [address(chance)] : [address(chance), address(chance)]
    },
    { path: ["status", "nodeInfo"], value: { kubeletVersion: "v1.20.2", osImage: text(chance) } },
    { path: ["status", "phase"], value: chance.pick(["Running", "Other"]) },
    { path: ["status", "images"], value: [{ names: ["app:1"], sizeBytes: 5 }] },
    { path: ["status", "daemonEndpoints"], value: { kubeletEndpoint: { Port: 10250 } } },
    { path: ["status", "volumesAttached"], value: [{ name: "v", devicePath: "/d" }] }
  ])

const modes = (chance: Chance): ReadonlyArray<string> =>
  chance.pick([["Persistent"], ["Ephemeral"], ["Persistent", "Ephemeral"], ["Other"], []])

const driver = (chance: Chance) => ({
  ...chance.maybe(0.5, () => ({ attachRequired: chance.chance(0.5) })),
  ...chance.maybe(0.4, () => ({ podInfoOnMount: chance.chance(0.5) })),
  ...chance.maybe(0.5, () => ({ volumeLifecycleModes: modes(chance) })),
  ...chance.maybe(0.4, () => ({ fsGroupPolicy: chance.pick(["File", "None", "ReadWriteOnceWithFSType", "Other", ""]) }))
})

const nodeDriver = (chance: Chance) => ({
  name: chance.pick(["a.example.com", "b.example.com", "A_b", ""]),
  nodeID: chance.pick(["n1", "n2", "x".repeat(257), ""]),
  ...chance.maybe(0.5, () => ({ topologyKeys: chance.pick([["zone"], ["zone", "zone"], ["a b"], [""], null]) }))
})

const goodDriver = (chance: Chance) => ({
  name: "a.example.com",
  nodeID: chance.pick(["n1", "n1", "n2"]),
  topologyKeys: chance.pick([["zone"], ["zone", "region"]])
})

const drivers = (chance: Chance): unknown =>
  chance.weighted<() => unknown>([
    [5, () => [goodDriver(chance)]],
    [1, () => [nodeDriver(chance)]],
    [1, () => [nodeDriver(chance), nodeDriver(chance)]],
    [1, () => []],
    [0.3, () => null]
  ])()

const source = (chance: Chance): object =>
  chance.pick<object>([
    { persistentVolumeName: "v" },
    { persistentVolumeName: "v" },
    { persistentVolumeName: chance.pick(["", "A"]) },
    {
      inlineVolumeSpec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        csi: { driver: "a.example.com", ...chance.maybe(0.8, () => ({ volumeHandle: "h" })) },
        ...chance.maybe(0.3, () => ({ storageClassName: "fast" }))
      }
    },
    { inlineVolumeSpec: {}, persistentVolumeName: "v" },
    {}
  ])

const volumeError = (chance: Chance) => ({
  ...chance.maybe(0.8, () => ({ message: text(chance) })),
  ...chance.maybe(0.5, () => ({ time: "2020-01-01T00:00:00Z" }))
})

const tolerations = (chance: Chance): ReadonlyArray<object> =>
  chance.pick<ReadonlyArray<object>>([
    [{ key: "k", operator: "Exists" }],
    [{ key: "k", operator: "Exists" }, { key: "k", operator: "Exists" }],
    [{ key: "k", operator: chance.pick(["Equal", "Other"]), value: "v", effect: chance.pick(["NoSchedule", "Other"]) }],
    [{ key: "a b", value: "x" }],
    [{ operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 }]
  ])

const runtimeClass = (chance: Chance) => ({
  handler: chance.weighted([[6, "runc"], [2, "kata"], [0.5, "A"], [0.5, ""]]),
  ...chance.maybe(0.3, () => ({
    overhead: chance.pick<object>([
      { podFixed: { cpu: "100m", memory: "64Mi" } },
      { podFixed: { cpu: 1 } },
      { podFixed: { storage: "1Gi" } },
      { podFixed: { cpu: "-1" } },
      { podFixed: { "hugepages-2Mi": "2Mi" } },
      {}
    ])
  })),
  ...chance.maybe(0.4, () => ({
    scheduling: {
      ...chance.maybe(
        0.6,
        () => ({ nodeSelector: chance.pick<object>([{ disk: "ssd" }, { "a b": "x" }, { a: "b c" }]) })
      ),
      ...chance.maybe(0.6, () => ({ tolerations: tolerations(chance) }))
    }
  }))
})

const parameters = (chance: Chance): object => ({
  kind: chance.pick(["K", "", "a/b"]),
  name: chance.pick(["n", "", "a/b"]),
  ...chance.maybe(0.7, () => ({ apiGroup: chance.pick(["example.com", "A", ""]) }))
})

const subject = (chance: Chance) =>
  chance.pick<object>([
    { kind: "User", name: "u" },
    { kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" },
    { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "g" },
    { kind: "ServiceAccount", name: "a", ...chance.maybe(0.7, () => ({ namespace: "{{ns}}" })) },
    { kind: "ServiceAccount", name: "A", namespace: "{{ns}}" },
    { kind: "ServiceAccount", name: "a", namespace: "{{ns}}", apiGroup: "x" },
    { kind: "Other", name: "" },
    { kind: "User", name: "u", apiGroup: "x" }
  ])

export const clusterKinds: ReadonlyArray<Kind> = [
  {
    apiVersion: "v1",
    kind: "Node",
    plural: "nodes",
    namespaced: false,
    weight: 2,
    content: (chance) => ({
      ...chance.maybe(0.9, () => ({ spec: node(chance) })),
      ...chance.maybe(0.3, () => ({ status: { capacity: capacity(chance) } }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "unschedulable"], value: chance.chance(0.7) },
        { path: ["spec", "taints"], value: taints(chance) },
        { path: ["spec", "taints"] },
        { path: ["spec", "providerID"], value: chance.pick(["example://a", "b", ""]) },
        { path: ["spec", "podCIDR"], value: chance.pick(["10.1.0.0/24", "10.9.0.0/24"]) },
        { path: ["spec", "podCIDRs"], value: ["10.1.0.0/24"] },
        { path: ["spec"], value: node(chance) }
      ]),
    status: nodeStatus,
    fields: ["spec.unschedulable"]
  },
  {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    plural: "priorityclasses",
    namespaced: false,
    weight: 1,
    content: (chance) => ({
      ...chance.maybe(0.95, () => ({ value: chance.pick([0, 10, 1000, -5, 1_000_000_000, 1_000_000_001]) })),
      ...chance.maybe(0.3, () => ({ description: text(chance) })),
      ...chance.maybe(0.3, () => ({ preemptionPolicy: chance.pick(["Never", "PreemptLowerPriority", "Other"]) }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["description"], value: text(chance) },
        { path: ["value"], value: chance.pick([10, 11]) },
        { path: ["preemptionPolicy"], value: chance.pick(["Never", "PreemptLowerPriority"]) },
        { path: ["preemptionPolicy"] }
      ])
  },
  {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    namespaced: false,
    weight: 1,
    content: runtimeClass,
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["handler"], value: chance.pick(["runc", "kata"]) },
        { path: ["overhead"], value: { podFixed: { cpu: "200m" } } },
        { path: ["scheduling", "tolerations"], value: tolerations(chance) },
        { path: ["scheduling"] }
      ])
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    plural: "ingressclasses",
    namespaced: false,
    weight: 1,
    content: (chance) => ({
      spec: {
        ...chance.maybe(0.95, () => ({
          controller: chance.weighted([[6, "example.com/c"], [1, "x"], [1, ""], [1, "A/b c"], [
            1,
            "a.b/" + "x".repeat(250)
          ]])
        })),
        ...chance.maybe(0.3, () => ({ parameters: parameters(chance) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "controller"], value: chance.pick(["example.com/c", "example.com/d"]) },
        { path: ["spec", "parameters"], value: parameters(chance) },
        { path: ["spec", "parameters"] }
      ])
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    plural: "csidrivers",
    namespaced: false,
    weight: 1,
    content: (chance) => ({ spec: driver(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "attachRequired"], value: chance.chance(0.5) },
        { path: ["spec", "volumeLifecycleModes"], value: modes(chance) },
        { path: ["spec", "volumeLifecycleModes"] }
      ])
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    plural: "csinodes",
    namespaced: false,
    weight: 1,
    content: (chance) => ({ spec: { drivers: drivers(chance) } }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "drivers"], value: drivers(chance) },
        { path: ["spec", "drivers", "0", "nodeID"], value: chance.pick(["n1", "n2"]) },
        { path: ["spec", "drivers", "0", "name"], value: chance.pick(["a.example.com", "c.example.com"]) },
        { path: ["spec", "drivers", "0", "topologyKeys"], value: ["zone", "rack"] }
      ])
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    namespaced: false,
    weight: 1,
    content: (chance) => ({
      spec: {
        attacher: chance.weighted([[6, "a.example.com"], [1, "A_b"], [1, ""]]),
        nodeName: chance.weighted([[6, "n1"], [1, "A"], [1, ""]]),
        source: source(chance)
      },
      ...chance.maybe(0.2, () => ({ status: { attached: true } }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "nodeName"], value: chance.pick(["n1", "n2"]) },
        { path: ["spec", "source"], value: source(chance) },
        { path: ["status", "attached"], value: true }
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "attached"], value: chance.chance(0.5) },
        { path: ["status", "attachmentMetadata"], value: { a: "b" } },
        { path: ["status", "attachError"], value: volumeError(chance) },
        { path: ["status", "detachError"], value: volumeError(chance) },
        { path: ["status"], value: {} }
      ])
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
    weight: 1,
    content: (chance) => ({
      roleRef: {
        ...chance.maybe(
          0.9,
          () => ({ apiGroup: chance.pick(["rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "x"]) })
        ),
        kind: chance.pick(["ClusterRole", "ClusterRole", "ClusterRole", "Role"]),
        name: chance.pick(["a", "b", "", "a/b"])
      },
      ...chance.maybe(
        0.8,
        () => ({ subjects: chance.chance(0.7) ? [subject(chance)] : [subject(chance), subject(chance)] })
      )
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["subjects"], value: [subject(chance)] },
        { path: ["subjects"] },
        { path: ["roleRef", "name"], value: chance.pick(["a", "b"]) }
      ])
  }
]
