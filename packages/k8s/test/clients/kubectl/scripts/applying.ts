/** Client-side apply: created, configured, unchanged; three-way merges; pruning; diff; kustomize. */
import { newer, same, script } from "../Script.ts"

const deployment = (extra: string, containers: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web } }
spec:
  ${extra}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
${containers}
`

const main = (image: string, more = "") =>
  `      - { name: main, image: ${image}, ports: [{ containerPort: 80 }]${more} }\n`

const configMap = (data: string, meta = "") => `
apiVersion: v1
kind: ConfigMap
metadata: { name: cm, labels: { part: a }${meta} }
data: { ${data} }
`

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gizmos.applying.example.com }
spec:
  group: applying.example.com
  scope: Namespaced
  names: { plural: gizmos, singular: gizmo, kind: Gizmo, shortNames: [gz], categories: [applied] }
  versions:
  - name: v1
    served: true
    storage: true
    subresources: { status: {}, scale: { specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas } }
    additionalPrinterColumns:
    - { name: Replicas, type: integer, jsonPath: .spec.replicas }
    - { name: Mode, type: string, jsonPath: .spec.mode, priority: 1 }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [replicas]
            properties:
              replicas: { type: integer, minimum: 0 }
              mode: { type: string, enum: [fast, slow], default: slow }
              list: { type: array, items: { type: object, properties: { name: { type: string }, v: { type: integer } } } }
              map: { type: object, additionalProperties: { type: string } }
          status: { type: object, properties: { replicas: { type: integer } } }
`

const gizmo = (spec: string) => `
apiVersion: applying.example.com/v1
kind: Gizmo
metadata: { name: g }
spec: { ${spec} }
`

export const applying = script("applying", {
  "cm1.yaml": configMap("a: '1', b: '2'"),
  "cm2.yaml": configMap("a: '1', c: '3'", ", annotations: { note: x }"),
  "dep1.yaml": deployment("replicas: 2", main("nginx:1") + "      - { name: side, image: side:1 }\n"),
  "dep2.yaml": deployment("paused: true", main("nginx:2", ", env: [{ name: A, value: '1' }, { name: B, value: '2' }]")),
  "dep3.yaml": deployment(
    "minReadySeconds: 5",
    main("nginx:2", ", env: [{ name: B, value: '3' }, { name: A, value: '1' }]")
  ),
  "many.yaml": `${configMap("z: '0'")}---${configMap("y: '0'").replace("name: cm", "name: cm-y")}---${
    configMap("x: '0'").replace("name: cm", "name: cm-x")
  }`,
  "fewer.yaml": configMap("z: '1'"),
  "svc1.yaml":
    "apiVersion: v1\nkind: Service\nmetadata: { name: s }\nspec: { selector: { a: b }, ports: [{ name: a, port: 80 }, { name: b, port: 81 }] }\n",
  "svc2.yaml":
    "apiVersion: v1\nkind: Service\nmetadata: { name: s }\nspec: { selector: { a: c }, ports: [{ name: b, port: 81, targetPort: 8081 }, { name: c, port: 82 }] }\n",
  "crd.yaml": definition,
  "g1.yaml": gizmo("replicas: 1, list: [{ name: a, v: 1 }, { name: b, v: 2 }], map: { a: x, b: y }"),
  "g2.yaml": gizmo("replicas: 2, list: [{ name: b, v: 3 }], map: { a: z }, mode: fast"),
  "g3.yaml": gizmo("replicas: 2, mode: quick"),
  "k/kustomization.yaml":
    "namePrefix: k-\ncommonLabels: { from: kustomize }\nresources: [cm.yaml]\nconfigMapGenerator: [{ name: gen, literals: [a=1] }]\n",
  "k/cm.yaml": configMap("k: v")
}, [
  "apply -f cm1.yaml",
  "apply -f cm1.yaml",
  "get cm cm -o yaml",
  "diff -f cm1.yaml",
  same("diff -f cm2.yaml", { mask: [[/^(?:diff|---|\+\+\+) .*$/gm, "HEAD"], [/generation: \d+/g, "GENERATION"]] }),
  "apply -f cm2.yaml",
  "get cm cm -o jsonpath={.data}{.metadata.annotations.note}",
  "apply view-last-applied -f cm2.yaml",
  "apply set-last-applied -f cm2.yaml",
  "apply -f cm1.yaml --dry-run=server",
  "apply -f cm1.yaml --dry-run=client",
  "apply -f dep1.yaml",
  "apply -f dep1.yaml",
  "apply -f dep2.yaml",
  "get deploy web -o 'jsonpath={.spec}'",
  "apply -f dep3.yaml",
  "get deploy web -o 'jsonpath={.spec.template.spec.containers}{.spec.paused}{.spec.replicas}{.spec.minReadySeconds}'",
  "apply -f many.yaml",
  "apply -f many.yaml -l part=b",
  "apply --prune -f fewer.yaml -l part=a --prune-allowlist=core/v1/ConfigMap",
  "get cm -l part=a -o name",
  "apply -f svc1.yaml",
  "apply -f svc2.yaml",
  "get svc s -o 'jsonpath={.spec.ports}{.spec.selector}'",
  "apply -f crd.yaml",
  "wait --for=condition=Established crd/gizmos.applying.example.com --timeout=20s",
  same("get crd gizmos.applying.example.com"),
  same("api-resources --api-group=applying.example.com"),
  same("get gz", { eventually: true }),
  "apply -f g1.yaml",
  "apply -f g1.yaml",
  "get gz",
  "get gizmos -o wide",
  "get applied",
  newer(
    "explain gizmo.spec --recursive",
    "kubectl reads OpenAPI v3, which came with 1.24",
    /^ {2}list\t<\[\]Object>\n {4}name\t<string>$/m,
    /^ {2}replicas\t<integer> -required-$/m
  ),
  newer("explain gizmo.spec.mode", "as above", /^GROUP: +applying\.example\.com$/m, /^ENUM:\n {4}fast\n {4}slow$/m),
  "apply -f g2.yaml",
  "get gz g -o 'jsonpath={.spec}'",
  "apply -f g3.yaml",
  "scale gz/g --replicas=5",
  "scale gz/g --current-replicas=3 --replicas=6",
  "get gz g -o jsonpath={.spec.replicas}",
  "patch gz g --type=merge -p '{\"spec\":{\"map\":{\"a\":null,\"q\":\"r\"}}}'",
  "patch gz g -p '{\"spec\":{\"mode\":\"slow\"}}'",
  "patch gz g --subresource=status --type=merge -p '{\"status\":{\"replicas\":4}}'",
  "get gz g -o yaml",
  "describe gz g",
  "delete gz g",
  "apply -k k",
  "get cm -l from=kustomize -o yaml",
  "kustomize k",
  "delete -k k",
  "delete crd gizmos.applying.example.com",
  same("get gz", { eventually: true }),
  "apply -f nothing.yaml",
  "apply -f -"
])
