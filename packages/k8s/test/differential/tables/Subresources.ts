/** Endpoints beneath objects, and those that stand for an act rather than an object. */
import { ask, get, of, type Row, send } from "./Table.ts"

const core = "/api/v1/namespaces/{{ns}}"
const apps = "/apis/apps/v1/namespaces/{{ns}}"
const merge = { "content-type": "application/merge-patch+json" }
const strategic = { "content-type": "application/strategic-merge-patch+json" }
const jsonPatch = { "content-type": "application/json-patch+json" }

const pod = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "x" } },
  spec: { containers: [{ name: "main", image: "app:1" }], ...more }
})

const binding = (name: string, target: unknown, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name },
  target,
  ...more
})

const node = { apiVersion: "v1", kind: "Node", name: "n-{{id}}" }

const bindings: ReadonlyArray<Row> = [
  ...["a", "b", "c", "d", "e"].map((name) => send("POST", `${core}/pods`, pod(name))),
  send("POST", `${core}/pods/a/binding`, binding("a", {})),
  send("POST", `${core}/pods/a/binding`, binding("a", { kind: "Other", name: "n" })),
  send("POST", `${core}/pods/a/binding`, binding("b", node)),
  send("POST", `${core}/pods/a/binding`, binding("", node)),
  send("POST", `${core}/pods/a/binding`, {}),
  send("POST", `${core}/pods/a/binding`, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),
  send("POST", `${core}/pods/a/binding`, { apiVersion: "v1", kind: "Binding", metadata: { name: "a" }, target: "x" }),
  send("POST", `${core}/pods/a/binding?dryRun=All`, binding("a", node)),
  send("POST", `${core}/pods/a/binding?dryRun=x`, binding("a", node)),
  // Nothing is asked of this Pod afterwards: an old server takes the binding.
  send("POST", `${core}/pods/e/binding`, {
    ...binding("e", node),
    metadata: { name: "e", namespace: "other" }
  }),
  // Its labels are those of the Pod since 1.33.
  send("POST", `${core}/pods/a/binding?dryRun=All`, {
    ...binding("a", node),
    metadata: { name: "a", labels: { more: "yes" } }
  }),
  send("POST", `${core}/pods/a/binding`, {
    ...binding("a", node),
    metadata: { name: "a", annotations: { note: "bound" } }
  }),
  get(`${core}/pods/a`),
  send("POST", `${core}/pods/a/binding`, binding("a", node)),
  send("POST", `${core}/pods/none/binding`, binding("none", node)),
  send("POST", `${core}/bindings`, binding("b", node)),
  send("POST", `${core}/bindings`, binding("b", node)),
  send("POST", `${core}/bindings`, binding("none", node)),
  send("POST", `${core}/bindings`, binding("", node)),
  send("POST", `${core}/bindings`, binding("c", {})),
  send("POST", `${core}/bindings?dryRun=All`, binding("c", node)),
  send("POST", `${core}/bindings`, { ...binding("c", node), metadata: { generateName: "c" } }),
  send("POST", `${core}/bindings`, { ...binding("c", node), metadata: { name: "c", uid: "no" } }),
  get(`${core}/pods/b`),
  send("PATCH", `${core}/pods/d`, { metadata: { finalizers: ["example.com/hold"] } }, merge),
  ask("DELETE", `${core}/pods/d`),
  send("POST", `${core}/pods/d/binding`, binding("d", node)),
  get(`${core}/pods/a/binding`),
  send("PUT", `${core}/pods/a/binding`, binding("a", node)),
  ask("DELETE", `${core}/pods/a/binding`)
]

const eviction = (name: string, more: object = {}) => ({
  apiVersion: "policy/v1",
  kind: "Eviction",
  metadata: { name, namespace: "{{ns}}" },
  ...more
})

const running = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } }

const budget = (name: string, spec: object) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec
})

const budgets = "/apis/policy/v1/namespaces/{{ns}}/poddisruptionbudgets"

const allowed = (disruptionsAllowed: number, more: object = {}) => ({
  status: {
    observedGeneration: 1,
    disruptionsAllowed,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
    ...more
  }
})

