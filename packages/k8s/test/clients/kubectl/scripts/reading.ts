/** get in every form, describe, and what narrows them. */
import { differs, newer, same, script } from "../Script.ts"

const objects = `
apiVersion: v1
kind: ConfigMap
metadata: { name: one, labels: { color: blue, size: s }, annotations: { note: "a b" } }
data: { a: "1", "b.txt": "line 1\\nline 2\\n" }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: two, labels: { color: red } }
binaryData: { x: AAEC }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: three }
immutable: true
---
apiVersion: v1
kind: Secret
metadata: { name: key, labels: { color: blue } }
type: example.com/kind
stringData: { password: hunter2, user: admin }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { clusterIP: None, selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }, { name: dns, port: 53, protocol: UDP }] }
---
apiVersion: v1
kind: Service
metadata: { name: out }
spec: { type: ExternalName, externalName: example.com }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: robot }
---
apiVersion: v1
kind: Pod
metadata: { name: lone, labels: { app: lone } }
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: nginx:1
    ports: [{ containerPort: 80, name: http }]
    env: [{ name: A, value: b }, { name: C, valueFrom: { configMapKeyRef: { name: one, key: a } } }]
    resources: { requests: { cpu: 100m, memory: 64Mi }, limits: { memory: 128Mi } }
    readinessProbe: { httpGet: { path: /ready, port: http }, periodSeconds: 5 }
    volumeMounts: [{ name: data, mountPath: /data, readOnly: true }]
  volumes: [{ name: data, configMap: { name: one } }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader }
rules:
- { apiGroups: [""], resources: [pods, pods/log], verbs: [get, list] }
- { apiGroups: [apps], resources: [deployments], resourceNames: [web], verbs: ["*"] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: readers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: robot, namespace: reading }, { kind: User, name: jane, apiGroup: rbac.authorization.k8s.io }, { kind: Group, name: all, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: edge }
spec:
  ingressClassName: nginx
  tls: [{ hosts: [example.com], secretName: key }]
  rules:
  - host: example.com
    http:
      paths:
      - { path: /, pathType: Prefix, backend: { service: { name: web, port: { name: http } } } }
      - { path: /api, pathType: Exact, backend: { service: { name: web, port: { number: 53 } } } }
  - http: { paths: [{ pathType: ImplementationSpecific, backend: { service: { name: nobody, port: { number: 80 } } } }] }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: deny }
spec: { podSelector: { matchLabels: { app: web } }, policyTypes: [Ingress, Egress], ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }] }
---
apiVersion: v1
kind: LimitRange
metadata: { name: limits }
spec: { limits: [{ type: Container, max: { cpu: "2" } }] }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: disk }
spec: { accessModes: [ReadWriteOnce], storageClassName: nothing, resources: { requests: { storage: 1Gi } } }
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: lock }
spec: { holderIdentity: me, leaseDurationSeconds: 15 }
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: { name: rev }
revision: 3
data: { a: 1 }
`

/** What controllers of an older release put into every namespace. */
const tokens = "release 1.20 keeps a token Secret per ServiceAccount; TokenRequest replaced it in 1.24"

const families = "two address families, and with them more fields, came with 1.22"

/** Since 1.21 a Namespace is labelled with its name. */
const nameLabel = [
  [/^ {2}labels:\n {4}kubernetes\.io\/metadata\.name: reading\n/m, ""],
  [/kubernetes\.io\/metadata\.name=reading/, "<none>"]
] as const

/** Since 1.33 a Pod has one. */
/** 1.35 calls Endpoints old. */
const oldEndpoints = [[/\[stderr\] Warning: v1 Endpoints is deprecated.*\n/, ""]] as const
const generation = [[/^ {2}generation: 1\n/m, ""]] as const

