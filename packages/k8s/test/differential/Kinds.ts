/**
 * `Kinds`: what sequences are about: kinds, with objects a server accepts and changes it may or may not accept.
 *
 * Fields are those that both the newest Kubernetes and the oldest server compared know, with values that are mostly
 * right; what is wrong comes from `Mutation`.
 */
import type { Chance } from "./Chance.ts"
import { clusterKinds } from "./ClusterKinds.ts"
import { customKinds } from "./CustomKinds.ts"
import type { Kind } from "./Kind.ts"
import { namespacedKinds } from "./NamespacedKinds.ts"
import { registeringKinds } from "./RegisteringKinds.ts"
import {
  condition,
  count,
  plainEdits,
  plainTemplate,
  podSpec,
  replicas,
  template,
  templateEdits,
  text
} from "./Pods.ts"
import type { Edit } from "./Step.ts"

const rule = (chance: Chance) =>
  chance.pick([
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
    { apiGroups: ["apps"], resources: ["deployments", "deployments/scale"], verbs: ["*"] },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"], verbs: ["update"] }
  ])

const servicePorts = (chance: Chance) =>
  chance.pick([
    [{ port: 80 }],
    [{ port: 80, targetPort: "http" }],
    [{ name: "http", port: 80 }, { name: "dns", port: 53, protocol: "UDP", targetPort: 5353 }]
  ])

const subsets = (chance: Chance): ReadonlyArray<object> =>
  chance.pick<ReadonlyArray<object>>([
    [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }],
    [{ addresses: [{ ip: "10.0.0.1", nodeName: chance.pick(["n1", "A"]) }, { ip: "169.254.1.1" }] }],
    [{ notReadyAddresses: [{ ip: "127.0.0.1", hostname: chance.pick(["a", "A"]) }] }],
    [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }, { name: "a", port: chance.pick([1, 0]) }] }],
    [{ ports: [{ port: 80 }] }]
  ])

const backend = (chance: Chance) =>
  chance.pick<object>([
    { service: { name: "s", port: { number: 80 } } },
    { service: { name: "s", port: { name: chance.pick(["http", "a b"]) } } },
    { service: { name: chance.pick(["s", ""]), port: {} } },
    { resource: { kind: "K", name: chance.pick(["n", "a/b"]), apiGroup: "example.com" } },
    {}
  ])

const ingress = (chance: Chance) => ({
  ...chance.maybe(0.8, () => ({
    rules: [{
      ...chance.maybe(0.7, () => ({ host: chance.pick(["a.b", "*.a.b", "*", "1.2.3.4", "A"]) })),
      http: {
        paths: chance.pick([
          [{
            path: chance.pick(["/", "/a", "a", "/a//b", "/a/.."]),
            pathType: chance.pick(["Prefix", "Exact", "ImplementationSpecific"]),
            backend: backend(chance)
          }],
          []
        ])
      }
    }]
  })),
  ...chance.maybe(0.3, () => ({ defaultBackend: backend(chance) })),
  ...chance.maybe(0.2, () => ({ tls: [{ hosts: [chance.pick(["a.b", "A"])], secretName: "s" }] })),
  ...chance.maybe(0.2, () => ({ ingressClassName: chance.pick(["nginx", "A"]) }))
})

const persistentVolume = (chance: Chance) => ({
  accessModes: chance.pick([["ReadWriteOnce"], ["Other"], []]),
  capacity: chance.pick<object>([{ storage: "1Gi" }, { storage: "1Gi" }, { storage: "0" }, {
    storage: "1Gi",
    cpu: "1"
  }]),
  ...chance.pick<object>([
    { hostPath: { path: "/a" } },
    { hostPath: { path: chance.pick(["", "/a/../b"]) } },
    { nfs: { server: "s", path: chance.pick(["/a", "a"]) } },
    { local: { path: "/a" } },
    { csi: { driver: "example.com", ...chance.maybe(0.7, () => ({ volumeHandle: "h" })) } },
    {}
  ]),
  ...chance.maybe(0.3, () => ({ storageClassName: chance.pick(["fast", "A"]) }))
})

const peer = (chance: Chance) =>
  chance.pick<object>([
    { podSelector: { matchLabels: { app: "x" } } },
    { namespaceSelector: {}, podSelector: {} },
    { ipBlock: { cidr: "10.0.0.0/8", except: [chance.pick(["10.1.0.0/16", "11.0.0.0/16", "10.0.0.0/8"])] } },
    { ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} },
    {}
  ])