const evictions: ReadonlyArray<Row> = [
  ...["a", "b", "c", "d", "e", "f"].map((name) => send("POST", `${core}/pods`, pod(name))),
  ...["a", "b", "c", "d"].map((name) => send("PATCH", `${core}/pods/${name}/status`, running, merge)),
  send("POST", `${core}/pods/none/eviction`, eviction("none")),
  send("POST", `${core}/pods/a/eviction`, eviction("b")),
  send("POST", `${core}/pods/a/eviction`, {}),
  send("POST", `${core}/pods/a/eviction`, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),
  send("POST", `${core}/pods/a/eviction?dryRun=All`, eviction("a")),
  send("POST", `${core}/pods/a/eviction`, eviction("a", { deleteOptions: { dryRun: ["All"] } })),
  send("POST", `${core}/pods/a/eviction`, eviction("a", { deleteOptions: { gracePeriodSeconds: -1 } })),
  send("POST", `${core}/pods/a/eviction`, eviction("a", { deleteOptions: { preconditions: { uid: "no" } } })),
  get(`${core}/pods/a`),
  send("POST", budgets, budget("one", { minAvailable: 1, selector: { matchLabels: { app: "x" } } })),
  send("POST", `${core}/pods/a/eviction`, eviction("a")),
  send("PATCH", `${budgets}/one/status`, allowed(0), merge),
  send("POST", `${core}/pods/a/eviction`, eviction("a")),
  send("POST", `${core}/pods/e/eviction`, eviction("e")),
  send("PATCH", `${budgets}/one/status`, allowed(1), merge),
  send("POST", `${core}/pods/a/eviction?dryRun=All`, eviction("a")),
  send("POST", `${core}/pods/a/eviction`, eviction("a")),
  send("POST", `${core}/pods/b/eviction`, eviction("b")),
  get(`${budgets}/one`),
  send("POST", budgets, budget("two", { minAvailable: 1, selector: { matchLabels: { app: "x" } } })),
  send("POST", `${core}/pods/b/eviction`, eviction("b")),
  ask("DELETE", `${budgets}/two`),
  ask("DELETE", `${budgets}/one`),
  send("POST", `${core}/pods/b/eviction`, eviction("b", { deleteOptions: { gracePeriodSeconds: 0 } })),
  get(`${core}/pods/b`),
  send("POST", `${core}/pods/b/eviction`, eviction("b")),
  get(`${core}/pods/a/eviction`)
]

const connections = ["log", "exec", "attach", "portforward", "proxy", "proxy/path"]

const connecting = (name: string): ReadonlyArray<Row> => [
  ...connections.flatMap((part) => [
    get(`${core}/pods/${name}/${part}`),
    ask("POST", `${core}/pods/${name}/${part}`),
    ask("PUT", `${core}/pods/${name}/${part}`),
    ask("DELETE", `${core}/pods/${name}/${part}`)
  ]),
  ...[
    "log?container=main",
    "log?container=none",
    "log?follow=maybe",
    "log?tailLines=-1",
    "log?tailLines=x",
    "log?sinceSeconds=0",
    "log?sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
    "log?sinceTime=x",
    "log?limitBytes=0",
    "log?limitBytes=-1&tailLines=-1",
    "log?previous=true",
    "log?timestamps=x",
    "exec?command=ls",
    "exec?command=ls&stdout=true",
    "exec?command=ls&stdout=true&container=none",
    "exec?stdout=maybe",
    "attach?stdin=true",
    "attach?stdout=true&container=none",
    "attach?tty=true&stdin=true&stderr=true",
    "portforward?ports=80",
    "portforward?ports=x"
  ].flatMap((part) => [get(`${core}/pods/${name}/${part}`), ask("POST", `${core}/pods/${name}/${part}`)])
]

const hosts: ReadonlyArray<Row> = [
  send("POST", `${core}/pods`, pod("a")),
  send("POST", `${core}/pods`, {
    ...pod("two"),
    spec: {
      containers: [{ name: "one", image: "a:1" }, { name: "two", image: "a:1" }],
      initContainers: [{ name: "zero", image: "a:1" }]
    }
  }),
  send("POST", `${core}/pods`, pod("bound", { nodeName: "none-{{id}}" })),
  ...["a", "two", "bound", "none"].flatMap(connecting)
]

const service = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...more }
})

