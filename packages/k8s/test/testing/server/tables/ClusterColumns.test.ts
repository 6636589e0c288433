import type { KubeObject } from "@effect-operator/core"
import { assert, describe, it } from "@effect/vitest"
import * as BuiltinColumns from "../../../../src/testing/server/tables/BuiltinColumns.ts"
import * as PodColumns from "../../../../src/testing/server/tables/PodColumns.ts"

const now = Date.parse("2026-01-01T00:01:00Z")

/** The row of an object by column, without name and age. */
const row = (collection: string, fields: object): Record<string, unknown> => {
  const object = {
    metadata: { name: "a", creationTimestamp: "2026-01-01T00:00:00Z" },
    ...fields
  } as unknown as KubeObject.KubeObject
  return Object.fromEntries(
    BuiltinColumns.columnsOf({ collection } as never).filter(({ name }) => name !== "Name" && name !== "Age")
      .map(({ name, value }) => [name, value(object, now)])
  )
}

const cases: ReadonlyArray<readonly [string, object, Record<string, unknown>]> = [
  ["endpoints", {}, { Endpoints: "<none>" }],
  ["endpoints", {
    subsets: [{ addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], ports: [{ port: 80 }, { port: 81 }] }]
  }, { Endpoints: "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more..." }],
  ["resourcequotas", {
    status: { hard: { "requests.cpu": "2", pods: "5", "limits.cpu": "4" }, used: { pods: "1" } }
  }, { Request: "pods: 1/5, requests.cpu: 0/2", Limit: "limits.cpu: 0/4" }],
  ["ingresses.networking.k8s.io", {
    spec: { ingressClassName: "nginx", tls: [{}], rules: [{ host: "a" }, {}, { host: "c" }, { host: "d" }] },
    status: { loadBalancer: { ingress: [{ ip: "2.2.2.2" }, { hostname: "lb" }, { ip: "1.1.1.1" }] } }
  }, { Class: "nginx", Hosts: "a,c + 1 more...", Address: "1.1.1.1,2.2.2.2,lb", Ports: "80, 443" }],
  ["ingresses.networking.k8s.io", { spec: {} }, { Class: "<none>", Hosts: "*", Address: "", Ports: "80" }],
  ["endpointslices.discovery.k8s.io", {
    addressType: "IPv4",
    ports: [{ port: 80 }, { name: "x" }],
    endpoints: [{ addresses: ["1", "2"] }, { addresses: ["3"] }, { addresses: ["4"] }]
  }, { AddressType: "IPv4", Ports: "80,x", Endpoints: "1,2,3 + 1 more..." }],
  ["endpointslices.discovery.k8s.io", { addressType: "FQDN", ports: [{ name: "a", port: 0 }, { name: "" }] }, {
    AddressType: "FQDN",
    Ports: "0,",
    Endpoints: "<unset>"
  }],
  ["apiservices.apiregistration.k8s.io", { spec: {} }, { Service: "Local", Available: "Unknown" }],
  ["apiservices.apiregistration.k8s.io", {
    spec: { service: { namespace: "n", name: "s" } },
    status: { conditions: [{ type: "Available", status: "False", reason: "MissingEndpoints" }] }
  }, { Service: "n/s", Available: "False (MissingEndpoints)" }],
  ["controllerrevisions.apps", {
    metadata: { ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", controller: true }] },
    revision: 2
  }, { Controller: "daemonset.apps/d", Revision: 2 }],
  ["controllerrevisions.apps", {
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "c", controller: true }] }
  }, { Controller: "configmap/c", Revision: 0 }],
  ["storageclasses.storage.k8s.io", {
    provisioner: "p",
    reclaimPolicy: "Delete",
    volumeBindingMode: "Immediate",
    allowVolumeExpansion: true
  }, {
    Provisioner: "p",
    ReclaimPolicy: "Delete",
    VolumeBindingMode: "Immediate",
    AllowVolumeExpansion: true
  }],
  ["csidrivers.storage.k8s.io", { spec: { tokenRequests: [{ audience: "a" }, { audience: "b" }] } }, {
    AttachRequired: true,
    PodInfoOnMount: false,
    StorageCapacity: false,
    TokenRequests: "a,b",
    RequiresRepublish: false,
    Modes: "<none>"
  }],
  ["flowschemas.flowcontrol.apiserver.k8s.io", {
    spec: { priorityLevelConfiguration: { name: "p" }, matchingPrecedence: 5 },
    status: { conditions: [{ type: "Dangling", status: "False" }] }
  }, { PriorityLevel: "p", MatchingPrecedence: 5, DistinguisherMethod: "<none>", MissingPL: "False" }],
  ["prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", {
    spec: { type: "Limited", limited: { nominalConcurrencyShares: 30, limitResponse: { queuing: { queues: 64 } } } }
  }, { Type: "Limited", NominalConcurrencyShares: 30, Queues: 64, HandSize: "<none>", QueueLengthLimit: "<none>" }],
  ["prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", {
    spec: { type: "Exempt", exempt: { nominalConcurrencyShares: 0 } }
  }, {
    Type: "Exempt",
    NominalConcurrencyShares: "<none>",
    Queues: "<none>",
    HandSize: "<none>",
    QueueLengthLimit: "<none>"
  }],
  ["validatingadmissionpolicies.admissionregistration.k8s.io", {
    spec: { validations: [{}, {}], paramKind: { apiVersion: "v1", kind: "ConfigMap" } }
  }, { Validations: 2, ParamKind: "v1/ConfigMap" }],
  ["resourceclaims.resource.k8s.io", { status: { allocation: {}, reservedFor: [{}] } }, {
    State: "allocated,reserved"
  }],
  ["ipaddresses.networking.k8s.io", {
    spec: { parentRef: { group: "", resource: "services", namespace: "n", name: "s" } }
  }, { ParentRef: "services/n/s" }],
  ["certificatesigningrequests.certificates.k8s.io", {
    spec: { signerName: "x", username: "u", expirationSeconds: 3600 },
    status: { conditions: [{ type: "Approved" }], certificate: "Zm9v" }
  }, { SignerName: "x", Requestor: "u", RequestedDuration: "60m", Condition: "Approved,Issued" }],
  ["certificatesigningrequests.certificates.k8s.io", {
    spec: { signerName: "x", username: "u" },
    status: { conditions: [{ type: "Failed" }] }
  }, { SignerName: "x", Requestor: "u", RequestedDuration: "<none>", Condition: "Pending,Failed" }],
  ["services", {
    spec: {
      type: "LoadBalancer",
      clusterIP: "10.0.0.1",
      externalIPs: ["9.9.9.9"],
      ports: [{ port: 80, protocol: "TCP" }]
    },
    status: { loadBalancer: { ingress: [{ hostname: "z" }, { ip: "2.2.2.2" }, { ip: "2.2.2.2", hostname: "a" }, {}] } }
  }, {
    Type: "LoadBalancer",
    "Cluster-IP": "10.0.0.1",
    "External-IP": "2.2.2.2,z,9.9.9.9",
    "Port(s)": "80/TCP",
    Selector: "<none>"
  }],
  ["persistentvolumeclaims", {
    spec: { volumeName: "v", volumeAttributesClassName: "", volumeMode: "Block" },
    status: { phase: "Bound", accessModes: ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany", "Other"] }
  }, {
    Status: "Bound",
    Volume: "v",
    Capacity: "0",
    "Access Modes": "RWO,RWX",
    StorageClass: "",
    VolumeAttributesClass: "",
    VolumeMode: "Block"
  }],
  ["persistentvolumeclaims", { spec: {}, status: { phase: "Pending", accessModes: ["ReadWriteMany"] } }, {
    Status: "Pending",
    Volume: "",
    Capacity: "",
    "Access Modes": "",
    StorageClass: "",
    VolumeAttributesClass: "<unset>",
    VolumeMode: ""
  }],
  ["endpoints", { subsets: [{}] }, { Endpoints: "" }],
  ["events", { involvedObject: { kind: "Pod" }, series: {}, source: { host: "h" }, count: 3 }, {
    "Last Seen": "<unknown>",
    Type: "",
    Reason: "",
    Object: "pod",
    Subobject: "",
    Source: ", h",
    Message: "",
    "First Seen": "<unknown>",
    Count: 0
  }]
]

