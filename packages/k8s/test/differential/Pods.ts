/** `Pods`: Pods and templates of Pods, mostly right, and how they and the status of what makes them change. */
import type { Chance } from "./Chance.ts"
import type { Edit } from "./Step.ts"

export const text = (chance: Chance): string => chance.pick(["", "x", "y", "some text", "é"])

/** Where volumes are seen; not all of them are there. */
const mount = (chance: Chance) => ({
  name: chance.pick(["data", "data", "cfg", "gone"]),
  mountPath: chance.pick(["/a", "/a", "/b/c"]),
  ...chance.maybe(0.2, () => ({ subPath: chance.pick(["x", "x/y", "../up", "/root"]) })),
  ...chance.maybe(0.1, () => ({ readOnly: true })),
  ...chance.maybe(0.1, () => ({ mountPropagation: chance.pick(["None", "HostToContainer", "Bidirectional", "Other"]) }))
})

const hook = (chance: Chance) =>
  chance.pick<object>([
    { exec: { command: ["true"] } },
    { httpGet: { port: 80 } },
    { tcpSocket: { port: "http" } },
    { exec: {}, tcpSocket: { port: 1 } },
    {}
  ])

const requirement = (chance: Chance) => ({
  key: chance.pick(["disk", "zone", "a/b/c"]),
  operator: chance.pick(["In", "NotIn", "Exists", "Gt", "Other"]),
  ...chance.maybe(0.7, () => ({ values: chance.some(["ssd", "1"]) }))
})

const podTerm = (chance: Chance) => ({
  ...chance.maybe(0.9, () => ({ topologyKey: chance.pick(["zone", "zone", "a b"]) })),
  ...chance.maybe(0.8, () => ({ labelSelector: { matchLabels: { app: "x" } } })),
  ...chance.maybe(0.2, () => ({ namespaces: ["default", "A"] }))
})

const affinity = (chance: Chance) =>
  chance.pick<object>([
    {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [requirement(chance)] }]
        }
      }
    },
    {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: chance.pick<ReadonlyArray<object>>([[], [{
            matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }]
          }]])
        }
      }
    },
    {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: chance.pick([1, 0, 101]),
          preference: { matchExpressions: [requirement(chance)] }
        }]
      }
    },
    { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm(chance)] } },
    {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{
          weight: chance.pick([1, 101]),
          podAffinityTerm: podTerm(chance)
        }]
      }
    }
  ])

const keys = (chance: Chance) => [{
  key: "k",
  path: chance.pick(["a", "a/b", "../a", "/a"]),
  ...chance.maybe(0.3, () => ({ mode: chance.pick([0, 511, 512]) }))
}]

const volumes = (chance: Chance): ReadonlyArray<object> =>
  chance.pick<ReadonlyArray<object>>([
    [{ name: "data" }],
    [{ name: "data", emptyDir: {} }, { name: "cfg", configMap: { name: "a" } }],
    [{ name: "s", secret: { secretName: "a" } }],
    [{
      name: "h",
      hostPath: { path: "/tmp", ...chance.maybe(0.5, () => ({ type: chance.pick(["Directory", "Other"]) })) }
    }],
    [{ name: "cfg", configMap: { name: "a", items: keys(chance) } }],
    [{ name: "cfg", secret: { secretName: "a", defaultMode: chance.pick([256, 512]), items: keys(chance) } }],
    [{ name: "data", persistentVolumeClaim: { claimName: chance.pick(["c", ""]) } }],
    [{ name: "data", nfs: { server: "s", path: chance.pick(["/a", "a"]) } }],
    [{ name: "data", csi: { driver: chance.pick(["example.com", "a_b"]) } }],
    [{
      name: "cfg",
      downwardAPI: {
        items: [{
          path: "labels",
          fieldRef: { fieldPath: chance.pick(["metadata.labels", "metadata.name", "spec.nodeName"]) }
        }]
      }
    }],
    [{
      name: "cfg",
      projected: {
        sources: [
          { configMap: { name: "a", items: [{ key: "k", path: "a" }] } },
          { secret: { name: "s", items: [{ key: "k", path: chance.pick(["a", "b"]) }] } }
        ]
      }
    }]
  ])

const container = (chance: Chance, name = chance.pick(["main", "side"])): Readonly<Record<string, unknown>> => ({
  name,
  image: chance.pick(["app:1", "app", "app:latest", "registry.example.com:5000/team/app:v2", "app@sha256:00"]),
  ...chance.maybe(0.2, () => ({ args: chance.some(["-v", "--x=$(HOST)"]) })),
  ...chance.maybe(0.2, () => ({
    ports: [{
      containerPort: 1 + chance.int(9000),
      ...chance.maybe(0.4, () => ({ name: chance.pick(["http", "web"]) })),
      ...chance.maybe(0.3, () => ({ protocol: chance.pick(["TCP", "UDP"]) }))
    }]
  })),
  ...chance.maybe(0.3, () => ({
    env: chance.pick([
      [{ name: "A", value: "1" }],
      [{ name: "A", value: "1" }, { name: "B" }],
      [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: true } } }]
    ])
  })),
  ...chance.maybe(0.3, () => ({
    resources: chance.pick([
      { requests: { cpu: "100m", memory: "64Mi" } },
      { limits: { cpu: "1", memory: "1Gi" } },
      { requests: { cpu: "1" }, limits: { cpu: "2" } },
      { requests: { cpu: 1 }, limits: { cpu: 1 } },
      { requests: { cpu: "0.5", memory: "1000Ki" } }
    ])
  })),
  ...chance.maybe(0.2, () => ({
    [chance.pick(["livenessProbe", "readinessProbe", "startupProbe"])]: chance.pick([
      { httpGet: { port: 80 } },
      { httpGet: { port: "http", path: "/ready" }, periodSeconds: 5 },
      { tcpSocket: { port: 80 }, initialDelaySeconds: 3 },
      { exec: { command: ["true"] } }
    ])
  })),
  ...chance.maybe(
    0.12,
    () => ({ volumeMounts: chance.chance(0.8) ? [mount(chance)] : [mount(chance), mount(chance)] })
  ),
  ...chance.maybe(0.06, () => ({ lifecycle: { [chance.pick(["postStart", "preStop"])]: hook(chance) } })),
  ...chance.maybe(0.06, () => ({
    envFrom: chance.pick<ReadonlyArray<object>>([
      [{ configMapRef: { name: "a" } }],
      [{ secretRef: { name: "a" }, prefix: "X_" }],
      [{}],
      [{ configMapRef: { name: "A" } }]
    ])
  })),
  ...chance.maybe(0.1, () => ({ securityContext: { runAsUser: 1000, privileged: chance.chance(0.5) } }))
})