export const reading = script("reading", { "all.yaml": objects }, [
  same("create -f all.yaml"),
  "get cm one two three",
  "get configmaps one -o wide",
  "get cm/one secret/key svc/web",
  "get cm one -o yaml",
  "get cm one -o json",
  "get cm one two -o yaml",
  "get cm one -o name",
  "get cm one --show-labels",
  "get cm one two -L color,size",
  "get cm -l color=blue",
  "get cm -l 'color in (blue,red),size!=s'",
  "get cm -l '!color' --field-selector metadata.name!=kube-root-ca.crt",
  "get cm -l color=none",
  "get cm one -o jsonpath={.data.a}",
  "get cm one two -o 'jsonpath={range .items[*]}{.metadata.name}{\"\\t\"}{.metadata.labels.color}{\"\\n\"}{end}'",
  "get cm one -o go-template={{.data.a}}",
  "get cm one two three -o custom-columns=NAME:.metadata.name,COLOR:.metadata.labels.color",
  "get cm one two three --sort-by=.metadata.name",
  "get cm one two three --sort-by={.metadata.labels.color} --no-headers",
  "get cm --field-selector metadata.name=two",
  "get pods --field-selector status.phase=Pending,spec.restartPolicy=Always",
  "get pods --field-selector spec.nodeName=",
  "get cm -A --field-selector metadata.name=two",
  "get cm --chunk-size=1 -l color -o name",
  "get cm one --ignore-not-found nothing",
  "get cm nothing --ignore-not-found",
  "get svc",
  "get svc -o wide",
  differs("get sa robot", tokens, [/robot +\d+s/], [/robot +1 +\d+s/]),
  "get secret key",
  "get pod lone",
  "get pod lone -o wide",
  same("get pod lone -o yaml", { mask: generation }),
  "get role,rolebinding",
  "get rolebinding readers -o wide",
  "get ingress",
  "get netpol",
  "get limits",
  same("get lease"),
  "get controllerrevision rev",
  same("get endpoints,resourcequota", { eventually: true, mask: oldEndpoints }),
  "get all",
  "get pods,svc -o name",
  "get pods -w --request-timeout=1s",
  "get cm one --watch-only --request-timeout=1s",
  "get cm one -w --output-watch-events --request-timeout=1s",
  "get ns default kube-system",
  same("get namespaces reading -o yaml", { mask: nameLabel }),
  differs(
    "get --raw /api/v1/namespaces/reading/configmaps/one",
    "fields of an object stand in another order",
    [/"data":\{"a":"1","b.txt":"line 1\\nline 2\\n"\}/],
    [/"data":\{"a":"1","b.txt":"line 1\\nline 2\\n"\}/]
  ),
  "get -f all.yaml -o name",
  // kubectl goes through a map.
  same("describe cm one", { unordered: true }),
  // kubectl walks through maps in any order.
  same("describe cm two three", { unordered: true }),
  same("describe secret key", { unordered: true }),
  differs("describe svc web", families, [/^IP Family Policy: +SingleStack$/m, /^Internal Traffic Policy: +Cluster$/m], [
    /^IP: +None$/m
  ]),
  same("describe svc out"),
  "describe role reader",
  "describe rolebinding readers",
  "describe netpol deny",
  "describe limits limits",
  "describe lease lock",
  "describe controllerrevision rev",
  same("describe ns reading", { mask: nameLabel }),
  "describe pod lone",
  "describe pod -l app=lone --show-events=false",
  differs("describe ingress edge", "EndpointSlices of discovery.k8s.io/v1 came with 1.21", [
    /example\.com +\n +\/ +web:http \(/,
    /nobody:80 \(<error: services "nobody" not found>\)/
  ], [/nobody:80/]),
  differs("describe clusterrole view", "each release has more kinds to view", [
    /^ +configmaps +\[\] +\[\] +\[get list watch\]$/m
  ], [
    /^ +configmaps +\[\] +\[\] +\[get list watch\]$/m
  ]),
  differs("describe sa robot", tokens, [/^Tokens: +<none>$/m], [/^Tokens: +robot-token-/m]),
  differs("get pvc disk", "1.31 shows VOLUMEATTRIBUTESCLASS", ["VOLUMEATTRIBUTESCLASS", /disk +Pending/], [
    /disk +Pending/
  ]),
  newer("get pdb -o wide", "policy/v1 came with 1.21", "No resources found in reading namespace."),
  newer("get cronjobs,hpa", "batch/v1 CronJobs came with 1.21", "No resources found in reading namespace.")
])