describe("one line of", () => {
  for (const [collection, fields, cells] of cases) {
    it(`${collection} ${JSON.stringify(fields)}`, () => assert.deepStrictEqual(row(collection, fields), cells))
  }
})

it("a Pod that is over says so beside its cells", () => {
  const pod = (phase: string) => ({ metadata: { name: "a" }, status: { phase } }) as unknown as KubeObject.KubeObject
  assert.deepStrictEqual(PodColumns.conditions(pod("Running")), {})
  assert.deepStrictEqual(PodColumns.conditions(pod("Failed")), {
    conditions: [{ type: "Completed", status: "True", reason: "Failed", message: "The pod failed." }]
  })
})

it("roles of a node are the ends and the values of labels", () => {
  const roles = (labels: Record<string, string>) =>
    row("nodes", { metadata: { name: "a", creationTimestamp: "2026-01-01T00:00:00Z", labels } })["Roles"]
  assert.strictEqual(roles({}), "<none>")
  assert.strictEqual(roles({ "node-role.kubernetes.io/w": "", "node-role.kubernetes.io/": "" }), "w")
  assert.strictEqual(roles({ "node-role.kubernetes.io/w": "", "kubernetes.io/role": "a" }), "a,w")
  assert.strictEqual(roles({ "node-role.kubernetes.io/w": "", "kubernetes.io/role": "w" }), "w")
  assert.strictEqual(roles({ "kubernetes.io/role": "" }), "<none>")
})
