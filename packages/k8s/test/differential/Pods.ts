/** `Pods`: Pods and templates of Pods, mostly right, and how they and the status of what makes them change. */
import type { Chance } from "./Chance.ts"
import type { Edit } from "./Step.ts"

export const text = (chance: Chance): string => chance.pick(["", "x", "y", "some text", "é"])

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
  ...chance.maybe(0.15, () => ({
    volumes: chance.pick([
      [{ name: "data" }],
      [{ name: "data", emptyDir: {} }, { name: "cfg", configMap: { name: "a" } }],
      [{ name: "s", secret: { secretName: "a" } }],
      [{ name: "h", hostPath: { path: "/tmp" } }]
    ])
  })),
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