export const podSpec = (chance: Chance): Readonly<Record<string, unknown>> => ({
  containers: chance.chance(0.7)
    ? [container(chance, "main")]
    : [container(chance, "main"), container(chance, "side")],
  ...chance.maybe(0.1, () => ({ initContainers: [{ name: "init", image: "app:1" }] })),
  ...chance.maybe(0.2, () => ({ terminationGracePeriodSeconds: chance.pick([0, 5, 30]) })),
  ...chance.maybe(0.1, () => ({ nodeSelector: { disk: "ssd" } })),
  ...chance.maybe(0.1, () => ({ serviceAccountName: "builder" })),
  ...chance.maybe(0.25, () => ({ volumes: volumes(chance) })),
  ...chance.maybe(0.06, () => ({ affinity: affinity(chance) })),
  ...chance.maybe(0.05, () => ({
    topologySpreadConstraints: [{
      maxSkew: chance.pick([1, 0]),
      topologyKey: chance.pick(["zone", ""]),
      whenUnsatisfiable: chance.pick(["DoNotSchedule", "Other"])
    }]
  })),
  ...chance.maybe(0.04, () => ({
    [chance.pick(["hostname", "subdomain", "priorityClassName", "nodeName"])]: chance.pick(["x", "A.b"])
  })),
  // Classes of the sequence, where it has made them.
  ...chance.maybe(0.05, () => ({
    [chance.pick(["runtimeClassName", "priorityClassName"])]: chance.pick(["{{id}}-a", "{{id}}-b"])
  })),
  ...chance.maybe(
    0.03,
    () => ({ hostAliases: [{ ip: chance.pick(["1.2.3.4", "::1"]), hostnames: ["a", "b.c"] }] })
  ),
  ...chance.maybe(0.04, () => ({
    dnsPolicy: chance.pick(["None", "ClusterFirst"]),
    ...chance.maybe(0.6, () => ({
      dnsConfig: chance.pick<object>([
        { nameservers: ["1.2.3.4"] },
        { nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] },
        { searches: ["a.b"], options: [{}] }
      ])
    }))
  })),
  ...chance.maybe(0.03, () => ({ readinessGates: [{ conditionType: chance.pick(["example.com/a", "a b"]) }] })),
  ...chance.maybe(0.1, () => ({
    tolerations: chance.pick([
      [{ key: "k", operator: "Exists" }],
      [{ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }]
    ])
  })),
  ...chance.maybe(0.05, () => ({ hostNetwork: false, dnsPolicy: chance.pick(["Default", "ClusterFirst"]) }))
})

export const template = (chance: Chance, extra: Readonly<Record<string, unknown>> = {}) => ({
  metadata: {
    labels: { app: "x", ...chance.maybe(0.3, () => ({ tier: "front" })) },
    ...chance.maybe(0.2, () => ({ annotations: { note: text(chance) } }))
  },
  spec: { ...podSpec(chance), ...extra }
})

/** A template that nobody can refuse: 1.20 does not judge that of a StatefulSet. */
export const plainTemplate = (chance: Chance) => ({
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "main", image: `app:${chance.int(3)}` }] }
})

export const plainEdits = (chance: Chance): Edit =>
  chance.pick<Edit>([
    { path: ["spec", "template", "spec", "containers", "0", "image"], value: `app:${chance.int(4)}` },
    { path: ["spec", "template", "metadata", "annotations"], value: { restarted: String(chance.int(3)) } },
    { path: ["spec", "template", "metadata", "labels", "app"], value: chance.pick(["x", "y"]) },
    { path: ["spec", "selector", "matchLabels", "app"], value: chance.pick(["x", "y"]) }
  ])

export const replicas = (chance: Chance) => chance.maybe(0.7, () => ({ replicas: chance.int(5) }))

export const templateEdits = (chance: Chance): Edit =>
  chance.pick<Edit>([
    { path: ["spec", "template", "spec", "containers", "0", "image"], value: `app:${chance.int(4)}` },
    { path: ["spec", "template", "metadata", "annotations"], value: { restarted: String(chance.int(3)) } },
    { path: ["spec", "template", "metadata", "labels", "app"], value: chance.pick(["x", "y"]) },
    { path: ["spec", "template", "spec", "containers"], value: [container(chance)] },
    { path: ["spec", "selector", "matchLabels", "app"], value: chance.pick(["x", "y"]) }
  ])

export const condition = (chance: Chance) => ({
  type: chance.pick(["Ready", "Available"]),
  status: chance.pick(["True", "False"]),
  reason: "Because",
  message: text(chance),
  lastTransitionTime: "2020-01-01T00:00:00Z"
})

export const count = (chance: Chance, ...fields: ReadonlyArray<string>): Edit => ({
  path: ["status", chance.pick(fields)],
  value: chance.int(4)
})