const networkPolicy = (chance: Chance) => ({
  podSelector: chance.pick<object>([{}, { matchLabels: { app: "x" } }]),
  ...chance.maybe(0.6, () => ({
    ingress: [{ from: [peer(chance)], ports: [{ port: chance.pick<unknown>([80, "http", 0, "a b"]) }] }]
  })),
  ...chance.maybe(0.3, () => ({ egress: [{ to: [peer(chance)] }] })),
  ...chance.maybe(0.3, () => ({ policyTypes: chance.pick([["Ingress"], ["Ingress", "Egress"], ["Other"]]) }))
})

/** Of a set whose strategy is not named 1.20 forgets the partition; and it does not mind how many may be unavailable. */
const statefulStrategy = (chance: Chance) =>
  chance.pick<object>([
    { type: "OnDelete" },
    { type: "OnDelete", rollingUpdate: { partition: 1 } },
    { type: "RollingUpdate" },
    { type: "RollingUpdate", rollingUpdate: { partition: chance.pick([0, 2, -1]) } },
    { type: "Other" }
  ])

/** 1.20 does not know that there may be more of a daemon for a while. */
const daemonStrategy = (chance: Chance) =>
  chance.pick<object>([
    { type: "OnDelete" },
    { type: "RollingUpdate" },
    { rollingUpdate: { maxUnavailable: chance.pick<unknown>([1, "30%", "120%", "x", -1]) } },
    { type: "Other" }
  ])

