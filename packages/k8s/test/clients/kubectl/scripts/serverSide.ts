/** Server-side apply. */
import { same, script } from "../Script.ts"

const configMap = (data: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: cm }\ndata: { ${data} }\n`

const deployment = (replicas: string, image: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  ${replicas}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: main, image: "${image}" }] }
`

export const serverSide = script("server-side", {
  "a.yaml": configMap("a: '1', b: '2'"),
  "b.yaml": configMap("a: '9', c: '3'"),
  "less.yaml": configMap("a: '1'"),
  "dep.yaml": deployment("replicas: 2", "nginx:1"),
  "dep2.yaml": deployment("minReadySeconds: 3", "nginx:2")
}, [
  "apply --server-side -f a.yaml",
  "apply --server-side -f a.yaml",
  "get cm cm -o yaml --show-managed-fields",
  "apply --server-side --field-manager=other -f b.yaml",
  "apply --server-side --field-manager=other --force-conflicts -f b.yaml",
  "get cm cm -o jsonpath={.data}",
  "apply --server-side -f less.yaml",
  "apply --server-side --force-conflicts -f less.yaml",
  "get cm cm -o jsonpath={.data}",
  "apply --server-side --dry-run=server -f a.yaml",
  same("diff --server-side -f a.yaml", { mask: [[/^(?:diff|---|\+\+\+) .*$/gm, "HEAD"]] }),
  "apply -f dep.yaml",
  "apply --server-side -f dep2.yaml",
  "get deploy web -o 'jsonpath={.spec.replicas}{.spec.minReadySeconds}{.spec.template.spec.containers[0].image}'",
  "patch cm cm --type=merge -p '{\"data\":{\"p\":\"q\"}}'",
  // One by one: managers that wrote in the same second are listed by name, others by time.
  ...["kubectl", "other", "kubectl-patch"].map((manager) =>
    `get cm cm --show-managed-fields -o 'jsonpath={.metadata.managedFields[?(@.manager=="${manager}")]}'`
  )
])