const proxies: ReadonlyArray<Row> = [
  send("POST", `${core}/services`, service("bare")),
  send("POST", `${core}/services`, service("two", { ports: [{ name: "a", port: 80 }, { name: "b", port: 81 }] })),
  send("POST", `${core}/endpoints`, { apiVersion: "v1", kind: "Endpoints", metadata: { name: "two" }, subsets: [] }),
  ...["bare", "two", "none", "bare:80", "bare:nope", "two:a", "two:c", "https:bare:80", "x:bare:80", "a:b:c:d", "bare:"]
    .flatMap((name) => [
      get(`${core}/services/${name}/proxy`),
      get(`${core}/services/${name}/proxy/`),
      get(`${core}/services/${name}/proxy/some/path?q=1`)
    ]),
  ask("POST", `${core}/services/bare/proxy`),
  get("/api/v1/nodes/none-{{id}}/proxy"),
  get("/api/v1/nodes/none-{{id}}/proxy/stats"),
  get("/api/v1/nodes/none-{{id}}:10250/proxy/"),
  get("/api/v1/nodes/https:none-{{id}}:10250/proxy/"),
  get("/api/v1/nodes/x:none-{{id}}:10250/proxy/"),
  ask("POST", "/api/v1/nodes/none-{{id}}/proxy"),
  send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n-{{id}}" } }),
  get("/api/v1/nodes/n-{{id}}/proxy"),
  get("/api/v1/nodes/n-{{id}}/proxy/healthz"),
  get("/api/v1/nodes/n-{{id}}/status"),
  send("PATCH", "/api/v1/nodes/n-{{id}}/status", { status: { phase: "Running", capacity: { cpu: "1" } } }, strategic),
  send("PATCH", "/api/v1/nodes/n-{{id}}/status", { status: { capacity: { cpu: "x" } } }, strategic),
  send(
    "PATCH",
    "/api/v1/nodes/n-{{id}}/status",
    { spec: { unschedulable: true }, metadata: { labels: { a: "b" } } },
    merge
  ),
  send("PUT", "/api/v1/nodes/n-{{id}}/status", { apiVersion: "v1", kind: "Node", metadata: { name: "n-{{id}}" } }),
  send("PUT", "/api/v1/nodes/n-{{id}}/status", { apiVersion: "v1", kind: "Node", metadata: { name: "other" } }),
  get("/api/v1/nodes/n-{{id}}"),
  ask("DELETE", "/api/v1/nodes/n-{{id}}")
]

const space = (more: object) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: "s-{{id}}" }, ...more })
const spaces = "/api/v1/namespaces"

