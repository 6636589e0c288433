/** delete in its forms, wait, and what is left. */
import { quiet, same, script } from "../Script.ts"

const pod = (name: string, more = "") => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { kind: lone }${more} }
spec: { containers: [{ name: main, image: nginx }] }
`

const held =
  "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: held, finalizers: [example.com/hold] }\ndata: { a: b }\n"

const family = `
apiVersion: v1
kind: ConfigMap
metadata: { name: parent }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: parent2 }
`

export const deleting = script("deleting", {
  "pods.yaml": ["a", "b", "c"].map((name) => pod(name)).join("---"),
  "held.yaml": held,
  "family.yaml": family
}, [
  quiet("create -f pods.yaml"),
  quiet("create -f family.yaml"),
  "delete pod a",
  "delete pod a",
  "delete pod a --ignore-not-found",
  "delete pod b --now",
  "delete pod c --force --grace-period=0",
  "delete pod c --grace-period=5 --wait=false",
  "delete cm -l none=none",
  "delete cm parent --cascade=foreground",
  "delete cm parent2 --cascade=background -o name",
  quiet("create -f family.yaml"),
  "delete cm parent parent2 --dry-run=server",
  "delete cm parent --dry-run=client",
  "delete -f family.yaml",
  "delete -f family.yaml",
  quiet("create -f held.yaml"),
  "delete cm held --wait=false",
  "get cm held -o jsonpath={.metadata.finalizers}",
  "wait cm/held --for=delete --timeout=300ms",
  "patch cm held --type=merge -p '{\"metadata\":{\"finalizers\":[\"example.com/hold\",\"example.com/new\"]}}'",
  "patch cm held --type=json -p '[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]'",
  "wait cm/held --for=delete --timeout=5s",
  quiet("create -f pods.yaml"),
  "wait pod/a --for=condition=Ready --timeout=300ms",
  "wait pod/a --for=jsonpath={.status.phase}=Pending --timeout=5s",
  "wait pod/a --for=jsonpath={.status.phase}=Running --timeout=300ms",
  "wait pod/a --for=condition=PodScheduled=false --timeout=300ms",
  "wait pod -l kind=nothing --for=condition=Ready --timeout=300ms",
  "wait pod/nothing --for=condition=Ready --timeout=300ms",
  "wait pod/nothing --for=delete --timeout=300ms",
  same("delete pods --all"),
  "get pods",
  "delete ns default",
  "delete ns nothing",
  quiet("create ns deleting-more"),
  quiet("create cm x -n deleting-more"),
  "delete ns deleting-more --timeout=30s",
  "get ns deleting-more",
  "create cm y -n deleting-more",
  "delete all --all",
  "delete nothing --all",
  "delete cm"
])