const builtins: ReadonlyArray<Kind> = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    namespaced: true,
    weight: 10,
    // A real server tells content that is empty from none in what it is sent, and does not in what it has: so what
    // must not change is all there.
    content: (chance) =>
      chance.chance(0.05) ? { data: { k: text(chance) }, binaryData: { bin: "AAEC" }, immutable: true } : {
        ...chance.maybe(0.8, () => ({ data: { k: text(chance), ...chance.maybe(0.4, () => ({ "a.b-c": "2" })) } })),
        ...chance.maybe(0.1, () => ({ binaryData: { bin: "AAEC" } })),
        ...chance.maybe(0.02, () => ({ immutable: false }))
      },
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["data", chance.pick(["k", "l"])], value: text(chance) },
        { path: ["data"] },
        { path: ["data", "k"] },
        { path: ["binaryData"], value: { b: "AA==" } },
        { path: ["immutable"], value: false }
      ])
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    plural: "secrets",
    namespaced: true,
    weight: 5,
    content: (chance) => ({
      ...chance.maybe(0.7, () => ({ data: { k: chance.pick(["eA==", "AAEC/w=="]) } })),
      ...chance.maybe(
        0.3,
        () => ({ stringData: { s: chance.pick(["x", "é"]), ...chance.maybe(0.3, () => ({ k: "over" })) } })
      ),
      ...chance.maybe(0.3, () => ({ type: chance.pick(["Opaque", "example.com/own", ""]) })),
      ...chance.maybe(0.1, () => ({
        type: chance.pick(["kubernetes.io/tls", "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth"]),
        ...chance.maybe(0.4, () => ({ stringData: { "tls.crt": "a", "tls.key": "b", username: "u" } }))
      }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["stringData", "k"], value: chance.pick(["x", "y"]) },
        { path: ["data", "k"], value: chance.pick(["eA==", "eQ=="]) },
        { path: ["type"], value: chance.pick(["Opaque", "example.com/own"]) },
        { path: ["data"] },
        { path: ["immutable"], value: true }
      ]),
    fields: ["type"]
  },
  {
    apiVersion: "v1",
    kind: "Pod",
    plural: "pods",
    namespaced: true,
    weight: 8,
    // Every Pod has a deadline: a Pod that gets its first one is counted by quotas again, which 1.20 does not do.
    content: (chance) => ({ spec: { ...podSpec(chance), activeDeadlineSeconds: 20 } }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "containers", "0", "image"], value: `app:${chance.int(3)}` },
        { path: ["spec", "activeDeadlineSeconds"], value: chance.pick([10, 5]) },
        { path: ["spec", "nodeName"], value: "n1" },
        { path: ["spec", "containers", "0", "name"], value: "other" },
        { path: ["spec", "restartPolicy"], value: "Never" }
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "phase"], value: chance.pick(["Running", "Failed", "Succeeded"]) },
        { path: ["status", "conditions"], value: [condition(chance)] },
        { path: ["status", "podIP"], value: "10.1.2.3" },
        { path: ["status", "message"], value: text(chance) }
      ]),
    fields: ["status.phase", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName"]
  },
  {
    apiVersion: "v1",
    kind: "Service",
    plural: "services",
    namespaced: true,
    weight: 5,
    content: (chance) => ({
      spec: {
        ports: servicePorts(chance),
        ...chance.maybe(0.7, () => ({ selector: { app: "x" } })),
        // Without a selector it is of both families since 1.23, and may have none later where the cluster has but one.
        ...chance.maybe(0.3, () => ({ clusterIP: "None", selector: { app: "x" } })),
        ...chance.maybe(0.2, () => ({ sessionAffinity: chance.pick(["None", "ClientIP"]) })),
        ...chance.maybe(0.1, () => ({
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: chance.pick([10, 0, 86401]) } }
        })),
        ...chance.maybe(0.1, () => ({ externalIPs: [chance.pick(["1.2.3.4", "127.0.0.1", "169.254.0.1"])] }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "selector"], value: chance.pick([{ app: "y" }, {}]) },
        { path: ["spec", "ports"], value: servicePorts(chance) },
        { path: ["spec", "ports", "0", "port"], value: 1 + chance.int(100) },
        { path: ["spec", "publishNotReadyAddresses"], value: chance.chance(0.5) },
        { path: ["spec", "clusterIP"], value: chance.pick(["None", "10.96.1.1"]) }
      ]),
    // Since 1.29 only a balancer has one that says something.
    status: () => ({ path: ["status", "loadBalancer"], value: {} })
  },
  {
    apiVersion: "v1",
    kind: "Endpoints",
    plural: "endpoints",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ subsets: subsets(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["subsets"], value: subsets(chance) },
        { path: ["subsets", "0", "ports"], value: [{ port: chance.pick([80, 0]) }] }
      ])
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    plural: "ingresses",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ spec: ingress(chance) }),
    edit: (chance) => ({ path: ["spec"], value: ingress(chance) })
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ spec: networkPolicy(chance) }),
    edit: (chance) => ({ path: ["spec"], value: networkPolicy(chance) })
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
    namespaced: true,
    weight: 8,
    content: (chance) => ({
      spec: {
        selector: { matchLabels: { app: "x" } },
        template: template(chance),
        ...replicas(chance),
        ...chance.maybe(0.2, () => ({
          strategy: chance.pick([{ type: "Recreate" }, { rollingUpdate: { maxSurge: 1 } }, {
            type: "RollingUpdate",
            rollingUpdate: { maxUnavailable: "50%" }
          }])
        })),
        ...chance.maybe(0.1, () => ({ paused: chance.chance(0.5), minReadySeconds: chance.int(3) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "replicas"], value: chance.int(5) },
        { path: ["spec", "paused"], value: chance.chance(0.5) },
        templateEdits(chance),
        templateEdits(chance)
      ]),
    status: (chance) =>
      chance.pick<Edit>([
        { path: ["status", "conditions"], value: [condition(chance)] },
        count(chance, "observedGeneration", "replicas"),
        { path: ["status", "unavailableReplicas"], value: chance.int(2) }
      ]),
    scale: true
  },
  {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    plural: "statefulsets",
    namespaced: true,
    weight: 4,
    content: (chance) => ({
      spec: {
        selector: { matchLabels: { app: "x" } },
        serviceName: "s",
        template: plainTemplate(chance),
        ...replicas(chance),
        ...chance.maybe(0.3, () => ({
          volumeClaimTemplates: [{
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
          }]
        })),
        ...chance.maybe(0.2, () => ({ podManagementPolicy: chance.pick(["Parallel", "OrderedReady", "Other"]) })),
        ...chance.maybe(0.3, () => ({ updateStrategy: statefulStrategy(chance) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "replicas"], value: chance.int(5) },
        { path: ["spec", "serviceName"], value: chance.pick(["s", "t"]) },
        { path: ["spec", "updateStrategy"], value: statefulStrategy(chance) },
        plainEdits(chance)
      ]),
    status: (chance) => count(chance, "replicas", "readyReplicas", "observedGeneration"),
    scale: true
  },
  {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    plural: "replicasets",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      spec: { selector: { matchLabels: { app: "x" } }, template: template(chance), ...replicas(chance) }
    }),
    edit: (chance) => chance.pick<Edit>([{ path: ["spec", "replicas"], value: chance.int(5) }, templateEdits(chance)]),
    status: (chance) => count(chance, "replicas", "observedGeneration"),
    scale: true
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    plural: "daemonsets",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      spec: {
        selector: { matchLabels: { app: "x" } },
        template: template(chance),
        ...chance.maybe(0.3, () => ({ updateStrategy: daemonStrategy(chance) })),
        ...chance.maybe(0.1, () => ({ minReadySeconds: chance.int(3), revisionHistoryLimit: chance.pick([0, 3, -1]) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        templateEdits(chance),
        templateEdits(chance),
        { path: ["spec", "updateStrategy"], value: daemonStrategy(chance) }
      ]),
    status: (chance) => count(chance, "desiredNumberScheduled", "numberReady", "observedGeneration")
  },
  {
    apiVersion: "batch/v1",
    kind: "Job",
    plural: "jobs",
    namespaced: true,
    weight: 3,
    content: (chance) => ({
      spec: {
        template: template(chance, { restartPolicy: chance.pick(["Never", "OnFailure"]) }),
        ...chance.maybe(0.3, () => ({ parallelism: 1 + chance.int(3) })),
        ...chance.maybe(0.3, () => ({ completions: 1 + chance.int(3) })),
        ...chance.maybe(0.2, () => ({ backoffLimit: chance.int(3) })),
        ...chance.maybe(0.2, () => ({ activeDeadlineSeconds: 60 }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "parallelism"], value: chance.int(4) },
        { path: ["spec", "activeDeadlineSeconds"], value: 5 + chance.int(3) },
        { path: ["spec", "completions"], value: chance.int(4) }
      ]),
    // Since 1.31 the other counts never become less.
    status: (chance) =>
      chance.pick([count(chance, "active"), { path: ["status", "conditions"], value: [condition(chance)] }]),
    fields: ["status.successful"]
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    plural: "leases",
    namespaced: true,
    weight: 5,
    content: (chance) =>
      chance.maybe(0.9, () => ({
        spec: {
          ...chance.maybe(0.7, () => ({ holderIdentity: chance.pick(["me", "you"]) })),
          ...chance.maybe(0.5, () => ({ leaseDurationSeconds: 15 })),
          ...chance.maybe(0.4, () => ({ renewTime: "2020-01-02T03:04:05.000006Z" })),
          ...chance.maybe(0.3, () => ({ leaseTransitions: chance.int(3) }))
        }
      })),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "holderIdentity"], value: chance.pick(["me", "you"]) },
        { path: ["spec", "leaseTransitions"], value: chance.int(4) },
        { path: ["spec", "renewTime"], value: `2020-01-02T03:04:0${chance.int(9)}.000006Z` },
        { path: ["spec", "acquireTime"], value: "2020-01-02T03:04:05.000006+02:00" },
        { path: ["spec"] }
      ])
  },
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      ...chance.maybe(0.3, () => ({ automountServiceAccountToken: chance.chance(0.5) })),
      ...chance.maybe(0.3, () => ({ secrets: [{ name: "a" }, { name: "b" }] })),
      ...chance.maybe(0.2, () => ({ imagePullSecrets: [{ name: "p" }] }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["automountServiceAccountToken"], value: chance.chance(0.5) },
        { path: ["secrets"], value: [{ name: chance.pick(["a", "c"]) }] },
        { path: ["imagePullSecrets"], value: [{ name: chance.pick(["p", "q"]) }] }
      ])
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    plural: "roles",
    namespaced: true,
    weight: 2,
    content: (chance) => ({ rules: chance.chance(0.5) ? [rule(chance)] : [rule(chance), rule(chance)] }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["rules"], value: [rule(chance)] },
        { path: ["rules", "0", "verbs"], value: ["get"] },
        { path: ["rules"], value: [] }
      ])
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    plural: "rolebindings",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: chance.pick(["Role", "ClusterRole"]),
        name: chance.pick(["a", "b"])
      },
      ...chance.maybe(0.8, () => ({
        subjects: [
          chance.pick<object>([{ kind: "User", name: "u" }, {
            kind: "ServiceAccount",
            name: "a",
            namespace: "{{ns}}"
          }, { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "g" }])
        ]
      }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["subjects"], value: [{ kind: "User", name: chance.pick(["u", "v"]) }] },
        { path: ["subjects"] },
        { path: ["roleRef", "name"], value: chance.pick(["a", "b"]) }
      ])
  },
  {
    apiVersion: "v1",
    kind: "Event",
    plural: "events",
    namespaced: true,
    weight: 3,
    content: (chance) => ({
      involvedObject: { kind: "Pod", namespace: "{{ns}}", name: chance.pick(["a", "b"]), apiVersion: "v1" },
      ...chance.maybe(0.8, () => ({ reason: chance.pick(["Started", "Killed"]), message: text(chance) })),
      ...chance.maybe(0.7, () => ({ type: chance.pick(["Normal", "Warning"]) })),
      ...chance.maybe(0.5, () => ({ source: { component: "kubelet" } })),
      ...chance.maybe(0.5, () => ({
        firstTimestamp: "2020-01-01T00:00:00Z",
        lastTimestamp: "2020-01-01T00:00:01Z",
        count: 1 + chance.int(3)
      }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["count"], value: chance.int(5) },
        { path: ["message"], value: text(chance) },
        { path: ["lastTimestamp"], value: "2020-01-01T00:00:09Z" }
      ]),
    fields: ["reason", "type", "involvedObject.name", "involvedObject.kind"]
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      spec: {
        accessModes: chance.pick([["ReadWriteOnce"], ["ReadOnlyMany", "ReadWriteMany"]]),
        resources: { requests: { storage: chance.pick(["1Gi", "1000M", "2Gi"]) } },
        ...chance.maybe(0.3, () => ({ storageClassName: chance.pick(["fast", ""]) }))
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "resources", "requests", "storage"], value: "2Gi" },
        { path: ["spec", "accessModes"], value: ["ReadWriteMany"] },
        { path: ["spec", "volumeName"], value: "v" }
      ]),
    status: (chance) => ({ path: ["status", "phase"], value: chance.pick(["Bound", "Lost", "Pending"]) })
  },
  {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    namespaced: true,
    weight: 2,
    content: (chance) => ({
      spec: {
        selector: { matchLabels: { app: "x" } },
        ...chance.pick([{ minAvailable: 1 }, { maxUnavailable: "30%" }, { minAvailable: "50%" }])
      }
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "minAvailable"], value: chance.int(3) },
        { path: ["spec", "maxUnavailable"], value: chance.int(3) },
        { path: ["spec", "selector", "matchLabels"], value: { app: "y" } }
      ]),
    status: (chance) => count(chance, "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    plural: "persistentvolumes",
    namespaced: false,
    weight: 1,
    content: (chance) => ({ spec: persistentVolume(chance) }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["spec", "capacity", "storage"], value: chance.pick(["2Gi", "0"]) },
        { path: ["spec", "persistentVolumeReclaimPolicy"], value: chance.pick(["Delete", "Other"]) },
        { path: ["spec", "volumeMode"], value: "Block" }
      ])
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    plural: "storageclasses",
    namespaced: false,
    weight: 1,
    content: (chance) => ({
      provisioner: chance.pick(["example.com/disk", "disk", "a b"]),
      ...chance.maybe(0.3, () => ({ reclaimPolicy: chance.pick(["Retain", "Recycle"]) })),
      ...chance.maybe(0.3, () => ({ volumeBindingMode: chance.pick(["WaitForFirstConsumer", "Other"]) }))
    }),
    edit: (chance) =>
      chance.pick<Edit>([
        { path: ["parameters"], value: { a: "b" } },
        { path: ["allowVolumeExpansion"], value: true },
        { path: ["reclaimPolicy"], value: "Retain" },
        { path: ["volumeBindingMode"], value: "WaitForFirstConsumer" }
      ])
  },
  {
    apiVersion: "v1",
    kind: "Namespace",
    plural: "namespaces",
    namespaced: false,
    weight: 1,
    content: (chance) => chance.maybe(0.2, () => ({ spec: { finalizers: ["example.com/drain"] } })),
    edit: (chance) => ({ path: ["metadata", "labels", "team"], value: chance.pick(["a", "b"]) }),
    status: (chance) => ({ path: ["status", "phase"], value: chance.pick(["Active", "Terminating"]) }),
    fields: ["status.phase"]
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    namespaced: false,
    weight: 1,
    content: (chance) => ({ rules: [rule(chance)] }),
    edit: (chance) => ({ path: ["rules"], value: [rule(chance)] })
  }
]

export const kinds: ReadonlyArray<Kind> = [
  ...builtins,
  ...namespacedKinds,
  ...clusterKinds,
  ...registeringKinds,
  ...customKinds
]
