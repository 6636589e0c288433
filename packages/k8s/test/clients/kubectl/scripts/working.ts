/** Workloads with the controllers of a cluster without nodes, and nodes by hand. */
import { quiet, same, script } from "../Script.ts"

const node = `
apiVersion: v1
kind: Node
metadata: { name: working-node, labels: { node-role.kubernetes.io/worker: "", kubernetes.io/role: a } }
spec: { podCIDR: 10.1.0.0/24 }
`

const bound = `
apiVersion: v1
kind: Pod
metadata: { name: bound }
spec: { nodeName: working-node, containers: [{ name: main, image: busybox }, { name: side, image: busybox }] }
`

const suffixes = [[/-[0-9a-z]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-POD"]] as const
const hashes = [...suffixes, [/web-[bcdfghjklmnpqrstvwxz2456789]{6,10}\b/g, "web-HASH"], [
  /pod-template-hash=\w+/g,
  "pod-template-hash=HASH"
]] as const

export const working = script("working", { "node.yaml": node, "bound.yaml": bound }, [
  quiet("create deployment web --image=nginx:1 --replicas=2"),
  same("rollout status deploy/web --timeout=1s", { eventually: true }),
  same("get deploy web", { eventually: true }),
  same("get rs", { eventually: true, mask: hashes }),
  same("get pods", { eventually: true, mask: hashes }),
  same("get all", { eventually: true, mask: hashes, unordered: true }),
  same("describe deploy web", { eventually: true, mask: [...hashes, [/web-HASH from 0 to 2/, "web-HASH to 2"]] }),
  same("rollout history deploy/web", { eventually: true }),
  "set image deploy/web nginx=nginx:2",
  same("get rs -o wide", { eventually: true, mask: hashes, unordered: true }),
  same("rollout history deploy/web", { eventually: true }),
  same("rollout history deploy/web --revision=1", { mask: hashes }),
  "rollout undo deploy/web",
  same("rollout history deploy/web", { eventually: true }),
  "rollout pause deploy/web",
  "rollout pause deploy/web",
  "rollout resume deploy/web",
  "rollout restart deploy/web",
  "rollout undo deploy/web --to-revision=77",
  "scale deploy/web --replicas=1",
  same("get deploy web -o jsonpath={.status.observedGeneration}/{.metadata.generation}", { eventually: true }),
  "delete deploy web",
  same("get all", { eventually: true }),
  quiet("create job once --image=busybox -- true"),
  same("get pods -l job-name=once", { eventually: true, mask: [[/once-\w{5}\b/g, "once-POD"]] }),
  "delete job once",
  same("get pods", { eventually: true }),
  "create -f node.yaml",
  same("get node working-node", { eventually: true }),
  "create -f bound.yaml",
  "logs bound",
  "logs bound -c nope",
  "logs bound -c side --tail=1",
  "exec bound -c main -- date",
  "delete pod bound --force --grace-period=0",
  "taint node working-node a=b:NoSchedule",
  "taint node working-node a=c:NoSchedule",
  "taint node working-node a=c:NoSchedule --overwrite",
  "taint node working-node a:NoSchedule-",
  "cordon working-node",
  "cordon working-node",
  same("get node working-node", { eventually: true }),
  "uncordon working-node",
  "drain working-node --ignore-daemonsets",
  "label node working-node zone=a",
  "delete node working-node"
])
