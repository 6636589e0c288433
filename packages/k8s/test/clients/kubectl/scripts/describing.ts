/** What kubectl tells of one object of many kinds, where releases tell the same; and permissions made from a file. */
import { quiet, script } from "../Script.ts"

const everything = `
apiVersion: v1
kind: LimitRange
metadata: { name: limits }
spec:
  limits:
    - { type: Container, max: { cpu: "2" }, min: { cpu: 100m }, default: { cpu: 500m }, defaultRequest: { cpu: 200m } }
    - { type: PersistentVolumeClaim, max: { storage: 2Gi } }
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: describing-class, annotations: { storageclass.kubernetes.io/is-default-class: "false" } }
provisioner: example.com/p
parameters: { type: fast }
mountOptions: [ro]
allowVolumeExpansion: true
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  replicas: 0
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec: { containers: [{ name: main, image: nginx, env: [{ name: A, value: b }], ports: [{ containerPort: 80 }] }] }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec:
  selector: { matchLabels: { app: agent } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      nodeSelector: { never: "true" }
      containers: [{ name: main, image: nginx, resources: { limits: { memory: 1Gi }, requests: { cpu: 10m } } }]
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: { name: rs }
spec:
  replicas: 0
  selector: { matchLabels: { app: rs } }
  template:
    metadata: { labels: { app: rs }, annotations: { note: x } }
    spec:
      initContainers: [{ name: init, image: busybox, command: [sh, -c, "true"] }]
      containers: [{ name: main, image: nginx, livenessProbe: { httpGet: { path: /, port: 80 } } }]
      volumes: [{ name: v, emptyDir: {} }, { name: c, configMap: { name: one } }, { name: s, secret: { secretName: k } }]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: policy }
spec:
  podSelector: { matchLabels: { app: a } }
  policyTypes: [Ingress, Egress]
  ingress: [{ from: [{ podSelector: {} }, { ipBlock: { cidr: 10.0.0.0/8, except: [10.1.0.0/16] } }], ports: [{ port: 80 }] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: describing-role }
rules:
  - { apiGroups: [""], resources: [pods, pods/log], verbs: [get, list] }
  - { nonResourceURLs: [/metrics], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: describing-binding }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: describing-role }
subjects: [{ kind: ServiceAccount, name: robot, namespace: describing }, { kind: Group, name: g, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: lock }
spec: { holderIdentity: me, leaseDurationSeconds: 15 }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: describing-hooks }
webhooks:
  - name: a.example.com
    clientConfig: { url: "https://127.0.0.1:1/x" }
    rules: [{ apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [things] }]
    sideEffects: None
    admissionReviewVersions: [v1]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gadgets.describing.example.com }
spec:
  group: describing.example.com
  scope: Namespaced
  names: { plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd], categories: [all] }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      additionalPrinterColumns: [{ name: Size, type: integer, jsonPath: .spec.size }]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { size: { type: integer }, list: { type: array, items: { type: string } } } }
            status: { type: object, x-kubernetes-preserve-unknown-fields: true }
`

const gadget = `
apiVersion: describing.example.com/v1
kind: Gadget
metadata: { name: g, annotations: { a: b }, labels: { l: m } }
spec: { size: 3, list: [a, b] }
`

const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: readers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: User, name: ann, apiGroup: rbac.authorization.k8s.io }]
`

const kinds = [
  "limitrange limits",
  "sc describing-class",
  "ds agent",
  "rs rs",
  "netpol policy",
  "clusterrole describing-role",
  "clusterrolebinding describing-binding",
  "lease lock",
  "validatingwebhookconfiguration describing-hooks",
  "crd gadgets.describing.example.com",
  "gd g"
]

export const describing = script("describing", {
  "everything.yaml": everything,
  "gadget.yaml": gadget,
  "role.yaml": role
}, [
  "apply -f everything.yaml",
  quiet("wait --for=condition=Established crd/gadgets.describing.example.com --timeout=20s"),
  "apply -f gadget.yaml",
  ...kinds.map((kind) => `describe ${kind}`),
  ...kinds.map((kind) => `get ${kind} -o wide`),
  "auth reconcile -f role.yaml",
  "auth reconcile -f role.yaml",
  "auth reconcile -f role.yaml --remove-extra-permissions --remove-extra-subjects",
  "replace --force -f gadget.yaml",
  "get gd,lease -o name",
  "get sts/db ds/agent rs/rs",
  "get gd g -o jsonpath-as-json={.spec.list[*]}",
  "get gd -o custom-columns=N:.metadata.name,S:.spec.size,L:.spec.list[1] --no-headers",
  "get gd -L l --show-labels",
  "get gd g -o go-template={{.spec.size}}",
  "get gd --field-selector=spec.size=3",
  "delete gd --all --wait=false",
  "delete -f everything.yaml --ignore-not-found --wait=false"
])