const namespaces: ReadonlyArray<Row> = [
  send("POST", spaces, space({ spec: { finalizers: ["bad"] } })),
  send("POST", spaces, space({ spec: { finalizers: ["a b/c"] } })),
  send("POST", spaces, space({ spec: { finalizers: ["example.com/one"] } })),
  get(`${spaces}/s-{{id}}`),
  get(`${spaces}/s-{{id}}/status`),
  get(`${spaces}/s-{{id}}/finalize`),
  send("PUT", `${spaces}/s-{{id}}/status`, space({ status: { phase: "Terminating" } })),
  send("PUT", `${spaces}/s-{{id}}/status`, space({ status: { phase: "Nope" } })),
  send("PUT", `${spaces}/s-{{id}}/status`, space({ status: { phase: "Active" }, spec: { finalizers: [] } })),
  send("PATCH", `${spaces}/s-{{id}}/status`, { metadata: { labels: { a: "b" } } }, merge),
  send(
    "PATCH",
    `${spaces}/s-{{id}}/status`,
    {
      status: {
        conditions: [{
          type: "NamespaceContentRemaining",
          status: "True",
          reason: "R",
          message: "M",
          lastTransitionTime: null
        }]
      }
    },
    strategic
  ),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: ["kubernetes", "example.com/two"] } })),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: ["bad"] } })),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: ["a b/c"] } })),
  send(
    "PUT",
    `${spaces}/s-{{id}}/finalize`,
    space({ status: { phase: "Terminating" }, spec: { finalizers: ["kubernetes"] } })
  ),
  send("PUT", `${spaces}/s-{{id}}/finalize`, { ...space({}), metadata: { name: "other" } }),
  send("PUT", `${spaces}/s-{{id}}/finalize`, { ...space({}), metadata: { name: "s-{{id}}", resourceVersion: "1" } }),
  send("PUT", `${spaces}/s-{{id}}/finalize`, { ...space({}), metadata: { name: "s-{{id}}", labels: { x: "y" } } }),
  send("PUT", `${spaces}/s-{{id}}/finalize?dryRun=All`, space({ spec: { finalizers: ["kubernetes", "a.b/c"] } })),
  send("PUT", `${spaces}/s-{{id}}/finalize`, { apiVersion: "v1", kind: "Pod", metadata: { name: "s-{{id}}" } }),
  send("PATCH", `${spaces}/s-{{id}}/finalize`, { spec: { finalizers: [] } }, merge),
  send("PUT", `${spaces}/none-{{id}}/finalize`, { ...space({}), metadata: { name: "none-{{id}}" } }),
  send("PATCH", `${spaces}/s-{{id}}`, { metadata: { finalizers: ["example.com/hold"] } }, merge),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: ["kubernetes"] } })),
  ask("DELETE", `${spaces}/s-{{id}}`),
  ask("DELETE", `${spaces}/s-{{id}}`),
  send("POST", `${spaces}/s-{{id}}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" } }),
  send("PATCH", `${spaces}/s-{{id}}`, { metadata: { labels: { late: "yes" } } }, merge),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: ["kubernetes"] } })),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: { finalizers: [] } })),
  get(`${spaces}/s-{{id}}`),
  send("PATCH", `${spaces}/s-{{id}}`, { metadata: { finalizers: null } }, merge),
  get(`${spaces}/s-{{id}}`),
  send("POST", spaces, space({})),
  ask("DELETE", `${spaces}/s-{{id}}`),
  send("PUT", `${spaces}/s-{{id}}/finalize`, space({ spec: {} })),
  get(`${spaces}/s-{{id}}`),
  ask("DELETE", `${spaces}/default`),
  ask("DELETE", `${spaces}/kube-system?dryRun=All`),
  ask("DELETE", spaces)
]

const account = `${core}/serviceaccounts/sa/token`
const request = (spec: unknown, more: object = {}) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  ...more,
  spec
})

const tokens: ReadonlyArray<Row> = [
  send("POST", `${core}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } }),
  send("POST", `${core}/pods`, pod("a", { serviceAccountName: "sa" })),
  send("POST", `${core}/pods`, pod("b")),
  send("POST", `${core}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }),
  send("POST", account, {}),
  send("POST", account, request({})),
  send("POST", account, request({ audiences: ["a", "b"], expirationSeconds: 600 })),
  send("POST", account, request({ audiences: [], expirationSeconds: 3600 })),
  send("POST", account, request({ expirationSeconds: 599 })),
  send("POST", account, request({ expirationSeconds: 4294967297 })),
  send("POST", account, request({ expirationSeconds: "x" })),
  send("POST", account, request({ audiences: "x" })),
  send("POST", account, request({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "a" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "a", uid: "no" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "b" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "none" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "s" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "none" } })),
  send("POST", account, request({ boundObjectRef: { kind: "ConfigMap", apiVersion: "v1", name: "x" } })),
  send("POST", account, request({ boundObjectRef: { kind: "Pod", name: "a" } })),
  send("POST", account, request({ boundObjectRef: {} })),
  send("POST", `${account}?dryRun=All`, request({})),
  send("POST", account, { apiVersion: "v1", kind: "Pod" }),
  send("POST", `${core}/serviceaccounts/none/token`, request({})),
  get(account)
]

const template = {
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "main", image: "app:1" }] }
}

const scale = (name: string, spec: unknown, metadata: object = {}) => ({
  apiVersion: "autoscaling/v1",
  kind: "Scale",
  metadata: { name, namespace: "{{ns}}", ...metadata },
  spec
})

const scaled = (root: string, plural: string, apiVersion: string, kind: string, spec: object): ReadonlyArray<Row> => {
  const path = `${root}/${plural}/a/scale`
  return [
    send("POST", `${root}/${plural}`, { apiVersion, kind, metadata: { name: "a", labels: { l: "m" } }, spec }),
    get(path),
    get(path, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }),
    send("PUT", path, scale("a", { replicas: 3 })),
    send("PUT", path, scale("a", { replicas: -1 })),
    send("PUT", path, scale("a", { replicas: "x" })),
    send("PUT", path, scale("a", {})),
    send("PUT", path, scale("b", { replicas: 3 })),
    send("PUT", path, scale("", { replicas: 3 })),
    send("PUT", path, scale("a", { replicas: 2 }, { namespace: "other" })),
    send("PUT", path, scale("a", { replicas: 2 }, { resourceVersion: "1" })),
    send("PUT", path, scale("a", { replicas: 2 }, { uid: "11111111-1111-1111-1111-111111111111" })),
    send("PUT", path, scale("a", { replicas: 4 }, { labels: { x: "y" }, annotations: { x: "y" } })),
    send("PUT", path, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),
    send("PUT", path, { apiVersion, kind, metadata: { name: "a" }, spec }),
    send("PUT", `${path}?dryRun=All`, scale("a", { replicas: 9 })),
    send("PATCH", path, { spec: { replicas: 5 } }, merge),
    send("PATCH", path, { spec: { replicas: 6 } }, strategic),
    send("PATCH", path, { spec: { replicas: null } }, merge),
    send("PATCH", path, { spec: null }, merge),
    send("PATCH", path, { spec: { replicas: -5 } }, merge),
    send("PATCH", path, { metadata: { resourceVersion: "1" } }, merge),
    send("PATCH", path, { metadata: { name: "b" } }, merge),
    send("PATCH", path, { status: { replicas: 7 } }, merge),
    send("PATCH", path, [{ op: "replace", path: "/spec/replicas", value: 8 }], jsonPatch),
    send("PATCH", path, [{ op: "test", path: "/spec/replicas", value: 99 }], jsonPatch),
    send("PATCH", path, [{ op: "remove", path: "/spec/nope" }], jsonPatch),
    ask("DELETE", path),
    send("POST", path, scale("a", { replicas: 1 })),
    get(`${root}/${plural}/none/scale`),
    send("PUT", `${root}/${plural}/none/scale`, scale("none", { replicas: 3 })),
    send("PATCH", `${root}/${plural}/none/scale`, { spec: { replicas: 3 } }, merge),
    get(`${root}/${plural}/a`)
  ]
}

const statuses: ReadonlyArray<Row> = [
  send("POST", `${core}/pods`, pod("a")),
  send("PATCH", `${core}/pods/a/status`, { status: { phase: "Nope" } }, merge),
  send("PATCH", `${core}/pods/a/status`, { status: { conditions: [{ type: "Ready", status: "True" }] } }, strategic),
  send("PATCH", `${core}/pods/a/status`, { status: { conditions: [{ type: "Other", status: "Maybe" }] } }, strategic),
  send("PATCH", `${core}/pods/a/status`, { status: { podIP: "1.2.3.4", podIPs: [{ ip: "1.2.3.4" }] } }, merge),
  send("PATCH", `${core}/pods/a/status`, { spec: { nodeName: "n" } }, merge),
  send("PATCH", `${core}/pods/a/status`, { metadata: { name: "b" } }, merge),
  send("PUT", `${core}/pods/a/status`, pod("a")),
  send("PUT", `${core}/pods/a/status`, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),
  send("PUT", `${core}/pods/none/status`, pod("none")),
  send("POST", `${apps}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "a" },
    spec: { selector: { matchLabels: { app: "x" } }, template }
  }),
  send("PATCH", `${apps}/deployments/a/status`, { status: { replicas: -1, readyReplicas: 5 } }, merge),
  send("PATCH", `${apps}/deployments/a/status`, { status: { replicas: 1, availableReplicas: 5 } }, merge),
  send("PATCH", `${apps}/deployments/a/status`, { status: { observedGeneration: -1, collisionCount: -1 } }, merge),
  send("PATCH", `${apps}/deployments/a/status`, { status: { collisionCount: 3 } }, merge),
  send("PATCH", `${apps}/deployments/a/status`, { status: { collisionCount: 2 } }, merge),
  send("PATCH", `${apps}/deployments/a/status`, { metadata: { labels: { a: "b" } }, spec: { replicas: 9 } }, merge),
  get(`${apps}/deployments/a/status`),
  ask("DELETE", `${apps}/deployments/a/status`),
  send("POST", `${apps}/deployments/a/status`, {})
]

const workload = { selector: { matchLabels: { app: "x" } }, template }

export const subresources = [
  of("bindings", bindings),
  of("evictions", evictions),
  of("hosts", hosts),
  of("proxies", proxies),
  of("namespaces", namespaces),
  of("tokens", tokens),
  of("statuses", statuses),
  of("scales", [
    ...scaled(apps, "deployments", "apps/v1", "Deployment", workload),
    ...scaled(apps, "statefulsets", "apps/v1", "StatefulSet", { ...workload, serviceName: "s" }),
    ...scaled(apps, "replicasets", "apps/v1", "ReplicaSet", workload),
    ...scaled(core, "replicationcontrollers", "v1", "ReplicationController", { selector: { app: "x" }, template })
  ])
]
