import { assert, describe, it } from "@effect/vitest"
import * as Defaults from "../../../../src/testing/server/defaults/Defaults.ts"

/** Kind, what is sent, and what a kube-apiserver made of it. */
const cases: ReadonlyArray<readonly [group: string, kind: string, sent: object, made: object]> = [
  ["", "Node", { spec: { podCIDR: "10.0.0.0/24" }, status: { capacity: { cpu: "4" } } }, {
    spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] },
    status: { capacity: { cpu: "4" }, allocatable: { cpu: "4" } }
  }],
  ["", "Endpoints", { subsets: [{ ports: [{ port: 80 }, { port: 53, protocol: "UDP" }] }] }, {
    subsets: [{ ports: [{ port: 80, protocol: "TCP" }, { port: 53, protocol: "UDP" }] }]
  }],
  ["", "PersistentVolume", { spec: { hostPath: { path: "/x" } } }, {
    spec: {
      hostPath: { path: "/x", type: "" },
      persistentVolumeReclaimPolicy: "Retain",
      volumeMode: "Filesystem"
    },
    status: { phase: "Pending" }
  }],
  ["networking.k8s.io", "NetworkPolicy", { spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] } }, {
    spec: { podSelector: {}, ingress: [{ ports: [{ port: 80, protocol: "TCP" }] }], policyTypes: ["Ingress"] }
  }],
  ["networking.k8s.io", "NetworkPolicy", { spec: { podSelector: {}, egress: [{}] } }, {
    spec: { podSelector: {}, egress: [{}], policyTypes: ["Ingress", "Egress"] }
  }],
  ["storage.k8s.io", "StorageClass", { provisioner: "p" }, {
    provisioner: "p",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate"
  }],
  ["scheduling.k8s.io", "PriorityClass", { value: 5 }, { value: 5, preemptionPolicy: "PreemptLowerPriority" }],
  ["autoscaling", "HorizontalPodAutoscaler", { apiVersion: "autoscaling/v1", spec: { maxReplicas: 3 } }, {
    apiVersion: "autoscaling/v1",
    spec: { maxReplicas: 3, minReplicas: 1, targetCPUUtilizationPercentage: 80 }
  }],
  ["autoscaling", "HorizontalPodAutoscaler", { apiVersion: "autoscaling/v1" }, {
    apiVersion: "autoscaling/v1",
    spec: { minReplicas: 1, targetCPUUtilizationPercentage: 80 }
  }],
  ["autoscaling", "HorizontalPodAutoscaler", { apiVersion: "autoscaling/v2", spec: { maxReplicas: 3 } }, {
    apiVersion: "autoscaling/v2",
    spec: {
      maxReplicas: 3,
      minReplicas: 1,
      metrics: [{
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } }
      }]
    }
  }]
]

describe("fills in", () => {
  for (const [group, kind, sent, made] of cases) {
    it(`${kind} ${JSON.stringify(sent)}`, () => {
      const filled = Defaults.apply(group, kind, sent as never)
      assert.deepStrictEqual(filled, made as never)
      // What has its defaults keeps them.
      assert.deepStrictEqual(Defaults.apply(group, kind, filled), filled)
    })
  }
})

const serviceSpec = (spec: object): any =>
  (Defaults.apply("", "Service", { spec: { ports: [{ port: 80 }], ...spec } }) as any).spec

it("a Service's policies follow from its type", () => {
  const outside = serviceSpec({ type: "NodePort" })
  assert.deepStrictEqual([outside.internalTrafficPolicy, outside.externalTrafficPolicy], ["Cluster", "Cluster"])
  assert.isTrue(serviceSpec({ type: "LoadBalancer" }).allocateLoadBalancerNodePorts)
  assert.notProperty(serviceSpec({ type: "ExternalName" }), "internalTrafficPolicy")
  assert.notProperty(serviceSpec({}), "externalTrafficPolicy")
  assert.strictEqual(serviceSpec({ externalIPs: ["1.2.3.4"] }).externalTrafficPolicy, "Cluster")
})

it("a ReplicationController takes selector and labels from its template", () => {
  const made = Defaults.apply("", "ReplicationController", {
    metadata: { name: "a" },
    spec: { template: { metadata: { labels: { a: "b" } } } }
  }) as any
  assert.deepStrictEqual(made.metadata.labels, { a: "b" })
  assert.deepStrictEqual(made.spec.selector, { a: "b" })
})

const podSpec = (spec: object): any => (Defaults.apply("", "Pod", { spec }) as any).spec

it("every source of a volume has its own", () => {
  const fieldRef = { path: "x", fieldRef: { fieldPath: "metadata.name" } }
  const sources = [
    [{}, { emptyDir: {} }],
    [{ iscsi: { lun: 1 } }, { iscsi: { lun: 1, iscsiInterface: "default" } }],
    [{ rbd: { image: "i" } }, { rbd: { image: "i", pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } }],
    [{ downwardAPI: { items: [fieldRef] } }, {
      downwardAPI: {
        items: [{ path: "x", fieldRef: { fieldPath: "metadata.name", apiVersion: "v1" } }],
        defaultMode: 420
      }
    }],
    [{ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }, {
      projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }], defaultMode: 420 }
    }],
    [{ ephemeral: { volumeClaimTemplate: { spec: {} } } }, {
      ephemeral: { volumeClaimTemplate: { spec: { volumeMode: "Filesystem" } } }
    }]
  ] as const
  for (const [sent, made] of sources) {
    assert.deepStrictEqual(podSpec({ volumes: [{ name: "v", ...sent }] }).volumes, [{ name: "v", ...made }])
  }
})

it("ports on the host's network, and requests of hooks and probes", () => {
  const [container] = podSpec({
    hostNetwork: true,
    containers: [{
      name: "c",
      image: "i",
      ports: [{ containerPort: 80 }],
      lifecycle: { preStop: { httpGet: { port: 1 } } },
      livenessProbe: { grpc: { port: 2 } }
    }]
  }).containers
  assert.strictEqual(container.ports[0].hostPort, 80)
  assert.deepStrictEqual(container.lifecycle.preStop.httpGet, { port: 1, path: "/", scheme: "HTTP" })
  assert.deepStrictEqual(container.livenessProbe.grpc, { port: 2, service: "" })
})
